/** Compiles the requests of a definition. Values are put into JSON, forms and URLs by their encoders. */
import { parseBoundedUrl, requireUrl } from "../../lib/urls.ts";
import type { HttpRequest } from "../../outbound/http-client.ts";
import type { Auth } from "./auth.ts";
import type { RequestDefinition } from "./definition.ts";
import type { DefinitionReader } from "./reader.ts";
import { fillText, fillValue, type TextTemplate, type ValueOf } from "./template.ts";
import { segmentsOf } from "../../model/segments.ts";
import type { Outgoing } from "../provider.ts";

/** The variables of a request. Only the plain ones may be in a header or a path: their values have letters, digits and a few signs. */
export type CallVariables<Name extends string> = { names: readonly Name[]; plainNames: readonly Name[] };

export type CompiledCall<Name extends string> = {
  /** The scheme and the host. */
  baseUrl: string;
  toRequest: (values: ValueOf<Name>, nowMs: number) => HttpRequest;
};

/** A part of the request. Undefined: the field is left out. */
type Maker<Name extends string> = (values: ValueOf<Name>) => unknown;
type TextMaker<Name extends string> = (values: ValueOf<Name>) => string;

const CONTENT_TYPES = {
  json: "application/json",
  form: "application/x-www-form-urlencoded",
  xml: "application/xml; charset=utf-8",
  text: "text/plain; charset=utf-8",
} as const;

/** `at` is the name of the table, for faults. */
export function compileCall<Name extends string>(
  reader: DefinitionReader,
  definition: Omit<RequestDefinition, "auth">,
  { at, auth, ...variables }: CallVariables<Name> & { at: string; auth: Auth },
): CompiledCall<Name> {
  const compiler = new CallCompiler(reader, at, variables);
  const { method = "POST", format = "json", query = {} } = definition;
  const { baseUrl, path } = compiler.url(definition.url);
  const headers = compiler.headers(definition);
  const fields = compiler.fields(query, "query");
  const body = compiler.body(definition);
  const { host } = requireUrl(baseUrl);
  const contentType: Record<string, string> = method === "GET" ? {} : { "content-type": CONTENT_TYPES[format] };
  const toRequest = (values: ValueOf<Name>, nowMs: number): HttpRequest => {
    const target = withQuery(path(values), fields(values));
    const request = { origin: baseUrl, path: target, method, headers: { ...contentType, ...headers(values) }, body: body(values) };
    return { ...request, headers: auth.sign({ ...request, host, nowMs }) };
  };
  return { baseUrl, toRequest };
}

const withQuery = (path: string, query: string): string => (query === "" ? path : `${path}${path.includes("?") ? "&" : "?"}${query}`);

const URL_PARTS = /^(https?:\/\/[^/?#]+)(\/[^?#]*)?(\?[^#]*)?$/;
// In place of a fault, so that the remaining faults can be reported.
const NO_URL = "http://127.0.0.1:1";
// Deeper tables are a mistake.
const MAX_DEPTH = 20;

class CallCompiler<Name extends string> {
  readonly #reader: DefinitionReader;
  readonly #at: string;
  readonly #variables: CallVariables<Name>;

  constructor(reader: DefinitionReader, at: string, variables: CallVariables<Name>) {
    this.#reader = reader;
    this.#at = at;
    this.#variables = variables;
  }

  #fault(field: string, detail: string): void {
    this.#reader.fault(`${this.#at}.${field}`, detail);
  }

  #template(text: string, field: string, names = this.#variables.names): TextTemplate<Name> {
    return this.#reader.template(text, `${this.#at}.${field}`, names);
  }

  /** The host is always the same. A path has only variables that cannot be `..`. */
  url(url: string): { baseUrl: string; path: TextMaker<Name> } {
    const [, head = "", path = "/", search = ""] = URL_PARTS.exec(url) ?? [];
    const base = parseBoundedUrl(this.#reader.constant(head, `${this.#at}.url`));
    const part = (text: string, names: readonly Name[]) => this.#reader.template(text, `${this.#at}.url`, names, encodeURIComponent);
    const template = [...part(path, this.#variables.plainNames), ...part(search, this.#variables.names)];
    if (base === null || base.username !== "" || base.password !== "" || base.pathname !== "/") {
      if (!head.includes("{{")) this.#fault("url", "must be a URL without credentials and fragment");
      return { baseUrl: NO_URL, path: () => "/" };
    }
    return { baseUrl: base.origin, path: (values) => fillText(template, values, encodeURIComponent) };
  }

  /** The names of headers are in lower case. */
  headers({ headers = {} }: Pick<RequestDefinition, "headers">): (values: ValueOf<Name>) => Record<string, string> {
    const own = Object.entries(headers).map(([name, text]) => {
      if (!/^[\w-]+$/.test(name)) this.#fault(`headers.${name}`, "is not the name of a header");
      return [name.toLowerCase(), this.#header(text, `headers.${name}`)] as const;
    });
    return (values) => Object.fromEntries(own.map(([name, text]) => [name, fillText(text, values, String)]));
  }

  #header(text: string, field: string): TextTemplate<Name> {
    const template = this.#template(text, field, this.#variables.plainNames);
    if (template.some((part) => typeof part === "string" && !/^[\t\x20-\x7e]*$/.test(part)))
      this.#fault(field, "has characters that a header cannot have");
    return template;
  }

  body({ body, format = "json", method }: RequestDefinition): TextMaker<Name> {
    if (body === undefined) return () => "";
    if (method === "GET") this.#fault("body", "a GET has no body; write its fields under [link.request.query]");
    if (format === "xml" || format === "text") return this.#wholeText(body, format === "xml" ? escapeXml : String);
    if (typeof body === "string") {
      this.#fault("body", 'must be a table, except with format = "xml" or "text"');
      return () => "";
    }
    if (format === "form") return this.fields(body, "body");
    const make = this.#value(body, "body");
    return (values) => JSON.stringify(make(values));
  }

  /** A body that the definition writes as one text. Each value is encoded in its place. */
  #wholeText(body: unknown, encode: (value: string) => string): TextMaker<Name> {
    if (typeof body !== "string") this.#fault("body", "must be one text in this format");
    const template = this.#reader.template(String(body), `${this.#at}.body`, this.#variables.names, encode);
    return (values) => fillText(template, values, (value) => encode(String(value)));
  }

  /** The fields of a form or a query. */
  fields(fields: Readonly<Record<string, unknown>>, table: string): TextMaker<Name> {
    const makers = Object.entries(fields).map(([name, field]) => {
      if (typeof field === "object") this.#fault(`${table}.${name}`, "must be a text or a number in a form");
      return [name, this.#value(field, `${table}.${name}`)] as const;
    });
    return (values) => {
      const form = new URLSearchParams();
      for (const [name, make] of makers) {
        const value = make(values) as string | number | boolean | undefined;
        if (value !== undefined) form.append(name, String(value));
      }
      return form.toString();
    };
  }

  /** Tables and lists keep their structure, texts are templates, and everything else stays as it is. */
  #value(value: unknown, field: string, depth = 0): Maker<Name> {
    if (depth > MAX_DEPTH) this.#fault(field, "is nested too deeply");
    else if (typeof value === "string") {
      const template = this.#template(value, field);
      return (values) => fillValue(template, values);
    } else if (Array.isArray(value)) {
      const items = value.map((item: unknown, index) => this.#value(item, `${field}.${index}`, depth + 1));
      return (values) => items.map((make) => make(values)).filter((item) => item !== undefined);
    } else if (typeof value === "object" && value !== null) {
      const members = Object.entries(value).map(([name, item]) => [name, this.#value(item, `${field}.${name}`, depth + 1)] as const);
      return (values) => Object.fromEntries(members.map(([name, make]) => [name, make(values)]));
    }
    return () => value;
  }
}

const XML_ENTITIES: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&apos;" };
const XML_FORBIDDEN = /[^\t\n\r\u0020-\uD7FF\uE000-\uFFFD\u{10000}-\u{10FFFF}]/gu;

/** Leaves out the characters that XML cannot have. */
const escapeXml = (text: string): string => text.replaceAll(XML_FORBIDDEN, "").replaceAll(/[&<>"']/g, (sign) => XML_ENTITIES[sign] ?? "");

/** A message to write into a request. `seconds`: its time to live. */
type Filling = { message: Outgoing; seconds: number; nowMs: number; encodings: Encodings };
/** The carrier's words for the alphabet of a text. */
type Encodings = NonNullable<RequestDefinition["encodings"]>;

/** The variables of the templates of a request, and their values. */
const MESSAGE_VALUES = {
  recipient: ({ message }: Filling) => message.recipient,
  recipient_digits: ({ message }: Filling) => message.recipient.slice(1),
  sender: ({ message }: Filling) => message.sender?.toWellFormed() ?? null,
  sender_digits: ({ message }: Filling) => message.sender?.replace(/^\+/, "").toWellFormed() ?? null,
  body: ({ message }: Filling) => message.body.toWellFormed(),
  id: ({ message }: Filling) => message.id,
  expires_seconds: ({ seconds }: Filling) => seconds,
  expires_at: ({ seconds, nowMs }: Filling) => new Date(nowMs + seconds * 1_000).toISOString(),
  encoding: ({ message, encodings }: Filling) => encodings[segmentsOf(message.body).encoding === "gsm7" ? "text" : "unicode"],
};
type MessageVariable = keyof typeof MESSAGE_VALUES;

const MESSAGE_VARIABLES = Object.keys(MESSAGE_VALUES) as readonly MessageVariable[];
const PLAIN_VARIABLES: readonly MessageVariable[] = ["recipient", "recipient_digits", "id"];

const DEFAULT_ENCODINGS: Encodings = { text: "text", unicode: "unicode" };
// The limits of the carrier for the time to live. No carrier keeps a message for more than a week.
const DEFAULT_EXPIRY = { least: 1, most: 604_800 };

export type CarrierRequests = { baseUrl: string; toRequest: (message: Outgoing, nowMs: number) => HttpRequest };

export function compileRequests(reader: DefinitionReader, definition: RequestDefinition, auth: Auth): CarrierRequests {
  const { encodings = DEFAULT_ENCODINGS } = definition;
  const limits = { ...DEFAULT_EXPIRY, ...definition.expires_seconds };
  const parts = { at: "request", auth, names: MESSAGE_VARIABLES, plainNames: PLAIN_VARIABLES };
  const { baseUrl, toRequest } = compileCall<MessageVariable>(reader, definition, parts);
  return {
    baseUrl,
    toRequest: (message, nowMs) => {
      const seconds = Math.min(limits.most, Math.max(limits.least, Math.floor((message.expiresAtMs - nowMs) / 1_000)));
      return toRequest((name) => MESSAGE_VALUES[name]({ message, seconds, nowMs, encodings }), nowMs);
    },
  };
}
