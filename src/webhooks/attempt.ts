/** One attempt at an endpoint: signs and sends the event, and decides by the response how the delivery is settled. */
import { eventText } from "../events/event.ts";
import { encodeId } from "../model/id.ts";
import { isoTime } from "../lib/time.ts";
import { childOf, traceHeaders } from "../lib/trace.ts";
import type { Attributes, Tracing } from "../tracing/tracing.ts";
import { VERSION } from "../version.ts";
import type { DeliveryAttempt } from "./delivery-record.ts";
import type { Endpoint } from "./endpoint.ts";
import type { Outbound, Reply } from "./outbound.ts";
import type { Settlement } from "./queries.ts";
import type { ClaimedRow } from "./queue.ts";
import { parseRetryAfter, retryDelayMs } from "./schedule.ts";
import type { Signer } from "./signature.ts";

/** One event for one endpoint, claimed by this process. */
export type ClaimedDelivery = { row: ClaimedRow & { type: string; record: string }; endpoint: Endpoint };

export type AttemptParts = { outbound: Outbound; signer: Signer; now: () => number; tracing?: Tracing | undefined };

export type DeliveryAttemptResult = { settlement: Settlement; reply: Reply; isGone: boolean };

const GONE = 410;

export async function attemptDelivery(
  { outbound, signer, now, tracing }: AttemptParts,
  delivery: ClaimedDelivery,
  signal: AbortSignal,
): Promise<DeliveryAttemptResult> {
  const { row, endpoint } = delivery;
  const id = encodeId("evt", row.event_id);
  const body = eventText({ ...row, id: row.event_id });
  const startedAt = now();
  const span = tracing?.begin(`webhook ${row.type}`, "client", row.trace, attributesOf(delivery));
  const trace = span?.trace ?? (row.trace && childOf(row.trace));
  const timestamp = String(Math.floor(startedAt / 1_000));
  const reply = await outbound.post(
    {
      url: new URL(endpoint.url),
      headers: {
        "content-type": "application/json",
        "user-agent": `Godwit/${VERSION}`,
        "webhook-id": id,
        "webhook-timestamp": timestamp,
        "webhook-signature": signer.sign(endpoint, { id, timestamp, body }),
        ...(trace && traceHeaders(trace)),
      },
      body,
    },
    signal,
  );
  span?.end(outcomeOf(reply), !isSuccess(reply));
  return { settlement: settlementOf(delivery, reply, startedAt), reply, isGone: reply.kind === "responded" && reply.status === GONE };
}

/** The attributes of the span. They hold neither the URL nor the response, which belong to the customer. */
const attributesOf = ({ row, endpoint }: ClaimedDelivery): Attributes => ({
  "godwit.event_id": encodeId("evt", row.event_id),
  "godwit.event_type": row.type,
  "godwit.endpoint_id": encodeId("whe", endpoint.id),
  "godwit.attempt": row.attempts + 1,
  "http.request.method": "POST",
});

const outcomeOf = (reply: Reply): Attributes =>
  reply.kind === "responded" ? { "http.response.status_code": reply.status } : { "error.type": reply.failure };

/** Only 2xx is a success. Everything else is a failure, also a redirection; after 410 the delivery is not retried. */
export const isSuccess = (reply: Reply): boolean => reply.kind === "responded" && reply.status >= 200 && reply.status < 300;

function settlementOf({ row, endpoint }: ClaimedDelivery, reply: Reply, startedAtMs: number): Settlement {
  const attempts = row.attempts + 1;
  const settlement = {
    ...deliveryIds({ row, endpoint }),
    attempts,
    attempt: JSON.stringify([toAttempt(reply, startedAtMs)]),
  };
  if (isSuccess(reply)) return { ...settlement, outcome: "succeeded", delayMs: null };
  const isAnswered = reply.kind === "responded";
  if (isAnswered && reply.status === GONE) return { ...settlement, outcome: "failed", delayMs: null };
  const retryAfterMs = isAnswered ? parseRetryAfter(reply.retryAfter, startedAtMs + reply.durationMs) : null;
  const delayMs = retryDelayMs(attempts, retryAfterMs) ?? null;
  return { ...settlement, outcome: delayMs === null ? "failed" : "later", delayMs };
}

/** The settlement of a delivery that is given up without an attempt, because its endpoint is disabled. */
export const abandoned = (delivery: ClaimedDelivery): Settlement => ({
  ...deliveryIds(delivery),
  outcome: "failed",
  delayMs: null,
  attempts: delivery.row.attempts,
  attempt: "[]",
});

/** The settlement of a row whose endpoint or event does not exist any more. */
export const dropped = (row: ClaimedRow): Settlement => ({
  id: row.id,
  accountId: row.account_id,
  environment: row.environment,
  endpointId: row.endpoint_id,
  eventId: row.event_id,
  eventType: row.type ?? "",
  leasedUntilMs: row.leased_until.getTime(),
  outcome: "dropped",
  delayMs: null,
  attempts: row.attempts,
  attempt: "[]",
});

const deliveryIds = ({ row, endpoint }: ClaimedDelivery) => ({
  id: row.id,
  accountId: row.account_id,
  environment: row.environment,
  endpointId: endpoint.id,
  eventId: row.event_id,
  eventType: row.type,
  leasedUntilMs: row.leased_until.getTime(),
});

const toAttempt = (reply: Reply, startedAtMs: number): DeliveryAttempt => ({
  attempted_at: isoTime(startedAtMs),
  duration_ms: reply.durationMs,
  response_status: reply.kind === "responded" ? reply.status : null,
  response_body: reply.kind === "responded" ? reply.text : null,
  error: reply.kind === "failed" ? reply.failure : null,
});
