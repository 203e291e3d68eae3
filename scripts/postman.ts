/** Makes a Postman collection from docs/openapi.json: a folder for each tag, a request for each operation. The service, the key and the ids of
 *  records are variables, and each request that changes something has a new idempotency key. Prints it, and is part of a release. */
import { readFileSync } from "node:fs";
import { join } from "node:path";

type Parameter = { name: string; in: string; required?: boolean; description?: string; example?: string | number };
type Operation = {
  summary: string;
  description: string;
  tags: readonly string[];
  security?: readonly object[];
  parameters: readonly Parameter[];
  requestBody?: { content: Readonly<Record<string, { example?: object }>> };
};
export type OpenApiDocument = {
  info: { title: string; version: string; description: string };
  tags: readonly { name: string; description: string }[];
  paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
};

type Variable = { key: string; value: string; description?: string | undefined; disabled?: boolean };
type Auth = { type: string; [type: string]: unknown };
export type PostmanRequest = {
  method: string;
  description: string;
  auth?: Auth;
  header: readonly Variable[];
  url: { raw: string; host: readonly string[]; path: readonly string[]; query: readonly Variable[]; variable: readonly Variable[] };
  body?: { mode: "raw"; raw: string; options: object } | { mode: "urlencoded"; urlencoded: readonly Variable[] };
};
type Item = { name: string; request: PostmanRequest };
export type Collection = {
  info: { name: string; description: string; schema: string };
  auth: Auth;
  variable: readonly Variable[];
  item: readonly { name: string; description: string; item: readonly Item[] }[];
};

const SCHEMA = "https://schema.getpostman.com/json/collection/v2.1.0/collection.json";
const FORM_TYPE = "application/x-www-form-urlencoded";

const pairs = (values: Readonly<Record<string, string>>): Variable[] => Object.entries(values).map(([key, value]) => ({ key, value }));

export function postmanCollection({ info, tags, paths }: OpenApiDocument): Collection {
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ operation, item: itemOf(method.toUpperCase(), path, operation) })),
  );
  const folders = tags.map(({ name, description }) => ({
    name,
    description,
    item: operations.filter(({ operation }) => operation.tags[0] === name).map(({ item }) => item),
  }));
  const ids = new Set(Array.from(JSON.stringify(folders).matchAll(/\{\{(\w+_id)\}\}/g), ([, name = ""]) => name));
  return {
    info: { name: `${info.title} ${info.version}`, description: info.description, schema: SCHEMA },
    auth: { type: "bearer", bearer: pairs({ token: "{{api_key}}" }) },
    variable: [
      { key: "base_url", value: "http://127.0.0.1:8080" },
      { key: "api_key", value: "", description: "An API key. Store it in an environment of Postman as a secret, not in the collection." },
      ...[...ids].toSorted().map((key) => ({ key, value: "" })),
    ],
    item: folders.filter(({ item }) => item.length > 0),
  };
}

function itemOf(method: string, path: string, operation: Operation): Item {
  const { summary, description, parameters, requestBody, security } = operation;
  const query = parameters
    .filter((each) => each.in === "query")
    .map((each) => ({
      key: each.name,
      value: withVariables(String(each.example ?? "")),
      description: each.description,
      disabled: each.required !== true,
    }));
  const header = parameters.some(({ name }) => name === "Idempotency-Key") ? pairs({ "Idempotency-Key": "{{$guid}}" }) : [];
  const body = bodyOf(requestBody?.content ?? {});
  const parts = path.split("/").slice(1);
  return {
    name: summary,
    request: {
      method,
      description,
      ...authOf(security),
      header: [...header, ...(body?.mode === "raw" ? pairs({ "Content-Type": "application/json" }) : [])],
      url: {
        raw: `{{base_url}}/${parts.map((part) => part.replace(/^\{(\w+)\}$/, ":$1")).join("/")}`,
        host: ["{{base_url}}"],
        path: parts.map((part) => part.replace(/^\{(\w+)\}$/, ":$1")),
        query,
        variable: parts.flatMap((part, index) => (part.startsWith("{") ? [pathVariable(part.slice(1, -1), parts[index - 1] ?? "")] : [])),
      },
      ...(body === undefined ? {} : { body }),
    },
  };
}

/** The id of a message is `message_id` in every request, so that it is set once. */
const pathVariable = (name: string, collection: string): Variable => ({
  key: name,
  value: name === "id" ? `{{${collection.replace(/(ch|s)es$/, "$1").replace(/s$/, "")}_id}}` : `{{${name}}}`,
});

/** An operation without security needs no credential. The token endpoint takes the id of the key and the key itself. Its variable is not
 *  `key_id`, which is that of the key to rotate or to revoke. */
function authOf(security: Operation["security"]): { auth?: Auth } {
  if (security === undefined || security.some((each) => "bearer" in each)) return {};
  if (security.length === 0) return { auth: { type: "noauth" } };
  return { auth: { type: "basic", basic: pairs({ username: "{{client_id}}", password: "{{api_key}}" }) } };
}

function bodyOf(content: NonNullable<Operation["requestBody"]>["content"]): PostmanRequest["body"] {
  const form = content[FORM_TYPE]?.example;
  if (form !== undefined) return { mode: "urlencoded", urlencoded: pairs(form as Record<string, string>) };
  const json = content["application/json"];
  if (json === undefined) return undefined;
  const raw = withVariables(JSON.stringify(json.example ?? {}, null, 2));
  return { mode: "raw", raw, options: { raw: { language: "json" } } };
}

/** Replaces the ids of an example, which exist on no service. */
const withVariables = (text: string): string =>
  text.replaceAll(/\b([a-z]+)_[0-7][0-9a-hjkmnp-tv-z]{25}\b/g, (id, prefix: string) => {
    const noun = NOUNS[prefix];
    return noun === undefined ? id : `{{${noun}_id}}`;
  });

const NOUNS: Readonly<Record<string, string>> = {
  msg: "message",
  evt: "event",
  batch: "batch",
  key: "key",
  whe: "webhook_endpoint",
  dlv: "delivery",
  tmpl: "template",
  sup: "suppression",
  ver: "verification",
  lnk: "link",
  snd: "sender",
  rte: "route",
};

export const readCollection = (): Collection =>
  postmanCollection(JSON.parse(readFileSync(join(import.meta.dirname, "..", "docs", "openapi.json"), "utf8")) as OpenApiDocument);

if (import.meta.main) process.stdout.write(`${JSON.stringify(readCollection(), null, 2)}\n`);
