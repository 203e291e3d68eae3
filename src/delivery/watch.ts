/** The counters of delivery, as the code that delivers calls them. */
import type { Message } from "../messages/message.ts";

export type DeliveryWatch = {
  submitted(link: string, message: Message, nowMs: number): void;
  attempted(link: string, outcome: string): void;
  advanced(after: Message): void;
  received(link: string, status: string, isIgnored: boolean): void;
  parked(link: string, count: number): void;
  inbound(link: string, outcome: InboundOutcome): void;
};

/** `unrouted`: received by the link's `inbound_account`. `kept`: for the operator. */
export type InboundOutcome = "received" | "repeated" | "unrouted" | "kept";
