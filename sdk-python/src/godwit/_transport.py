"""Executes the steps of calls with httpx, synchronously."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeVar, cast

import httpx

from ._call import CallOptions, Calls, Invoke, Request, Send, Steps, Wait, check_status, with_token
from ._errors import ConnectionFailed, RawResponse, RequestTimeout, unexpected_response
from ._lists import Page, Pages
from ._options import Limits, Settings
from ._uploads import UploadBody, UploadSource

T = TypeVar("T")


class Transport:
    def __init__(self, settings: Settings, http: httpx.Client | None) -> None:
        self._calls = Calls(settings)
        self._http = http if http is not None else httpx.Client()
        self._is_own = http is None

    def close(self) -> None:
        if self._is_own:
            self._http.close()

    def call(
        self,
        result: type[T],
        method: str,
        path: str,
        ids: Mapping[str, str],
        options: CallOptions,
        query: Mapping[str, Any] | None = None,
        body: Mapping[str, Any] | None = None,
    ) -> T:
        return cast(T, self._run(self._calls.call(method, path, ids, options, query, body)))

    def upload(
        self,
        result: type[T],
        method: str,
        path: str,
        ids: Mapping[str, str],
        options: CallOptions,
        source: UploadSource,
        content_type: str | None,
        query: Mapping[str, Any],
    ) -> T:
        return cast(T, self._run(self._calls.upload(method, path, ids, options, UploadBody(source), content_type, query)))

    def limits(self, max_retries: int | None, timeout: float | None) -> Limits:
        return self._calls.limits(max_retries, timeout)

    def pages(
        self,
        item: type[T],
        method: str,
        path: str,
        ids: Mapping[str, str],
        options: CallOptions,
        query: Mapping[str, Any] | None = None,
    ) -> Pages[T]:
        def fetch(cursor: str | None) -> Page[T]:
            at = query if cursor is None else {**(query or {}), "cursor": cursor}
            return Page(self._run(self._calls.call(method, path, ids, options, at)), cursor, fetch)

        return Pages(fetch)

    @contextmanager
    def open(
        self,
        method: str,
        path: str,
        ids: Mapping[str, str],
        *,
        accept: str,
        silence: float,
        query: Mapping[str, Any] | None = None,
        body: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Iterator[Iterator[bytes]]:
        """Opens a streaming response, in one attempt, and yields its bytes."""
        request = self._calls.request(method, path, ids, query, body, {"accept": accept, **(headers or {})})
        token = self._run(self._calls.token())
        with network_errors(silence, request):
            for is_first in (True, False):
                with self._stream(with_token(request, token), silence) as response:
                    another = self._run(self._calls.token(token)) if response.status_code == 401 and is_first else token
                    if another != token:
                        token = another
                        continue
                    if response.status_code >= 300:
                        check_status(raw(response, response.read()))
                    if accept != "*/*" and not response.headers.get("content-type", "").startswith(accept):
                        raise unexpected_response(raw(response, b""), f"the response is not {accept}: check base_url")
                    yield response.iter_bytes()
                    return

    def _run(self, steps: Steps) -> Any:
        """Executes the steps, and passes each result or error to the generator."""
        try:
            step = next(steps)
            while True:
                try:
                    result = self._execute(step)
                except Exception as error:
                    step = steps.throw(error)
                else:
                    step = steps.send(result)
        except StopIteration as end:
            return end.value

    def _execute(self, step: Send | Wait | Invoke) -> object:
        if isinstance(step, Send):
            return self._send(step.request, step.timeout)
        if isinstance(step, Invoke):
            return step.function(step.argument)
        time.sleep(step.seconds)
        return None

    def _send(self, request: Request, timeout: float) -> RawResponse:
        ends_at = time.monotonic() + timeout
        with network_errors(timeout, request), self._stream(request, timeout) as response:
            content = bytearray()
            # The limit of httpx applies to each read. This one applies to the whole response.
            for chunk in response.iter_bytes():
                content += chunk
                if time.monotonic() > ends_at:
                    raise RequestTimeout(f"no complete response within {timeout:g} seconds")
            return raw(response, bytes(content))

    def _stream(self, request: Request, timeout: float) -> Any:
        return self._http.stream(
            request.method,
            request.url,
            headers=dict(request.headers),
            content=_content(request.content, timeout),
            timeout=timeout,
            follow_redirects=False,
        )


def _within(chunks: Iterator[bytes], timeout: float) -> Iterator[bytes]:
    """The bytes of an upload, within the time of the attempt."""
    ends_at = time.monotonic() + timeout
    for chunk in chunks:
        if time.monotonic() > ends_at:
            raise RequestTimeout(f"the file was not sent within {timeout:g} seconds")
        yield chunk


def _content(content: bytes | UploadBody | None, timeout: float) -> bytes | Iterator[bytes] | None:
    return _within(content.chunks(), timeout) if isinstance(content, UploadBody) else content


def raw(response: httpx.Response, content: bytes) -> RawResponse:
    headers = {name.lower(): value for name, value in response.headers.items()}
    return RawResponse(response.status_code, response.reason_phrase, headers, content)


@contextmanager
def network_errors(timeout: float, request: Request) -> Iterator[None]:
    """Converts the errors of httpx. The cause remains."""
    try:
        yield
    except httpx.TimeoutException as error:
        raise RequestTimeout(f"no response within {timeout:g} seconds") from error
    except (httpx.TransportError, httpx.StreamError) as error:
        url = httpx.URL(request.url)
        is_unreachable = isinstance(error, httpx.ConnectError) and "SSL" not in str(error)
        hint = "; is Godwit running there?" if is_unreachable else ""
        raise ConnectionFailed(f"no response from {url.scheme}://{url.netloc.decode()}: {error or type(error).__name__}{hint}") from error
