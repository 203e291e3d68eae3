"""Runs one scenario of sdk/scenarios.json with the synchronous or the asynchronous client.

python3 scenario.py SCENARIOS NAME sync|async, with GODWIT_KEY, GODWIT_URL and the variables as JSON on the standard input."""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

from godwit import ApiError, AsyncGodwit, ConnectionFailed, Godwit, GodwitError, RequestTimeout, WebhookError, idempotency_key_from, response_of

KINDS = {"api": ApiError, "connection": ConnectionFailed, "timeout": RequestTimeout, "webhook": WebhookError}


def resolve(value: Any, variables: dict[str, Any]) -> Any:
    """Replaces ``$name.member`` by the value of the variable."""
    if isinstance(value, str) and value.startswith("$"):
        found: Any = variables
        for name in value[1:].split("."):
            found = found[name]
        return found
    if isinstance(value, list):
        return [resolve(each, variables) for each in value]
    if isinstance(value, dict):
        return {name: resolve(each, variables) for name, each in value.items()}
    return value


def assert_includes(value: Any, expected: Any) -> None:
    """Asserts that the value has the expected members. It may have others."""
    if isinstance(expected, dict):
        for name, member in expected.items():
            assert_includes(value[name] if isinstance(value, dict) else getattr(value, name), member)
    elif isinstance(expected, list):
        for one, other in zip(value, expected, strict=True):
            assert_includes(one, other)
    else:
        assert value == expected, f"{value!r} is not {expected!r}"


def assert_raised(error: GodwitError, expected: dict[str, Any]) -> None:
    assert isinstance(error, KINDS[expected["kind"]]), repr(error)
    assert_includes(error, {name: value for name, value in expected.items() if name not in ("kind", "where", "has_request_id")})
    if "where" in expected:
        assert_includes([fault.where for fault in error.errors], expected["where"])
    if expected.get("has_request_id"):
        assert error.request_id is not None and error.request_id.startswith("req_")


def start(client: Godwit | AsyncGodwit, step: dict[str, Any]) -> Any:
    """Calls the method of a step. The result is a record, a list or an awaitable."""
    if "key_from" in step:
        return {"key": idempotency_key_from(step["key_from"])}
    if "verify" in step:
        return client.webhooks.verify(step["verify"]["body"], step["verify"]["headers"], step["verify"]["secret"])
    resource, method = step["call"].split(".")
    return getattr(getattr(client, resource), method)(*step.get("ids", []), **step.get("input", {}), **step.get("options", {}))


def page_result(page: Any) -> dict[str, Any]:
    return {"count": len(page.data), "data": page.data, "has_more": page.has_more}


def run_sync(client: Godwit, step: dict[str, Any]) -> Any:
    made = start(client, step)
    match step.get("take"):
        case "all":
            data = list(made)
            return {"count": len(data), "data": data}
        case "first_page":
            assert made.data == made.first_page().data
            return page_result(made.first_page())
        case "second_page":
            return page_result(made.first_page().next_page())
    return made


async def run_async(client: AsyncGodwit, step: dict[str, Any]) -> Any:
    made = start(client, step)
    match step.get("take"):
        case "all":
            data = [record async for record in made]
            return {"count": len(data), "data": data}
        case "first_page":
            return page_result(await made)
        case "second_page":
            return page_result(await (await made.first_page()).next_page())
    return await made if "call" in step else made


def check(step: dict[str, Any], result: Any, error: GodwitError | None) -> None:
    if "raises" in step:
        assert error is not None, "the step did not fail"
        assert_raised(error, step["raises"])
        return
    if error is not None:
        raise error
    assert_includes(result, step.get("expect", {}))
    if "response" in step:
        assert_includes(response_of(result), step["response"])


async def main(path: str, name: str, mode: str) -> None:
    with open(path, encoding="utf-8") as file:
        scenario = next(each for each in json.load(file)["scenarios"] if each["name"] == name)
    variables = json.load(sys.stdin)
    options = resolve(scenario.get("client", {}), variables)
    client: Any = Godwit(**options) if mode == "sync" else AsyncGodwit(**options)
    for template in scenario["steps"]:
        step = resolve(template, variables)
        result, error = None, None
        try:
            result = run_sync(client, step) if mode == "sync" else await run_async(client, step)
        except GodwitError as caught:
            error = caught
        check(step, result, error)
        if "save" in template:
            variables[template["save"]] = result
    if mode == "sync":
        client.close()
    else:
        await client.aclose()


asyncio.run(main(*sys.argv[1:]))
