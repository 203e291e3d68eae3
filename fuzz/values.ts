/** Draws JSON values: valid ones from a schema, and mutations of them. */
import fc from "fast-check";
import type { Random } from "../chaos/random.ts";

export type Schema = {
  $ref?: string;
  type?: string | string[];
  enum?: unknown[];
  const?: unknown;
  examples?: unknown[];
  format?: string;
  minimum?: number;
  maximum?: number;
  minLength?: number;
  maxLength?: number;
  minItems?: number;
  maxItems?: number;
  items?: Schema;
  properties?: Record<string, Schema>;
  required?: string[];
  additionalProperties?: boolean | Schema;
};
type Json = Record<string, unknown>;

const MAX_LENGTH = 2_000;
const MAX_ITEMS = 4;
const MAX_SEED = 2 ** 31 - 1;

const sample = <T>(random: Random, arbitrary: fc.Arbitrary<T>): T =>
  fc.sample(arbitrary, { seed: random.between(1, MAX_SEED), numRuns: 1 })[0] as T;

const ANY_TEXT = fc.string({ unit: "binary", maxLength: 60 });
const ANY_JSON = fc.jsonValue({ maxDepth: 4 });

/** Values that have caused faults in many programs. */
const NOTORIOUS: readonly unknown[] = [
  null,
  true,
  0,
  -1,
  1.5,
  1e308,
  2 ** 53,
  -(2 ** 63),
  "",
  " ",
  "\0",
  "\ud800",
  "null",
  "__proto__",
  "constructor",
  "'; drop table messages; --",
  "{{1}}",
  "%s%n",
  "../../etc/passwd",
  "2030-02-30T00:00:00Z",
  "+15005550006",
  [],
  {},
  [[]],
  [null],
  { __proto__: null, a: 1 },
];

export const drawText = (random: Random): string => sample(random, ANY_TEXT);

export const drawJunk = (random: Random): unknown => {
  const kind = random.between(0, 5);
  if (kind === 0) return random.pick(["a", "😀", "\u0001", "{{a}}", "9"]).repeat(random.pick([65, 300, 5_000, 30_000]));
  if (kind === 1) return Array.from({ length: random.pick([10, 1_001, 9_000]) }, () => random.pick(NOTORIOUS.slice(0, 4)));
  if (kind === 2) return Object.fromEntries(Array.from({ length: random.pick([3, 60, 4_000]) }, (_, index) => [`m${index}`, index]));
  return kind === 3 ? sample(random, ANY_JSON) : random.pick(NOTORIOUS);
};

/** A value that the schema accepts, mostly. */
export function drawValue(random: Random, schema: Schema, resolve: (schema: Schema) => Schema): unknown {
  const found = resolve(schema);
  const { examples = [], enum: values = [], type, format } = found;
  if (found.const !== undefined) return found.const;
  if (examples.length > 0 && random.chance(0.8)) return random.pick(examples);
  if (values.length > 0) return random.pick(values);
  if (format === "date-time") return new Date(Date.now() + random.between(-86_400_000, 40 * 86_400_000)).toISOString();
  switch (random.pick([type ?? "string"].flat())) {
    case "object":
      return drawObject(random, found, resolve);
    case "array": {
      const length = random.between(found.minItems ?? 0, Math.min(found.maxItems ?? MAX_ITEMS, MAX_ITEMS));
      return Array.from({ length }, () => drawValue(random, found.items ?? {}, resolve));
    }
    case "integer":
    case "number":
      return random.between(found.minimum ?? -5, found.maximum ?? 100_000);
    case "boolean":
      return random.chance(0.5);
    case "null":
      return null;
    default:
      return drawString(random, found);
  }
}

function drawObject(
  random: Random,
  { properties = {}, required = [], additionalProperties: others }: Schema,
  resolve: (schema: Schema) => Schema,
): Json {
  const names = Object.keys(properties).filter((name) => required.includes(name) || random.chance(0.3));
  const drawn: Json = Object.fromEntries(names.map((name) => [name, drawValue(random, properties[name] ?? {}, resolve)]));
  if (typeof others === "object" && random.chance(0.7)) drawn[`key_${random.between(1, 9)}`] = drawValue(random, others, resolve);
  return drawn;
}

function drawString(random: Random, { minLength = 0, maxLength = MAX_LENGTH }: Schema): string {
  const text = random.chance(0.5) ? drawText(random) : "Hello {{name}} ".repeat(random.between(1, 9));
  return text.padEnd(minLength, "x").slice(0, Math.min(maxLength, MAX_LENGTH));
}

/** Changes a value in one place. */
export function mutate(random: Random, value: unknown): unknown {
  if (Array.isArray(value) && value.length > 0 && random.chance(0.8)) {
    const at = random.between(0, value.length - 1);
    return random.chance(0.2) ? [...value, ...value] : value.with(at, mutate(random, value[at]));
  }
  if (typeof value === "object" && value !== null && !Array.isArray(value) && random.chance(0.9))
    return mutateObject(random, value as Json);
  if (typeof value === "string" && random.chance(0.4)) return random.chance(0.5) ? value.slice(1) : value + drawText(random);
  return drawJunk(random);
}

function mutateObject(random: Random, members: Json): Json {
  const names = Object.keys(members);
  if (names.length === 0 || random.chance(0.2)) return { ...members, [drawText(random)]: drawJunk(random) };
  const name = random.pick(names);
  if (random.chance(0.15)) return Object.fromEntries(Object.entries(members).filter(([each]) => each !== name));
  return { ...members, [name]: mutate(random, members[name]) };
}

/** Changes a text into one that is no JSON any more, mostly. */
export function mutateText(random: Random, text: string): string | Buffer {
  const at = random.between(0, text.length);
  switch (random.between(0, 4)) {
    case 0:
      return text.slice(0, at);
    case 1:
      return text.slice(0, at) + random.pick(["[", "{", '"', "\\", ",", "\0", "1e999", "\ufeff"]) + text.slice(at);
    case 2:
      return text + text;
    case 3:
      return random.pick(["[", '{"a":']).repeat(random.between(1, 12_000));
    default: {
      const bytes = Buffer.from(text);
      if (bytes.length > 0) bytes[random.between(0, bytes.length - 1)] = random.between(0, 255);
      return bytes;
    }
  }
}
