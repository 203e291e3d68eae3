/** Compiles the requests of a definition. Values are put into JSON, forms and URLs by their encoders. */
import type { HttpRequest } from "../../outbound/http-client.ts";
import type { AuthDefinition, RequestDefinition } from "./definition.ts";
import type { DefinitionReader } from "./reader.ts";
import { signSigV4, type AwsCredentials } from "./sigv4.ts";
import { fillText, fillValue, type TextTemplate, type ValueOf } from "./template.ts";

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

const CONTENT_TYPES = { json: "application/json", form: "application/x-www-form-urlencoded" } as const;

/** `at` is the name of the table, for faults. */
export function compileCall<Name extends string>(
  reader: DefinitionReader,
  definition: RequestDefinition,
  at: string,
  variables: CallVariables<Name>,
): CompiledCall<Name> {
  const compiler = new CallCompiler(reader, at, variables);
  const { method = "POST", format = "json", query = {} } = definition;
  const { baseUrl, path } = compiler.url(definition.url);
  const { headers, credentials } = compiler.headers(definition);
  const fields = compiler.fields(query, "query");
  const body = compiler.body(definition);
  const { host } = new URL(baseUrl);
  const contentType: Record<string, string> = method === "GET" ? {} : { "content-type": CONTENT_TYPES[format] };
  const toRequest = (values: ValueOf<Name>, nowMs: number): HttpRequest => {
    const target = withQuery(path(values), fields(values));
    const request = { origin: baseUrl, path: target, method, headers: { ...contentType, ...headers(values) }, body: body(values) };
    return credentials === undefined ? request : { ...request, headers: signSigV4(credentials, { ...request, host, nowMs }) };
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
    const base = URL.parse(this.#reader.constant(head, `${this.#at}.url`));
    const part = (text: string, names: readonly Name[]) => this.#reader.template(text, `${this.#at}.url`, names, encodeURIComponent);
    const template = [...part(path, this.#variables.plainNames), ...part(search, this.#variables.names)];
    if (base === null || base.username !== "" || base.password !== "" || base.pathname !== "/") {
      if (!head.includes("{{")) this.#fault("url", "must be a URL without credentials and fragment");
      return { baseUrl: NO_URL, path: () => "/" };
    }
    return { baseUrl: base.origin, path: (values) => fillText(template, values, encodeURIComponent) };
  }

  /** The names of headers are in lower case. */
  headers({ headers = {}, auth }: RequestDefinition): {
    headers: (values: ValueOf<Name>) => Record<string, string>;
    credentials: AwsCredentials | undefined;
  } {
    const own = Object.entries(headers).map(([name, text]) => {
      if (!/^[\w-]+$/.test(name)) this.#fault(`headers.${name}`, "is not the name of a header");
      return [name.toLowerCase(), this.#header(text, `headers.${name}`)] as const;
    });
    const { authorization, credentials } = this.#auth(auth);
    const all = authorization === undefined ? own : [...own, ["authorization", [authorization]] as const];
    return { headers: (values) => Object.fromEntries(all.map(([name, text]) => [name, fillText(text, values, String)])), credentials };
  }

  #header(text: string, field: string): TextTemplate<Name> {
    const template = this.#template(text, field, this.#variables.plainNames);
    if (template.some((part) => typeof part === "string" && !/^[\t\x20-\x7e]*$/.test(part)))
      this.#fault(field, "has characters that a header cannot have");
    return template;
  }

  #auth(auth: AuthDefinition | undefined): { authorization?: string; credentials?: AwsCredentials } {
    const constant = (text: string, name: string): string => this.#reader.constant(text, `${this.#at}.auth.${name}`);
    switch (auth?.type) {
      case undefined:
        return {};
      case "basic": {
        const pair = `${constant(auth.username, "username")}:${constant(auth.password, "password")}`;
        return { authorization: `Basic ${Buffer.from(pair).toString("base64")}` };
      }
      case "bearer":
        return { authorization: `Bearer ${constant(auth.token, "token")}` };
      case "sigv4": {
        const [region, service] = [constant(auth.region, "region"), constant(auth.service, "service")];
        const accessKeyId = constant(auth.access_key_id, "access_key_id");
        return { credentials: { region, service, accessKeyId, secretAccessKey: constant(auth.secret_access_key, "secret_access_key") } };
      }
      default:
        throw new Error(`no such type: ${JSON.stringify(auth satisfies never)}`);
    }
  }

  body({ body, format = "json", method }: RequestDefinition): TextMaker<Name> {
    if (body === undefined) return () => "";
    if (method === "GET") this.#fault("body", "a GET has no body; write its fields under [link.request.query]");
    if (format === "form") return this.fields(body, "body");
    const make = this.#value(body, "body");
    return (values) => JSON.stringify(make(values));
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
