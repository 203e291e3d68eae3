/** Files that the service fetches: the guard of addresses, redirects, limits and repeated requests. */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, beforeEach, test } from "node:test";
import { assertProblem } from "../support/expect.ts";
import { startGodwit, type Godwit, type Reply } from "../support/harness.ts";
import { ALLOW_LOOPBACK } from "../support/hook-server.ts";
import { content, pdf, picture, storedBytes, upload } from "../support/media.ts";

let godwit: Godwit;
let key: string;
let server: Server;
let origin: string;
let requests: IncomingMessage[];
let respond: (request: IncomingMessage, response: ServerResponse) => void;
before(async () => {
  server = createServer((request, response) => {
    requests.push(request);
    respond(request, response);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  godwit = await startGodwit({ env: { ...ALLOW_LOOPBACK, GODWIT_WEBHOOK_DENY: "127.0.0.9/32" } });
  key = await godwit.key();
  await godwit.unlimited();
});
beforeEach(() => {
  requests = [];
});
after(async () => {
  await godwit.stop();
  server.closeAllConnections();
  server.close();
});

const fetched = (url: string, fields: object = {}, idempotencyKey = randomUUID()): Promise<Reply> =>
  godwit.request("POST", "/v1/media", { key, body: { url, ...fields }, idempotencyKey });

async function refused(url: string, reason: RegExp): Promise<void> {
  const used = await storedBytes(godwit);
  const reply = await fetched(url);
  assertProblem(reply, "media_fetch_failed");
  assert.match(String(reply.json["detail"]), reason);
  assert.equal(await storedBytes(godwit), used);
  const [row] = await godwit.rows<{ files: number }>("select count(*)::integer as files from media_files where state <> 'stored'");
  assert.equal(row?.files, 0);
}

test("a file is fetched by its URL, and is what its content is", async () => {
  const file = picture(600_000);
  respond = (_, response) => response.writeHead(200, { "content-type": "text/html" }).end(file);
  const { status, json, headers } = await fetched(`${origin}/files/cat%20photo.jpg?size=1`);
  assert.equal(status, 201);
  assert.equal(headers.get("location"), `/v1/media/${String(json["id"])}`);
  assert.deepEqual(
    [json["source"], json["content_type"], json["file_name"], json["bytes"]],
    ["url", "image/jpeg", "cat photo.jpg", file.length],
  );
  assert.ok((await content(godwit, String(json["id"]), key)).bytes.equals(file));
  const [request] = requests;
  assert.deepEqual(
    [request?.method, request?.headers["accept-encoding"], request?.headers["authorization"], request?.headers["cookie"]],
    ["GET", "identity", undefined, undefined],
  );
});

test("a repeated request does not fetch again", async () => {
  respond = (_, response) => response.end(picture());
  const idempotencyKey = randomUUID();
  const first = await fetched(`${origin}/a`, {}, idempotencyKey);
  const again = await fetched(`${origin}/a`, {}, idempotencyKey);
  assert.deepEqual([again.status, again.text], [201, first.text]);
  assert.equal(again.headers.get("idempotent-replayed"), "true");
  assert.equal(requests.length, 1);
});

test("a file that was not fetched can be fetched again with the same key", async () => {
  const idempotencyKey = randomUUID();
  respond = (_, response) => response.writeHead(503).end();
  assertProblem(await fetched(`${origin}/a`, {}, idempotencyKey), "media_fetch_failed");
  respond = (_, response) => response.end(picture());
  assert.equal((await fetched(`${origin}/a`, {}, idempotencyKey)).status, 201);
});

test("an uploaded and a fetched file with the same bytes are stored once", async () => {
  const file = pdf(10_000);
  const { json } = await upload(godwit, file, { key });
  const used = await storedBytes(godwit);
  respond = (_, response) => response.end(file);
  const other = await fetched(`${origin}/a.pdf`, { file_name: "b.pdf" });
  assert.notEqual(other.json["id"], json["id"]);
  assert.equal(other.json["file_name"], "b.pdf");
  assert.equal(await storedBytes(godwit), used);
});

const REFUSED: readonly (readonly [what: string, url: string, reason: RegExp])[] = [
  ["an address that the operator denies", "http://127.0.0.9/a", /address .*not allowed|not on the public internet|must be https/],
  ["a private address", "https://10.0.0.1/a", /not on the public internet/],
  ["the metadata of a cloud", "http://169.254.169.254/latest", /must be https|not on the public internet/],
  ["the metadata of a cloud as a number", "https://2852039166/latest", /not on the public internet/],
  ["an IPv6 address of this machine", "https://[::1]/a", /not on the public internet/],
  ["an IPv4 address in an IPv6 address", "https://[::ffff:10.0.0.1]/a", /not on the public internet/],
  ["a URL with a user", "https://user:password@example.com/a", /no user/],
  ["a host without an address", "https://files.invalid/a", /the host has no address, or none on the public internet: check its name/],
  ["a closed port", "http://127.0.0.1:1/a", /connection failed/],
];

for (const [what, url, reason] of REFUSED) test(`${what} is not fetched from`, () => refused(url, reason));

test("only http and https are schemes of a URL", async () => {
  for (const url of ["file:///etc/passwd", "ftp://example.com/a", "gopher://127.0.0.1/a", "//example.com"])
    assertProblem(await fetched(url), "invalid_request_payload");
});

test("three redirects are followed, and the address of each is checked", async () => {
  const file = picture();
  respond = ({ url = "" }, response) => {
    const step = Number(url.slice(1));
    if (step === 0) response.end(file);
    else response.writeHead(step === 3 ? 301 : 307, { location: step === 2 ? `/${step - 1}` : `${origin}/${step - 1}` }).end("moved");
  };
  assert.equal((await fetched(`${origin}/3`)).status, 201);
  await refused(`${origin}/4`, /redirected more than 3 times/);
  for (const location of ["http://127.0.0.9/a", "https://169.254.169.254/", "http://[::1]/", "file:///etc/passwd", "//127.0.0.9/a", ""]) {
    requests = [];
    respond = (_, response) => response.writeHead(302, { location }).end();
    await refused(`${origin}/a`, /address|connection/);
    assert.equal(requests.length, 1);
  }
});

const RESPONSES: readonly (readonly [what: string, respond: (response: ServerResponse) => void, reason: RegExp])[] = [
  ["a status other than 200", (response) => response.writeHead(404).end("no"), /status 404/],
  ["a part of a file", (response) => response.writeHead(206).end("part"), /status 206/],
  ["a packed response", (response) => response.writeHead(200, { "content-encoding": "gzip" }).end("x"), /content encoding/],
  [
    "a declared length above the limit",
    (response) => response.writeHead(200, { "content-length": "200000000" }).end(),
    /more than 104857600/,
  ],
  [
    "a response that ends early",
    (response) => response.writeHead(200, { "content-length": "9" }).write("x", () => response.destroy()),
    /connection failed/,
  ],
];

for (const [what, response, reason] of RESPONSES)
  test(`${what} is no file`, async () => {
    respond = (_, each) => response(each);
    await refused(`${origin}/a`, reason);
  });

test("a file that is too large for its kind is refused while it arrives", async () => {
  const used = await storedBytes(godwit);
  respond = (_, response) => {
    response.write(picture(100_000));
    const more = (): void => {
      if (!response.destroyed) response.write(Buffer.alloc(1_000_000), more);
    };
    more();
  };
  assertProblem(await fetched(`${origin}/a.jpg`), "payload_too_large");
  respond = (_, response) => response.end("text");
  assertProblem(await fetched(`${origin}/a.jpg`, { kind: "image" }), "media_kind_mismatch");
  assert.equal(await storedBytes(godwit), used);
});
