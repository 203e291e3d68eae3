/** A database role that runs nodes and owns nothing: what it can do, what it cannot, and what only the owner of the schema does. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import pg from "pg";
import pino from "pino";
import { Database } from "../../src/database/database.ts";
import { migrate } from "../../src/database/migrate.ts";
import { knownMigrations, knownSchema, parseMigration } from "../../src/database/migrations.ts";
import { createPartitions, listWeeks } from "../../src/database/partitions.ts";
import { prepare } from "../../src/database/sql.ts";
import { applyRetention } from "../../src/retention/drop-weeks.ts";
import { asAdmin, createEmptyDatabase } from "../support/database.ts";
import { until } from "../support/expect.ts";
import { runGodwit, SECRET_KEY, startGodwit } from "../support/harness.ts";
import { Hook, messageOf, typesOf } from "../support/hook-server.ts";
import { Customer, WITH_WEBHOOKS } from "../support/webhook-customer.ts";

// The roles belong to the server that all tests share.
const OWNER = `owner_${process.pid}`;
const NODE = `node "${process.pid}"`;
const QUOTED_NODE = `"node ""${process.pid}"""`;

let urls: { owner: string; node: string };
let owner: Database;
let node: Database;

const databaseOf = (url: string): string => new pg.Client(url).database ?? assert.fail(url);

const run = (command: string, url: string): ReturnType<typeof runGodwit> =>
  runGodwit(command.split(" "), { DATABASE_URL: url, GODWIT_SECRET_KEY: SECRET_KEY });
const grant = (): ReturnType<typeof runGodwit> =>
  runGodwit(["migrate", "--grant-to", NODE, "--json"], { DATABASE_URL: urls.owner, GODWIT_SECRET_KEY: SECRET_KEY });
const rows = <T>(db: Database, text: string): Promise<T[]> => db.rows<T>({ ...prepare(text), values: [] });

before(async () => {
  const url = await createEmptyDatabase();
  await asAdmin(async (admin) => {
    await admin.query(`create role ${OWNER} login; create role ${QUOTED_NODE} login`);
    const name = databaseOf(url);
    await admin.query(`alter database ${name} owner to ${OWNER}`);
    await admin.query(`revoke connect, temporary on database ${name} from public`);
    await admin.query(`grant connect, temporary on database ${name} to ${QUOTED_NODE}`);
  });
  const as = (role: string): string => url.replace(/\/\/[^@]*@/, `//${encodeURIComponent(role)}@`);
  urls = { owner: as(OWNER), node: as(NODE) };
  owner = new Database({ url: urls.owner }, "owner", () => undefined);
  node = new Database({ url: urls.node }, "node", () => undefined);
  const { code, stdout, stderr } = await grant();
  assert.equal(code, 0, stderr);
  assert.equal((JSON.parse(stdout) as { granted_to: string }).granted_to, NODE);
});
after(async () => {
  await Promise.all([owner.close(), node.close()]);
  await asAdmin(async (admin) => {
    await admin.query(`drop database ${databaseOf(urls.owner)} with (force)`);
    await admin.query(`drop role ${OWNER}, ${QUOTED_NODE}`);
  });
});

describe("a node whose role owns nothing", () => {
  test("starts on an empty schema, delivers, and calls webhooks", async () => {
    await using hook = await Hook.listen();
    await using godwit = await startGodwit({ ...WITH_WEBHOOKS, databaseUrl: urls.node });
    const customer = await Customer.of(godwit);
    const endpoint = await customer.endpoint(hook);
    const { id } = await customer.send({});
    const calls = await endpoint.received(4);
    assert.deepEqual(typesOf(calls).toSorted(), ["message.delivered", "message.queued", "message.sending", "message.sent"]);
    assert.equal(messageOf(calls[0] ?? assert.fail())["id"], id);
    assert.deepEqual(await rows(node, "select distinct usename from pg_stat_activity where application_name like 'godwit node %'"), [
      { usename: NODE },
    ]);
    assert.equal((await listWeeks(node)).length, 5);
  });

  test("is administered with its role", async () => {
    for (const command of [
      "accounts create other",
      "keys create --account other --environment test --scopes messages:send",
      "audit verify",
    ]) {
      const { code, stderr } = await run(command, urls.node);
      assert.equal(code, 0, `${command}: ${stderr}`);
    }
  });

  test("creates weeks, moves rows of the default partition to them, and drops them when they are old", async () => {
    await rows(
      node,
      `insert into events (account_id, environment, id, type)
       values (gen_random_uuid(), 'test', '018cc251-f400-7000-8000-000000000001', 'message.queued')`,
    );
    const { moved, failures } = await createPartitions(node, Date.UTC(2024, 0, 1));
    assert.deepEqual([moved, failures], [[{ partition: "events_20240101", rows: 1 }], []]);
    assert.deepEqual(await rows(node, "select distinct tableowner from pg_tables where tablename like 'events_2024%'"), [
      { tableowner: OWNER },
    ]);
    const turn = await applyRetention(node, { retentionDays: 40, nowMs: Date.UTC(2024, 3, 1), log: pino({ level: "silent" }) });
    assert.deepEqual(turn?.dropped, ["2024-01-01", "2024-01-08", "2024-01-15", "2024-01-22", "2024-01-29"]);
    assert.equal((await listWeeks(node)).length, 5);
  });

  const REFUSED = {
    "drops a table": "drop table accounts",
    "drops a partition": "drop table events_default",
    "drops a function": "drop function drop_week(date)",
    "changes a table": "alter table accounts add column mine integer",
    "switches off the protection of the audit log": "alter table audit_events disable trigger all",
    "empties a table": "truncate audit_events",
    "creates an index": "create index mine on messages (recipient)",
    "creates a table": "create table mine (id integer)",
    "creates a function": "create function mine() returns integer language sql as 'select 1'",
    "creates a schema": "create schema mine",
    "creates a role": "create role mine",
    "becomes the owner": `set role ${OWNER}`,
    "reads passwords": "select * from pg_authid",
    "reads files": "select pg_read_file('PG_VERSION')",
    "ends the session of the owner": `select pg_terminate_backend(pid) from pg_stat_activity where usename = '${OWNER}'`,
  };
  for (const [does, text] of Object.entries(REFUSED))
    test(`is refused when it ${does}`, async () => {
      // The owner has a session, which is not the role's to end.
      await rows(owner, "select 1");
      await assert.rejects(node.script(text), { code: "42501" });
    });

  const NO_WEEKS = [
    "select create_week('accounts', '2024-01-01', 0)",
    "select create_week('messages; drop table accounts', '2024-01-01', 0)",
    "select create_week('messages', '2024-01-02', 0)",
    "select create_week('messages', '9999-12-27', 0)",
    "select drop_week('2024-01-02')",
    "select drop_week('-infinity')",
    "select drop_week(date_trunc('week', now() - interval '40 days')::date)",
  ];
  for (const text of NO_WEEKS) test(`is refused: ${text}`, () => assert.rejects(node.script(text), { code: "22023" }));

  test("cannot replace the tables of the functions by temporary ones", async () => {
    await using session = await connect(urls.node);
    await session.query("create temporary table messages (id uuid) partition by range (id)");
    await session.query("create temporary table messages_20240108 (id uuid)");
    await session.query("select create_week('messages', '2024-01-08', 0), create_week('events', '2024-01-08', 0)");
    const schemas = async (): Promise<string[]> => {
      const { rows: found } = await session.query<{ schema: string }>(
        "select relnamespace::regnamespace::text as schema from pg_class where relname = 'messages_20240108'",
      );
      return found.map(({ schema }) => schema.replace(/^pg_temp_\d+$/, "temporary")).toSorted();
    };
    assert.deepEqual(await schemas(), ["public", "temporary"]);
    await session.query("select drop_week('2024-01-08')");
    assert.deepEqual(await schemas(), ["temporary"]);
  });

  test("cannot have functions and operators of the schema called by the functions, where anybody may create them", async () => {
    const fail = "begin raise exception 'called'; end";
    const MINE = {
      "function public.to_char(date, text)": "text",
      "function public.format(text, uuid, uuid)": "text",
      "function public.unnest(text[])": "setof text",
      "function public.differs(numeric, integer)": "boolean",
    };
    for (const [name, type] of Object.entries(MINE)) await owner.script(`create ${name} returns ${type} language plpgsql as $$${fail}$$`);
    await owner.script("create operator public.<> (leftarg = numeric, rightarg = integer, function = public.differs)");
    await node.script("select create_week('messages', '2024-01-15', 0)");
    await node.script("select drop_week('2024-01-15')");
    await owner.script("drop operator public.<> (numeric, integer)");
    for (const name of Object.keys(MINE)) await owner.script(`drop ${name}`);
  });
});

describe("migrations", () => {
  const version = knownSchema() + 1;
  const next = [
    ...knownMigrations(),
    parseMigration(
      `00${version}_next`,
      `-- Releases that know schema ${version} or later work on this schema.\ncreate table later (id bigserial primary key);`,
    ),
  ];

  test("that are pending make a node wait for the owner", async () => {
    await assert.rejects(
      migrate(node, next),
      ({ name, message }: Error) =>
        name === "StartupError" && message.includes(`run godwit migrate as the role ${OWNER} (${NODE} does not own the schema)`),
    );
  });

  test("of the owner find a node of an earlier release, also with another role, and grant rights on what they create", async () => {
    const earlier = await connect(urls.node, "godwit 0123456789ab 1");
    await assert.rejects(migrate(owner, next), new RegExp(`1 is connected: of the role ${NODE} \\(session \\d+\\)`));
    await earlier.end();
    // The session of a client that has ended is there for a moment.
    await until("the migration", () => migrate(owner, next).catch(() => undefined));
    assert.deepEqual(await rows(node, "insert into later default values returning id"), [{ id: 1 }]);
    await assert.rejects(node.script("drop table later"), { code: "42501" });
    await owner.script(`drop table later; delete from schema_migrations where version = ${version}`);
  });
});

describe("godwit migrate --grant-to", () => {
  test("can be repeated, and needs the owner, an existing role and another one", async () => {
    assert.equal((await grant()).code, 0);
    const as = async (url: string, role: string): Promise<string> => {
      const { code, stderr } = await runGodwit(["migrate", "--grant-to", role], { DATABASE_URL: url, GODWIT_SECRET_KEY: SECRET_KEY });
      assert.equal(code, 1);
      return stderr;
    };
    assert.equal(
      await as(urls.node, NODE),
      `godwit: only the owner of the schema can grant rights: run godwit migrate as the role ${OWNER}\n`,
    );
    assert.match(await as(urls.owner, "nobody_here"), /^godwit: there is no database role nobody_here: create it first/);
    assert.match(await as(urls.owner, OWNER), /has all rights of the owner/);
    await owner.script("grant create on schema public to public");
    assert.match(await as(urls.owner, NODE), /may create objects in the schema public: revoke that first/);
    await owner.script("revoke create on schema public from public");
  });
});

describe("godwit doctor", () => {
  const rights = async (url: string): Promise<string> => /^.*? rights .*$/m.exec((await run("doctor", url)).stdout)?.[0] ?? "";

  test("says which role it has, and who owns the schema", async () => {
    assert.match(await rights(urls.owner), new RegExp(`^ok .*the role ${OWNER} owns its tables$`));
    assert.match(await rights(urls.node), new RegExp(`^ok .*the role ${NODE} owns no tables; ${OWNER} owns them, and applies migrations$`));
  });

  test("warns of a role that can create tables", async () => {
    await owner.script("grant create on schema public to public");
    assert.match(await rights(urls.node), /^warn .* can create tables$/);
    await owner.script("revoke create on schema public from public");
  });

  for (const [missing, back] of [
    [`revoke update on accounts from ${QUOTED_NODE}`, `grant update on accounts to ${QUOTED_NODE}`],
    [`revoke update on sequence event_positions from ${QUOTED_NODE}`, `grant update on sequence event_positions to ${QUOTED_NODE}`],
    [`revoke execute on function drop_week from ${QUOTED_NODE}`, `grant execute on function drop_week to ${QUOTED_NODE}`],
  ] as const)
    test(`fails without a right: ${missing.split(" from ")[0]}`, async () => {
      await owner.script(missing);
      assert.match(
        await rights(urls.node),
        new RegExp(`^FAIL .*the role ${NODE} may not use 1 tables, sequences or functions of the role ${OWNER}$`),
      );
      await owner.script(back);
    });
});

/** A session that ends with its scope. */
async function connect(connectionString: string, name = "test"): Promise<pg.Client & AsyncDisposable> {
  const client = new pg.Client({ connectionString, application_name: name });
  await client.connect();
  return Object.assign(client, { [Symbol.asyncDispose]: () => client.end() });
}
