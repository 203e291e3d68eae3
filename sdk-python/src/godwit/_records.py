"""Records: what the service returns."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
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
                # copy and pickle ask every record for special methods.
                near = [] if name.startswith("__") else get_close_matches(name, self, 1)
                hint = f"did you mean {near[0]!r}?" if near else f"its fields are {', '.join(self)}"
                # With the object, Python would add a second suggestion.
                raise AttributeError(f"the {_kind(self) or 'record'} has no field {name!r}; {hint}", name=name) from None

    def __dir__(self) -> Iterable[str]:
        return [*super().__dir__(), *(name for name in self if name.isidentifier())]

    def __repr__(self) -> str:
        """Contains no texts and phone numbers, because it gets into logs."""
        kind = _kind(self)
        if kind is None:
            return f"<record with {', '.join(self) or 'no fields'}>"
        return " ".join([f"<{kind}", *(f"{self[name]}" if name == "id" else f"{name}={self[name]}" for name in _SHOWN if name in self)]) + ">"


_SHOWN = ("id", "type", "status")
_ID = re.compile(r"[a-z]+_[0-7][0-9a-z]{25}")


def _kind(record: Mapping[str, Any]) -> str | None:
    """The type of a record of the API. None for a part of one, such as its metadata, whose fields can have any names."""
    if "object" in record and _ID.fullmatch(str(record.get("id"))):
        return str(record["object"])
    return "event" if {"id", "type", "data"} <= record.keys() else None


def response_of(record: Mapping[str, Any]) -> ApiResponse:
    """Returns the metadata of the response that a method returned: status, request id, replay, attempts and headers."""
    response = record._response if isinstance(record, Record) and hasattr(record, "_response") else None
    if response is None:
        raise TypeError("response_of takes a record that a method of the client returned")
    return response
