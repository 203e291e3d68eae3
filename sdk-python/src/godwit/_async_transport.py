"""Executes the steps of calls with httpx and asyncio."""

from __future__ import annotations

import asyncio
import inspect
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, TypeVar, cast

import httpx

from ._async_lists import AsyncPage, AsyncPages
from ._call import CallOptions, Calls, Invoke, Request, Send, Steps, Wait, check_status, with_token
from ._errors import RawResponse, RequestTimeout, unexpected_response
from ._options import Limits, Settings
from ._transport import network_errors, raw
from ._uploads import AsyncUploadSource, UploadBody

T = TypeVar("T")


class AsyncTransport:
    def __init__(self, settings: Settings, http: httpx.AsyncClient | None) -> None:
        self._calls = Calls(settings)
        self._http = http if http is not None else httpx.AsyncClient()
        self._is_own = http is None

    async def close(self) -> None:
        if self._is_own:
            await self._http.aclose()

    async def call(
        self,
        result: type[T],
        method: str,
        path: str,
        ids: Mapping[str, str],
        options: CallOptions,
        query: Mapping[str, Any] | None = None,
        body: Mapping[str, Any] | None = None,
    ) -> T:
        return cast(T, await self._run(self._calls.call(method, path, ids, options, query, body)))

    async def upload(
        self,
        result: type[T],
        method: str,
        path: str,
        ids: Mapping[str, str],
        options: CallOptions,
        source: AsyncUploadSource,
        content_type: str | None,
        query: Mapping[str, Any],
    ) -> T:
        return cast(T, await self._run(self._calls.upload(method, path, ids, options, UploadBody(source), content_type, query)))

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
    ) -> AsyncPages[T]:
        async def fetch(cursor: str | None) -> AsyncPage[T]:
            at = query if cursor is None else {**(query or {}), "cursor": cursor}
            return AsyncPage(await self._run(self._calls.call(method, path, ids, options, at)), cursor, fetch)

        return AsyncPages(fetch)

    @asynccontextmanager
    async def open(
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
    ) -> AsyncIterator[AsyncIterator[bytes]]:
        """Opens a streaming response, in one attempt, and yields its bytes."""
        request = self._calls.request(method, path, ids, query, body, {"accept": accept, **(headers or {})})
        token = await self._run(self._calls.token())
        with network_errors(silence, request):
            for is_first in (True, False):
                async with self._stream(with_token(request, token), silence) as response:
                    another = await self._run(self._calls.token(token)) if response.status_code == 401 and is_first else token
                    if another != token:
                        token = another
                        continue
                    if response.status_code >= 300:
                        check_status(raw(response, await response.aread()))
                    if accept != "*/*" and not response.headers.get("content-type", "").startswith(accept):
                        raise unexpected_response(raw(response, b""), f"the response is not {accept}: check base_url")
                    yield response.aiter_bytes()
                    return

    async def _run(self, steps: Steps) -> Any:
        """Executes the steps, and passes each result or error to the generator."""
        try:
            step = next(steps)
            while True:
                try:
                    result = await self._execute(step)
                except Exception as error:
                    step = steps.throw(error)
                else:
                    step = steps.send(result)
        except StopIteration as end:
            return end.value

    async def _execute(self, step: Send | Wait | Invoke) -> object:
        if isinstance(step, Send):
            return await self._send(step.request, step.timeout)
        if isinstance(step, Invoke):
            result = step.function(step.argument)
            return await result if inspect.isawaitable(result) else result
        await asyncio.sleep(step.seconds)
        return None

    async def _send(self, request: Request, timeout: float) -> RawResponse:
        ends_at = time.monotonic() + timeout
        with network_errors(timeout, request):
            async with self._stream(request, timeout) as response:
                content = bytearray()
                # The limit of httpx applies to each read. This one applies to the whole response.
                async for chunk in response.aiter_bytes():
                    content += chunk
                    if time.monotonic() > ends_at:
                        raise RequestTimeout(f"no complete response within {timeout:g} seconds")
                return raw(response, bytes(content))

    def _stream(self, request: Request, timeout: float) -> Any:
        return self._http.stream(
            request.method,
            request.url,
            headers=dict(request.headers),
            content=_async_content(request.content, timeout),
            timeout=timeout,
            follow_redirects=False,
        )


async def _within_async(chunks: AsyncIterator[bytes], timeout: float) -> AsyncIterator[bytes]:
    """The bytes of an upload, within the time of the attempt."""
    ends_at = time.monotonic() + timeout
    async for chunk in chunks:
        if time.monotonic() > ends_at:
            raise RequestTimeout(f"the file was not sent within {timeout:g} seconds")
        yield chunk


def _async_content(content: bytes | UploadBody | None, timeout: float) -> bytes | AsyncIterator[bytes] | None:
    return _within_async(content.async_chunks(), timeout) if isinstance(content, UploadBody) else content
