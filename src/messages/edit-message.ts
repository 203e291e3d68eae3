/** The request to edit a scheduled message, and what it makes of the message. */
import { Problem, type Fault } from "../http/problem.ts";
import { Type, type Static } from "../http/schema.ts";
import { PRIORITY_RANK, type QueueMove } from "../queue/place.ts";
import { countedOf, type Counted } from "../usage/usage.ts";
import { MAX_RECORD_BYTES, toRecord, type Message } from "./message.ts";
import { MAX_BODY, NewMessageBody, sendAtFaults, tooLarge, tooManySegments } from "./new-message.ts";
import { segmentsOf } from "./segments.ts";

const { body, template_variables, metadata, send_at, ttl_seconds, priority } = NewMessageBody.properties;

export const EditMessageBody = Type.Object(
  { send_at, body, template_variables, metadata, ttl_seconds, priority },
  { title: "EditMessage", additionalProperties: false, description: "What is absent or null stays as it is." },
);
export type EditMessage = Static<typeof EditMessageBody>;

export function checkEditMessage(request: Readonly<Record<string, unknown>>): Fault[] {
  const isEmpty = Object.values(request).every((value) => value === null || value === undefined);
  if (isEmpty) return [{ pointer: "", code: "required", detail: "names nothing to change" }];
  return typeof request["send_at"] === "string" ? sendAtFaults(request["send_at"]) : [];
}

type Edited = { message: Message; move: QueueMove; countedBefore: Counted };

/** The message as it will be, its place in the queue, and where it counted; or why not. */
export function applyEdit(before: Message, request: EditMessage, nowMs: number): Edited | Problem {
  const text = request.body ?? before.body;
  const segments = before.channel === "sms" && text !== null ? segmentsOf(text) : null;
  const refusal = findRefusal(before, request, text, segments?.count ?? 0);
  if (refusal !== undefined) return refusal;
  // A time that has passed means now, and is now: the time to live is what lies between it and the end.
  const sendAtMs = typeof request.send_at === "string" ? Math.max(Date.parse(request.send_at), nowMs) : (before.sendAtMs ?? nowMs);
  const ttlMs = request.ttl_seconds ? request.ttl_seconds * 1_000 : (before.expiresAtMs ?? 0) - (before.sendAtMs ?? 0);
  const message: Message = {
    ...before,
    body: text,
    segments,
    metadata: request.metadata ?? before.metadata,
    priority: request.priority ?? before.priority,
    sendAtMs,
    expiresAtMs: sendAtMs + ttlMs,
  };
  if (Buffer.byteLength(JSON.stringify(toRecord(message))) > MAX_RECORD_BYTES) throw tooLarge();
  const move: QueueMove = {
    kind: "wait",
    state: "waiting",
    atMs: sendAtMs,
    priority: PRIORITY_RANK[message.priority],
    expiresAtMs: message.expiresAtMs ?? sendAtMs,
  };
  return { message, move, countedBefore: countedOf(before) };
}

function findRefusal(before: Message, request: EditMessage, text: string | null, count: number): Problem | undefined {
  if (before.channel === "sms" && Array.from(text ?? "").length > MAX_BODY.sms) {
    const detail = `must have at most ${MAX_BODY.sms} characters on sms`;
    throw new Problem("invalid_request_payload", { errors: [{ pointer: "/body", code: "too_long", detail }] });
  }
  if (request.template_variables) {
    const detail = "is not supported by this version";
    return new Problem("feature_not_available", { errors: [{ pointer: "/template_variables", code: "feature_not_available", detail }] });
  }
  return before.maxSegments !== null && count > before.maxSegments ? tooManySegments(count, before.maxSegments, "/body") : undefined;
}
