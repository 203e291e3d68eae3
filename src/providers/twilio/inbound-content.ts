/** The content of an inbound message of Twilio: the files of an MMS, a place, or a chosen button. */
import { parseBoundedUrl } from "../../lib/urls.ts";
import type { CarriedContent, CarriedFile, MediaKind } from "../../model/content.ts";
import { detailsOf, parseShort, placeholder } from "../carrier-fields.ts";

// Twilio's limit of media in one message.
const MAX_MEDIA = 10;
// As the longest caption of other carriers. The text of the message is whole in any case.
const MAX_CAPTION_CHARS = 4_096;

/** A message has one content. A second one, such as a place beside a picture, becomes details. */
export function parseInboundContent(form: URLSearchParams): { content?: CarriedContent | undefined; details?: Record<string, string> } {
  const media = toMedia(form);
  const reply = media === undefined ? toReply(form) : undefined;
  const place = media === undefined && reply === undefined ? toPlace(form) : undefined;
  return {
    content: media ?? reply ?? place,
    ...detailsOf({
      ...(reply === undefined ? { payload: form.get("ButtonPayload") } : {}),
      ...(place === undefined
        ? { latitude: form.get("Latitude"), longitude: form.get("Longitude"), name: form.get("Label"), address: form.get("Address") }
        : {}),
    }),
  };
}

/** The kind of a message without text in brackets. Empty if it has no media. */
export const mediaPlaceholder = (form: URLSearchParams): string => {
  const [url, type] = [form.get("MediaUrl0"), form.get("MediaContentType0")];
  return placeholder({ details: { ...(url === null ? {} : { media_url: url }), ...(type === null ? {} : { media_type: type }) } });
};

function toMedia(form: URLSearchParams): CarriedContent | undefined {
  const files = Array.from({ length: MAX_MEDIA }, (_, index): CarriedFile | undefined => {
    const carrierFile = form.get(`MediaUrl${index}`);
    if (carrierFile === null || parseBoundedUrl(carrierFile) === null) return undefined;
    return { kind: kindOf(form.get(`MediaContentType${index}`)), carrierFile, fileName: null };
  });
  const [first, ...further] = files.filter((file) => file !== undefined);
  if (first === undefined) return undefined;
  return { type: "media", caption: parseShort(form.get("Body"), MAX_CAPTION_CHARS), is_voice: false, files: [first, ...further] };
}

function kindOf(mediaType: string | null): MediaKind {
  const [, kind] = /^(image|audio|video)\//.exec(mediaType ?? "") ?? [];
  return (kind as MediaKind | undefined) ?? "document";
}

function toReply(form: URLSearchParams): CarriedContent | undefined {
  const id = parseShort(form.get("ButtonPayload"));
  if (id === null) return undefined;
  return { type: "reply", kind: "button", id, title: parseShort(form.get("ButtonText") ?? form.get("Body")), description: null };
}

function toPlace(form: URLSearchParams): CarriedContent | undefined {
  const [latitude, longitude] = [degrees(form.get("Latitude"), 90), degrees(form.get("Longitude"), 180)];
  if (latitude === undefined || longitude === undefined) return undefined;
  return { type: "location", latitude, longitude, name: parseShort(form.get("Label")), address: parseShort(form.get("Address")) };
}

function degrees(text: string | null, most: number): number | undefined {
  const value = text !== null && /^-?\d{1,3}(\.\d{1,20})?$/.test(text) ? Number(text) : Number.NaN;
  return Math.abs(value) <= most ? value : undefined;
}
