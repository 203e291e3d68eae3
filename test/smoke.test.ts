import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { startGodwit, type Godwit } from "./harness.ts";

let godwit: Godwit;
before(async () => {
  godwit = await startGodwit();
});
after(() => godwit.stop());

test("a message is accepted and can be read", async () => {
  const key = await godwit.key();
  const sent = await godwit.send(key);
  assert.equal(sent.status, 202);
  const read = await godwit.request("GET", sent.headers.get("location") ?? "", { key });
  assert.equal(read.status, 200);
  assert.deepEqual(read.json, sent.json);
  const list = await godwit.request("GET", "/v1/messages?limit=1&status=queued", { key });
  assert.deepEqual(list.json["data"], [sent.json]);
});
