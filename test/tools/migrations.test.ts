/** Migrations: their order, the releases that work on a schema, their locks, steps, and what they do beside a running service. */
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import pg from "pg";
import { Database } from "../../src/database/database.ts";
import { migrate, readSchema } from "../../src/database/migrate.ts";
import { BASELINE, knownMigrations, newestOf, parseMigration, type Migration } from "../../src/database/migrations.ts";
import { planMigrations, readLocks } from "../../src/database/plan-migrations.ts";
import { prepare } from "../../src/database/sql.ts";
import { createDatabase, createEmptyDatabase } from "../support/database.ts";
import { until } from "../support/expect.ts";
import { runGodwit, SECRET_KEY } from "../support/harness.ts";

const open = (url: string): Database => new Database({ url }, "migrations", () => undefined);

/** The modes of locks, the weakest first. */
const MODES = [
  "AccessShareLock",
  "RowShareLock",
  "RowExclusiveLock",
  "ShareUpdateExclusiveLock",
  "ShareLock",
  "ShareRowExclusiveLock",
  "ExclusiveLock",
  "AccessExclusiveLock",
];

/** Applies a migration, and returns the strongest lock that it takes on each table of before. Reading is left out: it stops nothing. */
async function locksOf(db: Database, { steps }: Migration): Promise<Record<string, string>> {
  return db.session(60_000, async (run) => {
    const { rows: tables } = await run(
      "select relname as name from pg_class where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and not relispartition",
    );
    const existing = new Set((tables as { name: string }[]).map(({ name }) => name));
    const strongest = new Map<string, number>();
    for (const { text } of steps) {
      await run(`begin;\n${text}`);
      const { rows } = await run(`select relation::regclass::text as name, mode from pg_locks
                                   where pid = pg_backend_pid() and relation is not null and locktype = 'relation'`);
      await run("commit");
      for (const { name, mode } of rows as { name: string; mode: string }[])
        if (existing.has(name)) strongest.set(name, Math.max(strongest.get(name) ?? 0, MODES.indexOf(mode)));
    }
    return Object.fromEntries(
      Array.from(strongest)
        .filter(([, mode]) => mode > 0)
        .toSorted(([one], [other]) => (one < other ? -1 : 1))
        .map(([name, mode]) => [name, inWords(MODES[mode] ?? "")]),
    );
  });
}

/** `AccessExclusiveLock` as PostgreSQL's documentation writes it. */
const inWords = (mode: string): string =>
  mode
    .replace(/Lock$/, "")
    .replaceAll(/(?<=[a-z])(?=[A-Z])/g, " ")
    .toLowerCase();

test("the file of locks has the locks that the migrations take", async () => {
  const db = open(await createEmptyDatabase());
  try {
    const found: Record<string, Record<string, string>> = {};
    for (const migration of knownMigrations()) found[migration.name] = await locksOf(db, migration);
    if (process.env["GODWIT_WRITE_LOCKS"] === "1")
      writeFileSync(join(import.meta.dirname, "../../src/database/migrations/locks.json"), `${JSON.stringify(found, null, 2)}\n`);
    assert.deepEqual(readLocks(), found, "npm run migration-locks writes the file");
  } finally {
    await db.close();
  }
});

describe("the text of a migration", () => {
  const HEADER = "-- Releases that know schema 27 or later work on this schema.\n";

  test("is one step, and no earlier release works on its schema", () => {
    assert.deepEqual(parseMigration("0027_some", "select 1;"), {
      version: 27,
      name: "0027_some",
      worksWith: 27,
      steps: [{ about: undefined, text: "select 1;", isRepeated: false }],
    });
  });

  test("names the releases that work on its schema, and its steps", () => {
    const text = `${HEADER}\n-- Step: one\nselect 1;\n-- Repeated step: many\nselect 2;\n`;
    assert.deepEqual(parseMigration("0030_some", text), {
      version: 30,
      name: "0030_some",
      worksWith: 27,
      steps: [
        { about: "one", text: "\nselect 1;\n", isRepeated: false },
        { about: "many", text: "\nselect 2;\n", isRepeated: true },
      ],
    });
  });

  for (const [text, message] of [
    ["select 1;", /does not say which releases work on its schema/],
    ["-- Releases that know schema 31 or later work on this schema.\nselect 1;", /names a later schema than its own/],
    [`${HEADER}select 1;\n-- Step: one\nselect 2;`, /has a statement in front of its first step/],
  ] as const)
    test(`is refused: ${message.source}`, () => assert.throws(() => parseMigration("0030_some", text), message));
});

/** The migrations by which 0.2.0 made its schema, in their order. The baseline makes the same schema. */
const OF_0_2_0 = [
  "0001_foundation",
  "0002_delivery",
  "0003_webhooks",
  "0004_content_and_consent",
  "0005_links",
  "0006_template_reviews",
  "0007_credentials",
  "0008_traces",
  "0009_usage_minutes",
  "0010_event_positions",
  "0011_references_of_messages",
  "0012_consent_check",
  "0013_clock_witness",
  "0014_access",
  "0015_audit",
  "0016_erased_recipients",
  "0017_recipients",
  "0018_carrier_opt_outs",
  "0019_consent_settings",
  "0020_opt_out_replies",
  "0021_kept_inbound",
  "0022_receipt_ids",
  "0023_partial_messages",
  "0024_carrier_options",
  "0025_link_cursors",
  "0026_sender_reasons",
  "0027_created_links",
];

describe("a database of 0.2.0", () => {
  /** As 0.2.0, or a version before it, leaves its table of migrations. */
  const NOTES = `create table schema_migrations
                   (version integer primary key, name text not null, applied_at timestamptz not null default now());
                 insert into schema_migrations (version, name) values
                   ${OF_0_2_0.map((name, index) => `(${index + 1}, '${name}')`).join(", ")};`;

  async function databaseOf020(): Promise<Database> {
    const db = open(await createEmptyDatabase());
    const [baseline] = knownMigrations();
    await db.script(baseline?.steps[0]?.text ?? "");
    await db.script(`${NOTES} alter table schema_migrations add column works_with integer`);
    return db;
  }

  test("continues from the baseline, with its rows", async () => {
    const db = await databaseOf020();
    await db.script("insert into accounts (id, name) values (gen_random_uuid(), 'kept')");
    const later = knownMigrations().slice(1);
    assert.deepEqual(await migrate(db), { version: newestOf(knownMigrations()), applied: later.map(({ name }) => name) });
    assert.deepEqual(await db.rows({ name: "kept", text: "select name from accounts", values: [] }), [{ name: "kept" }]);
    assert.deepEqual(await migrate(db), { version: newestOf(knownMigrations()), applied: [] });
    await db.close();
  });

  const ACCOUNT = "00000000-0000-0000-0000-000000000001";
  const entry = (number: number): string => `00000000-0000-0000-0000-00000000000${number}`;

  test("keeps its audit log and its minutes, and 0.2.0 reads and writes them through views", async () => {
    const db = await databaseOf020();
    const read = <T extends object>(text: string): Promise<T[]> => db.rows<T>({ ...prepare(text), values: [] });
    // The statements of 0.2.0.
    const insertEntry = (id: string): Promise<unknown> =>
      db.script(`with inserted as (
                   insert into audit_events (account_id, id, actor_type, action, target_type, changes)
                   values ('${ACCOUNT}', '${id}', 'system', 'account.changed', 'account', '{}')
                   returning account_id, id)
                 insert into audit_unsealed (account_id, event_id) select account_id, id from inserted`);
    const seal = (id: string, sequence: number): Promise<unknown> =>
      db.script(`with sealed as (delete from audit_unsealed where account_id = '${ACCOUNT}' and event_id = '${id}')
                 insert into audit_chain (account_id, event_id, sequence, hash) values ('${ACCOUNT}', '${id}', ${sequence}, '\\x0${sequence}')`);
    const forget = (id: string, sequence: number): Promise<unknown> =>
      db.script(`begin;
                 insert into audit_checkpoints (account_id, sequence, hash, created_at)
                 values ('${ACCOUNT}', ${sequence}, '\\x0${sequence}', now());
                 select set_config('godwit.audit_retention', 'on', true);
                 delete from audit_chain where account_id = '${ACCOUNT}' and event_id = any ('{${id}}'::uuid[]);
                 delete from audit_events where account_id = '${ACCOUNT}' and id = any ('{${id}}'::uuid[]);
                 commit`);
    const unsealed = (): Promise<{ id: string }[]> => read("select right(event_id::text, 1) as id from audit_unsealed order by event_id");
    const chain = (): Promise<object[]> => read("select right(event_id::text, 1) as id, sequence from audit_chain order by sequence");
    const checkpoint = (): Promise<object[]> =>
      read("select sequence, encode(hash, 'hex') as hash from audit_checkpoints order by sequence desc limit 1");

    for (const id of [1, 2, 3, 4]) await insertEntry(entry(id));
    for (const id of [1, 2]) await seal(entry(id), id);
    await forget(entry(1), 1);
    await db.script("update usage_minutes_kept set since = '2026-01-01Z'");
    await migrate(db);
    // Only later releases seal, since the hashes are keyed.
    const waiting = (): Promise<object[]> => read("select right(id::text, 1) as id from audit_events where is_unsealed order by id");
    assert.deepEqual([await unsealed(), await waiting()], [[], [{ id: "3" }, { id: "4" }]]);
    assert.deepEqual([await chain(), await checkpoint()], [[{ id: "2", sequence: 2 }], [{ sequence: 1, hash: "01" }]]);
    assert.deepEqual(await read("select since from usage_minutes_kept"), [{ since: new Date("2026-01-01") }]);

    await insertEntry(entry(5));
    // Only later releases delete, since a checkpoint is signed.
    await assert.rejects(forget(entry(2), 2), /cannot insert into column "created_at" of view "audit_checkpoints"/);
    await db.script("rollback");
    await db.script("update usage_minutes_kept set since = greatest(since, date_trunc('minute', '2026-02-02Z'::timestamptz))");
    assert.deepEqual([await unsealed(), await waiting()], [[], [{ id: "3" }, { id: "4" }, { id: "5" }]]);
    assert.deepEqual([await chain(), await checkpoint()], [[{ id: "2", sequence: 2 }], [{ sequence: 1, hash: "01" }]]);
    assert.deepEqual(await read("select usage_minutes_since from installation"), [{ usage_minutes_since: new Date("2026-02-02") }]);
    assert.deepEqual(await read("select link, account, base, letters, width from link_receipt_ids"), []);
    await db.script("delete from link_receipt_ids where link = 'some'");
    await db.close();
  });

  test("has the number of the baseline, so that nodes of 0.2.0 start on a new database", async () => {
    const db = open(await createDatabase());
    const [first] = await db.rows<{ version: number }>({
      name: "first",
      text: "select min(version) as version from schema_migrations",
      values: [],
    });
    assert.deepEqual([first?.version, BASELINE], [OF_0_2_0.length, OF_0_2_0.length]);
    await db.close();
  });

  for (const count of [1, OF_0_2_0.length - 1])
    test(`with only the first ${count} migrations is refused, and stays as it is`, async () => {
      const db = open(await createEmptyDatabase());
      await db.script(`${NOTES} delete from schema_migrations where version > ${count}`);
      const sentence = new RegExp(`the database has schema ${count}, of a version before 0.2.0: run godwit migrate of version 0.2.0, then`);
      await assert.rejects(migrate(db), sentence);
      await assert.rejects(planMigrations(db), sentence);
      assert.equal((await readSchema(db)).version, count);
      await db.close();
    });
});

describe("a schema of a later release", () => {
  const known = newestOf(knownMigrations());

  async function withLater(worksWith: readonly (number | null)[]): Promise<string> {
    const url = await createDatabase();
    const db = open(url);
    await migrate(db);
    for (const [index, value] of worksWith.entries())
      await db.script(
        `insert into schema_migrations (version, name, works_with) values (${known + 1 + index}, 'later', ${value ?? "null"})`,
      );
    await db.close();
    return url;
  }

  test("is used, where all its migrations say that this release works on it", async () => {
    const db = open(await withLater([known, known - 1]));
    assert.deepEqual(await migrate(db), { version: known + 2, applied: [] });
    assert.deepEqual(await readSchema(db), { version: known + 2, refusal: undefined });
    await db.close();
  });

  for (const worksWith of [[null], [known + 1], [null, known], [known + 1, known]])
    test(`is refused, where they say ${JSON.stringify(worksWith)}`, async () => {
      const db = open(await withLater(worksWith));
      await assert.rejects(migrate(db), /newer than the \d+ this godwit knows/);
      assert.match((await readSchema(db)).refusal?.reason ?? "", /newer than the/);
      await db.close();
    });
});

describe("a migration that needs the nodes of earlier releases stopped", () => {
  const version = newestOf(knownMigrations()) + 1;
  const strict = [
    ...knownMigrations(),
    parseMigration(`00${version}_strict`, `-- Releases that know schema ${version} or later work on this schema.\nselect 1;`),
  ];
  // A release before 0.3 does not name its schema.
  for (const name of ["godwit 0123456789ab 7", `godwit 0123456789ab 7 schema ${version - 1}`])
    test(`is refused while a session is named ${name}`, async () => {
      const url = await createDatabase();
      const db = open(url);
      const node = new pg.Client({ connectionString: url, application_name: name });
      await node.connect();
      await assert.rejects(
        migrate(db, strict),
        new RegExp(`00${version}_strict needs all nodes of earlier releases stopped, and 1 is connected`),
      );
      assert.equal((await readSchema(db)).version, version - 1);
      await node.end();
      // The session of a client that has ended is there for a moment.
      await until("the migration", () => migrate(db, strict).catch(() => undefined));
      assert.equal((await readSchema(db)).version, version);
      await db.close();
    });

  test("is applied beside a node that knows its schema, and beside other programs", async () => {
    const url = await createDatabase();
    const db = open(url);
    const names = [`godwit 0123456789ab 7 schema ${version}`, "godwit backup", "psql"];
    const others = names.map((name) => new pg.Client({ connectionString: url, application_name: name }));
    for (const other of others) await other.connect();
    assert.deepEqual((await migrate(db, strict)).applied, [`00${version}_strict`]);
    for (const other of others) await other.end();
    await db.close();
  });
});

describe("a migration beside a running service", () => {
  let db: Database;
  let url: string;
  before(async () => {
    url = await createDatabase();
    db = open(url);
  });
  after(() => db.close());

  const next = (text: string): Migration[] => {
    const version = newestOf(knownMigrations()) + 1;
    return [
      ...knownMigrations(),
      parseMigration(`00${version}_test`, `-- Releases that know schema 1 or later work on this schema.\n${text}`),
    ];
  };

  test("does not keep others waiting while it waits for a table, and is applied when the table is free", async () => {
    const holder = open(url);
    const [locked, release] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const held = holder.transaction(async (tx) => {
      await tx.rows({ name: "hold", text: "lock table accounts in access share mode", values: [] });
      locked.resolve();
      await release.promise;
    });
    await locked.promise;
    let attempts = 0;
    const watch = { begun: () => undefined, advanced: () => undefined, waiting: () => void (attempts += 1) };
    const migrating = migrate(db, next("alter table accounts add column for_test integer"), watch);
    await until("a second attempt", () => attempts >= 2 || undefined);
    // Behind a migration that waited without a limit, this statement would wait until the holder ends.
    await holder.rows({ name: "read", text: "select from accounts", values: [] });
    release.resolve();
    await held;
    assert.equal((await migrating).applied.length, 1);
    assert.equal((await readSchema(db)).version, newestOf(knownMigrations()) + 1);
    await db.script(
      `alter table accounts drop column for_test; delete from schema_migrations where version > ${newestOf(knownMigrations())}`,
    );
    await holder.close();
  });

  test("changes a large table in parts, with its progress", async () => {
    await db.script("create table for_test (id integer primary key, filled boolean); insert into for_test select generate_series(1, 25)");
    const rows: number[] = [];
    const watch = {
      begun: () => undefined,
      advanced: (_: unknown, __: unknown, count: number) => void rows.push(count),
      waiting: () => undefined,
    };
    const text = `-- Step: an index
                  create index if not exists for_test_unfilled on for_test (id) where filled is null;
-- Repeated step: filled
update for_test set filled = true where id in (select id from for_test where filled is null limit 10)`;
    await migrate(db, next(text), watch);
    assert.deepEqual(rows.slice(1), [10, 20, 25, 25]);
    await db.script(`drop table for_test; delete from schema_migrations where version > ${newestOf(knownMigrations())}`);
  });

  test("that fails leaves the schema as it was", async () => {
    await assert.rejects(migrate(db, next("create table for_test (); select 1 / 0")), /division by zero/);
    assert.deepEqual(await readSchema(db), { version: newestOf(knownMigrations()), refusal: undefined });
    const [row] = await db.rows<{ name: string | null }>({
      name: "made",
      text: "select to_regclass('for_test')::text as name",
      values: [],
    });
    assert.equal(row?.name, null);
  });
});

describe("godwit migrate --plan", () => {
  test("has the locks of each pending migration, with the size of the tables", async () => {
    const db = open(await createDatabase());
    const version = newestOf(knownMigrations()) + 1;
    const name = `00${version}_test`;
    const header = `-- Releases that know schema ${BASELINE} or later work on this schema.\n`;
    const later = parseMigration(name, `${header}-- Step: a column\nalter table events add column for_test integer;`);
    const locks = { [name]: { events: "access exclusive" } };
    const { schema, pending } = await planMigrations(db, { migrations: [...knownMigrations(), later], locks });
    const bytes = pending[0]?.locks[0]?.bytes ?? 0;
    assert.ok(bytes > 0);
    const planned = { version, name, works_with: BASELINE, steps: ["a column"] };
    assert.deepEqual(
      [schema, pending],
      [version - 1, [{ ...planned, locks: [{ table: "events", lock: "access exclusive", rows: 0, bytes }] }]],
    );
    await db.close();
  });

  test("prints what is pending, with the locks and the size of the tables, and changes nothing", async () => {
    const url = await createEmptyDatabase();
    const db = open(url);
    const env = { DATABASE_URL: url, GODWIT_SECRET_KEY: SECRET_KEY };
    const { code, stdout } = await runGodwit(["migrate", "--plan"], env);
    assert.equal(code, 0);
    assert.match(stdout, /^no schema yet, \d+ to apply: 0027_baseline, .*\n$/);
    assert.equal((await readSchema(db)).version, 0);
    const json = JSON.parse((await runGodwit(["migrate", "--plan", "--json"], env)).stdout) as unknown;
    assert.deepEqual(json, JSON.parse(JSON.stringify(await planMigrations(db))));
    assert.match((await runGodwit(["migrate"], env)).stderr, /^migration 0027_baseline$/m);
    assert.equal((await runGodwit(["migrate", "--plan"], env)).stdout, `schema ${newestOf(knownMigrations())}: nothing to do\n`);
    await db.rows({ name: "later", text: "insert into schema_migrations (version, name) values (999, '0999_later')", values: [] });
    const later = await runGodwit(["migrate", "--plan"], env);
    assert.deepEqual([later.code, later.stdout], [1, ""]);
    assert.match(later.stderr, /has schema 999, newer than the \d+ this godwit knows/);
    await db.close();
  });
});
