/** Parses a JSON body, with the limits that later code relies on: UTF-8, depth, number of values, and text that the database can store. */
import { isUtf8 } from "node:buffer";
import { groupDigits } from "../lib/group-digits.ts";
import { scanJson } from "../lib/scan-json.ts";
import { escapePointer, Problem } from "./problem.ts";

const MAX_DEPTH = 32;
// Thirty-two for each of the thousand items of a batch. A body of 64 kB has fewer in any case.
const MAX_VALUES = 32_768;

const invalidBody = (detail: string, code: string, pointer = ""): Problem =>
  new Problem("invalid_request_payload", { errors: [{ pointer, code, detail }] });

/** `isSuspect`: the value may contain a text or a number that cannot be stored. */
export type ParsedBody = { value: unknown; isSuspect: boolean };

/** Parses a body. The caller passes a suspect value to `assertStorable`, for a large body in another turn of the event loop. */
export function parseJsonBody(bytes: Buffer): ParsedBody {
  if (bytes.length === 0) throw invalidBody("a JSON body is required", "required");
  if (!isUtf8(bytes)) throw invalidBody("is not UTF-8", "invalid_encoding");
  const { isTooDeep, hasTooMany, mayHaveInfinity } = scanJson(bytes, { maxDepth: MAX_DEPTH, maxValues: MAX_VALUES });
  if (isTooDeep) throw invalidBody(`is nested more than ${MAX_DEPTH} levels deep`, "too_deep");
  if (hasTooMany) throw invalidBody(`has more than ${groupDigits(MAX_VALUES)} values`, "too_many");
  const text = bytes.toString("utf8");
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw invalidBody("is not valid JSON", "invalid_json");
  }
  // In valid JSON in UTF-8, only an escape can contain the refused characters.
  return { value, isSuspect: mayHaveInfinity || text.includes("\\u") };
}

/** Throws if the database cannot store a text or a number of the value. */
export function assertStorable(value: unknown): void {
  const fault = findFault(value);
  if (fault !== undefined) throw invalidBody(fault.detail, fault.code, toPointer(fault.path));
}

/** Why a text cannot be stored, or undefined: PostgreSQL's text cannot hold NUL, and a lone surrogate is not valid in UTF-8. */
export function textFault(text: string): string | undefined {
  if (text.includes("\0")) return "must not contain the character U+0000";
  return text.isWellFormed() ? undefined : "must not contain a lone surrogate";
}

/** The path to the faulty value, innermost name first. It is built only on the way out of a faulty value. */
type ValueFault = { path: string[]; code: string; detail: string };

function findFault(value: unknown): ValueFault | undefined {
  if (typeof value === "string") return faultyText(value);
  if (typeof value === "number")
    return Number.isFinite(value) ? undefined : { path: [], code: "out_of_range", detail: "is too large a number" };
  if (typeof value !== "object" || value === null) return undefined;
  for (const name of Object.keys(value)) {
    const inName = Array.isArray(value) ? undefined : faultyText(name);
    if (inName !== undefined) return inName;
    const inside = findFault((value as Record<string, unknown>)[name]);
    if (inside !== undefined) return { ...inside, path: [...inside.path, name] };
  }
  return undefined;
}

function faultyText(text: string): ValueFault | undefined {
  const detail = textFault(text);
  return detail === undefined ? undefined : { path: [], code: "invalid_character", detail };
}

const toPointer = (path: readonly string[]): string =>
  path
    .toReversed()
    .map((name) => `/${escapePointer(name)}`)
    .join("");
