/** What tests of the counts share: statements as those that write messages are, without the messages, and plans of those that read. */
import assert from "node:assert/strict";
import pg from "pg";
import { newId, toId, type AccountId, type MessageId } from "../../src/lib/id.ts";
import { firstUuidAt, uuidFromBytes, uuidToText } from "../../src/lib/uuid.ts";
import { batchStatement, column } from "../../src/storage/batch.ts";
import type { Database, Queryable } from "../../src/storage/database.ts";
import type { Sql } from "../../src/storage/sql.ts";
import { acceptStatement } from "../../src/messages/accept-statement.ts";
import { advanceStatement } from "../../src/messages/advance-statement.ts";
import { countedOf, usageKey, usageMinute, type Countable, type Counted } from "../../src/usage/usage.ts";
import { cteOf } from "./statement.ts";

let statements = 0;
export const rowsOf = <T>(db: Database, text: string, values: readonly unknown[] = []): Promise<T[]> =>
  db.rows<T>({ name: `usage_test_${(statements += 1)}`, text, values });

export type Owned = { accountId: AccountId; environment: "test" | "live" };
type Item = Owned & { counted: Counted | null; countedBefore: Counted | null };

/** An owner that no other test has. */
export const freshOwner = (): Owned => ({ accountId: newId("acct", Date.now()), environment: "live" });

/** A message that was created then. */
export const countable = (createdAtMs: number, fields: Partial<Countable> = {}): Countable => ({
  id: toId("msg", firstUuidAt(createdAtMs)),
  channel: "sms",
  status: "queued",
  error: null,
  segments: { count: 1 },
  deliveredAtMs: null,
  ...fields,
});

const ownerColumns = [
  column<Owned, "uuid">("account_id", "uuid", ({ accountId }) => accountId),
  column<Owned, "text">("environment", "text", ({ environment }) => environment),
];

const usageColumns = [
  column<Item, "integer">("usage_minute", "integer", ({ counted, countedBefore }) => {
    const either = counted ?? countedBefore;
    return either && usageMinute(either);
  }),
  column<Item, "text">("usage_key", "text", ({ counted }) => counted && usageKey(counted)),
  column<Item, "smallint">("usage_segments", "smallint", ({ counted }) => counted && counted.segments),
  column<Item, "text">("usage_key_before", "text", ({ countedBefore }) => countedBefore && usageKey(countedBefore)),
  column<Item, "smallint">("usage_segments_before", "smallint", ({ countedBefore }) => countedBefore && countedBefore.segments),
];

/** The parts of the accept and the advance statement that count, as they are. */
const insertStatement = batchStatement<Item>(
  [...ownerColumns, ...usageColumns],
  (items) => `
with accepted as (select item.* from ${items}), usage as (${cteOf(acceptStatement([]).text, "usage")}) select ordinal from accepted`,
);
const changeStatement = batchStatement<Item>(
  [...ownerColumns, ...usageColumns],
  (items) => `
with changed as (select item.* from ${items}), usage as (${cteOf(advanceStatement([]).text, "usage")}) select ordinal from changed`,
);

export const acceptIn = (db: Database, owner: Owned, messages: readonly (Countable | null)[]): Promise<unknown> =>
  db.rows(insertStatement(messages.map((each) => ({ ...owner, counted: each && countedOf(each), countedBefore: null }))));

export type Move = readonly [before: Countable | null, after: Countable | null];

export const changeIn = (db: Database, owner: Owned, moves: readonly Move[]): Promise<unknown> =>
  db.rows(changeStatement(moves.map(([from, to]) => ({ ...owner, counted: to && countedOf(to), countedBefore: from && countedOf(from) }))));

/** The statement that a function sends. */
export async function statementOf(ask: (fake: Queryable) => Promise<unknown>): Promise<Sql> {
  const sent: Sql[] = [];
  await ask({
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

/** The generic plan, which is the one that connections use, with what it did. */
export async function planOf(db: Database, { text, values }: Sql): Promise<string> {
  return db.session(30_000, async (run) => {
    const name = `plan_${(statements += 1)}`;
    await run(`prepare ${name} as ${text}`);
    const { rows: lines } = await run(`explain (analyze, costs off, timing off) execute ${name} (${values.map(literal).join(", ")})`);
    return (lines as Record<string, string>[]).map((line) => Object.values(line)[0]).join("\n");
  });
}

type Hammering = {
  owner: Owned;
  /** How many write at once, how often each, and how many messages each time. */
  writers: number;
  batches: number;
  batch: number;
  /** The id of a new message, and what a message of this id may be. */
  newMessageId: () => MessageId;
  anything: (id: MessageId) => Countable;
  change: (owner: Owned, moves: readonly Move[]) => Promise<unknown>;
  read: () => Promise<readonly { messages: number; segments: number }[]>;
  /** What others do meanwhile, again and again. */
  meanwhile: readonly (() => Promise<unknown>)[];
};

/** Writers make messages and move all that they made before, while others fold and forget; whoever reads finds every message once. Answers what
 *  the messages are in the end. */
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
}: Hammering): Promise<Countable[]> {
  let begun = 0;
  let written = 0;
  const finals: Countable[] = [];
  const writer = async (): Promise<void> => {
    const mine: Countable[] = [];
    for (let turn = 0; turn < batches; turn += 1) {
      const created = Array.from({ length: batch }, () => anything(newMessageId()));
      const moves = mine.map((from, index): Move => [from, (mine[index] = anything(from.id))]);
      begun += batch;
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
    assert.ok(total >= atLeast && total <= begun, `${total} messages, between ${atLeast} and ${begun}`);
    assert.ok(found.every((row) => row.messages > 0 && row.segments >= row.messages));
  };
  const over = new AbortController();
  const untilOver = async (work: () => Promise<unknown>): Promise<void> => {
    while (!over.signal.aborted) await work();
  };
  const others = Promise.all([reader, ...meanwhile].map(untilOver));
  await Promise.all([Promise.all(Array.from({ length: writers }, writer)).finally(() => over.abort()), others]);
  return finals;
}
