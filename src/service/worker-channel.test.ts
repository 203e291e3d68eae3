import assert from "node:assert/strict";
import { test } from "node:test";
import { portIn } from "./worker-channel.ts";

test("the port of a service is read from its URL, also the usual one of the scheme", () => {
  for (const [url, port] of [
    ["https://0.0.0.0:443", 443],
    ["http://127.0.0.1:80", 80],
    ["http://[::1]:8080", 8080],
  ] as const)
    assert.equal(portIn(url), port);
});
