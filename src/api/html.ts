/** The HTML pages: plain HTML, without scripts and without resources from other hosts. */
import { createHash } from "node:crypto";
import { ERRORS, type ErrorCode } from "../http/codes.ts";

export const HTML_TYPE = "text/html; charset=utf-8";
const STYLE = `:root{color-scheme:light dark}body{font:16px/1.55 system-ui,sans-serif;max-width:46rem;margin:2rem auto;padding:0 1rem}
code,pre{font:14px/1.5 ui-monospace,monospace}pre{overflow:auto;padding:.8rem;border:1px solid #8885;border-radius:6px}
table{border-collapse:collapse;width:100%}td,th{text-align:left;vertical-align:top;padding:.3rem .6rem .3rem 0;border-bottom:1px solid #8884}
h2{margin-top:2.5rem}.method{font-weight:700}.muted{opacity:.75}
body:has(.frame){max-width:70rem}.top{border-bottom:1px solid #8884;padding-bottom:.8rem}.wide{overflow-x:auto}main{min-width:0;overflow-wrap:break-word}
main code{overflow-wrap:anywhere}main pre code{overflow-wrap:normal}.anchor{color:inherit;text-decoration:none}.anchor:hover{text-decoration:underline}
nav h2{font-size:1rem;margin:1.2rem 0 .3rem}nav ul{list-style:none;margin:0;padding:0}nav li{padding:.15rem 0}[aria-current]{font-weight:700;text-decoration:none}
@media(max-width:56rem){nav{border-top:1px solid #8884;margin-top:2rem}nav li{padding:.45rem 0}}
@media(min-width:56rem){.frame{display:grid;grid-template-columns:14rem minmax(0,1fr);gap:2.5rem}nav{order:-1;align-self:start;position:sticky;top:1rem;max-height:calc(100vh - 2rem);overflow-y:auto}}`;

// The policy allows one style, by its hash, so that no script and no other style can be injected into a page.
const STYLE_HASH = createHash("sha256").update(STYLE).digest("base64");
export const HTML_HEADERS = {
  "content-security-policy": `default-src 'none'; style-src 'sha256-${STYLE_HASH}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
};

export const escapeHtml = (text: string): string =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;").replaceAll("'", "&#39;");

/** Escapes a text of this project, and marks `code` in it. */
const inline = (text: string): string =>
  escapeHtml(text)
    .replaceAll(/`([^`]+)`/g, "<code>$1</code>")
    .replaceAll("\n\n", "<br>");

export const page = (title: string, body: string): string =>
  `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1"><title>${escapeHtml(title)}</title><style>${STYLE}</style><body>${body}</body></html>`;

export function errorPage(code: ErrorCode): string {
  const { status, title, meaning } = ERRORS[code];
  return page(
    `${code} · Godwit`,
    `<p class="muted">Godwit · error code</p><h1><code>${code}</code></h1><p><b>${status}</b> ${escapeHtml(title)}.</p><p>${inline(meaning)}</p><p><a href="/docs/errors#${code}">All codes</a> · <a href="/docs/reference">API reference</a></p>`,
  );
}

type Schema = {
  type?: string | string[];
  description?: string;
  properties?: Record<string, Schema>;
  required?: string[];
  enum?: (string | null)[];
  minLength?: number;
  maxLength?: number;
  minimum?: number;
  maximum?: number;
  format?: string;
  items?: Schema;
  $ref?: string;
};
type Parameter = { name: string; in: string; required: boolean; description?: string; schema: Schema };
type Operation = {
  summary: string;
  description: string;
  parameters: Parameter[];
  requestBody?: { content: Record<string, { schema: Schema }> };
  responses: Record<string, { description: string; content: Record<string, { schema: Schema }> }>;
};
type Document = {
  info: { title: string; version: string; description: string };
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, Schema> };
};

const EXAMPLE = `curl -sS "$GODWIT_URL/v1/messages" \\
  -H "Authorization: Bearer $GODWIT_KEY" \\
  -H "Idempotency-Key: $(node -p 'crypto.randomUUID()')" \\
  -H "Content-Type: application/json" \\
  -d '{"recipient":"+14155550123","channel":"sms","body":"Hello from Godwit"}'`;

/** The API reference: the OpenAPI document as a page. */
export function referencePage(document: object): string {
  const { info, paths, components } = document as Document;
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => section(method, path, operation)),
  );
  const records = Object.entries(components.schemas).map(
    ([name, schema]) => `<h2 id="${name}">${name}</h2><p>${inline(schema.description ?? "")}</p>${fieldTable(schema)}`,
  );
  const errors = Object.entries(ERRORS).map(
    ([code, { status, title }]) => `<tr><td>${status}<td><a href="/errors/${code}"><code>${code}</code></a><td>${escapeHtml(title)}`,
  );
  return page(
    `${info.title} API`,
    `<p class="top"><a href="/docs">Godwit documentation</a></p><h1>${escapeHtml(info.title)} API</h1><p class="muted">Version ${escapeHtml(info.version)} · <a href="/openapi.json">OpenAPI 3.1</a></p><p>${inline(info.description)}</p>` +
      `<pre>${escapeHtml(EXAMPLE)}</pre>${operations.join("")}${records.join("")}<h2>Errors</h2><table>${errors.join("")}</table>`,
  );
}

function section(method: string, path: string, { summary, description, parameters, requestBody, responses }: Operation): string {
  const fields = Object.values(requestBody?.content ?? {})[0]?.schema;
  const success = Object.entries(responses).find(([status]) => status.startsWith("2"));
  const record = success === undefined ? undefined : Object.values(success[1].content)[0]?.schema;
  return (
    `<h2 id="${method}${escapeHtml(path)}">${escapeHtml(summary)}</h2><p><code><span class="method">${method.toUpperCase()}</span> ${escapeHtml(path)}</code></p><p>${inline(description)}</p>` +
    (parameters.length === 0
      ? ""
      : `<h3>Parameters</h3><table>${parameters.map((item) => row(item.name, item.schema, item.required, item.description ?? "", item.in)).join("")}</table>`) +
    (fields === undefined ? "" : `<h3>Body</h3><p>${typeOf(fields)}</p>`) +
    (success === undefined
      ? ""
      : `<h3>${success[0]}</h3><p>${inline(success[1].description)} ${record === undefined ? "" : typeOf(record)}</p>`)
  );
}

const fieldTable = ({ properties = {}, required = [] }: Schema): string =>
  `<table>${Object.entries(properties)
    .map(([name, schema]) => row(name, schema, required.includes(name), schema.description ?? "", ""))
    .join("")}</table>`;

const row = (name: string, schema: Schema, isRequired: boolean, description: string, place: string): string => {
  const notes = [limitsOf(schema), place].filter((part) => part !== "").map((part) => `, ${escapeHtml(part)}`);
  return `<tr><td><code>${escapeHtml(name)}</code>${isRequired ? " *" : ""}<td class="muted">${typeOf(schema)}${notes.join("")}<td>${inline(description)}`;
};

/** The type of a value in words, with a link for a named record. */
function typeOf({ type, enum: values, format, items, $ref }: Schema): string {
  const named = $ref?.split("/").at(-1);
  if (named !== undefined) return `<a href="#${escapeHtml(named)}">${escapeHtml(named)}</a>`;
  if (values !== undefined) return escapeHtml(values.filter((value) => value !== null).join(" | "));
  if (items !== undefined) return `list of ${typeOf(items)}`;
  const names = [type ?? "object"].flat().filter((name) => name !== "null");
  return escapeHtml([names.join(" or "), format ?? ""].filter((part) => part !== "").join(", "));
}

const limitsOf = ({ minLength, maxLength, minimum, maximum }: Schema): string => {
  const low = minLength ?? minimum;
  const high = maxLength ?? maximum;
  return low === undefined && high === undefined ? "" : `${low ?? ""}–${high ?? ""}`;
};
