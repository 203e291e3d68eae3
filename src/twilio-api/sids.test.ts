import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { newId, toId } from "../model/id.ts";
import { uuidFromBytes } from "../lib/uuid.ts";
import { accountSid, mediaOfSid, mediaSid, messageOfSid, messageSid } from "./sids.ts";

const uuids = fc.uint8Array({ minLength: 16, maxLength: 16 }).map((bytes) => uuidFromBytes(Buffer.from(bytes)));

test("the SID of a message has its id, with and without media", () => {
  fc.assert(
    fc.property(uuids, fc.boolean(), (uuid, hasMedia) => {
      const sid = messageSid(toId("msg", uuid), hasMedia);
      assert.match(sid, hasMedia ? /^MM[0-9a-f]{32}$/ : /^SM[0-9a-f]{32}$/);
      assert.deepEqual(messageOfSid(sid), uuid);
      assert.deepEqual(messageOfSid(sid.slice(0, 2) + sid.slice(2).toUpperCase()), uuid);
      assert.deepEqual(mediaOfSid(mediaSid(toId("media", uuid))), uuid);
    }),
  );
});

test("a SID of another kind or length is none", () => {
  const sid = messageSid(newId("msg", 1), false);
  for (const text of ["", "SM", sid.slice(0, -1), `${sid}0`, `ME${sid.slice(2)}`, `sm${sid.slice(2)}`, `${sid.slice(0, -1)}g`])
    assert.equal(messageOfSid(text), undefined, text);
});

test("the environments of an account are two accounts of Twilio", () => {
  const accountId = newId("acct", Date.now());
  const [live, ofTest] = [accountSid({ accountId, environment: "live" }), accountSid({ accountId, environment: "test" })];
  assert.match(live, /^AC[0-9a-f]{12}7[0-9a-f]{19}$/);
  assert.match(ofTest, /^AC[0-9a-f]{12}8[0-9a-f]{19}$/);
  assert.equal(live.slice(2), accountId.toString("hex"));
});
