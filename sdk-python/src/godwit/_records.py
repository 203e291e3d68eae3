"""Records: what the service returns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any


@dataclass(frozen=True)
class RateLimit:
    """The remaining quota of the credential's environment, from the RateLimit headers."""

    name: str
    remaining: int
    reset_seconds: int
    quota: int | None
    window_seconds: int | None


@dataclass(frozen=True)
class ApiResponse:
    """The metadata of a successful response. ``response_of`` returns it for a record."""

    status: int
    #: The id of the request. Include it in bug reports.
    request_id: str | None
    #: True if this is the stored response of an earlier request with the same idempotency key.
    is_replayed: bool
    #: The idempotency key that was sent. None for reads and deletions.
    idempotency_key: str | None
    #: The number of requests that were made, including retries.
    attempts: int
    #: The remaining quota. None if the environment has no limit.
    rate_limit: RateLimit | None
    headers: Mapping[str, str]


class Record(dict[str, Any]):
    """An object of the API: its fields are attributes, and it is the dictionary of the JSON. ``message.id`` is ``message["id"]``."""

    __slots__ = ("_response",)
    _response: ApiResponse

    # A type checker knows the fields of each record, and must not take any other name for one.
    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            try:
                return self[name]
            except KeyError:
                raise AttributeError(f"the record has no field {name!r}", name=name, obj=self) from None


def response_of(record: Mapping[str, Any]) -> ApiResponse:
    """Returns the metadata of the response that a method returned: status, request id, replay, attempts and headers."""
    response = record._response if isinstance(record, Record) and hasattr(record, "_response") else None
    if response is None:
        raise TypeError("response_of takes a record that a method of the client returned")
    return response
