/** The rows of a file of recipients: the fields of its columns, the checks of each row, and the groups that are sent together. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { mapColumns, type MappingRequest } from "./columns.ts";
import { Grouper, keyOfGroup, sendIdOf, toBatchRequest, type RowGroup } from "./groups.ts";
import { KnownRecipients } from "./known-recipients.ts";
import { BulkPreview } from "./preview.ts";
import { readBulkRows } from "./read-rows.ts";
import type { BulkSettings, BulkRow } from "./rows.ts";
import { estimateCost, validateSamples } from "./samples.ts";

async function* bytesOf(text: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(text);
}

const settings = (fields: Partial<BulkSettings> = {}): BulkSettings => ({
  defaults: { channel: "sms", body: "hello" },
  variables: {},
  metadata: {},
  targets: ["recipient"],
  templateBody: null,
  allowsDuplicates: false,
  sendId: "",
  ...fields,
});

async function rowsOf(lines: readonly string[], of: BulkSettings = settings()): Promise<BulkRow[]> {
  const rows: BulkRow[] = [];
  for await (const part of readBulkRows(bytesOf(`headings\n${lines.join("\n")}`), of)) rows.push(...part);
  return rows;
}

describe("the columns", () => {
  const map = (headings: readonly string[], fields: Partial<MappingRequest> = {}): ReturnType<typeof mapColumns> =>
    mapColumns({ headings, chosen: new Map(), content: "text", constants: [], ...fields });

  test("are known by their headings, and the others are ignored", () => {
    assert.deepEqual(map(["Name", "Phone Number", "Reference"]), { targets: ["ignore", "recipient", "client_reference"], faults: [] });
    assert.deepEqual(map(["to", "text"], { content: "none" }), { targets: ["recipient", "body"], faults: [] });
  });

  test("fill the variables of the template, before other fields", () => {
    const content = { variables: ["reference", "name"] };
    assert.deepEqual(map(["to", "NAME", "Reference"], { content }).targets, ["recipient", "var.name", "var.reference"]);
    assert.deepEqual(map(["to", "name", "x"], { content: "template" }).targets, ["recipient", "var.name", "var.x"]);
    assert.deepEqual(map(["to", "name"], { content, constants: ["reference"] }).faults, []);
  });

  test("can be chosen", () => {
    const chosen = new Map([
      ["Mobile 2", "recipient"],
      ["Phone", "ignore"],
      ["City", "metadata.city"],
    ]);
    assert.deepEqual(map(["Phone", "Mobile 2", "City"], { chosen }), { targets: ["ignore", "recipient", "metadata.city"], faults: [] });
  });

  test("have faults in words", () => {
    const faultsOf = (...input: Parameters<typeof map>): string => map(...input).faults.join("; ");
    assert.match(faultsOf(["x"]), /no column has the recipient/);
    assert.match(faultsOf(["to"], { content: "none" }), /neither a text/);
    assert.match(faultsOf(["to", "to"]), /two columns have the heading "to"/);
    assert.match(faultsOf(["to", "x"], { chosen: new Map([["x", "recipient"]]) }), /^$/);
    assert.match(faultsOf(["to", "x"], { chosen: new Map([["x", "fax"]]) }), /"x" must fill recipient, body/);
    assert.match(faultsOf(["to"], { content: { variables: ["name"] } }), /no column fills the variable name/);
    assert.match(faultsOf(["to", "x"], { chosen: new Map([["x", "var.x"]]) }), /there is no template/);
  });
});

describe("a row", () => {
  const RECIPIENTS: readonly (readonly [cell: string, recipient: string])[] = [
    ["+14155550101", "+14155550101"],
    [" +1 (415) 555-0102 ", "+14155550102"],
    ["'+14155550103", "+14155550103"],
    ["\u202a+14155550104\u202c", "+14155550104"],
    ["+49 (0)171 5550105", "+491715550105"],
    ["+1.415.555.0106", "+14155550106"],
  ];
  for (const [cell, recipient] of RECIPIENTS)
    test(`with ${JSON.stringify(cell)} is sent to ${recipient}`, async () => {
      const [row] = await rowsOf([cell]);
      assert.deepEqual([row?.fault, row?.recipient], [null, recipient]);
    });

  const REFUSED: readonly (readonly [line: string, code: string])[] = [
    [" ,x", "required"],
    ["4155550101,x", "invalid_format"],
    ["4.15555E+11,x", "invalid_format"],
    ["+1415555010,x", "impossible_number"],
    ["US.13491208655302741918,x", "invalid_format"],
    ["+14155550101", "cell_count"],
    [`+14155550101,${"x".repeat(1_601)}`, "too_long"],
    ["+14155550101, ", "required"],
  ];
  for (const [line, code] of REFUSED)
    test(`with ${JSON.stringify(line.slice(0, 30))} is not sent: ${code}`, async () => {
      const of = settings({ defaults: { channel: "sms" }, targets: ["recipient", "body"] });
      assert.equal((await rowsOf([line], of))[0]?.fault?.code, code);
    });

  test("with the recipient of an earlier row is not sent, unless that is permitted", async () => {
    const codesOf = async (of: BulkSettings): Promise<unknown[]> =>
      (await rowsOf(["+14155550101", "+14155550102", "+1 415 555 0101"], of)).map(({ fault }) => fault?.code);
    assert.deepEqual(await codesOf(settings()), [undefined, undefined, "duplicate_recipient"]);
    assert.deepEqual(await codesOf(settings({ allowsDuplicates: true })), [undefined, undefined, undefined]);
  });

  test("is an item with its own fields, and the text of its template", async () => {
    const of = settings({
      defaults: { channel: "sms", template_id: "t" },
      variables: { shop: "Acme" },
      metadata: { campaign: "may" },
      targets: ["recipient", "var.name", "metadata.city", "client_reference", "ignore"],
      templateBody: "{{shop}}: hello {{name}} ’",
    });
    const [row] = await rowsOf(["+14155550101,Ada,,A-17,x"], of);
    assert.deepEqual(row?.item, {
      recipient: "+14155550101",
      template_variables: { shop: "Acme", name: "Ada" },
      metadata: { campaign: "may" },
      client_reference: "A-17",
    });
    assert.ok(row.fault === null);
    assert.deepEqual([row.row, row.text, row.segments], [2, "Acme: hello Ada ’", { count: 1, encoding: "ucs2", characters: 17 }]);
  });
});

test("recipients are known again among many others", () => {
  const known = new KnownRecipients();
  const all = Array.from({ length: 50_000 }, (_, at) => (at % 2 === 0 ? `+${14_155_550_000 + at}` : `US.${at}${"a".repeat(at % 30)}`));
  for (const recipient of all) assert.ok(known.add(recipient), recipient);
  for (const recipient of all) assert.ok(!known.add(recipient), recipient);
});

describe("the groups of a file", () => {
  const row = (at: number, text = "x"): BulkRow => ({
    row: at,
    recipient: `+${at}`,
    item: { recipient: `+${at}`, body: text },
    text,
    segments: null,
    fault: null,
  });
  const groupsOf = (rows: readonly BulkRow[]): RowGroup[] => {
    const grouper = new Grouper();
    return [...rows.map((each) => grouper.add(each)), grouper.end()].filter((group) => group !== undefined);
  };

  test("have up to 1,000 rows, and fewer if their texts are long", () => {
    const rows = Array.from({ length: 2_500 }, (_, at) => row(at + 2));
    assert.deepEqual(
      groupsOf(rows).map(({ last, valid }) => [last, valid.length]),
      [
        [1_001, 1_000],
        [2_001, 1_000],
        [2_501, 500],
      ],
    );
    const long = Array.from({ length: 1_000 }, (_, at) => row(at + 2, "€".repeat(1_500)));
    for (const group of groupsOf(long)) assert.ok(Buffer.byteLength(JSON.stringify(toBatchRequest(group, settings()))) < 2_097_152);
  });

  test("have the same key again, and another one for other rows, settings or sends", async () => {
    const [group] = groupsOf([row(2), row(3)]);
    const [other] = groupsOf([row(2), row(4)]);
    assert.ok(group !== undefined && other !== undefined);
    const key = (of: RowGroup, sendId: string, fields?: Partial<BulkSettings>): Promise<string> =>
      keyOfGroup(of, toBatchRequest(of, settings(fields)), sendId);
    const keys = await Promise.all([
      key(group, "a"),
      key(group, "a"),
      key(group, "b"),
      key(other, "a"),
      key(group, "a", { defaults: { channel: "sms", body: "bye" } }),
    ]);
    assert.equal(new Set(keys).size, 4);
    for (const each of keys) assert.match(each, /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    assert.notEqual(await sendIdOf("hash", settings()), await sendIdOf("other", settings()));
  });

  test("have the same key and the same name of the send in any order of the settings, and without the text of the template", async () => {
    const [group] = groupsOf([row(2)]);
    assert.ok(group !== undefined);
    const [one, other] = [
      settings({ defaults: { channel: "sms", body: "hi" } }),
      settings({ defaults: { body: "hi", channel: "sms" }, templateBody: "x" }),
    ];
    assert.equal(await sendIdOf("hash", one), await sendIdOf("hash", other));
    assert.equal(await keyOfGroup(group, toBatchRequest(group, one), "a"), await keyOfGroup(group, toBatchRequest(group, other), "a"));
  });
});

test("the cost is estimated by the price of a segment in each country", async () => {
  const preview = new BulkPreview();
  for (const row of await rowsOf(["+14155550101", "+14155550102", "+4915155550101", "+447700900101"])) preview.add(row);
  const samples = await validateSamples(preview, settings(), async ({ recipient }) => {
    const price = String(recipient).startsWith("+49") ? 0.07 : String(recipient).startsWith("+1") ? 0.05 : null;
    return { valid: true, body: "hello", segments: { count: 1 }, route: { link: "a", links: [{ link: "a", price }] }, errors: [] };
  });
  assert.equal(samples.length, 4, "the first three rows, and the first one of another country");
  const estimate = estimateCost(preview, samples);
  assert.deepEqual([estimate?.cost.toFixed(2), estimate?.unpricedRows], ["0.17", 1]);
});
