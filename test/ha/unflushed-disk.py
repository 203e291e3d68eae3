"""A disk that forgets at a power cut, as a plugin for nbdkit.

Writes are kept in memory until the client flushes. Only a flush writes them to the backing file. Each write is also appended to a log, from
which a test can restore some of the unflushed blocks after nbdkit was killed: a real disk may have written any of them.
The log holds records of a block number (8 bytes, little endian) and the content of the block. A flush empties it.
"""

import os
import struct
import time

import nbdkit

API_VERSION = 2

# The unit that survives a power cut as a whole: a physical sector of a current disk.
BLOCK = 4096

# About the time of an SSD. With an immediate flush, hardly any power cut would meet unflushed blocks.
FLUSH_SECONDS = 0.005

backing_path = None
log_path = None
# A file with the seconds of a flush, for tests of a slow disk. Without the file the disk is as fast as an SSD.
delay_path = None
backing = None
log = None
size = 0
# The content of the blocks that were written since the last flush, by block number.
unflushed = {}


def config(key, value):
    global backing_path, log_path, delay_path
    if key == "backing":
        backing_path = value
    elif key == "log":
        log_path = value
    elif key == "delay":
        delay_path = value
    else:
        raise RuntimeError("unknown parameter " + key)


def config_complete():
    if backing_path is None or log_path is None or delay_path is None:
        raise RuntimeError("the parameters backing, log and delay are required")


def after_fork():
    global backing, log, size
    backing = os.open(backing_path, os.O_RDWR)
    log = os.open(log_path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND, 0o600)
    size = os.fstat(backing).st_size


def open(readonly):
    return 1


def get_size(handle):
    return size


def block_size(handle):
    return (1, BLOCK, 1 << 25)


def can_write(handle):
    return True


def can_flush(handle):
    return True


def can_fua(handle):
    # nbdkit turns such a write into a write and a flush.
    return nbdkit.FUA_EMULATE


def is_rotational(handle):
    return False


def block_at(number):
    held = unflushed.get(number)
    return os.pread(backing, BLOCK, number * BLOCK) if held is None else held


def pread(handle, buf, offset, flags):
    end = offset + len(buf)
    buf[:] = os.pread(backing, len(buf), offset)
    for number in range(offset // BLOCK, (end + BLOCK - 1) // BLOCK):
        held = unflushed.get(number)
        if held is None:
            continue
        start = number * BLOCK
        first, last = max(offset, start), min(end, start + BLOCK)
        buf[first - offset : last - offset] = held[first - start : last - start]


# nbdkit turns a request for zeroes into writes. The disk offers no trim.
def pwrite(handle, buf, offset, flags):
    end = offset + len(buf)
    records = []
    for number in range(offset // BLOCK, (end + BLOCK - 1) // BLOCK):
        start = number * BLOCK
        first, last = max(offset, start), min(end, start + BLOCK)
        part = bytes(buf[first - offset : last - offset])
        if len(part) < BLOCK:
            # A part of a block: the rest keeps its content.
            whole = bytearray(block_at(number))
            whole[first - start : last - start] = part
            part = bytes(whole)
        unflushed[number] = part
        records += (struct.pack("<Q", number), part)
    write_all(b"".join(records))


def write_all(data):
    view = memoryview(data)
    while len(view) > 0:
        view = view[os.write(log, view) :]


def flush_seconds():
    # `open` is a function of the plugin.
    try:
        delay = os.open(delay_path, os.O_RDONLY)
    except FileNotFoundError:
        return FLUSH_SECONDS
    try:
        return float(os.read(delay, 32))
    finally:
        os.close(delay)


def flush(handle, flags):
    if not unflushed:
        return
    time.sleep(flush_seconds())
    for number, content in unflushed.items():
        os.pwrite(backing, content, number * BLOCK)
    # The log is emptied last: a kill before this line leaves blocks in both files, of which the restored log may only repeat some.
    os.ftruncate(log, 0)
    unflushed.clear()
