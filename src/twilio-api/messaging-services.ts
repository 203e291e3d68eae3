/** Messaging services: one has all senders of an environment, and each pool of senders is one, too. */
import { createHash } from "node:crypto";
import { mayNameFor, pickSender } from "../links/choose-sender.ts";
import type { LinkDirectory, OwnedSender } from "../links/directory.ts";
import type { Database } from "../database/database.ts";
import { findLastSender } from "../messages/queries.ts";
import type { Owner } from "../model/owner.ts";
import type { Recipient } from "../model/phone-number.ts";
import { accountSid, serviceSidOf } from "./sids.ts";

/** `pool` is null for the service with all senders, of which the route chooses one. */
export type MessagingService = { sid: string; name: string; pool: string | null; senders: readonly OwnedSender[] };

const DIGITS = 32;

/** The SID of a record that has no id: its digits are a hash of its name. */
const hashedSid = (kind: string, owner: Owner, name: string): string =>
  kind +
  createHash("sha256")
    .update(`${accountSid(owner)} ${kind} ${name}`)
    .digest("hex")
    .slice(0, DIGITS);

export const senderSid = (kind: "PN" | "SC" | "AI", owner: Owner, number: string): string => hashedSid(kind, owner, number);

export function servicesOf({ current }: LinkDirectory, owner: Owner): readonly MessagingService[] {
  const { accountId, environment } = owner;
  const own = current.senders.filter((sender) => sender.environment === environment && sender.accountId.equals(accountId));
  const pools = Map.groupBy(
    own.filter(({ pool }) => pool !== undefined),
    ({ pool }) => pool ?? "",
  );
  return [
    { sid: serviceSidOf(owner), name: "All senders", pool: null, senders: own },
    ...[...pools].map(([name, senders]) => ({ sid: hashedSid("MG", owner, name), name, pool: name, senders })),
  ];
}

/** The sender of a message that names the service of a pool: the one that the recipient knows, or one by its wait. */
export async function chooseFromPool(
  db: Database,
  directory: LinkDirectory,
  { senders }: MessagingService,
  whom: Owner & { recipient: Recipient },
): Promise<string | undefined> {
  const [first, ...others] = senders.filter((sender) => mayNameFor(sender, whom.recipient));
  if (first === undefined) return undefined;
  const pool = [first, ...others] as const;
  const last =
    others.length === 0
      ? null
      : await findLastSender(
          db,
          whom,
          pool.map(({ number }) => number),
        );
  return pickSender({ pool, reason: "pool" }, { recipient: whom.recipient, last }, directory.waitOf).sender ?? undefined;
}
