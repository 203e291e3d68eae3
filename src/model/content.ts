/** The content of a message that is more than a text: media, buttons, lists, places, contacts and reactions. These are values of the API: they are stored
 *  and passed on as a record shows them. */

export const MEDIA_KINDS = ["image", "audio", "video", "document", "sticker"] as const;
export type MediaKind = (typeof MEDIA_KINDS)[number];

/** A file of the media store. */
export type MediaReference = { kind: MediaKind; media_id: string; file_name: string | null };

/** A file with a caption. Inbound media may be a voice note, and an inbound MMS may have further files. */
type MediaContent = MediaReference & {
  type: "media";
  caption: string | null;
  is_voice: boolean;
  further_media?: readonly MediaReference[];
};

export type ContentHeader = { type: "text"; text: string } | ({ type: "media" } & MediaReference);

type ContentButton =
  | { type: "reply"; id: string; title: string }
  | { type: "url"; title: string; url: string }
  | { type: "phone"; title: string; phone_number: string };

export type ButtonsContent = {
  type: "buttons";
  text: string;
  header: ContentHeader | null;
  footer: string | null;
  buttons: readonly ContentButton[];
};

type ListRow = { id: string; title: string; description: string | null };

export type ListContent = {
  type: "list";
  text: string;
  header: string | null;
  footer: string | null;
  /** The label of the button that opens the list. */
  button: string;
  sections: readonly { title: string | null; rows: readonly ListRow[] }[];
};

type LocationContent = { type: "location"; latitude: number; longitude: number; name: string | null; address: string | null };

export type Contact = {
  name: {
    formatted_name: string;
    first_name: string | null;
    last_name: string | null;
    middle_name: string | null;
    prefix: string | null;
    suffix: string | null;
  };
  phones: readonly { phone: string; type: string | null; wa_id: string | null }[];
  emails: readonly { email: string; type: string | null }[];
  urls: readonly { url: string; type: string | null }[];
  addresses: readonly {
    street: string | null;
    city: string | null;
    state: string | null;
    zip: string | null;
    country: string | null;
    country_code: string | null;
    type: string | null;
  }[];
  org: { company: string | null; department: string | null; title: string | null } | null;
  birthday: string | null;
};

type ContactsContent = { type: "contacts"; contacts: readonly Contact[] };

/** `emoji` is null if the reaction is removed. `message_id` is null if the message of an inbound reaction is not known. */
type ReactionContent = { type: "reaction"; message_id: string | null; emoji: string | null };

/** The parts of a template besides its variables. The template and its variables are members of the message itself. */
export type TemplateParts = {
  type: "template";
  header: ({ type: "media" } & MediaReference) | null;
  /** The parts of buttons that this message sets, by the position of the button from zero. */
  buttons: readonly ({ index: number; url_suffix: string } | { index: number; payload: string })[];
};

/** The choice of a person: a button of a message or of a template, or a row of a list. */
type ReplyContent = {
  type: "reply";
  kind: "button" | "list" | "template_button";
  id: string | null;
  title: string | null;
  description: string | null;
};

/** The answers of a person in a form of WhatsApp (a flow), as JSON text. */
type FormContent = { type: "form"; name: string | null; response: string | null };

type OrderContent = {
  type: "order";
  catalog_id: string | null;
  text: string | null;
  items: readonly { product_id: string | null; quantity: number | null; price: string | null; currency: string | null }[];
};

/** A notice of the channel that no person wrote, such as a changed number. */
type SystemContent = { type: "system"; text: string | null };

/** A content that this version does not know, as the carrier sent it: JSON text. */
type UnsupportedContent = { type: "unsupported"; kind: string; original: string | null };

/** The contents that a request can send, besides a text. */
export type SentContent = MediaContent | ButtonsContent | ListContent | LocationContent | ContactsContent | ReactionContent | TemplateParts;

/** The contents that a person can send, besides a text. */
export type InboundContent =
  | MediaContent
  | LocationContent
  | ContactsContent
  | ReactionContent
  | ReplyContent
  | FormContent
  | OrderContent
  | SystemContent
  | UnsupportedContent;

export type StructuredContent = SentContent | InboundContent;

/** A file that a person sent, by the id or the URL under which the carrier has it. */
export type CarriedFile = { kind: MediaKind; carrierFile: string; fileName: string | null };

/** An inbound content as its carrier delivers it, before its files have ids of ours, and its reaction a message. */
export type CarriedContent =
  | Exclude<InboundContent, MediaContent | ReactionContent>
  | { type: "media"; caption: string | null; is_voice: boolean; files: readonly [CarriedFile, ...CarriedFile[]] }
  | { type: "reaction"; emoji: string | null };

/** The file of a content, if it has one. */
export function mediaOf(content: StructuredContent | null): MediaReference | undefined {
  if (content?.type === "media") return content;
  const header = content?.type === "buttons" || content?.type === "template" ? content.header : null;
  return header?.type === "media" ? header : undefined;
}
