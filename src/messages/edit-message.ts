/** The request to edit a scheduled message, and its effect on the message. */
import { Problem, type Fault } from "../http/problem.ts";
import { HINT, Type, type Static } from "../http/schema.ts";
import { segmentsOf, type SegmentRules } from "../model/segments.ts";
import { MAX_BODY } from "../links/channel.ts";
import { MAX_RECORD_BYTES, messageRecord, type Message, type Content } from "./message.ts";
import { messageTooLarge, NewMessageBody, sendAtFaults, tooManySegments } from "./new-message.ts";
import { PRIORITY_RANK, type QueueMove } from "./queue-entry.ts";

const { body, template_variables, metadata, send_at, ttl_seconds, priority } = NewMessageBody.properties;

/** Explains that an edit cannot change a field of messages. Empty for any other name. */
function explainFixed(name: string): string {
  if (name === "status") return "cannot be changed: use POST /v1/messages/{id}/cancel";
  return Object.hasOwn(NewMessageBody.properties, name) ? "cannot be changed: cancel the message and send another" : "";
}

export const EditMessageBody = Type.Object(
  { send_at, body, template_variables, metadata, ttl_seconds, priority },
  {
    title: "EditMessage",
    additionalProperties: false,
    description: "The fields to change. Fields that are absent or null stay unchanged.",
    [HINT]: explainFixed,
  },
);
export type EditMessage = Static<typeof EditMessageBody>;

export function checkEditMessage(request: Readonly<Record<string, unknown>>): Fault[] {
  const isEmpty = Object.values(request).every((value) => value === null || value === undefined);
  if (isEmpty) return [{ pointer: "", code: "required", detail: "must contain at least one field to change" }];
  return typeof request["send_at"] === "string" ? sendAtFaults(request["send_at"]) : [];
}

/** `segmentRules` belongs to the link that the message would use now; undefined if there is none. */
type EditContext = { nowMs: number; segmentRules: SegmentRules | undefined };
type Edited = { message: Message; move: QueueMove };

/** Returns the edited message and the change of its queue entry, or the problem that prevents the edit. */
export function applyMessageEdit(
  before: Message,
  request: EditMessage,
  content: Content | Problem,
  { nowMs, segmentRules }: EditContext,
): Edited | Problem {
  const faults = editFaults(before, request);
  if (faults.length > 0) throw new Problem("invalid_request_payload", { errors: faults });
  if (content instanceof Problem) return content;
  const segments = before.channel === "sms" && before.content === null ? segmentsOf(content.body, segmentRules) : null;
  const count = segments?.count ?? 0;
  if (before.maxSegments !== null && count > before.maxSegments)
    return tooManySegments(count, before.maxSegments, request.template_variables ? "/template_variables" : "/body");
  // A time in the past is replaced by the current time, since the time to live counts from it.
  const sendAtMs = typeof request.send_at === "string" ? Math.max(Date.parse(request.send_at), nowMs) : (before.sendAtMs ?? nowMs);
  const ttlMs = request.ttl_seconds ? request.ttl_seconds * 1_000 : (before.expiresAtMs ?? 0) - (before.sendAtMs ?? 0);
  const message: Message = {
    ...before,
    ...content,
    // A file without a caption, such as a sticker, has no text.
    body: content.body === "" ? before.body : content.body,
    segments,
    metadata: request.metadata ?? before.metadata,
    priority: request.priority ?? before.priority,
    sendAtMs,
    expiresAtMs: sendAtMs + ttlMs,
  };
  if (Buffer.byteLength(JSON.stringify(messageRecord(message))) > MAX_RECORD_BYTES) throw messageTooLarge();
  const move: QueueMove = {
    kind: "wait",
    state: "waiting",
    atMs: sendAtMs,
    priority: PRIORITY_RANK[message.priority],
    expiresAtMs: message.expiresAtMs ?? sendAtMs,
  };
  return { message, move };
}

/** The faults of fields that do not fit the message. */
function editFaults({ channel, template, content }: Message, { body: text, template_variables: variables }: EditMessage): Fault[] {
  const faults: Fault[] = [];
  if (typeof text === "string" && template !== null)
    faults.push({ pointer: "/body", code: "conflict", detail: "the message uses a template: change template_variables instead" });
  else if (typeof text === "string" && content !== null)
    faults.push({
      pointer: "/body",
      code: "conflict",
      detail: "the message has a content, whose text cannot be changed: cancel it and send another",
    });
  else if (typeof text === "string" && channel === "sms" && Array.from(text).length > MAX_BODY.sms)
    faults.push({ pointer: "/body", code: "too_long", detail: `must have at most ${MAX_BODY.sms} characters on sms` });
  if (variables && template === null)
    faults.push({ pointer: "/template_variables", code: "conflict", detail: "the message does not use a template: change body instead" });
  return faults;
}
