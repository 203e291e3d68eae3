/** What the simulated carrier does with a message: one row for each recipient that is special, and one for all others. Times
 *  are those of speed 1. */
import type { Outgoing, Receipt, ReceiptStatus } from "../provider.ts";

type CarrierError = NonNullable<Receipt["error"]>;

/** What the carrier answers to a send; the ids are made when it is said. */
export type Answer =
  | { kind: "accepted" }
  | ({ kind: "refused" } & CarrierError)
  | { kind: "throttled"; retryAfterMs: number; providerCode: string }
  | { kind: "unknown"; detail: string };

/** A receipt, and when it comes, counted from the answer. */
export type Step = { afterMs: number; status: ReceiptStatus; error: CarrierError | null };

/** What the recipient writes back, and when, counted from the answer. */
type Reply = { afterMs: number; text: string };

export type Scenario = { answer: Answer; receipts: readonly Step[]; replies?: readonly Reply[] };

/** Whom the simulated carrier is known to refuse before it is asked: every message, or free text on whatsapp. */
export const OPTED_OUT: ReadonlySet<string> = new Set(["+15005550004"]);
export const WINDOW_CLOSED: ReadonlySet<string> = new Set(["+15005550014"]);

/** `first` is for the first attempts, in order; what comes after them goes by the channel. */
type Script = Readonly<Record<Outgoing["channel"], Scenario>> & { first?: readonly Scenario[] };

// Long enough to see a message `sent`, short enough to wait for.
const RECEIPT_MS = 1_000;
// Receipts that belong together come apart, so that their order can be seen.
const NEXT_RECEIPT_MS = 250;

const ACCEPTED: Answer = { kind: "accepted" };
const DELIVERED: Step = { afterMs: RECEIPT_MS, status: "delivered", error: null };
const READ: Step = { afterMs: 2 * RECEIPT_MS, status: "read", error: null };

const accepted = (...receipts: readonly Step[]): Scenario => ({ answer: ACCEPTED, receipts });
const onBoth = (scenario: Scenario): Script => ({ sms: scenario, whatsapp: scenario });

const inTurn = (...statuses: readonly ReceiptStatus[]): Scenario =>
  accepted(...statuses.map((status, index) => ({ afterMs: RECEIPT_MS + index * NEXT_RECEIPT_MS, status, error: null })));

const undelivered = (code: string, message: string, providerCode: string): Scenario =>
  accepted({ afterMs: RECEIPT_MS, status: "undelivered", error: { code, message, providerCode, isPermanent: true } });

const refused = (code: string, message: string, providerCode: string): Scenario => ({
  answer: { kind: "refused", code, message, providerCode, isPermanent: true },
  receipts: [],
});

const THROTTLED: Scenario = { answer: { kind: "throttled", retryAfterMs: 1_000, providerCode: "sim-012" }, receipts: [] };

const USUAL: Script = { sms: accepted(DELIVERED), whatsapp: accepted(DELIVERED, READ) };

/** As usual, and then the recipient writes back. */
const replying = (text: string): Script => {
  const replies: readonly Reply[] = [{ afterMs: 2 * RECEIPT_MS + NEXT_RECEIPT_MS, text }];
  return { sms: { ...USUAL.sms, replies }, whatsapp: { ...USUAL.whatsapp, replies } };
};

const SCRIPTS: ReadonlyMap<string, Script> = new Map<string, Script>([
  ["+15005550002", onBoth(refused("invalid_destination", "The number does not exist", "sim-002"))],
  ["+15005550003", onBoth(refused("destination_not_permitted", "This destination is not permitted on the link", "sim-003"))],
  ["+15005550005", onBoth(undelivered("blocked_by_carrier", "The carrier blocked the message", "sim-005"))],
  ["+15005550007", onBoth(accepted())],
  ["+15005550008", replying("Thank you, got it.")],
  ["+15005550009", onBoth(undelivered("landline_unreachable", "The number is a landline, which takes no messages", "sim-009"))],
  ["+15005550010", replying("STOP")],
  ["+15005550011", { sms: inTurn("delivered", "sent", "delivered"), whatsapp: inTurn("read", "delivered", "read", "sent") }],
  ["+15005550012", { ...USUAL, first: [THROTTLED, THROTTLED] }],
  [
    "+15005550013",
    onBoth({ answer: { kind: "unknown", detail: "the connection broke before the carrier's answer came" }, receipts: [DELIVERED] }),
  ],
  ["+15005550015", { ...USUAL, whatsapp: refused("recipient_not_on_whatsapp", "The number has no account on WhatsApp", "sim-015") }],
]);

export function scenarioFor({ recipient, channel, attempt }: Pick<Outgoing, "recipient" | "channel" | "attempt">): Scenario {
  const script = SCRIPTS.get(recipient) ?? USUAL;
  return script.first?.[attempt - 1] ?? script[channel];
}
