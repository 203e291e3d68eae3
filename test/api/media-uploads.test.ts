/** Uploads that end early, are too large or too slow, or come all at once. */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { connect, type Socket } from "node:net";
import { Readable } from "node:stream";
import { after, before, test } from "node:test";
import { request } from "undici";
import { assertProblem, until } from "../support/expect.ts";
import { startGodwit, type Godwit } from "../support/harness.ts";
import { content, JPEG, pdf, picture, storedBytes, upload } from "../support/media.ts";

let godwit: Godwit;
let key: string;
before(async () => {
  // A request that is no upload has a second.
  godwit = await startGodwit({ timings: { requestTimeoutMs: 1_000 } });
  key = await godwit.key();
  await godwit.unlimited();
});
after(() => godwit.stop());

/** Waits until no bytes are left of uploads without a record. */
const nothingLeft = (): Promise<unknown> =>
  until("the bytes are deleted", async () => {
    const [row] = await godwit.rows<{ files: number; chunks: number }>(
      `select (select count(*) from media_files where state <> 'stored')::integer as files,
              (select count(*) from media_chunks c where not exists (select from media m where m.file_id = c.file_id))::integer as chunks`,
    );
    return row?.files === 0 && row.chunks === 0;
  });

const MB = 1_048_576;

test("a file above the limit of its kind is refused while it arrives", async () => {
  const used = await storedBytes(godwit);
  const large = picture(5 * MB + 1);
  for (const isChunked of [false, true]) {
    const reply = await upload(godwit, large, { key, isChunked });
    assertProblem(reply, "payload_too_large");
    assert.match(String(reply.json["detail"]), /image may have at most 5,242,880 bytes/);
  }
  assertProblem(await upload(godwit, pdf(1_000), { key, query: { kind: "sticker" } }), "media_kind_mismatch");
  assert.equal((await upload(godwit, large, { key, query: { kind: "document" } })).status, 201);
  await nothingLeft();
  assert.equal(await storedBytes(godwit), used + large.length);
});

test("a form is refused, since the file would have its boundaries", async () => {
  const headers = { "content-type": "multipart/form-data; boundary=x" };
  const reply = await upload(godwit, Buffer.from("--x\r\n\r\nHello\r\n--x--"), { key, headers });
  assertProblem(reply, "unsupported_media_type");
  assert.match(String(reply.json["detail"]), /Send the file itself as the body/);
});

/** The head of an upload on a socket of its own. */
async function begin(headers: string): Promise<{ socket: Socket; received: () => string; closed: Promise<void> }> {
  const { hostname, port } = new URL(godwit.url);
  const socket = connect(Number(port), hostname);
  const chunks: Buffer[] = [];
  socket.on("data", (chunk: Buffer) => chunks.push(chunk)).on("error", () => undefined);
  const closed = new Promise<void>((resolve) => socket.once("close", () => resolve()));
  socket.write(`POST /v1/media HTTP/1.1\r\nHost: ${hostname}\r\nAuthorization: Bearer ${key}\r\n${headers}\r\n\r\n`);
  return { socket, received: () => Buffer.concat(chunks).toString(), closed };
}

test("a declared length above 100 MB is refused before the body is read", async () => {
  const { received, closed } = await begin(`Content-Type: application/pdf\r\nContent-Length: ${100 * MB + 1}`);
  await closed;
  assert.match(received(), /^HTTP\/1\.1 413 /);
});

test("a body without an end is refused at the limit", async () => {
  const body = (async function* () {
    yield pdf(MB);
    for (;;) yield Buffer.alloc(MB, 1);
  })();
  const sent = request(`${godwit.url}/v1/media`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}` },
    body: Readable.from(body),
  });
  const status = await sent.then(({ statusCode }) => statusCode).catch((error: unknown) => (error as { code: string }).code);
  // A client that is still writing may lose the response with its connection.
  assert.ok(status === 413 || /^(UND_ERR_SOCKET|EPIPE|ECONNRESET)$/.test(String(status)), String(status));
  await nothingLeft();
});

test("an upload that its client aborts leaves nothing", async () => {
  const used = await storedBytes(godwit);
  const { socket, closed } = await begin(`Content-Type: application/pdf\r\nContent-Length: ${10 * MB}`);
  socket.write(pdf(2 * MB));
  await until("chunks are stored", async () => {
    const [row] = await godwit.rows<{ chunks: number }>(
      "select count(*)::integer as chunks from media_chunks c join media_files f on f.id = c.file_id where f.state = 'writing'",
    );
    return (row?.chunks ?? 0) > 2;
  });
  socket.destroy();
  await closed;
  await nothingLeft();
  assert.equal(await storedBytes(godwit), used);
});

test("a sender that is too slow gets 408, and leaves nothing", async () => {
  const { socket, received, closed } = await begin("Content-Type: application/pdf\r\nContent-Length: 1000000");
  socket.write(pdf(20_000));
  const drip = setInterval(() => socket.write("x"), 100);
  await closed;
  clearInterval(drip);
  assert.match(received(), /^HTTP\/1\.1 408 .*"code":"request_timeout"/s);
  await nothingLeft();
});

test("an upload may take longer than any other request", async () => {
  const file = pdf(400_000);
  const { socket, received } = await begin(`Content-Type: application/pdf\r\nContent-Length: ${file.length}\r\nConnection: close`);
  for (let at = 0; at < file.length; at += 100_000) {
    socket.write(file.subarray(at, at + 100_000));
    await new Promise((resolve) => setTimeout(resolve, 700));
  }
  await until("the response arrives", async () => received().includes("\r\n\r\n"));
  assert.match(received(), /^HTTP\/1\.1 201 /);
});

test("the body of another request still has its limit", async () => {
  const { socket, received, closed } = await begin("Content-Type: application/json\r\nContent-Length: 1000");
  const drip = setInterval(() => socket.write(" "), 100);
  await closed;
  clearInterval(drip);
  assert.match(received(), /^HTTP\/1\.1 408 /);
});

test("a client that waits for 100 Continue sends the file when it is its turn", async () => {
  const { socket, received } = await begin(
    `Content-Type: image/jpeg\r\nContent-Length: ${JPEG.length}\r\nExpect: 100-continue\r\nConnection: close`,
  );
  await until("the server asks for the file", async () => received().startsWith("HTTP/1.1 100 Continue"));
  socket.write(JPEG);
  await until("the response arrives", async () => received().includes("HTTP/1.1 201 "));
});

test("a connection serves further requests after an upload", async () => {
  const { socket, received } = await begin(`Content-Type: image/jpeg\r\nContent-Length: ${JPEG.length}`);
  socket.write(JPEG);
  await until("the first response arrives", async () => received().includes("HTTP/1.1 201 "));
  socket.write(`GET /v1/media?limit=1 HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${key}\r\nConnection: close\r\n\r\n`);
  await until("the second response arrives", async () => received().includes("HTTP/1.1 200 "));
});

test("an upload without a key, or with too few scopes, is refused before its body is read", async () => {
  const used = await storedBytes(godwit);
  const reader = await godwit.key({ scopes: ["media:read"] });
  for (const [bad, code] of [
    [undefined, "unauthorized_missing_token"],
    [reader, "forbidden_insufficient_scope"],
  ] as const)
    assertProblem(await upload(godwit, picture(), { key: bad }), code);
  assertProblem(await upload(godwit, picture(), { key, headers: { "content-encoding": "gzip" } }), "unsupported_media_type");
  assert.equal(await storedBytes(godwit), used);
});

test("many uploads of one account at once do not keep another one waiting", async () => {
  const other = await godwit.key({ account: "other" });
  await godwit.unlimited();
  const slow: Socket[] = [];
  for (let each = 0; each < 30; each += 1) {
    const { socket } = await begin("Content-Type: application/pdf\r\nContent-Length: 1000000");
    socket.write(pdf(200_000));
    slow.push(socket);
  }
  await until("uploads of the first account run", async () => {
    const [row] = await godwit.rows<{ files: number }>("select count(*)::integer as files from media_files where state = 'writing'");
    return (row?.files ?? 0) >= 8;
  });
  const { status, json } = await upload(godwit, picture(), { key: other, idempotencyKey: randomUUID() });
  assert.equal(status, 201);
  assert.equal((await content(godwit, String(json["id"]), other)).status, 200);
  const [row] = await godwit.rows<{ files: number }>("select count(*)::integer as files from media_files where state = 'writing'");
  assert.ok((row?.files ?? 0) <= 11, String(row?.files));
  for (const socket of slow) socket.destroy();
  await nothingLeft();
});
