/** Sends one message exactly once: every attempt carries the same idempotency key, so that a repeated request returns the response of
 *  the first one. */
import { backoffMs } from "../lib/backoff.ts";
import { pause } from "../lib/wait.ts";
import type { MessageRecord } from "../messages/message.ts";
import { callApi, type ApiResponse, type ApiResult } from "./api.ts";
import type { ClientConfig } from "./client-config.ts";

export type SendResult =
  | { kind: "accepted"; record: MessageRecord; text: string; isReplayed: boolean }
  | { kind: "refused"; response: ApiResponse }
  /** No attempt has reached the service: the message was not accepted. */
  | { kind: "unreachable"; reason: string }
  /** An attempt may have been accepted, but no response confirms it. */
  | { kind: "unknown"; reason: string };

export type SendOptions = {
  idempotencyKey: string;
  /** Aborts on an interrupt and at the deadline. */
  signal: AbortSignal;
  /** The deadline on the monotonic clock. A wait that would end after it is not started. */
  deadline: number;
  onRetry: (reason: string, afterMs: number) => void;
};

const FIRST_RETRY_MS = 500;
const MAX_RETRY_MS = 8_000;

export async function sendMessage(client: ClientConfig, message: object, options: SendOptions): Promise<SendResult> {
  const { idempotencyKey, signal, deadline, onRetry } = options;
  let mayHaveArrived = false;
  for (let attempts = 1; ; attempts += 1) {
    const result = await callApi(
      client,
      { method: "POST", path: "/v1/messages", body: message, headers: { "idempotency-key": idempotencyKey } },
      signal,
    );
    const final = finalResult(result, mayHaveArrived);
    if (final !== undefined) return final;
    mayHaveArrived ||= mayBeAccepted(result);
    const reason = result.kind === "response" ? describeStatus(result) : result.reason;
    const afterMs = retryAfterMs(result) ?? backoffMs(attempts, FIRST_RETRY_MS, MAX_RETRY_MS);
    if (signal.aborted || performance.now() + afterMs > deadline) return { kind: mayHaveArrived ? "unknown" : "unreachable", reason };
    onRetry(reason, afterMs);
    await pause(afterMs, signal);
    if (signal.aborted) return { kind: mayHaveArrived ? "unknown" : "unreachable", reason };
  }
}

/** Returns the final result, or undefined if another attempt may have a different one. */
function finalResult(result: ApiResult, mayHaveArrived: boolean): SendResult | undefined {
  if (result.kind === "no_response") {
    if (!result.isPermanent) return undefined;
    return { kind: mayHaveArrived ? "unknown" : "unreachable", reason: result.reason };
  }
  const { status, json, text, headers } = result;
  if (status === 202 && json?.["object"] === "message")
    return { kind: "accepted", record: json as MessageRecord, text, isReplayed: headers.get("idempotent-replayed") === "true" };
  if (status === 409 || status === 429 || status >= 500) return undefined;
  // A refused credential does not learn whether the earlier attempt was accepted.
  if (mayHaveArrived && [401, 403, 404].includes(status)) return { kind: "unknown", reason: describeStatus(result) };
  return { kind: "refused", response: result };
}

/** Whether the message may be stored although the response does not confirm it. A 429, and a 503 from the service itself, mean that
 *  nothing was done. Any other 5xx may come from a proxy that lost the response of the service. */
function mayBeAccepted(result: ApiResult): boolean {
  if (result.kind === "no_response") return result.mayHaveArrived;
  return result.status !== 429 && result.json?.["code"] !== "service_unavailable";
}

const describeStatus = ({ status, json }: ApiResponse): string =>
  [status, json?.["code"]].filter((part) => typeof part === "number" || typeof part === "string").join(" ");

/** Returns the wait that the server asks for with Retry-After. */
function retryAfterMs(result: ApiResult): number | undefined {
  const text = result.kind === "response" ? result.headers.get("retry-after") : null;
  return text !== null && /^\d{1,6}$/.test(text) ? Number(text) * 1_000 : undefined;
}
