/** Clients that send requests without waiting for responses, and clients that do not read their responses. */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, before, describe, test } from "node:test";
import { until, Wire } from "../support/expect.ts";
import { sms, startGodwit, type Godwit } from "../support/harness.ts";
import { HELD_BODY, holdAccepts, type Lock } from "../support/locks.ts";
import { readMetrics } from "../support/metrics-text.ts";

const MAX_OUTSTANDING = 8;

let godwit: Godwit;
let key: string;
before(async () => {
  godwit = await startGodwit({ isOneProcess: true, timings: { responseStallMs: 1_000 } });
  await godwit.unlimited();
  key = await godwit.key();
});
after(() => godwit.stop());

const get = (path: string): string => `GET ${path} HTTP/1.1\r\nhost: godwit.test\r\n\r\n`;

function post(value: object, path = "/v1/messages"): string {
  const body = JSON.stringify(value);
  const head = [`authorization: Bearer ${key}`, "content-type: application/json", `content-length: ${Buffer.byteLength(body)}`];
  return `POST ${path} HTTP/1.1\r\nhost: godwit.test\r\n${head.join("\r\n")}\r\nidempotency-key: ${randomUUID()}\r\n\r\n${body}`;
}

const countOf = async (metric: string): Promise<number> => (await readMetrics(godwit)).get(metric) ?? 0;
const rejections = (reason: string): Promise<number> => countOf(`godwit_http_rejected_total{reason="${reason}"}`);

describe("requests of one connection", () => {
  test("that exceed the outstanding ones of a connection close it, and cost no work", async () => {
    const wire = await Wire.open(godwit.url);
    wire.write(get("/a").repeat(2_000));
    await wire.closed();
    await until("the rejection is counted", async () => (await rejections("pipelined")) === 1);
    const responses = await countOf('godwit_http_requests_total{route="unmatched",method="GET",status="404"}');
    const aborted = await countOf('godwit_http_requests_total{route="unmatched",method="GET",status="499"}');
    assert.ok(responses + aborted <= MAX_OUTSTANDING, `${responses} responses, ${aborted} aborted`);
  });

  test("up to the limit get their responses in order", async () => {
    const wire = await Wire.open(godwit.url);
    wire.write(Array.from({ length: MAX_OUTSTANDING }, (_, at) => get(at % 2 === 0 ? "/livez" : "/a")).join(""));
    for (let at = 0; at < MAX_OUTSTANDING; at += 1) assert.equal((await wire.reply()).status, at % 2 === 0 ? 200 : 404);
    wire.close();
  });

  test("that wait hold a bounded memory of their peer, until they begin or the connection closes", async () => {
    const earlier = await rejections("pipelined");
    const waiting = `GET /livez HTTP/1.1\r\nhost: godwit.test\r\nx-long: ${"a".repeat(7_000)}\r\n\r\n`.repeat(MAX_OUTSTANDING - 1);
    const wires: Wire[] = [];
    await using hold = await holdAccepts(godwit.databaseUrl);
    // Seven requests of 11 kB on each connection, of 512 KiB for the peer.
    await until("a connection is closed", async () => {
      const wire = await Wire.open(godwit.url);
      wire.write(post({ ...sms(), body: HELD_BODY }) + waiting);
      wires.push(wire);
      return (await rejections("pipelined")) > earlier;
    });
    assert.ok(wires.length > 3 && wires.length < 20, `${wires.length} connections`);
    const [first, ...others] = wires as [Wire, ...Wire[]];
    for (const wire of others) wire.close();
    await hold.release();
    assert.equal((await first.reply()).status, 202);
    for (let at = 1; at < MAX_OUTSTANDING; at += 1) assert.equal((await first.reply()).status, 200);
    for (let count = 0; count < 40; count += 1) {
      first.write(get("/livez") + waiting);
      for (let at = 0; at < MAX_OUTSTANDING; at += 1) assert.equal((await first.reply()).status, 200);
    }
    first.close();
  });

  /** Sends a message that is held, and the suppression of a number in the same packet. */
  async function sendTwo(hold: Lock, recipient: string): Promise<Wire> {
    const wire = await Wire.open(godwit.url);
    wire.write(post({ ...sms(), body: HELD_BODY }) + post({ recipient }, "/v1/suppressions"));
    await hold.waiting();
    // The second request would have been stored before this one, if it had begun.
    assert.equal((await godwit.request("POST", "/v1/suppressions", { key, body: { recipient: "+14155550199" } })).status < 300, true);
    return wire;
  }

  const isSuppressed = async (recipient: string): Promise<boolean> =>
    (await godwit.rows("select from suppressions where recipient = $1", [recipient])).length > 0;

  test("begin one after the other", async () => {
    await using hold = await holdAccepts(godwit.databaseUrl);
    const wire = await sendTwo(hold, "+14155550150");
    assert.equal(await isSuppressed("+14155550150"), false);
    await hold.release();
    assert.deepEqual([(await wire.reply()).status, (await wire.reply()).status], [202, 201]);
    assert.equal(await isSuppressed("+14155550150"), true);
    wire.close();
  });

  test("do not begin after the client has disconnected", async () => {
    await using hold = await holdAccepts(godwit.databaseUrl);
    const aborted = 'godwit_http_requests_total{route="/v1/messages",method="POST",status="499"}';
    const wire = await sendTwo(hold, "+14155550151");
    wire.close();
    await until("the connection is closed", async () => (await countOf(aborted)) > 0);
    await hold.release();
    assert.equal((await godwit.send(key)).status, 202);
    assert.equal(await isSuppressed("+14155550151"), false);
  });
});

describe("a chunked body", () => {
  const chunksOf = (text: string): string => [...text].map((byte) => `1\r\n${byte}\r\n`).join("");
  const head = (contentType = "application/json", path = "/v1/messages"): string =>
    `POST ${path} HTTP/1.1\r\nhost: godwit.test\r\nauthorization: Bearer ${key}\r\ncontent-type: ${contentType}\r\n` +
    `idempotency-key: ${randomUUID()}\r\ntransfer-encoding: chunked\r\n\r\n`;
  const message = (length: number): string => JSON.stringify(sms()).padEnd(length);

  test("of 1,000 small chunks is read, on each request of a connection", async () => {
    const wire = await Wire.open(godwit.url);
    for (let count = 0; count < 3; count += 1) {
      wire.write(`${head()}${chunksOf(message(1_000))}0\r\n\r\n`);
      assert.equal((await wire.reply()).status, 202);
    }
    wire.close();
  });

  test("of more small chunks is refused, after large ones as well, and other connections get their bodies", async () => {
    const large = 0x8000;
    const count = async (): Promise<number> => (await godwit.rows("select from messages")).length;
    const earlier = await count();
    for (const start of ["", `${large.toString(16)}\r\n${" ".repeat(large)}\r\n`]) {
      const wire = await Wire.open(godwit.url);
      wire.write(`${head()}${start}${chunksOf(message(10_000))}0\r\n\r\nCONNECT a:1 HTTP/1.1\r\nhost: a\r\n\r\n`);
      const reply = await wire.reply();
      assert.equal(reply.status, 400);
      assert.match(reply.text, /too many small chunks/);
      // Before the first connection has closed: Node uses the parsers of ended connections again.
      const other = await Wire.open(godwit.url);
      other.write(post(sms()));
      assert.equal((await other.reply()).status, 202);
      other.close();
      await wire.closed();
    }
    assert.equal(await count(), earlier + 2);
    for (let at = 0; at < 4; at += 1) {
      const wire = await Wire.open(godwit.url);
      wire.write(post(sms()));
      assert.equal((await wire.reply()).status, 202);
      wire.close();
    }
  });

  test("shares its small chunks with the other requests of the connection that wait", async () => {
    const earlier = await rejections("pipelined");
    const wire = await Wire.open(godwit.url);
    wire.write(`${head()}${chunksOf(message(400))}0\r\n\r\n`.repeat(4));
    await wire.closed();
    assert.equal(await rejections("pipelined"), earlier);
  });

  test("of a request that is refused is not read, and the connection is closed", async () => {
    for (const request of [head("text/plain"), head().replace("POST", "GET"), head("application/json", "/a")]) {
      const wire = await Wire.open(godwit.url);
      wire.write(`${request}${chunksOf(message(900))}`);
      const reply = await wire.reply();
      assert.equal(reply.headers.get("connection"), "close");
      await wire.closed();
    }
  });
});

test("a client that does not read its responses is disconnected, although it sends more requests", async () => {
  const wire = await Wire.open(godwit.url);
  wire.socket.pause();
  let sent = 0;
  // The buffers of the operating system have room for the first responses.
  await until("the rejection is counted", async () => {
    const taken = await countOf('godwit_http_requests_total{route="/openapi.json",method="GET",status="200"}');
    if (sent - taken < MAX_OUTSTANDING - 1) wire.write(get("/openapi.json"));
    sent += sent - taken < MAX_OUTSTANDING - 1 ? 1 : 0;
    return (await rejections("responses_unread")) > 0;
  });
  wire.close();
});
