/** The table of docs/content.md is the one of src/links/content-support.ts. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { Channel } from "../../src/links/channel.ts";
import { providerFault, providerFileFault, type Need } from "../../src/links/content-support.ts";
import { MEDIA_KINDS, type MediaKind } from "../../src/model/content.ts";
import type { ProviderName } from "../../src/providers/providers.ts";
import { ROOT } from "../support/doc-samples.ts";

type Link = readonly [provider: ProviderName, channel: Channel];

const COLUMNS: readonly Link[] = [
  ["whatsapp", "whatsapp"],
  ["twilio", "sms"],
];
const TYPES = ["buttons", "list", "location", "contacts", "reaction", "template"] as const;

const carries = ([provider, channel]: Link, need: Need): boolean => providerFault(provider, channel, need) === undefined;
const yes = (isCarried: boolean): string => (isCarried ? "yes" : "no");

const REST = [...TYPES.map((type) => `\`${type}\``), "`reply_to`"].join(", ");

/** All types of `REST` are carried, or none is. */
function restCell(link: Link): string {
  const cells = new Set([...TYPES.map((type) => carries(link, { type })), carries(link, { type: "text", isQuote: true })]);
  assert.equal(cells.size, 1);
  return yes(cells.has(true));
}

/** The types and the size of a file, from the reasons why other files are refused. */
function fileRule([provider, channel]: Link, kind: MediaKind): string {
  if (!carries([provider, channel], { type: "media", kind })) return "no";
  const reason = (contentType: string, bytes: number): string => providerFileFault(provider, channel, kind, { contentType, bytes }) ?? "";
  const [, types = "any type"] = / may be (.*)$/.exec(reason("none/none", 1)) ?? [];
  const [, digits = ""] = / may have ([\d,]+)$/.exec(reason(types.split(", ")[0]?.replace("*", "any") ?? "", Infinity)) ?? [];
  const bytes = Number(digits.replaceAll(",", ""));
  return `${types}; ${bytes % 1_048_576 === 0 ? `${bytes / 1_048_576} MB` : `${bytes / 1_024} kB`}`;
}

const captions = (link: Link): string =>
  MEDIA_KINDS.filter((kind) => carries(link, { type: "media", kind, hasCaption: true })).join(", ") || "no";

const ROWS: readonly (readonly [name: string, cell: (link: Link) => string])[] = [
  ["`text`", (link) => yes(carries(link, { type: "text" }))],
  ...MEDIA_KINDS.map((kind) => [`\`media\`, \`${kind}\``, (link: Link) => fileRule(link, kind)] as const),
  ["`caption` of", captions],
  [REST, restCell],
];

test("docs/content.md shows what each link carries", () => {
  const rows = ROWS.map(([name, cell]) => `| ${[name, ...COLUMNS.map(cell)].join(" | ")} |`);
  const page = readFileSync(join(ROOT, "docs", "content.md"), "utf8");
  const [, shown = ""] = /\|---\|---\|---\|\n((?:\|.*\n)*)/.exec(page) ?? [];
  assert.equal(shown, `${rows.join("\n")}\n`);
});

test("the simulator carries what both providers do, and all other links carry texts only", () => {
  const links = (provider: ProviderName): Link[] => [
    [provider, "sms"],
    [provider, "whatsapp"],
  ];
  for (const [name, cell] of ROWS) {
    assert.equal(cell(["simulator", "whatsapp"]), cell(["whatsapp", "whatsapp"]), name);
    assert.equal(cell(["simulator", "sms"]), cell(["twilio", "sms"]), name);
    for (const link of [...links("smpp"), ...links("http"), ["twilio", "whatsapp"] as const])
      assert.equal(cell(link), name === "`text`" ? "yes" : "no", name);
  }
});
