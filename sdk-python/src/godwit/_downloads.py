"""Downloads: the file of media, piece by piece."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncIterator, Iterator, Mapping
from functools import partial
from typing import IO, TYPE_CHECKING

from ._call import is_retryable, retry_delay
from ._errors import GodwitError

if TYPE_CHECKING:
    from ._async_transport import AsyncTransport
    from ._transport import Transport


class Download:
    """The bytes of a file. Iterate it, or save it: each sends the request. Attempts are repeated until the response begins."""

    def __init__(
        self, transport: Transport, method: str, path: str, ids: Mapping[str, str], max_retries: int | None, timeout: float | None
    ) -> None:
        limits = transport.limits(max_retries, timeout)
        self._max_retries = limits.max_retries
        self._open = partial(transport.open, method, path, ids, accept="*/*", silence=limits.timeout)

    def __iter__(self) -> Iterator[bytes]:
        attempts = 0
        while True:
            attempts += 1
            is_begun = False
            try:
                with self._open() as chunks:
                    is_begun = True
                    yield from chunks
                    return
            except GodwitError as error:
                error.attempts = attempts
                if is_begun or attempts > self._max_retries or not is_retryable(error):
                    raise
                delay = retry_delay(attempts, error)
            time.sleep(delay)

    def save(self, to: str | os.PathLike[str] | IO[bytes]) -> int:
        """Writes the file to a path, or into a file object. Returns the number of bytes. A path has the whole file, or stays as it was."""
        if not isinstance(to, (str, os.PathLike)):
            return sum(_write(to, chunk) for chunk in self)
        with _Partial(to) as file:
            return sum(_write(file, chunk) for chunk in self)


class AsyncDownload:
    """The same for asyncio: iterate it with ``async for``, or ``await`` the method ``save``."""

    def __init__(
        self, transport: AsyncTransport, method: str, path: str, ids: Mapping[str, str], max_retries: int | None, timeout: float | None
    ) -> None:
        limits = transport.limits(max_retries, timeout)
        self._max_retries = limits.max_retries
        self._open = partial(transport.open, method, path, ids, accept="*/*", silence=limits.timeout)

    async def __aiter__(self) -> AsyncIterator[bytes]:
        attempts = 0
        while True:
            attempts += 1
            is_begun = False
            try:
                async with self._open() as chunks:
                    is_begun = True
                    async for chunk in chunks:
                        yield chunk
                    return
            except GodwitError as error:
                error.attempts = attempts
                if is_begun or attempts > self._max_retries or not is_retryable(error):
                    raise
                delay = retry_delay(attempts, error)
            await asyncio.sleep(delay)

    async def save(self, to: str | os.PathLike[str] | IO[bytes]) -> int:
        """Writes the file to a path, or into a file object. Returns the number of bytes. A path has the whole file, or stays as it was."""
        if not isinstance(to, (str, os.PathLike)):
            return await self._write(to)
        with _Partial(to) as file:
            return await self._write(file)

    async def _write(self, file: IO[bytes]) -> int:
        count = 0
        async for chunk in self:
            count += await asyncio.to_thread(_write, file, chunk)
        return count


def _write(file: IO[bytes], chunk: bytes) -> int:
    file.write(chunk)
    return len(chunk)


class _Partial:
    """A file beside the path, which takes its place when it is complete."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = os.fspath(path)
        self._partial = f"{self._path}.part"

    def __enter__(self) -> IO[bytes]:
        self._file = open(self._partial, "wb")
        return self._file

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        self._file.close()
        if error is None:
            os.replace(self._partial, self._path)
        else:
            os.unlink(self._partial)
