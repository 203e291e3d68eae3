/** Draws requests from the OpenAPI document: valid ones, and ones with a mutated path, query, header or body. */
import type { Random } from "../chaos/random.ts";
import { drawJunk, drawText, drawValue, mutate, mutateText, type Schema } from "./values.ts";

type Parameter = { name: string; in: string; required?: boolean; schema?: Schema };
type Operation = {
  parameters?: Parameter[];
  requestBody?: { content: Record<string, { schema: Schema }> };
  responses: Record<string, unknown>;
};
export type Document = { paths: Record<string, Record<string, Operation>>; components: { schemas: Record<string, Schema> } };

export type FuzzRequest = {
  method: string;
  path: string;
  headers: Record<string, string>;
  body: string | Buffer | undefined;
  /** The statuses that the document declares. */
  statuses: ReadonlySet<string>;
};

type Row = { method: string; path: string; operation: Operation };

const JSON_TYPE = "application/json";
const MAX_KEPT = 500;
const ID = /\b[a-z]{2,6}_[0-9a-hjkmnp-tv-z]{26}\b/g;
const resourceOf = (path: string): string => path.split("/")[2] ?? "";
const CURSOR = /"next_cursor":"([^"]+)"/;

export class RequestDrawer {
  readonly #random: Random;
  readonly #document: Document;
  readonly #rows: readonly Row[];
  /** Ids, cursors and idempotency keys of earlier requests and responses. */
  readonly #ids: string[] = [];
  /** The ids in the responses of each resource, such as `templates`. */
  readonly #idsOf = new Map<string, string[]>();
  readonly #cursors: string[] = [];
  readonly #keys: string[] = [];
  readonly #own: { id: string; secret: string };
  readonly #reserved: ReadonlySet<string>;

  /** `reserved`: the ids that no request may name. */
  constructor(random: Random, document: Document, { own, reserved }: { own: { id: string; secret: string }; reserved: readonly string[] }) {
    this.#random = random;
    this.#document = document;
    this.#own = own;
    this.#reserved = new Set([own.id, ...reserved]);
    this.#rows = Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, operation]) => ({ method: method.toUpperCase(), path, operation })),
    );
  }

  /** Keeps the ids in a response for later requests. The key of this run is left out: a request must not revoke it. */
  learn({ path }: FuzzRequest, text: string): void {
    const resource = resourceOf(path);
    const known = this.#idsOf.get(resource) ?? [];
    this.#idsOf.set(resource, known);
    const ids = text.slice(0, 20_000).match(ID) ?? [];
    for (const id of ids.filter((each) => !this.#reserved.has(each)).slice(0, 5)) {
      this.#keep(this.#ids, id);
      this.#keep(known, id);
    }
    const cursor = CURSOR.exec(text)?.[1];
    if (cursor !== undefined) this.#keep(this.#cursors, cursor);
  }

  draw(): FuzzRequest {
    const { method, path, operation } = this.#random.pick(this.#rows);
    const { parameters = [], responses } = operation;
    return {
      method,
      path: `${this.#path(path)}${this.#query(parameters.filter((each) => each.in === "query"))}`,
      headers: this.#headers(operation),
      body: this.#body(operation),
      statuses: new Set(Object.keys(responses)),
    };
  }

  #keep(list: string[], value: string): void {
    if (list.length < MAX_KEPT) list.push(value);
    else list[this.#random.between(0, MAX_KEPT - 1)] = value;
  }

  #path(path: string): string {
    const ids = this.#idsOf.get(resourceOf(path));
    return path.replaceAll(/\{\w+\}/g, () => encodeURIComponent(this.#id(this.#random.chance(0.8) ? ids : undefined) || "x"));
  }

  #id(ids: readonly string[] = this.#ids): string {
    if (ids.length === 0 || this.#random.chance(0.05)) return drawText(this.#random).toWellFormed();
    const id = this.#random.pick(ids);
    return this.#random.chance(0.05) ? id.slice(0, -1) : id;
  }

  #query(parameters: readonly Parameter[]): string {
    const pairs = parameters.flatMap(({ name, schema = {} }): [string, string][] =>
      this.#random.chance(0.3) ? [[name, this.#parameter(name, schema)]] : [],
    );
    if (this.#random.chance(0.05)) pairs.push([drawText(this.#random).toWellFormed(), "1"]);
    const [first] = pairs;
    if (first !== undefined && this.#random.chance(0.05)) pairs.push(first);
    return pairs.length === 0 ? "" : `?${new URLSearchParams(pairs).toString()}`;
  }

  #parameter(name: string, schema: Schema): string {
    if (name === "cursor" && this.#cursors.length > 0) return this.#random.pick(this.#cursors);
    if (name.endsWith("_id") && this.#ids.length > 0) return this.#id();
    const value = this.#random.chance(0.1) ? drawJunk(this.#random) : drawValue(this.#random, schema, this.#resolve);
    return (typeof value === "string" ? value : JSON.stringify(value)).slice(0, 3_000);
  }

  #headers({ requestBody }: Operation): Record<string, string> {
    const random = this.#random;
    const type = Object.keys(requestBody?.content ?? {})[0];
    return {
      authorization: random.chance(0.01) ? "Bearer x" : this.#credential(type),
      ...(type === undefined ? {} : { "content-type": random.chance(0.02) ? "text/plain" : type }),
      ...(random.chance(0.4) ? { "idempotency-key": this.#idempotencyKey() } : {}),
      ...(random.chance(0.05) ? { traceparent: random.pick(["x", `00-${"a".repeat(32)}-${"b".repeat(16)}-01`]) } : {}),
      ...(random.chance(0.02) ? { "last-event-id": this.#id().replaceAll(/[^\w]/g, "_") } : {}),
    };
  }

  #credential(type: string | undefined): string {
    const { id, secret } = this.#own;
    return type === undefined || type === JSON_TYPE ? `Bearer ${secret}` : `Basic ${Buffer.from(`${id}:${secret}`).toString("base64")}`;
  }

  #idempotencyKey(): string {
    const random = this.#random;
    if (random.chance(0.05)) return "not-a-uuid";
    if (this.#keys.length > 0 && random.chance(0.3)) return random.pick(this.#keys);
    const hex = Array.from({ length: 32 }, () => random.between(0, 15).toString(16)).join("");
    const key = `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20)}`;
    this.#keep(this.#keys, key);
    return key;
  }

  #body({ requestBody }: Operation): string | Buffer | undefined {
    const [content] = Object.entries(requestBody?.content ?? {});
    if (content === undefined) return undefined;
    const [type, { schema }] = content;
    const random = this.#random;
    const valid = drawValue(random, schema, this.#resolve);
    const value = random.chance(0.4) ? mutate(random, valid) : valid;
    const text = type === JSON_TYPE ? JSON.stringify(value) : toForm(value);
    return random.chance(0.1) ? mutateText(random, text) : text;
  }

  readonly #resolve = (schema: Schema): Schema =>
    schema.$ref === undefined ? schema : (this.#document.components.schemas[schema.$ref.split("/").at(-1) ?? ""] ?? {});
}

const toForm = (value: unknown): string =>
  new URLSearchParams(
    Object.entries(value ?? {}).map(([name, each]): [string, string] => [name.toWellFormed(), toText(each).toWellFormed()]),
  ).toString();

/** A drawn object may have a member `toString` that is no function. */
const toText = (value: unknown): string => (typeof value === "string" ? value : JSON.stringify(value ?? null));
