/** The parts of an SMS that was sent in several: their rows, their records in the API, and the receipts that carriers send for a part.
 *  The advance statement writes the rows; all other SQL of parts is here. */
import { nullable, openEnum, timestamp, Type, type Static } from "../http/schema.ts";
import { isoTime } from "../lib/time.ts";
import type { AcceptedParts } from "../providers/provider.ts";
import type { Queryable, Tx } from "../database/database.ts";
import { sql } from "../database/sql.ts";
import { advance } from "./advance.ts";
import { changeBy, noteOn, type Change, type Signal } from "./change.ts";
import { MessageError, type Message, type OwnedMessage } from "./message.ts";
import { lockMessage } from "./queries.ts";
import { isUnsuccessful, mayBecome, STATUSES, type Status } from "./states.ts";

type PartRow = {
  number: number;
  provider_message_id: string;
  status: Status;
  error: MessageError | null;
  total: number | null;
  reference: number | null;
  updated_at: Date;
};

const readParts = (db: Queryable, { accountId, environment, id }: OwnedMessage): Promise<PartRow[]> =>
  db.rows<PartRow>(sql`
  select number, provider_message_id, status, error, total, reference, updated_at
    from message_parts
   where account_id = ${accountId} and environment = ${environment} and message_id = ${id}
   order by number`);

const storePart = (tx: Tx, { accountId, environment, id }: OwnedMessage, part: PartRow, nowMs: number): Promise<unknown[]> =>
  tx.rows(sql`
  update message_parts
     set status = ${part.status},
         error = ${part.error && JSON.stringify(part.error)}::json,
         updated_at = to_timestamp(${nowMs / 1_000}::float8)
   where account_id = ${accountId} and environment = ${environment}
     and message_id = ${id} and number = ${part.number}`);

/** Applies the signal of a receipt to one part, and to the message if its parts together change its status. Returns the change, which
 *  may be only a note, or undefined if the message no longer exists. The message is locked: of two receipts at the same time, the
 *  second sees the part that the first has changed. */
export async function applyToPart(
  tx: Tx,
  { accountId, environment, id }: OwnedMessage,
  number: number,
  { signalFor, nowMs }: { signalFor: (message: Message) => Signal; nowMs: number },
): Promise<Change | undefined> {
  const message = await lockMessage(tx, accountId, environment, id);
  if (message === undefined) return undefined;
  const signal = signalFor(message);
  const parts = await readParts(tx, message);
  const part = parts.find((each) => each.number === number);
  const isAdvance = part !== undefined && mayBecome({ ...part, attempts: 1 }, signal.status);
  if (part !== undefined && isAdvance) {
    part.status = signal.status;
    part.error = signal.error ?? part.error;
    await storePart(tx, message, part, nowMs);
  }
  const whole = isAdvance ? wholeStatus(parts) : undefined;
  const change =
    whole === undefined || whole.status === message.status
      ? undefined
      : changeBy(message, { ...signal, ...(whole.error === null ? {} : { error: whole.error }), status: whole.status }, nowMs);
  const note = (): Change =>
    noteOn(message, nowMs, { type: `part.${signal.status}`, isIgnored: !isAdvance, detail: signal.detail, move: { kind: "stay" } });
  const made = change ?? note();
  await advance(tx, [made]);
  return made;
}

/** Reads the parts that the carrier has accepted if others are missing, so that an attempt can send only those. */
export async function readAcceptedParts(db: Queryable, message: OwnedMessage): Promise<AcceptedParts | undefined> {
  const parts = await readParts(db, message);
  const [first] = parts;
  if (first?.total === undefined || first.total === null || first.reference === null || parts.length >= first.total) return undefined;
  return { ids: parts.map(({ provider_message_id: id }) => id), total: first.total, reference: first.reference };
}

const RANK: readonly Status[] = ["sent", "delivered", "read"];

/** The status of a message by its parts: a failed part fails the message, otherwise the message has the lowest status of its parts.
 *  Undefined if the carrier has not accepted all parts. */
function wholeStatus(parts: readonly PartRow[]): Pick<PartRow, "status" | "error"> | undefined {
  const failed = parts.find(isUnsuccessful);
  if (failed !== undefined) return failed;
  if (parts.some(({ total }) => total !== null && total > parts.length)) return undefined;
  const lowest = Math.min(...parts.map(({ status }) => Math.max(0, RANK.indexOf(status))));
  return { status: RANK[lowest] ?? "sent", error: null };
}

export const PartRecord = Type.Object(
  {
    object: Type.Literal("part"),
    number: Type.Integer({ minimum: 1, description: "The position in the message, from one." }),
    provider_message_id: nullable(
      Type.String({ description: "The carrier id of the part. Null if only a receipt shows that the carrier accepted it, without an id." }),
    ),
    status: openEnum(STATUSES, "The status of the part."),
    error: nullable(MessageError),
    updated_at: timestamp("The time of the last change."),
  },
  { title: "MessagePart", description: "One transmitted part of an SMS." },
);
type PartRecord = Static<typeof PartRecord>;

/** Lists the parts that a carrier has accepted, in their order. A message with one carrier id is one part, whatever its length: it was sent
 *  in one piece, or the carrier splits it. */
export async function listParts(db: Queryable, message: Message): Promise<PartRecord[]> {
  if (message.channel !== "sms" || message.direction !== "outbound") return [];
  const parts = await readParts(db, message);
  if (parts.length > 0) return parts.map(partRecord);
  return isAcceptedByCarrier(message) ? [onePart(message)] : [];
}

/** A refused attempt of one part leaves no carrier id. A receipt can show that the carrier accepted the message although no response
 *  arrived. */
const isAcceptedByCarrier = ({ provider, sentAtMs }: Message): boolean =>
  sentAtMs !== null || (provider !== null && provider.messageId !== null);

const onePart = ({ provider, status, error, updatedAtMs }: Message): PartRecord => ({
  object: "part",
  number: 1,
  provider_message_id: provider?.messageId ?? null,
  status,
  error,
  updated_at: isoTime(updatedAtMs),
});

const partRecord = ({ number, provider_message_id, status, error, updated_at }: PartRow): PartRecord => ({
  object: "part",
  number,
  provider_message_id,
  status,
  error,
  updated_at: isoTime(updated_at.getTime()),
});
