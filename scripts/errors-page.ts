/** Writes docs/errors.md, one entry for each code of the table in src/http/codes.ts. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { ERRORS, type ErrorCode } from "../src/http/codes.ts";

const PATH = join(import.meta.dirname, "..", "docs", "errors.md");

const HEAD = `# Errors

<!-- Written by npm run errors-page from src/http/codes.ts. -->

Every error is an RFC 9457 problem with the content type \`application/problem+json\`. [Requests and responses](http.md#errors) shows a complete one. Decide by
\`code\`, show \`detail\` to people, and quote \`request_id\` when you report a problem. \`errors\` lists every fault of a request at once, each with its place. Codes can be added; treat
an unknown code by its status. Each code has a page at \`/errors/{code}\`, which is the \`type\` of the problem.

[Idempotency](idempotency.md#how-to-handle-each-response) explains which requests to repeat, and how. The reasons why a message failed after its 202 are in
[Message statuses](states.md#error-codes-of-messages).
`;

type RetryAdvice = "same" | "after" | "changed" | "kept";

/** Returns how a client should retry a request with this error. */
function retryAdvice(code: ErrorCode): RetryAdvice {
  const { status } = ERRORS[code];
  if (status === 409 || status === 429 || status === 503) return "after";
  if (status === 408 || status === 500) return "same";
  return status === 422 ? "kept" : "changed";
}

const ADVICE: Readonly<Record<RetryAdvice, string>> = {
  same: "Send the same request again, with the same idempotency key.",
  after: "Send the same request again, with the same idempotency key, after `Retry-After` seconds.",
  changed: "The same request gets the same answer: change something first. Its idempotency key may be used again.",
  kept: "The answer is kept with the idempotency key: whatever you change, send it with a new one.",
};

/** The description of one code, for the list and for the page of the code. */
export function describeError(code: ErrorCode): string {
  const { status, title, meaning } = ERRORS[code];
  return `**${status}** · ${title}.\n\n${meaning}\n\n${ADVICE[retryAdvice(code)]}\n`;
}

export function errorsPage(): string {
  const codes = Object.keys(ERRORS) as ErrorCode[];
  const rows = codes.map((code) => `| ${ERRORS[code].status} | [\`${code}\`](#${code}) | ${ERRORS[code].title} |`);
  const entries = codes.map((code) => `## ${code}\n\n${describeError(code)}`);
  return `${HEAD}\n| status | code | |\n|---|---|---|\n${rows.join("\n")}\n\n${entries.join("\n")}`;
}

if (import.meta.main) writeFileSync(PATH, errorsPage());
