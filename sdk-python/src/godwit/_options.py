"""The options of a client: defaults, environment variables, and errors that name the option at fault."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

DEFAULT_BASE_URL = "http://127.0.0.1:8080"

# A longer wait is a mistake, such as milliseconds in place of seconds.
_MAX_SECONDS = 86_400.0
_MAX_RETRIES = 100


@dataclass(frozen=True)
class Limits:
    """The limits of a call, in seconds."""

    max_retries: int = 4
    timeout: float = 30.0
    total_timeout: float = 120.0


@dataclass(frozen=True)
class ClientCredentials:
    """The id and the secret of an API key. The client exchanges them for access tokens, which are valid for one hour."""

    client_id: str
    client_secret: str
    scopes: Sequence[str] | None = None


@dataclass(frozen=True)
class RequestEvent:
    """An attempt that starts. Contains no headers, no query and no body, so that no credential, number or text gets into a log."""

    method: str
    path: str
    #: The number of this attempt, from one.
    attempt: int
    idempotency_key: str | None


@dataclass(frozen=True)
class ResponseEvent(RequestEvent):
    """An attempt that has ended, with a response or without."""

    duration: float
    #: None if there was no response.
    status: int | None
    request_id: str | None
    error: Exception | None
    #: The wait in seconds before the next attempt. None if this was the last one.
    retry_in: float | None


@dataclass(frozen=True)
class Settings:
    """The options of a client, checked."""

    base_url: str
    credential: str | Callable[[str | None], object] | ClientCredentials
    limits: Limits
    headers: Mapping[str, str]
    on_request: Callable[[RequestEvent], None] | None
    on_response: Callable[[ResponseEvent], None] | None


def resolve_limits(max_retries: int | None, timeout: float | None, total_timeout: float | None, others: Limits) -> Limits:
    """Returns the given limits, and ``others`` for those that are None."""
    return Limits(
        _retries(others.max_retries if max_retries is None else max_retries),
        check_seconds("timeout", others.timeout if timeout is None else timeout, 0.001, _MAX_SECONDS),
        check_seconds("total_timeout", others.total_timeout if total_timeout is None else total_timeout, 0.001, _MAX_SECONDS),
    )


def _retries(value: object) -> int:
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _MAX_RETRIES:
        return value
    raise ValueError(f"max_retries must be a whole number from 0 to {_MAX_RETRIES}, and is {value!r}")


def check_seconds(name: str, value: object, least: float, most: float) -> float:
    if isinstance(value, (int, float)) and not isinstance(value, bool) and least <= value <= most:
        return value
    raise ValueError(f"{name} must be a number of seconds from {least:g} to {most:g}, and is {value!r}")


def parse_base_url(option: str | None) -> str:
    """Returns the base URL without a trailing slash: the option, the variable GODWIT_URL, or the default."""
    name = "the environment variable GODWIT_URL" if option is None else "base_url"
    given = (os.environ.get("GODWIT_URL") or DEFAULT_BASE_URL) if option is None else option
    try:
        url = urlsplit(given)
        is_valid = url.scheme in ("http", "https") and bool(url.hostname) and (url.port is None or url.port > 0)
    except ValueError:
        is_valid = False
    if not is_valid:
        # A URL with an @ may contain a password.
        shown = "" if "@" in given else f", and is {given!r}"
        raise ValueError(f"{name} must be an http or https URL, such as {DEFAULT_BASE_URL}{shown}")
    if url.username is not None or url.query or url.fragment:
        raise ValueError(f"{name} must be a URL without a user, a query or a fragment, such as {DEFAULT_BASE_URL}")
    base_url = given.rstrip("/")
    if base_url.endswith("/v1"):
        raise ValueError(f"{name} must not end in /v1, which the client adds: use {base_url.removesuffix('/v1')}")
    return base_url


def parse_credential(
    api_key: str | None,
    access_token: str | Callable[[str | None], object] | None,
    client_credentials: ClientCredentials | None,
) -> str | Callable[[str | None], object] | ClientCredentials:
    """Returns the one credential that is given, or the API key of the variable GODWIT_KEY."""
    options = {"api_key": api_key, "access_token": access_token, "client_credentials": client_credentials}
    given = {name: value for name, value in options.items() if value is not None}
    if len(given) > 1:
        raise ValueError(f"set only one of the options {' and '.join(given)}")
    if client_credentials is not None:
        check_token("client_id", client_credentials.client_id)
        check_token("client_secret", client_credentials.client_secret)
        return client_credentials
    if callable(access_token):
        return access_token
    if access_token is not None:
        return check_token("access_token", access_token)
    if api_key is not None:
        return check_key("api_key", api_key)
    variable = os.environ.get("GODWIT_KEY")
    if not variable:
        raise ValueError(
            "there is no API key: set the environment variable GODWIT_KEY, or pass api_key, such as Godwit(api_key=\"gw_test_…\")"
        )
    return check_key("the environment variable GODWIT_KEY", variable)


def check_key(name: str, key: object) -> str:
    """Refuses a text that no service can have created as an API key, such as the id of a key, or a key of another product. The rest of a key
    is not checked: a later version of the service may create longer keys."""
    text = check_token(name, key)
    if not re.fullmatch(r"gw_(?:test|live)_\w+", text):
        raise ValueError(f"{name} is not an API key, which begins with gw_test_ or gw_live_; an access token is passed as access_token")
    return text


def check_token(name: str, token: object) -> str:
    """Refuses a token with spaces or line breaks, such as one read from a file. The error does not contain the value: it is a secret."""
    if isinstance(token, str) and re.fullmatch(r"[\x21-\x7e]+", token):
        return token
    if token == "":
        fault = "is empty"
    elif isinstance(token, str):
        fault = "contains a space, a line break or a character outside ASCII"
    else:
        fault = "is not a string"
    raise ValueError(f"{name} {fault}: it must be a credential, such as \"gw_test_…\"")
