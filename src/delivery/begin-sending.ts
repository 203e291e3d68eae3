/** Commits `sending`, immediately before the bytes of a message leave, or finds out why the message must not leave. */
import { setTimeout as sleep } from "node:timers/promises";
import { findRefusal, type ConsentRefusal } from "../consent/refusal.ts";
import { ConnectionLost, isDatabaseTrouble } from "../database/database.ts";
import type { Link } from "../links/link.ts";
import { isWritten, type Advancer } from "../messages/advance.ts";
import { changeBy, type Change, type Signal } from "../messages/change.ts";
import type { Message } from "../messages/message.ts";
import type { DeliveryContext } from "./context.ts";
import { moment, msSince, type Moment } from "../lib/time.ts";
import { readMessages } from "./queries.ts";

/** Why a message is not sent although its link was ready for it. */
export type Obstacle =
  | { kind: "expired" }
  /** The message has changed: it was canceled, or another node has claimed it. */
  | { kind: "changed" }
  /** A transaction that may opt the recipient out has not ended yet. */
  | { kind: "busy" }
  /** `from` is the version of the message that the refusal applies to. */
  | { kind: "refused"; code: ConsentRefusal; from: Message }
  /** The message is stored as `from`, which is `sending`. Nothing has left. */
  | { kind: "unsent"; from: Message }
  /** The connection was lost during the commit of the change, and its outcome could not be found out. Nothing has left. */
  | { kind: "lost"; change: Change; session: string }
  | { kind: "failed"; error: unknown };

/** The message as `sending`, with the moment at which nothing spoke against it, or the obstacle. */
export type Begun = { kind: "sending"; message: Message; checkedAt: Moment } | Obstacle;

type BeginParts = Pick<DeliveryContext, "db" | "clock" | "linkDirectory"> & {
  advancer: Advancer;
  /** Aborted when the process ends. */
  stopping: AbortSignal;
};

// Bytes leave right after the commit. A process that took longer than this was suspended or starved, and other nodes may have decided
// otherwise in the meantime.
const MAX_DELAY_MS = 1_000;
export const DATABASE_RETRY_MS = 500;

/** Never rejects. `isOver`: the attempt has ended without this message, so that the result no longer matters. */
export async function beginSending(parts: BeginParts, message: Message, link: Link, isOver: () => boolean): Promise<Begun> {
  const { advancer } = parts;
  const nowMs = advancer.now();
  let change: Change | undefined;
  try {
    if (isExpired(parts, message)) return { kind: "expired" };
    const code = await findPoolRefusal(parts, message);
    if (code !== undefined) return { kind: "refused", code, from: message };
    change = changeBy(message, sendingSignal(message, link), nowMs);
    if (change === undefined) return { kind: "changed" };
    const writtenAt = await advancer.submit(change);
    if (writtenAt === false) return await findObstacle(parts, message);
    if (msSince(writtenAt) > MAX_DELAY_MS) return await checkAgain(parts, change.after, isOver);
    return { kind: "sending", message: change.after, checkedAt: moment() };
  } catch (error) {
    return change !== undefined && error instanceof ConnectionLost
      ? { kind: "lost", change, session: error.session }
      : { kind: "failed", error };
  }
}

/** Checks a message that became `sending` more than a second ago, and whose bytes have not left. Never rejects. */
export async function beginAgain(parts: BeginParts, begun: Begun, isOver: () => boolean): Promise<Begun> {
  if (begun.kind !== "sending" || msSince(begun.checkedAt) <= MAX_DELAY_MS) return begun;
  try {
    return await checkAgain(parts, begun.message, isOver);
  } catch (error) {
    return { kind: "failed", error };
  }
}

/** The change from `queued` to `sending`. It commits before the first byte may leave. */
export const sendingSignal = (message: Message, link: Link): Signal => {
  const attempts = message.attempts + 1;
  return {
    status: "sending",
    attempts,
    provider: { name: link.provider, link: link.name, messageId: null },
    detail: { attempt: { number: attempts, link: link.name, outcome: "written" } },
    // The row keeps its lease. A node that claims the message after the lease finds it `sending`: bytes may have left.
    move: { kind: "stay" },
  };
};

/** Finds out what became of a change to `sending` whose connection was lost. The record of the message does not show it: another node may have changed it, to
 *  the same status and with the same sequence. The entry of the timeline is that of this change. */
export async function findLost(parts: BeginParts, { change, session }: Extract<Obstacle, { kind: "lost" }>): Promise<Obstacle> {
  // An entry that is missing after the end of the session cannot appear later.
  await parts.db.endSession(session);
  return (await isWritten(parts.db, change)) ? { kind: "unsent", from: change.after } : findObstacle(parts, change.before);
}

/** Why a message did not become `sending`. */
async function findObstacle(parts: BeginParts, message: Message): Promise<Obstacle> {
  const code = await refusalOf(parts, message);
  if (code !== undefined) return { kind: "refused", code, from: message };
  const [now] = await readMessages(parts.db, [message]);
  return now?.status === message.status && now.sequence === message.sequence ? { kind: "busy" } : { kind: "changed" };
}

/** Checks a message that is `sending`, after a delay. Repeats a check that finds no database, within the time limit of the attempt. A message
 *  whose time to live is over returns to the queue. So does one whose check is delayed as well: on a starved machine many would wait here, and
 *  a kill would leave all of them unknown. */
async function checkAgain(parts: BeginParts, sending: Message, isOver: () => boolean): Promise<Begun> {
  while (!isOver()) {
    const started = moment();
    try {
      const [now] = await readMessages(parts.db, [sending]);
      if (now?.status !== "sending" || now.sequence !== sending.sequence) return { kind: "changed" };
      const code = await refusalOf(parts, sending);
      if (code !== undefined) return { kind: "refused", code, from: sending };
      return msSince(started) <= MAX_DELAY_MS && !isExpired(parts, now)
        ? { kind: "sending", message: sending, checkedAt: moment() }
        : { kind: "unsent", from: sending };
    } catch (error) {
      if (!isDatabaseTrouble(error) || parts.stopping.aborted) throw error;
      await sleep(DATABASE_RETRY_MS);
    }
  }
  return { kind: "unsent", from: sending };
}

const isExpired = ({ clock }: BeginParts, { expiresAtMs }: Message): boolean => (expiresAtMs ?? 0) <= clock.dueNow();

async function refusalOf({ db, advancer }: BeginParts, message: Message): Promise<ConsentRefusal | undefined> {
  if (message.isOptOutReply === true) return undefined;
  const isFreeWhatsApp = message.channel === "whatsapp" && message.template === null;
  return findRefusal(db, { ...message, isFreeWhatsApp }, advancer.now());
}

/** An opt-out from one number of a pool is stored for all its numbers. A number that has joined the pool since then has none of its own. */
async function findPoolRefusal(parts: BeginParts, message: Message): Promise<ConsentRefusal | undefined> {
  const { sender } = message;
  const others = sender === null ? [] : parts.linkDirectory.current.poolOf(message, sender).filter((number) => number !== sender);
  for (const other of others) {
    const code = await refusalOf(parts, { ...message, sender: other });
    if (code === "recipient_opted_out") return code;
  }
  return undefined;
}
