/** The behavior of the simulated carrier: one script for each special recipient, and one for all others. Times are those of
 *  speed 1. */
import type { CarriedContent } from "../../model/content.ts";
import type { CarrierError, Outgoing, ReceiptStatus } from "../provider.ts";
import { PICTURE_FILE } from "./picture.ts";

/** The carrier's response to a message, without its id. */
export type ScriptedResponse =
  | { kind: "accepted" }
  | ({ kind: "refused" } & CarrierError)
  | { kind: "throttled"; retryAfterMs: number; providerCode: string }
  | { kind: "unknown"; detail: string };

/** A receipt; `afterMs` counts from the response. */
export type ScriptedReceipt = { afterMs: number; status: ReceiptStatus; error: CarrierError | null };

/** A reply of the recipient; `afterMs` counts from the response. */
type ScriptedReply = { afterMs: number; text: string; content?: CarriedContent };

export type Scenario = { response: ScriptedResponse; receipts: readonly ScriptedReceipt[]; replies?: readonly ScriptedReply[] };

/** Recipients that are refused before a message reaches the simulated carrier: every message, or free text on whatsapp. */
export const OPTED_OUT: ReadonlySet<string> = new Set(["+15005550004"]);
export const WINDOW_CLOSED: ReadonlySet<string> = new Set(["+15005550014"]);

/** `first` has the scenarios of the first attempts, in order. Later attempts take the scenario of the channel. `media`: the scenario of a message
 *  with a file. */
type Script = Readonly<Record<Outgoing["channel"], Scenario>> & { first?: readonly Scenario[]; media?: Scenario };

// Long enough to see a message `sent`, short enough to wait for.
const RECEIPT_MS = 1_000;
// Receipts of one message come at different times, so that their order can be seen.
const NEXT_RECEIPT_MS = 250;

const ACCEPTED: ScriptedResponse = { kind: "accepted" };
const DELIVERED: ScriptedReceipt = { afterMs: RECEIPT_MS, status: "delivered", error: null };
const READ: ScriptedReceipt = { afterMs: 2 * RECEIPT_MS, status: "read", error: null };

const accepted = (...receipts: readonly ScriptedReceipt[]): Scenario => ({ response: ACCEPTED, receipts });
const onBothChannels = (scenario: Scenario): Script => ({ sms: scenario, whatsapp: scenario });

const receiptsInOrder = (...statuses: readonly ReceiptStatus[]): Scenario =>
  accepted(...statuses.map((status, index) => ({ afterMs: RECEIPT_MS + index * NEXT_RECEIPT_MS, status, error: null })));

const undelivered = (code: string, message: string, providerCode: string): Scenario =>
  accepted({ afterMs: RECEIPT_MS, status: "undelivered", error: { code, message, providerCode, isPermanent: true } });

const refused = (code: string, message: string, providerCode: string): Scenario => ({
  response: { kind: "refused", code, message, providerCode, isPermanent: true },
  receipts: [],
});

const THROTTLED: Scenario = { response: { kind: "throttled", retryAfterMs: 1_000, providerCode: "sim-012" }, receipts: [] };

const DEFAULT: Script = { sms: accepted(DELIVERED), whatsapp: accepted(DELIVERED, READ) };

/** The default, and a reply of the recipient. */
const replying = (text: string, content?: CarriedContent): Script => {
  const reply = { afterMs: 2 * RECEIPT_MS + NEXT_RECEIPT_MS, text };
  const replies: readonly ScriptedReply[] = [content === undefined ? reply : { ...reply, content }];
  return { sms: { ...DEFAULT.sms, replies }, whatsapp: { ...DEFAULT.whatsapp, replies } };
};

const PICTURE: CarriedContent = {
  type: "media",
  caption: null,
  is_voice: false,
  files: [{ kind: "image", carrierFile: PICTURE_FILE, fileName: null }],
};

const SCRIPTS: ReadonlyMap<string, Script> = new Map<string, Script>([
  ["+15005550002", onBothChannels(refused("invalid_destination", "The number does not exist", "sim-002"))],
  ["+15005550003", onBothChannels(refused("destination_not_permitted", "This destination is not permitted on the link", "sim-003"))],
  ["+15005550005", onBothChannels(undelivered("blocked_by_carrier", "The carrier blocked the message", "sim-005"))],
  ["+15005550007", onBothChannels(accepted())],
  ["+15005550008", replying("Thank you, got it.")],
  ["+15005550009", onBothChannels(undelivered("landline_unreachable", "The number is a landline, which takes no messages", "sim-009"))],
  ["+15005550010", replying("STOP")],
  [
    "+15005550011",
    { sms: receiptsInOrder("delivered", "sent", "delivered"), whatsapp: receiptsInOrder("read", "delivered", "read", "sent") },
  ],
  ["+15005550012", { ...DEFAULT, first: [THROTTLED, THROTTLED] }],
  [
    "+15005550013",
    onBothChannels({
      response: { kind: "unknown", detail: "the connection broke before the carrier's response" },
      receipts: [DELIVERED],
    }),
  ],
  ["+15005550015", { ...DEFAULT, whatsapp: refused("recipient_not_on_whatsapp", "The number has no account on WhatsApp", "sim-015") }],
  ["+15005550016", { ...DEFAULT, media: refused("media_expired", "The carrier no longer has the file", "sim-016") }],
  ["+15005550017", { ...DEFAULT, media: refused("media_type_refused", "The carrier does not take files of this type", "sim-017") }],
  ["+15005550018", { ...DEFAULT, media: undelivered("media_fetch_failed", "The carrier could not fetch the file", "sim-018") }],
  ["+15005550019", replying("[image]", PICTURE)],
]);

type Sent = Pick<Outgoing, "recipient" | "channel" | "attempt" | "media">;

export function scenarioFor({ recipient, channel, attempt, media }: Sent): Scenario {
  const script = SCRIPTS.get(recipient) ?? DEFAULT;
  if (media !== undefined && script.media !== undefined) return script.media;
  return script.first?.[attempt - 1] ?? script[channel];
}
