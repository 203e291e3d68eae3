/** Worst-case requests, generated from the route table: for every route with a body, the largest allowed body in many shapes. Some shapes
 *  are the whole body; the others replace one field of a valid body. */
import type { Route } from "../src/api/route.ts";
import { BODY_LIMIT_BYTES } from "../src/api/responses.ts";

export type Case = {
  name: string;
  method: string;
  path: string;
  headers: Record<string, string>;
  body: string | Buffer;
  /** Sent with a new idempotency key each time. */
  isIdempotent?: boolean;
  /** A valid request, whose cost is that of a valid request by definition. Its turns are bounded all the same. */
  isValid?: true;
};

/** JSON text of about that many bytes. */
type Shape = (bytes: number) => string;

/** Repeats a text, with commas between, up to that many bytes. */
function list(bytes: number, item: (index: number) => string): string {
  const items: string[] = [];
  for (let length = 0, index = 0; length < bytes; index += 1) {
    const text = item(index);
    items.push(text);
    length += text.length + 1;
  }
  return items.slice(0, -1).join(",");
}

const repeat = (text: string, bytes: number): string => text.repeat(Math.floor(bytes / text.length));
const nameNo = (index: number): string => `n${index.toString(36)}`;

/** Shapes of a value. */
const VALUES: Readonly<Record<string, Shape>> = {
  "an array of numbers": (bytes) => `[${list(bytes - 2, () => "1")}]`,
  "an array of empty objects": (bytes) => `[${list(bytes - 2, () => "{}")}]`,
  "an array of small strings": (bytes) => `[${list(bytes - 2, (index) => `"${nameNo(index)}"`)}]`,
  "an array of objects with a name each": (bytes) => `[${list(bytes - 2, (index) => `{"${nameNo(index)}":[]}`)}]`,
  "an array of arrays": (bytes) => `[${list(bytes - 2, () => "[[[[[[[[[]]]]]]]]]")}]`,
  "an object with many members": (bytes) => `{${list(bytes - 2, (index) => `"${nameNo(index)}":"v"`)}}`,
  "an object with many objects": (bytes) => `{${list(bytes - 2, (index) => `"${nameNo(index)}":{"a":1}`)}}`,
  "a long string": (bytes) => `"${repeat("a", bytes - 2)}"`,
  "a string of digits": (bytes) => `"+${repeat("1", bytes - 3)}"`,
  "a string of braces": (bytes) => `"${repeat("{{a}} {{", bytes - 2)}"`,
  "a string of emojis": (bytes) => `"${repeat("😀", (bytes - 2) / 2)}"`,
  "a string of escapes": (bytes) => `"${repeat(String.raw`\ud83d\ude00`, bytes - 2)}"`,
};

/** Shapes of a whole body. */
export const BODIES: Readonly<Record<string, (bytes: number) => string | Buffer>> = {
  "deep arrays": (bytes) => "[".repeat(bytes / 2) + "]".repeat(bytes / 2),
  "deep objects": (bytes) => repeat('{"a":', bytes),
  "many unknown members": (bytes) => `{${list(bytes - 2, (index) => `"${nameNo(index)}":1`)}}`,
  "many numbered members": (bytes) => `{${list(bytes - 2, (index) => `"${index * 7_919}":1`)}}`,
  "one long name": (bytes) => `{"${repeat("k", bytes - 6)}":1}`,
  "repeated members": (bytes) => `{${list(bytes - 2, () => '"channel":1')}}`,
  "names with escapes": (bytes) => `{${list(bytes - 2, (index) => `"\\u0061${nameNo(index)}~/":1`)}}`,
  "a lone surrogate at the end": (bytes) => `{"a":["${repeat(String.raw`\u0041`, bytes - 20)}","\\ud83d"]}`,
  "a lone surrogate among many strings": (bytes) => `[${list(bytes - 10, () => String.raw`"\u0041"`)},"\\ud83d"]`,
  "a long number": (bytes) => `{"ttl_seconds":${repeat("9", bytes - 16)}}`,
  "many infinite numbers": (bytes) => `[${list(bytes - 2, () => "1e999")}]`,
  "many long fractions": (bytes) => `[${list(bytes - 2, (index) => `0.${"1234567890".repeat(3)}e-${300 + (index % 9)}`)}]`,
  "white space": (bytes) => " ".repeat(bytes),
  commas: (bytes) => ",".repeat(bytes),
  "an open string": (bytes) => `{"a":"${repeat("\\\\", bytes - 6)}`,
  "bytes that are not UTF-8": (bytes) => Buffer.alloc(bytes, 0xc3),
};

type Json = Record<string, unknown>;
type Member = {
  type?: string | string[];
  enum?: unknown[];
  examples?: unknown[];
  format?: string;
  minimum?: number;
  minLength?: number;
} & {
  items?: Member;
  properties?: Record<string, Member>;
  required?: string[];
};

const sms = { recipient: "+14155550123", channel: "sms", body: "Hello" };

/** Fields that rules beyond the schema require. */
const REQUIRED_BY_RULES: Readonly<Record<string, Json>> = {
  "POST /v1/messages": { body: "Hello" },
  "POST /v1/messages/validate": { body: "Hello" },
  "PATCH /v1/messages/{id}": { body: "Hello" },
  "POST /v1/batches": { items: [sms] },
  "POST /v1/verifications": { channel: "sms" },
  "POST /v1/verifications/{id}/check": { code: "123456" },
  "PATCH /v1/templates/{id}": { body: "Hello" },
  "PATCH /v1/webhook_endpoints/{id}": { description: "Hello" },
};

/** A value that the schema accepts, with only the required members. */
function validOf(schema: Member): unknown {
  const [example] = schema.examples ?? [];
  if (example !== undefined) return example;
  const [first] = schema.enum ?? [];
  if (first !== undefined) return first;
  if (schema.format === "date-time") return "2030-01-31T09:00:00Z";
  const [type = "string"] = [schema.type ?? []].flat();
  switch (type) {
    case "object":
      return Object.fromEntries((schema.required ?? []).map((name) => [name, validOf(schema.properties?.[name] ?? {})]));
    case "array":
      return [validOf(schema.items ?? {})];
    case "integer":
      return schema.minimum ?? 1;
    default:
      return "x".repeat(schema.minLength ?? 1);
  }
}

export const routeName = ({ method, path }: Pick<Route, "method" | "path">): string => `${method} ${path}`;

/** A body that the route accepts. */
const validBody = (route: Route): Json => ({ ...(validOf(route.body as Member) as Json), ...REQUIRED_BY_RULES[routeName(route)] });

/** A made-up id in place of each parameter. Bodies are checked before a record is looked up. */
const pathOf = ({ path }: Pick<Route, "path">): string => path.replaceAll(/\{\w+\}/g, "msg_01k9zs3v8mf4tb2xg1qj6n0d5c");

export const limitOf = ({ maxBodyBytes = BODY_LIMIT_BYTES }: Pick<Route, "maxBodyBytes">): number => maxBodyBytes;

/** The paths to the fields of a body: a field of an object, and of the objects in an array. */
function fieldsOf(schema: Member, path: readonly (string | number)[] = []): (string | number)[][] {
  const inside = schema.items === undefined ? [] : [[...path, 0], ...fieldsOf(schema.items, [...path, 0])];
  return [
    ...inside,
    ...Object.entries(schema.properties ?? {}).flatMap(([name, member]) => [[...path, name], ...fieldsOf(member, [...path, name])]),
  ];
}

const HOLE = "\u0000hole";

/** The text of a value with another text in the place of one field, which need not exist before. */
function withText(value: unknown, path: readonly (string | number)[], filling: string): string {
  const fill = (at: unknown, [step, ...others]: readonly (string | number)[]): unknown => {
    if (step === undefined) return HOLE;
    if (typeof step === "number") return [fill(Array.isArray(at) ? at[0] : undefined, others)];
    const members = typeof at === "object" && at !== null ? (at as Json) : {};
    return { ...members, [step]: fill(members[step], others) };
  };
  return text(fill(value, path)).replace(text(HOLE), () => filling);
}

const caseOf = (route: Route, shape: string, body: string | Buffer): Case => ({
  name: `${routeName(route)}: ${shape}`,
  method: route.method,
  path: pathOf(route),
  headers: { "content-type": "application/json" },
  isIdempotent: route.isIdempotent,
  body,
});

/** The valid request of the same size: white space makes up the length. */
export function referenceCase(route: Route, bytes: number): Case {
  const valid = text(validBody(route));
  return caseOf(route, `a valid body of ${bytes} bytes`, valid + " ".repeat(bytes - Buffer.byteLength(valid)));
}

// The other fields of a valid body need less.
const ROOM_BYTES = 512;
// A body of megabytes takes longest. Each of its fields gets some of the shapes in turn, so that together they get all.
const SHAPES_OF_LARGE = 2;

const SHAPE_NAMES = Object.keys(VALUES);

const text = (value: unknown): string => JSON.stringify(value);
const many = <T>(count: number, item: (index: number) => T): T[] => Array.from({ length: count }, (_, index) => item(index));
const members = (count: number, value: string): Json => Object.fromEntries(many(count, (index) => [nameNo(index), value]));
const recipientNo = (index: number): string => `+1415555${String(index).padStart(4, "0")}`;

type Rows = Readonly<Record<string, Readonly<Record<string, () => string>>>>;

/** Valid bodies that cost most after the validation. */
const VALID: Rows = {
  "POST /v1/batches": {
    "a thousand long texts": () =>
      text({ defaults: { channel: "sms" }, items: many(1_000, (index) => ({ recipient: recipientNo(index), body: "a".repeat(1_600) })) }),
    "a thousand messages of the largest record, by defaults": () =>
      text({
        defaults: { channel: "whatsapp", body: "é".repeat(3_000), metadata: members(20, "m".repeat(400)) },
        items: many(1_000, (index) => ({ recipient: recipientNo(index) })),
      }),
    "a thousand messages with long fallbacks, by defaults": () =>
      text({
        defaults: { channel: "sms", body: "x", fallback: many(5, () => ({ channel: "sms", body: "😀".repeat(1_600), after_seconds: 60 })) },
        items: many(1_000, (index) => ({ recipient: recipientNo(index) })),
      }),
  },
  "POST /v1/suppressions/import": {
    "a thousand entries": () => text({ entries: many(1_000, (index) => ({ recipient: recipientNo(index), note: "n".repeat(256) })) }),
  },
  "POST /v1/messages/validate": {
    "long texts of characters outside the GSM alphabet": () =>
      text({ ...sms, body: "😀".repeat(1_600), fallback: many(5, () => ({ channel: "sms", body: "ж".repeat(1_600), after_seconds: 60 })) }),
  },
};

/** Bodies of which every item is refused. */
const REFUSED: Rows = {
  "POST /v1/batches": {
    "a thousand empty items with wide defaults": () =>
      text({
        defaults: {
          template_variables: members(100, "v"),
          fallback: many(5, () => ({ channel: "sms", template_id: "x", template_variables: members(100, "v"), after_seconds: 60 })),
        },
        items: many(1_000, () => ({})),
      }),
    "a thousand items with unknown members": () => text({ items: many(1_000, () => members(30, "\u0001".repeat(8))) }),
    "a thousand items with wrong types": () => text({ items: many(1_000, () => ({ metadata: many(20, () => 1), fallback: [{}, {}] })) }),
    "a thousand numbers that no country has": () =>
      text({ defaults: { channel: "sms", body: "x" }, items: many(1_000, (index) => ({ recipient: `+1415${index}000` })) }),
  },
  "POST /v1/suppressions/import": {
    "a thousand numbers that no country has": () => text({ entries: many(1_000, (index) => ({ recipient: `+1415${index}000` })) }),
    "a thousand entries of wrong types": () => text({ entries: many(1_000, () => ({ recipient: 1, sender: [], note: {} })) }),
  },
};

/** Every worst-case request of a route with a body. */
export function* casesOf(route: Route): Generator<Case> {
  const bytes = limitOf(route);
  for (const [shape, make] of Object.entries(BODIES)) yield caseOf(route, shape, make(bytes));
  for (const [shape, make] of Object.entries(VALID[routeName(route)] ?? {})) yield { ...caseOf(route, shape, make()), isValid: true };
  for (const [shape, make] of Object.entries(REFUSED[routeName(route)] ?? {})) yield caseOf(route, shape, make());
  const valid = validBody(route);
  const fields = fieldsOf((route.documentedBody ?? route.body) as Member);
  const shapesOf = (field: number): readonly string[] =>
    bytes > BODY_LIMIT_BYTES ? SHAPE_NAMES.filter((_, shape) => (shape + field) % SHAPE_NAMES.length < SHAPES_OF_LARGE) : SHAPE_NAMES;
  for (const [index, path] of fields.entries())
    for (const shape of shapesOf(index))
      yield caseOf(route, `${path.join("/")} is ${shape}`, withText(valid, path, valueText(shape, bytes - ROOM_BYTES)));
}

const texts = new Map<string, string>();

/** The text of a shape, which all routes with the same limit share. */
function valueText(shape: string, bytes: number): string {
  const name = `${shape} ${bytes}`;
  const known = texts.get(name) ?? VALUES[shape]?.(bytes) ?? "";
  texts.set(name, known);
  return known;
}
