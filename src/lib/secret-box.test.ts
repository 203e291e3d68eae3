import assert from "node:assert/strict";
import { test } from "node:test";
import { isSealed, SecretBox } from "./secret-box.ts";

const [FIRST, SECOND, THIRD] = [Buffer.alloc(32, 1), Buffer.alloc(32, 2), Buffer.alloc(32, 3)];
const CONTEXT = "webhook_endpoint:1:secret";
const SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

const box = new SecretBox(FIRST);
const PREFIX = "sealed:";
const bytesOf = (sealed: string): Buffer => Buffer.from(sealed.slice(PREFIX.length), "base64");
const ofBytes = (bytes: Buffer): string => PREFIX + bytes.toString("base64");

for (const text of [SECRET, "", "ключ 🔑\0", "x".repeat(100_000)]) {
  test(`a sealed text of ${text.length} characters can be opened`, () => {
    const sealed = box.seal(text, CONTEXT);
    assert.equal(isSealed(sealed), true);
    assert.equal(isSealed(text), false);
    assert.equal(box.open(sealed, CONTEXT), text);
    assert.equal(new SecretBox(FIRST).open(sealed, CONTEXT), text, "with another box of the same key");
  });
}

test("a text is sealed differently each time, and the sealed form does not contain it", () => {
  const sealed = Array.from({ length: 100 }, () => box.seal(SECRET, CONTEXT));
  assert.equal(new Set(sealed).size, 100);
  for (const each of sealed) {
    for (const read of [each, bytesOf(each).toString("latin1")]) {
      assert.ok(!read.includes(SECRET) && !read.includes(SECRET.slice(6)));
      assert.ok(!read.includes(CONTEXT));
    }
    assert.ok(!bytesOf(each).includes(FIRST.subarray(0, 8)), "nor is the key in it");
  }
});

for (const context of ["webhook_endpoint:2:secret", "webhook_endpoint:1:secre", "", `${CONTEXT} `]) {
  test(`a text that is sealed for one context does not open in "${context}"`, () => {
    assert.throws(() => box.open(box.seal(SECRET, CONTEXT), context));
    assert.throws(() => box.open(box.seal("", CONTEXT), context));
  });
}

test("another key does not open a text and reports that", () => {
  assert.throws(() => new SecretBox(SECOND).open(box.seal(SECRET, CONTEXT), CONTEXT), /sealed by another secret key/);
  assert.throws(() => new SecretBox(SECOND, THIRD).open(box.seal(SECRET, CONTEXT), CONTEXT), /sealed by another secret key/);
});

test("a change of any bit is detected", () => {
  const bytes = bytesOf(box.seal(SECRET, CONTEXT));
  for (let bit = 0; bit < bytes.length * 8; bit += 1) {
    const changed = Buffer.from(bytes);
    changed[bit >> 3] = (changed[bit >> 3] ?? 0) ^ (1 << (bit & 7));
    assert.throws(() => box.open(ofBytes(changed), CONTEXT), `bit ${bit}`);
  }
});

for (const text of [SECRET, ""]) {
  test(`a shortened or extended sealed text is refused: ${text.length} characters`, () => {
    const bytes = bytesOf(box.seal(text, CONTEXT));
    for (let length = 0; length < bytes.length; length += 1)
      assert.throws(() => box.open(ofBytes(bytes.subarray(0, length)), CONTEXT), `cut to ${length} bytes`);
    assert.throws(() => box.open(ofBytes(Buffer.concat([bytes, Buffer.alloc(1)])), CONTEXT));
  });
}

for (const text of ["", PREFIX, SECRET, "sealed", "sealed:????", "Sealed:AAAA"]) {
  test(`"${text}" is not a sealed text and is refused`, () => assert.throws(() => box.open(text, CONTEXT)));
}

test("a text of the previous key opens, and a newly sealed text does not need that key", () => {
  const rotated = new SecretBox(SECOND, FIRST);
  const old = box.seal(SECRET, CONTEXT);
  assert.equal(rotated.open(old, CONTEXT), SECRET);

  const sealed = rotated.seal(SECRET, CONTEXT);
  assert.equal(new SecretBox(SECOND).open(sealed, CONTEXT), SECRET, "the new key is enough");
  assert.throws(() => box.open(sealed, CONTEXT));
  assert.throws(() => rotated.open(old, "elsewhere"));
});
