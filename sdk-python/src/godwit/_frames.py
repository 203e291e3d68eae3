"""Parses streams: Server-Sent Events as defined in the HTML standard, and lines of JSON."""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass

from ._errors import GodwitError

# A block or a line has less than 40 kB. The limit stops a server that never ends one.
_MAX_CHARACTERS = 1_000_000


@dataclass
class Frame:
    """One block of the stream. A block without data can still carry the id at which the stream is."""

    id: str | None = None
    data: str | None = None


class LineReader:
    """Collects the bytes of a stream and returns each line that is complete."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._rest = ""

    def take(self, chunk: bytes) -> list[str]:
        # A carriage return at the end may be the first half of CR LF.
        *lines, self._rest = re.split(r"\r\n|\n|\r(?!\Z)", self._rest + self._decoder.decode(chunk))
        if len(self._rest) > _MAX_CHARACTERS:
            raise GodwitError("a line of the stream is too long")
        return lines


class FrameReader:
    """Collects the bytes of an event stream and returns each block that is complete."""

    def __init__(self) -> None:
        self._lines = LineReader()
        self._block: list[str] = []
        self._characters = 0

    def take(self, chunk: bytes) -> list[Frame]:
        frames = []
        for line in self._lines.take(chunk):
            if line == "":
                frames.append(_parse_block(self._block))
                self._block, self._characters = [], 0
                continue
            self._block.append(line)
            self._characters += len(line)
            if self._characters > _MAX_CHARACTERS:
                raise GodwitError("a block of the event stream is too long")
        return frames


def _parse_block(lines: list[str]) -> Frame:
    frame = Frame()
    for line in lines:
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if name == "data":
            frame.data = value if frame.data is None else f"{frame.data}\n{value}"
        elif name == "id":
            frame.id = value
    return frame
