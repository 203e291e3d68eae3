/** The tables of settings in the documentation, and the texts of the console, match the schemas. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { readPages } from "../../scripts/setting-texts.ts";
import { LINK_KINDS } from "../../src/links/link-settings.ts";
import { settingTexts } from "../../src/links/link-kind.ts";

for (const { path, is, shouldBe } of readPages())
  test(`${path} is the output of npm run setting-texts`, () =>
    assert.equal(is, shouldBe, `${path} is out of date: run npm run setting-texts`));

// The definition of a carrier is explained in docs/carriers.md, and the simulator has no file.
const ELSEWHERE = new Set("speed values secrets request response poll callbacks receipts inbound errors".split(" "));

for (const [provider, { schema }] of Object.entries(LINK_KINDS))
  test(`every setting of ${provider} is explained, in sentences`, () => {
    const texts = settingTexts(schema);
    const { properties } = schema as unknown as { properties: object };
    assert.deepEqual(
      Object.keys(properties).filter((name) => !ELSEWHERE.has(name)),
      texts.map(({ name }) => name).filter((name) => !ELSEWHERE.has(name)),
    );
    for (const { name, description } of texts) assert.match(description, /^[A-Z].{10,}\.$/, name);
  });
