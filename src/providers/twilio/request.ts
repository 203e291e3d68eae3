/** A message as Twilio wants it: a form. */
import type { Outgoing } from "../provider.ts";

export type Sending = { messagingServiceSid: string | null; statusCallbackUrl: string | null };

/** Asks Twilio to call again, five times, when we could not store what it said, which by itself it does not do. Behind the # of
 *  an address, as it prescribes. */
export const CALL_AGAIN = "#rc=5&rp=5xx,ct,rt";

// What Twilio takes.
const MAX_VALIDITY_SECONDS = 36_000;

export function formOf({ messagingServiceSid, statusCallbackUrl }: Sending, message: Outgoing, nowMs: number): string {
  const { id, recipient, sender, body, expiresAtMs } = message;
  const seconds = Math.floor((expiresAtMs - nowMs) / 1_000);
  const form = new URLSearchParams({ To: recipient, Body: body });
  if (sender !== null) form.set("From", sender);
  else if (messagingServiceSid !== null) form.set("MessagingServiceSid", messagingServiceSid);
  if (statusCallbackUrl !== null) form.set("StatusCallback", callbackUrl(statusCallbackUrl, id));
  form.set("ValidityPeriod", String(Math.min(MAX_VALIDITY_SECONDS, Math.max(1, seconds))));
  return form.toString();
}

/** Carries our id, which comes back with every status: of a message whose answer was lost it is all there is. */
const callbackUrl = (base: string, id: string): string => `${base.replace(/[?#].*$/, "")}?reference=${encodeURIComponent(id)}${CALL_AGAIN}`;
