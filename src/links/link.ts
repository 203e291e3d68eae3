/** A link: one configured connection of a provider. */
import { HEADER_BYTES } from "../lib/segments.ts";
import type { ProviderName } from "../providers/providers.ts";
import { OPTED_OUT, WINDOW_CLOSED } from "../providers/simulator/scenarios.ts";
import { CHANNELS, type Channel } from "./channel.ts";

export type Link = {
  /** The name of the link is also the name of its lane in the queue. */
  name: string;
  provider: ProviderName;
  /** In the form that the provider expects. */
  settings: unknown;
  channels: readonly Channel[];
  /** The sender of a message whose request names none. */
  sender: string | null;
  /** The bytes of the header in each part of a long text on this link. */
  partHeaderBytes: number;
  /** Recipients that the carrier is known to refuse, so that their messages are not submitted. */
  unwilling: { optedOut: ReadonlySet<string>; windowClosed: ReadonlySet<string> };
  /** The hold after an unknown outcome: the time to wait for a late response or a receipt. After it, the message fails with
   *  `outcome_unknown`, or is sent again at the risk of arriving twice. */
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
