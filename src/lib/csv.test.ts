import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { CsvFault, readCsv, toCsvLine, type CsvRecord } from "./csv.ts";

/** Reads the bytes in chunks of the given size. */
async function read(input: string | Buffer, size = 7): Promise<CsvRecord[]> {
  const bytes = Buffer.from(input);
  async function* chunks(): AsyncGenerator<Uint8Array> {
    for (let from = 0; from < bytes.length; from += size) yield bytes.subarray(from, from + size);
  }
  const records: CsvRecord[] = [];
  for await (const group of readCsv(chunks())) records.push(...group);
  return records;
}

const cellsOf = async (input: string | Buffer, size?: number): Promise<(readonly string[])[]> =>
  (await read(input, size)).map(({ cells }) => cells);

const READ: readonly (readonly [name: string, input: string, cells: readonly (readonly string[])[]])[] = [
  ["an empty file", "", []],
  [
    "a last record without a line end",
    "a,b\n1,2",
    [
      ["a", "b"],
      ["1", "2"],
    ],
  ],
  ["CRLF, LF and CR", "a\r\nb\nc\rd\r\n", [["a"], ["b"], ["c"], ["d"]]],
  ["a byte order mark", "\uFEFFa,b\n", [["a", "b"]]],
  [
    "quotation marks, separators and line ends in a quoted cell",
    'a,b\n"1,""x""\r\n2",3\n',
    [
      ["a", "b"],
      ['1,"x"\r\n2', "3"],
    ],
  ],
  [
    "empty cells",
    'a,,""\n,,\n',
    [
      ["a", "", ""],
      ["", "", ""],
    ],
  ],
  ["a quoted cell at the end of the file", 'a\n"b"', [["a"], ["b"]]],
  [
    "semicolons",
    "a;b\n1,5;2\n",
    [
      ["a", "b"],
      ["1,5", "2"],
    ],
  ],
  [
    "tabs",
    "a\tb\n1\t2\n",
    [
      ["a", "b"],
      ["1", "2"],
    ],
  ],
  ["characters of several bytes", "ä,🔑\n", [["ä", "🔑"]]],
];

for (const [name, input, expected] of READ)
  test(`${name} can be read, wherever the chunks of the file end`, async () => {
    for (const size of [1, 2, 3, 64]) assert.deepEqual(await cellsOf(input, size), expected, `chunks of ${size} bytes`);
  });

test("an empty line is left out, and counts as a row", async () => {
  assert.deepEqual(
    (await read('a\n\n"b\nc"\nd\n')).map(({ row, line }) => [row, line]),
    [
      [1, 1],
      [3, 3],
      [4, 5],
    ],
  );
});

const REFUSED: readonly (readonly [name: string, input: string | Buffer, line: number, detail: RegExp])[] = [
  ["UTF-16 with a mark", Buffer.from("\uFEFFa,b\n", "utf16le"), 1, /UTF-16.*CSV UTF-8/],
  ["UTF-16 without a mark", Buffer.from("a,b\n1,2\n", "utf16le"), 1, /UTF-16/],
  ["Latin-1", Buffer.from("a\nb\nM\xfcller\n", "latin1"), 3, /not UTF-8/],
  ["a quotation mark that is not closed", 'a\nb\n"c\nd\n', 3, /not closed/],
  ["text after a quotation mark", 'a\n"b"c\n', 2, /after a closing quotation mark/],
  ["a quotation mark inside a cell", 'a\nb"c"\n', 2, /quotation mark inside/],
  ["a long record", `a\nb\n${"c".repeat(70_000)}\nd\n`, 3, /more than 65536 characters/],
  ["a quotation mark that is closed much later", `a\n"b\n${"c\n".repeat(50_000)}"\n`, 2, /not closed\?/],
  ["many cells", `${",".repeat(300)}\n`, 1, /more than 256 cells/],
];

for (const [name, input, line, detail] of REFUSED)
  test(`${name} is refused with its line`, async () => {
    for (const size of [997, 65_536])
      await assert.rejects(read(input, size), (error) => error instanceof CsvFault && error.line === line && detail.test(error.message));
  });

test("what was written is read again", async () => {
  // A cell that a spreadsheet would run gets an apostrophe, and a record of one empty cell is an empty line.
  const cell = fc.string({ unit: fc.constantFrom(..."ab 1\"',;|\r\n\täé🔑") });
  const records = fc.array(fc.tuple(fc.constant("x"), cell, cell), { minLength: 1 });
  await fc.assert(
    fc.asyncProperty(records, fc.integer({ min: 1, max: 9 }), async (lines, size) => {
      const plain = lines.map((cells) => cells.map((text) => text.trimStart()));
      const text = ["a,b,c\r\n", ...plain.map(toCsvLine)].join("");
      assert.deepEqual((await cellsOf(text, size)).slice(1), plain);
    }),
  );
});

test("a cell that a spreadsheet would run gets an apostrophe, and a number keeps its sign", () => {
  assert.equal(toCsvLine(["=1+1", "+14155550123", "-5", "a", null, 7]), "'=1+1,+14155550123,-5,a,,7\r\n");
  assert.equal(toCsvLine(["@SUM(A1)", "x;=1", "＝1"]), "'@SUM(A1),\"x;'=1\",'＝1\r\n");
});
