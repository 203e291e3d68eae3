/** The next step of a fallback: a message of its own in place of one that did not get delivered. In one transaction with the
 *  right to begin it, on the message as it then is, so a step begins once on any number of nodes. */
import { Problem } from "../http/problem.ts";
import { encodeId, type MessageId } from "../lib/id.ts";
import type { SecretBox } from "../lib/secret-box.ts";
import type { Tx } from "../storage/database.ts";
import { toAcceptance, type MessageAcceptance } from "./acceptance.ts";
import { advance } from "./advance.ts";
import { noteOn, type Change } from "./change.ts";
import type { Composed, Composer } from "./compose.ts";
import { removeFallback, type FallbackStep } from "./fallbacks.ts";
import { messageRecord, type Message } from "./message.ts";
import { storeAcceptances } from "./accept-statement.ts";
import { lockMessage } from "./queries.ts";
import { readSteps } from "./sealed.ts";
import type { Status } from "./states.ts";
import type { Owner } from "../storage/owner.ts";

export type FallbackParts = { composer: Composer; box: SecretBox; nowMs: number };

/** There is nothing to fall back from. */
const OVER: ReadonlySet<Status> = new Set(["delivered", "read", "canceled"]);

/** The message that was accepted in its place; none when it is not needed any more, begun already, or no step can be sent. */
export async function startFallback(
  tx: Tx,
  parts: FallbackParts,
  { accountId, environment, id }: Owner & { id: MessageId },
): Promise<MessageAcceptance | undefined> {
  const message = await lockMessage(tx, accountId, environment, id);
  // Put off meanwhile: it will be due again.
  if (message?.status === "scheduled") return undefined;
  const [taken] = await removeFallback(tx, id);
  if (message === undefined || taken === undefined || OVER.has(message.status)) return undefined;
  const known = openSteps(parts.box, id, taken.steps);
  if (known === undefined) await make(tx, refusedNote(message, "content_unreadable", parts.nowMs));
  let before = message;
  for (let steps = known ?? []; steps.length > 0; steps = steps.slice(1)) {
    const accepted = await acceptStep(tx, parts, message, steps);
    const isRefused = typeof accepted === "string";
    const change = isRefused ? refusedNote(before, accepted, parts.nowMs) : startedNote(before, accepted, parts.nowMs);
    await make(tx, change);
    if (!isRefused) return accepted;
    before = change.after;
  }
  return undefined;
}

async function make(tx: Tx, change: Change): Promise<void> {
  const [isDone] = await advance(tx, [change]);
  if (isDone !== true) throw new Error("a locked message changed");
}

/** Undefined where they were sealed by a key that is not known here any more. */
function openSteps(box: SecretBox, id: MessageId, steps: string): FallbackStep[] | undefined {
  try {
    return readSteps(box, id, steps);
  } catch {
    return undefined;
  }
}

/** Why a step cannot be sent. */
type Refusal = string;

async function acceptStep(
  tx: Tx,
  { composer, box, nowMs }: FallbackParts,
  message: Message,
  [step, ...rest]: readonly FallbackStep[],
): Promise<MessageAcceptance | Refusal> {
  if (step === undefined) throw new Error("a fallback has a step");
  // A code is taken until the message that first carried it expires, by whichever way it comes.
  if (step.shown !== null && (message.expiresAtMs ?? 0) <= nowMs) return "ttl_expired";
  const composed = composer.composeStep(message, step, rest);
  if (composed instanceof Problem) return composed.code;
  const acceptance = acceptanceOf(composed, box);
  if (acceptance === undefined) return "too_large";
  const { refused } = await storeAcceptances(tx, [acceptance]);
  return refused.get(0) ?? acceptance;
}

/** Undefined where it is too large to travel: an edit of the message may have made it so. */
function acceptanceOf(composed: Composed, box: SecretBox): MessageAcceptance | undefined {
  try {
    return toAcceptance(composed, undefined, box);
  } catch (error) {
    if (error instanceof Problem) return undefined;
    throw error;
  }
}

/** Told to whoever follows the message, with the id of the one that is sent in its place. */
function startedNote(message: Message, { message: { id } }: MessageAcceptance, nowMs: number): Change {
  const note = noteOn(message, nowMs, {
    type: "message.fallback_started",
    isIgnored: false,
    detail: { reason: "not delivered in time, or ended badly", fallback_message_id: encodeId("msg", id) },
    move: { kind: "stay" },
  });
  return { ...note, entry: { ...note.entry, record: JSON.stringify(messageRecord(note.after)) } };
}

/** Left out, and the next one tried. */
const refusedNote = (message: Message, reason: Refusal, nowMs: number): Change =>
  noteOn(message, nowMs, { type: "fallback.refused", isIgnored: true, detail: { reason }, move: { kind: "stay" } });
