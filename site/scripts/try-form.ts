/** The form of an operation that sends its request from the page. It is hidden until a script can serve it. */
import { escapeHtml } from "./markdown.ts";
import type { Operation, Parameter } from "./openapi-types.ts";

const EVENT_STREAM = "text/event-stream";
// A longer body scrolls.
const MAX_ROWS = 16;

export function tryForm({ parameters, requestBody, responses, security }: Operation, method: string, path: string): string {
  if (Object.values(responses).some((response) => "content" in response && EVENT_STREAM in (response.content ?? {}))) return "";
  const [[type, body] = ["", undefined]] = Object.entries(requestBody?.content ?? {});
  const isForm = type !== "" && type !== "application/json";
  const inputs = parameters.filter(({ in: place }) => place !== "header");
  const hasIdempotencyKey = parameters.some(({ name }) => name === "Idempotency-Key");
  return `<details class="try" hidden data-method="${method}" data-path="${escapeHtml(path)}" data-type="${type}"><summary>Try it</summary>
<form autocomplete="off">
${security.length === 0 ? "" : credentialInputs(isForm)}
${inputs.map(parameterInput).join("\n")}
${hasIdempotencyKey ? '<label>Idempotency-Key <input data-header="Idempotency-Key" spellcheck="false"></label>' : ""}
${body === undefined ? "" : bodyInput(isForm ? String(new URLSearchParams(body.example as Record<string, string>)) : JSON.stringify(body.example, null, 2))}
<p><button type="submit">Send the request</button>${hasIdempotencyKey ? ' <button type="button" data-new-key>New idempotency key</button>' : ""}</p>
</form><p class="outcome" role="status"></p><div class="reply"></div></details>`;
}

/** A form takes HTTP Basic, and everything else a bearer token. */
const credentialInputs = (
  hasId: boolean,
): string => `<p class="quiet">The request goes to this service only. The key stays in the memory of this page, unless you keep it for the tab.</p>
${hasId ? '<label>Key id <input data-client placeholder="key_…" spellcheck="false" required></label>' : ""}
<label>API key <input type="password" data-key autocomplete="off" placeholder="gw_test_…" required></label>
<label><input type="checkbox" data-keep> Keep the key until this tab is closed</label>
<label class="live" hidden><input type="checkbox" data-live> This is live</label>`;

function parameterInput({ name, in: place, required, example = "", schema }: Parameter): string {
  const attributes = `data-${place}="${name}"${required ? " required" : ""}`;
  const control =
    schema.enum === undefined
      ? `<input ${attributes} placeholder="${escapeHtml(String(example))}" spellcheck="false">`
      : `<select ${attributes}><option></option>${schema.enum.map((each) => `<option>${String(each)}</option>`).join("")}</select>`;
  return `<label>${name} ${control}</label>`;
}

const bodyInput = (text: string): string =>
  `<label>Body <textarea rows="${Math.min(text.split("\n").length + 1, MAX_ROWS)}" spellcheck="false">${escapeHtml(text)}</textarea></label>`;
