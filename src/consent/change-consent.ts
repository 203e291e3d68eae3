/** Changes of consent: a recipient opts out, opts in again, or writes a message. Each is stored in the transaction of the caller, with its
 *  history and its event, and only if it changes something. The caller wakes the webhook workers after its commit. */
import { recordChange } from "../audit/record-change.ts";
import { publishEvents } from "../events/publish.ts";
import { assert } from "../lib/assert.ts";
import { encodeId, firstEventId, idKey, newId, newIdAfter, type MessageId } from "../model/id.ts";
import { actorText, SYSTEM_ORIGIN, type ChangeOrigin } from "../model/origin.ts";
import { uuidTimeMs } from "../lib/uuid.ts";
import type { Tx } from "../database/database.ts";
import { OWNER_LOCKS, shareOwner } from "../database/locks.ts";
import type { Owner } from "../model/owner.ts";
import type { Recipient } from "../model/phone-number.ts";
import {
  countInFlight,
  deleteErasedOptOut,
  insertSuppressions,
  lockSuppressions,
  storeChanges,
  storeWindow,
  deleteConsent,
  keepErasedOptOuts,
  type Changed,
} from "./queries.ts";
import { lockConsent } from "./refusal.ts";
import { pairName, suppressionRecord, type Pair, type Reason, type Source, type Suppression } from "./suppression.ts";

/** Without an origin, the service itself makes the change. */
export type Cause = { source: Source; keyword?: string | null; messageId?: MessageId | null; note?: string | null; origin?: ChangeOrigin };

/** `inFlight`: how many messages of the pair are `sending` when the opt-out commits. */
export type OptOut = { suppression: Suppression; isChanged: boolean; inFlight: number };

// The parameters of a statement are built in one turn of the event loop, so that many rows at once would delay other requests.
const ROWS_PER_STATEMENT = 100;

const chunksOf = <T>(items: readonly T[]): T[][] =>
  Array.from({ length: Math.ceil(items.length / ROWS_PER_STATEMENT) }, (_, index) =>
    items.slice(index * ROWS_PER_STATEMENT, (index + 1) * ROWS_PER_STATEMENT),
  );

/** Keeps erasures of the environment out until the transaction ends. Call it before the first lock of a suppression. */
export const shareConsent = async (tx: Tx, owner: Owner): Promise<void> => {
  await shareOwner(tx, OWNER_LOCKS.consentChanges, owner);
};

/** Suppresses messages to the recipient from this sender, or from all. An active suppression stays unchanged, except that a word, a request or
 *  an import replaces a report of the carrier, which the carrier could take back. */
export async function optOut(tx: Tx, nowMs: number, pair: Pair, cause: Cause): Promise<OptOut> {
  const [done] = await optOutAll(tx, nowMs, [{ pair, cause }]);
  assert(done !== undefined, "a pair that opts out has a suppression");
  if (done.isChanged) await recordConsent(tx, nowMs, done.suppression, cause);
  return done;
}

/** Stores many opt-outs, each pair at most once. Returns the results in the order of the wishes.
 *
 *  No change to `sending` commits after the caller's transaction. A change takes its locks before it checks for a suppression, with a
 *  snapshot of its own (`find_suppressed`), and both transactions keep their locks until they have committed. So a change either has
 *  committed when the locks are taken here, or it gets its locks after this commit, and finds the suppression. A change does not wait for
 *  its locks: it is left out, and its message tries again soon. */
export async function optOutAll(tx: Tx, nowMs: number, wishes: readonly { pair: Pair; cause: Cause }[]): Promise<OptOut[]> {
  const wanted = wishes.map(({ pair, cause }) => newSuppression(nowMs, pair, cause));
  for (const owner of new Map(wanted.map((each) => [`${idKey(each.accountId)} ${each.environment}`, each])).values())
    await shareConsent(tx, owner);
  // All transactions lock pairs in one order, so that there is no deadlock.
  const named = wanted.map((each) => ({ each, name: pairName(each) }));
  const inOrder = named.toSorted((one, other) => (one.name < other.name ? -1 : 1)).map(({ each }) => each);
  const inserted = new Set<string>();
  for (const chunk of chunksOf(inOrder)) for (const { id } of await insertSuppressions(tx, chunk)) inserted.add(idKey(id));
  const isNew = ({ id }: Suppression): boolean => inserted.has(idKey(id));
  const known = inOrder.filter((each) => !isNew(each));
  const locked = known.length === 0 ? [] : await lockSuppressions(tx, known);
  const before = new Map(locked.map((each) => [pairName(each), each]));

  const added: Changed[] = [];
  const again: Changed[] = [];
  const done = named.map(({ each, name }): Omit<OptOut, "inFlight"> => {
    if (isNew(each)) {
      added.push({ changeId: firstEventId(each.id), suppression: each });
      return { suppression: each, isChanged: true };
    }
    const stored = before.get(name);
    assert(stored !== undefined, "a suppression that was in the way is there");
    if (stored.isActive && (stored.source !== "carrier" || each.source === "carrier")) return { suppression: stored, isChanged: false };
    const changed = change(stored, nowMs, { ...each, isActive: true });
    again.push(changed);
    return { suppression: changed.suppression, isChanged: true };
  });
  if (again.length > 0) await storeChanges(tx, again);
  for (const chunk of chunksOf([...added, ...again])) await publish(tx, chunk);
  // Late, so that other messages to these recipients are put off only shortly.
  await lockConsent(tx, wanted);
  const inFlight = await countInFlight(tx, wanted);
  return done.map((each, index) => ({ ...each, inFlight: inFlight[index] ?? 0 }));
}

/** Lifts the suppression of exactly this pair. Returns undefined when there is no active one. A suppression for all senders that the account
 *  added stays: START to one sender says nothing about it. One that the carrier reported is lifted too. */
export async function optIn(tx: Tx, nowMs: number, pair: Pair, cause: Cause): Promise<Suppression | undefined> {
  // The suppression for all senders comes first in the order of locks.
  const forAll = await liftReported(tx, nowMs, { ...pair, sender: null }, cause);
  const isWordToAll = pair.sender === null && cause.source !== "api";
  // An erased recipient that writes again is known again: the opt-out becomes a suppression, which is lifted like any other. The source of
  // an opt-out from all senders is erased with it, so a word does not lift that one.
  if (!isWordToAll && (await deleteErasedOptOut(tx, pair))) await optOut(tx, nowMs, pair, { source: "keyword" });
  const [stored] = await lockSuppressions(tx, [pair]);
  if (stored?.isActive !== true || (isWordToAll && stored.source !== "keyword")) return forAll;
  return lift(tx, nowMs, stored, cause);
}

/** Lifts the suppression of exactly this pair if a report of the carrier is its cause. A person who takes back a choice in the carrier's
 *  app does not take back a word that they wrote. */
export async function liftReported(tx: Tx, nowMs: number, pair: Pair, cause: Cause): Promise<Suppression | undefined> {
  await shareConsent(tx, pair);
  const [stored] = await lockSuppressions(tx, [pair]);
  return stored?.isActive === true && stored.source === "carrier" ? lift(tx, nowMs, stored, cause) : undefined;
}

/** Lifts a locked, active suppression. */
export async function lift(tx: Tx, nowMs: number, stored: Suppression, cause: Cause): Promise<Suppression> {
  const lifted = change(stored, nowMs, { ...reasonOf(cause), isActive: false });
  await storeChanges(tx, [lifted]);
  await publish(tx, [lifted]);
  await recordConsent(tx, nowMs, lifted.suppression, cause);
  return lifted.suppression;
}

/** Opens the service window: the recipient wrote to the sender at that moment. */
export const openWindow = async (tx: Tx, pair: Pair & { sender: string }, atMs: number): Promise<void> => {
  await storeWindow(tx, pair, atMs);
};

const reasonOf = ({ source, keyword = null, messageId = null, note = null }: Cause) => ({ source, keyword, messageId, note });

function newSuppression(nowMs: number, { accountId, environment, recipient, sender }: Pair, cause: Cause): Suppression {
  const id = newId("sup", nowMs);
  const createdBy = actorText((cause.origin ?? SYSTEM_ORIGIN).actor);
  return { accountId, environment, recipient, sender, id, isActive: true, ...reasonOf(cause), updatedAtMs: uuidTimeMs(id), createdBy };
}

/** Records a change in the audit log, by the id of the suppression: the number of the recipient can be erased later. */
function recordConsent(tx: Tx, nowMs: number, { accountId, environment, id, isActive }: Suppression, cause: Cause): Promise<void> {
  const { source, keyword = null, origin = SYSTEM_ORIGIN } = cause;
  const target = { type: "suppression", id: encodeId("sup", id) } as const;
  const action = isActive ? "suppression.created" : "suppression.lifted";
  return recordChange(tx, nowMs, { accountId, environment, origin }, { action, target, changes: { source, keyword } });
}

function change(stored: Suppression, nowMs: number, { isActive, source, keyword, messageId, note }: Reason): Changed {
  const changeId = newIdAfter("evt", stored.updatedAtMs, nowMs);
  const updatedAtMs = uuidTimeMs(changeId);
  return { changeId, suppression: { ...stored, isActive, source, keyword, messageId, note, updatedAtMs } };
}

const publish = (tx: Tx, changes: readonly Changed[]): Promise<void> =>
  publishEvents(
    tx,
    changes.map(({ changeId, suppression }) => ({
      accountId: suppression.accountId,
      environment: suppression.environment,
      id: changeId,
      type: suppression.isActive ? "recipient.opted_out" : "recipient.opted_in",
      record: JSON.stringify(suppressionRecord(suppression)),
    })),
  );

/** Erases the consent of a recipient: suppressions, their history and service windows. Active opt-outs stay as keyed hashes, so that the
 *  recipient gets no messages although the number is not stored any more. Returns how many suppressions were erased, active or lifted. The
 *  caller's transaction keeps sends to the recipient out. */
export async function eraseConsent(tx: Tx, owner: Owner, recipient: Recipient, nowMs: number): Promise<number> {
  await lockConsent(tx, [{ ...owner, recipient }]);
  await keepErasedOptOuts(tx, owner, recipient, nowMs);
  return deleteConsent(tx, owner, recipient);
}
