import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { newId } from "../model/id.ts";
import { SecretBox } from "../lib/secret-box.ts";
import { concealing, hashCode, isCode, MAX_LENGTH, MIN_LENGTH, newCode } from "./code.ts";

const LENGTHS = Array.from({ length: MAX_LENGTH - MIN_LENGTH + 1 }, (_, index) => MIN_LENGTH + index);
const NOW = Date.now();

describe("a code", () => {
  for (const length of LENGTHS) {
    test(`of ${length} digits is always the same in test`, () => {
      for (let round = 0; round < 5; round += 1) assert.equal(newCode("test", length), "1234567890".slice(0, length));
    });

    test(`of ${length} digits has that length in live, and varies`, () => {
      const codes = Array.from({ length: 200 }, () => newCode("live", length));
      for (const code of codes) assert.match(code, new RegExp(`^[0-9]{${length}}$`));
      // Of two hundred out of ten thousand at least, a few may be alike.
      assert.ok(new Set(codes).size > 150, `${new Set(codes).size} different ones`);
    });
  }

  test("in live has every digit in every position, also zero in the first", () => {
    const codes = Array.from({ length: 1_000 }, () => newCode("live", 6));
    for (let place = 0; place < 6; place += 1) assert.equal(new Set(codes.map((code) => code[place])).size, 10, `place ${place}`);
  });
});

describe("the hash of a code", () => {
  const [box, other] = [new SecretBox(Buffer.alloc(32, 1)), new SecretBox(Buffer.alloc(32, 2))];
  const [id, another] = [newId("ver", NOW), newId("ver", NOW)];

  test("matches only this code", () => {
    const hash = hashCode(box, id, "123456");
    assert.equal(isCode(box, id, "123456", hash), true);
    for (const code of ["123457", "12345", "1234567", "0123456", ""]) assert.equal(isCode(box, id, code, hash), false, code);
  });

  test("matches only this verification", () => {
    const hash = hashCode(box, id, "123456");
    assert.notDeepEqual(hashCode(box, another, "123456"), hash);
    assert.equal(isCode(box, another, "123456", hash), false);
  });

  test("matches only with this secret key or the previous one", () => {
    const hash = hashCode(box, id, "123456");
    assert.equal(isCode(other, id, "123456", hash), false);
    const changed = new SecretBox(Buffer.alloc(32, 2), Buffer.alloc(32, 1));
    assert.equal(isCode(changed, id, "123456", hash), true);
    assert.equal(isCode(changed, id, "123457", hash), false);
    assert.notDeepEqual(hashCode(changed, id, "123456"), hash);
  });
});

describe("the content of a record", () => {
  const template = { id: "tmpl_1", name: "code", language: "en", version: 1, variables: { code: "123456" } };

  test("has an asterisk for each digit of the code, wherever the code appears", () => {
    assert.deepEqual(concealing("123456")({ body: "123456! Again: 123456", template }), {
      body: "******! Again: ******",
      template: { ...template, variables: { code: "******" } },
    });
  });

  test("leaves the original content unchanged", () => {
    const content = { body: "123456", template };
    concealing("123456")(content);
    assert.deepEqual(content, { body: "123456", template });
    assert.deepEqual(template.variables, { code: "123456" });
  });

  test("has no template where the message has none", () => {
    assert.deepEqual(concealing("1234")({ body: "1234 5", template: null }), { body: "**** 5", template: null });
  });
});
