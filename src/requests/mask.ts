/** Masks what a request says about people: the request log keeps the form of a refused request, and no recipient, text, code or secret. */

// Enough to see what is wrong with the form of a request.
const MAX_NODES = 200;
// A batch has up to two megabytes, and reading it again would stop the event loop for milliseconds.
const MAX_BODY_BYTES = 16_384;
const MAX_DEPTH = 6;
const MAX_TEXT = 2_000;
const MAX_QUERY = 500;
const MAX_FAULTS = 10;

/** The fields and parameters whose values are words of the API and times. */
const SHOWN: ReadonlySet<string> = new Set([
  "action",
  "channel",
  "channels",
  "created_after",
  "created_before",
  "direction",
  "error_code",
  "event_types",
  "expires_at",
  "interval",
  "language",
  "limit",
  "max_segments",
  "method",
  "on",
  "operation",
  "priority",
  "provider",
  "scopes",
  "send_at",
  "status",
  "ttl_seconds",
  "type",
]);
/** Members with fields of the API. The names in all other objects may be those of a customer. */
const OF_API: ReadonlySet<string> = new Set(["items", "defaults", "fallback"]);

// Digits may be a number of a person, or a code.
const ID = /^(?:msg|evt|acct|batch|key|req|whe|dlv|tmpl|sup|ver|aud|inb|lnk|snd|rte)_[0-7][0-9a-hjkmnp-tv-z]{25}$/;
const WORD = /^[a-z][a-z_.:*]{0,39}$/;
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d)$/;
const SMALL = /^\d{1,3}$/;
const MOST_SHOWN = 1_000_000;
const NAME = /^[a-z][a-z_]{0,39}$/;
const PRODUCT = /^[A-Za-z][A-Za-z-]{0,30}\/\d{1,4}(?:\.\d{1,5}){0,3}$/;
const MAX_PRODUCTS = 4;

/** Masks the numbers that a text repeats, such as the detail of a refusal. */
const maskDigits = (text: string): string => text.replaceAll(/\+?\p{Nd}{5,}/gu, "[digits]");

/** The programs of a User-Agent, without its comments. */
export const maskUserAgent = (text: string): string | null =>
  text
    .split(/\s+/)
    .filter((word) => PRODUCT.test(word))
    .slice(0, MAX_PRODUCTS)
    .join(" ") || null;

/** A body as JSON whose values are replaced by their kinds and lengths. Undefined for a body that is empty, long or not JSON. */
export function maskBody(body: Buffer): string | undefined {
  if (body.length === 0 || body.length > MAX_BODY_BYTES) return undefined;
  let value: unknown;
  try {
    value = JSON.parse(body.toString("utf8"));
  } catch {
    return undefined;
  }
  return shorten(JSON.stringify(new Masking().mask(value, { name: "", isOfApi: true, depth: 0 })), MAX_TEXT);
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
  const masked = errors.map((fault: Readonly<Record<string, unknown>>) =>
    Object.fromEntries(Object.entries(fault).map(([name, value]) => [name, maskFault(name, String(value))])),
  );
  // The detail repeats the place of a fault as the client wrote it.
  const [first] = masked;
  const summary = first === undefined ? maskDigits(detail) : `${placeOf(first)}: ${first["detail"] ?? ""}`;
  return { code, detail: shorten(summary, MAX_TEXT), errors: masked };
}

const placeOf = ({ pointer, parameter, header }: Record<string, string>): string => pointer?.slice(1) || parameter || header || "body";

const MAX_FAULT = 200;

/** A pointer or a parameter has names of the client. */
function maskFault(name: string, value: string): string {
  if (name === "pointer") return value.split("/").map(shownStep).join("/").slice(0, MAX_FAULT);
  if (name === "parameter") return shownName(value);
  return shorten(maskDigits(value), MAX_FAULT);
}

const shownStep = (step: string): string => (step === "" || SMALL.test(step) ? step : shownName(step));

function parseObject(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? (value as Readonly<Record<string, unknown>>) : undefined;
  } catch {
    return undefined;
  }
}

type Place = { name: string; isOfApi: boolean; depth: number };

class Masking {
  #nodes = 0;

  mask(value: unknown, place: Place): unknown {
    const { name, isOfApi, depth } = place;
    this.#nodes += 1;
    if (typeof value === "string") return maskText(value, isOfApi ? name : "");
    if (typeof value === "number") return isOfApi && SHOWN.has(name) && Math.abs(value) < MOST_SHOWN ? value : "[number]";
    if (typeof value !== "object" || value === null) return value;
    if (depth >= MAX_DEPTH) return Array.isArray(value) ? "[array]" : "[object]";
    return Array.isArray(value) ? this.#maskArray(value, place) : this.#maskObject(value, place);
  }

  #maskArray(values: readonly unknown[], { name, isOfApi, depth }: Place): unknown[] {
    const masked: unknown[] = [];
    for (const value of values) {
      if (this.#nodes >= MAX_NODES) return [...masked, `[${values.length - masked.length} more]`];
      masked.push(this.mask(value, { name, isOfApi, depth: depth + 1 }));
    }
    return masked;
  }

  #maskObject(value: object, { name: own, isOfApi, depth }: Place): Record<string, unknown> {
    const hasFields = isOfApi && (depth === 0 || OF_API.has(own));
    const masked: [string, unknown][] = [];
    for (const [name, member] of Object.entries(value)) {
      if (this.#nodes >= MAX_NODES) break;
      masked.push([shownName(name), this.mask(member, { name, isOfApi: hasFields, depth: depth + 1 })]);
    }
    return Object.fromEntries(masked);
  }
}

function maskText(text: string, name: string): string {
  const isShown = ID.test(text) || (SHOWN.has(name) && (WORD.test(text) || TIME.test(text) || SMALL.test(text)));
  return isShown ? text : `[${text.length} character${text.length === 1 ? "" : "s"}]`;
}

/** A name comes from the request as well. */
const shownName = (name: string): string => (NAME.test(name) ? name : "[name]");

/** Without a half of a character at the end. */
const shorten = (text: string, most: number): string => (text.length <= most ? text : `${text.slice(0, most).toWellFormed()}…`);
