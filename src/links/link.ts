/** A link: one configured connection of a provider. */
import { HEADER_BYTES } from "../lib/segments.ts";
import type { ProviderName } from "../providers/providers.ts";
import { OPTED_OUT, WINDOW_CLOSED } from "../providers/simulator/scenarios.ts";
import { CHANNELS, type Channel } from "./channel.ts";

export type Link = {
  /** Also the name of its lane in the queue. */
  name: string;
  provider: ProviderName;
  /** As the provider wants them. */
  settings: unknown;
  channels: readonly Channel[];
  /** Who a message comes from when its request does not say. */
  sender: string | null;
  /** What each part of a long text gives to its header there. */
  partHeaderBytes: number;
  /** Recipients whom the carrier is known to refuse, before anything is handed to it. */
  unwilling: { optedOut: ReadonlySet<string>; windowClosed: ReadonlySet<string> };
  /** A message of which nobody knows whether it left is held for so long, for a late answer or a receipt to tell; then it fails
   *  with `outcome_unknown`, or is sent again at the risk of arriving twice. */
  onUnknown: { holdMs: number; policy: "fail" | "resend" };
};

export const SIMULATOR_LINK = "simulator";

const SIMULATOR_HOLD_MS = 60_000;

/** `test` always uses the simulator: no message leaves the machine. */
export const simulatorLink = (speed: number): Link => ({
  name: SIMULATOR_LINK,
  provider: "simulator",
  settings: { speed },
  channels: CHANNELS,
  sender: "+15005550000",
  partHeaderBytes: HEADER_BYTES,
  unwilling: { optedOut: OPTED_OUT, windowClosed: WINDOW_CLOSED },
  onUnknown: { holdMs: SIMULATOR_HOLD_MS / speed, policy: "fail" },
});
