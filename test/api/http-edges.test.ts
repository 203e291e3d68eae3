/** HTTP edge cases that frameworks handle outside their hooks: malformed HTTP, slow clients and stopping. Also the content that the log
 *  must not have. */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, before, describe, test } from "node:test";
import { within } from "../../src/lib/wait.ts";
import { assertCommonHeaders, assertProblem, exchange, faultsOf, LIMIT_MS, until, Wire } from "../support/expect.ts";
import { sms, startGodwit, type Godwit, type LogLine } from "../support/harness.ts";

let godwit: Godwit;
let key: string;
before(async () => {
  godwit = await startGodwit();
  await godwit.unlimited();
  key = await godwit.key();
});
after(() => godwit.stop());

const get = (path: string, ...headers: string[]): string =>
  `GET ${path} HTTP/1.1\r\n${["host: godwit.test", ...headers].map((line) => `${line}\r\n`).join("")}\r\n`;

describe("bytes that are not HTTP", () => {
  const BROKEN: readonly (readonly [string, string | Buffer])[] = [
    ["noise", Buffer.from("00ff1337deadbeef0d0a0d0a", "hex")],
    ["words", "hello there\r\n\r\n"],
    ["an unknown method", "FOO / HTTP/1.1\r\nhost: godwit.test\r\n\r\n"],
    ["an unknown version", "GET / HTTP/3.7\r\nhost: godwit.test\r\n\r\n"],
    ["the preface of HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"],
    ["a header without a name", "GET / HTTP/1.1\r\n: x\r\n\r\n"],
    ["lines that end in a bare line feed", "GET /livez HTTP/1.1\nhost: godwit.test\n\n"],
    ["a path without a leading slash", "GET livez HTTP/1.1\r\nhost: godwit.test\r\n\r\n"],
    ["a TLS handshake", Buffer.from("16030100c8010000c40303", "hex")],
    ["two lengths that differ", "POST /v1/messages HTTP/1.1\r\nhost: x\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nab"],
    ["a length and chunks", "POST /v1/messages HTTP/1.1\r\nhost: x\r\ncontent-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n"],
  ];
  for (const [what, bytes] of BROKEN) {
    test(`such as ${what} get a problem response and a closed connection`, async () => {
      const wire = await Wire.open(godwit.url);
      wire.write(bytes);
      const reply = await wire.reply();
      assertProblem(reply, "invalid_request_payload");
      assert.equal(reply.headers.get("connection"), "close");
      await wire.closed();
    });
  }

  test("such as an invalid chunk length get a problem response", async () => {
    assertProblem(await exchange(godwit.url, `${postHead()}transfer-encoding: chunked\r\n\r\nzz\r\n`), "invalid_request_payload");
  });

  test("of a body beyond the limit that does not end get one response, and a closed connection", async () => {
    const wire = await Wire.open(godwit.url);
    const headers = { authorization: `Bearer ${await godwit.key()}`, "content-type": "application/json", "transfer-encoding": "chunked" };
    wire.request("POST /v1/messages", headers, `11170\r\n${" ".repeat(0x11170)}\r\n`);
    const reply = await wire.reply();
    assertProblem(reply, "payload_too_large");
    assert.equal(reply.headers.get("connection"), "close");
    await wire.closed();
    await assert.rejects(wire.reply(), /closed without a response/);
  });

  test("such as a header of 20 kB get a response that it is too large", async () => {
    assertProblem(await exchange(godwit.url, get("/livez", `x-long: ${"a".repeat(20_000)}`)), "request_header_fields_too_large");
  });

  test("such as 101 headers get a response that they are too large, and a closed connection; 100 headers do not", async () => {
    // Host is one of them.
    const headers = (count: number): string[] => Array.from({ length: count - 1 }, (_, at) => `x-${at}: y`);
    assert.equal((await exchange(godwit.url, get("/livez", ...headers(100)))).status, 200);
    for (const count of [101, 128, 129, 600]) {
      const wire = await Wire.open(godwit.url);
      wire.write(get("/livez", ...headers(count)));
      assertProblem(await wire.reply(), "request_header_fields_too_large");
      await wire.closed();
    }
  });

  test("such as a query of 201 parameters get a problem response; 200 parameters are checked one by one", async () => {
    const list = (count: number): string => get(`/v1/messages?${"a=1&".repeat(count - 1)}b=1`, `authorization: Bearer ${key}`);
    const refused = await exchange(godwit.url, list(201));
    assertProblem(refused, "invalid_request_payload");
    assert.match(refused.text, /more than 200 parameters/);
    assert.deepEqual(
      faultsOf(await exchange(godwit.url, list(200))).map((fault) => fault.parameter),
      ["a", "b"],
    );
  });

  test("such as a path of 20 kB get a response that it is too large", async () => {
    assertProblem(await exchange(godwit.url, get(`/${"a".repeat(20_000)}`)), "request_header_fields_too_large");
  });
});

describe("unusual but valid requests", () => {
  test("a body that is too large does not affect the next request, also when the credential is looked up first", async () => {
    const newKey = await godwit.key();
    const wire = await Wire.open(godwit.url);
    const large = "x".repeat(600_000);
    wire.write(`${postHead(newKey)}content-length: ${large.length}\r\n\r\n${large}`);
    assertProblem(await wire.reply(), "payload_too_large");
    wire.write(get("/livez"));
    assert.equal((await wire.reply()).status, 200);
  });

  test("HTTP/1.1 without a Host is refused, and HTTP/1.0 is not", async () => {
    const refused = await exchange(godwit.url, "GET /livez HTTP/1.1\r\n\r\n");
    assertProblem(refused, "invalid_request_payload");
    assert.deepEqual(faultsOf(refused), [{ header: "Host", code: "required", detail: "is required" }]);
    const taken = await exchange(godwit.url, "GET /livez HTTP/1.0\r\n\r\n");
    assert.equal(taken.status, 200);
    assertCommonHeaders(taken);
  });

  test("two Host headers are refused", async () => {
    assertProblem(await exchange(godwit.url, get("/livez", "host: other.test")), "invalid_request_payload");
  });

  for (const name of ["Authorization", "Content-Type"])
    test(`two ${name} headers are refused, whichever of them is valid`, async () => {
      const [valid, other] = name === "Authorization" ? [`Bearer ${key}`, "Bearer gw_test_other"] : ["application/json", "text/plain"];
      for (const values of [
        [valid, other],
        [other, valid],
        [valid, valid],
      ]) {
        const reply = await exchange(godwit.url, get("/v1/messages", values.map((value) => `${name}: ${value}`).join("\r\n")));
        assertProblem(reply, "invalid_request_payload");
        assert.deepEqual(faultsOf(reply), [{ header: name, code: "repeated", detail: "must be sent exactly once" }]);
      }
    });

  for (const [what, header] of [
    ["an unknown Expect header", "expect: something"],
    ["an Upgrade header", "upgrade: websocket\r\nconnection: upgrade"],
  ] as const) {
    test(`${what} is ignored`, async () => {
      const reply = await exchange(godwit.url, get("/livez", header));
      assert.equal(reply.status, 200);
      assertCommonHeaders(reply);
    });
  }

  test("CONNECT opens no tunnel", async () => {
    const reply = await exchange(godwit.url, "CONNECT example.test:443 HTTP/1.1\r\nhost: example.test:443\r\n\r\n");
    assertProblem(reply, "method_not_allowed");
    assert.ok(reply.headers.get("allow"));
  });

  test("OPTIONS * gets a problem response", async () => {
    assertProblem(await exchange(godwit.url, "OPTIONS * HTTP/1.1\r\nhost: godwit.test\r\n\r\n"), "not_found");
  });

  for (const path of ["/v1/messages/%zz", "/%", "/v1/messages/%E0%A4%A", "/v1/messages/%ff"]) {
    test(`the path ${path} is an invalid request`, async () => {
      assertProblem(await exchange(godwit.url, get(path, `authorization: Bearer ${key}`)), "invalid_request_payload");
    });
  }

  for (const [what, version, encoding] of [
    ["Transfer-Encoding in HTTP/1.0", "1.0", "chunked"],
    ["a coding beside chunked", "1.1", "gzip, chunked"],
  ] as const)
    test(`${what} is refused, and the bytes behind it are not read as a request`, async () => {
      const wire = await Wire.open(godwit.url);
      const head = `POST /v1/messages HTTP/${version}\r\nhost: godwit.test\r\nconnection: keep-alive\r\ntransfer-encoding: ${encoding}\r\n\r\n`;
      wire.write(`${head}0\r\n\r\n${get("/livez")}`);
      const reply = await wire.reply();
      assertProblem(reply, "invalid_request_payload");
      assert.deepEqual(faultsOf(reply), [{ header: "Transfer-Encoding", code: "invalid_value", detail: "must be chunked, in HTTP/1.1" }]);
      assert.equal(reply.headers.get("connection"), "close");
      await wire.closed();
      await assert.rejects(wire.reply(), /closed without a response/);
    });

  test("two requests in one packet get two responses in order", async () => {
    const wire = await Wire.open(godwit.url);
    wire.write(get("/livez") + get("/v1/nothing"));
    const [first, second] = [await wire.reply(), await wire.reply()];
    assert.deepEqual([first.status, second.status], [200, 404]);
    assert.notEqual(first.headers.get("x-request-id"), second.headers.get("x-request-id"));
    wire.close();
  });
});

const postHead = (credential = key): string =>
  `POST /v1/messages HTTP/1.1\r\nhost: godwit.test\r\nauthorization: Bearer ${credential}\r\ncontent-type: application/json\r\n`;

describe("a client that is too slow", () => {
  let impatient: Godwit;
  let itsKey: string;
  before(async () => {
    impatient = await startGodwit({ timings: { requestTimeoutMs: 1_000 } });
    itsKey = await impatient.key();
  });
  after(() => impatient.stop());

  test("gets a 408 when its headers do not end", async () => {
    const wire = await Wire.open(impatient.url);
    wire.write("GET /livez HTTP/1.1\r\nhost: godwit.test\r\nx-slow: ");
    assertProblem(await wire.reply(), "request_timeout");
    await wire.closed();
  });

  for (const [what, rest] of [
    ["its declared body does not arrive", 'content-length: 100\r\n\r\n{"recipient":'],
    ["its chunks do not end", 'transfer-encoding: chunked\r\n\r\n5\r\n{"rec\r\n'],
  ] as const) {
    test(`gets a 408 when ${what}, and no message is created`, async () => {
      const wire = await Wire.open(impatient.url);
      wire.write(`${postHead(itsKey)}${rest}`);
      assertProblem(await wire.reply(), "request_timeout");
      await wire.closed();
      assert.deepEqual(await impatient.rows("select id from messages"), []);
    });
  }
});

describe("stopping", () => {
  const BODY = JSON.stringify(sms());
  const hold = async (server: Godwit, secret: string): Promise<Wire> => {
    const wire = await Wire.open(server.url);
    const headers = { authorization: `Bearer ${secret}`, "content-type": "application/json", "content-length": String(BODY.length) };
    wire.request("POST /v1/messages", { ...headers, "idempotency-key": randomUUID() }, BODY.slice(0, 10));
    return wire;
  };

  test("completes a running request, refuses new ones with 503, and exits with 0", async () => {
    await using server = await startGodwit({ asProcess: true, isOneProcess: true });
    const secret = await server.key();
    const idle = await Wire.open(server.url);
    idle.request("GET /livez");
    assert.equal((await idle.reply()).status, 200);
    const probe = await Wire.open(server.url);
    const held = await hold(server, secret);
    // This response shows that the server has read the held request.
    assert.equal((await server.request("GET", "/livez")).status, 200);

    const ended = new Promise<number | null>((resolve) => server.child.once("exit", (code) => resolve(code)));
    server.child.kill("SIGTERM");
    await until("/readyz fails", async () => {
      probe.request("GET /readyz");
      const reply = await probe.reply();
      if (reply.status !== 503) return undefined;
      assertProblem(reply, "service_unavailable");
      return true;
    });
    idle.request("GET /v1/messages", { authorization: `Bearer ${secret}` });
    const refused = await idle.reply();
    assertProblem(refused, "service_unavailable");
    assert.match(refused.headers.get("retry-after") ?? "", /^\d+$/);
    assert.equal(refused.headers.get("connection"), "close");

    held.write(BODY.slice(10));
    const finished = await held.reply();
    assert.equal(finished.status, 202);
    assertCommonHeaders(finished);
    assert.equal((await server.rows("select id from messages")).length, 1);
    assert.equal(await ended, 0);
  });

  test("does not wait for a client that disconnected within the body", async () => {
    await using server = await startGodwit();
    const held = await hold(server, await server.key());
    assert.equal((await server.request("GET", "/livez")).status, 200);
    held.close();
    // The stop waits for requests that have not ended.
    await until("the request to end", () => server.logs.some(({ method, status }) => method === "POST" && status === 499));
    assert.equal(await within(server.stop(), LIMIT_MS), 0);
  });

  test("does not wait for a connection without a complete request", async () => {
    await using server = await startGodwit();
    const silent = await Wire.open(server.url);
    const halfway = await Wire.open(server.url);
    halfway.write("GET /livez HTTP/1.1\r\n");
    assert.equal(await within(server.stop(), LIMIT_MS), 0);
    await silent.closed();
    await halfway.closed();
  });
});

const lineOf = (server: Godwit, requestId: string | null, isWanted: (line: LogLine) => boolean = () => true): Promise<LogLine> =>
  until("the request is logged", () => server.logs.find((line) => line["request_id"] === requestId && isWanted(line)));

describe("the log", () => {
  test("contains the sanitized request id of the client, which the response does not repeat", async () => {
    const theirs = 'trace-1."<script>';
    const reply = await godwit.request("GET", "/v1/messages", { key, headers: { "x-request-id": theirs } });
    assertCommonHeaders(reply);
    const line = await lineOf(godwit, reply.headers.get("x-request-id"));
    assert.equal(line["client_request_id"], "trace-1.script");
    assert.equal(line["status"], 200);
  });

  test("contains at most 64 characters of the client's request id", async () => {
    const reply = await godwit.request("GET", "/v1/messages", { key, headers: { "x-request-id": "a".repeat(500) } });
    const line = await lineOf(godwit, reply.headers.get("x-request-id"));
    assert.equal(line["client_request_id"], "a".repeat(64));
  });

  test("contains nothing of the client's request id without a credential", async () => {
    for (const [path, options] of [
      ["/openapi.json", {}],
      ["/v1/messages", {}],
      ["/v1/messages", { key: "gw_test_made_up" }],
    ] as const) {
      const reply = await godwit.request("GET", path, { ...options, headers: { "x-request-id": "14155559876" } });
      const line = await lineOf(godwit, reply.headers.get("x-request-id"));
      assert.equal(line["client_request_id"], undefined);
    }
  });

  test("names the message, the trace and the account of a request", async () => {
    const traceId = "4bf92f3577b34da6a3ce929d0e0e4736";
    const headers = { traceparent: `00-${traceId}-00f067aa0ba902b7-01` };
    const sent = await godwit.send(key, {}, { headers });
    const id = String(sent.json["id"]);
    const read = await godwit.request("GET", `/v1/messages/${id}`, { key });
    const [ofSend, ofRead] = [
      await lineOf(godwit, sent.headers.get("x-request-id")),
      await lineOf(godwit, read.headers.get("x-request-id")),
    ];
    assert.deepEqual([ofSend["message_id"], ofSend["trace_id"]], [id, traceId]);
    assert.match(String(ofSend["account_id"]), /^acct_[0-9a-z]{26}$/);
    assert.deepEqual([ofRead["message_id"], ofRead["trace_id"]], [id, undefined]);
  });

  test("has no line for a probe, and the next request has one", async () => {
    const probes = await Promise.all(["/livez", "/readyz", "/metrics"].map((path) => godwit.request("GET", path)));
    const next = await godwit.request("GET", "/v1/messages", { key });
    await lineOf(godwit, next.headers.get("x-request-id"));
    for (const probe of probes)
      assert.ok(!godwit.logs.some((line) => line["request_id"] === probe.headers.get("x-request-id")), "a probe is not logged");
  });

  test("has all errors and none of the other requests with a sample of 0", async () => {
    await using sampled = await startGodwit({ env: { GODWIT_LOG_SAMPLE: "0" } });
    const its = await sampled.key();
    assert.equal((await sampled.request("GET", "/v1/messages", { key: its })).status, 200);
    const absent = await sampled.request("GET", "/v1/absent", { key: its });
    await lineOf(sampled, absent.headers.get("x-request-id"));
    assert.deepEqual(new Set(sampled.logs.flatMap((line) => (line.msg === "request" ? [line["status"]] : []))), new Set([404]));
  });

  test("contains malformed requests with the id in their response", async () => {
    const reply = await exchange(godwit.url, "hello there\r\n\r\n");
    await lineOf(godwit, reply.headers.get("x-request-id"));
  });

  test("contains the cause of a 500, which the response does not", async () => {
    await godwit.rows("alter table messages add constraint no_owls check (body is null or body not like '%owl%')");
    const reply = await godwit.send(key, { body: "an owl came", recipient: "+14155550177" });
    await godwit.rows("alter table messages drop constraint no_owls");
    assertProblem(reply, "internal_server_error");
    assert.ok(!/owl|constraint|messages/.test(String(reply.json["detail"])));
    const line = await lineOf(godwit, reply.headers.get("x-request-id"), ({ event }) => event === "http.request_failed");
    assert.match(String(line.error?.message), /no_owls/);
    assert.equal(line.error?.code, "23514");
    assert.ok(!JSON.stringify(line).includes("an owl came"), "the refused row is not logged");
  });

  test("never contains bodies, full numbers or keys", async () => {
    const number = "+14155550188";
    const text = "the heron flies at dawn";
    const sender = "+14155550199";
    const body = { recipient: number, body: text, sender, client_reference: "heron-ref", metadata: { note: "heron-note" } };
    const replies = await Promise.all([
      godwit.send(key, body),
      godwit.send(key, { ...body, priority: "heron-fault" }),
      godwit.send(key, { ...body, max_segments: 1, body: text.repeat(20) }),
      godwit.send(key, { ...body, heron_field: text }),
      godwit.send(`${key.slice(0, -1)}_`, body),
      godwit.request("POST", "/v1/messages", { key, body: `{"recipient":"${number}","body":"${text}` }),
      godwit.request("GET", `/v1/messages?recipient=${encodeURIComponent(number)}&client_reference=heron-ref`, { key }),
      godwit.request("GET", `/v1/messages?token=${key}`, { key }),
      godwit.request("GET", `/unknown/${encodeURIComponent(number)}/${key}?q=${encodeURIComponent(text)}`),
      godwit.request("DELETE", `/v1/messages/${encodeURIComponent(text)}`, { key }),
      exchange(godwit.url, `${text} ${number} ${key}\r\n\r\n`),
    ]);
    for (const { headers } of replies) await lineOf(godwit, headers.get("x-request-id"));
    const everything = JSON.stringify(godwit.logs) + godwit.output.join("\n");
    for (const secret of [key, key.slice(12), "4155550188", "4155550199", "heron", "owl came", "123456"]) {
      assert.ok(!everything.includes(secret), `the log contains ${secret}`);
    }
  });

  test("contains the cause of a failed attempt, and never the text or the numbers of the message", async () => {
    await using delivering = await startGodwit({ roles: "api,dispatch", simulatorSpeed: 100 });
    const own = await delivering.key();
    await delivering.rows("alter table events add constraint no_departures check (type <> 'message.sent')");
    const body = { body: "the heron has landed", sender: "+14155550199", metadata: { note: "heron-note" } };
    for (const recipient of ["+14155550188", "+15005550002", "+15005550012", "+15005550013"]) {
      assert.equal((await delivering.send(own, { ...body, recipient })).status, 202);
    }
    const isFailure = ({ event }: LogLine): boolean => event === "delivery.attempt_failed";
    const line = await until("the failure is logged", () => delivering.logs.find(isFailure));
    assert.match(String(line.error?.message), /no_departures/);
    await until("the other messages have a final status", async () => {
      const ended = await delivering.rows("select from messages where status in ('failed', 'delivered')");
      return ended.length === 2 || undefined;
    });
    const everything = JSON.stringify(delivering.logs) + delivering.output.join("\n");
    for (const secret of ["heron", "4155550188", "4155550199", "5005550002", "5005550012", "5005550013"]) {
      assert.ok(!everything.includes(secret), `the log contains ${secret}`);
    }
  });
});
