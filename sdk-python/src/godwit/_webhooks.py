"""Verifies webhooks as defined by Standard Webhooks 1.0."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import re
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias, cast

from . import types
from ._call import parse_json
from ._errors import WebhookError
from ._options import check_seconds

#: The headers of a request. Those of ASGI are bytes.
WebhookHeaders: TypeAlias = Mapping[str, str] | Mapping[bytes, bytes] | Iterable[tuple[str, str]] | Iterable[tuple[bytes, bytes]]

_TOLERANCE_SECONDS = 300.0
# The service sends at most two, while a secret is rotated.
_MAX_SIGNATURES = 20
_PREFIX = "whsec_"


def verify_webhook(
    payload: str | bytes,
    headers: WebhookHeaders,
    secrets: str | Sequence[str],
    *,
    tolerance: float = _TOLERANCE_SECONDS,
) -> types.Event:
    """Verifies a webhook and returns its event, or raises a WebhookError. ``payload`` must be the unchanged bytes of the body, not parsed
    and serialized JSON. If several secrets are given, any of them may have signed the webhook. ``tolerance`` is the maximum difference in
    seconds between the timestamp of the webhook and the local clock."""
    # A comparison with NaN is never true: a webhook of any age would pass.
    check_seconds("tolerance", tolerance, 0, float("inf"))
    keys = [_secret_bytes(secret) for secret in _secret_list(secrets)]
    body = _body_bytes(payload)
    values = _read_headers(headers)
    webhook_id, timestamp, signatures = (values.get(f"webhook-{name}", "") for name in ("id", "timestamp", "signature"))
    if not webhook_id or not timestamp or not signatures:
        raise WebhookError("missing_headers", "the headers webhook-id, webhook-timestamp and webhook-signature are required")
    _check_time(timestamp, tolerance)
    content = f"{webhook_id}.{timestamp}.".encode() + body
    expected = [base64.b64encode(hmac.new(key, content, hashlib.sha256).digest()) for key in keys]
    given = [each[3:].encode() for each in signatures.split(" ")[:_MAX_SIGNATURES] if each.startswith("v1,")]
    if not any(hmac.compare_digest(one, other) for one in expected for other in given):
        raise WebhookError("no_matching_signature", "no signature matches one of these secrets")
    try:
        return cast(types.Event, parse_json(body))
    except ValueError:
        raise WebhookError("invalid_payload", "the body is not JSON") from None


class Webhooks:
    """The verification of webhooks as a member of the client."""

    def verify(
        self,
        payload: str | bytes,
        headers: WebhookHeaders,
        secrets: str | Sequence[str],
        *,
        tolerance: float = _TOLERANCE_SECONDS,
    ) -> types.Event:
        """Verifies a webhook and returns its event, or raises a WebhookError. The same as ``verify_webhook``."""
        return verify_webhook(payload, headers, secrets, tolerance=tolerance)


def _check_time(text: str, tolerance: float) -> None:
    if re.fullmatch(r"[0-9]{1,12}", text) is None:
        raise WebhookError("invalid_timestamp", "webhook-timestamp is not a number of seconds")
    age = time.time() - int(text)
    if age > tolerance:
        raise WebhookError("timestamp_too_old", f"it is {age:.0f} seconds old")
    if age < -tolerance:
        raise WebhookError("timestamp_too_new", f"it is {-age:.0f} seconds ahead")


def _body_bytes(payload: object) -> bytes:
    if isinstance(payload, str):
        return payload.encode()
    if isinstance(payload, (bytes, bytearray, memoryview)):
        return bytes(payload)
    raise TypeError(
        "the payload of a webhook is its raw body, as text or bytes, and not the parsed JSON: "
        f"request.get_data() in Flask, await request.body() in FastAPI; its type is {type(payload).__name__}"
    )


def _secret_list(secrets: object) -> Sequence[object]:
    return secrets if isinstance(secrets, Sequence) and not isinstance(secrets, (str, bytes)) else [secrets]


def _secret_bytes(secret: object) -> bytes:
    if not isinstance(secret, str):
        raise ValueError(f"a webhook secret is {_PREFIX} followed by base64, and its type is {type(secret).__name__}")
    try:
        key = base64.b64decode(secret.removeprefix(_PREFIX), validate=True)
    except (binascii.Error, ValueError):
        key = b""
    # A mistake of the receiver, not of the sender: with an empty secret anyone could sign a webhook.
    if key == b"":
        raise ValueError(f"a webhook secret is {_PREFIX} followed by base64")
    return key


def _text(value: str | bytes) -> str:
    return value.decode("latin-1") if isinstance(value, bytes) else value


def _read_headers(headers: WebhookHeaders) -> dict[str, str]:
    """Returns the headers by their lower-case names. A header that occurs twice counts as missing."""
    pairs = headers.items() if isinstance(headers, Mapping) or hasattr(headers, "items") else headers
    found: dict[str, str] = {}
    repeated = set()
    for given, value in cast(Iterable[tuple[str | bytes, str | bytes]], pairs):
        name = _text(given).lower()
        if name in found:
            repeated.add(name)
        found[name] = _text(value)
    return {name: value for name, value in found.items() if name not in repeated}
