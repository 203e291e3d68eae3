/** The contents that each provider carries on each channel. A text is carried by all of them. docs/content.md shows this table. */
import { MEDIA_KINDS, type MediaKind, type SentContent } from "../model/content.ts";
import { groupDigits } from "../lib/group-digits.ts";
import type { ProviderName } from "../providers/providers.ts";
import type { Channel } from "./channel.ts";

/** The types and the size of a kind of file. A type that ends with a slash stands for all types that begin with it; an empty list for all. */
type FileRule = { types: readonly string[]; maxBytes: number };

type Carried = {
  files: Partial<Record<MediaKind, FileRule>>;
  /** `captions`: the kinds of files that can have a caption. */
  captions: readonly MediaKind[];
  /** The contents without a file. */
  others: readonly Exclude<SentContent["type"], "media">[];
  /** Whether a message can quote an earlier one. */
  quotes: boolean;
};

const MB = 1_048_576;

// The limits of the WhatsApp Cloud API.
const WHATSAPP_FILES: Carried["files"] = {
  image: { types: ["image/jpeg", "image/png"], maxBytes: 5 * MB },
  audio: { types: ["audio/aac", "audio/amr", "audio/mpeg", "audio/mp4", "audio/ogg"], maxBytes: 16 * MB },
  video: { types: ["video/mp4", "video/3gpp"], maxBytes: 16 * MB },
  document: { types: [], maxBytes: 100 * MB },
  sticker: { types: ["image/webp"], maxBytes: 500 * 1_024 },
};

// Twilio's limits of an MMS. It fits pictures to the device, and sends other files on as they are, which carriers show as attachments, or not at all.
const OTHER_MMS = 500 * 1_024;
const MMS_FILES: Carried["files"] = {
  image: { types: ["image/jpeg", "image/png", "image/gif"], maxBytes: 5 * MB },
  audio: { types: ["audio/"], maxBytes: OTHER_MMS },
  video: { types: ["video/"], maxBytes: OTHER_MMS },
  document: { types: ["application/pdf", "text/vcard", "text/csv", "text/plain", "text/calendar"], maxBytes: OTHER_MMS },
};

const WHATSAPP: Carried = {
  files: WHATSAPP_FILES,
  captions: ["image", "video", "document"],
  others: ["buttons", "list", "location", "contacts", "reaction", "template"],
  quotes: true,
};
const MMS: Carried = { files: MMS_FILES, captions: MEDIA_KINDS, others: [], quotes: false };
const CARRIED: Readonly<Record<Channel, Partial<Record<ProviderName, Carried>>>> = {
  sms: { simulator: MMS, twilio: MMS },
  whatsapp: { simulator: WHATSAPP, whatsapp: WHATSAPP },
};

/** The kinds of content of a message, as far as a link must carry them. `file` is undefined for a content without one. */
export type Need = { type: SentContent["type"] | "text"; kind?: MediaKind | undefined; hasCaption?: boolean; isQuote?: boolean };

/** Why no link of the channel can carry a content; undefined if one can. */
export function channelFault(channel: Channel, need: Need): string | undefined {
  const faults = Object.values(CARRIED[channel]).map((carried) => faultOf(carried, need));
  return faults.every((fault) => fault !== undefined) ? `cannot be sent on ${channel}: ${faults[0] ?? ""}` : undefined;
}

/** Why a link of the provider cannot carry a content on the channel; undefined if it can. */
export function providerFault(provider: ProviderName, channel: Channel, need: Need): string | undefined {
  if (need.type === "text" && need.isQuote !== true) return undefined;
  const carried = CARRIED[channel][provider];
  return carried === undefined ? `links of the provider ${provider} carry texts only` : faultOf(carried, need);
}

function faultOf({ files, captions, others, quotes }: Carried, { type, kind, hasCaption, isQuote }: Need): string | undefined {
  if (isQuote === true && !quotes) return "it has no replies to a certain message";
  if (kind !== undefined && files[kind] === undefined) return `it has no ${kind}`;
  if (type === "text") return undefined;
  if (type === "media")
    return hasCaption === true && kind !== undefined && !captions.includes(kind) ? `a ${kind} has no caption there` : undefined;
  return others.includes(type) ? undefined : `it has no ${type}`;
}

/** The most bytes of a file of this kind, on the channel that takes the largest. */
export const largestFile = (kind: MediaKind): number =>
  Math.max(...Object.values(CARRIED).flatMap((providers) => Object.values(providers).map(({ files }) => files[kind]?.maxBytes ?? 0)));

/** Why a file cannot be sent as this kind by any link of the channel; undefined if it can. */
export function fileFault(channel: Channel, kind: MediaKind, file: { contentType: string; bytes: number }): string | undefined {
  const rules = Object.values(CARRIED[channel]).flatMap(({ files }) => files[kind] ?? []);
  const faults = rules.map((rule) => ruleFault(rule, kind, file));
  return faults.every((fault) => fault !== undefined) ? faults[0] : undefined;
}

/** Why a link of the provider cannot send a file as this kind; undefined if it can. */
export function providerFileFault(
  provider: ProviderName,
  channel: Channel,
  kind: MediaKind,
  file: { contentType: string; bytes: number },
): string | undefined {
  const rule = CARRIED[channel][provider]?.files[kind];
  return rule === undefined ? `links of the provider ${provider} carry no ${kind}` : ruleFault(rule, kind, file);
}

function ruleFault(
  { types, maxBytes }: FileRule,
  kind: MediaKind,
  { contentType, bytes }: { contentType: string; bytes: number },
): string | undefined {
  const isKnown = types.length === 0 || types.some((type) => (type.endsWith("/") ? contentType.startsWith(type) : contentType === type));
  if (!isKnown) return `is ${contentType}: ${kind} may be ${types.map((type) => (type.endsWith("/") ? `${type}*` : type)).join(", ")}`;
  return bytes > maxBytes ? `has ${groupDigits(bytes)} bytes: ${kind} may have ${groupDigits(maxBytes)}` : undefined;
}
