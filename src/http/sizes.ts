/** Checks the sizes of a value before its contents: the lengths of arrays and strings, and how many members objects have. Cuts what
 *  is too large, so that later checks do a bounded amount of work, and can still report the other faults of the request. */
import type { ErrorObject } from "ajv";
import { escapePointer } from "./problem.ts";
import type { Schema } from "./schema.ts";

/** The errors have the form of those of Ajv. */
type Sized = { value: unknown; errors: ErrorObject[] };

type Members = Readonly<Record<string, unknown>>;
type Limits = {
  maxLength?: number;
  maxItems?: number;
  maxProperties?: number;
  items?: Limits;
  properties?: Readonly<Record<string, Limits>>;
  additionalProperties?: boolean | Limits;
};

/** Returns the errors of the sizes, and the value itself, or a copy in which everything has an allowed size. `maxUnknown` is the number
 *  of unknown members that the copy keeps. */
export function cutToSize(schema: Schema, value: unknown, maxUnknown: number): Sized {
  if (fits(schema as Limits, value)) return { value, errors: [] };
  const cutter = new Cutter(maxUnknown);
  return { value: cutter.cut(schema as Limits, value, ""), errors: cutter.errors };
}

/** Whether the value has only known members and allowed sizes, as nearly all have. */
function fits(limits: Limits, value: unknown): boolean {
  if (typeof value === "string") return value.length <= (limits.maxLength ?? Infinity);
  if (typeof value !== "object" || value === null) return true;
  if (Array.isArray(value)) {
    const { maxItems = Infinity, items } = limits;
    return value.length <= maxItems && (items === undefined || value.every((item) => fits(items, item)));
  }
  const { properties, additionalProperties: others = true, maxProperties = Infinity } = limits;
  const names = Object.keys(value);
  return (
    names.length <= maxProperties &&
    names.every((name) => {
      const member = properties !== undefined && Object.hasOwn(properties, name) ? properties[name] : others;
      return typeof member === "object" ? fits(member, (value as Members)[name]) : member !== false;
    })
  );
}

class Cutter {
  readonly errors: ErrorObject[] = [];
  #unknownLeft: number;

  constructor(maxUnknown: number) {
    this.#unknownLeft = maxUnknown;
  }

  cut(limits: Limits, value: unknown, path: string): unknown {
    if (typeof value === "string") return this.#cutText(limits, value, path);
    if (typeof value !== "object" || value === null) return value;
    return Array.isArray(value) ? this.#cutArray(limits, value, path) : this.#cutObject(limits, value as Members, path);
  }

  #refuse(keyword: "maxLength" | "maxItems" | "maxProperties", instancePath: string, limit: number): void {
    this.errors.push({ keyword, instancePath, schemaPath: "", params: { limit } });
  }

  #cutText({ maxLength = Infinity }: Limits, text: string, path: string): string {
    if (text.length <= maxLength || !isLonger(text, maxLength)) return text;
    this.#refuse("maxLength", path, maxLength);
    return text.slice(0, maxLength);
  }

  #cutArray({ maxItems = Infinity, items }: Limits, list: readonly unknown[], path: string): readonly unknown[] {
    const isTooLong = list.length > maxItems;
    if (isTooLong) this.#refuse("maxItems", path, maxItems);
    const kept = isTooLong ? list.slice(0, maxItems) : list;
    if (items === undefined) return kept;
    const cut = kept.map((item, index) => this.cut(items, item, `${path}/${index}`));
    return cut.some((item, index) => item !== kept[index]) ? cut : kept;
  }

  #cutObject(limits: Limits, members: Members, path: string): Members {
    const { properties, additionalProperties: others = true, maxProperties = Infinity } = limits;
    if (properties === undefined && others === true) return members;
    const names = Object.keys(members);
    const isTooLarge = names.length > maxProperties;
    if (isTooLarge) this.#refuse("maxProperties", path, maxProperties);
    let isSame = !isTooLarge;
    const kept: [string, unknown][] = [];
    for (const name of isTooLarge ? names.slice(0, maxProperties) : names) {
      const member = properties !== undefined && Object.hasOwn(properties, name) ? properties[name] : others;
      if (member === false && (this.#unknownLeft -= 1) < 0) {
        isSame = false;
        continue;
      }
      const value = members[name];
      const cut = typeof member === "object" && isSized(value) ? this.cut(member, value, `${path}/${escapePointer(name)}`) : value;
      if (cut !== value) isSame = false;
      kept.push([name, cut]);
    }
    // Not by assignment, which would set the prototype for a member of the name `__proto__`.
    return isSame ? members : Object.fromEntries(kept);
  }
}

const isSized = (value: unknown): boolean => typeof value === "string" || typeof value === "object";

/** Whether a text has more than `maxLength` code points. A code point has one or two UTF-16 units. */
function isLonger(text: string, maxLength: number): boolean {
  if (text.length > 2 * maxLength) return true;
  let length = 0;
  for (let at = 0; at < text.length; length += 1) at += (text.codePointAt(at) as number) > 0xffff ? 2 : 1;
  return length > maxLength;
}
