/** What a carrier says of one part of a message that went in several: the part is moved, and the message where all of them
 *  together move it. In one transaction with the message locked, so that of two parts that arrive at once one sees the other. */
import type { MessageId } from "../lib/id.ts";
import type { Part } from "./part.ts";
import { readParts, storePart } from "./part-queries.ts";
import type { Tx } from "../storage/database.ts";
import { advance } from "./advance.ts";
import { changeBy, noteOn, type Change, type Signal } from "./change.ts";
import type { MessageError } from "./message.ts";
import { lockMessage } from "./queries.ts";
import { hasEndedBadly, mayBecome, type Status } from "./states.ts";
import type { Owner } from "../storage/owner.ts";

type MessagePart = Part<Status, MessageError>;

/** The change that was made, if only a note; undefined where the message is gone. */
export async function workInPart(
  tx: Tx,
  { accountId, environment, id }: Owner & { id: MessageId },
  number: number,
  { signal, nowMs }: { signal: Signal; nowMs: number },
): Promise<Change | undefined> {
  const message = await lockMessage(tx, accountId, environment, id);
  if (message === undefined) return undefined;
  const parts = await readParts<Status, MessageError>(tx, message);
  const part = parts.find((each) => each.number === number);
  const isNews = part !== undefined && mayBecome({ ...part, attempts: 1 }, signal.status);
  if (part !== undefined && isNews) {
    part.status = signal.status;
    part.error = signal.error ?? part.error;
    await storePart(tx, message, part, nowMs);
  }
  const whole = isNews ? wholeOf(parts) : undefined;
  const change =
    whole === undefined || whole.status === message.status
      ? undefined
      : changeBy(message, { ...signal, ...(whole.error === null ? {} : { error: whole.error }), status: whole.status }, nowMs);
  const note = (): Change =>
    noteOn(message, nowMs, { type: `part.${signal.status}`, isIgnored: !isNews, detail: signal.detail, move: { kind: "stay" } });
  const made = change ?? note();
  await advance(tx, [made]);
  return made;
}

const RANK: readonly Status[] = ["sent", "delivered", "read"];

/** Any part that failed fails the message; it is as far as the part that lags behind. */
function wholeOf(parts: readonly MessagePart[]): Pick<MessagePart, "status" | "error"> {
  const bad = parts.find(hasEndedBadly);
  if (bad !== undefined) return bad;
  const last = Math.min(...parts.map(({ status }) => Math.max(0, RANK.indexOf(status))));
  return { status: RANK[last] ?? "sent", error: null };
}
