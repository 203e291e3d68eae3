"""The parts of the SDK that the scenarios do not reach: options, hooks, credentials, streams and waits. TEST_URL is a real service."""

from __future__ import annotations

import asyncio
import copy
import io
import json
import os
import pickle
import platform
import tempfile
import threading
import tomllib
import unittest
import uuid
from collections.abc import AsyncIterator, Iterator
from datetime import date, datetime, timedelta, timezone
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from unittest import mock

import httpx

from godwit import (
    ApiError,
    AsyncGodwit,
    AsyncUploadSource,
    ClientCredentials,
    ConnectionFailed,
    Godwit,
    GodwitError,
    RateLimit,
    Record,
    RequestEvent,
    RequestTimeout,
    ResponseEvent,
    StreamConsumed,
    UploadSource,
    WebhookError,
    __version__,
    response_of,
    verify_webhook,
)
from godwit._call import parse_rate_limit, retry_delay
from godwit._errors import RawResponse, parse_retry_after, to_api_error
from godwit._frames import FrameReader

KEY, URL = os.environ["TEST_KEY"], os.environ["TEST_URL"]
SERVICE: Any = {"api_key": KEY, "base_url": URL}
MESSAGE: Any = {"recipient": "+14155550123", "channel": "sms", "body": "Hello"}


class Options(unittest.TestCase):
    def assert_refused(self, pattern: str, environment: dict[str, str] | None = None, **options: Any) -> None:
        for kind in (Godwit, AsyncGodwit):
            with mock.patch.dict(os.environ, environment or {}), self.assertRaisesRegex(ValueError, pattern) as caught:
                kind(**options)
            self.assertNotIn("secret", str(caught.exception))

    def test_errors_name_the_option_or_variable(self) -> None:
        self.assert_refused("no API key: set the environment variable GODWIT_KEY, or pass api_key, such as")
        self.assert_refused("^api_key is empty", api_key="")
        self.assert_refused("^api_key contains a space, a line break", api_key="gw_test_secret\n")
        self.assert_refused("^the environment variable GODWIT_KEY contains", {"GODWIT_KEY": "gw_test_secret\n"})
        for key in ("secret", "key_01k9zs3v8mf4tb2xg1qj6n0d5c", "gw_prod_secret", "gw_test_", "sk_live_secret"):
            self.assert_refused("^api_key is not an API key, which begins with gw_test_ or gw_live_", api_key=key)
        self.assert_refused("^the environment variable GODWIT_KEY is not an API key", {"GODWIT_KEY": "secret"})
        self.assert_refused("only one of the options api_key and access_token", api_key="a", access_token="b")
        self.assert_refused("^base_url must be .*http://127.0.0.1:8080.*'localhost:8080'", api_key="gw_test_a", base_url="localhost:8080")
        self.assert_refused("^base_url must be an http or https URL", api_key="gw_test_a", base_url="")
        self.assert_refused("^the environment variable GODWIT_URL must be .*'godwit'", {"GODWIT_URL": "godwit"}, api_key="gw_test_a")
        self.assert_refused("^base_url must be an http or https URL", api_key="gw_test_a", base_url="ftp://user:secret@localhost")
        self.assert_refused("^base_url must be a URL without a user", api_key="gw_test_a", base_url="http://user:secret@localhost")
        self.assert_refused("^timeout must be a number of seconds from", api_key="gw_test_a", timeout=float("inf"))
        self.assert_refused("^timeout must be a number .* and is '5'$", api_key="gw_test_a", timeout="5")
        self.assert_refused(r"^total_timeout must be a number .* and is Timeout\(", api_key="gw_test_a", total_timeout=httpx.Timeout(5))
        for wrong in (-1, 1.5, "1", True):
            self.assert_refused("^max_retries must be a whole number from 0 to 100", api_key="gw_test_a", max_retries=wrong)
        for url in ("https://godwit.example/api/v1", "https://godwit.example/api/v1/"):
            self.assert_refused("^base_url .* use https://godwit.example/api$", api_key="gw_test_a", base_url=url)
        self.assert_refused("^the environment variable GODWIT_URL must not end in /v1", {"GODWIT_URL": "http://a/v1"}, api_key="gw_test_a")

    def test_an_error_of_the_connection_names_the_service(self) -> None:
        server = ThreadingHTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler)
        url = f"http://127.0.0.1:{server.server_port}"
        server.server_close()
        options: Any = {"api_key": KEY, "base_url": f"{url}/", "max_retries": 0}
        with Godwit(**options) as godwit, self.assertRaisesRegex(ConnectionFailed, rf"^no response from {url}: .*; is Godwit running there\?$"):
            godwit.queue.get()

        async def call() -> None:
            async with AsyncGodwit(**options) as godwit:
                await godwit.queue.get()

        with self.assertRaisesRegex(ConnectionFailed, rf"^no response from {url}: .*; is Godwit running there\?$"):
            asyncio.run(call())

    def test_a_missing_id_is_named(self) -> None:
        missing: Any = None
        with Godwit(**SERVICE) as godwit, self.assertRaisesRegex(ValueError, r"^GET /v1/messages/\{id\} needs an id, and id is None$"):
            godwit.messages.get(missing)

    def test_the_environment_is_read(self) -> None:
        with mock.patch.dict(os.environ, {"GODWIT_KEY": KEY, "GODWIT_URL": f"{URL}/"}), Godwit() as godwit:
            self.assertEqual(godwit.queue.get().object, "queue")

    def test_ids_that_would_change_the_path_are_refused(self) -> None:
        with Godwit(**SERVICE) as godwit:
            for wrong in ("", ".", ".."):
                with self.assertRaises(ValueError):
                    godwit.messages.get(wrong)


class Requests(unittest.TestCase):
    """The requests that a call sends, to a server in this process."""

    def setUp(self) -> None:
        self.sent: list[httpx.Request] = []
        self.http = httpx.Client(transport=httpx.MockTransport(self.respond))
        self.godwit = Godwit(api_key="gw_test_a", http_client=self.http)
        self.addCleanup(self.http.close)

    def respond(self, request: httpx.Request) -> httpx.Response:
        self.sent.append(request)
        return httpx.Response(200, json={"data": [], "has_more": False, "next_cursor": None, "access_token": "token"})

    def test_the_package_names_itself(self) -> None:
        own = f"godwit-sdk-python/{__version__} python/{platform.python_version()}"
        self.godwit.queue.get()
        Godwit(client_credentials=ClientCredentials("key_1", "gw_test_s"), http_client=self.http).queue.get()
        Godwit(api_key="gw_test_a", headers={"User-Agent": "shop/1"}, http_client=self.http).queue.get()
        self.assertEqual([each.headers["user-agent"] for each in self.sent], [own, own, own, "shop/1"])

    def test_the_version_is_that_of_the_package(self) -> None:
        project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())
        self.assertEqual(__version__, project["project"]["version"])

    def test_a_key_is_a_uuid_or_its_text(self) -> None:
        key = uuid.uuid4()
        keys: list[str | uuid.UUID] = [key, str(key)]
        for given in keys:
            self.assertEqual(response_of(self.godwit.messages.send(**MESSAGE, idempotency_key=given)).idempotency_key, str(key))
            self.assertEqual(response_of(self.godwit.media.upload(b"text", idempotency_key=given)).idempotency_key, str(key))
        self.assertEqual({each.headers["idempotency-key"] for each in self.sent}, {str(key)})
        wrong: Any = 17
        with self.assertRaisesRegex(ValueError, "^idempotency_key must be a UUID or its text, and is 17$"):
            self.godwit.messages.send(**MESSAGE, idempotency_key=wrong)

    def test_an_empty_key_is_not_replaced_by_another(self) -> None:
        self.godwit.messages.send(**MESSAGE, idempotency_key="")
        self.assertEqual(self.sent[0].headers["idempotency-key"], "")

    def test_aware_times_are_sent_in_utc(self) -> None:
        time = datetime(2030, 1, 31, 10, tzinfo=timezone(timedelta(hours=1)))
        self.godwit.messages.send(**MESSAGE, send_at=time)
        self.godwit.batches.send(defaults=MESSAGE, items=[{"send_at": time}])
        self.godwit.messages.list(created_after=time).first_page()
        self.assertEqual(json.loads(self.sent[0].content)["send_at"], "2030-01-31T09:00:00Z")
        self.assertEqual(json.loads(self.sent[1].content)["items"][0]["send_at"], "2030-01-31T09:00:00Z")
        self.assertEqual(self.sent[2].url.params["created_after"], "2030-01-31T09:00:00Z")

    def test_times_without_a_zone_are_refused_by_their_name(self) -> None:
        naive, day = datetime(2030, 1, 31), date(2030, 1, 31)
        anything: Any = {"created_after": day}
        with self.assertRaisesRegex(ValueError, r"^send_at must be a time with a zone, such as .*datetime\(2030"):
            self.godwit.messages.send(**MESSAGE, send_at=naive)
        with self.assertRaisesRegex(ValueError, r"^items\[0\].send_at must be a time with a zone"):
            self.godwit.batches.send(defaults=MESSAGE, items=[{"send_at": naive}])
        with self.assertRaisesRegex(ValueError, "^created_after must be a time with a zone"):
            self.godwit.messages.list(**anything).first_page()
        self.assertEqual(self.sent, [])

    def test_the_service_accepts_these_times(self) -> None:
        now = datetime.now(timezone.utc)
        with Godwit(**SERVICE) as godwit:
            message = godwit.messages.send(**MESSAGE, send_at=now + timedelta(hours=1))
            self.assertEqual(message.status, "scheduled")
            found = [each.id for each in godwit.messages.list(created_after=now - timedelta(minutes=1))]
        self.assertIn(message.id, found)


class Errors(unittest.TestCase):
    def test_errors_are_copied_and_pickled_with_all_that_they_know(self) -> None:
        problem = {"code": "rate_limit_exceeded", "detail": "Too many.", "errors": [{"parameter": "limit", "code": "a", "detail": "b"}]}
        refused = to_api_error(RawResponse(429, "", {"x-request-id": "req_1", "retry-after": "7"}, json.dumps(problem).encode()))
        refused.attempts, refused.idempotency_key = 3, "key"
        errors = [refused, WebhookError("invalid_payload", "no JSON"), StreamConsumed(refused), RequestTimeout("late"), GodwitError("a")]
        for error in errors:
            for other in (copy.copy(error), copy.deepcopy(error), pickle.loads(pickle.dumps(error))):
                self.assertEqual((type(other), str(other), vars(other)), (type(error), str(error), vars(error)))

    def test_a_fault_says_where_it_is(self) -> None:
        places: list[Any] = [{"pointer": "/body"}, {"pointer": ""}, {"parameter": "limit"}, {"header": "Idempotency-Key"}, None]
        error = to_api_error(RawResponse(400, "", {}, json.dumps({"errors": places}).encode()))
        self.assertEqual([each.where for each in error.errors], ["/body", "request body", "limit", "Idempotency-Key"])
        self.assertEqual(error.errors[0]["pointer"], "/body")


class Records(unittest.TestCase):
    def test_a_record_shows_its_type_and_its_id_but_no_texts_and_numbers(self) -> None:
        with Godwit(**SERVICE) as godwit:
            message = godwit.messages.send(**MESSAGE, metadata={"code": "123456"})
            event = godwit.events.list(limit=1).data[0]
        self.assertEqual(repr(message), f"<message {message.id} status=queued>")
        self.assertEqual(repr(event), f"<event {event.id} type={event.type}>")
        disguised = Record({"object": "o", "id": "+14155550123", "type": "secret"})
        self.assertEqual(repr(disguised), "<record with object, id, type>")
        self.assertEqual((repr(message.metadata), repr(Record())), ("<record with code>", "<record with no fields>"))

    def test_an_unknown_field_is_answered_with_the_one_that_was_meant(self) -> None:
        message: Any = Record(object="message", id="msg_01k9zs3v8mf4tb2xg1qj6n0d5c", status="queued")
        with self.assertRaisesRegex(AttributeError, "^the message has no field 'stauts'; did you mean 'status'\\?$"):
            message.stauts
        with self.assertRaisesRegex(AttributeError, "^the message has no field 'xyz'; its fields are object, id, status$"):
            message.xyz
        self.assertLessEqual({"object", "status", "items"}, set(dir(message)))

    def test_fields_are_attributes_and_keys(self) -> None:
        with Godwit(**SERVICE) as godwit:
            message = godwit.messages.send(**MESSAGE, metadata={"order": "17"})
        assert message.segments is not None
        self.assertEqual((message.id, message.segments.count), (message["id"], message["segments"]["count"]))
        self.assertEqual(message.metadata, {"order": "17"})
        self.assertIsNone(message.error)
        with self.assertRaisesRegex(AttributeError, "the message has no field 'no_such_field'"):
            getattr(message, "no_such_field")

    def test_a_record_is_copied_and_stored_as_any_dictionary(self) -> None:
        with Godwit(**SERVICE) as godwit:
            message = godwit.messages.send(**MESSAGE)
        self.assertEqual(json.loads(json.dumps(message)), message)
        for other in (copy.deepcopy(message), pickle.loads(pickle.dumps(message))):
            self.assertEqual((other, other.id), (message, message.id))

    def test_only_the_whole_record_has_the_metadata_of_the_response(self) -> None:
        with Godwit(**SERVICE) as godwit:
            message = godwit.messages.send(**MESSAGE)
        self.assertEqual(response_of(message).status, 202)
        for other in (message.segments, {"id": "msg_1"}):
            assert other is not None
            with self.assertRaisesRegex(TypeError, "takes a record"):
                response_of(other)


class Waits(unittest.TestCase):
    def test_waits_are_random_below_a_bound_that_doubles(self) -> None:
        error = GodwitError()
        self.assertEqual([retry_delay(n, error, lambda: 1.0) for n in (1, 2, 3, 7, 8, 1000)], [0.5, 1.0, 2.0, 30.0, 30.0, 30.0])
        self.assertEqual(retry_delay(5, error, lambda: 0.0), 0.0)

    def test_retry_after_is_honored(self) -> None:
        asked = to_api_error(RawResponse(429, "", {"retry-after": "7"}, b""))
        self.assertEqual(retry_delay(1, asked, lambda: 0.0), 7.0)
        self.assertLessEqual(retry_delay(20, asked, lambda: 1.0), 14.0)
        self.assertEqual(parse_retry_after("Wed, 21 Oct 2015 07:28:00 GMT"), 0.0)
        self.assertIsNone(parse_retry_after("soon"))


class RateLimits(unittest.TestCase):
    def test_the_remaining_quota_is_read_from_the_headers(self) -> None:
        headers = {"ratelimit": '"trickle";r=1;t=2', "ratelimit-policy": '"trickle";q=5;w=1'}
        self.assertEqual(parse_rate_limit(headers), RateLimit("trickle", 1, 2, 5, 1))
        self.assertEqual(parse_rate_limit({"ratelimit": '"trickle";r=1;t=2'}), RateLimit("trickle", 1, 2, None, None))
        self.assertIsNone(parse_rate_limit({}))


class Frames(unittest.TestCase):
    def test_blocks_are_found_whatever_the_chunks(self) -> None:
        stream = 'id: 1\r\ndata: {"a":\ndata:"é"}\r\n\r\n: comment\n\nid: 2\n\n'.encode()
        for size in (1, 2, 3, len(stream)):
            reader = FrameReader()
            found = [frame for at in range(0, len(stream), size) for frame in reader.take(stream[at : at + size])]
            self.assertEqual([(frame.id, frame.data) for frame in found], [("1", '{"a":\n"é"}'), (None, None), ("2", None)])


class Calls(unittest.TestCase):
    def test_hooks_report_every_attempt(self) -> None:
        seen: list[RequestEvent] = []
        with Godwit(**SERVICE, on_request=seen.append, on_response=seen.append) as godwit:
            record = godwit.messages.send(**MESSAGE)
        request, response = seen
        assert isinstance(response, ResponseEvent)
        self.assertEqual((request.method, request.path, request.attempt), ("POST", "/v1/messages", 1))
        self.assertEqual((response.status, response.error, response.retry_in), (202, None, None))
        self.assertEqual(response.request_id, response_of(record).request_id)

    def test_an_access_token_is_requested_again_when_it_is_refused(self) -> None:
        given: list[str | None] = []

        def access_token(refused: str | None) -> str:
            given.append(refused)
            return "gw_test_ended" if refused is None else KEY

        with Godwit(access_token=access_token, base_url=URL) as godwit:
            self.assertEqual(response_of(godwit.queue.get()).attempts, 1)
        self.assertEqual(given, [None, "gw_test_ended"])

    def test_an_asynchronous_access_token(self) -> None:
        async def access_token(refused: str | None) -> str:
            return KEY

        async def work() -> str:
            async with AsyncGodwit(access_token=access_token, base_url=URL) as godwit:
                return (await godwit.queue.get()).object

        self.assertEqual(asyncio.run(work()), "queue")

    def test_client_credentials_are_exchanged_once(self) -> None:
        asked: list[tuple[str, str]] = []

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"])).decode()
                asked.append((self.headers["authorization"], body))
                self.respond({"access_token": "token-1", "expires_in": 3600})

            def do_GET(self) -> None:
                self.respond({"authorization": self.headers["authorization"]})

            def respond(self, body: dict[str, Any]) -> None:
                content = json.dumps(body).encode()
                self.send_response(200)
                self.send_header("content-length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *_: object) -> None:
                pass

        with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
            threading.Thread(target=server.serve_forever, daemon=True).start()
            credentials = ClientCredentials("key_1", "gw_test_s", ["messages:read"])
            with Godwit(client_credentials=credentials, base_url=f"http://127.0.0.1:{server.server_port}") as godwit:
                found = [dict(godwit.queue.get()) for _ in range(2)]
            server.shutdown()
        self.assertEqual(found, [{"authorization": "Bearer token-1"}] * 2)
        self.assertEqual(asked, [("Basic a2V5XzE6Z3dfdGVzdF9z", "grant_type=client_credentials&scope=messages%3Aread")])


class Streams(unittest.TestCase):
    def test_events_are_streamed_after_the_given_event(self) -> None:
        with Godwit(**SERVICE) as godwit:
            sent = godwit.messages.send(**MESSAGE)
            first = list(godwit.events.list(message_id=sent.id))[-1]
            godwit.messages.send(**MESSAGE)
            stream = godwit.events.stream(type="message.*", last_event_id=first.id)
            streamed = next(iter(stream))
        self.assertTrue(streamed.id.startswith("evt_"))
        self.assertNotEqual(streamed.id, first.id)

    def test_a_refused_stream_fails(self) -> None:
        with Godwit(api_key="gw_test_unknown", base_url=URL) as godwit, self.assertRaises(GodwitError) as caught:
            next(iter(godwit.events.stream()))
        self.assertEqual(caught.exception.code, "unauthorized_invalid_token")

    def test_a_person_is_exported(self) -> None:
        async def work() -> tuple[list[str], dict[str, int] | None]:
            async with AsyncGodwit(**SERVICE) as godwit:
                await godwit.messages.send(recipient="+14155550188", channel="sms", body="Hello")
                export = godwit.recipients.export(recipient="+14155550188")
                kinds = [record["object"] async for record in export]
                return kinds, export.counts

        kinds, counts = asyncio.run(work())
        assert counts is not None
        self.assertEqual((kinds.count("message"), counts["message"]), (1, 1))


class Losing(httpx.HTTPTransport):
    """Loses the response to the first request, which the service has executed."""

    is_lost = False

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        response = super().handle_request(request)
        if self.is_lost:
            return response
        self.is_lost = True
        response.read()
        raise httpx.ReadError("lost")


class AsyncLosing(httpx.AsyncHTTPTransport):
    is_lost = False

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        response = await super().handle_async_request(request)
        if self.is_lost:
            return response
        self.is_lost = True
        await response.aread()
        raise httpx.ReadError("lost")


class Files(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        # Unlike any other file, and longer than a piece.
        self.content = b"%PDF-1.7\n" + uuid.uuid4().bytes * 10_000
        self.path = self.folder / "offer.pdf"
        self.path.write_bytes(self.content)

    def pieces(self) -> Iterator[bytes]:
        yield self.content[:100_000]
        yield self.content[100_000:]

    def test_a_file_is_uploaded_from_any_source_and_downloaded(self) -> None:
        with Godwit(**SERVICE) as godwit, self.path.open("rb") as file:
            sources: list[tuple[UploadSource, str | None]] = [
                (self.path, "offer.pdf"),
                (file, "offer.pdf"),
                (self.content, None),
                (io.BytesIO(self.content), None),
                (self.pieces(), None),
                (lambda: self.path.open("rb"), None),
            ]
            for source, name in sources:
                media = godwit.media.upload(source)
                self.assertEqual((media.kind, media.content_type, media.bytes, media.file_name), ("document", "application/pdf", 160_009, name))
                self.assertEqual(b"".join(godwit.media.download(media.id)), self.content)
            named = godwit.media.upload(self.path, file_name="a.json", kind="document", content_type="application/json")
            self.assertEqual((named.file_name, named.source), ("a.json", "upload"))
            copied = self.folder / "copy.pdf"
            self.assertEqual((godwit.media.download(named.id).save(copied), copied.read_bytes()), (160_009, self.content))
            buffer = io.BytesIO()
            godwit.media.download(named.id).save(buffer)
            self.assertEqual(buffer.getvalue(), self.content)
            self.assertTrue(godwit.media.delete(named.id).deleted)
            with self.assertRaises(ApiError) as caught:
                godwit.media.download(named.id).save(self.folder / "gone.pdf")
            self.assertEqual(caught.exception.code, "not_found")
            self.assertEqual(sorted(each.name for each in self.folder.iterdir()), ["copy.pdf", "offer.pdf"])

    def test_an_upload_is_repeated_if_its_source_can_be_read_again(self) -> None:
        sources: list[UploadSource] = [self.path, io.BytesIO(self.content), self.content, self.pieces]
        for source in sources:
            with httpx.Client(transport=Losing()) as http, Godwit(**SERVICE, http_client=http) as godwit:
                media = godwit.media.upload(source)
            self.assertEqual((response_of(media).attempts, response_of(media).is_replayed, media.bytes), (2, True, 160_009))

    def test_a_stream_that_was_read_is_not_sent_again(self) -> None:
        with httpx.Client(transport=Losing()) as http, Godwit(**SERVICE, http_client=http) as godwit:
            with self.assertRaisesRegex(StreamConsumed, "was read and cannot be sent again: pass a path") as caught:
                godwit.media.upload(self.pieces())
            self.assertIsInstance(caught.exception.__cause__, ConnectionFailed)
            media = godwit.media.upload(self.content, idempotency_key=caught.exception.idempotency_key)
            self.assertEqual((response_of(media).is_replayed, media.bytes), (True, 160_009))

    def test_a_source_that_fails_raises_its_error(self) -> None:
        with Godwit(**SERVICE) as godwit:
            with self.assertRaises(FileNotFoundError):
                godwit.media.upload(self.folder / "nowhere")
            with self.assertRaisesRegex(TypeError, "a file must be bytes"):
                godwit.media.upload("offer.pdf")  # type: ignore[arg-type]
            with self.assertRaises(ApiError) as caught:
                godwit.media.upload(b"text", kind="image")
            self.assertEqual(caught.exception.code, "media_kind_mismatch")

    def test_files_with_asyncio(self) -> None:
        async def pieces() -> AsyncIterator[bytes]:
            for piece in self.pieces():
                yield piece

        sources: list[AsyncUploadSource] = [self.path, self.content, self.pieces, pieces]

        async def work() -> None:
            for source in sources:
                async with httpx.AsyncClient(transport=AsyncLosing()) as http, AsyncGodwit(**SERVICE, http_client=http) as godwit:
                    media = await godwit.media.upload(source)
                    self.assertEqual((response_of(media).attempts, media.bytes), (2, 160_009))
                    self.assertEqual(b"".join([chunk async for chunk in godwit.media.download(media.id)]), self.content)
                    self.assertEqual(await godwit.media.download(media.id).save(self.folder / "copy.pdf"), 160_009)
            async with httpx.AsyncClient(transport=AsyncLosing()) as http, AsyncGodwit(**SERVICE, http_client=http) as godwit:
                with self.assertRaises(StreamConsumed):
                    await godwit.media.upload(pieces())

        asyncio.run(work())

    def test_contents_are_sent_and_received(self) -> None:
        with Godwit(**SERVICE) as godwit:
            first = godwit.events.list(limit=1).data
            sent = godwit.messages.send(
                recipient="+15005550019",
                channel="whatsapp",
                content={"type": "buttons", "text": "Is this right?", "buttons": [{"type": "reply", "id": "yes", "title": "Yes"}]},
            )
            assert sent.content is not None and sent.content.type == "buttons"
            self.assertEqual(sent.content.buttons[0].title, "Yes")
            for event in godwit.events.stream(type="media.*", last_event_id=first[0].id if first else None):
                assert event.type == "media.ready"
                assert event.data.media.message_id is not None
                received = godwit.messages.get(event.data.media.message_id)
                assert received.content is not None and received.content.type == "media"
                self.assertEqual(received.content.media_id, event.data.media.id)
                self.assertEqual(len(b"".join(godwit.media.download(received.content.media_id))), event.data.media.bytes)
                break


class WebhookSecrets(unittest.TestCase):
    def test_an_invalid_secret_is_an_error_of_the_receiver(self) -> None:
        with Godwit(**SERVICE) as godwit:
            for wrong in ("", "whsec_", "whsec_%%%"):
                with self.assertRaises(ValueError):
                    godwit.webhooks.verify("{}", {}, wrong)

    def test_a_missing_secret_and_a_parsed_body_are_named(self) -> None:
        missing: Any = None
        parsed: Any = {"id": "evt_1"}
        for secrets in (missing, ["whsec_AAAA", missing]):
            with self.assertRaisesRegex(ValueError, "^a webhook secret is whsec_ followed by base64, and its type is NoneType$"):
                verify_webhook(b"{}", {}, secrets)
        with self.assertRaisesRegex(ValueError, "and its type is bytes$"):
            verify_webhook(b"{}", {}, b"whsec_AAAA")  # type: ignore[arg-type]
        with self.assertRaisesRegex(TypeError, "^the payload of a webhook is its raw body, .* its type is dict$"):
            verify_webhook(parsed, {}, "whsec_AAAA")
        with self.assertRaisesRegex(ValueError, "^tolerance must be a number of seconds from 0 to inf, and is nan$"):
            verify_webhook(b"{}", {}, "whsec_AAAA", tolerance=float("nan"))

    def test_headers_can_be_bytes(self) -> None:
        headers = {b"Webhook-Id": b"a", b"webhook-timestamp": b"1", b"webhook-signature": b"v1,AAAA"}
        forms: list[Any] = [headers, list(headers.items())]
        for given in forms:
            with self.assertRaises(WebhookError) as caught:
                verify_webhook(b"{}", given, "whsec_AAAA")
            self.assertEqual(caught.exception.reason, "timestamp_too_old")

    def test_a_header_that_occurs_twice_counts_as_missing(self) -> None:
        headers = [("webhook-id", "a"), ("Webhook-Id", "a"), ("webhook-timestamp", "1"), ("webhook-signature", "v1,AAAA")]
        with Godwit(**SERVICE) as godwit, self.assertRaises(WebhookError) as caught:
            godwit.webhooks.verify(b"{}", headers, "whsec_AAAA")
        self.assertEqual(caught.exception.reason, "missing_headers")
