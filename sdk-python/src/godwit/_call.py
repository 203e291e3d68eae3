"""The course of a call: one idempotency key, retries within limits, one response or one error.

A call is a generator that yields steps: send a request, wait, or call a function of the user. A transport executes them. So the rules exist
once, for the synchronous and the asynchronous client.
"""

from __future__ import annotations

import hashlib
import json
import logging
import platform
import random
import re
import time
import uuid
from base64 import b64encode
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from ._errors import ApiError, ConnectionFailed, GodwitError, RawResponse, StreamConsumed, to_api_error, unexpected_response
from ._options import ClientCredentials, Limits, RequestEvent, ResponseEvent, Settings, check_token, resolve_limits
from ._records import ApiResponse, RateLimit, Record, response_of
from ._times import with_times
from ._uploads import UploadBody
from ._version import __version__

_log = logging.getLogger("godwit")

# Names the package in the logs of the service.
_USER_AGENT = f"godwit-sdk-python/{__version__} python/{platform.python_version()}"

_FIRST_SECONDS = 0.5
_MAX_SECONDS = 30.0
_RETRYABLE_STATUSES = frozenset({408, 429, 500, 502, 503, 504})

# A token is replaced this long before its expiry, so that it does not expire while a request is on its way.
_MARGIN_SECONDS = 60.0
_DEFAULT_TOKEN_SECONDS = 300.0


@dataclass(frozen=True)
class Request:
    """A request without its credential, the same for every attempt."""

    method: str
    url: str
    headers: Mapping[str, str]
    content: bytes | UploadBody | None


@dataclass(frozen=True)
class Send:
    """A step: sends the request, and returns a RawResponse."""

    request: Request
    timeout: float


@dataclass(frozen=True)
class Wait:
    """A step: waits."""

    seconds: float


@dataclass(frozen=True)
class Invoke:
    """A step: calls a function of the user, which may be asynchronous, and returns its result."""

    function: Callable[[str | None], object]
    argument: str | None


Steps = Generator["Send | Wait | Invoke", Any, Any]


@dataclass(frozen=True)
class CallOptions:
    """The options of one call. None means the option of the client."""

    max_retries: int | None = None
    timeout: float | None = None
    total_timeout: float | None = None
    headers: Mapping[str, str] | None = None
    idempotency_key: str | uuid.UUID | None = None


# A file takes longer than other requests.
UPLOAD_TIMEOUT = 900.0
UPLOAD_TOTAL_TIMEOUT = 1_800.0
_BYTES = "application/octet-stream"


def idempotency_key_from(text: str) -> str:
    """Returns an idempotency key that is derived from a text, such as ``order-17``: the same key for the same text, also in the TypeScript
    SDK. So a program that starts again repeats its request with the same key without storing it. Another message about the same order needs
    another text, such as ``order-17 shipped``."""
    if text == "":
        raise ValueError("the text of an idempotency key must not be empty: all requests would have the same key")
    return str(uuid.UUID(bytes=hashlib.sha256(text.encode()).digest()[:16], version=4))


def is_retryable(error: Exception) -> bool:
    """Whether another attempt may succeed. Other refusals would be the same again."""
    if isinstance(error, ApiError):
        return error.status in _RETRYABLE_STATUSES or error.code == "idempotency_conflict"
    return isinstance(error, ConnectionFailed)


def retry_delay(failures: int, error: Exception, rand: Callable[[], float] = random.random) -> float:
    """Returns a random wait below a bound that doubles with each failure, so that clients that failed together do not retry together. A
    Retry-After of the server is added. ``failures`` counts the failed attempts, from one."""
    jitter = rand() * min(_MAX_SECONDS, _FIRST_SECONDS * float(2 ** min(failures - 1, 30)))
    retry_after = (error.retry_after or 0.0) if isinstance(error, ApiError) else 0.0
    return jitter if retry_after == 0 else retry_after + min(jitter, retry_after)


class Calls:
    """Builds the requests of a client, and runs its calls."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._token: tuple[str, float] | None = None

    def request(
        self,
        method: str,
        path: str,
        ids: Mapping[str, str],
        query: Mapping[str, Any] | None = None,
        body: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Request:
        filled = re.sub(r"\{(\w+)\}", lambda found: _segment(found[1], ids[found[1]], f"{method} {path}"), path)
        search = urlencode({name: value for name, value in with_times(query or {}).items() if value is not None})
        given = {name.lower(): value for name, value in {"user-agent": _USER_AGENT, **self._settings.headers, **(headers or {})}.items()}
        content = None if body is None else json.dumps(with_times(body), allow_nan=False, separators=(",", ":")).encode()
        own = {} if content is None else {"content-type": "application/json"}
        return Request(method, f"{self._settings.base_url}{filled}{'?' if search else ''}{search}", {**given, **own}, content)

    def call(
        self,
        method: str,
        path: str,
        ids: Mapping[str, str],
        options: CallOptions,
        query: Mapping[str, Any] | None = None,
        body: Mapping[str, Any] | None = None,
    ) -> Steps:
        """The steps of a call. Returns a Record."""
        is_write = method in ("POST", "PATCH")
        key = _key(options.idempotency_key) if is_write else None
        plain = self.request(method, path, ids, query, body, options.headers)
        own = {"accept": "application/json", **({} if key is None else {"idempotency-key": key})}
        return self._retry(Request(method, plain.url, {**plain.headers, **own}, plain.content), options, key)

    def upload(
        self,
        method: str,
        path: str,
        ids: Mapping[str, str],
        options: CallOptions,
        body: UploadBody,
        content_type: str | None,
        query: Mapping[str, Any],
    ) -> Steps:
        """The steps of a call whose body is a file. Returns a Record."""
        key = _key(options.idempotency_key)
        plain = self.request(method, path, ids, {"file_name": body.file_name, **query}, None, options.headers)
        length = body.length
        own = {"accept": "application/json", "idempotency-key": key, "content-type": _media_type(content_type)}
        sized = {} if length is None else {"content-length": str(length)}
        limited = CallOptions(
            options.max_retries,
            UPLOAD_TIMEOUT if options.timeout is None else options.timeout,
            UPLOAD_TOTAL_TIMEOUT if options.total_timeout is None else options.total_timeout,
        )
        return self._retry(Request(method, plain.url, {**plain.headers, **own, **sized}, body), limited, key)

    def limits(self, max_retries: int | None, timeout: float | None) -> Limits:
        return resolve_limits(max_retries, timeout, None, self._settings.limits)

    def _retry(self, request: Request, options: CallOptions, key: str | None) -> Steps:
        limits = resolve_limits(options.max_retries, options.timeout, options.total_timeout, self._settings.limits)
        ends_at = time.monotonic() + limits.total_timeout
        path = urlsplit(request.url).path
        attempts = 0
        while True:
            attempts += 1
            self._before(RequestEvent(request.method, path, attempts, key))
            started_at = time.monotonic()
            try:
                response: RawResponse = yield from self._authorized(request, min(limits.timeout, ends_at - started_at))
                record = _record(_parse(response), response, key, attempts)
            except Exception as caught:
                error = caught
            else:
                duration, request_id = time.monotonic() - started_at, response_of(record).request_id
                self._after(ResponseEvent(request.method, path, attempts, key, duration, response.status, request_id, None, None))
                return record
            duration = time.monotonic() - started_at
            retry_in = None
            if isinstance(error, GodwitError):
                error.attempts, error.idempotency_key = attempts, key
                delay = retry_delay(attempts, error)
                if attempts <= limits.max_retries and time.monotonic() + delay < ends_at and is_retryable(error):
                    retry_in = delay
            if retry_in is not None and isinstance(request.content, UploadBody) and request.content.is_consumed:
                error, retry_in = StreamConsumed(error), None
                error.attempts, error.idempotency_key = attempts, key
            status, request_id = (error.status, error.request_id) if isinstance(error, GodwitError) else (None, None)
            self._after(ResponseEvent(request.method, path, attempts, key, duration, status, request_id, error, retry_in))
            if retry_in is None:
                raise error
            yield Wait(retry_in)

    def _before(self, event: RequestEvent) -> None:
        _log.debug("%s %s attempt %d", event.method, event.path, event.attempt)
        if self._settings.on_request is not None:
            self._settings.on_request(event)

    def _after(self, event: ResponseEvent) -> None:
        outcome = event.status if event.status is not None else event.error
        _log.debug("%s %s attempt %d: %s in %.3f s", event.method, event.path, event.attempt, outcome, event.duration)
        if self._settings.on_response is not None:
            self._settings.on_response(event)

    def _authorized(self, request: Request, timeout: float) -> Steps:
        """Sends the request with a token. After a 401 it gets another token and repeats the request once: a token can become invalid before
        its expiry."""
        token = yield from self.token()
        response = yield Send(with_token(request, token), timeout)
        if response.status != 401:
            return response
        another = yield from self.token(token)
        if another == token:
            return response
        return (yield Send(with_token(request, another), timeout))

    def token(self, refused: str | None = None) -> Steps:
        """Returns the value of ``Authorization: Bearer``. With a refused token, returns a new one if possible."""
        credential = self._settings.credential
        if isinstance(credential, str):
            return credential
        if isinstance(credential, ClientCredentials):
            return (yield from self._exchange(credential, refused))
        return check_token("the result of access_token", (yield Invoke(credential, refused)))

    def _exchange(self, credential: ClientCredentials, refused: str | None) -> Steps:
        if self._token is not None and self._token[0] != refused and time.monotonic() < self._token[1]:
            return self._token[0]
        basic = b64encode(f"{quote(credential.client_id, safe='')}:{quote(credential.client_secret, safe='')}".encode()).decode()
        form = {"grant_type": "client_credentials"}
        if credential.scopes is not None:
            form["scope"] = " ".join(credential.scopes)
        headers = {
            "user-agent": _USER_AGENT,
            "authorization": f"Basic {basic}",
            "content-type": "application/x-www-form-urlencoded",
            "accept": "application/json",
        }
        request = Request("POST", f"{self._settings.base_url}/v1/oauth/token", headers, urlencode(form).encode())
        response = yield Send(request, self._settings.limits.timeout)
        data = _parse(response)
        token = check_token("access_token of the response", data.get("access_token"))
        life = float(data.get("expires_in", _DEFAULT_TOKEN_SECONDS))
        self._token = (token, time.monotonic() + max(life - _MARGIN_SECONDS, life / 2))
        return token


def with_token(request: Request, token: str) -> Request:
    return Request(request.method, request.url, {**request.headers, "authorization": f"Bearer {token}"}, request.content)


def check_status(response: RawResponse) -> None:
    """Raises the error of a response that is not a success."""
    if 300 <= response.status < 400:
        # Following a redirect could turn a POST into a GET, or send the credential to another host.
        detail = "the response is a redirect, which is not followed: set base_url to the final URL of the service"
        raise unexpected_response(response, detail)
    if response.status >= 400:
        raise to_api_error(response)


def _parse(response: RawResponse) -> Record:
    check_status(response)
    try:
        data = parse_json(response.content)
    except ValueError:
        data = None
    if isinstance(data, Record):
        return data
    raise unexpected_response(response, "the response is not JSON: check that base_url is the URL of a Godwit service")


def parse_json(text: str | bytes) -> Any:
    """Parses JSON whose objects become records."""
    return json.loads(text, object_hook=Record)


def _record(record: Record, response: RawResponse, key: str | None, attempts: int) -> Record:
    headers = response.headers
    is_replayed = headers.get("idempotent-replayed") == "true"
    rate_limit = parse_rate_limit(headers)
    record._response = ApiResponse(response.status, headers.get("x-request-id"), is_replayed, key, attempts, rate_limit, headers)
    return record


def parse_rate_limit(headers: Mapping[str, str]) -> RateLimit | None:
    """Parses the headers of IETF draft-ietf-httpapi-ratelimit-headers: ``"name";a=1;b=2``."""
    left, policy = (re.match(r'"([^"]*)"((?:;[a-z]+=\d+)*)', headers.get(name, "")) for name in ("ratelimit", "ratelimit-policy"))
    if left is None:
        return None
    numbers = {name: int(value) for name, value in re.findall(r";([a-z]+)=(\d+)", left[2] + (policy[2] if policy else ""))}
    return RateLimit(left[1], numbers.get("r", 0), numbers.get("t", 0), numbers.get("q"), numbers.get("w"))


def _key(given: object) -> str:
    if given is None:
        return str(uuid.uuid4())
    if isinstance(given, (str, uuid.UUID)):
        return str(given)
    raise ValueError(f"idempotency_key must be a UUID or its text, and is {given!r}")


def _media_type(hint: str | None) -> str:
    # A body of JSON would be the request to fetch a file.
    return _BYTES if hint is None or hint.lower().startswith("application/json") else hint


def _segment(name: str, value: object, operation: str) -> str:
    """Encodes an id for the path. Refuses an id that is empty or consists of dots, because it would address another operation."""
    if isinstance(value, str) and value not in ("", ".", ".."):
        return quote(value, safe="")
    raise ValueError(f"{operation} needs an id, and {name} is {value!r}")
