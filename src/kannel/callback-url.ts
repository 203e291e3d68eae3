/** URLs of reports and inbound messages, with Kannel's escapes in place of values. */
import { parseCallable } from "../compatible/callback-url.ts";

/** The shortest text that Kannel reads as a URL. */
const LEAST_URL = 8;

/** Undefined for a text that Kannel would refuse, and for one that cannot be called. */
export function parseCallbackUrl(text: string): URL | undefined {
  if (text.length < LEAST_URL || !/^https?:\/\//i.test(text)) return undefined;
  return parseCallable(text);
}
