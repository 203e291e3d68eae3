/** The steps of docs/production.md: the embedded database is restored and moved to a server. Messages are kept and keys still work. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import { chmodSync, mkdtempSync, readFileSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { createEmptyDatabase } from "../support/database.ts";
import { EventReader } from "../support/event-reader.ts";
import { runGodwit, startGodwit, type Godwit, type Reply } from "../support/harness.ts";

const SCRIPT = join(import.meta.dirname, "..", "..", "packaging", "move-to-server.sh");
const SCOPES = "messages:send,messages:read,webhooks:read,webhooks:write,usage:read,events:read";
const hasPsql = spawnSync("psql", ["--version"]).status === 0;

let folder: string;
let key: string;
let first: Reply;
let usage: string;
let lastEvent: string;
const idempotencyKey = randomUUID();
const message = { recipient: "+14155550123", channel: "sms", body: "Kept: ∂ \\ \t €" };

before(async () => {
  folder = mkdtempSync(join(tmpdir(), "godwit-restore-"));
  chmodSync(folder, 0o755);
  const env = { GODWIT_DATA_DIR: join(folder, "data"), GODWIT_WEBHOOK_ALLOW: "127.0.0.0/8" };
  await using godwit = await startGodwit({ asProcess: true, env });
  const created = await runGodwit(["keys", "create", "--environment", "test", "--scopes", SCOPES, "--json"], env);
  key = (JSON.parse(created.stdout) as { key: string }).key;
  first = await godwit.request("POST", "/v1/messages", { key, body: message, idempotencyKey });
  assert.equal(first.status, 202);
  for (let count = 0; count < 5; count += 1) await godwit.send(key);
  const endpoint = await godwit.request("POST", "/v1/webhook_endpoints", { key, body: { url: "http://127.0.0.1:9/hooks" } });
  assert.equal(endpoint.status, 201);
  const events = await godwit.request("GET", "/v1/events?limit=1", { key });
  lastEvent = (events.json["data"] as { id: string }[])[0]?.id ?? "";
  usage = totals(await godwit.request("GET", "/v1/usage", { key }));
  await godwit.stop();
  assert.equal(spawnSync("cp", ["-aL", join(folder, "data"), join(folder, "backup")]).status, 0);
});
after(() => rmSync(folder, { recursive: true, force: true }));

const totals = ({ json }: Reply): string => JSON.stringify(json["totals"]);

/** Checks that the message, its key, the idempotency key, the counts and the endpoint's secret are unchanged. */
async function assertAllThere(godwit: Godwit): Promise<void> {
  const { id } = first.json as { id: string };
  const read = await godwit.request("GET", `/v1/messages/${id}`, { key });
  assert.deepEqual([read.status, read.json["body"]], [200, message.body]);
  const replay = await godwit.request("POST", "/v1/messages", { key, body: message, idempotencyKey });
  assert.deepEqual([replay.status, replay.text, replay.headers.get("idempotent-replayed")], [202, first.text, "true"]);
  assert.equal(totals(await godwit.request("GET", "/v1/usage", { key })), usage);
  const list = (await godwit.request("GET", "/v1/messages", { key })).json["data"] as unknown[];
  assert.equal(list.length, 6);
  const [endpoint] = (await godwit.request("GET", "/v1/webhook_endpoints", { key })).json["data"] as { id: string }[];
  const rotated = await godwit.request("POST", `/v1/webhook_endpoints/${endpoint?.id}/rotate_secret`, { key });
  assert.equal(rotated.status, 200, rotated.text);
  using reader = await EventReader.open(godwit, key, { after: lastEvent });
  const sent = await godwit.send(key);
  assert.equal(sent.status, 202);
  // The stream goes on after the last event of the old server.
  await reader.has([String(sent.json["id"]).replace("msg_", "evt_")]);
}

test("a copy of a stopped data directory starts with all its data", async () => {
  const restored = join(folder, "restored");
  assert.equal(spawnSync("cp", ["-aL", join(folder, "backup"), restored]).status, 0);
  await using godwit = await startGodwit({ asProcess: true, env: { GODWIT_DATA_DIR: restored, GODWIT_WEBHOOK_ALLOW: "127.0.0.0/8" } });
  await assertAllThere(godwit);
});

test(
  "packaging/move-to-server.sh moves an embedded database to a server",
  { skip: hasPsql ? false : "psql is not on this machine" },
  async () => {
    const dataDir = join(folder, "backup");
    const databaseUrl = await createEmptyDatabase();
    const secretKey = readFileSync(join(dataDir, "secret.key"), "utf8").trim();
    const migrated = await runGodwit(["migrate"], { DATABASE_URL: databaseUrl, GODWIT_SECRET_KEY: secretKey });
    assert.equal(migrated.code, 0, migrated.stderr);
    {
      // The service gets no requests, and keeps PostgreSQL running.
      await using old = await startGodwit({ asProcess: true, env: { GODWIT_DATA_DIR: dataDir } });
      const source = `host=${realpathSync(join(dataDir, "postgres"))} user=godwit dbname=postgres`;
      const moved = spawnSync("bash", [SCRIPT, source, databaseUrl], { encoding: "utf8" });
      assert.equal(moved.status, 0, moved.stderr);
      assert.match(moved.stdout, /^moved: 6 messages, \d+ keys$/m);
      const again = spawnSync("bash", [SCRIPT, source, databaseUrl], { encoding: "utf8" });
      assert.deepEqual([again.status, again.stderr.trim()], [1, "the new database has messages already"]);
      await old.stop();
    }
    const env = { GODWIT_SECRET_KEY: secretKey, GODWIT_WEBHOOK_ALLOW: "127.0.0.0/8" };
    await using godwit = await startGodwit({ asProcess: true, databaseUrl, env });
    await assertAllThere(godwit);
    const [stray] = await godwit.rows<{ count: number }>("select count(*)::int as count from only messages_default");
    assert.equal(stray?.count, 0, "every message is in the partition of its week");
  },
);

test(
  "the service does not start with another secret key than the database's",
  { skip: hasPsql ? false : "psql is not on this machine" },
  async () => {
    const dataDir = join(folder, "other");
    assert.equal(spawnSync("cp", ["-aL", join(folder, "backup"), dataDir]).status, 0);
    const other = Buffer.alloc(32, 9).toString("base64");
    const { code, stderr, stdout } = await runGodwit(["serve", "--port", "0"], { GODWIT_DATA_DIR: dataDir, GODWIT_SECRET_KEY: other });
    assert.notEqual(code, 0, stdout + stderr);
    assert.match(stderr + stdout, /secret/i);
  },
);
