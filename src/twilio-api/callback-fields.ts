/** The fields of the requests to a client: the status of a message, and an inbound message. */
import type { ReadyMedia } from "../media/media.ts";
import type { MessageRecord } from "../messages/message.ts";
import { countryOf, digitsOf, type Recipient } from "../model/phone-number.ts";
import { API_VERSION, twilioErrorOf, sidOfRecord, twilioStatus } from "./message-resource.ts";
import { writeAddress } from "./new-message.ts";
import type { Fields } from "./signature.ts";
import { mediaSid } from "./sids.ts";
import type { SourceDetails } from "./source-details.ts";

const addressesOf = ({ channel, sender, recipient }: MessageRecord): { From: string; To: string } => ({
  From: sender === null ? "" : writeAddress(channel, sender),
  To: writeAddress(channel, recipient),
});

export function statusFields(record: MessageRecord, accountSid: string, { service }: SourceDetails): Fields {
  const sid = sidOfRecord(record);
  const status = twilioStatus(record);
  const error = twilioErrorOf(record);
  return {
    ...addressesOf(record),
    AccountSid: accountSid,
    ApiVersion: API_VERSION,
    MessageSid: sid,
    MessageStatus: status,
    SmsSid: sid,
    SmsStatus: status,
    ...(service === undefined ? {} : { MessagingServiceSid: service }),
    ...(error === null ? {} : { ErrorCode: String(error.code), ErrorMessage: error.message }),
  };
}

/** `files`: those that can be read. `baseUrl`: the URL of this API as the client knows it. Without it, files have no URLs. */
export function inboundFields(record: MessageRecord, accountSid: string, files: readonly ReadyMedia[], baseUrl: string | null): Fields {
  const sid = sidOfRecord(record);
  return {
    ...addressesOf(record),
    AccountSid: accountSid,
    ApiVersion: API_VERSION,
    Body: record.body ?? "",
    MessageSid: sid,
    NumMedia: String(files.length),
    NumSegments: String(record.segments?.count ?? 1),
    SmsMessageSid: sid,
    SmsSid: sid,
    SmsStatus: "received",
    ...countryField("FromCountry", record.sender),
    ...countryField("ToCountry", record.recipient),
    ...(record.channel === "whatsapp" && record.sender?.startsWith("+") ? { WaId: digitsOf(record.sender as Recipient) } : {}),
    ...contentFields(record),
    ...mediaFields(files, baseUrl && `${baseUrl}/${API_VERSION}/Accounts/${accountSid}/Messages/${sid}/Media`),
  };
}

function countryField(name: string, number: string | null): Fields {
  const country = number?.startsWith("+") ? countryOf(number as Recipient) : undefined;
  return country === undefined ? {} : { [name]: country };
}

function contentFields({ content }: MessageRecord): Fields {
  if (content?.type === "reply" && content.kind !== "list")
    return { ...field("ButtonPayload", content.id), ...field("ButtonText", content.title), MessageType: "button" };
  if (content?.type === "reply")
    return { ...field("ListId", content.id), ...field("ListTitle", content.title), MessageType: "interactive" };
  if (content?.type !== "location") return {};
  const { latitude, longitude, name, address } = content;
  return { Latitude: String(latitude), Longitude: String(longitude), ...field("Label", name), ...field("Address", address) };
}

const field = (name: string, value: string | null): Fields => (value === null ? {} : { [name]: value });

function mediaFields(files: readonly ReadyMedia[], below: string | null): Fields {
  const fields = files.flatMap(({ id, contentType }, index): [string, string][] => [
    [`MediaContentType${index}`, contentType],
    ...(below === null ? [] : [[`MediaUrl${index}`, `${below}/${mediaSid(id)}`] as [string, string]]),
  ]);
  return Object.fromEntries(fields);
}
