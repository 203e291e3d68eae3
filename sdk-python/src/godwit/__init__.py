"""The client of Godwit, a self-hosted messaging service."""

from . import types
from ._async_lists import AsyncPage, AsyncPages
from ._async_streams import AsyncEventStream, AsyncRecipientExport
from ._call import idempotency_key_from
from ._client import AsyncGodwit, Godwit
from ._downloads import AsyncDownload, Download
from ._errors import ApiError, ConnectionFailed, Fault, GodwitError, RequestTimeout, StreamConsumed, WebhookError
from ._lists import Page, Pages
from ._options import ClientCredentials, RequestEvent, ResponseEvent
from ._records import ApiResponse, RateLimit, Record, response_of
from ._streams import EventStream, RecipientExport
from ._uploads import AsyncUploadSource, UploadSource
from ._version import __version__ as __version__
from ._webhooks import verify_webhook

__all__ = [
    "ApiError",
    "ApiResponse",
    "AsyncDownload",
    "AsyncEventStream",
    "AsyncGodwit",
    "AsyncPage",
    "AsyncPages",
    "AsyncRecipientExport",
    "AsyncUploadSource",
    "ClientCredentials",
    "ConnectionFailed",
    "Download",
    "EventStream",
    "Fault",
    "Godwit",
    "GodwitError",
    "Page",
    "Pages",
    "RateLimit",
    "Record",
    "RecipientExport",
    "RequestEvent",
    "RequestTimeout",
    "ResponseEvent",
    "StreamConsumed",
    "UploadSource",
    "WebhookError",
    "idempotency_key_from",
    "response_of",
    "types",
    "verify_webhook",
]
