/** The channels of messages, and the limits of a text on each of them. */
import { openEnum, Type } from "../http/schema.ts";

export const CHANNELS = ["sms", "whatsapp"] as const;
export type Channel = (typeof CHANNELS)[number];

/** The maximum length of a text, in characters. */
export const MAX_BODY: Readonly<Record<Channel, number>> = { sms: 1_600, whatsapp: 4_096 };

export const SegmentsRecord = Type.Object(
  {
    count: Type.Integer({ description: "Parts on the wire." }),
    encoding: openEnum(["gsm7", "ucs2"]),
    characters: Type.Integer({ description: "Unicode code points." }),
  },
  { description: "How the text is split for SMS. Null on channels without parts." },
);
