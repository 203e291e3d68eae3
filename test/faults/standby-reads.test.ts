/** GODWIT_READ_URL: lists, usage and exports are read from a streaming standby while it is near the primary, and everything else from the primary. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { until } from "../support/expect.ts";
import { startGodwit, type Godwit, type Reply } from "../support/harness.ts";
import { readMetrics, seriesOf } from "../support/metrics-text.ts";
import { ReplicatedServers } from "../support/replicated-servers.ts";

const FAR_S = "300";
const NEAR_S = "5";

/** Servers whose commits do not wait for the standby, and a node that reads from it. */
async function start({ maxLag = FAR_S, readUrl }: { maxLag?: string; readUrl?: string } = {}) {
  const servers = await ReplicatedServers.start();
  await servers.releaseStandby();
  const env = { GODWIT_READ_URL: readUrl ?? servers.standby.urlOf(), GODWIT_READ_MAX_LAG: maxLag };
  const node = await startGodwit({ databaseUrl: servers.primary.urlOf(), env, isOneProcess: true });
  await node.unlimited();
  const apiKey = await node.key();
  return {
    servers,
    node,
    apiKey,
    [Symbol.asyncDispose]: async () => {
      await node.stop();
      await servers[Symbol.asyncDispose]();
    },
  };
}

const isUsed = async (node: Godwit): Promise<boolean> => (await readMetrics(node)).get("godwit_standby_up") === 1;
const untilUsed = (node: Godwit): Promise<true> => until("the standby to be used", () => isUsed(node));
const untilUnused = (node: Godwit): Promise<true> => until("the standby not to be used", async () => !(await isUsed(node)));
const readsOf = async (node: Godwit): Promise<Record<string, number>> => seriesOf(await readMetrics(node), "godwit_standby_reads_total");
const reasonsOf = (node: Godwit): unknown[] =>
  node.logs.filter(({ event }) => event === "storage.standby_unused").map(({ reason }) => reason);

async function get(node: Godwit, key: string, path: string): Promise<Reply> {
  const reply = await node.request("GET", path, { key });
  assert.equal(reply.status, 200, reply.text);
  return reply;
}

const idsOf = ({ json }: Reply): string[] => (json["data"] as { id: string }[]).map(({ id }) => id);
const listed = async (node: Godwit, key: string): Promise<string[]> => idsOf(await get(node, key, "/v1/messages?limit=100"));
const sendSome = async (node: Godwit, key: string, count: number): Promise<string[]> => {
  const ids: string[] = [];
  for (let sent = 0; sent < count; sent += 1) ids.unshift(String((await node.send(key)).json["id"]));
  return ids;
};
const nextPage = async (node: Godwit, key: string, page: Reply): Promise<Reply> =>
  get(node, key, `/v1/messages?limit=2&cursor=${String(page.json["next_cursor"])}`);

describe("reads from a standby", () => {
  test("show a list as the standby has it, and a record by its id as it was written", async () => {
    await using rig = await start();
    const { servers, node, apiKey } = rig;
    const [first] = await sendSome(node, apiKey, 1);
    await servers.untilReplayed();
    await untilUsed(node);
    await servers.standby.query("select pg_wal_replay_pause()");
    const [own] = await sendSome(node, apiKey, 1);
    assert.deepEqual(await listed(node, apiKey), [first]);
    const paths = ["/v1/usage", "/v1/events", "/v1/batches", "/v1/verifications", "/v1/audit_events"];
    for (const path of paths) await get(node, apiKey, path);
    assert.deepEqual(await readsOf(node), { '{server="standby"}': paths.length + 1 });

    assert.equal((await get(node, apiKey, `/v1/messages/${own}`)).json["id"], own);
    assert.equal(idsOf(await get(node, apiKey, `/v1/messages/${own}/events`)).length, 1);
    await get(node, apiKey, `/v1/messages/${own}/parts`);
    const created = await node.request("POST", "/v1/templates", {
      key: apiKey,
      body: { name: "own", category: "utility", channels: ["sms"], language: "en", body: "Hello" },
    });
    assert.equal(created.status, 201, created.text);
    assert.ok(idsOf(await get(node, apiKey, "/v1/templates?limit=100")).includes(String(created.json["id"])));
    await servers.standby.query("select pg_wal_replay_resume()");
    assert.deepEqual(await until("the list to have both", async () => (await listed(node, apiKey)).length === 2 && listed(node, apiKey)), [
      own,
      first,
    ]);
    assert.deepEqual(Object.keys(await readsOf(node)), ['{server="standby"}']);
  });

  test("continue a list without a gap when its pages come from different servers", async () => {
    await using rig = await start();
    const { servers, node, apiKey } = rig;
    await using other = await startGodwit({ databaseUrl: servers.primary.urlOf() });
    const old = await sendSome(node, apiKey, 5);
    await servers.untilReplayed();
    await untilUsed(node);
    await servers.standby.query("select pg_wal_replay_pause()");
    const fresh = await sendSome(node, apiKey, 4);

    // The first page of the primary, and the second from a node that reads a standby without its rows.
    const first = await get(other, apiKey, "/v1/messages?limit=2");
    assert.deepEqual(idsOf(first), fresh.slice(0, 2));
    assert.deepEqual(idsOf(await nextPage(node, apiKey, first)), fresh.slice(2));
    assert.deepEqual(await readsOf(node), {});

    // The first two pages of the standby, the third of the primary, through a node without a standby and without the standby.
    const ofStandby = await get(node, apiKey, "/v1/messages?limit=2");
    assert.deepEqual(idsOf(ofStandby), old.slice(0, 2));
    assert.match(ofStandby.headers.get("link") ?? "", new RegExp(String(ofStandby.json["next_cursor"])));
    const second = await nextPage(node, apiKey, ofStandby);
    assert.deepEqual(idsOf(second), old.slice(2, 4));
    assert.deepEqual(await readsOf(node), { '{server="standby"}': 2 });
    assert.deepEqual(idsOf(await nextPage(other, apiKey, second)), old.slice(4));
    await servers.standby.end("SIGKILL");
    assert.deepEqual(idsOf(await nextPage(node, apiKey, second)), old.slice(4));
    // A standby that has restarted may show an earlier state than before.
    await untilUnused(node);
    await servers.standby.start();
    await servers.standby.query("select pg_wal_replay_pause()");
    await untilUsed(node);
    const before = await readsOf(node);
    assert.deepEqual(idsOf(await nextPage(node, apiKey, second)), old.slice(4));
    assert.deepEqual(await readsOf(node), before);
  });

  test("export everything that was committed before the export began", async () => {
    await using rig = await start();
    const { servers, node, apiKey } = rig;
    await untilUsed(node);
    const exported = async (recipient = "+14155550123"): Promise<Reply> =>
      node.request("POST", "/v1/recipients/export", { key: apiKey, body: { recipient } });
    const [first] = await sendSome(node, apiKey, 1);
    assert.match((await exported()).text, new RegExp(`${first}[^]*export_end`));
    // PostgreSQL computes the hash of an erased recipient with the key of the session.
    const body = { recipient: "+14155550199" };
    assert.equal((await node.request("POST", "/v1/suppressions", { key: apiKey, body })).status, 201);
    assert.equal((await node.request("POST", "/v1/recipients/erase", { key: apiKey, body })).status, 200);
    assert.match((await exported(body.recipient)).text, /"erased_opt_out"/);
    assert.deepEqual(Object.keys(await readsOf(node)), ['{server="standby"}']);
    await servers.standby.query("select pg_wal_replay_pause()");
    const [own] = await sendSome(node, apiKey, 1);
    assert.match((await exported()).text, new RegExp(`${own}[^]*export_end`));
  });
});

describe("reads return to the primary", () => {
  test("while the standby is further behind than the limit", async () => {
    await using rig = await start({ maxLag: NEAR_S });
    const { servers, node, apiKey } = rig;
    await untilUsed(node);
    // The node commits once a second, and the standby follows: a healthy standby stays in use for longer than the limit.
    await sleep((Number(NEAR_S) + 1) * 1_000);
    await untilUsed(node);
    await servers.standby.query("select pg_wal_replay_pause()");
    const before = node.logs.length;
    const [own] = await sendSome(node, apiKey, 1);
    await until("the list to have the message", async () => (await listed(node, apiKey)).includes(own ?? ""));
    const lag = (await readMetrics(node)).get("godwit_standby_lag_seconds") ?? NaN;
    assert.ok(lag > Number(NEAR_S), `${lag}`);
    await until("the line in the log", () => reasonsOf(node).includes("it is more than 5 seconds behind the primary"));
    await servers.standby.query("select pg_wal_replay_resume()");
    await untilUsed(node);
    assert.deepEqual(await listed(node, apiKey), [own]);
    const lines = node.logs.slice(before).filter(({ msg }) => /are read from the (standby|primary)$/.test(msg ?? ""));
    const changes = lines.map(({ event }) => event === undefined);
    assert.ok(changes.length >= 2, "a line for each change");
    assert.ok(
      changes.every((isBack, index) => isBack === (index % 2 === 1)),
      "no line without a change",
    );
  });

  test("while the standby is away, and no request fails", async () => {
    await using rig = await start();
    const { servers, node, apiKey } = rig;
    await untilUsed(node);
    await servers.standby.end("SIGKILL");
    const [own] = await sendSome(node, apiKey, 1);
    // A session of the server outlives it by a moment, and may serve a read.
    await until("the list to have the message", async () => (await listed(node, apiKey)).includes(own ?? ""));
    await untilUnused(node);
    await servers.standby.start();
    await untilUsed(node);
    assert.deepEqual(await listed(node, apiKey), [own]);
  });

  test("while the standby hangs", async () => {
    await using rig = await start();
    const { servers, node, apiKey } = rig;
    await untilUsed(node);
    servers.standby.signalAll("SIGSTOP");
    const [own] = await sendSome(node, apiKey, 1);
    assert.deepEqual(await listed(node, apiKey), [own]);
    await untilUnused(node);
    servers.standby.signalAll("SIGCONT");
    await untilUsed(node);
  });

  test("during a failover, and move to the new standby of a URL with both servers", async () => {
    await using servers = await ReplicatedServers.start();
    const env = { GODWIT_READ_URL: servers.url.replace(/&.*/, ""), GODWIT_READ_MAX_LAG: FAR_S };
    await using node = await startGodwit({ databaseUrl: servers.url, env, isOneProcess: true });
    const apiKey = await node.key();
    await untilUsed(node);
    await servers.primary.end("SIGKILL");
    await servers.promote();
    const own = await until("a message to be accepted", async () => {
      const { status, json } = await node.send(apiKey);
      return status === 202 && String(json["id"]);
    });
    await untilUnused(node);
    assert.ok((await listed(node, apiKey)).includes(own));
    await servers.addStandby();
    await untilUsed(node);
    const before = await readsOf(node);
    await servers.untilReplayed();
    assert.ok((await listed(node, apiKey)).includes(own));
    const after = await readsOf(node);
    assert.equal(after['{server="standby"}'], (before['{server="standby"}'] ?? 0) + 1);
  });

  test("when the standby is promoted", async () => {
    await using rig = await start();
    const { servers, node, apiKey } = rig;
    await untilUsed(node);
    await servers.standby.query("select pg_promote(true, 60)");
    await untilUnused(node);
    const [own] = await sendSome(node, apiKey, 1);
    assert.deepEqual(await listed(node, apiKey), [own]);
    assert.match(String(reasonsOf(node).at(-1)), /it is not a standby/);
    await sleep(2_000);
    assert.ok(!(await isUsed(node)));
  });

  test("when the standby belongs to another database", async () => {
    await using servers = await ReplicatedServers.start();
    await servers.releaseStandby();
    await servers.primary.query("create database other owner godwit");
    await using other = await startGodwit({ databaseUrl: servers.primary.urlOf("other") });
    await servers.untilReplayed();
    const env = { GODWIT_READ_URL: servers.standby.urlOf("other") };
    await using node = await startGodwit({ databaseUrl: servers.primary.urlOf(), env, isOneProcess: true });
    const apiKey = await node.key();
    await until("the line in the log", () => reasonsOf(node).some((reason) => /another database/.test(String(reason))));
    const [own] = await sendSome(node, apiKey, 1);
    assert.deepEqual(await listed(node, apiKey), [own]);
    assert.deepEqual(Object.keys(await readsOf(node)), ['{server="primary"}']);
    await other.stop();
  });

  test("when the standby cancels a statement that conflicts with its recovery", async () => {
    await using rig = await start();
    const { servers, node, apiKey } = rig;
    await servers.standby.query("alter system set max_standby_streaming_delay = 0");
    await servers.standby.query("select pg_reload_conf()");
    await servers.untilReplayed();
    await untilUsed(node);
    // The read holds a lock on the first table and waits for the second one. The standby replays a lock on the first.
    const lock = async (table: string) => {
      const client = await servers.primary.connect("godwit");
      await client.query("begin");
      await client.query(`lock table ${table} in access exclusive mode`);
      await servers.untilReplayed();
      return client;
    };
    const second = await lock("usage_changes");
    const read = node.request("GET", "/v1/usage", { key: apiKey });
    await until("the read to wait on the standby", async () => {
      const rows = await servers.standby.query(
        "select from pg_stat_activity where wait_event_type = 'Lock' and query like '%usage_changes%'",
      );
      return rows.length > 0;
    });
    const first = await lock("usage_hours");
    await until("the read to wait on the primary", async () => {
      const rows = await servers.primary.query(
        "select from pg_stat_activity where wait_event_type = 'Lock' and query like '%json_object_agg%'",
      );
      return rows.length > 0;
    });
    await first.end();
    await second.end();
    assert.equal((await read).status, 200);
    assert.deepEqual(await readsOf(node), { '{server="repeated"}': 1 });
    await untilUsed(node);
  });
});
