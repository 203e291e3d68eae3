/** Starts the next step of a fallback: accepts a new message in place of one that was not delivered. One transaction removes the fallback
 *  and accepts the message, with the earlier message locked, so that a step starts once on any number of nodes. */
import { Problem } from "../http/problem.ts";
import { encodeId, newId, type MessageId } from "../model/id.ts";
import type { SecretBox } from "../lib/secret-box.ts";
import { hasSender } from "../links/choose-links.ts";
import { senderOn, type SenderChoice } from "../links/choose-sender.ts";
import type { DueClock } from "../database/database-clock.ts";
import { isDatabaseTrouble, type Database, type Tx } from "../database/database.ts";
import type { Owner } from "../model/owner.ts";
import { storeAcceptances } from "./accept-statement.ts";
import { toAcceptance, type Acceptance } from "./acceptance.ts";
import { advanceLocked } from "./advance.ts";
import { noteOn, type Change } from "./change.ts";
import { needOfStored } from "./check-content.ts";
import { fromRequest, startTimeMs, type ChosenLink, type Composed, type Composer } from "./compose.ts";
import { carrierProblem, segmentProblem } from "./refusals.ts";
import { claimDueFallbacks, removeFallback, type DueFallback, type FallbackStep } from "./fallbacks.ts";
import type { Handover } from "./handover.ts";
import { messageRecord, type Message } from "./message.ts";
import type { NewMessage } from "./new-message.ts";
import { lockMessage } from "./queries.ts";
import { readSteps } from "./sealed.ts";
import type { Status } from "./states.ts";

export type FallbackParts = { composer: Composer; box: SecretBox; nowMs: number };

/** The statuses in which a message needs no fallback. */
const NOT_NEEDED: ReadonlySet<Status> = new Set(["delivered", "read", "canceled"]);

/** Returns the accepted message, or undefined if the fallback is no longer needed, has started already, or has no step that can be
 *  sent. */
export async function startFallback(
  tx: Tx,
  parts: FallbackParts,
  { accountId, environment, id }: Owner & { id: MessageId },
): Promise<Acceptance | undefined> {
  const message = await lockMessage(tx, accountId, environment, id);
  // The message was edited to a later time. Its fallback will be due again.
  if (message?.status === "scheduled") return undefined;
  const [removed] = await removeFallback(tx, id);
  if (message === undefined || removed === undefined || NOT_NEEDED.has(message.status)) return undefined;
  const remaining = openSteps(parts.box, id, removed.steps);
  if (remaining === undefined) await advanceLocked(tx, [refusedNote(message, "content_unreadable", parts.nowMs)]);
  let before = message;
  for (let steps = remaining ?? []; steps.length > 0; steps = steps.slice(1)) {
    const accepted = await acceptStep(tx, parts, message, steps);
    const isRefused = typeof accepted === "string";
    const change = isRefused ? refusedNote(before, accepted, parts.nowMs) : startedNote(before, accepted, parts.nowMs);
    await advanceLocked(tx, [change]);
    if (!isRefused) return accepted;
    before = change.after;
  }
  return undefined;
}

/** Undefined if the steps were sealed with a secret key that this service no longer has. */
function openSteps(box: SecretBox, id: MessageId, steps: string): FallbackStep[] | undefined {
  try {
    return readSteps(box, id, steps);
  } catch {
    return undefined;
  }
}

/** The reason why a step cannot be sent. */
type RefusalCode = string;

async function acceptStep(
  tx: Tx,
  { composer, box, nowMs }: FallbackParts,
  message: Message,
  [step, ...rest]: readonly FallbackStep[],
): Promise<Acceptance | RefusalCode> {
  if (step === undefined) throw new Error("a fallback has a step");
  // A verification code is valid until the first message with it expires, on every channel.
  if (step.shown !== null && (message.expiresAtMs ?? 0) <= nowMs) return "ttl_expired";
  const composed = composeStep(composer, message, step, rest);
  if (composed instanceof Problem) return composed.code;
  const acceptance = acceptanceIfFits(composed, box);
  if (acceptance === undefined) return "too_large";
  const { refused } = await storeAcceptances(tx, [acceptance]);
  return refused.get(0) ?? acceptance;
}

/** Returns the message of the next step of a fallback, or the problem that prevents it. */
function composeStep(composer: Composer, before: Message, step: FallbackStep, rest: readonly FallbackStep[]): Composed | Problem {
  const { content, shown, channel } = step;
  const { recipient, priority, metadata, clientReference, maxSegments } = before;
  const route = routeOfStep(composer, before, step);
  if (route instanceof Problem) return route;
  const { link } = route;
  const request: NewMessage = {
    recipient,
    channel,
    priority,
    metadata,
    client_reference: clientReference,
    max_segments: maxSegments,
    ttl_seconds: Math.round(((before.expiresAtMs ?? 0) - startTimeMs(before)) / 1_000),
  };
  const problem = segmentProblem(request, content, () => link) ?? carrierProblem(request, content, link);
  if (problem !== undefined) return problem;
  const nowMs = composer.now();
  const message = fromRequest({
    request,
    owner: before,
    id: newId("msg", nowMs),
    nowMs,
    content,
    shown,
    ...route,
    fallbackOf: before.id,
    hasFallback: rest.length > 0,
    source: before.source,
    trace: before.trace,
  });
  return {
    // A secret is valid for a fixed time, which the fallback does not extend.
    message: shown === null ? message : { ...message, expiresAtMs: before.expiresAtMs },
    link,
    steps: rest,
    secret: shown && content,
  };
}

/** The link and the sender of a step. A sender that the request named is kept, on another channel only if its link has it. */
function routeOfStep(composer: Composer, before: Message, { channel, content }: FallbackStep): (ChosenLink & SenderChoice) | Problem {
  const { linkDirectory } = composer;
  const { sender, senderReason } = before;
  const need = needOfStored({ channel, content: content.structured ?? null, inReplyTo: null });
  const named = senderReason === "named" ? composer.linkFor({ ...before, channel, need }, { mayWait: true }) : undefined;
  if (named instanceof Problem && channel === before.channel) return named;
  if (
    named !== undefined &&
    !(named instanceof Problem) &&
    (channel === before.channel || hasSender(linkDirectory.current, named.link, before))
  )
    return { ...named, sender, senderReason };
  const route = composer.linkFor({ ...before, channel, sender: null, need }, { mayWait: true });
  if (route instanceof Problem) return route;
  // A sender of one link may not be allowed on another.
  const isSameLink = (before.provider?.link ?? route.link.name) === route.link.name;
  return { ...route, ...(isSameLink ? { sender, senderReason } : senderOn(linkDirectory, route.link, before)) };
}

/** Undefined if the record is too large for an event, which an edit of the first message can cause. */
function acceptanceIfFits(composed: Composed, box: SecretBox): Acceptance | undefined {
  try {
    return toAcceptance(composed, undefined, box);
  } catch (error) {
    if (error instanceof Problem) return undefined;
    throw error;
  }
}

/** An event of the first message, with the id of the message that is sent in its place. */
function startedNote(message: Message, { message: { id } }: Acceptance, nowMs: number): Change {
  const note = noteOn(message, nowMs, {
    type: "message.fallback_started",
    isIgnored: false,
    detail: { reason: "not delivered in time, or failed", fallback_message_id: encodeId("msg", id) },
    move: { kind: "stay" },
  });
  return { ...note, entry: { ...note.entry, record: JSON.stringify(messageRecord(note.after)) } };
}

/** A note about a step that cannot be sent. The next step follows. */
const refusedNote = (message: Message, reason: RefusalCode, nowMs: number): Change =>
  noteOn(message, nowMs, { type: "fallback.refused", isIgnored: true, detail: { reason }, move: { kind: "stay" } });

const BATCH = 20;

type DueFallbackParts = Omit<FallbackParts, "nowMs"> & {
  db: Database;
  clock: DueClock;
  handover: Handover;
  wakeWebhooks: () => void;
  leaseMs: number;
};

/** Starts the steps that are due, for messages that were not delivered in time. Returns the number of due fallbacks; there may be more until it is
 *  zero. A fallback that fails delays no other, and is due again after its lease. */
export async function startDueFallbacks(parts: DueFallbackParts): Promise<number> {
  const { db, clock, leaseMs } = parts;
  const due = await claimDueFallbacks(db, { dueMs: clock.dueNow(), leaseEndMs: clock.now() + leaseMs }, BATCH);
  const failures: unknown[] = [];
  for (const each of due) {
    try {
      await startDue(parts, each);
    } catch (error) {
      if (isDatabaseTrouble(error)) throw error;
      failures.push(error);
    }
  }
  if (failures.length > 0) throw new AggregateError(failures, `${failures.length} fallbacks could not be started: ${String(failures[0])}`);
  return due.length;
}

async function startDue({ db, clock, composer, box, handover, wakeWebhooks }: DueFallbackParts, due: DueFallback): Promise<void> {
  const { account_id: accountId, environment, message_id: id } = due;
  const accepted = await db.transaction((tx) => startFallback(tx, { composer, box, nowMs: clock.now() }, { accountId, environment, id }));
  wakeWebhooks();
  if (accepted !== undefined) handover.queued(accepted.queueEntry.lane, [accepted.message]);
}
