/** Calls to receivers of every kind through real sockets. The checks of addresses are in address-gate.test.ts. */
import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { LIMIT_MS, NEVER_MS, until } from "../../test/support/expect.ts";
import {
  answer,
  assertAnswered,
  assertFailed,
  BODY,
  drip,
  OK,
  onRequest,
  Receiver,
  Sender,
  type Behavior,
  type Certificate,
} from "../../test/support/http-receiver.ts";
import type { Failure } from "./failure.ts";
import { parseRetryAfter } from "./http-client.ts";

/** Waits for the next turn of the event loop, in which a connection can be reused. */
const nextTurn = (): Promise<void> => new Promise(setImmediate);

describe("a response is returned unchanged", () => {
  const ANSWERS: readonly (readonly [raw: string, status: number, text: string, retryAfterMs?: number])[] = [
    [OK, 200, "ok"],
    ["HTTP/1.1 204 No Content\r\n\r\n", 204, ""],
    ["HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n", 200, "ok"],
    [
      `HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n${[..."0123456789"].map((digit) => `1\r\n${digit}\r\n`).join("")}0\r\n\r\n`,
      200,
      "0123456789",
    ],
    ["HTTP/1.1 410 Gone\r\ncontent-length: 4\r\n\r\ngone", 410, "gone"],
    ["HTTP/1.1 429 Too Many Requests\r\nRetry-After: 7\r\ncontent-length: 0\r\n\r\n", 429, "", 7_000],
    ["HTTP/1.1 503 No\r\nretry-after: 7\r\nretry-after: 9\r\ncontent-length: 0\r\n\r\n", 503, "", 7_000],
    ["HTTP/1.1 500 Oh\r\ncontent-length: 2\r\n\r\nno", 500, "no"],
    [`HTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 103 Early Hints\r\nretry-after: 9\r\nlink: </a>\r\n\r\n${OK}`, 200, "ok"],
    ["HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n a\0b\r\n\xff\x1bc", 200, " a\0b\r\n\uFFFD\x1bc"],
  ];
  for (const [raw, status, text, retryAfterMs] of ANSWERS) {
    test(JSON.stringify(raw.slice(0, 60)), async () => {
      await using receiver = await Receiver.listen(answer(raw));
      await using sender = new Sender();
      assertAnswered(await sender.post(receiver.url()), status, text, retryAfterMs);
    });
  }

  const CUT: readonly (readonly [sentence: string, raw: string, status: number, text: string])[] = [
    ["if it ends with its connection", "HTTP/1.1 200 OK\r\n\r\nok", 200, "ok"],
    ["if half of its body is missing", "HTTP/1.1 202 Accepted\r\ncontent-length: 100\r\n\r\nhalf", 202, "half"],
    ["if its last chunk is missing", "HTTP/1.1 202 Accepted\r\ntransfer-encoding: chunked\r\n\r\n4\r\nhalf\r\n", 202, "half"],
  ];
  for (const [sentence, raw, status, text] of CUT) {
    test(sentence, async () => {
      await using receiver = await Receiver.listen(onRequest((socket) => socket.end(raw)));
      await using sender = new Sender();
      assertAnswered(await sender.post(receiver.url()), status, text);
    });
  }
});

test("the request is a POST with the given path, host, headers and body", async () => {
  await using receiver = await Receiver.listen(answer(OK));
  await using sender = new Sender();
  await sender.post(receiver.url());
  const [head = "", body] = receiver.received.split("\r\n\r\n");
  const [line, ...headers] = head.split("\r\n");
  assert.equal(line, "POST /hook?a=1 HTTP/1.1");
  assert.deepEqual(headers.toSorted(), [
    "connection: keep-alive",
    `content-length: ${BODY.length}`,
    "content-type: application/json",
    `host: 127.0.0.1:${receiver.port}`,
    "webhook-id: evt_1",
  ]);
  assert.equal(body, BODY);
});

test("a user name and a password in the URL are not sent", async () => {
  await using receiver = await Receiver.listen(answer(OK));
  await using sender = new Sender();
  assertAnswered(await sender.post(receiver.url("user:pass@127.0.0.1")), 200, "ok");
  assert.ok(!/authorization|user|pass/i.test(receiver.received), receiver.received);
});

test("fifty concurrent connections cause no warning", async () => {
  const warnings: Error[] = [];
  const onWarning = (warning: Error): unknown => warnings.push(warning);
  process.on("warning", onWarning);
  await using receiver = await Receiver.listen(answer(OK));
  await using sender = new Sender({ timeoutMs: 10_000 });
  const replies = await Promise.all(Array.from({ length: 50 }, () => sender.post(receiver.url())));
  for (const reply of replies) assertAnswered(reply, 200, "ok");
  assert.equal(receiver.connections, 50);
  await nextTurn();
  process.off("warning", onWarning);
  assert.deepEqual(warnings, []);
});

for (const status of [301, 302, 303, 307, 308]) {
  test(`a redirect with ${status} is not followed`, async () => {
    await using target = await Receiver.listen(answer(OK));
    const location = `HTTP/1.1 ${status} There\r\nlocation: ${target.url().href}\r\ncontent-length: 0\r\n\r\n`;
    await using receiver = await Receiver.listen(answer(location));
    await using sender = new Sender();
    assertAnswered(await sender.post(receiver.url()), status, "");
    assert.equal(target.connections, 0);
    assert.equal(receiver.connections, 1);
  });
}

describe("a missing or late response", () => {
  const SLOW_HEADERS = `HTTP/1.1 200 OK\r\n${"x-slow: 1\r\n".repeat(100)}`;
  const ROWS: readonly (readonly [sentence: string, behave: Behavior, failure: Failure])[] = [
    ["sends nothing", () => undefined, "timeout"],
    ["sends its headers byte by byte", onRequest((socket) => drip(socket, SLOW_HEADERS)), "timeout"],
    ["sends only 102 Processing, repeatedly", onRequest((socket) => drip(socket, "HTTP/1.1 102 Processing\r\n\r\n")), "timeout"],
    ["resets the connection at once", (socket) => socket.resetAndDestroy(), "connection_failed"],
    ["closes the connection at once", (socket) => socket.end(), "connection_failed"],
    ["resets the connection after the request", onRequest((socket) => socket.resetAndDestroy()), "connection_failed"],
    ["closes the connection after the request", onRequest((socket) => socket.end()), "connection_failed"],
    [
      "resets the connection within the headers",
      onRequest((socket) => socket.write("HTTP/1.1 200 OK\r\nx-half: ", () => setTimeout(() => socket.resetAndDestroy(), 20))),
      "connection_failed",
    ],
    ["closes the connection within the headers", onRequest((socket) => socket.end("HTTP/1.1 200 OK\r\nx-half: ")), "connection_failed"],
    ["sends only 103 Early Hints", onRequest((socket) => socket.end("HTTP/1.1 103 Early Hints\r\n\r\n")), "connection_failed"],
    ["sends the greeting of a mail server", (socket) => socket.write("220 mail.example.test ESMTP\r\n"), "invalid_response"],
    ["sends bytes that are not HTTP", answer("\0\x01\x02 nonsense\r\n\r\n"), "invalid_response"],
    ["sends an invalid status", answer("HTTP/1.1 abc OK\r\n\r\n"), "invalid_response"],
    ["sends an endless header", answer(`HTTP/1.1 200 OK\r\nx-long: ${"x".repeat(40_000)}`), "invalid_response"],
    ["sends endless headers", answer(`HTTP/1.1 200 OK\r\n${"x-many: 1\r\n".repeat(5_000)}`), "invalid_response"],
    [
      "switches to another protocol",
      answer("HTTP/1.1 101 Switching\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n"),
      "invalid_response",
    ],
    ["sends 100 Continue before the response", answer(`HTTP/1.1 100 Continue\r\n\r\n${OK}`), "invalid_response"],
  ];
  for (const [sentence, behave, failure] of ROWS) {
    test(`a receiver that ${sentence}: ${failure}`, async () => {
      await using receiver = await Receiver.listen(behave);
      await using sender = new Sender(failure === "timeout" ? { timeoutMs: 300 } : {});
      const startedAt = performance.now();
      // Without a request it depends on the moment whether there was a connection.
      const kind = sentence.endsWith("at once") ? undefined : "no_response";
      const cause = assertFailed(await sender.post(receiver.url()), failure, kind);
      assert.notEqual(cause, "", "the operator gets the cause");
      assert.ok(performance.now() - startedAt < LIMIT_MS, "the call ends within the limit");
      assert.equal(receiver.connections, 1, "there is no hidden retry");
      await receiver.disconnected();
    });
  }

  test("a port without a listener: connection_failed", async () => {
    const receiver = await Receiver.listen(() => undefined);
    const url = receiver.url();
    await receiver[Symbol.asyncDispose]();
    await using sender = new Sender();
    assert.match(assertFailed(await sender.post(url), "connection_failed", "unreachable"), /ECONNREFUSED/);
  });

  test("a header that cannot be sent fails the call and does not throw", async () => {
    await using receiver = await Receiver.listen(answer(OK));
    await using sender = new Sender();
    const headers = { "webhook-id": "a\r\nb: c" };
    assertFailed(await sender.post(receiver.url(), undefined, headers), "connection_failed", "unreachable");
    assert.equal(receiver.connections, 0);
  });
});

describe("the response body", () => {
  test("without an end is cut, and the connection is closed", async () => {
    let written = 0;
    const pour: Behavior = onRequest((socket) => {
      const more = (): void => {
        if (socket.destroyed || written > 50_000_000) return;
        written += 65_536;
        if (socket.write("é".repeat(32_768))) setImmediate(more);
        else socket.once("drain", more);
      };
      socket.write("HTTP/1.1 200 OK\r\n\r\nx");
      more();
    });
    await using receiver = await Receiver.listen(pour);
    await using sender = new Sender();
    const startedAt = performance.now();
    // The 512th byte is the first half of a character.
    assertAnswered(await sender.post(receiver.url()), 200, `x${"é".repeat(255)}\uFFFD`);
    assert.ok(performance.now() - startedAt < LIMIT_MS);
    await receiver.disconnected();
    assert.ok(written < 20_000_000, `${written} bytes`);
  });

  test("that arrives slowly is cut after a second", async () => {
    await using receiver = await Receiver.listen(
      onRequest((socket) => {
        socket.write("HTTP/1.1 201 Created\r\n\r\n");
        drip(socket, "slow ");
      }),
    );
    await using sender = new Sender({ timeoutMs: NEVER_MS });
    const reply = await sender.post(receiver.url());
    // On a slow machine little of it arrives within the second.
    const isPrefix = reply.kind === "response" && reply.text.length < 512 && "slow ".repeat(103).startsWith(reply.text);
    assert.ok(isPrefix && reply.status === 201, JSON.stringify(reply));
    assert.ok(reply.durationMs >= 990 && reply.durationMs < LIMIT_MS, `${reply.durationMs} ms`);
    await receiver.disconnected();
  });

  test("that never arrives does not change the status", async () => {
    await using receiver = await Receiver.listen(answer("HTTP/1.1 201 Created\r\ncontent-length: 5\r\n\r\n"));
    await using sender = new Sender({ timeoutMs: 300 });
    assertAnswered(await sender.post(receiver.url()), 201, "");
    await receiver.disconnected();
  });
});

describe("a connection", () => {
  test("is reused", async () => {
    await using receiver = await Receiver.listen(answer(OK));
    await using sender = new Sender();
    for (let time = 0; time < 5; time += 1) {
      assertAnswered(await sender.post(receiver.url()), 200, "ok");
      await nextTurn();
    }
    assert.equal(receiver.connections, 1);
  });

  test("whose response was cut is not reused", async () => {
    await using receiver = await Receiver.listen(answer(`HTTP/1.1 200 OK\r\ncontent-length: 40000\r\n\r\n${"x".repeat(40_000)}`));
    await using sender = new Sender();
    for (let time = 0; time < 2; time += 1) {
      assertAnswered(await sender.post(receiver.url()), 200, "x".repeat(512));
      await nextTurn();
    }
    assert.equal(receiver.connections, 2);
  });

  test("with an unrequested second response is not reused", async () => {
    await using receiver = await Receiver.listen(answer(`${OK}HTTP/1.1 410 Gone\r\ncontent-length: 0\r\n\r\n`));
    await using sender = new Sender();
    for (let time = 0; time < 3; time += 1) {
      assertAnswered(await sender.post(receiver.url()), 200, "ok");
      await nextTurn();
    }
    assert.equal(receiver.connections, 3);
  });

  test("that is busy does not delay another call to the same receiver", async () => {
    const behave: Behavior = (socket, number) => (number === 1 ? undefined : answer(OK)(socket, number));
    await using receiver = await Receiver.listen(behave);
    await using sender = new Sender({ timeoutMs: 4_000 });
    let isEnded = false;
    const slow = sender.post(receiver.url()).finally(() => (isEnded = true));
    await until("the slow call arrives", () => (receiver.received.includes(BODY) ? true : undefined));
    const quick = await sender.post(receiver.url());
    assertAnswered(quick, 200, "ok");
    assert.equal(isEnded, false);
    assertFailed(await slow, "timeout");
  });
});

test("a call whose time limit expires before the connection is open sends no request", async () => {
  await using receiver = await Receiver.listen(answer(OK));
  const { promise, resolve } = Promise.withResolvers<string[]>();
  await using sender = new Sender({ resolve: () => promise, timeoutMs: 50 });
  assertFailed(await sender.post(receiver.url("hooks.example.test")), "timeout", "unreachable");
  resolve(["127.0.0.1"]);
  await until("the connection is open", () => (receiver.connections === 1 ? true : undefined));
  await receiver.disconnected();
  assert.equal(receiver.received, "");
});

describe("the stop signal", () => {
  const STOPPED = "the time limit passed before the response";

  test("ends a call that waits for its response, and closes the connection", async () => {
    await using receiver = await Receiver.listen(() => undefined);
    await using sender = new Sender({ timeoutMs: 10_000 });
    const stop = new AbortController();
    const call = sender.post(receiver.url(), stop.signal);
    await until("the call arrives", () => (receiver.received.includes(BODY) ? true : undefined));
    stop.abort();
    assert.equal(assertFailed(await call, "timeout", "no_response"), STOPPED);
    await receiver.disconnected();
  });

  test("ends a call during the lookup", async () => {
    await using sender = new Sender({ timeoutMs: 10_000, resolve: () => new Promise(() => undefined) });
    const stop = new AbortController();
    const call = sender.post("http://hooks.example.test/", stop.signal);
    stop.abort();
    assertFailed(await call, "timeout", "no_response");
  });

  test("keeps the status of a response that has begun", async () => {
    await using receiver = await Receiver.listen(answer("HTTP/1.1 201 Created\r\ncontent-length: 9\r\n\r\nhalf"));
    await using sender = new Sender({ timeoutMs: 10_000 });
    const stop = new AbortController();
    const call = sender.post(receiver.url(), stop.signal);
    await until("the call arrives", () => (receiver.received.includes(BODY) ? true : undefined));
    setTimeout(() => stop.abort(), 100);
    assertAnswered(await call, 201, "half");
    await receiver.disconnected();
  });

  test("before a call prevents the connection", async () => {
    await using receiver = await Receiver.listen(answer(OK));
    await using sender = new Sender();
    assert.equal(assertFailed(await sender.post(receiver.url(), AbortSignal.abort()), "timeout", "no_response"), STOPPED);
    assert.equal(receiver.connections, 0);
  });
});

describe("after close", () => {
  test("no connection remains: idle, waiting for a response or half open", async () => {
    await using idle = await Receiver.listen(answer(OK));
    await using silent = await Receiver.listen(() => undefined);
    const sender = new Sender({ timeoutMs: 10_000 });
    await sender.post(idle.url());
    const calls = [sender.post(silent.url()), sender.post(silent.url("127.0.0.1", "https"))];
    await until("both calls arrive", () => (silent.received.includes(BODY) && silent.connections === 2 ? true : undefined));
    assert.deepEqual([idle.open, silent.open], [1, 2]);
    await sender.client.close();
    for (const reply of await Promise.all(calls)) assertFailed(reply, "connection_failed");
    await idle.disconnected();
    await silent.disconnected();
  });

  test("a call fails and opens no connection", async () => {
    await using receiver = await Receiver.listen(answer(OK));
    const sender = new Sender();
    await sender.client.close();
    assertFailed(await sender.post(receiver.url()), "connection_failed");
    assert.equal(receiver.connections, 0);
    await sender.client.close();
  });
});

const hasOpenssl = spawnSync("openssl", ["version"]).status === 0;
const skip = hasOpenssl ? false : "openssl, which makes the certificates, is not installed";

describe("TLS", { skip }, () => {
  const NAME = "hooks.example.test";
  const resolve = async (): Promise<string[]> => ["127.0.0.1"];
  let folder: string;
  let certificate: Certificate;
  let ca: string;
  before(() => {
    folder = mkdtempSync(join(tmpdir(), "godwit-outbound-"));
    const [keyPath, certPath] = [join(folder, "key"), join(folder, "crt")];
    const key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", keyPath];
    const subject = ["-subj", `/CN=${NAME}`, "-addext", `subjectAltName=DNS:${NAME}`];
    execFileSync("openssl", ["req", "-x509", ...key, "-out", certPath, "-days", "2", ...subject], { stdio: "ignore" });
    certificate = { cert: readFileSync(certPath, "utf8"), key: readFileSync(keyPath, "utf8") };
    ca = certificate.cert;
  });
  after(() => rmSync(folder, { recursive: true, force: true }));

  const namesOf =
    (names: unknown[]): Behavior =>
    (socket, number) => {
      names.push((socket as { servername?: unknown }).servername);
      answer(OK)(socket, number);
    };

  test("the server name in the handshake has no trailing dot", async () => {
    const names: unknown[] = [];
    await using receiver = await Receiver.listen(namesOf(names), { certificate });
    await using sender = new Sender({ ca, resolve });
    assertAnswered(await sender.post(receiver.url(`${NAME}.`, "https")), 200, "ok");
    assert.deepEqual(names, [NAME]);
  });

  test("a receiver with a certificate for its name is called by that name on one connection", async () => {
    const names: unknown[] = [];
    await using receiver = await Receiver.listen(namesOf(names), { certificate });
    await using sender = new Sender({ ca, resolve });
    for (let time = 0; time < 3; time += 1) {
      assertAnswered(await sender.post(receiver.url(NAME, "https")), 200, "ok");
      await nextTurn();
    }
    assert.deepEqual(names, [NAME]);
    assert.ok(receiver.received.includes(`\r\nhost: ${NAME}:${receiver.port}\r\n`));
  });

  // Each call is made twice: the first handshake must not help the second.
  for (const [sentence, host, isTrusted] of [
    ["of an unknown authority", NAME, false],
    ["for another name", "other.example.test", true],
    ["without the address that is called", "127.0.0.1", true],
  ] as const) {
    test(`a certificate ${sentence}: tls_failed, and no request is sent`, async () => {
      await using receiver = await Receiver.listen(answer(OK), { certificate });
      await using sender = new Sender({ resolve, ...(isTrusted ? { ca } : {}) });
      for (let time = 0; time < 2; time += 1) assertFailed(await sender.post(receiver.url(host, "https")), "tls_failed", "unreachable");
      assert.equal(receiver.received, "");
      await receiver.disconnected();
    });
  }

  const NO_HANDSHAKE: readonly (readonly [sentence: string, behave: Behavior, failure: Failure])[] = [
    ["responds without TLS", (socket) => socket.end("HTTP/1.1 400 Bad Request\r\n\r\n"), "tls_failed"],
    ["sends a greeting without TLS", (socket) => socket.write("220 mail.example.test ESMTP\r\n"), "tls_failed"],
    ["never responds to the handshake", () => undefined, "timeout"],
    ["sends its handshake byte by byte", (socket) => drip(socket, "\x16\x03\x03\x3f\xff\x02"), "timeout"],
    ["closes the connection in the handshake", (socket) => socket.once("data", () => socket.end()), "connection_failed"],
    ["resets the connection in the handshake", (socket) => socket.once("data", () => socket.resetAndDestroy()), "connection_failed"],
  ];
  for (const [sentence, behave, failure] of NO_HANDSHAKE) {
    test(`a receiver that ${sentence}: ${failure}`, async () => {
      await using receiver = await Receiver.listen(behave);
      await using sender = new Sender({ ca, resolve, ...(failure === "timeout" ? { timeoutMs: 300 } : {}) });
      const startedAt = performance.now();
      assertFailed(await sender.post(receiver.url(NAME, "https")), failure, "unreachable");
      assert.ok(performance.now() - startedAt < LIMIT_MS);
      assert.ok(!receiver.received.includes(BODY));
    });
  }

  test("a handshake that hangs delays no other call to the same receiver", async () => {
    await using behind = await Receiver.listen(answer(OK), { certificate });
    await using receiver = await Receiver.listen((socket, number) => {
      const destroy = (): unknown => socket.destroy();
      if (number > 1) socket.pipe(connect(behind.port, "127.0.0.1").on("error", destroy)).pipe(socket);
    });
    await using sender = new Sender({ ca, resolve, timeoutMs: 4_000 });
    const slow = sender.post(receiver.url(NAME, "https"));
    await until("the first handshake begins", () => (receiver.received === "" ? undefined : true));
    assertAnswered(await sender.post(receiver.url(NAME, "https")), 200, "ok");
    assertFailed(await slow, "timeout");
    assert.equal(receiver.connections, 2);
  });
});

describe("Retry-After", () => {
  const NOW_MS = Date.UTC(2030, 0, 1);
  const TABLE: readonly (readonly [text: string | undefined, ms: number | null])[] = [
    [undefined, null],
    ["0", 0],
    ["7", 7 * 1_000],
    ["0120", 120 * 1_000],
    [" 7 ", 7 * 1_000],
    ["86401", 86_401 * 1_000],
    ["999999999", 999_999_999 * 1_000],
    ["1000000000", null],
    ["Tue, 01 Jan 2030 00:01:30 GMT", 90 * 1_000],
    ["Wed, 02 Jan 2030 00:00:00 GMT", 86_400_000],
    ["Mon, 31 Dec 2029 23:59:59 GMT", 0],
    ["Tue, 01 Jan 1980 00:00:00 GMT", 0],
    ["Tue, 01 Jan 2030 soon", null],
    ["Tue, 99 Jan 2030 00:00:00 GMT", null],
    ["2030-01-01T00:01:30Z", null],
    ["1893456090", null],
    ["", null],
    [" ", null],
    ["-5", null],
    ["+5", null],
    ["1.5", null],
    ["1e3", null],
    ["0x10", null],
    ["5s", null],
    ["5, 6", null],
    ["٥", null],
    ["Infinity", null],
    ["soon", null],
  ];
  for (const [text, ms] of TABLE) {
    test(`${text === undefined ? "that is missing" : `"${text}"`} is ${ms === null ? "no time" : `${ms} ms`}`, () =>
      assert.equal(parseRetryAfter(text, NOW_MS), ms));
  }
});
