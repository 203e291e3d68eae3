/** The page of one error code: its section of docs/errors.md, a response with it, and how to send the request again. */
import { ERRORS, type ErrorCode } from "../../src/http/codes.ts";

/** Refusals that are not stored with an idempotency key. */
const NOT_STORED: ReadonlySet<ErrorCode> = new Set(["live_only", "link_in_use"]);

/** `example`: the body of a response with this code. */
export function errorText(code: ErrorCode, errors: string, example: unknown): string {
  const heading = `## ${code}\n`;
  const section = errors.split(/^(?=## )/m).find((text) => text.startsWith(heading)) ?? heading;
  const { status, title } = ERRORS[code];
  return `# ${code}

**${status}** · ${title}.

${section.slice(heading.length).trim()}

${example === undefined ? "" : `\`\`\`json\n${JSON.stringify(example, null, 2)}\n\`\`\`\n`}
${retryAdvice(code)}

[All error codes](errors.md) · [How to repeat a request safely](idempotency.md) · [API reference](/docs/reference)
`;
}

function retryAdvice(code: ErrorCode): string {
  const { status } = ERRORS[code];
  if (code === "idempotency_key_reused")
    return "The first response stays stored with the idempotency key. Use a new key for another request.";
  if (status === 409 || status === 429 || status === 503)
    return "Send the same request again, with the same idempotency key, after `Retry-After` seconds.";
  if (status === 408 || status === 500) return "Send the same request again, with the same idempotency key.";
  return status === 422 && !NOT_STORED.has(code)
    ? "The response is stored with the idempotency key. Use a new key for the next request."
    : "Change the request before you send it again. You can use the same idempotency key.";
}
