/** A link: one configured connection of a provider. */
import type { AccountId } from "../model/id.ts";
import { USUAL_RULES, type SegmentRules } from "../model/segments.ts";
import type { ProviderName } from "../providers/providers.ts";
import { OPTED_OUT, WINDOW_CLOSED } from "../providers/simulator/scenarios.ts";
import { CHANNELS, type Channel } from "./channel.ts";
import type { Prices } from "./prices.ts";

/** The origin of a link, a sender or a route. `file`: the configuration file, or this program. `api`: created by an account. */
export type LinkSource = "file" | "api";

/** The account at the carrier that the settings of a link name. `hosts`: its hosts without ports; absent if the settings name the account. */
export type CarrierAccount = { name: string; hosts?: string };

export type Link = {
  /** The name of the link is also the name of its lane in the queue. */
  name: string;
  /** The name that its account gave it. */
  title?: string;
  provider: ProviderName;
  source: LinkSource;
  /** The account that created the link and that it belongs to. Null: a link of the operator, in the configuration file. */
  accountId: AccountId | null;
  /** In the form that the provider expects. */
  settings: unknown;
  channels: readonly Channel[];
  /** The sender of a message whose request names none. */
  sender: string | null;
  /** A request may name a sender that the link does not have. */
  anySender?: true;
  /** The country of numbers that the carrier writes in national format, as two letters. */
  country: string | null;
  /** For routes that choose by price. */
  prices?: Prices;
  /** The name of the account that gets inbound messages without another owner. */
  inboundAccount: string | null;
  /** The account at the carrier, if receipts of one link may come on another link of the same account. */
  carrierAccount?: CarrierAccount;
  /** How texts are counted and split on this link. */
  segmentRules: SegmentRules;
  /** Recipients that the carrier is known to refuse, so that their messages are not submitted. */
  unwilling: { optedOut: ReadonlySet<string>; windowClosed: ReadonlySet<string> };
  /** The hold after an unknown outcome: the time to wait for a late response or a receipt. After it, the message fails with
   *  `outcome_unknown`, or is sent again at the risk of arriving twice. */
  onUnknown: { holdMs: number; policy: "fail" | "resend" };
};

export const isSameAccount = (one: AccountId | null, other: AccountId | null): boolean =>
  one === null || other === null ? one === other : one.equals(other);

export const SIMULATOR_LINK = "simulator";

const SIMULATOR_HOLD_MS = 60_000;

/** `test` always uses the simulator: no message leaves the machine. */
export const simulatorLink = (speed: number): Link => ({
  name: SIMULATOR_LINK,
  provider: "simulator",
  source: "file",
  accountId: null,
  settings: { speed },
  channels: CHANNELS,
  sender: "+15005550000",
  country: null,
  inboundAccount: null,
  segmentRules: USUAL_RULES,
  unwilling: { optedOut: OPTED_OUT, windowClosed: WINDOW_CLOSED },
  onUnknown: { holdMs: SIMULATOR_HOLD_MS / speed, policy: "fail" },
});
