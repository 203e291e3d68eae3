/** A message as Twilio's API shows it. It is made of our record, which events and stored responses contain as well. */
import type { MessageRecord } from "../messages/message.ts";
import { decodeId, type MessageId } from "../model/id.ts";
import { mediaOf, type MediaReference } from "../model/content.ts";
import { toDeliveryError } from "./delivery-errors.ts";
import { writeAddress } from "./new-message.ts";
import { messageSid } from "./sids.ts";
import type { SourceDetails } from "./source-details.ts";

export const API_VERSION = "2010-04-01";

/** RFC 2822, as Twilio writes times. */
export const rfc2822 = (time: string): string => new Date(time).toUTCString().replace(/GMT$/, "+0000");
const timeOrNull = (time: string | null): string | null => (time === null ? null : rfc2822(time));

/** The files of a message. An inbound message can have several. */
export function filesOfRecord(record: Pick<MessageRecord, "content">): readonly MediaReference[] {
  const { content } = record;
  const first = mediaOf(content);
  if (first === undefined) return [];
  return content?.type === "media" && content.further_media !== undefined ? [first, ...content.further_media] : [first];
}

/** Twilio has no status for a message that was not delivered in time. */
const STATUSES: Readonly<Record<string, string>> = { expired: "undelivered" };

/** The status by Twilio's name. A message that never left is `failed`. */
export function twilioStatus({ status, error }: Pick<MessageRecord, "status" | "error">): string {
  if (status === "expired" && error?.code === "ttl_expired") return "failed";
  return STATUSES[status] ?? status;
}

export const sidOfRecord = (record: Pick<MessageRecord, "id" | "content">): string =>
  messageSid(idOfRecord(record), filesOfRecord(record).length > 0);

function idOfRecord({ id: text }: Pick<MessageRecord, "id">): MessageId {
  const id = decodeId("msg", text);
  if (id === undefined) throw new Error("a record has the id of a message");
  return id;
}

/** The error by Twilio's code. Only a message that was not delivered has one. */
export function twilioErrorOf({ status, error, provider }: MessageRecord): { code: number; message: string } | null {
  return error === null || !["failed", "undelivered", "expired"].includes(status) ? null : toDeliveryError(error, provider?.name);
}

function directionOf({ direction, in_reply_to: replyTo }: MessageRecord, { isReply }: SourceDetails): string {
  if (direction === "inbound") return "inbound";
  return replyTo === null && isReply !== true ? "outbound-api" : "outbound-reply";
}

export type MessageResource = ReturnType<typeof messageResource>;

export function messageResource(record: MessageRecord, accountSid: string, details: SourceDetails = {}) {
  const sid = sidOfRecord(record);
  const uri = `/${API_VERSION}/Accounts/${accountSid}/Messages/${sid}`;
  const error = twilioErrorOf(record);
  const { channel, sender, recipient, segments } = record;
  return {
    body: record.body ?? "",
    num_segments: String(segments?.count ?? 1),
    direction: directionOf(record, details),
    from: sender === null ? null : writeAddress(channel, sender),
    to: writeAddress(channel, recipient),
    date_updated: rfc2822(record.updated_at),
    price: null,
    error_message: error?.message ?? null,
    uri: `${uri}.json`,
    account_sid: accountSid,
    num_media: String(filesOfRecord(record).length),
    status: twilioStatus(record),
    messaging_service_sid: details.service ?? null,
    sid,
    date_sent: timeOrNull(record.direction === "inbound" ? record.created_at : record.sent_at),
    date_created: rfc2822(record.created_at),
    error_code: error?.code ?? null,
    price_unit: null,
    api_version: API_VERSION,
    subresource_uris: { media: `${uri}/Media.json` },
  };
}
