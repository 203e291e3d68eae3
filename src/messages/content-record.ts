/** The schema of the content of a message, as records show it: one of the forms, which `type` distinguishes, or a form that a later version adds. */
import { MEDIA_KINDS, type StructuredContent } from "../model/content.ts";
import { nullable, openEnum, Type, type Schema } from "../http/schema.ts";

const kind = (description: string) => openEnum(MEDIA_KINDS, description);
const text = (description: string) => Type.String({ description });
const textOrNull = (description: string) => nullable(text(description));

/** A form of a union: the value of its `type`, its title, its description and its other members. */
export type Form = readonly [type: string, title: string, description: string, members: Readonly<Record<string, Schema>>];

export const formOf = ([type, title, description, members]: Form, options: object = {}) =>
  Type.Object({ type: Type.Literal(type), ...members }, { title, description, ...options });

const reference = {
  kind: kind("The kind of the file."),
  media_id: text("The id of the file: see `GET /v1/media/{id}`."),
  file_name: textOrNull("The name of the file, if it has one."),
};

const referenceOrNull = (description: string) => nullable(Type.Object({ type: Type.Literal("media"), ...reference }, { description }));

const headerOrNull = Type.Unsafe<unknown>({
  description: "A text or a file above the text.",
  anyOf: [
    Type.Object({ type: Type.Literal("text"), text: text("The text.") }, { title: "TextHeader", description: "A text above the text." }),
    Type.Object({ type: Type.Literal("media"), ...reference }, { title: "MediaHeader", description: "A file above the text." }),
    Type.Null(),
  ],
});

const button = Type.Object(
  {
    type: openEnum(["reply", "url", "phone"], "The type of the button."),
    title: text("The label."),
    id: Type.Optional(text("Of a button of type `reply`: the id that the reply names.")),
    url: Type.Optional(text("Of a button of type `url`: the page.")),
    phone_number: Type.Optional(text("Of a button of type `phone`: the number.")),
  },
  { title: "ContentButton", description: "A button below the text." },
);

const listSection = Type.Object({
  title: textOrNull("The title of the section."),
  rows: Type.Array(Type.Object({ id: text("The id."), title: text("The title."), description: textOrNull("The second line.") }), {
    description: "The rows.",
  }),
});

const typed = (member: string, what: string, description: string) =>
  Type.Array(Type.Object({ [member]: text(what), type: textOrNull("Such as `WORK`.") }), { description });

const contactRecord = Type.Object(
  {
    name: Type.Object(
      {
        formatted_name: text("The whole name."),
        first_name: textOrNull("The first name."),
        last_name: textOrNull("The last name."),
        middle_name: textOrNull("The middle name."),
        prefix: textOrNull("The title before the name."),
        suffix: textOrNull("The part after the name."),
      },
      { description: "The name." },
    ),
    phones: Type.Array(
      Type.Object({ phone: text("The number."), type: textOrNull("Such as `WORK`."), wa_id: textOrNull("The WhatsApp id of the number.") }),
      { description: "The phone numbers." },
    ),
    emails: typed("email", "The address.", "The email addresses."),
    urls: typed("url", "The address of the page.", "The pages on the web."),
    addresses: Type.Array(
      Type.Object({
        street: textOrNull("The street."),
        city: textOrNull("The city."),
        state: textOrNull("The state."),
        zip: textOrNull("The postal code."),
        country: textOrNull("The country."),
        country_code: textOrNull("The country as two letters."),
        type: textOrNull("Such as `WORK`."),
      }),
      { description: "The postal addresses." },
    ),
    org: nullable(
      Type.Object(
        { company: textOrNull("The company."), department: textOrNull("The department."), title: textOrNull("The position.") },
        { description: "The organization." },
      ),
    ),
    birthday: textOrNull("The day of birth, as YYYY-MM-DD."),
  },
  { title: "Contact", description: "A person as an address book has them." },
);

const FORMS: readonly Form[] = [
  [
    "media",
    "MediaContent",
    "A picture, recording, video, document or sticker.",
    {
      ...reference,
      caption: textOrNull("The caption."),
      is_voice: Type.Boolean({ description: "Whether it is a voice note." }),
      further_media: Type.Optional(Type.Array(Type.Object(reference), { description: "The further files of an MMS with several." })),
    },
  ],
  [
    "buttons",
    "ButtonsContent",
    "A text with buttons.",
    {
      text: text("The text."),
      header: headerOrNull,
      footer: textOrNull("The small text below."),
      buttons: Type.Array(button, { description: "The buttons." }),
    },
  ],
  [
    "list",
    "ListContent",
    "A text with a list to choose from.",
    {
      text: text("The text."),
      header: textOrNull("The text above."),
      footer: textOrNull("The small text below."),
      button: text("The label of the button that opens the list."),
      sections: Type.Array(listSection, { description: "The sections of the list." }),
    },
  ],
  [
    "location",
    "LocationContent",
    "A place.",
    {
      latitude: Type.Number({ description: "The latitude in degrees." }),
      longitude: Type.Number({ description: "The longitude in degrees." }),
      name: textOrNull("The name of the place."),
      address: textOrNull("The address of the place."),
    },
  ],
  [
    "contacts",
    "ContactsContent",
    "People as an address book has them.",
    { contacts: Type.Array(contactRecord, { description: "The people." }) },
  ],
  [
    "reaction",
    "ReactionContent",
    "An emoji on an earlier message.",
    { message_id: textOrNull("The message."), emoji: textOrNull("The emoji. Null removes the reaction.") },
  ],
  [
    "template",
    "TemplateContent",
    "The file and the buttons of a template.",
    {
      header: referenceOrNull("The file above the text."),
      buttons: Type.Array(
        Type.Object({
          index: Type.Integer({ description: "The position of the button in the template, from zero." }),
          url_suffix: Type.Optional(text("The end of the URL of a `url` button.")),
          payload: Type.Optional(text("What the reply to a `quick_reply` button returns.")),
        }),
        { description: "The buttons to which the message gives something." },
      ),
    },
  ],
  [
    "reply",
    "ReplyContent",
    "The choice of a person: a button, or a row of a list.",
    {
      kind: openEnum(["button", "list", "template_button"], "What the person chose from."),
      id: textOrNull("The id of the button or row; of a template's button its payload."),
      title: textOrNull("The label."),
      description: textOrNull("The second line of a row."),
    },
  ],
  [
    "form",
    "FormContent",
    "The answers of a person in a form of WhatsApp (a flow).",
    { name: textOrNull("The name of the form."), response: textOrNull("The answers as JSON text.") },
  ],
  [
    "order",
    "OrderContent",
    "An order of products of a catalog.",
    {
      catalog_id: textOrNull("The id of the catalog."),
      text: textOrNull("The text of the person."),
      items: Type.Array(
        Type.Object({
          product_id: textOrNull("The id of the product."),
          quantity: nullable(Type.Number({ description: "How many." })),
          price: textOrNull("The price of one."),
          currency: textOrNull("The currency."),
        }),
        { description: "The products." },
      ),
    },
  ],
  ["system", "SystemContent", "A notice of the channel that no person wrote.", { text: textOrNull("The notice.") }],
  [
    "unsupported",
    "UnsupportedContent",
    "A content that this version does not know.",
    {
      kind: text("Its type at the carrier."),
      original: textOrNull("The content as the carrier sent it, as JSON text. Null if it is too large."),
    },
  ],
];

const OTHER = Type.Object(
  { type: Type.String({ not: { enum: FORMS.map(([type]) => type) }, description: "The type of the content." }) },
  { title: "OtherContent", description: "A content of a type that a later version of the service adds." },
);

const content = Type.Unsafe<StructuredContent>({
  title: "Content",
  description: "The content of a message that is more than a text. See [Content](/docs/content).",
  anyOf: [...FORMS.map((form) => formOf(form)), OTHER],
});

export const contentField = Type.Unsafe<StructuredContent | null>({
  description: "The content, if it is more than a text. Null for a text, which is in `body`.",
  anyOf: [content, Type.Null()],
});
