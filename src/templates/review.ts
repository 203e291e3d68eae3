/** What becomes of a template that is submitted. */
import { unreachable } from "../lib/assert.ts";
import type { Template, TemplateStatus } from "./template.ts";

export type Review = { status: TemplateStatus; statusReason: string | null };

const APPROVED: Review = { status: "approved", statusReason: null };
const PENDING: Review = { status: "pending", statusReason: null };

/** Names with which every outcome can be tried. */
const SIMULATED: readonly (readonly [prefix: string, review: Review])[] = [
  ["simulate_rejected", { status: "rejected", statusReason: "The simulator rejects templates whose name begins with simulate_rejected." }],
  ["simulate_paused", { status: "paused", statusReason: "The simulator pauses templates whose name begins with simulate_paused." }],
  ["simulate_pending", PENDING],
];

/** For sms there is nobody to ask. On whatsapp it is the carrier's to decide, and in `test` the simulator is the carrier. */
export function review({ environment, name, channels }: Pick<Template, "environment" | "name" | "channels">): Review {
  if (!channels.includes("whatsapp")) return APPROVED;
  switch (environment) {
    case "live":
      return PENDING;
    case "test":
      return SIMULATED.find(([prefix]) => name.startsWith(prefix))?.[1] ?? APPROVED;
    default:
      return unreachable(environment);
  }
}
