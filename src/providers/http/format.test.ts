import assert from "node:assert/strict";
import { test } from "node:test";
import type { FormatDefinition } from "./definition.ts";
import { compileFormat } from "./format.ts";
import { compilePath, findAll, textAt, type Document } from "./json-path.ts";
import { DefinitionReader } from "./reader.ts";

function compiled(definition: FormatDefinition): { read: ReturnType<typeof compileFormat>; faults: string[] } {
  const faults: string[] = [];
  const reader = new DefinitionReader(new Map(), (fault) => faults.push(fault));
  return { read: compileFormat(reader, definition, "response"), faults };
}

function readerOf(definition: FormatDefinition): (text: string) => Document | undefined {
  const { read, faults } = compiled(definition);
  assert.deepEqual(faults, []);
  return read;
}

const readXml = readerOf({ format: "xml" });
const xml = (text: string): Document => readXml(text) ?? assert.fail("not read");
const textOf = (path: string, document: Document): string | undefined => textAt(compilePath(path), document);
const textsOf = (path: string, document: Document): unknown[] =>
  findAll(compilePath(path) ?? assert.fail(path), document).map((body) => textOf("$", { body, query: {} }));

test("elements, attributes and texts of XML are found by paths, with or without prefixes and entities", () => {
  const document = xml(
    `\ufeff<?xml version="1.0"?>\n<!-- x --><s:r xmlns:s="urn:x" code="0" s:kind="a"><s:id>\n  a&amp;b &#233;</s:id><t><![CDATA[<b>]]></t></s:r>\n`,
  );
  const paths = ["$.r.id", "$.r.t", "$.r.@code", "$.r.@kind", "$.r.none", "$.r.id[0]", "$.r[0].id[*]", "$['r']['@code']"];
  assert.deepEqual(
    paths.map((path) => textOf(path, document)),
    ["a&b é", "<b>", "0", "a", undefined, "a&b é", "a&b é", "0"],
  );
});

test("a byte order mark is not part of a document, whatever its format", () => {
  for (const [definition, text] of [
    [{ format: "json" }, '{"id":"1"}'],
    [{ format: "form" }, "id=1"],
    [{ format: "text", pattern: "^OK (?P<id>[0-9]+)" }, "OK 1"],
  ] as const)
    assert.equal(textOf("$.id", readerOf(definition)(`\ufeff${text}`) ?? { body: null, query: {} }), "1", definition.format);
});

test("a path into XML works for one element and for many", () => {
  const one = xml("<r><m><id>1</id></m></r>");
  const many = xml("<r><m><id>1</id></m><m/><m><id>3</id><id>4</id></m></r>");
  for (const path of ["$.r.m.id", "$.r.m[*].id", "$.r.m[*].id[*]"]) {
    assert.deepEqual(textsOf(path, one), ["1"], path);
    assert.deepEqual(textsOf(path, many), ["1", "3", "4"], path);
  }
  assert.deepEqual(textsOf("$.r.m[2].id[1]", many), ["4"]);
  assert.equal(findAll(compilePath("$.r.m") ?? assert.fail(), many).length, 3);
  assert.deepEqual(textsOf("$.r.m[1].id", many), []);
});

test("an element may have the name of a member of every object", () => {
  const document = xml(`<__proto__ constructor="1"><toString>2</toString></__proto__>`);
  assert.deepEqual(
    ["$.__proto__.@constructor", "$.__proto__.toString", "$.constructor", "$.__proto__.valueOf"].map((path) => textOf(path, document)),
    ["1", "2", undefined, undefined],
  );
  assert.equal(({} as Record<string, unknown>)["@constructor"], undefined);
});

for (const [name, text] of [
  ["no XML", "Success"],
  ["an empty text", ""],
  ["an open element", "<r><a></r>"],
  ["two roots", "<r/><r/>"],
  ["entities of its own", `<!DOCTYPE r [<!ENTITY a "b">]><r>&a;</r>`],
  ["an external entity", `<!DOCTYPE r [<!ENTITY a SYSTEM "file:///etc/passwd">]><r>&a;</r>`],
  ["a document type", `<!DOCTYPE r SYSTEM "http://127.0.0.1/x.dtd"><r/>`],
  ["an unknown entity", "<r>&nbsp;</r>"],
  ["too many levels", "<a>".repeat(40) + "</a>".repeat(40)],
  ["too many elements", `<r>${"<a/>".repeat(17_000)}</r>`],
  ["too many attributes", `<r>${"<a b='' c='' d=''/>".repeat(5_000)}</r>`],
  ["too many characters", `<r>${"x".repeat(300_000)}</r>`],
] as const)
  test(`XML with ${name} is not read`, () => assert.equal(readXml(text), undefined));

test("a pattern reads a text by its groups, and leaves out groups that took no part", () => {
  const read = readerOf({ format: "text", pattern: '^(?:Success "(?P<id>[^"]+)"|Error "(?P<error>[^"]*)")' });
  assert.deepEqual(read('Success "0703"\r\n')?.body, { id: "0703" });
  assert.deepEqual(read('Error "No route found"')?.body, { error: "No route found" });
  assert.equal(read("<html>"), undefined);
});

test("a pattern can read each line, and leaves out other lines", () => {
  const read = readerOf({ format: "text", pattern: "^(?P<code>[0-9]+)[|](?P<id>.+)", each_line: true });
  assert.deepEqual(read("1701|a\r\n\n# x\n1702|b")?.body, [
    { code: "1701", id: "a" },
    { code: "1702", id: "b" },
  ]);
  assert.equal(read("x\ny"), undefined);
});

for (const [definition, fault] of [
  [{ format: "text" }, /^response\.pattern: is required/],
  [{ format: "json", pattern: "(?P<a>b)" }, /^response\.pattern: needs format = "text"/],
  [{ format: "xml", each_line: true }, /^response\.each_line: needs format = "text"/],
  [{ format: "text", pattern: "a(b" }, /^response\.pattern: is not a regular expression/],
  [{ format: "text", pattern: "(?P<a>x)(?=y)" }, /^response\.pattern: is not a regular expression/],
  [{ format: "text", pattern: "(?P<a>x)\\1" }, /^response\.pattern: is not a regular expression/],
  [{ format: "text", pattern: "(a)" }, /^response\.pattern: needs a group with a name/],
  [{ format: "text", pattern: "(?P<a>x{900})" }, /^response\.pattern: is too large/],
  [{ format: "text", pattern: "(?P<a>((x{9}){9}){9})" }, /^response\.pattern: is too large/],
] as const)
  test(`${JSON.stringify(definition)} is a fault`, () => {
    const { faults } = compiled(definition);
    assert.equal(faults.length, 1);
    assert.match(faults[0] ?? "", fault);
  });

test("no pattern and text take long: the larger the pattern, the shorter the text", () => {
  const started = process.cpuUsage();
  let read = 0;
  for (const pattern of [
    "(?P<x>(a*)*)b",
    `(?P<x>${".*".repeat(60)})b`,
    "(?i)(?P<x>\\pL{0,60})b",
    "(?P<x>(.{99}))\\b|b!",
    "(?P<x>(a|aa)+)$b",
  ]) {
    const parse = readerOf({ format: "text", pattern });
    assert.equal(parse("b".repeat(100_000)), undefined, "too long for any pattern");
    for (const unit of ["a", "ab1|", "é"]) if (parse(unit.repeat(1_000 / unit.length)) !== undefined) read += 1;
  }
  assert.ok(read > 0);
  // 15 texts took 100 ms. A backtracking engine does not end.
  assert.ok(process.cpuUsage(started).user / 1_000 < 10_000);
});
