"""The errors of the client, with one class for each kind."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime
from typing import Any

from ._records import Record


class Fault(Record):
    """One invalid value of a request. ``where`` is its position: the pointer in the body, the parameter of the query, or the header. The
    dictionary has one of the keys ``pointer``, ``parameter`` and ``header``."""

    code: str
    detail: str

    @property
    def where(self) -> str:
        # The pointer of the whole body is empty. The service names it so in detail, because body is also the name of a field.
        return next((self[name] for name in ("pointer", "parameter", "header") if self.get(name)), "request body")

    def __repr__(self) -> str:
        return f"<fault {self.where}: {self.get('detail')}>"


class GodwitError(Exception):
    """The base class of all errors of a call. Invalid arguments raise ``ValueError`` instead."""

    #: The error code of the response, or None if there was none. Distinguish the cases by it.
    code: str | None = None
    #: The HTTP status of the response, or None if there was none.
    status: int | None = None
    #: The id of the request. Include it in bug reports.
    request_id: str | None = None
    #: Every invalid value of the request, each with its position.
    errors: Sequence[Fault] = ()
    #: The number of requests that were made, including retries.
    attempts: int = 1
    #: The idempotency key of the call, or None for reads and deletions. Repeat the call with it; it has no second effect.
    idempotency_key: str | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        # Without this, pickle and copy call the class with the text only, and other classes take more.
        return _restored, (type(self), self.args), self.__dict__


def _restored(kind: type[GodwitError], args: tuple[Any, ...]) -> GodwitError:
    return kind.__new__(kind, *args)


@dataclass(frozen=True)
class RawResponse:
    """A response that has been read completely. The names of its headers are lower-case."""

    status: int
    reason: str
    headers: Mapping[str, str]
    content: bytes


class ApiError(GodwitError):
    """The service refused the request or failed."""

    code: str
    status: int

    def __init__(self, response: RawResponse, problem: Mapping[str, object]) -> None:
        self.status = response.status
        self.code = _text(problem.get("code"), "unexpected_response")
        self.title = _text(problem.get("title"), response.reason)
        self.detail = _text(problem.get("detail"), "the response is not a problem document of Godwit")
        self.request_id = response.headers.get("x-request-id")
        self.errors = [Fault(each) for each in _sequence(problem.get("errors")) if isinstance(each, dict)]
        #: With ``forbidden_insufficient_scope``: the scopes that the credential lacks.
        self.required_scopes: Sequence[str] = _sequence(problem.get("required_scopes"))
        #: The wait in seconds that the service asks for with Retry-After.
        self.retry_after: float | None = parse_retry_after(response.headers.get("retry-after"))
        self.headers = response.headers
        super().__init__(f"{self.status} {self.code}: {self.detail}")


class ConnectionFailed(GodwitError):
    """No response: the connection could not be established, or it broke. The service may have executed the request. Repeat the call with
    ``idempotency_key`` to find out without a second effect."""


class RequestTimeout(ConnectionFailed):
    """No response in time."""


class StreamConsumed(GodwitError):
    """An upload failed, and its stream cannot be read again for another attempt. ``__cause__`` is the error of the attempt. Upload the file
    again with ``idempotency_key``: if the service has stored it, it returns the same record."""

    def __init__(self, cause: Exception | None = None) -> None:
        reason = "" if cause is None else f"{cause}; "
        super().__init__(f"{reason}the stream of the file was read and cannot be sent again: pass a path, bytes, or a function that opens it")
        self.__cause__ = cause


class WebhookError(GodwitError):
    """The webhook does not come from the service, or it is too old. Respond with 400 and ignore it."""

    def __init__(self, reason: str, detail: str) -> None:
        #: Why the webhook was refused, such as ``no_matching_signature``.
        self.reason = reason
        super().__init__(f"{reason}: {detail}")


def to_api_error(response: RawResponse) -> ApiError:
    """Converts an error response. A body that is not a problem document comes from a proxy in front of the service."""
    try:
        problem = json.loads(response.content)
    except ValueError:
        problem = None
    return ApiError(response, problem if isinstance(problem, dict) else {})


def unexpected_response(response: RawResponse, detail: str) -> ApiError:
    """The error for a response that the service never sends."""
    return ApiError(response, {"detail": detail})


def parse_retry_after(text: str | None) -> float | None:
    """Parses Retry-After: seconds, or a date, which some proxies send."""
    if text is None:
        return None
    if text.isascii() and text.isdigit() and len(text) < 10:
        return float(text)
    try:
        return max(0.0, (parsedate_to_datetime(text) - datetime.now(timezone.utc)).total_seconds())
    except (ValueError, TypeError):
        return None


def _text(value: object, otherwise: str) -> str:
    return value if isinstance(value, str) and value != "" else otherwise


def _sequence(value: object) -> list[Any]:
    return value if isinstance(value, list) else []
