/** Shared code of the tests of usage counts: the counting parts of the statements that write messages, and the plans of statements that
 *  read. */
import assert from "node:assert/strict";
import pg from "pg";
import { newId, toId, type AccountId, type MessageId } from "../../src/model/id.ts";
import { firstUuidAt, uuidFromBytes, uuidToText } from "../../src/lib/uuid.ts";
import { batchStatement, column } from "../../src/database/batch.ts";
import type { Database, Queryable } from "../../src/database/database.ts";
import type { Sql } from "../../src/database/sql.ts";
import { acceptStatement } from "../../src/messages/accept-statement.ts";
import { advanceStatement } from "../../src/messages/advance-statement.ts";
import { usageBucket, usageError, usageMinute, usageSegments, type Countable } from "../../src/usage/usage.ts";

/** The text between the parentheses of a common table expression. */
export function cteOf(statement: string, name: string): string {
  const head = ` ${name} as (`;
  const start = statement.indexOf(head) + head.length;
  assert.ok(start >= head.length, `the statement has ${name}`);
  let depth = 1;
  let end = start;
  for (; depth > 0; end += 1) depth += { "(": 1, ")": -1 }[statement[end] ?? assert.fail("the parentheses match")] ?? 0;
  return statement.slice(start, end - 1);
}

let statements = 0;
export const rowsOf = <T>(db: Database, text: string, values: readonly unknown[] = []): Promise<T[]> =>
  db.rows<T>({ name: `usage_test_${(statements += 1)}`, text, values });

export type Owned = { accountId: AccountId; environment: "test" | "live" };

/** An owner that no other test uses. */
export const freshOwner = (): Owned => ({ accountId: newId("acct", Date.now()), environment: "live" });

/** A message with the fields by which it is counted. */
export type CountedMessage = Countable & { channel: string; status: string };

/** A message that was created at the given time. */
export const countable = (createdAtMs: number, fields: Partial<CountedMessage> = {}): CountedMessage => ({
  id: toId("msg", firstUuidAt(createdAtMs)),
  channel: "sms",
  status: "queued",
  error: null,
  segments: { count: 1 },
  deliveredAtMs: null,
  ...fields,
});

type Item = Owned & { from: CountedMessage; to: CountedMessage };

const columns = [
  column<Item, "uuid">("account_id", "uuid", ({ accountId }) => accountId),
  column<Item, "text">("environment", "text", ({ environment }) => environment),
  column<Item, "uuid">("message_id", "uuid", ({ to }) => to.id),
  column<Item, "integer">("usage_minute", "integer", ({ from }) => usageMinute(from)),
  column<Item, "text">("channel", "text", ({ from }) => from.channel),
  column<Item, "smallint">("segments_count", "smallint", ({ from }) => from.segments?.count ?? null),
  column<Item, "text">("status", "text", ({ to }) => to.status),
  column<Item, "smallint">("usage_bucket", "smallint", ({ to }) => usageBucket(to)),
  column<Item, "text">("usage_error", "text", ({ to }) => usageError(to)),
  column<Item, "smallint">("usage_segments", "smallint", ({ to }) => usageSegments(to)),
  column<Item, "text">("previous_status", "text", ({ from }) => from.status),
  column<Item, "smallint">("usage_bucket_before", "smallint", ({ from }) => usageBucket(from)),
  column<Item, "text">("usage_error_before", "text", ({ from }) => usageError(from)),
  column<Item, "smallint">("usage_segments_before", "smallint", ({ from }) => usageSegments(from)),
];

/** The unchanged counting parts of the accept statement and the advance statement. */
const insertStatement = batchStatement<Item>(
  columns,
  (items) => `
with accepted as (select item.* from ${items}), usage as (${cteOf(acceptStatement([]).text, "usage")}) select ordinal from accepted`,
);
const changeStatement = batchStatement<Item>(
  columns,
  (items) => `
with changed as (select item.* from ${items}), usage as (${cteOf(advanceStatement([]).text, "usage")}) select ordinal from changed`,
);

/** A message as it is accepted: without an error, and not delivered. */
const accepted = (message: CountedMessage): CountedMessage => ({ ...message, error: null, deliveredAtMs: null });

/** Counts messages as accepted, then the changes that give them their errors and delivery times. */
export async function acceptIn(db: Database, owner: Owned, messages: readonly CountedMessage[]): Promise<void> {
  await db.rows(insertStatement(messages.map((to) => ({ ...owner, from: to, to }))));
  const changed = messages.filter((to) => to.error !== null || to.deliveredAtMs !== null);
  if (changed.length > 0) await db.rows(changeStatement(changed.map((to) => ({ ...owner, from: accepted(to), to }))));
}

/** Without a message before, the message is new. */
export type Move = readonly [before: CountedMessage | null, after: CountedMessage];

export async function changeIn(db: Database, owner: Owned, moves: readonly Move[]): Promise<void> {
  const created = moves.flatMap(([from, to]) => (from === null ? [to] : []));
  if (created.length > 0) await acceptIn(db, owner, created);
  await db.rows(changeStatement(moves.flatMap(([from, to]) => (from === null ? [] : [{ ...owner, from, to }]))));
}

/** The statement that a function sends. */
export async function statementOf(query: (fake: Queryable) => Promise<unknown>): Promise<Sql> {
  const sent: Sql[] = [];
  await query({
    rows: async (statement) => {
      sent.push(statement);
      return [];
    },
  });
  const [first] = sent;
  assert.ok(first !== undefined && sent.length === 1);
  return first;
}

const literal = (value: unknown): string =>
  value === null ? "null" : pg.escapeLiteral(Buffer.isBuffer(value) ? uuidToText(uuidFromBytes(value)) : `${value as string | number}`);

/** The generic plan, which connections use, with the row counts of its execution. */
export async function planOf(db: Database, { text, values }: Sql): Promise<string> {
  return db.session(30_000, async (run) => {
    const name = `plan_${(statements += 1)}`;
    await run(`prepare ${name} as ${text}`);
    const { rows: lines } = await run(`explain (analyze, costs off, timing off) execute ${name} (${values.map(literal).join(", ")})`);
    return (lines as Record<string, string>[]).map((line) => Object.values(line)[0]).join("\n");
  });
}

type HammerOptions = {
  owner: Owned;
  /** The number of concurrent writers, the number of batches of each writer, and the number of messages in a batch. */
  writers: number;
  batches: number;
  batch: number;
  /** The id of a new message, and a random state of the message with this id. */
  newMessageId: () => MessageId;
  anything: (id: MessageId) => CountedMessage;
  change: (owner: Owned, moves: readonly Move[]) => Promise<unknown>;
  read: () => Promise<readonly { messages: number; segments: number }[]>;
  /** Tasks that are repeated while the writers run. */
  meanwhile: readonly (() => Promise<unknown>)[];
};

/** Runs writers that create messages and change all their earlier ones, next to tasks that fold and delete counts. Asserts that every read
 *  counts each message once. Returns the final state of the messages. */
export async function hammerCounts({
  owner,
  writers,
  batches,
  batch,
  newMessageId,
  anything,
  change,
  read,
  meanwhile,
}: HammerOptions): Promise<CountedMessage[]> {
  let started = 0;
  let written = 0;
  const finals: CountedMessage[] = [];
  const writer = async (): Promise<void> => {
    const mine: CountedMessage[] = [];
    for (let turn = 0; turn < batches; turn += 1) {
      const created = Array.from({ length: batch }, () => anything(newMessageId()));
      const moves = mine.map((from, index): Move => [from, (mine[index] = anything(from.id))]);
      started += batch;
      await change(owner, [...moves, ...created.map((to): Move => [null, to])]);
      written += batch;
      mine.push(...created);
    }
    finals.push(...mine);
  };
  const reader = async (): Promise<void> => {
    const atLeast = written;
    const found = await read();
    const total = found.reduce((sum, { messages }) => sum + messages, 0);
    assert.ok(total >= atLeast && total <= started, `${total} messages, between ${atLeast} and ${started}`);
    assert.ok(found.every((row) => row.messages > 0 && row.segments >= row.messages));
  };
  const ended = new AbortController();
  const untilEnded = async (work: () => Promise<unknown>): Promise<void> => {
    while (!ended.signal.aborted) await work();
  };
  const others = Promise.all([reader, ...meanwhile].map(untilEnded));
  await Promise.all([Promise.all(Array.from({ length: writers }, writer)).finally(() => ended.abort()), others]);
  return finals;
}
