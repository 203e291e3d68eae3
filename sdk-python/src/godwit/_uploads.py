"""The body of an upload: the bytes of a file, from whatever a program has them in."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable, Iterator
from typing import IO, TypeAlias, TypeGuard

from ._errors import StreamConsumed

#: A file opened in binary mode, or an iterable of bytes. It can be read once, unless it is a file that can seek.
ByteStream: TypeAlias = IO[bytes] | Iterable[bytes]
#: The file of an upload: bytes, a path (``pathlib.Path``), a stream, or a function that opens a stream for each attempt.
UploadSource: TypeAlias = bytes | os.PathLike[str] | ByteStream | Callable[[], ByteStream]
#: The same for the asynchronous client, which takes asynchronous iterables as well.
AsyncUploadSource: TypeAlias = UploadSource | AsyncIterable[bytes] | Callable[[], AsyncIterable[bytes]]

_CHUNK_BYTES = 65_536


class UploadBody:
    """The bytes of a source, which each attempt reads from the start."""

    def __init__(self, source: AsyncUploadSource) -> None:
        if isinstance(source, str) or not (callable(source) or isinstance(source, (bytes, bytearray, os.PathLike, Iterable, AsyncIterable))):
            raise TypeError("a file must be bytes, a pathlib.Path, a binary file object, an iterable of bytes, or a function that opens one")
        self._source = source
        #: The position of a file that can seek.
        self._start = source.tell() if _is_file(source) and source.seekable() else None
        self._is_read = False

    @property
    def is_consumed(self) -> bool:
        """Whether the source was read and cannot be read again."""
        can_reopen = callable(self._source) or isinstance(self._source, (bytes, bytearray, os.PathLike)) or self._start is not None
        return self._is_read and not can_reopen

    @property
    def file_name(self) -> str | None:
        """The name of the file, if the source has one."""
        name = os.fspath(self._source) if isinstance(self._source, os.PathLike) else getattr(self._source, "name", None)
        return os.path.basename(name) or None if isinstance(name, str) else None

    @property
    def length(self) -> int | None:
        """The number of bytes, if it is known before they are read."""
        if isinstance(self._source, (bytes, bytearray)):
            return len(self._source)
        if isinstance(self._source, os.PathLike):
            return os.stat(self._source).st_size
        if self._start is None or not _is_file(self._source):
            return None
        end = self._source.seek(0, os.SEEK_END)
        self._source.seek(self._start)
        return end - self._start

    def chunks(self) -> Iterator[bytes]:
        """The bytes for the next attempt of the synchronous client."""
        opened, is_own = self._open()
        if not isinstance(opened, Iterable):
            raise TypeError("an asynchronous source needs the client AsyncGodwit")
        try:
            yield from _pieces(opened)
        finally:
            if is_own:
                _close(opened)

    async def async_chunks(self) -> AsyncIterator[bytes]:
        """The bytes for the next attempt of the asynchronous client. Files are read in a thread."""
        opened, is_own = await asyncio.to_thread(self._open)
        try:
            if isinstance(opened, AsyncIterable):
                async for piece in opened:
                    yield piece
                return
            pieces = _pieces(opened)
            while chunk := await asyncio.to_thread(_next, pieces) if _is_file(opened) else _next(pieces):
                yield chunk
        finally:
            if is_own:
                _close(opened)

    def _open(self) -> tuple[Iterable[bytes] | AsyncIterable[bytes], bool]:
        """Returns the stream for an attempt, and whether it must be closed here."""
        if self.is_consumed:
            raise StreamConsumed()
        self._is_read = True
        source = self._source
        if isinstance(source, (bytes, bytearray)):
            return [bytes(source)], False
        if isinstance(source, os.PathLike):
            return open(source, "rb"), True
        if self._start is not None and _is_file(source):
            source.seek(self._start)
            return source, False
        if callable(source):
            return source(), True
        return source, False


def _is_file(value: object) -> TypeGuard[IO[bytes]]:
    return callable(getattr(value, "read", None)) and callable(getattr(value, "seekable", None))


def _pieces(opened: Iterable[bytes]) -> Iterator[bytes]:
    if not _is_file(opened):
        yield from opened
        return
    # A file yields lines, which may be as long as the file.
    while piece := opened.read(_CHUNK_BYTES):
        if not isinstance(piece, bytes):
            raise TypeError("the file must be open in binary mode")
        yield piece


def _next(pieces: Iterator[bytes]) -> bytes | None:
    """The next bytes that are not empty."""
    return next((piece for piece in pieces if piece), None)


def _close(opened: object) -> None:
    close = getattr(opened, "close", None)
    if callable(close):
        close()
