/** The channels of messages, and the limits of a text on each of them. */
import { openEnum, Type } from "../http/schema.ts";

export const CHANNELS = ["sms", "whatsapp"] as const;
export type Channel = (typeof CHANNELS)[number];

/** The maximum length of a text, in characters. */
export const MAX_BODY: Readonly<Record<Channel, number>> = { sms: 1_600, whatsapp: 4_096 };

export const SegmentsRecord = Type.Object(
  {
    count: Type.Integer({ description: "The number of segments." }),
    encoding: openEnum(["gsm7", "ucs2"], "The encoding of the text."),
    characters: Type.Integer({ description: "The number of characters, as Unicode code points." }),
  },
  { description: "The segments of an SMS. Null on other channels." },
);
