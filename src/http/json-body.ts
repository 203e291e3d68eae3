/** Parses a JSON body, with the limits that later code relies on: UTF-8, depth, and text that the database can store. */
import { isUtf8 } from "node:buffer";
import { Problem } from "./problem.ts";

// `JSON.parse` accepts hundreds of thousands of levels, and code that walks such a value overflows the stack.
const MAX_DEPTH = 32;

const invalidBody = (detail: string, code: string): Problem =>
  new Problem("invalid_request_payload", { errors: [{ pointer: "", code, detail }] });

export function parseJsonBody(bytes: Buffer): unknown {
  if (bytes.length === 0) throw invalidBody("a JSON body is required", "required");
  if (!isUtf8(bytes)) throw invalidBody("is not UTF-8", "invalid_encoding");
  const text = bytes.toString("utf8");
  if (isTooDeep(text)) throw invalidBody(`is nested more than ${MAX_DEPTH} levels deep`, "too_deep");
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw invalidBody("is not valid JSON", "invalid_json");
  }
  // In valid JSON in UTF-8, only an escape can contain the refused characters.
  if (text.includes("\\u")) checkText(value, "");
  return value;
}

const OPEN = new Set(["{", "["]);

function isTooDeep(text: string): boolean {
  // So few brackets cannot be nested too deep, in any order. Nearly all bodies end here.
  if (countBrackets(text) <= MAX_DEPTH) return false;
  let depth = 0;
  let isInString = false;
  for (let index = 0; index < text.length; index += 1) {
    const character = text.charAt(index);
    if (isInString) {
      if (character === "\\") index += 1;
      else if (character === '"') isInString = false;
    } else if (character === '"') isInString = true;
    else if (OPEN.has(character)) {
      depth += 1;
      if (depth > MAX_DEPTH) return true;
    } else if (character === "}" || character === "]") depth -= 1;
  }
  return false;
}

const countBrackets = (text: string): number => {
  let count = 0;
  for (let at = text.search(/[{[]/); at !== -1 && count <= MAX_DEPTH; count += 1) {
    const brace = text.indexOf("{", at + 1);
    const bracket = text.indexOf("[", at + 1);
    at = brace === -1 ? bracket : bracket === -1 ? brace : Math.min(brace, bracket);
  }
  return count;
};

/** Why a text cannot be stored, or undefined: PostgreSQL's text cannot hold NUL, and a lone surrogate is not valid in UTF-8. */
export function textFault(text: string): string | undefined {
  if (text.includes("\0")) return "must not contain the character U+0000";
  return text.isWellFormed() ? undefined : "must not contain a lone surrogate";
}

function checkText(value: unknown, pointer: string): void {
  if (typeof value === "string") checkString(value, pointer);
  else if (Array.isArray(value)) value.forEach((item, index) => checkText(item, `${pointer}/${index}`));
  else if (typeof value === "object" && value !== null) {
    for (const [name, item] of Object.entries(value)) {
      checkString(name, pointer);
      checkText(item, `${pointer}/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`);
    }
  }
}

function checkString(text: string, pointer: string): void {
  const detail = textFault(text);
  if (detail !== undefined) throw new Problem("invalid_request_payload", { errors: [{ pointer, code: "invalid_character", detail }] });
}
