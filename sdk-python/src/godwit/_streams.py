"""The event stream and the export of a person's data."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from . import types
from ._call import is_retryable, parse_json, retry_delay
from ._errors import GodwitError
from ._frames import FrameReader, LineReader
from ._records import Record

if TYPE_CHECKING:
    from ._transport import Transport


class EventStream:
    """A stream of events. Iterate it once. It reconnects when the connection ends, continues after the last event, and ends with an error
    only when the service refuses the request permanently."""

    def __init__(
        self,
        transport: Transport,
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

    def __iter__(self) -> Iterator[types.Event]:
        failures = 0
        while True:
            error: Exception = GodwitError("the service closed the stream")
            try:
                with self._open(headers=resumption(self.last_event_id)) as chunks:
                    failures = 0
                    reader = FrameReader()
                    for chunk in chunks:
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
            time.sleep(retry_delay(failures, error))


class RecipientExport:
    """The records of an export. Iterate it once. Fails if the export is incomplete."""

    def __init__(
        self, transport: Transport, method: str, path: str, ids: Mapping[str, str], silence: float, body: Mapping[str, Any]
    ) -> None:
        self._open = partial(transport.open, method, path, ids, accept="application/x-ndjson", silence=silence, body=body)
        #: The number of records of each kind, once the iteration has ended.
        self.counts: dict[str, int] | None = None

    def __iter__(self) -> Iterator[Record]:
        reader = LineReader()
        with self._open() as chunks:
            for chunk in chunks:
                for line in reader.take(chunk):
                    record = parse_json(line)
                    if record["object"] == "export_end":
                        self.counts = record["counts"]
                        return
                    yield record
        raise GodwitError(INCOMPLETE)


INCOMPLETE = "the export is incomplete: request it again"


def resumption(last_event_id: str | None) -> dict[str, str]:
    return {} if last_event_id is None else {"last-event-id": last_event_id}
