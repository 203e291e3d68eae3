/** The formats in which carriers write. Every format is read into one tree, in which the paths of a definition are looked up. */
import { RE2JS } from "re2js";
import { unreachable } from "../../lib/assert.ts";
import { countFields } from "../carrier-request.ts";
import type { FormatDefinition } from "./definition.ts";
import { parseDocument, type Document } from "./json-path.ts";
import type { DefinitionReader } from "./reader.ts";
import { parseXml } from "./xml.ts";

type Query = Document["query"];

/** Returns undefined for a text that is not in the format, or that exceeds a limit. */
export type ReadDocument = (text: string, query?: Query) => Document | undefined;

const MAX_FIELDS = 200;
const BYTE_ORDER_MARK = "\uFEFF";

/** `at` is the name of the table, for faults. */
export function compileFormat(reader: DefinitionReader, definition: FormatDefinition, at: string): ReadDocument {
  const read = compileRead(reader, definition, at);
  // Some carriers begin their documents with a byte order mark, after which JSON and the first field of a form could not be read.
  return (text, query) => read(text.startsWith(BYTE_ORDER_MARK) ? text.slice(1) : text, query);
}

function compileRead(reader: DefinitionReader, definition: FormatDefinition, at: string): ReadDocument {
  const { format = "json" } = definition;
  if (format !== "text")
    for (const member of ["pattern", "each_line"] as const)
      if (definition[member] !== undefined) reader.fault(`${at}.${member}`, 'needs format = "text"');
  switch (format) {
    case "json":
      return parseDocument;
    case "query":
      return (_, query = {}) => ({ body: query, query });
    case "form":
      return (text, query = {}) =>
        countFields(Buffer.from(text)) > MAX_FIELDS ? undefined : { body: Object.fromEntries(new URLSearchParams(text)), query };
    case "xml":
      return (text, query = {}) => {
        const body = parseXml(text);
        return body && { body, query };
      };
    case "text":
      return compileText(reader, definition, at);
    default:
      return unreachable(format);
  }
}

// The engine takes time in proportion to the product of program and text, in the worst case that was found 0.2 µs: 30 ms for this product.
const MAX_STEPS = 150_000;
// A pattern of a few fields has 30. So a text may have a thousand characters at least.
const MAX_PROGRAM = 150;

/** The groups of the pattern by their names, in the whole text or in a list of lines. */
function compileText(reader: DefinitionReader, { pattern, each_line: isEachLine = false }: FormatDefinition, at: string): ReadDocument {
  const compiled = compilePattern(reader, pattern, `${at}.pattern`);
  if (compiled === undefined) return () => undefined;
  const names = Object.keys(compiled.namedGroups());
  const maxChars = Math.floor(MAX_STEPS / compiled.programSize());
  const groupsIn = (text: string): Record<string, string> | undefined => {
    const matcher = compiled.matcher(text);
    if (!matcher.find()) return undefined;
    const groups = names.map((name) => [name, matcher.group(name)] as const);
    return Object.fromEntries(groups.filter((entry): entry is readonly [string, string] => typeof entry[1] === "string"));
  };
  return (text, query = {}) => {
    if (text.length > maxChars) return undefined;
    if (!isEachLine) {
      const body = groupsIn(text);
      return body && { body, query };
    }
    // Each line is read once, so that the time stays in proportion to the text.
    const body = text
      .split(/\r?\n/)
      .map(groupsIn)
      .filter((groups) => groups !== undefined);
    return body.length === 0 ? undefined : { body, query };
  };
}

/** Compiles an expression in the syntax of RE2, which has no backtracking. */
function compilePattern(reader: DefinitionReader, pattern: string | undefined, at: string): RE2JS | undefined {
  const compiled = pattern === undefined ? 'is required with format = "text"' : toPattern(pattern);
  if (typeof compiled !== "string") return compiled;
  reader.fault(at, compiled);
  return undefined;
}

/** Returns the fault of a pattern that cannot be used. */
function toPattern(pattern: string): RE2JS | string {
  try {
    const compiled = RE2JS.compile(pattern);
    if (compiled.programSize() > MAX_PROGRAM) return "is too large: use fewer and smaller repetitions";
    return Object.keys(compiled.namedGroups()).length === 0 ? "needs a group with a name, such as (?P<id>[0-9]+)" : compiled;
  } catch (error) {
    return `is not a regular expression of RE2: ${(error as Error).message}`;
  }
}
