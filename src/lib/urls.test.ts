import assert from "node:assert/strict";
import { test } from "node:test";
import { parseBoundedUrl, withoutFinalSlashes, withoutQuery } from "./urls.ts";

test("a URL is parsed", () => {
  assert.equal(parseBoundedUrl("https://Example.com:8443/a?b#c")?.href, "https://example.com:8443/a?b#c");
  assert.equal(parseBoundedUrl("http://[::1]/")?.hostname, "[::1]");
  assert.equal(parseBoundedUrl(`https://example.com/${"漢".repeat(2_000)}`)?.hostname, "example.com");
  for (const text of ["", "example.com", "https://", "https://a b/", "https:\t//a", "https://a\n/"])
    assert.equal(parseBoundedUrl(text), null);
});

test("a text that is longer than any URL is no URL, nor is one with a host that is longer than any host", () => {
  const host = "漢".repeat(600);
  for (const start of ["https://", "https:", "https:\\\\", "https:////", "HTTPS://user:"])
    assert.equal(parseBoundedUrl(`${start}${host}/`), null);
  assert.equal(parseBoundedUrl(`https://example.com/${"a".repeat(2_048)}`), null);
});

test("slashes at the end and the query are cut off", () => {
  assert.equal(withoutFinalSlashes("https://a//"), "https://a");
  assert.equal(withoutFinalSlashes("///"), "");
  assert.equal(withoutQuery("https://a/b?c=?#d"), "https://a/b");
  assert.equal(withoutQuery("https://a/b#c?d"), "https://a/b");
});
