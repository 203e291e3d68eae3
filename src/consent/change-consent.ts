/** What changes who may be written to: a recipient opts out, opts in again, or writes to us. Each is done in the caller's
 *  transaction, with its history and its event, and only where it changes something; the caller wakes the webhook workers after its commit. */
import { publishEvents } from "../events/publish.ts";
import { assert } from "../lib/assert.ts";
import { firstEventId, idKey, newId, toId, type EventId, type MessageId } from "../lib/id.ts";
import { uuidSequence, uuidTimeMs } from "../lib/uuid.ts";
import type { Tx } from "../storage/database.ts";
import { insertSuppressions, lockSuppressions, storeChanges, storeWindow, type Changed } from "./queries.ts";
import { pairName, suppressionRecord, type Pair, type Source, type Suppression } from "./suppression.ts";

export type Cause = { source: Source; keyword?: string | null; messageId?: MessageId | null; note?: string | null };

export type OptOut = { suppression: Suppression; isChanged: boolean };

/** From now on nobody may write to the recipient, or this sender may not. One that is active already stays as it is. */
export async function optOut(tx: Tx, nowMs: number, pair: Pair, cause: Cause): Promise<OptOut> {
  const [done] = await optOutAll(tx, nowMs, [{ pair, cause }]);
  assert(done !== undefined, "a pair that opts out has a suppression");
  return done;
}

/** Many at once, each pair named once; answered in the order they were asked in. */
export async function optOutAll(tx: Tx, nowMs: number, wishes: readonly { pair: Pair; cause: Cause }[]): Promise<OptOut[]> {
  const wanted = wishes.map(({ pair, cause }) => newSuppression(nowMs, pair, cause));
  // Everybody takes them in one order, so that nobody waits in a circle.
  const inOrder = wanted.toSorted((one, other) => (pairName(one) < pairName(other) ? -1 : 1));
  const inserted = new Set((await insertSuppressions(tx, inOrder)).map(({ id }) => idKey(id)));
  const isNew = ({ id }: Suppression): boolean => inserted.has(idKey(id));
  const known = inOrder.filter((each) => !isNew(each));
  const locked = known.length === 0 ? [] : await lockSuppressions(tx, known);
  const before = new Map(locked.map((each) => [pairName(each), each]));

  const added: Changed[] = [];
  const again: Changed[] = [];
  const done = wanted.map((each): OptOut => {
    if (isNew(each)) {
      added.push({ changeId: firstEventId(each.id), suppression: each });
      return { suppression: each, isChanged: true };
    }
    const stored = before.get(pairName(each));
    assert(stored !== undefined, "a suppression that was in the way is there");
    if (stored.isActive) return { suppression: stored, isChanged: false };
    const changed = change(stored, nowMs, { ...each, isActive: true });
    again.push(changed);
    return { suppression: changed.suppression, isChanged: true };
  });
  if (again.length > 0) await storeChanges(tx, again);
  await publish(tx, [...added, ...again]);
  return done;
}

/** Lifts the suppression of this very pair; undefined when there is none, or none that is active. Who takes back a STOP to one sender
 *  has said nothing of what stands for all of them, by the account's own will: that stays. */
export async function optIn(tx: Tx, nowMs: number, pair: Pair, cause: Cause): Promise<Suppression | undefined> {
  const [stored] = await lockSuppressions(tx, [pair]);
  return stored?.isActive === true ? lift(tx, nowMs, stored, cause) : undefined;
}

/** Lifts a suppression that is locked and active. */
export async function lift(tx: Tx, nowMs: number, stored: Suppression, cause: Cause): Promise<Suppression> {
  const lifted = change(stored, nowMs, { ...reasonOf(cause), isActive: false });
  await storeChanges(tx, [lifted]);
  await publish(tx, [lifted]);
  return lifted.suppression;
}

/** The recipient wrote to the sender at that moment: for a day after it, free text may be sent. */
export const openWindow = async (tx: Tx, pair: Pair & { sender: string }, atMs: number): Promise<void> => {
  await storeWindow(tx, pair, atMs);
};

const reasonOf = ({ source, keyword = null, messageId = null, note = null }: Cause) => ({ source, keyword, messageId, note });

function newSuppression(nowMs: number, { accountId, environment, recipient, sender }: Pair, cause: Cause): Suppression {
  const id = newId("sup", nowMs);
  return { accountId, environment, recipient, sender, id, isActive: true, ...reasonOf(cause), updatedAtMs: uuidTimeMs(id) };
}

type Reason = Pick<Suppression, "isActive" | "source" | "keyword" | "messageId" | "note">;

function change(stored: Suppression, nowMs: number, { isActive, source, keyword, messageId, note }: Reason): Changed {
  const changeId = idAfter(stored.updatedAtMs, nowMs);
  const updatedAtMs = uuidTimeMs(changeId);
  return { changeId, suppression: { ...stored, isActive, source, keyword, messageId, note, updatedAtMs } };
}

/** An id later than the change before it, also when that was made by a node whose clock is ahead. Then it is not of the common
 *  sequence, which would stay ahead from there on. */
const idAfter = (beforeMs: number, nowMs: number): EventId =>
  nowMs > beforeMs ? newId("evt", nowMs) : toId("evt", uuidSequence()(beforeMs + 1));

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
