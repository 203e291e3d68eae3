/** Tells other nodes which accounts have messages in a lane. */
import { uuidFromText, uuidToText } from "../lib/uuid.ts";
import type { Handover } from "../messages/handover.ts";
import type { Message } from "../messages/message.ts";
import { PRIORITY_RANK, SCHEDULED_LANE } from "../messages/queue-entry.ts";
import { idKey, toId } from "../model/id.ts";
import type { Announced, Announcer } from "../queue/announcer.ts";
import type { DueGroup } from "../queue/waiting-groups.ts";
import type { WaitingAccount } from "./queue.ts";
import { SlowedAccounts } from "./slowed-accounts.ts";

/** The handover of a node that accepts messages and delivers none: all messages wait in the queue, and other nodes are notified. */
export function announcingHandover(announcer: Announcer): Handover {
  const slowed = new SlowedAccounts(announcer);
  return {
    leaseMs: 0,
    reserve: () => undefined,
    queued: (lane, messages) => {
      if (lane !== SCHEDULED_LANE) announceQueued(announcer, lane, messages);
    },
    roomFor: (account) => slowed.limitOf(account),
  };
}

export const announceQueued = (announcer: Announcer, lane: string, messages: readonly Message[]): void => {
  for (const message of messages) announceDue(announcer, lane, message, message.updatedAtMs);
};

/** Announces that an account has a message in a lane. */
export const announceDue = (announcer: Announcer, lane: string, message: Message, dueAtMs: number): void =>
  announcer.announce(lane, { group: groupOf(message), dueAtMs });

/** Announces an automatic reply, also to the lanes of this process. */
export const announceReply = (announcer: Announcer, lane: string, reply: Message): void =>
  announcer.announceToAll(lane, { group: groupOf(reply), dueAtMs: reply.updatedAtMs });

const groupOf = ({ priority, accountId }: Message): string => `${PRIORITY_RANK[priority]} ${uuidToText(accountId)}`;

/** The account that an announcement names; undefined for one of another version. */
export function accountOf({ group, dueAtMs }: Announced): DueGroup<WaitingAccount> | undefined {
  const [, rank, account] = /^([012]) ([0-9a-f-]{36})$/.exec(group) ?? [];
  if (rank === undefined || account === undefined) return undefined;
  const accountId = toId("acct", uuidFromText(account));
  return { rank: Number(rank), group: { key: idKey(accountId), accountId }, dueAtMs };
}
