/** One operation of the API reference as HTML. The page is complete without a script; a script only shows the form that sends the request. */
import { codeSamples, type SampleOperation } from "../../scripts/code-samples.ts";
import { escapeHtml } from "./markdown.ts";
import type { OpenApiDocument, Operation, Parameter, Response, Schema } from "./openapi-types.ts";
import { fieldItem, fields, folded, schemaName, type Place } from "./reference-fields.ts";
import { tryForm } from "./try-form.ts";

/** An operation with its method and path. A webhook has no path: the customer chooses the URL. */
export type Call = { method: string; path?: string; operation: Operation };
/** `sharedErrors`: the error codes that many operations have. */
export type Context = Place & { components: OpenApiDocument["components"]; sharedErrors: ReadonlySet<string> };

// A longer list of fields would hide the parts of the operation below it.
const MAX_OPEN_FIELDS = 20;

export function operationHtml(call: Call, context: Context): string {
  const { operationId, summary, description, parameters, requestBody, responses } = call.operation;
  const all = Object.entries(responses).map(([status, response]) => [status, resolveResponse(response, context.components)] as const);
  const isError = (response: Response): boolean => Object.values(response.content ?? {}).some(({ examples }) => examples !== undefined);
  return [
    `<section class="operation"><h2 id="${operationId}">${escapeHtml(summary)}</h2>`,
    `<p class="call">${callText(call)} <span class="quiet">${operationId}</span></p>`,
    context.md.render(description),
    call.path === undefined
      ? ""
      : samples(call.operation, call.method, call.path, context) + tryForm(call.operation, call.method, call.path),
    parameterList(parameters, context),
    ...Object.values(requestBody?.content ?? {}).map(({ schema, example }) => content("Request body", schema, example, context)),
    ...all.filter(([, response]) => !isError(response)).map(([status, response]) => reply(status, response, context)),
    errorTable(
      all.filter(([, response]) => isError(response)),
      context,
    ),
    "</section>",
  ].join("\n");
}

export const callText = ({ method, path }: Call): string =>
  `<strong class="method">${method}</strong> ${path === undefined ? "to the URL of your endpoint" : `<code>${escapeHtml(path)}</code>`}`;

const resolveResponse = (response: Operation["responses"][string], components: OpenApiDocument["components"]): Response =>
  "$ref" in response ? (components.responses[response.$ref.slice("#/components/responses/".length)] ?? { description: "" }) : response;

/** Blocks of three languages, which the rules of Markdown join to tabs. */
function samples(operation: Operation, method: string, path: string, { md }: Context): string {
  const [curl, typescript, python] = codeSamples(operation as SampleOperation, { method: method.toLowerCase(), path });
  return md.render([fence("sh", curl?.source), fence("ts", typescript?.source), fence("python", python?.source)].join("\n"));
}

const fence = (language: string, text = ""): string => `\`\`\`${language}\n${text.trimEnd()}\n\`\`\`\n`;

/** A stream is its own text, and everything else is JSON. */
const example = (value: unknown, { md }: Context): string =>
  value === undefined
    ? ""
    : `<details class="example"><summary>Example</summary>${md.render(
        typeof value === "string" ? fence("text", value) : fence("json", JSON.stringify(value, null, 2)),
      )}</details>`;

function parameterList(parameters: readonly Parameter[], context: Context): string {
  const items = parameters.map(({ name, in: origin, description = "", required, schema }) =>
    fieldItem(name, { ...schema, description }, required, context, [origin]),
  );
  return items.length === 0 ? "" : `<h3>Parameters</h3><dl class="fields">${items.join("")}</dl>`;
}

function content(title: string, schema: Schema, value: unknown, context: Context): string {
  const name = schemaName(schema);
  const { description = "", properties = {} } = (name === undefined ? schema : context.schemas[name]) ?? {};
  const isLong = Object.keys(properties).length > MAX_OPEN_FIELDS;
  return `<h3>${title}</h3>${context.md.render(description)}${isLong ? folded(schema, context) : fields(schema, context)}${example(value, context)}`;
}

function reply(status: string, { description, headers = {}, content: bodies = {} }: Response, context: Context): string {
  const names = Object.keys(headers).map((name) => `<a href="/docs/reference#response-headers"><code>${name}</code></a>`);
  return [
    `<h3>Response ${status}</h3>`,
    context.md.render(description),
    names.length === 0 ? "" : `<p class="quiet">Headers: ${names.join(", ")}</p>`,
    ...Object.values(bodies).map(({ schema, example: value }) => folded(schema, { ...context, isReply: true }) + example(value, context)),
  ].join("");
}

type ErrorCode = { status: string; code: string };

/** The errors that belong to this operation are open, and those of many operations are folded. */
function errorTable(responses: readonly (readonly [status: string, response: Response])[], context: Context): string {
  const errors = responses.flatMap(([status, response]) => codesOf(response).map((code): ErrorCode => ({ status, code })));
  const own = errors.filter(({ code }) => !context.sharedErrors.has(code));
  const shared = errors.filter(({ code }) => context.sharedErrors.has(code));
  if (errors.length === 0) return "";
  const common = `<details><summary>${shared.length} codes that many operations have</summary>${errorRows(shared, context)}</details>`;
  return `<h3>Errors</h3>${own.length === 0 ? "" : errorRows(own, context)}${shared.length === 0 ? "" : common}`;
}

function errorRows(errors: readonly ErrorCode[], { components }: Context): string {
  const rows = errors.map(
    ({ status, code }) =>
      `<tr><td>${status}</td><td><a href="/errors/${code}"><code>${code}</code></a><br>${escapeHtml(components.examples[code]?.summary ?? "")}</td></tr>`,
  );
  return `<table><thead><tr><th>Status</th><th>Code</th></tr></thead><tbody>${rows.join("")}</tbody></table>`;
}

const codesOf = ({ content: bodies = {} }: Response): string[] =>
  Object.values(bodies).flatMap(({ examples = {} }) => Object.keys(examples));

// A code that a smaller part of the operations has says something about them.
const SHARED_PART = 1 / 4;

/** The error codes that many operations have. */
export function sharedErrorsOf(calls: readonly Call[], components: OpenApiDocument["components"]): ReadonlySet<string> {
  const counts = new Map<string, number>();
  for (const { operation } of calls)
    for (const response of Object.values(operation.responses))
      for (const code of codesOf(resolveResponse(response, components))) counts.set(code, (counts.get(code) ?? 0) + 1);
  return new Set([...counts].filter(([, count]) => count > calls.length * SHARED_PART).map(([code]) => code));
}
