/** One attempt at an endpoint: signs and sends the event, and decides by the response how the delivery is settled. */
import { eventText } from "../events/event.ts";
import { encodeId } from "../model/id.ts";
import { isoTime } from "../lib/time.ts";
import { uuidTimeMs } from "../lib/uuid.ts";
import { parseBoundedUrl } from "../lib/urls.ts";
import { childOf, traceHeaders, type Trace } from "../lib/trace.ts";
import { describeFailure, timedOut } from "../outbound/failure.ts";
import type { HttpClient, HttpFailure, HttpOutcome, HttpRequest, HttpResponse } from "../outbound/http-client.ts";
import type { Clock } from "../database/database-clock.ts";
import type { Attributes, Span, Tracing } from "../tracing/tracing.ts";
import { VERSION } from "../version.ts";
import type { DeliveryAttempt } from "./delivery-record.ts";
import type { Endpoint } from "./endpoint.ts";
import type { Settlement } from "./queries.ts";
import type { ClaimedRow } from "./queue.ts";
import { retryDelayMs } from "./schedule.ts";
import type { Signed, Signer } from "./signature.ts";

/** One event for one endpoint, claimed by this process. */
export type ClaimedDelivery = { row: ClaimedRow & { type: string; record: string }; endpoint: Endpoint };

/** Calls an endpoint in the form of a compatible API: its own method, URL, headers and body for the event. Undefined if the event concerns no
 *  client of that API: the delivery ends without an attempt. All calls of an attempt share its time limit; what a form still does after that must do
 *  nothing a second time when the attempt is repeated. `mayWait`: the form may return that the call must wait. */
export type CallbackForm = (
  delivery: ClaimedDelivery,
  call: (request: HttpRequest) => Promise<HttpOutcome>,
  mayWait: boolean,
) => Promise<HttpOutcome | UnusableResponse | NotYet | undefined>;

/** The call must wait for something, such as a file that is being downloaded. No attempt is counted. */
export type NotYet = { kind: "not_yet" };

// After each wait the event is twice as old, so there are about ten looks until the end.
const LEAST_WAIT_MS = 1_000;
const LAST_WAIT_MS = 600_000;

/** A response whose instructions cannot be carried out. The client has processed the request, so it is not called again. */
export type UnusableResponse = { kind: "unusable"; response: HttpResponse; error: Error };

/** The forms, by the API. */
export type CallbackForms = ReadonlyMap<string, CallbackForm>;

export type AttemptParts = {
  client: HttpClient;
  /** Calls the clients of compatible APIs. */
  callbackClient?: HttpClient;
  signer: Signer;
  clock: Clock;
  forms?: CallbackForms;
  tracing?: Tracing | undefined;
};

/** The limits of a call. Only the status counts: the call does not wait for a slow or long body, whose first bytes are kept for the record.
 *  The look-up of a name takes up to seven seconds, if a name server is silent. */
export const CALL_LIMITS = { timeoutMs: 15_000, connectMs: 10_000, bodyMs: 1_000, maxBodyBytes: 16_384, keptBytes: 512 };

/** The client of a compatible API may respond with instructions, which are read as a whole. */
export const CALLBACK_LIMITS = { ...CALL_LIMITS, keptBytes: CALL_LIMITS.maxBodyBytes };

const GONE = 410;

/** The outcome of an attempt. Without a reply the endpoint was not called: the event does not concern it, or the call must wait. */
type Attempted = { settlement: Settlement; reply: HttpOutcome | undefined; isGone: boolean };

/** `limitMs`: the time for a callback. Another call has the limits of the client. */
export async function attemptDelivery(
  parts: AttemptParts,
  delivery: ClaimedDelivery,
  { signal, limitMs }: { signal: AbortSignal; limitMs: number },
): Promise<Attempted> {
  const { source } = delivery.endpoint;
  if (source !== null) return attemptCallback(parts, { ...delivery, source }, signal, limitMs);
  const { client, signer, clock, tracing } = parts;
  const { row } = delivery;
  const startedAt = clock.now();
  const span = tracing?.begin(`webhook ${row.type}`, "client", row.trace, attributesOf(delivery));
  const trace = span?.trace ?? (row.trace && childOf(row.trace));
  const request = toRequest(signer, delivery, startedAt, trace);
  const reply = request instanceof Error ? notCalled(request) : await client.call(request, signal);
  span?.end(outcomeOf(reply), !isSuccess(reply));
  return { settlement: settlementOf(delivery, reply, startedAt), reply, isGone: reply.kind === "response" && reply.status === GONE };
}

async function attemptCallback(
  { client, callbackClient = client, clock, forms, tracing }: AttemptParts,
  { source, ...delivery }: ClaimedDelivery & { source: string },
  stop: AbortSignal,
  limitMs: number,
): Promise<Attempted> {
  const { row } = delivery;
  const startedAt = clock.now();
  const form = forms?.get(source);
  if (form === undefined) throw new Error(`this process has no form for callbacks of ${source}`);
  let span: Span | undefined;
  const signal = AbortSignal.any([stop, AbortSignal.timeout(Math.floor(limitMs))]);
  const call = (request: HttpRequest): Promise<HttpOutcome> => {
    span ??= tracing?.begin(`webhook ${row.type}`, "client", row.trace, attributesOf(delivery));
    return callbackClient.call(request, signal);
  };
  const ageMs = startedAt - uuidTimeMs(row.event_id);
  const result = await Promise.race([
    form(delivery, call, ageMs < LAST_WAIT_MS).catch((error: Error) => notCalled(error)),
    endOf(signal, limitMs),
  ]);
  if (result?.kind === "not_yet") return { settlement: waiting(row, ageMs), reply: undefined, isGone: false };
  const reply = result?.kind === "unusable" ? unusable(result) : result;
  if (reply === undefined) return { settlement: settledWithoutAttempt(row, "dropped"), reply, isGone: false };
  span?.end(outcomeOf(reply), !isSuccess(reply));
  // The URL is often that of one message, so 410 says nothing of the others.
  const settlement = result?.kind === "unusable" ? failedBy(delivery, result, startedAt) : settlementOf(delivery, reply, startedAt);
  return { settlement, reply, isGone: false };
}

/** The outcome of an attempt that takes too long. */
const endOf = (signal: AbortSignal, limitMs: number): Promise<HttpOutcome> =>
  new Promise((resolve) => {
    const error = timedOut("the time limit passed before the end of the attempt");
    const end = (): void => resolve({ kind: "no_response", failure: "timeout", error, durationMs: Math.round(limitMs) });
    if (signal.aborted) end();
    else signal.addEventListener("abort", end, { once: true });
  });

const unusable = ({ response: { durationMs }, error }: UnusableResponse): HttpOutcome => ({
  kind: "no_response",
  failure: "invalid_response",
  error,
  durationMs,
});

function failedBy({ row }: ClaimedDelivery, { response }: UnusableResponse, startedAtMs: number): Settlement {
  const attempt: DeliveryAttempt = { ...toAttempt(response, startedAtMs), error: "invalid_response" };
  return { row, attempts: row.attempts + 1, attempt: JSON.stringify([attempt]), outcome: "failed", delayMs: null };
}

/** The request, or the error of a stored endpoint that cannot be called: another release or a person has written its URL or its secret. */
function toRequest(signer: Signer, { row, endpoint }: ClaimedDelivery, startedAtMs: number, trace: Trace | null): HttpRequest | Error {
  const url = parseBoundedUrl(endpoint.url);
  if (url === null) return new Error("the stored URL of the endpoint cannot be read");
  const id = encodeId("evt", row.event_id);
  const body = eventText({ ...row, id: row.event_id });
  const timestamp = String(Math.floor(startedAtMs / 1_000));
  const signature = trySign(signer, endpoint, { id, timestamp, body });
  if (signature instanceof Error) return signature;
  return {
    origin: url.origin,
    path: url.pathname + url.search,
    method: "POST",
    headers: {
      "content-type": "application/json",
      "user-agent": `Godwit/${VERSION}`,
      "webhook-id": id,
      "webhook-timestamp": timestamp,
      "webhook-signature": signature,
      ...(trace && traceHeaders(trace)),
    },
    body,
  };
}

function trySign(signer: Signer, endpoint: Endpoint, signed: Signed): string | Error {
  try {
    return signer.sign(endpoint, signed);
  } catch (cause) {
    return new Error("the stored secret of the endpoint cannot be opened", { cause });
  }
}

const notCalled = (error: Error): HttpOutcome => ({ kind: "unreachable", failure: "connection_failed", error, durationMs: 0 });

/** The attributes of the span. They hold neither the URL nor the response, which belong to the customer. */
const attributesOf = ({ row, endpoint }: ClaimedDelivery): Attributes => ({
  "godwit.event_id": encodeId("evt", row.event_id),
  "godwit.event_type": row.type,
  "godwit.endpoint_id": encodeId("whe", endpoint.id),
  "godwit.attempt": row.attempts + 1,
  "http.request.method": "POST",
});

const outcomeOf = (reply: HttpOutcome): Attributes =>
  reply.kind === "response" ? { "http.response.status_code": reply.status } : { "error.type": reply.failure };

/** Only 2xx is a success. Everything else is a failure, also a redirection; after 410 the delivery is not retried. */
export const isSuccess = (reply: HttpOutcome): boolean => reply.kind === "response" && reply.status >= 200 && reply.status < 300;

function settlementOf({ row }: ClaimedDelivery, reply: HttpOutcome, startedAtMs: number): Settlement {
  const attempts = row.attempts + 1;
  const settlement = { row, attempts, attempt: JSON.stringify([toAttempt(reply, startedAtMs)]) };
  if (isSuccess(reply)) return { ...settlement, outcome: "succeeded", delayMs: null };
  const isAnswered = reply.kind === "response";
  if (isAnswered && reply.status === GONE) return { ...settlement, outcome: "failed", delayMs: null };
  const delayMs = retryDelayMs(attempts, isAnswered ? reply.retryAfterMs : null) ?? null;
  return { ...settlement, outcome: delayMs === null ? "failed" : "later", delayMs };
}

function waiting(row: ClaimedRow, ageMs: number): Settlement {
  const delayMs = Math.max(LEAST_WAIT_MS, Math.min(ageMs, LAST_WAIT_MS - ageMs));
  return { row, outcome: "later", delayMs, attempts: row.attempts, attempt: "[]" };
}

/** The settlement without an attempt: `failed` because the endpoint is disabled, `dropped` because the endpoint or the event does not exist
 *  any more. */
export const settledWithoutAttempt = (row: ClaimedRow, outcome: "failed" | "dropped"): Settlement => ({
  row,
  outcome,
  delayMs: null,
  attempts: row.attempts,
  attempt: "[]",
});

const toAttempt = (reply: HttpOutcome, startedAtMs: number): DeliveryAttempt => ({
  attempted_at: isoTime(startedAtMs),
  duration_ms: reply.durationMs,
  response_status: reply.kind === "response" ? reply.status : null,
  response_body: reply.kind === "response" ? readable(reply.text.slice(0, CALL_LIMITS.keptBytes)) : null,
  error: reply.kind === "response" ? null : reply.failure,
});

/** The text for the record. PostgreSQL cannot store NUL. */
const readable = (text: string): string => text.replaceAll(/[\p{Cc}\uFFFD]+/gu, " ").trim();

/** Whether the event of the delivery still exists. */
export const hasEvent = (row: ClaimedRow): row is ClaimedDelivery["row"] => row.type !== null && row.record !== null;

// The record of a message begins with its id.
const RECORD_ID = /^\{"id":"(msg_[0-9a-z]{26})"/;

/** The endpoint, the event, and the message that the event is about. */
export function subjectOf({ row, endpoint }: ClaimedDelivery): object {
  const messageId = RECORD_ID.exec(row.record ?? "")?.[1];
  return {
    endpoint: encodeId("whe", endpoint.id),
    event_id: encodeId("evt", row.event_id),
    ...(messageId === undefined ? {} : { message_id: messageId }),
  };
}

export const explain = (delivery: ClaimedDelivery, { failure, error, durationMs }: HttpFailure): object => ({
  ...subjectOf(delivery),
  failure,
  cause: describeFailure(error),
  ms: durationMs,
});
