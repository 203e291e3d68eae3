/** The numbers of people in what commands print. */
import { isUserId } from "../model/phone-number.ts";

// The country stays visible, and enough to tell the two numbers of a conversation apart. Short codes, which belong to no person, are shown.
const SHOWN_START = 4;
const SHOWN_END = 2;

/** Masks a number, or a user id of WhatsApp. The name of a sender stays as it is. */
export const maskNumber = (text: string): string =>
  (/^\+?\d+$/.test(text) && text.length > SHOWN_START + SHOWN_END) || isUserId(text)
    ? `${text.slice(0, SHOWN_START)}…${text.slice(-SHOWN_END)}`
    : text;
