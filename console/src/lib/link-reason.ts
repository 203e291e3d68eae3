/** Why a link is in its state. */
import type { Link } from "godwit-sdk";
import { words } from "./format.ts";

const REASONS: Readonly<Record<string, string>> = {
  carrier_unreachable: "the carrier cannot be reached",
  carrier_throttles: "the carrier throttles messages",
  needs_operator: "the carrier refuses the account or its credentials",
  needs_account: "the carrier refuses the account or its credentials",
  paused_by_operator: "the operator of this service paused it",
  no_node: "no node has opened it yet",
};

/** The reason in the words of the connection, where the account may see them. */
export const reasonOf = ({ reason, reason_detail: detail }: Link): string | null =>
  detail ?? (reason === null ? null : (REASONS[reason] ?? words(reason)));
