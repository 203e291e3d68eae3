/** The channels a message can take. */

export const CHANNELS = ["sms", "whatsapp"] as const;
export type Channel = (typeof CHANNELS)[number];

/** How long a text may be, in characters. */
export const MAX_BODY: Readonly<Record<Channel, number>> = { sms: 1_600, whatsapp: 4_096 };
