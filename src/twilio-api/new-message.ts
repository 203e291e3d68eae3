/** The request of Twilio that sends a message, as a request of ours. Every parameter of Twilio's document is accepted, or refused by name. */
import { isDateTime } from "../lib/time.ts";
import type { Channel } from "../links/channel.ts";
import { isPossibleNumber, type Recipient } from "../model/phone-number.ts";
import type { NewMessage } from "../messages/new-message.ts";
import { twilioProblem, unsupported } from "./errors.ts";
import { requireKnown, valueOf, type TwilioParameters } from "./forms.ts";

export type TwilioMessage = {
  request: NewMessage;
  /** The files of the message, which are fetched before it is accepted. */
  mediaUrl: string | undefined;
  statusCallback: string | undefined;
  /** The messaging service that chooses the sender. */
  serviceSid: string | undefined;
};

const SINGLE = new Set([
  "To",
  "From",
  "MessagingServiceSid",
  "Body",
  "StatusCallback",
  "ValidityPeriod",
  "ScheduleType",
  "SendAt",
  "ContentSid",
  "ContentVariables",
]);
const LISTS = new Set(["MediaUrl"]);

/** Parameters that are accepted with the values that ask for nothing: their default, or what this service does in any case. */
const WITHOUT_EFFECT: Readonly<Record<string, RegExp>> = {
  // Twilio itself has ignored the highest price since June 2024.
  MaxPrice: /^/,
  ProvideFeedback: /^false$/i,
  Attempt: /^1$/,
  ForceDelivery: /^false$/i,
  ContentRetention: /^retain$/i,
  AddressRetention: /^retain$/i,
  SmartEncoded: /^false$/i,
  ShortenUrls: /^false$/i,
  SendAsMms: /^false$/i,
  RiskCheck: /^disable$/i,
};
const KNOWN = new Set([...SINGLE, ...Object.keys(WITHOUT_EFFECT)]);

// Twilio's default, and its longest.
const MAX_VALIDITY_SECONDS = 36_000;
// Twilio allows ten. Links carry one.
const MAX_MEDIA = 1;

export function readNewMessage(parameters: TwilioParameters, nowMs: number): TwilioMessage {
  requireKnown(parameters, KNOWN, LISTS);
  const refused = Object.entries(WITHOUT_EFFECT).filter(
    ([name, accepted]) => !accepted.test(valueOf(parameters, name) ?? "") && parameters.has(name),
  );
  if (refused.length > 0) throw unsupported(refused.map(([name]) => name));
  if (parameters.has("ContentSid") || parameters.has("ContentVariables")) throw twilioProblem(21655, CONTENT_SID);
  const { channel, address: recipient } = readRecipient(valueOf(parameters, "To"));
  const { sender, serviceSid } = readSender(parameters, channel);
  const mediaUrls = (parameters.get("MediaUrl") ?? []).filter((url) => url !== "");
  if (mediaUrls.length > MAX_MEDIA) throw twilioProblem(21623, `At most ${MAX_MEDIA} media file can be sent with a message here`);
  const body = readBody(valueOf(parameters, "Body"), mediaUrls.length > 0);
  const sendAt = readSendAt(parameters, serviceSid, nowMs);
  return {
    request: {
      recipient,
      channel,
      ...(body === undefined ? {} : { body }),
      ...(sender === undefined ? {} : { sender }),
      ...(sendAt === undefined ? {} : { send_at: sendAt }),
      ttl_seconds: readValidity(valueOf(parameters, "ValidityPeriod")),
    },
    mediaUrl: mediaUrls[0],
    statusCallback: valueOf(parameters, "StatusCallback"),
    serviceSid,
  };
}

const CONTENT_SID = "Contents of Twilio are not known here: send Body, or use the templates of POST /v1/messages";

const WHATSAPP = "whatsapp:";

type Address = { channel: Channel; address: string };

/** Twilio writes the channel in front of the addresses of WhatsApp. */
export const readAddress = (text: string): Address =>
  text.startsWith(WHATSAPP) ? { channel: "whatsapp", address: text.slice(WHATSAPP.length) } : { channel: "sms", address: text };

export const writeAddress = (channel: string, address: string): string => (channel === "whatsapp" ? WHATSAPP + address : address);

const E164 = /^\+[1-9]\d{6,14}$/;

/** Whether a text is a number that a message can be sent to. */
export const isPhoneNumber = (address: string): address is Recipient => E164.test(address) && isPossibleNumber(address);

function readRecipient(to: string | undefined): Address & { address: Recipient } {
  if (to === undefined) throw twilioProblem(21604);
  const { channel, address } = readAddress(to);
  if (!isPhoneNumber(address)) throw twilioProblem(21211);
  return { channel, address };
}

const SENDER = /^(\+[1-9]\d{6,14}|\d{3,8}|(?=.*[A-Za-z])[A-Za-z0-9 ._&-]{1,11})$/;
const SERVICE_SID = /^MG[0-9a-f]{32}$/i;

/** Twilio takes the SID of a messaging service in place of a number, too. */
function readSender(parameters: TwilioParameters, channel: Channel): { sender: string | undefined; serviceSid: string | undefined } {
  const from = valueOf(parameters, "From");
  const named = valueOf(parameters, "MessagingServiceSid");
  if (named !== undefined && !SERVICE_SID.test(named)) throw twilioProblem(21701);
  if (from === undefined && named === undefined) throw twilioProblem(21603);
  if (from === undefined) return { sender: undefined, serviceSid: named };
  if (named === undefined && SERVICE_SID.test(from)) return { sender: undefined, serviceSid: from };
  const sender = readAddress(from);
  if (sender.channel !== channel) throw twilioProblem(21910);
  if (!SENDER.test(sender.address)) throw twilioProblem(21212);
  return { sender: sender.address, serviceSid: named };
}

const MAX_BODY = 1_600;

function readBody(body: string | undefined, hasMedia: boolean): string | undefined {
  if (body === undefined && !hasMedia) throw twilioProblem(21602);
  if (body !== undefined && body.length > MAX_BODY && Array.from(body).length > MAX_BODY) throw twilioProblem(21617);
  return body;
}

function readValidity(text: string | undefined): number {
  if (text === undefined) return MAX_VALIDITY_SECONDS;
  const seconds = /^\d{1,6}$/.test(text) ? Number(text) : 0;
  if (seconds < 1 || seconds > MAX_VALIDITY_SECONDS) throw twilioProblem(21624);
  return seconds;
}

const ISO_TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?(Z|[+-]\d\d:?\d\d)$/;
const MIN_AHEAD_MS = 300_000;
const MAX_AHEAD_MS = 35 * 24 * 3_600_000;

/** Twilio sends a message at once whose request has a time without a schedule type, or no messaging service. That is refused here. */
function readSendAt(parameters: TwilioParameters, serviceSid: string | undefined, nowMs: number): string | undefined {
  const type = valueOf(parameters, "ScheduleType");
  const text = valueOf(parameters, "SendAt");
  if (type === undefined && text === undefined) return undefined;
  if (type !== "fixed") throw twilioProblem(35126);
  if (text === undefined) throw twilioProblem(35111);
  if (serviceSid === undefined) throw twilioProblem(35118);
  const aheadMs =
    (ISO_TIME.test(text) && isDateTime(`${text.slice(0, "2030-01-31".length)}T00:00:00Z`) ? Date.parse(text) : Number.NaN) - nowMs;
  if (!(aheadMs >= MIN_AHEAD_MS && aheadMs <= MAX_AHEAD_MS)) throw twilioProblem(35114);
  return new Date(nowMs + aheadMs).toISOString();
}
