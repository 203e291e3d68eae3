/** The content of a message in a request: its schema, and its stored form. */
import { MEDIA_KINDS, type MediaKind } from "../model/content.ts";
import { HINT, oneOf, optional, Type } from "../http/schema.ts";
import { MAX_BODY } from "../links/channel.ts";
import { FILE_NAME } from "../media/file-name.ts";
import { formOf, type Form } from "./content-record.ts";

const text = (maxLength: number, description: string) => Type.String({ minLength: 1, maxLength, description });

// The limits are those of the WhatsApp Cloud API, the only channel with these contents.
const MAX_CAPTION = 1_024;
const MAX_TEXT = 1_024;
const MAX_LIST_TEXT = 4_096;
const MAX_LINE = 60;
const MAX_TITLE = 24;
const MAX_LABEL = 20;
const MAX_REPLY_BUTTONS = 3;
export const MAX_LIST_ROWS = 10;
const MAX_CONTACTS = 10;
const MAX_URL = 2_048;

const STRICT = { additionalProperties: false };

const fileFields = {
  media_id: optional(Type.String({ minLength: 1, maxLength: 64, description: "The id of a file: see `POST /v1/media`." })),
  url: optional(
    Type.String({
      maxLength: MAX_URL,
      pattern: "^https?://",
      [HINT]: "must be an http or https URL",
      description: "The public URL of a file, in place of `media_id`. The service fetches and stores it before it accepts the message.",
    }),
  ),
  file_name: optional(Type.String({ ...FILE_NAME, description: "The name that the recipient sees, for a document." })),
};
const media = {
  kind: oneOf(MEDIA_KINDS, { description: "How the file is shown: a picture can be sent as an `image` or as a `document`." }),
  ...fileFields,
};

const contactText = (description: string) => optional(text(255, description));
const typed = (member: string, what: string, description: string) =>
  optional(
    Type.Array(Type.Object({ [member]: text(255, what), type: contactText("Such as `WORK`.") }, STRICT), {
      maxItems: 10,
      description,
    }),
  );

const contact = Type.Object(
  {
    name: Type.Object(
      {
        formatted_name: text(255, "The whole name."),
        first_name: contactText("The first name."),
        last_name: contactText("The last name."),
        middle_name: contactText("The middle name."),
        prefix: contactText("The title before the name."),
        suffix: contactText("The part after the name."),
      },
      { ...STRICT, description: "The name." },
    ),
    phones: optional(
      Type.Array(
        Type.Object(
          { phone: text(64, "The number."), type: contactText("Such as `WORK`."), wa_id: contactText("The WhatsApp id of the number.") },
          STRICT,
        ),
        { maxItems: 10, description: "The phone numbers." },
      ),
    ),
    emails: typed("email", "The address.", "The email addresses."),
    urls: typed("url", "The address of the page.", "The pages on the web."),
    addresses: optional(
      Type.Array(
        Type.Object(
          {
            street: contactText("The street."),
            city: contactText("The city."),
            state: contactText("The state."),
            zip: contactText("The postal code."),
            country: contactText("The country."),
            country_code: contactText("The country as two letters."),
            type: contactText("Such as `WORK`."),
          },
          STRICT,
        ),
        { maxItems: 10, description: "The postal addresses." },
      ),
    ),
    org: optional(
      Type.Object(
        { company: contactText("The company."), department: contactText("The department."), title: contactText("The position.") },
        { ...STRICT, description: "The organization." },
      ),
    ),
    birthday: optional(
      Type.String({ pattern: "^\\d{4}-\\d{2}-\\d{2}$", [HINT]: "must be a day such as 1990-01-31", description: "The day of birth." }),
    ),
  },
  { title: "NewContact", ...STRICT, description: "A person as an address book has them." },
);

const isMediaKind = (type: string): boolean => MEDIA_KINDS.some((kind) => kind === type);

/** A schema of several forms, which a member distinguishes. */
const unionOf = (title: string, description: string, forms: readonly Form[]) =>
  Type.Unsafe<NewContent>({
    title,
    description,
    type: "object",
    discriminator: { propertyName: "type" },
    oneOf: forms.map((form) => formOf(form, STRICT)),
    [HINT]: (type: string) => (forms.some(([tag]) => tag === "media") && isMediaKind(type) ? `media with kind ${type}` : ""),
  });

const header = unionOf("NewContentHeader", "A text or a file above the text.", [
  ["text", "NewTextHeader", "A text.", { text: text(MAX_LINE, "The text.") }],
  ["media", "NewMediaHeader", "A picture, video or document.", media],
]);

const replyButton: Form = [
  "reply",
  "NewReplyButton",
  "A quick reply.",
  { id: text(256, "The id, which the reply of the person names."), title: text(MAX_LABEL, "The label.") },
];
const urlButton: Form = [
  "url",
  "NewUrlButton",
  "Opens a page.",
  {
    title: text(MAX_LABEL, "The label."),
    url: Type.String({ maxLength: MAX_URL, pattern: "^https?://", [HINT]: "must be an http or https URL", description: "The page." }),
  },
];
const phoneButton: Form = [
  "phone",
  "NewPhoneButton",
  "Calls a number.",
  { title: text(MAX_LABEL, "The label."), phone_number: text(20, "The number.") },
];

const FORMS: readonly Form[] = [
  ["text", "NewTextContent", "A text. The same as `body`.", { text: text(MAX_BODY.whatsapp, "The text.") }],
  [
    "media",
    "NewMediaContent",
    "A picture, recording, video, document or sticker. Exactly one of `media_id` and `url` is required.",
    { ...media, caption: optional(text(MAX_CAPTION, "The text below the file.")) },
  ],
  [
    "buttons",
    "NewButtonsContent",
    "A text with up to three quick replies, or with one button that opens a page.",
    {
      text: text(MAX_TEXT, "The text."),
      header: optional(header),
      footer: optional(text(MAX_LINE, "The small text below.")),
      buttons: Type.Array(unionOf("NewContentButton", "A button.", [replyButton, urlButton, phoneButton]), {
        minItems: 1,
        maxItems: MAX_REPLY_BUTTONS,
        description: "The buttons.",
      }),
    },
  ],
  [
    "list",
    "NewListContent",
    "A text with a list of up to ten rows to choose from.",
    {
      text: text(MAX_LIST_TEXT, "The text."),
      header: optional(text(MAX_LINE, "The text above.")),
      footer: optional(text(MAX_LINE, "The small text below.")),
      button: text(MAX_LABEL, "The label of the button that opens the list."),
      sections: Type.Array(
        Type.Object(
          {
            title: optional(text(MAX_TITLE, "The title of the section. Required if there are several.")),
            rows: Type.Array(
              Type.Object(
                {
                  id: text(200, "The id, which the reply of the person names."),
                  title: text(MAX_TITLE, "The title."),
                  description: optional(text(72, "The second line.")),
                },
                STRICT,
              ),
              { minItems: 1, maxItems: MAX_LIST_ROWS, description: "The rows." },
            ),
          },
          STRICT,
        ),
        { minItems: 1, maxItems: MAX_LIST_ROWS, description: "The sections." },
      ),
    },
  ],
  [
    "location",
    "NewLocationContent",
    "A place.",
    {
      latitude: Type.Number({ minimum: -90, maximum: 90, description: "The latitude in degrees." }),
      longitude: Type.Number({ minimum: -180, maximum: 180, description: "The longitude in degrees." }),
      name: optional(text(1_000, "The name of the place.")),
      address: optional(text(1_000, "The address of the place.")),
    },
  ],
  [
    "contacts",
    "NewContactsContent",
    "People, as an address book has them.",
    { contacts: Type.Array(contact, { minItems: 1, maxItems: MAX_CONTACTS, description: "The people." }) },
  ],
  [
    "reaction",
    "NewReactionContent",
    "An emoji on an earlier message of the same conversation.",
    {
      message_id: text(64, "The id of the message."),
      emoji: optional(text(32, "The emoji. Null or absent removes the reaction.")),
    },
  ],
  [
    "template",
    "NewTemplateContent",
    "A template. In place of `template_id`, with a file and with the parts of buttons that this message sets.",
    {
      template_id: text(64, "The id or the name of the template."),
      template_variables: optional(
        Type.Record(Type.String({ maxLength: 1_024 }), {
          maxProperties: 100,
          propertyNames: Type.String({ minLength: 1, maxLength: 40 }),
          description: "The values of the variables of the template, by name.",
        }),
      ),
      header: optional(
        Type.Object(media, { title: "NewTemplateFile", ...STRICT, description: "The file of a template with a media header." }),
      ),
      buttons: optional(
        Type.Array(
          Type.Object(
            {
              index: Type.Integer({ minimum: 0, maximum: 9, description: "The position of the button in the template, from zero." }),
              url_suffix: optional(text(MAX_URL, "The end of the URL of a `url` button.")),
              payload: optional(text(128, "What the reply to a `quick_reply` button returns.")),
            },
            STRICT,
          ),
          { maxItems: 10, description: "The parts of buttons that this message sets." },
        ),
      ),
    },
  ],
];

export const NEW_TYPES: readonly string[] = FORMS.map(([type]) => type);

export const NewContentBody = unionOf(
  "NewContent",
  "The content, in place of `body` and `template_id`. See [Content](/docs/content).",
  FORMS,
);

/** A file in a request. */
export type NewFile = { kind: MediaKind; media_id?: string | null; url?: string | null; file_name?: string | null };

type Nullish<T> = { [K in keyof T]?: T[K] | null };
export type NewHeader = { type: "text"; text: string } | ({ type: "media" } & NewFile);
type Typed<Name extends string> = { [K in Name]: string } & { type?: string | null };

export type NewContact = {
  name: { formatted_name: string } & Nullish<Record<"first_name" | "last_name" | "middle_name" | "prefix" | "suffix", string>>;
  phones?: readonly { phone: string; type?: string | null; wa_id?: string | null }[] | null;
  emails?: readonly Typed<"email">[] | null;
  urls?: readonly Typed<"url">[] | null;
  addresses?: readonly Nullish<Record<"street" | "city" | "state" | "zip" | "country" | "country_code" | "type", string>>[] | null;
  org?: Nullish<Record<"company" | "department" | "title", string>> | null;
  birthday?: string | null;
};

export type NewContent =
  | { type: "text"; text: string }
  | ({ type: "media"; caption?: string | null } & NewFile)
  | {
      type: "buttons";
      text: string;
      header?: NewHeader | null;
      footer?: string | null;
      buttons: readonly (
        | { type: "reply"; id: string; title: string }
        | { type: "url"; title: string; url: string }
        | { type: "phone"; title: string; phone_number: string }
      )[];
    }
  | {
      type: "list";
      text: string;
      header?: string | null;
      footer?: string | null;
      button: string;
      sections: readonly { title?: string | null; rows: readonly { id: string; title: string; description?: string | null }[] }[];
    }
  | { type: "location"; latitude: number; longitude: number; name?: string | null; address?: string | null }
  | { type: "contacts"; contacts: readonly NewContact[] }
  | { type: "reaction"; message_id: string; emoji?: string | null }
  | {
      type: "template";
      template_id: string;
      template_variables?: Record<string, string> | null;
      header?: NewFile | null;
      buttons?: readonly { index: number; url_suffix?: string | null; payload?: string | null }[] | null;
    };
