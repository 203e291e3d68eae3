"""The event stream and the export of the asynchronous client."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from . import types
from ._call import is_retryable, parse_json, retry_delay
from ._errors import GodwitError
from ._frames import FrameReader, LineReader
from ._records import Record
from ._streams import INCOMPLETE, resumption

if TYPE_CHECKING:
    from ._async_transport import AsyncTransport


class AsyncEventStream:
    """A stream of events. Iterate it once, with ``async for``. It reconnects when the connection ends, continues after the last event, and
    ends with an error only when the service refuses the request permanently."""

    def __init__(
        self,
        transport: AsyncTransport,
        method: str,
        path: str,
        ids: Mapping[str, str],
        last_event_id: str | None,
        silence: float,
        query: Mapping[str, Any],
    ) -> None:
        self._open = partial(transport.open, method, path, ids, accept="text/event-stream", silence=silence, query=query)
        #: The id of the last event whose processing is finished. Store it to continue after it in another process.
        self.last_event_id = last_event_id

    async def __aiter__(self) -> AsyncIterator[types.Event]:
        failures = 0
        while True:
            error: Exception = GodwitError("the service closed the stream")
            try:
                async with self._open(headers=resumption(self.last_event_id)) as chunks:
                    failures = 0
                    reader = FrameReader()
                    async for chunk in chunks:
                        for frame in reader.take(chunk):
                            if frame.data is not None:
                                yield parse_json(frame.data)
                            # The caller has asked for the next event, so this one is processed.
                            self.last_event_id = frame.id or self.last_event_id
            except GodwitError as caught:
                if not is_retryable(caught):
                    raise
                error = caught
            failures += 1
            await asyncio.sleep(retry_delay(failures, error))


class AsyncRecipientExport:
    """The records of an export. Iterate it once, with ``async for``. Fails if the export is incomplete."""

    def __init__(
        self, transport: AsyncTransport, method: str, path: str, ids: Mapping[str, str], silence: float, body: Mapping[str, Any]
    ) -> None:
        self._open = partial(transport.open, method, path, ids, accept="application/x-ndjson", silence=silence, body=body)
        #: The number of records of each kind, once the iteration has ended.
        self.counts: dict[str, int] | None = None

    async def __aiter__(self) -> AsyncIterator[Record]:
        reader = LineReader()
        async with self._open() as chunks:
            async for chunk in chunks:
                for line in reader.take(chunk):
                    record = parse_json(line)
                    if record["object"] == "export_end":
                        self.counts = record["counts"]
                        return
                    yield record
        raise GodwitError(INCOMPLETE)
