/** Sends one message, and makes sure that it is one: every try carries the same idempotency key, so that a repeated request gets the
 *  first one's answer. */
import { backoffMs } from "../lib/backoff.ts";
import { pause } from "../lib/wait.ts";
import type { MessageRecord } from "../messages/message.ts";
import { callApi, type Answer, type Answered } from "./api.ts";
import type { ClientConfig } from "./client-config.ts";

export type Sent =
  | { kind: "accepted"; record: MessageRecord; text: string; isReplayed: boolean }
  | { kind: "refused"; answer: Answered }
  /** No try has reached the service: nothing was accepted. */
  | { kind: "unreachable"; reason: string }
  /** A try may have been accepted, and no answer says so. */
  | { kind: "unknown"; reason: string };

export type SendOptions = {
  idempotencyKey: string;
  /** Also when the time is over. */
  signal: AbortSignal;
  /** When that is, on the steady clock: a wait that would go beyond it is not begun. */
  deadline: number;
  onRetry: (reason: string, afterMs: number) => void;
};

const FIRST_RETRY_MS = 500;
const MAX_RETRY_MS = 8_000;

export async function sendMessage(client: ClientConfig, message: object, options: SendOptions): Promise<Sent> {
  const { idempotencyKey, signal, deadline, onRetry } = options;
  let mayHaveArrived = false;
  for (let tries = 1; ; tries += 1) {
    const answer = await callApi(
      client,
      { method: "POST", path: "/v1/messages", body: message, headers: { "idempotency-key": idempotencyKey } },
      signal,
    );
    const settled = settle(answer, mayHaveArrived);
    if (settled !== undefined) return settled;
    mayHaveArrived ||= mayHaveDone(answer);
    const reason = answer.kind === "answered" ? sayStatus(answer) : answer.reason;
    const afterMs = retryAfterMs(answer) ?? backoffMs(tries, FIRST_RETRY_MS, MAX_RETRY_MS);
    if (signal.aborted || performance.now() + afterMs > deadline) return { kind: mayHaveArrived ? "unknown" : "unreachable", reason };
    onRetry(reason, afterMs);
    await pause(afterMs, signal);
    if (signal.aborted) return { kind: mayHaveArrived ? "unknown" : "unreachable", reason };
  }
}

/** The end of it; undefined for what may be different in a moment. */
function settle(answer: Answer, mayHaveArrived: boolean): Sent | undefined {
  if (answer.kind === "unanswered") {
    if (!answer.isHopeless) return undefined;
    return { kind: mayHaveArrived ? "unknown" : "unreachable", reason: answer.reason };
  }
  const { status, json, text, headers } = answer;
  if (status === 202 && json?.["object"] === "message")
    return { kind: "accepted", record: json as MessageRecord, text, isReplayed: headers.get("idempotent-replayed") === "true" };
  if (status === 409 || status === 429 || status >= 500) return undefined;
  // Whoever may not ask is not told what became of the try before.
  if (mayHaveArrived && [401, 403, 404].includes(status)) return { kind: "unknown", reason: sayStatus(answer) };
  return { kind: "refused", answer };
}

/** Whether the message can be on record though the answer does not say so. With 429, and with a 503 of the service itself, nothing was
 *  done; anything else in the 500s may be a proxy's word on an answer that it lost. */
function mayHaveDone(answer: Answer): boolean {
  if (answer.kind === "unanswered") return answer.mayHaveArrived;
  return answer.status !== 429 && answer.json?.["code"] !== "service_unavailable";
}

const sayStatus = ({ status, json }: Answered): string =>
  [status, json?.["code"]].filter((part) => typeof part === "number" || typeof part === "string").join(" ");

/** As the server wants it. */
function retryAfterMs(answer: Answer): number | undefined {
  const text = answer.kind === "answered" ? answer.headers.get("retry-after") : null;
  return text !== null && /^\d{1,6}$/.test(text) ? Number(text) * 1_000 : undefined;
}
