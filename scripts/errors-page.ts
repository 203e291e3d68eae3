/** Writes docs/errors.md, one entry for each code of the table in src/http/codes.ts. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { ERRORS, type ErrorCode } from "../src/http/codes.ts";

const PATH = join(import.meta.dirname, "..", "docs", "errors.md");

const HEAD = `# Errors

<!-- Written by npm run errors-page from src/http/codes.ts. -->

Every error response is an RFC 9457 problem, \`application/problem+json\`: [Errors](http.md#errors) shows a complete one. In your program, decide by \`code\`.
Show \`detail\` to people, and quote \`request_id\` when you report a problem. \`errors\` lists every fault of a request, each with its location. New codes may
be added; handle an unknown code by its status. Each code has a page at \`/errors/{code}\`, which is the \`type\` of the problem.

[Idempotency](idempotency.md#how-to-handle-each-response) explains which requests to send again. This page lists the errors of requests. The errors of
messages that were accepted and then failed are in [Message statuses](states.md#error-codes-of-messages).
`;

type RetryAdvice = "same" | "after" | "changed" | "kept" | "reused";

/** Refusals that are not stored with an idempotency key. */
const NOT_STORED: ReadonlySet<ErrorCode> = new Set(["live_only", "link_in_use"]);

/** Returns how a client should retry a request with this error. */
function retryAdvice(code: ErrorCode): RetryAdvice {
  const { status } = ERRORS[code];
  if (code === "idempotency_key_reused") return "reused";
  if (status === 409 || status === 429 || status === 503) return "after";
  if (status === 408 || status === 500) return "same";
  return status === 422 && !NOT_STORED.has(code) ? "kept" : "changed";
}

const ADVICE: Readonly<Record<RetryAdvice, string>> = {
  same: "Send the same request again, with the same idempotency key.",
  after: "Send the same request again, with the same idempotency key, after `Retry-After` seconds.",
  changed: "Change the request before you send it again. You can use the same idempotency key.",
  kept: "The response is stored with the idempotency key. Use a new key for the next request.",
  reused: "The first response stays stored with the idempotency key. Use a new key for another request.",
};

/** Links to pages become links to files, as in all other pages. */
const toPageLinks = (text: string): string => text.replaceAll(/\]\(\/docs\/([\w-]+)/g, "]($1.md");

/** The description of one code, for the list and for the page of the code. */
export function describeError(code: ErrorCode): string {
  const { status, title, meaning } = ERRORS[code];
  return `**${status}** · ${title}.\n\n${toPageLinks(meaning)}\n\n${ADVICE[retryAdvice(code)]}\n`;
}

export function errorsPage(): string {
  const codes = Object.keys(ERRORS) as ErrorCode[];
  const rows = codes.map((code) => `| ${ERRORS[code].status} | [\`${code}\`](#${code}) | ${ERRORS[code].title} |`);
  const entries = codes.map((code) => `## ${code}\n\n${describeError(code)}`);
  return `${HEAD}\n| status | code | title |\n|---|---|---|\n${rows.join("\n")}\n\n${entries.join("\n")}`;
}

if (import.meta.main) writeFileSync(PATH, errorsPage());
