/** Consent on a real database: the fragments in the statements of messages, concurrent opt-outs and opt-ins, and service windows. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import pg from "pg";
import { lift, openWindow, optIn, optOut, optOutAll, type OptOut } from "../../src/consent/change-consent.ts";
import { findRefusal, isSuppressed, isWindowClosed } from "../../src/consent/refusal.ts";
import { findSuppression, listSuppressions, lockSuppression } from "../../src/consent/queries.ts";
import type { Pair, Suppression } from "../../src/consent/suppression.ts";
import { encodeId, newId } from "../../src/model/id.ts";
import { MAX_UUID, newUuid, NIL_UUID, uuidFromBytes, uuidTimeMs, uuidToText, type Uuid } from "../../src/lib/uuid.ts";
import { Database, type Queryable, type Tx } from "../../src/database/database.ts";
import { migrate } from "../../src/database/migrate.ts";
import type { Sql } from "../../src/database/sql.ts";
import { until } from "../support/expect.ts";
import { createDatabase } from "../support/database.ts";
import { recipientOf } from "../support/recipient.ts";
import { seeded } from "../support/seed.ts";

let db: Database;
before(async () => {
  db = new Database({ url: await createDatabase() }, "test", () => undefined);
  await migrate(db);
});
after(() => db.close());

let statements = 0;
const rows = <T>(text: string, values: readonly unknown[] = [], on: Database = db): Promise<T[]> =>
  on.rows<T>({ name: `consent_test_${(statements += 1)}`, text, values });

const RECIPIENT = recipientOf("+14155550123");
const SHOP = "+14155550199";
const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

/** A pair of a new account, unless `fields` says otherwise. */
const pairOf = (fields: Partial<Pair> = {}): Pair => ({
  accountId: newId("acct", Date.now()),
  environment: "test",
  recipient: RECIPIENT,
  sender: SHOP,
  ...fields,
});
const any = (pair: Pair): Pair => ({ ...pair, sender: null });

const STOP = { source: "keyword", keyword: "STOP" } as const;
const START = { source: "keyword", keyword: "START" } as const;
const API = { source: "api" } as const;

const optOutNow = (pair: Pair, nowMs = Date.now()): Promise<OptOut> => db.transaction((tx) => optOut(tx, nowMs, pair, STOP));
const optInAgain = (pair: Pair, nowMs = Date.now()): Promise<Suppression | undefined> =>
  db.transaction((tx) => optIn(tx, nowMs, pair, START));

const statesOf = async ({ accountId }: Pair): Promise<boolean[]> =>
  (
    await rows<{ is_active: boolean }>("select is_active from suppression_changes where account_id = $1 order by suppression_id, id", [
      accountId,
    ])
  ).map((row) => row.is_active);
const eventsOf = async ({ accountId }: Pair): Promise<string[]> =>
  (await rows<{ type: string }>("select type from events where account_id = $1 order by id", [accountId])).map(({ type }) => type);

/** Evaluates the fragments over a relation with another name, in a select list and in a condition, as statements use them. */
async function fragments(pair: Pair, on: Database = db): Promise<[suppressed: unknown, closed: unknown]> {
  const relation = "(select $1::uuid as account_id, $2::text as environment, $3::text as recipient, $4::text as sender) accepted";
  const values = [pair.accountId, pair.environment, pair.recipient, pair.sender];
  const [listed] = await rows<{ suppressed: unknown; closed: unknown }>(
    `select ${isSuppressed("accepted")} as suppressed, ${isWindowClosed("accepted", "now()")} as closed from ${relation}`,
    values,
    on,
  );
  for (const [fragment, value] of [
    [isSuppressed("accepted"), listed?.suppressed],
    [isWindowClosed("accepted", "now()"), listed?.closed],
  ] as const) {
    assert.equal((await rows(`select from ${relation} where ${fragment}`, values, on)).length, value === true ? 1 : 0);
    assert.equal((await rows(`select from ${relation} where not ${fragment}`, values, on)).length, value === true ? 0 : 1);
  }
  return [listed?.suppressed, listed?.closed];
}

test("without suppressions and windows every message may be sent", async () => {
  await using empty = await emptyDatabase();
  for (const sender of [SHOP, null]) {
    assert.deepEqual(await fragments(pairOf({ sender }), empty.db), [false, false]);
    assert.equal(await findRefusal(empty.db, { ...pairOf({ sender }), isFreeWhatsApp: true }, Date.now()), undefined);
  }
});

async function emptyDatabase(): Promise<{ db: Database } & AsyncDisposable> {
  const own = new Database({ url: await createDatabase() }, "test", () => undefined);
  await migrate(own);
  return { db: own, [Symbol.asyncDispose]: () => own.close() };
}

describe("a suppression", () => {
  const ROWS: readonly (readonly [what: string, of: (pair: Pair) => Partial<Pair>, to: (pair: Pair) => Partial<Pair>, is: boolean])[] = [
    ["applies to a message from its sender", () => ({}), () => ({}), true],
    ["does not apply to another sender", () => ({}), () => ({ sender: "SHOP" }), false],
    ["does not apply to a message without a sender", () => ({}), () => ({ sender: null }), false],
    ["applies to every sender, if it is for all", () => ({ sender: null }), () => ({}), true],
    ["applies to a message without a sender, if it is for all", () => ({ sender: null }), () => ({ sender: null }), true],
    ["does not apply to another recipient", () => ({ sender: null }), () => ({ recipient: recipientOf("+14155550124") }), false],
    ["does not apply to the other environment", () => ({ sender: null }), () => ({ environment: "live" }), false],
    ["does not apply to another account", () => ({ sender: null }), () => ({ accountId: newId("acct", Date.now()) }), false],
    ["applies to a sender name with the same spelling", () => ({ sender: "Shop" }), () => ({ sender: "Shop" }), true],
    ["does not apply to a sender name in another case", () => ({ sender: "Shop" }), () => ({ sender: "SHOP" }), false],
  ];
  for (const [what, of, to, is] of ROWS) {
    test(what, async () => {
      const pair = pairOf();
      await optOutNow({ ...pair, ...of(pair) });
      const message = { ...pair, ...to(pair) };
      assert.deepEqual(await fragments(message), [is, false]);
      for (const isFreeWhatsApp of [true, false])
        assert.equal(await findRefusal(db, { ...message, isFreeWhatsApp }, Date.now()), is ? "recipient_opted_out" : undefined);
    });
  }

  test("does not apply once it is lifted, and applies again once it is active", async () => {
    const pair = pairOf();
    for (const [change, is] of [
      [optOutNow, true],
      [optInAgain, false],
      [optOutNow, true],
    ] as const) {
      await change(pair);
      assert.deepEqual(await fragments(pair), [is, false]);
    }
  });

  test("applies if it is active for the sender or for all", async () => {
    const pair = pairOf();
    await optOutNow(pair);
    await optOutNow(any(pair));
    await optInAgain(pair);
    assert.deepEqual(await fragments(pair), [true, false]);
    await optOutNow(pair);
    await optInAgain(any(pair));
    assert.deepEqual(await fragments(pair), [true, false]);
    await optInAgain(pair);
    assert.deepEqual(await fragments(pair), [false, false]);
  });
});

describe("a service window", () => {
  const ROWS: readonly (readonly [what: string, ageMs: number | null, message: Partial<Pair>, isClosed: boolean])[] = [
    ["is open at once", 0, {}, false],
    ["is open after 23:59 hours", 24 * HOUR_MS - MINUTE_MS, {}, false],
    ["is closed after 24:01 hours", 24 * HOUR_MS + MINUTE_MS, {}, true],
    ["is closed after a year", 365 * 24 * HOUR_MS, {}, true],
    ["is unknown if the recipient has not written", null, {}, false],
    ["is unknown without a sender", 25 * HOUR_MS, { sender: null }, false],
    ["is unknown for another sender", 25 * HOUR_MS, { sender: "SHOP" }, false],
    ["is unknown for another recipient", 25 * HOUR_MS, { recipient: recipientOf("+14155550124") }, false],
    ["is unknown in the other environment", 25 * HOUR_MS, { environment: "live" }, false],
  ];
  for (const [what, ageMs, message, isClosed] of ROWS) {
    test(what, async () => {
      const pair = pairOf();
      if (ageMs !== null) await db.transaction((tx) => openWindow(tx, { ...pair, sender: SHOP }, Date.now() - ageMs));
      const asked = { ...pair, ...message };
      assert.deepEqual(await fragments(asked), [false, isClosed]);
      assert.equal(await findRefusal(db, { ...asked, isFreeWhatsApp: true }, Date.now()), isClosed ? "service_window_closed" : undefined);
      assert.equal(await findRefusal(db, { ...asked, isFreeWhatsApp: false }, Date.now()), undefined);
    });
  }

  test("is extended by a later message, and not by an earlier one", async () => {
    const pair = { ...pairOf(), sender: SHOP };
    const openedAt = async (): Promise<number | undefined> =>
      (
        await rows<{ opened_at: Date }>("select opened_at from service_windows where account_id = $1", [pair.accountId])
      )[0]?.opened_at.getTime();
    const base = Date.now() - 3 * HOUR_MS;
    for (const [atMs, then] of [
      [base, base],
      [base - HOUR_MS, base],
      [base, base],
      [base + HOUR_MS + 1, base + HOUR_MS + 1],
    ] as const) {
      await db.transaction((tx) => openWindow(tx, pair, atMs));
      assert.equal(await openedAt(), then);
    }
  });

  test("does not outweigh an opt-out of the recipient", async () => {
    const pair = { ...pairOf(), sender: SHOP };
    await db.transaction((tx) => openWindow(tx, pair, Date.now() - 25 * HOUR_MS));
    await optOutNow(pair);
    assert.equal(await findRefusal(db, { ...pair, isFreeWhatsApp: true }, Date.now()), "recipient_opted_out");
  });
});

describe("a change of consent", () => {
  test("to opted out creates a suppression with its reason, its history and its event", async () => {
    const pair = pairOf();
    const messageId = newId("msg", Date.now());
    const cause = { ...STOP, messageId, note: "wrote so" };
    const { suppression, isChanged } = await db.transaction((tx) => optOut(tx, Date.now(), pair, cause));
    const { id, updatedAtMs, ...rest } = suppression;
    assert.equal(isChanged, true);
    assert.deepEqual(rest, { ...pair, ...cause, isActive: true, createdBy: "system" });
    assert.equal(updatedAtMs, uuidTimeMs(id));
    const events = await rows<{ id: Uuid; type: string; record: string }>("select id, type, record from events where account_id = $1", [
      pair.accountId,
    ]);
    assert.deepEqual(
      events.map(({ type, record }) => [type, (JSON.parse(record) as { id: string; message_id: string }).message_id]),
      [["recipient.opted_out", encodeId("msg", messageId)]],
    );
    assert.deepEqual(
      await rows("select suppression_id, id, is_active, source, keyword, message_id, note from suppression_changes where account_id = $1", [
        pair.accountId,
      ]),
      [
        {
          suppression_id: id,
          id: events[0]?.id,
          is_active: true,
          source: "keyword",
          keyword: "STOP",
          message_id: messageId,
          note: "wrote so",
        },
      ],
    );
  });

  test("to the current state changes nothing, and returns that", async () => {
    const pair = pairOf();
    assert.equal(await optInAgain(pair), undefined);
    const first = await optOutNow(pair);
    const again = await db.transaction((tx) => optOut(tx, Date.now(), pair, { source: "api", note: "another" }));
    assert.deepEqual(again, { suppression: first.suppression, isChanged: false, inFlight: 0 });
    assert.ok((await optInAgain(pair)) !== undefined);
    assert.equal(await optInAgain(pair), undefined);
    assert.deepEqual(await statesOf(pair), [true, false]);
    assert.deepEqual(await eventsOf(pair), ["recipient.opted_out", "recipient.opted_in"]);
  });

  test("keeps the id, and replaces the whole reason", async () => {
    const pair = pairOf();
    const { suppression } = await db.transaction((tx) => optOut(tx, Date.now(), pair, { ...STOP, messageId: newId("msg", 1), note: "x" }));
    const lifted = await db.transaction(async (tx) => {
      const stored = await lockSuppression(tx, pair, suppression.id);
      return stored && lift(tx, Date.now(), stored, API);
    });
    const reason = { source: "api", keyword: null, messageId: null, note: null };
    assert.deepEqual(lifted, { ...suppression, ...reason, isActive: false, updatedAtMs: lifted?.updatedAtMs });
    const again = await optOutNow(pair);
    assert.deepEqual(again.suppression, { ...lifted, ...STOP, isActive: true, updatedAtMs: again.suppression.updatedAtMs });
  });

  test("to opted in by a word lifts only the suppression of that sender, and not the one for all", async () => {
    const pair = pairOf();
    await db.transaction((tx) => optOut(tx, Date.now(), any(pair), API));
    assert.equal(await optInAgain(pair), undefined);
    await optOutNow(pair);
    assert.equal((await optInAgain(pair))?.sender, SHOP);
    assert.equal(await findRefusal(db, { ...pair, isFreeWhatsApp: false }, Date.now()), "recipient_opted_out");
  });

  test("is later than the one before, even with a clock that is behind, and does not advance the ids", async () => {
    const pair = pairOf();
    const aheadMs = Date.now() + HOUR_MS;
    const { suppression } = await optOutNow(pair);
    await rows("update suppressions set updated_at = $2 where account_id = $1", [pair.accountId, new Date(aheadMs)]);
    const lifted = await optInAgain(pair);
    assert.equal(lifted?.updatedAtMs, aheadMs + 1);
    const again = await optOutNow(pair);
    assert.equal(again.suppression.updatedAtMs, aheadMs + 2);
    assert.deepEqual(await statesOf(pair), [true, false, true]);
    assert.equal(uuidTimeMs(again.suppression.id), uuidTimeMs(suppression.id));
    assert.ok(uuidTimeMs(newUuid(Date.now())) < Date.now() + MINUTE_MS);
  });

  test("that is rolled back stores nothing", async () => {
    const pair = pairOf();
    const failed = db.transaction(async (tx) => {
      await optOut(tx, Date.now(), pair, STOP);
      throw new Error("changed my mind");
    });
    await assert.rejects(failed, /changed my mind/);
    assert.deepEqual([await statesOf(pair), await eventsOf(pair)], [[], []]);
    assert.deepEqual(await fragments(pair), [false, false]);
  });
});

test("a thousand opt-outs take a statement for each hundred, and few others", async () => {
  const { accountId } = pairOf();
  const optOuts = Array.from({ length: 1_000 }, (_, index) => ({
    pair: pairOf({ accountId, recipient: recipientOf(`+1415${5_000_000 + index}`) }),
    cause: STOP,
  }));
  const count = (): Promise<number> =>
    db.transaction(async (tx) => {
      let asked = 0;
      await optOutAll({ rows: (statement) => ((asked += 1), tx.rows(statement)) }, Date.now(), optOuts);
      return asked;
    });
  // Ten statements add them, ten publish them. The second time there is nothing to publish.
  assert.deepEqual([await count(), await count()], [23, 14]);
  await rows("update suppressions set is_active = false where account_id = $1", [accountId]);
  assert.equal(await count(), 25);
  assert.equal((await statesOf(optOuts[0]?.pair as Pair)).length, 2_000);
});

/** Starts a transaction that completes its work, and then waits for commit or rollback. */
async function begun<T>(work: (tx: Tx) => Promise<T>): Promise<{ result: T; commit: () => Promise<void>; rollBack: () => Promise<void> }> {
  const done = Promise.withResolvers<T>();
  const end = Promise.withResolvers<boolean>();
  const transaction = db
    .transaction(async (tx) => {
      done.resolve(await work(tx));
      if (!(await end.promise)) throw new Error("rolled back");
    })
    .catch((error: unknown) => {
      done.reject(error);
      if (!String(error).includes("rolled back")) throw error;
    });
  const result = await done.promise;
  const finish = (isCommit: boolean) => async () => {
    end.resolve(isCommit);
    await transaction;
  };
  return { result, commit: finish(true), rollBack: finish(false) };
}

/** Waits until so many sessions of this database wait for the transaction of another. */
const waiting = (count: number): Promise<true> =>
  until(`${count} sessions wait`, async () => {
    const found = await rows<{ count: number }>(
      `select count(*)::integer as count
         from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock'`,
    );
    return (found[0]?.count ?? 0) >= count ? true : undefined;
  });

describe("concurrent changes of consent", () => {
  for (const [how, isCommit] of [
    ["commits", true],
    ["does not commit", false],
  ] as const) {
    test(`two opt-outs are one change, which belongs to the first if it commits: the first ${how}`, async () => {
      const pair = pairOf();
      const first = await begun((tx) => optOut(tx, Date.now(), pair, STOP));
      const second = optOutNow(pair);
      await waiting(1);
      await (isCommit ? first.commit() : first.rollBack());
      const { suppression, isChanged } = await second;
      assert.equal(isChanged, !isCommit);
      assert.equal(suppression.id.equals(first.result.suppression.id), isCommit);
      assert.deepEqual(await statesOf(pair), [true]);
      assert.deepEqual(await eventsOf(pair), ["recipient.opted_out"]);
    });
  }

  test("an opt-out during an opt-in waits for it, and applies last", async () => {
    const pair = pairOf();
    await optOutNow(pair);
    const first = await begun((tx) => optIn(tx, Date.now(), pair, START));
    const second = optOutNow(pair);
    await waiting(1);
    await first.commit();
    assert.equal((await second).isChanged, true);
    assert.deepEqual(await statesOf(pair), [true, false, true]);
  });

  test("an opt-in during an opt-out waits for it, and applies last", async () => {
    const pair = pairOf();
    await optOutNow(pair);
    await optInAgain(pair);
    const first = await begun((tx) => optOut(tx, Date.now(), pair, STOP));
    const second = optInAgain(pair);
    await waiting(1);
    await first.commit();
    assert.equal((await second)?.isActive, false);
    assert.deepEqual(await statesOf(pair), [true, false, true, false]);
  });

  test("many opt-outs and opt-ins end in one state, with every change in the history in order", async (context) => {
    const random = seeded(context);
    const pair = pairOf();
    const asked = await Promise.all(
      Array.from({ length: 200 }, async () =>
        random() < 0.5 ? (await optOutNow(pair)).isChanged : (await optInAgain(pair)) !== undefined,
      ),
    );
    const changes = asked.filter(Boolean).length;
    const states = await statesOf(pair);
    assert.ok(changes > 2, `${changes} changes`);
    assert.deepEqual(
      states,
      Array.from({ length: changes }, (_, index) => index % 2 === 0),
    );
    assert.deepEqual(
      await eventsOf(pair),
      states.map((isActive) => (isActive ? "recipient.opted_out" : "recipient.opted_in")),
    );
    assert.equal((await fragments(pair))[0], states.at(-1));
  });

  test("lists in any order cause no deadlock", async (context) => {
    const { accountId } = pairOf();
    const pairs = Array.from({ length: 200 }, (_, index) => pairOf({ accountId, recipient: recipientOf(`+1415555${1_000 + index}`) }));
    // Some suppressions are lifted, some are active, and the others are new.
    await db.transaction((tx) =>
      optOutAll(
        tx,
        Date.now(),
        pairs.slice(50, 150).map((pair) => ({ pair, cause: STOP })),
      ),
    );
    for (const pair of pairs.slice(50, 100)) await optInAgain(pair);
    const random = seeded(context);
    const lists = Array.from({ length: 12 }, () => pairs.map((pair) => ({ pair, at: random() })).toSorted((a, b) => a.at - b.at));
    const results = await Promise.all(
      lists.map((list) =>
        db.transaction((tx) =>
          optOutAll(
            tx,
            Date.now(),
            list.map(({ pair }) => ({ pair, cause: STOP })),
          ),
        ),
      ),
    );
    for (const [index, result] of results.entries())
      assert.deepEqual(
        result.map(({ suppression }) => suppression.recipient),
        lists[index]?.map(({ pair }) => pair.recipient),
      );
    assert.equal(results.flat().filter(({ isChanged }) => isChanged).length, 150);
    assert.equal((await eventsOf(pairs[0] as Pair)).length, 100 + 50 + 150);
  });
});

const literal = (value: unknown): string =>
  value === null ? "null" : pg.escapeLiteral(Buffer.isBuffer(value) ? uuidToText(uuidFromBytes(value)) : `${value as string | number}`);

/** Returns the statement that a query runs. */
async function statementOf(query: (db: Queryable) => Promise<unknown>): Promise<Sql> {
  const asked: Sql[] = [];
  await query({ rows: async (statement) => (asked.push(statement), []) });
  const [statement] = asked;
  assert.ok(statement !== undefined && asked.length === 1);
  return statement;
}

/** Returns the generic plan, which connections use, with its actual rows. */
async function planOf(on: Database, text: string, values: readonly unknown[]): Promise<string> {
  return on.session(30_000, async (run) => {
    const name = `plan_${(statements += 1)}`;
    await run(`prepare ${name} as ${text}`);
    const { rows: lines } = await run(`explain (analyze, costs off, timing off) execute ${name} (${values.map(literal).join(", ")})`);
    return (lines as Record<string, string>[]).map((line) => Object.values(line)[0]).join("\n");
  });
}

describe("the query plan", () => {
  /** Checks a hundred messages in one statement, like the statement that accepts them. */
  const MANY = `
    with accepted as materialized (
      select $1::uuid as account_id, $2::text as environment, '+1' || (4155000000 + number) as recipient, $3::text as sender
        from generate_series(1, 100) number
    )
    select count(*) filter (where ${isSuppressed("accepted")}) as suppressed, count(*) filter (where ${isWindowClosed("accepted", "now()")}) as closed
      from accepted`;
  /** The scans for single rows, without the check whether the table is empty. */
  const probesIn = (plan: string): string[] =>
    Array.from(plan.matchAll(/^.*Scan.* on (?:suppressions s|service_windows w)\w* .*\n.*Index Cond.*$/gm), ([text]) => text);
  const PROBE =
    /Index Scan using (suppressions|service_windows)_pkey on .*\n *Index Cond: .*account_id = .*environment = .*recipient = .*sender = /;

  function assertProbes(plan: string): string[] {
    const found = probesIn(plan);
    assert.equal(found.length, 3, plan);
    for (const probe of found) assert.match(probe, PROBE, plan);
    assert.doesNotMatch(plan, /Seq Scan|Bitmap|Hash|hashed|Rows Removed by Filter/, plan);
    return found;
  }

  test("reads nothing from empty tables, and has index scans on the primary key", async () => {
    await using empty = await emptyDatabase();
    const plan = await planOf(empty.db, MANY, [newUuid(Date.now()), "test", SHOP]);
    for (const probe of assertProbes(plan)) assert.match(probe, /never executed/, plan);
  });

  for (const isAnalyzed of [false, true]) {
    describe(`of very many rows, ${isAnalyzed ? "with statistics" : "without statistics"}`, () => {
      const { accountId } = pairOf();
      const crowd = "+14155999999";
      let own: Awaited<ReturnType<typeof emptyDatabase>>;
      before(async () => {
        own = await emptyDatabase();
        await own.db.script(
          "alter table suppressions set (autovacuum_enabled = false); alter table service_windows set (autovacuum_enabled = false)",
        );
        // Half of the suppressions are for all senders, and one recipient has very many.
        for (const [recipient, sender] of [
          ["'+1' || (4155000000 + number)", `case when number % 2 = 0 then '' else '${SHOP}' end`],
          [`'${crowd}'`, "'S' || number"],
        ])
          await rows(
            `insert into suppressions (account_id, environment, recipient, sender, id, is_active, source, updated_at)
             select $1, 'test', ${recipient}, ${sender}, gen_random_uuid(), true, 'import', now() from generate_series(1, 20000) number`,
            [accountId],
            own.db,
          );
        await rows(
          `insert into service_windows (account_id, environment, recipient, sender, opened_at)
           select account_id, environment, recipient, case sender when '' then $1 else sender end, now() - interval '25 hours' from suppressions`,
          [SHOP],
          own.db,
        );
        if (isAnalyzed) await own.db.script("analyze suppressions; analyze service_windows");
      });
      after(() => own[Symbol.asyncDispose]());

      test("probes the primary key once for each message", async () => {
        assertProbes(await planOf(own.db, MANY, [accountId, "test", SHOP]));
        const [counted] = await rows(MANY, [accountId, "test", SHOP], own.db);
        assert.deepEqual(counted, { suppressed: 100, closed: 100 });
        const [others] = await rows(MANY, [accountId, "test", "SHOP"], own.db);
        assert.deepEqual(others, { suppressed: 50, closed: 0 });
      });

      test("probes the primary key once for a recipient with very many senders", async () => {
        const one = `select ${isSuppressed("m")} as is_suppressed, ${isWindowClosed("m", "now()")}
                       from (select $1::uuid as account_id, $2::text as environment, $3::text as recipient, $4::text as sender) m`;
        assertProbes(await planOf(own.db, one, [accountId, "test", crowd, "nobody"]));
      });

      test("finds a suppression with the index on its id", async () => {
        const { text, values } = await statementOf((fake) => findSuppression(fake, { accountId, environment: "test" }, newId("sup", 1)));
        assert.match(await planOf(own.db, text, values), /suppressions_by_id on .*\n *Index Cond: .*id = \$3/);
      });

      const PAGES = { recipient: [crowd, "by_recipient", 5_000], all: [null, "by_id", 5_000] } as const;
      for (const [what, [recipient, index, most]] of Object.entries(PAGES)) {
        test(`reads a bounded number of rows for a page of ${what}, with its index`, async () => {
          const filter = { from: NIL_UUID, before: MAX_UUID, recipient, sender: "S7", isActive: true };
          const { text, values } = await statementOf((fake) => listSuppressions(fake, { accountId, environment: "test" }, filter, 25));
          const plan = await planOf(own.db, text, values);
          const [, rowCount] = new RegExp(`Scan Backward using suppressions_${index} on .*actual rows=([\\d.]+) loops=1`).exec(plan) ?? [];
          assert.equal(Number(rowCount), most, plan);
          assert.doesNotMatch(plan, /Seq Scan/, plan);
        });
      }
    });
  }
});
