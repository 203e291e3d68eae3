"""The clients: one attribute for each resource of the API."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from types import TracebackType

import httpx

from . import _async_resources as asynchronous
from . import _resources as synchronous
from ._async_transport import AsyncTransport
from ._options import (
    ClientCredentials,
    Limits,
    RequestEvent,
    ResponseEvent,
    Settings,
    parse_base_url,
    parse_credential,
    resolve_limits,
)
from ._transport import Transport
from ._webhooks import Webhooks


class Godwit:
    """The client of a Godwit service. Create one for each credential and share it: it is safe for concurrent calls from several threads.

    ``api_key`` and ``base_url`` default to the environment variables GODWIT_KEY and GODWIT_URL. ``timeout`` limits one attempt and
    ``total_timeout`` all attempts of a call, in seconds. Raises a ValueError that names the missing or invalid option."""

    def __init__(
        self,
        *,
        api_key: str | None = None,
        base_url: str | None = None,
        access_token: str | Callable[[str | None], str] | None = None,
        client_credentials: ClientCredentials | None = None,
        max_retries: int | None = None,
        timeout: float | None = None,
        total_timeout: float | None = None,
        headers: Mapping[str, str] | None = None,
        on_request: Callable[[RequestEvent], None] | None = None,
        on_response: Callable[[ResponseEvent], None] | None = None,
        http_client: httpx.Client | None = None,
    ) -> None:
        settings = Settings(
            parse_base_url(base_url),
            parse_credential(api_key, access_token, client_credentials),
            resolve_limits(max_retries, timeout, total_timeout, Limits()),
            headers or {},
            on_request,
            on_response,
        )
        transport = Transport(settings, http_client)
        self._transport = transport
        self.messages = synchronous.Messages(transport)
        self.batches = synchronous.Batches(transport)
        self.media = synchronous.Media(transport)
        self.templates = synchronous.Templates(transport)
        self.webhook_endpoints = synchronous.WebhookEndpoints(transport)
        self.events = synchronous.Events(transport)
        self.suppressions = synchronous.Suppressions(transport)
        self.consent_settings = synchronous.ConsentSettings(transport)
        self.verifications = synchronous.Verifications(transport)
        self.usage = synchronous.Usage(transport)
        self.queue = synchronous.Queue(transport)
        self.links = synchronous.Links(transport)
        self.senders = synchronous.Senders(transport)
        self.routes = synchronous.Routes(transport)
        self.recipients = synchronous.Recipients(transport)
        self.keys = synchronous.Keys(transport)
        self.compatible_credentials = synchronous.CompatibleCredentials(transport)
        self.audit_events = synchronous.AuditEvents(transport)
        self.requests = synchronous.Requests(transport)
        self.credential = synchronous.Credential(transport)
        self.webhooks = Webhooks()

    def close(self) -> None:
        """Closes the connections. Does not close a client of httpx that you passed."""
        self._transport.close()

    def __enter__(self) -> Godwit:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


class AsyncGodwit:
    """The client for asyncio. Has the same options and resources as Godwit; its calls are awaited."""

    def __init__(
        self,
        *,
        api_key: str | None = None,
        base_url: str | None = None,
        access_token: str | Callable[[str | None], str | Awaitable[str]] | None = None,
        client_credentials: ClientCredentials | None = None,
        max_retries: int | None = None,
        timeout: float | None = None,
        total_timeout: float | None = None,
        headers: Mapping[str, str] | None = None,
        on_request: Callable[[RequestEvent], None] | None = None,
        on_response: Callable[[ResponseEvent], None] | None = None,
        http_client: httpx.AsyncClient | None = None,
    ) -> None:
        settings = Settings(
            parse_base_url(base_url),
            parse_credential(api_key, access_token, client_credentials),
            resolve_limits(max_retries, timeout, total_timeout, Limits()),
            headers or {},
            on_request,
            on_response,
        )
        transport = AsyncTransport(settings, http_client)
        self._transport = transport
        self.messages = asynchronous.AsyncMessages(transport)
        self.batches = asynchronous.AsyncBatches(transport)
        self.media = asynchronous.AsyncMedia(transport)
        self.templates = asynchronous.AsyncTemplates(transport)
        self.webhook_endpoints = asynchronous.AsyncWebhookEndpoints(transport)
        self.events = asynchronous.AsyncEvents(transport)
        self.suppressions = asynchronous.AsyncSuppressions(transport)
        self.consent_settings = asynchronous.AsyncConsentSettings(transport)
        self.verifications = asynchronous.AsyncVerifications(transport)
        self.usage = asynchronous.AsyncUsage(transport)
        self.queue = asynchronous.AsyncQueue(transport)
        self.links = asynchronous.AsyncLinks(transport)
        self.senders = asynchronous.AsyncSenders(transport)
        self.routes = asynchronous.AsyncRoutes(transport)
        self.recipients = asynchronous.AsyncRecipients(transport)
        self.keys = asynchronous.AsyncKeys(transport)
        self.compatible_credentials = asynchronous.AsyncCompatibleCredentials(transport)
        self.audit_events = asynchronous.AsyncAuditEvents(transport)
        self.requests = asynchronous.AsyncRequests(transport)
        self.credential = asynchronous.AsyncCredential(transport)
        self.webhooks = Webhooks()

    async def aclose(self) -> None:
        """Closes the connections. Does not close a client of httpx that you passed."""
        await self._transport.close()

    async def __aenter__(self) -> AsyncGodwit:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self.aclose()
