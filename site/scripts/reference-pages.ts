/** The pages of the API reference, made from the OpenAPI document: an overview, one page for each tag, and one for the calls of webhooks. */
import { REFERENCE, tagPage } from "../contents.ts";
import type { Section } from "../src/search-index.ts";
import { escapeHtml } from "./markdown.ts";
import type { MarkdownIt } from "./markdown-it-types.ts";
import type { OpenApiDocument } from "./openapi-types.ts";
import { callText, operationHtml, sharedErrorsOf, type Call, type Context } from "./reference-operation.ts";
import { fields } from "./reference-fields.ts";

const OVERVIEW = REFERENCE.name;
const WEBHOOKS = "reference-webhook-events";

/** The HTML of a page by its name. */
export function referencePage(name: string, document: OpenApiDocument, md: MarkdownIt): string {
  const { components, tags } = document;
  const sharedErrors = sharedErrorsOf(callsOf(document), components);
  const context: Context = { md, components, schemas: components.schemas, within: [], isReply: false, sharedErrors };
  if (name === OVERVIEW) return overview(document, context);
  const tag = tags.find((each) => tagPage(each.name) === name);
  const calls = tag === undefined ? webhooksOf(document) : callsOf(document).filter(({ operation }) => operation.tags.includes(tag.name));
  const title = tag?.name ?? "Webhook events";
  return `<h1 id="${name}">${title}</h1>
${md.render(tag?.description ?? "The requests that your webhook endpoints receive.")}
${calls.map((call) => operationHtml(call, { ...context, isReply: tag === undefined })).join("\n")}`;
}

/** The sections of all operations for the search. */
export const referenceSections = (document: OpenApiDocument): Section[] =>
  callsOf(document)
    .concat(webhooksOf(document))
    .map((call) => {
      const { method, path = "", operation } = call;
      const { operationId, summary, description } = operation;
      return {
        id: operationId,
        path: linkTo(call),
        page: REFERENCE.title,
        heading: summary,
        operation: `${method} ${path} ${operationId}`,
        text: `${method} ${path} ${withoutMarks(description)}`,
      };
    });

/** The text of a description without the marks of Markdown. */
const withoutMarks = (description: string): string =>
  description
    .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, "$1")
    .replaceAll(/[`*]/g, "")
    .replaceAll(/\s+/g, " ");

function callsOf({ paths }: OpenApiDocument): Call[] {
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ method: method.toUpperCase(), path, operation })),
  );
}

const webhooksOf = ({ webhooks }: OpenApiDocument): Call[] =>
  Object.values(webhooks).flatMap((methods) =>
    Object.entries(methods).map(([method, operation]) => ({ method: method.toUpperCase(), operation })),
  );

const linkTo = ({ path, operation: { tags, operationId } }: Call): string =>
  `/docs/${path === undefined ? WEBHOOKS : tagPage(tags[0] ?? "")}#${operationId}`;

/** All operations in their groups. The ids are the anchors of the page that had all operations, so that old links lead to them. */
function overview(document: OpenApiDocument, context: Context): string {
  const { info, components } = document;
  const { md } = context;
  const calls = callsOf(document);
  const row = (call: Call): string =>
    `<tr id="operation/${call.operation.operationId}"><td><a href="${linkTo(call)}">${escapeHtml(call.operation.summary)}</a></td><td>${callText(call)}</td></tr>`;
  const table = (rows: readonly Call[]): string =>
    `<div class="wide" tabindex="0"><table><tbody>${rows.map(row).join("")}</tbody></table></div>`;
  const tagHtml = (tag: string): string =>
    `<h3 id="tag/${tag.replaceAll(" ", "-")}"><a href="/docs/${tagPage(tag)}">${tag}</a></h3>${table(calls.filter(({ operation }) => operation.tags.includes(tag)))}`;
  const groups = document["x-tagGroups"].map(
    ({ name, tags }) => `<h2 id="${name.toLowerCase().replaceAll(" ", "-")}">${name}</h2>${tags.map(tagHtml).join("")}`,
  );
  const headers = Object.entries(components.headers).map(
    ([name, { description }]) => `<dt><code>${name}</code></dt><dd>${md.render(description)}</dd>`,
  );
  return `<h1 id="${OVERVIEW}">${REFERENCE.title}</h1>
${md.render(`${info.description}\n\nThe same description for programs is the [OpenAPI document](/openapi.json).`)}
${groups.join("\n")}
<h2 id="calls-to-your-endpoints">Calls to your endpoints</h2>${table(webhooksOf(document))}
<h2 id="response-headers">Response headers</h2><dl class="fields">${headers.join("")}</dl>
<h2 id="the-body-of-an-error">The body of an error</h2>${fields({ $ref: "#/components/schemas/Problem" }, { ...context, isReply: true })}`;
}
