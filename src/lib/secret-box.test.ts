import assert from "node:assert/strict";
import { test } from "node:test";
import { isSealed, SecretBox } from "./secret-box.ts";

const [FIRST, SECOND, THIRD] = [Buffer.alloc(32, 1), Buffer.alloc(32, 2), Buffer.alloc(32, 3)];
const PLACE = "webhook_endpoint:1:secret";
const SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

const box = new SecretBox(FIRST);
const PREFIX = "sealed:";
const bytesOf = (sealed: string): Buffer => Buffer.from(sealed.slice(PREFIX.length), "base64");
const ofBytes = (bytes: Buffer): string => PREFIX + bytes.toString("base64");

for (const text of [SECRET, "", "ключ 🔑\0", "x".repeat(100_000)]) {
  test(`what is sealed can be opened: ${text.length} characters`, () => {
    const sealed = box.seal(text, PLACE);
    assert.equal(isSealed(sealed), true);
    assert.equal(isSealed(text), false);
    assert.equal(box.open(sealed, PLACE), text);
    assert.equal(new SecretBox(FIRST).open(sealed, PLACE), text, "by whoever has the key");
  });
}

test("the same text is sealed differently each time, and cannot be read off", () => {
  const sealed = Array.from({ length: 100 }, () => box.seal(SECRET, PLACE));
  assert.equal(new Set(sealed).size, 100);
  for (const each of sealed) {
    for (const read of [each, bytesOf(each).toString("latin1")]) {
      assert.ok(!read.includes(SECRET) && !read.includes(SECRET.slice(6)));
      assert.ok(!read.includes(PLACE));
    }
    assert.ok(!bytesOf(each).includes(FIRST.subarray(0, 8)), "nor is the key in it");
  }
});

for (const place of ["webhook_endpoint:2:secret", "webhook_endpoint:1:secre", "", `${PLACE} `]) {
  test(`what is sealed for one place does not open at "${place}"`, () => {
    assert.throws(() => box.open(box.seal(SECRET, PLACE), place));
    assert.throws(() => box.open(box.seal("", PLACE), place));
  });
}

test("another key does not open it, and says so", () => {
  assert.throws(() => new SecretBox(SECOND).open(box.seal(SECRET, PLACE), PLACE), /sealed by another secret key/);
  assert.throws(() => new SecretBox(SECOND, THIRD).open(box.seal(SECRET, PLACE), PLACE), /sealed by another secret key/);
});

test("a change of any bit is noticed", () => {
  const bytes = bytesOf(box.seal(SECRET, PLACE));
  for (let bit = 0; bit < bytes.length * 8; bit += 1) {
    const changed = Buffer.from(bytes);
    changed[bit >> 3] = (changed[bit >> 3] ?? 0) ^ (1 << (bit & 7));
    assert.throws(() => box.open(ofBytes(changed), PLACE), `bit ${bit}`);
  }
});

for (const text of [SECRET, ""]) {
  test(`whatever is cut off or added is noticed: ${text.length} characters`, () => {
    const bytes = bytesOf(box.seal(text, PLACE));
    for (let length = 0; length < bytes.length; length += 1)
      assert.throws(() => box.open(ofBytes(bytes.subarray(0, length)), PLACE), `cut to ${length} bytes`);
    assert.throws(() => box.open(ofBytes(Buffer.concat([bytes, Buffer.alloc(1)])), PLACE));
  });
}

for (const text of ["", PREFIX, SECRET, "sealed", "sealed:????", "Sealed:AAAA"]) {
  test(`"${text}" was not sealed here, and is not opened`, () => assert.throws(() => box.open(text, PLACE)));
}

test("what the previous key sealed opens, and what is sealed anew needs it no more", () => {
  const rotated = new SecretBox(SECOND, FIRST);
  const old = box.seal(SECRET, PLACE);
  assert.equal(rotated.open(old, PLACE), SECRET);

  const sealed = rotated.seal(SECRET, PLACE);
  assert.equal(new SecretBox(SECOND).open(sealed, PLACE), SECRET, "the new key alone is enough");
  assert.throws(() => box.open(sealed, PLACE));
  assert.throws(() => rotated.open(old, "elsewhere"));
});
