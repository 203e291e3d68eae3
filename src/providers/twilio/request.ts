/** Twilio's request body of a message: a form. */
import type { Outgoing } from "../provider.ts";

export type SendSettings = { messagingServiceSid: string | null; statusCallbackUrl: string | null };

/** Asks Twilio to repeat a status callback up to five times when we could not store it, which Twilio does not do by default. Twilio
 *  reads these options from the fragment of the URL. */
export const RETRY_FRAGMENT = "#rc=5&rp=5xx,ct,rt";

// Twilio's limit.
const MAX_VALIDITY_SECONDS = 36_000;

export function toForm({ messagingServiceSid, statusCallbackUrl }: SendSettings, message: Outgoing, nowMs: number): string {
  const { id, recipient, sender, body, expiresAtMs } = message;
  const seconds = Math.floor((expiresAtMs - nowMs) / 1_000);
  const form = new URLSearchParams({ To: recipient, Body: body });
  if (sender !== null) form.set("From", sender);
  else if (messagingServiceSid !== null) form.set("MessagingServiceSid", messagingServiceSid);
  if (statusCallbackUrl !== null) form.set("StatusCallback", callbackUrl(statusCallbackUrl, id));
  form.set("ValidityPeriod", String(Math.min(MAX_VALIDITY_SECONDS, Math.max(1, seconds))));
  return form.toString();
}

/** The URL carries our id, which comes back with every status: a message whose response was lost can be matched only by it. */
const callbackUrl = (base: string, id: string): string =>
  `${base.replace(/[?#].*$/, "")}?reference=${encodeURIComponent(id)}${RETRY_FRAGMENT}`;
