/** Stored rows that this version cannot read, or that are as expensive as a row can be. None of them prevents a start. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { checkLinks } from "../../src/cli/check-links.ts";
import { sql } from "../../src/database/sql.ts";
import type { Json } from "../support/client.ts";
import { until } from "../support/expect.ts";
import { startGodwit, type Godwit } from "../support/harness.ts";
import { HOSTILE_LINKS, HOSTILE_RULES, insertHostileRows } from "../support/hostile-rows.ts";

const ROUNDS = 48;

async function fill({ db }: Godwit, accountId: unknown): Promise<void> {
  assert.ok(db !== undefined);
  await insertHostileRows(db, accountId);
}

test("a change of an account reads the rows of no other account again", async () => {
  await using godwit = await startGodwit({ roles: "api,dispatch" });
  await godwit.unlimited();
  const key = await godwit.key({ environment: "live", account: "mine", scopes: ["links:read", "links:write"] });
  await godwit.key({ environment: "live", account: "other" });
  const refused = (): unknown[] => godwit.logs.filter(({ event }) => event === "links.created_refused");
  const [other] = (await godwit.db?.rows<{ id: unknown }>(sql`select id from accounts where name = 'other'`)) ?? [];
  await fill(godwit, other?.id);
  const body = { name: "a", provider: "smpp", settings: { host: "a.example", port: 2775, tls: true, system_id: "a", password: "b" } };
  const created = await godwit.request("POST", "/v1/links", { key, body });
  assert.equal(created.status, 201, created.text);
  const path = `/v1/links/${String(created.json["id"])}`;
  assert.equal((await godwit.request("PATCH", path, { key, body: { paused: true } })).status, 200);
  assert.equal((await godwit.request("DELETE", path, { key })).status, 200);
  assert.deepEqual(refused(), []);
  await godwit.db?.rows(sql`update created_version set version = version + 1`);
  await until("the rows to be read with the next look", () => refused().length > 0 || undefined);
});

test("1,008 rows that cannot be read do not prevent a start, and each is listed with its fault", { timeout: 240_000 }, async () => {
  await using first = await startGodwit({ roles: "api,dispatch" });
  await first.unlimited();
  const key = await first.key({ environment: "live", scopes: ["links:read", "links:write", "messages:send"] });
  const [account] = (await first.db?.rows<{ id: unknown }>(sql`select id from accounts limit 1`)) ?? [];
  for (let round = 0; round < ROUNDS; round += 1) await fill(first, account?.id);
  assert.ok(first.db !== undefined);
  const checks = await checkLinks([], { db: first.db, clock: Date });
  const found = checks.find(({ name }) => name === "created links");
  assert.match(String(found?.detail), /^not in use: lnk_\w+: .*; and \d+ more$/s);
  for (let start = 0; start < 3; start += 1) {
    await using node = await startGodwit({ roles: "api,dispatch", databaseUrl: first.databaseUrl });
    const reply = await node.request("GET", "/v1/links", { key, isDeclared: false });
    assert.equal(reply.status, 200, reply.text);
    const links = reply.json["data"] as Json[];
    assert.equal(links.length, HOSTILE_LINKS.length * ROUNDS);
    assert.deepEqual(new Set(links.map(({ state, reason }) => `${String(state)} ${String(reason)}`)), new Set(["paused needs_account"]));
    assert.ok(links.every(({ reason_detail: detail }) => String(detail).startsWith("the link cannot be opened: ")));
    for (const path of ["/v1/senders", "/v1/routes"]) {
      const listed = await node.request("GET", path, { key, isDeclared: false });
      assert.equal(listed.status, 200, listed.text);
      const rules = listed.json["data"] as Json[];
      const isUnread = ({ reason_detail: detail }: Json): boolean => String(detail).startsWith("the stored definition cannot be read: ");
      // The members of a route are unknown members of a sender, which have no effect.
      assert.equal(rules.filter(isUnread).length, (path === "/v1/senders" ? HOSTILE_RULES.length - 1 : HOSTILE_RULES.length) * ROUNDS);
    }
    assert.equal((await node.send(key, {})).status, 422, "the account has no link that can be used");
  }
});
