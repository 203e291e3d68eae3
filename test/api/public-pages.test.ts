/** The pages beside the API: health, docs and metrics. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { assertProblem, exchange } from "../support/expect.ts";
import { startGodwit, type Godwit, type Reply } from "../support/harness.ts";
import { withoutDatabase } from "../support/outage.ts";

const NO_MESSAGE = "msg_01k9zs3v8mf4tb2xg1qj6n0d5c";

let godwit: Godwit;
let key: string;
before(async () => {
  godwit = await startGodwit();
  key = await godwit.key();
});
after(() => godwit.stop());

describe("pages beside the API", () => {
  test("/livez and /readyz return ok", async () => {
    for (const path of ["/livez", "/readyz"]) {
      const reply = await godwit.request("GET", path);
      assert.deepEqual([reply.status, reply.json], [200, { status: "ok" }]);
    }
  });

  test("/livez returns ok and /readyz fails while the database is unavailable", async () => {
    const ready = await withoutDatabase(godwit, async () => {
      assert.equal((await godwit.request("GET", "/livez")).status, 200);
      return godwit.request("GET", "/readyz");
    });
    assertProblem(ready, "service_unavailable");
  });

  test("/ redirects to /docs, and /docs/reference describes every route", async () => {
    const root = await godwit.request("GET", "/");
    assert.deepEqual([root.status, root.headers.get("location")], [303, "/docs"]);
    const docs = await godwit.request("GET", "/docs/reference");
    const { paths } = (await godwit.request("GET", "/openapi.json")).json as { paths: object };
    assert.ok(Object.keys(paths).length > 10);
    assert.equal(docs.headers.get("content-type"), "text/html; charset=utf-8");
    assert.match(docs.headers.get("content-security-policy") ?? "", /default-src 'none'/);
    for (const path of Object.keys(paths)) assert.ok(docs.text.includes(`<code>${path}</code>`), path);
  });

  for (const path of ["/openapi.json", "/docs/reference"])
    test(`${path} is compressed, and not sent again to a client that has it`, async () => {
      const head = (headers: Record<string, string> = {}): Promise<Reply> => godwit.request("HEAD", path, { headers, isDeclared: false });
      const [plain, zipped] = [await head(), await head({ "accept-encoding": "br, gzip" })];
      assert.deepEqual([plain.headers.get("content-encoding"), zipped.headers.get("content-encoding")], [null, "gzip"]);
      assert.ok(Number(zipped.headers.get("content-length")) < Number(plain.headers.get("content-length")) / 5);
      const { text } = await godwit.request("GET", path);
      assert.equal(Buffer.byteLength(text), Number(plain.headers.get("content-length")));
      const etag = plain.headers.get("etag") ?? "";
      assert.notEqual(etag, zipped.headers.get("etag"));
      const known = await head({ "if-none-match": `"other", ${etag}` });
      assert.deepEqual([known.status, known.headers.get("etag")], [304, etag]);
    });

  test("/metrics counts requests by route, method and status, and never by input of clients", async () => {
    await godwit.send(key);
    await godwit.request("GET", "/v1/made-up-by-a-client");
    await godwit.request("GET", `/v1/messages/${NO_MESSAGE}`, { key });
    const { status, headers, text } = await godwit.request("GET", "/metrics");
    assert.equal(status, 200);
    assert.match(headers.get("content-type") ?? "", /^text\/plain; version=0\.0\.4/);
    assert.match(text, /^godwit_http_requests_total\{route="\/v1\/messages",method="POST",status="202"\} \d+$/m);
    assert.match(text, /^godwit_http_requests_total\{[^}]*status="404"[^}]*\} \d+$/m);
    for (const secret of ["made-up", NO_MESSAGE, key]) assert.ok(!text.includes(secret), secret);
  });

  test("/metrics is not found for clients behind a proxy, except for allowed addresses", async () => {
    const env = { GODWIT_TRUSTED_PROXIES: "127.0.0.0/8", GODWIT_METRICS_ALLOW: "203.0.113.0/24" };
    await using server = await startGodwit({ databaseUrl: godwit.databaseUrl, env });
    const from = (address: string): Promise<Reply> => server.request("GET", "/metrics", { headers: { "x-forwarded-for": address } });
    assertProblem(await from("198.51.100.7"), "not_found");
    assertProblem(await from("203.0.113.7, 198.51.100.7"), "not_found");
    assert.equal((await from("203.0.113.7")).status, 200);
    // A proxy that passes on the header of its client, and one that names itself.
    assertProblem(await from("127.0.0.1"), "not_found");
    assertProblem(await from("::1"), "not_found");
    assert.equal((await server.request("GET", "/metrics")).status, 200);
  });

  test("/metrics is not found through a proxy that is not declared, or under a name that is not local", async () => {
    for (const name of ["x-forwarded-for", "x-real-ip", "forwarded", "via"])
      assertProblem(await godwit.request("GET", "/metrics", { headers: { [name]: "127.0.0.1" } }), "not_found");
    const { port } = new URL(godwit.url);
    const under = (host: string): Promise<{ status: number }> =>
      exchange(godwit.url, `GET /metrics HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);
    for (const host of ["rebound.example", `rebound.example:${port}`, "127.0.0.1.nip.io"]) assert.equal((await under(host)).status, 404);
    for (const host of [`localhost:${port}`, `127.0.0.1:${port}`, `[::1]:${port}`]) assert.equal((await under(host)).status, 200);
  });
});
