/** Masks what a request says about people: the request log keeps the form of a refused request, and no recipient, text, code or secret. */

// Enough to see what is wrong with the form of a request.
const MAX_NODES = 200;
const MAX_DEPTH = 6;
const MAX_TEXT = 2_000;
const MAX_NAME = 60;
const MAX_QUERY = 500;
const MAX_FAULTS = 10;

/** The fields and parameters whose values are words of the API, ids and times. */
const SHOWN: ReadonlySet<string> = new Set([
  "action",
  "actor",
  "batch_id",
  "channel",
  "channels",
  "created_after",
  "created_before",
  "direction",
  "environment",
  "error_code",
  "event_types",
  "expires_at",
  "fallback",
  "interval",
  "key_id",
  "language",
  "limit",
  "max_segments",
  "message_id",
  "method",
  "on",
  "operation",
  "priority",
  "provider",
  "scopes",
  "send_at",
  "status",
  "target",
  "template_id",
  "ttl_seconds",
  "type",
  "wait_seconds",
]);

const ID = /^[a-z]{2,5}_[0-9a-z]{26}$/;
const WORD = /^[\w.:*-]{1,64}$/;
// A number of a person, or a code. A time has no such group of digits.
const MANY_DIGITS = /\d{5,}/;
const NAME = /^[A-Za-z_$][\w.$-]*$/;

/** Masks the numbers that a text repeats, such as the detail of a fault. */
const maskDigits = (text: string): string => text.replaceAll(/\+?\d{5,}/g, "[digits]");

/** A body as JSON whose values are replaced by their kinds and lengths. Undefined for a body that is empty or not JSON. */
export function maskBody(body: Buffer): string | undefined {
  if (body.length === 0) return undefined;
  let value: unknown;
  try {
    value = JSON.parse(body.toString("utf8"));
  } catch {
    return undefined;
  }
  return shorten(JSON.stringify(new Masking().mask(value, "", 0)), MAX_TEXT);
}

/** The path of a request, with the ids that it names. `route` has a name for each of its parameters. */
export const maskPath = (route: string, params: Readonly<Record<string, string>>): string =>
  route.replaceAll(/:(\w+)/g, (_, name: string) => maskText(params[name] ?? "", name));

/** A query with masked values, with its question mark; empty without parameters. */
export function maskQuery(query: Readonly<Record<string, unknown>>): string {
  const parts = Object.entries(query).flatMap(([name, values]) =>
    (Array.isArray(values) ? values : [values]).map((value) => `${shownName(name)}=${maskText(String(value), name)}`),
  );
  return parts.length === 0 ? "" : shorten(`?${parts.join("&")}`, MAX_QUERY);
}

/** The detail and the first faults of a refusal, from the body of its response. */
export function maskProblem(text: string): { code: string; detail: string; errors: Record<string, string>[] } | undefined {
  const problem = parseObject(text);
  const { code, detail } = problem ?? {};
  if (problem === undefined || typeof code !== "string" || typeof detail !== "string") return undefined;
  const errors = Array.isArray(problem["errors"]) ? problem["errors"].slice(0, MAX_FAULTS) : [];
  return {
    code,
    detail: shorten(maskDigits(detail), MAX_TEXT),
    errors: errors.map((fault: Readonly<Record<string, unknown>>) =>
      Object.fromEntries(Object.entries(fault).map(([name, value]) => [name, shorten(maskDigits(String(value)), MAX_TEXT / MAX_FAULTS)])),
    ),
  };
}

function parseObject(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? (value as Readonly<Record<string, unknown>>) : undefined;
  } catch {
    return undefined;
  }
}

class Masking {
  #nodes = 0;

  mask(value: unknown, name: string, depth: number): unknown {
    this.#nodes += 1;
    if (typeof value === "string") return maskText(value, name);
    if (typeof value === "number") return SHOWN.has(name) ? value : "[number]";
    if (typeof value !== "object" || value === null) return value;
    if (depth >= MAX_DEPTH) return Array.isArray(value) ? "[array]" : "[object]";
    return Array.isArray(value) ? this.#maskArray(value, name, depth) : this.#maskObject(value, depth);
  }

  #maskArray(values: readonly unknown[], name: string, depth: number): unknown[] {
    const masked: unknown[] = [];
    for (const value of values) {
      if (this.#nodes >= MAX_NODES) return [...masked, `[${values.length - masked.length} more]`];
      masked.push(this.mask(value, name, depth + 1));
    }
    return masked;
  }

  #maskObject(value: object, depth: number): Record<string, unknown> {
    const masked: [string, unknown][] = [];
    for (const [name, member] of Object.entries(value)) {
      if (this.#nodes >= MAX_NODES) break;
      masked.push([shownName(name), this.mask(member, name, depth + 1)]);
    }
    return Object.fromEntries(masked);
  }
}

function maskText(text: string, name: string): string {
  const isShown = ID.test(text) || (SHOWN.has(name) && WORD.test(text) && !MANY_DIGITS.test(text));
  return isShown ? text : `[${text.length} character${text.length === 1 ? "" : "s"}]`;
}

/** A name comes from the request as well. */
const shownName = (name: string): string => (NAME.test(name) && name.length <= MAX_NAME && !MANY_DIGITS.test(name) ? name : "[name]");

const shorten = (text: string, most: number): string => (text.length <= most ? text : `${text.slice(0, most)}…`);
