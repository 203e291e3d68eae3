/** Keeps what carriers delivered and no account or link of ours matches, for the operator, who assigns messages to an account
 *  (`godwit inbound`). */
import { recordChange } from "../audit/record-change.ts";
import type { ConsentDefaults } from "../consent/consent-defaults.ts";
import { encodeId, newId, type KeptInboundId, type MessageId } from "../model/id.ts";
import type { ChangeOrigin } from "../model/origin.ts";
import { formsOf } from "../model/phone-number.ts";
import { isoTime } from "../lib/time.ts";
import { uuidTimeMs } from "../lib/uuid.ts";
import { readCarrierAddress } from "../links/address.ts";
import { hasNumber, linksOfAccount } from "../links/ownership.ts";
import type { LinkDirectory } from "../links/directory.ts";
import { fitContent, TRUNCATED } from "../messages/inbound-content.ts";
import { receiveMessage, storable, toMetadata, type Unowned } from "../messages/receive.ts";
import type { UnmatchedReceipt } from "../providers/provider.ts";
import type { Clock } from "../database/database-clock.ts";
import type { Database, Queryable, Tx } from "../database/database.ts";
import type { Owner } from "../model/owner.ts";
import { consentPairs, toCorrespondents } from "./inbound-owner.ts";
import {
  countKept,
  deleteFurtherNotifications,
  insertKept,
  lockKept,
  readKept,
  storeAssigned,
  type KeptInbound,
  type LockedKept,
} from "./kept-queries.ts";
import { findSentTo } from "./queries.ts";

// Beyond this the carrier is asked to repeat: a message is not acknowledged and dropped.
export const MAX_KEPT_MESSAGES = 10_000;
// Notifications are about messages that this installation did not send. A number that another system uses has any number of them.
const MAX_KEPT_NOTIFICATIONS = 1_000;
const MAX_BODY_CHARS = 16_384;
// The parameters of a statement are built in one turn of the event loop, so that many rows at once would delay other requests.
const ROWS_PER_STATEMENT = 100;

/** There are as many kept messages as there may be. The carrier repeats the message. */
export class KeptInboundFull extends Error {
  override name = "KeptInboundFull";
  constructor() {
    super(`there are ${MAX_KEPT_MESSAGES} kept inbound messages: assign them, or configure the owners of their numbers`);
  }
}

const bounded = (text: string): string => storable(storable(text).slice(0, MAX_BODY_CHARS));

/** Keeps a message. Throws if there is no room for it. */
export async function keepMessage(tx: Tx, nowMs: number, received: Unowned): Promise<void> {
  const { provider, channel, sender, recipient, text, reported = null, isToGroup = false, content, details } = received;
  if ((await countKeptInbound(tx)).messages >= MAX_KEPT_MESSAGES) throw new KeptInboundFull();
  const fitted = content && fitContent(content);
  const kept: KeptInbound = {
    id: newId("inb", nowMs),
    kind: "message",
    link: provider.link,
    provider: provider.name,
    channel,
    provider_message_id: provider.messageId,
    sender,
    recipient,
    body: bounded(text),
    reported,
    is_to_group: isToGroup,
    // With the ids of its files at the carrier. They are downloaded for the account that gets the message.
    content: fitted?.content ?? null,
    details: { ...toMetadata(details), ...(fitted?.isCut === true ? TRUNCATED : {}) },
  };
  await insertKept(tx, [kept]);
}

type Origin = Pick<KeptInbound, "link" | "provider" | "channel">;

/** Keeps notifications about messages that are not known here. Only the newest ones stay. */
export async function keepNotifications(tx: Tx, nowMs: number, origin: Origin, receipts: readonly UnmatchedReceipt[]): Promise<void> {
  const newest = receipts.slice(-MAX_KEPT_NOTIFICATIONS).map(({ receipt, recipient, raw }) => ({
    ...origin,
    id: newId("inb", nowMs),
    kind: "notification" as const,
    provider_message_id: receipt.providerMessageId,
    sender: recipient === null ? null : readCarrierAddress({ text: recipient, type: undefined }, null)[0],
    recipient: null,
    body: bounded(raw),
    reported: null,
    is_to_group: false,
    content: null,
    details: null,
  }));
  for (let at = 0; at < newest.length; at += ROWS_PER_STATEMENT) await insertKept(tx, newest.slice(at, at + ROWS_PER_STATEMENT));
  await deleteFurtherNotifications(tx, MAX_KEPT_NOTIFICATIONS);
}

/** Lists what is not assigned, the newest first. */
export const listKept = async (db: Queryable, limit: number) =>
  (await readKept(db, limit)).map(({ id, kind, link, channel, provider_message_id, sender, recipient, body, content }) => ({
    id: encodeId("inb", id),
    kind,
    link,
    channel,
    provider_message_id,
    sender,
    recipient,
    text: body,
    content,
    received_at: isoTime(uuidTimeMs(id)),
  }));

/** Counts what is not assigned. */
export async function countKeptInbound(db: Queryable): Promise<{ messages: number; notifications: number }> {
  const counts = new Map((await countKept(db, MAX_KEPT_MESSAGES)).map(({ kind, count }) => [kind, count]));
  return { messages: counts.get("message") ?? 0, notifications: counts.get("notification") ?? 0 };
}

export type Assignment = { owner: Owner; origin: ChangeOrigin };
export type Assigned =
  | { kind: "assigned" | "already_assigned"; messageId: MessageId }
  | { kind: "unknown" | "notification" | "assigned_elsewhere" };

type AssignParts = {
  db: Database;
  clock: Clock;
  linkDirectory: LinkDirectory;
  consentDefaults: ConsentDefaults;
  mediaRetentionMs: number;
};

/** Gives a kept message to an account, which receives it as if it had just come, without an automatic reply. Assigned to the same account again, it changes nothing. */
export const assignKept = (
  { db, clock, linkDirectory, consentDefaults: defaults, mediaRetentionMs }: AssignParts,
  id: KeptInboundId,
  { owner, origin }: Assignment,
): Promise<Assigned> =>
  db.transaction(async (tx) => {
    const kept = await lockKept(tx, id);
    if (kept === undefined) return { kind: "unknown" };
    if (kept.message_id !== null) return isOf(kept, owner) ? { kind: "already_assigned", messageId: kept.message_id } : ELSEWHERE;
    if (kept.kind === "notification" || kept.sender === null || kept.recipient === null) return { kind: "notification" };
    const { sender, recipient, channel, body, reported, is_to_group: isToGroup, content, details } = kept;
    const { link, provider, provider_message_id: messageId } = kept;
    const addresses = formsOf(sender);
    const found = await findSentTo(
      tx,
      addresses.flatMap((address) => toCorrespondents(address, recipient, linksOfAccount(linkDirectory.current, link))),
    );
    const nowMs = clock.now();
    const received = {
      channel,
      sender,
      recipient,
      text: body ?? "",
      reported: reported ?? undefined,
      isToGroup,
      content: content ?? undefined,
      details: details ?? undefined,
      inReplyTo: null,
      writtenAtMs: uuidTimeMs(id),
      provider: { name: provider, link, messageId },
      isUnrouted: false,
      pairs: consentPairs(
        { addresses, to: recipient, sent: [...found.values()].flat(), link, isKnown: hasNumber(linkDirectory.current, link, recipient) },
        { owner, inReplyTo: null, isShared: false },
        linkDirectory.current,
      ),
    };
    const { message } = await receiveMessage(tx, { nowMs, owner, received }, { defaults, replyLink: undefined, mediaRetentionMs });
    await storeAssigned(tx, id, owner, message.id);
    const target = { type: "message", id: encodeId("msg", message.id) } as const;
    await recordChange(
      tx,
      nowMs,
      { ...owner, origin },
      { action: "message.assigned", target, changes: { inbound: encodeId("inb", id), link } },
    );
    return { kind: "assigned", messageId: message.id };
  });

const ELSEWHERE: Assigned = { kind: "assigned_elsewhere" };

const isOf = ({ account_id: accountId, environment }: LockedKept, owner: Owner): boolean =>
  accountId?.equals(owner.accountId) === true && environment === owner.environment;
