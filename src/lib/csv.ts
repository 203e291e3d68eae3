/** CSV: reads a stream of bytes record by record (RFC 4180), and writes lines that are safe to open in a spreadsheet. Runs in Node and in
 *  browsers. */

/** `row` counts the records as a spreadsheet does: the first one is 1, and an empty one counts. `line` is where the record begins. */
export type CsvRecord = { row: number; line: number; cells: readonly string[] };
type Parsed = { cells: string[]; end: number; lines: number };
type Place = { from: number; line: number; delimiter: string; isEnd: boolean };

// More than the longest text with all its variables.
const MAX_RECORD = 65_536;
const MAX_CELLS = 256;
const DELIMITERS = [",", ";", "\t"] as const;
const LINE_END = /\r\n|\r|\n/g;

/** The file cannot be read any further. */
export class CsvFault extends Error {
  override name = "CsvFault";
  readonly line: number;

  constructor(line: number, detail: string) {
    super(`line ${line}: ${detail}`);
    this.line = line;
  }
}

/** Reads the records of a file in groups, one group for each chunk of bytes. The memory in use does not depend on the size of the file. */
export async function* readCsv(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<CsvRecord[]> {
  const parser = new CsvParser();
  // A broken character is found as U+FFFD, so that its line is known. The decoder removes a byte order mark.
  const decoder = new TextDecoder("utf-8");
  let isFirst = true;
  for await (const chunk of chunks) {
    if (isFirst) refuseUtf16(chunk);
    isFirst = false;
    yield parser.push(decoder.decode(chunk, { stream: true }));
  }
  yield [...parser.push(decoder.decode()), ...parser.end()];
}

const UTF8_HINT = 'save it as "CSV UTF-8"';

function refuseUtf16([first, second]: Uint8Array): void {
  const isMarked = (first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff);
  if (isMarked) throw new CsvFault(1, `the file is UTF-16: ${UTF8_HINT}`);
}

class CsvParser {
  /** The text of the record that is not complete yet. */
  #rest = "";
  #row = 0;
  #line = 1;
  #delimiter: string | undefined;

  push(text: string): CsvRecord[] {
    return this.#parse(text, false);
  }

  end(): CsvRecord[] {
    return this.#rest === "" ? [] : this.#parse("", true);
  }

  #parse(added: string, isEnd: boolean): CsvRecord[] {
    const text = this.#rest + added;
    const records: CsvRecord[] = [];
    let from = 0;
    while (from < text.length) {
      this.#delimiter ??= delimiterOf(text, isEnd);
      const found =
        this.#delimiter === undefined ? undefined : parseRecord(text, { from, line: this.#line, delimiter: this.#delimiter, isEnd });
      if ((found?.end ?? text.length) - from > MAX_RECORD)
        throw new CsvFault(this.#line, `the record has more than ${MAX_RECORD} characters: is a quotation mark not closed?`);
      if (found === undefined) break;
      this.#row += 1;
      if (!isBlank(found.cells)) records.push({ row: this.#row, line: this.#line, cells: found.cells });
      this.#line += found.lines;
      from = found.end;
    }
    this.#rest = text.slice(from);
    return records;
  }
}

const isBlank = (cells: readonly string[]): boolean => cells.length === 1 && cells[0] === "";

/** The separator that the first line has most often: some countries use the semicolon. Undefined while the line is not complete. */
function delimiterOf(text: string, isEnd: boolean): string | undefined {
  const end = text.search(/[\r\n]/);
  if (end === -1 && !isEnd && text.length <= MAX_RECORD) return undefined;
  const [first = ""] = text.split(/[\r\n]/, 1);
  const counts = DELIMITERS.map((delimiter) => ({ delimiter, count: first.split(delimiter).length }));
  return counts.reduce((most, each) => (each.count > most.count ? each : most)).delimiter;
}

/** Parses the record that begins at `from`. Undefined if the text ends before the record does. */
function parseRecord(text: string, { from, line, delimiter, isEnd }: Place): Parsed | undefined {
  const cells: string[] = [];
  let lines = 1;
  for (let at = from; ; at += 1) {
    const cell = text[at] === '"' ? quotedCell(text, at, isEnd) : plainCell(text, at, delimiter);
    if (cell === undefined) {
      if (isEnd) throw new CsvFault(line, "a quotation mark is not closed");
      return undefined;
    }
    checkCharacters(cell.value, line + lines - 1);
    if (cells.push(cell.value) > MAX_CELLS) throw new CsvFault(line, `the record has more than ${MAX_CELLS} cells`);
    if (cell.isQuoted) lines += cell.value.match(LINE_END)?.length ?? 0;
    else if (cell.value.includes('"'))
      throw new CsvFault(
        line,
        "a quotation mark inside a cell without quotation marks: put the cell between quotation marks, and double those inside",
      );
    at = cell.end;
    const next = text[at];
    if (next === delimiter) continue;
    if (next === undefined) return isEnd ? { cells, end: at, lines } : undefined;
    if (next === "\n") return { cells, end: at + 1, lines };
    if (next !== "\r") throw new CsvFault(line + lines - 1, "there is text after a closing quotation mark");
    if (at + 1 === text.length && !isEnd) return undefined;
    return { cells, end: text[at + 1] === "\n" ? at + 2 : at + 1, lines };
  }
}

type Cell = { value: string; end: number; isQuoted: boolean };

function plainCell(text: string, from: number, delimiter: string): Cell {
  let end = from;
  for (; end < text.length; end += 1) {
    const character = text[end];
    if (character === delimiter || character === "\n" || character === "\r") break;
  }
  return { value: text.slice(from, end), end, isQuoted: false };
}

/** Undefined if the cell may continue after the text. */
function quotedCell(text: string, quote: number, isEnd: boolean): Cell | undefined {
  let value = "";
  for (let from = quote + 1; ;) {
    const at = text.indexOf('"', from);
    if (at === -1 || (at + 1 === text.length && !isEnd)) return undefined;
    if (text[at + 1] !== '"') return { value: value + text.slice(from, at), end: at + 1, isQuoted: true };
    value += text.slice(from, at + 1);
    from = at + 2;
  }
}

function checkCharacters(value: string, line: number): void {
  if (value.includes("\uFFFD")) throw new CsvFault(line, `the file is not UTF-8: ${UTF8_HINT}`);
  if (value.includes("\0")) throw new CsvFault(line, `the file has a NUL character, as in UTF-16: ${UTF8_HINT}`);
}

type Value = string | number | null | undefined;

/** One line of a file, with its end. */
export const toCsvLine = (cells: readonly Value[]): string => `${cells.map(toCell).join(",")}\r\n`;

// A spreadsheet runs a cell that begins with one of these as a formula, also in their full-width forms. It may split a cell at another separator, or
// not know the quotes, so the same applies to each part (OWASP, CSV injection).
const PART = /([;,|\t\r\n"'])(?=[=+\-@＝＋－＠])/g;
const FORMULA = /^(\s*[=+\-@＝＋－＠]|[\t\r\n])/;
// A number with its sign is a value, such as a phone number. It is not changed, so that other programs can read it.
const NUMBER = /^[+-]?\d+(\.\d+)?$/;

function toCell(value: Value): string {
  const text = String(value ?? "");
  const parts = text.replaceAll(PART, "$1'");
  const safe = FORMULA.test(parts) && !NUMBER.test(parts) ? `'${parts}` : parts;
  return /[";,|\t\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
