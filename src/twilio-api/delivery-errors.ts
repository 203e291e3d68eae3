/** Twilio's code and text for a message that was not delivered. */
import type { MessageError } from "../messages/message.ts";

type DeliveryError = { code: number; message: string };

const MEANINGS: Readonly<Record<string, DeliveryError>> = {
  ttl_expired: { code: 30_036, message: "Validity Period Expired" },
  expired_at_carrier: { code: 30_036, message: "Validity Period Expired" },
  invalid_destination: { code: 30_005, message: "Unknown destination handset" },
  destination_unreachable: { code: 30_003, message: "Unreachable destination handset" },
  recipient_unreachable: { code: 30_003, message: "Unreachable destination handset" },
  recipient_blocked: { code: 30_004, message: "Message blocked" },
  landline_unreachable: { code: 30_006, message: "Landline or unreachable carrier" },
  blocked_by_carrier: { code: 30_007, message: "Message filtered" },
  destination_not_permitted: { code: 21_408, message: "Permission to send an SMS has not been enabled for the region" },
  recipient_opted_out: { code: 21_610, message: "Attempt to send to unsubscribed recipient" },
  invalid_sender: { code: 21_606, message: "The From phone number is not valid for this destination" },
  sender_not_allowed: { code: 21_606, message: "The From phone number is not valid for this destination" },
  no_route: { code: 21_612, message: "Message cannot be sent with the current combination of To and From" },
  service_window_closed: { code: 63_016, message: "Failed to send freeform message because you are outside the allowed window" },
  recipient_not_on_whatsapp: { code: 63_003, message: "Channel could not find To address" },
  carrier_account_blocked: { code: 30_002, message: "Account suspended" },
  message_too_long: { code: 21_617, message: "The concatenated message body exceeds the 1600 character limit" },
};

const UNKNOWN: DeliveryError = { code: 30_008, message: "Unknown error" };

/** A link to Twilio itself passes on Twilio's code. */
export function toDeliveryError(
  { code, provider_code: carrierCode, message }: MessageError,
  providerName: string | undefined,
): DeliveryError {
  if (providerName === "twilio" && carrierCode !== null && /^\d{5}$/.test(carrierCode)) return { code: Number(carrierCode), message };
  return MEANINGS[code] ?? UNKNOWN;
}
