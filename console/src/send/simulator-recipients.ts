/** The recipients of the simulator. Each number has a fixed outcome. The first six are the most common outcomes, and the others are folded. */

export type SimulatorRecipient = { number: string; outcome: string; channel?: "whatsapp" };

export const SIMULATOR_RECIPIENTS: readonly SimulatorRecipient[] = [
  { number: "+15005550006", outcome: "delivered" },
  { number: "+15005550002", outcome: "failed: invalid destination" },
  { number: "+15005550004", outcome: "refused: opted out" },
  { number: "+15005550005", outcome: "undelivered: blocked by carrier" },
  { number: "+15005550007", outcome: "no receipt: expires" },
  { number: "+15005550008", outcome: "delivered, then a reply" },
  { number: "+15005550003", outcome: "failed: destination not permitted" },
  { number: "+15005550009", outcome: "undelivered: landline" },
  { number: "+15005550010", outcome: "delivered, then STOP" },
  { number: "+15005550011", outcome: "receipts duplicated and out of order" },
  { number: "+15005550012", outcome: "throttled twice, then delivered" },
  { number: "+15005550013", outcome: "outcome unknown at first" },
  { number: "+15005550014", outcome: "service window closed", channel: "whatsapp" },
  { number: "+15005550015", outcome: "not on WhatsApp", channel: "whatsapp" },
  { number: "+15005550016", outcome: "file: expired" },
  { number: "+15005550017", outcome: "file: wrong type" },
  { number: "+15005550018", outcome: "file: cannot be fetched" },
  { number: "+15005550019", outcome: "delivered, then a picture" },
];
