/** The pages of the console: the files, their headers, and files that are not served. */
import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { gunzipSync } from "node:zlib";
import { consolePages } from "../../src/api/pages.ts";
import { Problem } from "../../src/http/problem.ts";
import { assertCommonHeaders, assertProblem } from "../support/expect.ts";
import { startGodwit, type Godwit } from "../support/harness.ts";

let godwit: Godwit;
before(async () => {
  godwit = await startGodwit();
});
after(() => godwit.stop());

const FILES = readdirSync(join(import.meta.dirname, "..", "..", "console", "dist", "assets"));
const script = FILES.find((name) => name.endsWith(".js")) ?? "";

describe("the page", () => {
  for (const path of [
    "/console",
    "/console/",
    "/console/messages",
    "/console/messages/msg_01k9zs3v8mf4tb2xg1qj6n0d5c",
    "/console?range=day",
  ]) {
    test(`${path} is the application, with a strict content security policy`, async () => {
      const reply = await godwit.request("GET", path);
      assert.equal(reply.status, 200);
      assertCommonHeaders(reply);
      assert.equal(reply.headers.get("content-type"), "text/html; charset=utf-8");
      const policy = reply.headers.get("content-security-policy") ?? "";
      assert.match(policy, /^default-src 'none'; script-src 'self'; style-src 'self';/);
      assert.doesNotMatch(policy, /unsafe|\*|data:|https?:/);
      assert.match(policy, /; img-src 'self' blob:; media-src blob:; connect-src 'self';/);
      assert.match(policy, /frame-ancestors 'none'/);
      assert.match(policy, /require-trusted-types-for 'script'/);
      assert.doesNotMatch(reply.text, /<script(?![^>]* src=)|<style| on\w+=/, "no inline script or style");
      assert.doesNotMatch(reply.text, /https?:\/\//, "no resource of another host");
    });
  }

  test("returns the same headers for HEAD, and refuses other methods with the allowed ones", async () => {
    const head = await godwit.request("HEAD", "/console");
    assert.equal(head.status, 200);
    const reply = await godwit.request("POST", "/console");
    assertProblem(reply, "method_not_allowed");
    assert.equal(reply.headers.get("allow"), "GET, HEAD");
  });

  test("at a deeper path than its pages is not found", async () => {
    assertProblem(await godwit.request("GET", "/console/a/b/c/d"), "not_found");
  });
});

describe("the files of the console", () => {
  test("are named by their content, cached permanently, and compressed for clients that accept gzip", async () => {
    const plain = await fetch(`${godwit.url}/console/assets/${script}`, { headers: { "accept-encoding": "identity" } });
    assert.equal(plain.headers.get("content-encoding"), null);
    assert.equal(plain.headers.get("content-type"), "text/javascript; charset=utf-8");
    assert.equal(plain.headers.get("cache-control"), "public, max-age=31536000, immutable");
    assert.equal(plain.headers.get("vary"), "accept-encoding");
    assert.equal(plain.headers.get("x-content-type-options"), "nosniff");
    assert.match(plain.headers.get("x-request-id") ?? "", /^req_/);
    const text = await plain.text();
    const raw = await godwit.raw(
      `GET /console/assets/${script} HTTP/1.1\r\nHost: a\r\nAccept-Encoding: br, gzip\r\nConnection: close\r\n\r\n`,
    );
    assert.match(raw, /content-encoding: gzip/i);
    const zipped = await fetch(`${godwit.url}/console/assets/${script}`, { headers: { "accept-encoding": "gzip" } });
    assert.equal(await zipped.text(), text);
  });

  test("are not compressed for a client that refuses gzip", async () => {
    const raw = await godwit.raw(
      `GET /console/assets/${script} HTTP/1.1\r\nHost: a\r\nAccept-Encoding: gzip;q=0, br\r\nConnection: close\r\n\r\n`,
    );
    assert.doesNotMatch(raw, /content-encoding/i);
  });

  for (const name of [
    "..%2f..%2fpackage.json",
    "..%2findex.html",
    "%2e%2e%2f%2e%2e%2fsrc%2ficon.svg",
    "nothing.js",
    "a%00b.js",
    ".sources",
    "index.html",
  ]) {
    test(`do not include ${name}`, async () => {
      const reply = await godwit.request("GET", `/console/assets/${name}`);
      assertProblem(reply, "not_found");
    });
  }
});

test("an installation without the console reports that", async () => {
  const folder = mkdtempSync(join(tmpdir(), "godwit-empty-"));
  try {
    const [page] = consolePages(folder);
    assert.ok(page !== undefined);
    const request = { params: {}, query: {}, headers: {}, url: "", body: Buffer.alloc(0), peer: "", isLocal: true, origin: "" };
    await assert.rejects(
      page.render(request),
      (error) => error instanceof Problem && error.code === "not_found" && /came without it/.test(error.detail),
    );
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test("the compressed files equal the built files", async () => {
  const [page] = consolePages();
  assert.ok(page !== undefined);
  const request = { params: {}, query: {}, url: "", body: Buffer.alloc(0), peer: "", isLocal: true, origin: "" };
  const render = async (headers: Record<string, string>): Promise<Buffer | string> => {
    const response = await page.render({ ...request, headers });
    return "body" in response ? response.body : assert.fail();
  };
  const zipped = await render({ "accept-encoding": "gzip" });
  const plain = await render({});
  assert.equal(gunzipSync(zipped).toString(), plain.toString());
});
