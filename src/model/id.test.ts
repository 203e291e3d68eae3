import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { explainMissing, decodeId, encodeId, idKey, newId, NO_ID, toId } from "./id.ts";
import { uuidFromBytes, uuidFromText } from "../lib/uuid.ts";

// From the TypeID specification, valid.yml.
const VECTORS: readonly (readonly [suffix: string, uuid: string])[] = [
  ["00000000000000000000000000", "00000000-0000-0000-0000-000000000000"],
  ["00000000000000000000000001", "00000000-0000-0000-0000-000000000001"],
  ["0000000000000000000000000a", "00000000-0000-0000-0000-00000000000a"],
  ["0000000000000000000000000g", "00000000-0000-0000-0000-000000000010"],
  ["00000000000000000000000010", "00000000-0000-0000-0000-000000000020"],
  ["7zzzzzzzzzzzzzzzzzzzzzzzzz", "ffffffff-ffff-ffff-ffff-ffffffffffff"],
  ["0123456789abcdefghjkmnpqrs", "0110c853-1d09-52d8-d73e-1194e95b5f19"],
  ["01h455vb4pex5vsknk084sn02q", "01890a5d-ac96-774b-bcce-b302099a8057"],
];

for (const [suffix, uuid] of VECTORS) {
  test(`the published TypeID suffix ${suffix} is ${uuid}`, () => {
    assert.equal(encodeId("msg", toId("msg", uuidFromText(uuid))), `msg_${suffix}`);
    assert.deepEqual(decodeId("msg", `msg_${suffix}`), uuidFromText(uuid));
  });
}

const uuids = fc.uint8Array({ minLength: 16, maxLength: 16 }).map((bytes) => uuidFromBytes(Buffer.from(bytes)));

test("a decoded id equals the encoded one", () => {
  fc.assert(fc.property(uuids, (uuid) => assert.deepEqual(decodeId("acct", encodeId("acct", toId("acct", uuid))), uuid)));
});

test("ids sort like their bytes", () => {
  fc.assert(
    fc.property(uuids, uuids, (a, b) => {
      const [left, right] = [encodeId("msg", toId("msg", a)), encodeId("msg", toId("msg", b))];
      assert.equal(left < right ? -1 : left > right ? 1 : 0, Buffer.compare(a, b));
    }),
  );
});

test("the compiler refuses an id of another kind", () => {
  // @ts-expect-error The id names a message.
  assert.match(encodeId("evt", newId("msg", 1)), /^evt_/);
});

test("the empty id is not larger than any other", () => {
  fc.assert(fc.property(uuids, (uuid) => assert.ok(Buffer.compare(NO_ID, uuid) <= 0)));
});

test("equal ids are the same key of a map", () => {
  fc.assert(
    fc.property(uuids, uuids, (a, b) => {
      assert.equal(idKey(uuidFromBytes(Buffer.from(a))), idKey(a));
      assert.equal(idKey(a) === idKey(b), a.equals(b));
    }),
  );
});

const GOOD = "01h455vb4pex5vsknk084sn02q";
const REFUSED: readonly (readonly [why: string, text: string])[] = [
  ["another prefix", `key_${GOOD}`],
  ["a prefix in upper case", `MSG_${GOOD}`],
  ["no prefix", GOOD],
  ["a prefix without its underscore", `msg${GOOD}`],
  ["a longer prefix", `xmsg_${GOOD}`],
  ["a suffix in upper case", `msg_${GOOD.toUpperCase()}`],
  ["one letter in upper case", `msg_${GOOD.replace("v", "V")}`],
  ["a first digit of 8", `msg_8${GOOD.slice(1)}`],
  ["a first digit of z", `msg_z${GOOD.slice(1)}`],
  ["a digit too few", `msg_${GOOD.slice(1)}`],
  ["a digit too many", `msg_${GOOD}0`],
  ["the letter i", `msg_${GOOD.slice(0, -1)}i`],
  ["the letter l", `msg_${GOOD.slice(0, -1)}l`],
  ["the letter o", `msg_${GOOD.slice(0, -1)}o`],
  ["the letter u", `msg_${GOOD.slice(0, -1)}u`],
  ["a hyphen", `msg_${GOOD.slice(0, -1)}-`],
  ["a space at the end", `msg_${GOOD.slice(0, -1)} `],
  ["a letter beyond ASCII", `msg_${GOOD.slice(0, -1)}é`],
  ["a character beyond Latin-1", `msg_${GOOD.slice(0, -1)}€`],
  ["a full-width digit", `msg_${GOOD.slice(0, -1)}１`],
  ["no characters", ""],
  ["only the prefix", "msg_"],
];

for (const [why, text] of REFUSED) {
  test(`an id with ${why} is refused`, () => assert.equal(decodeId("msg", text), undefined));
}

test("a text is refused, or equals the encoding of its bytes", () => {
  const digits = fc.constantFrom(..."0123456789abcdefghijklmnopqrstuvwxyzABCé_");
  fc.assert(
    fc.property(fc.string({ unit: digits, minLength: 26, maxLength: 26 }), (suffix) => {
      const uuid = decodeId("req", `req_${suffix}`);
      if (uuid !== undefined) assert.equal(encodeId("req", uuid), `req_${suffix}`);
    }),
  );
});

test("a missing record is explained by a whole id of another kind, or by a cut id of its own", () => {
  const id = (prefix: string): string => `${prefix}_01k9zs3v8mf4tb2xg1qj6n0d5c`;
  const inEnvironment = (noun: string): string => `no such ${noun} in this environment`;
  assert.equal(explainMissing(id("evt"), inEnvironment("message")), "evt_… is the id of an event");
  assert.match(explainMissing("msg_01k9zs", inEnvironment("message")) ?? "", /^an id is msg_ and 26 /);
  for (const [text, noun] of [
    [id("msg"), "message"],
    [id("media"), "media"],
    [id("key"), "credential"],
    ["media", "link"],
    ["key_x", "message"],
    ["constructor_x", "template"],
    [`msg_${"_".repeat(26)}`, "event"],
  ] as const)
    assert.equal(explainMissing(text, inEnvironment(noun)), undefined, text);
});
