/** Secrets of endpoints: encrypted at rest, rotated with an overlap, and kept when the secret key of the installation changes. */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, before, describe, test } from "node:test";
import { secretContext } from "../../src/webhooks/endpoint.ts";
import { newId, type EndpointId } from "../../src/model/id.ts";
import { SecretBox } from "../../src/lib/secret-box.ts";
import { uuidToText } from "../../src/lib/uuid.ts";
import { clientOf, type EndpointClient, type Json } from "../support/client.ts";
import { createDatabase } from "../support/database.ts";
import { LIMIT_MS } from "../support/expect.ts";
import { SECRET_KEY, spawnGodwit, startGodwit, type Godwit } from "../support/harness.ts";
import { ALLOW_LOOPBACK, Hook, idsOf, verify, type Call } from "../support/hook-server.ts";
import { assertReplayOf } from "../support/replay.ts";
import { rowId } from "../support/tables.ts";

const DAY_MS = 24 * 3_600_000;
const ROLES = { roles: "api,webhooks", env: ALLOW_LOOPBACK };

let hooks: Hook;

function isSignedBy(secret: unknown, call: Call): boolean {
  try {
    verify(call, String(secret));
    return true;
  } catch {
    return false;
  }
}
before(async () => {
  hooks = await Hook.listen();
});
after(() => hooks[Symbol.asyncDispose]());

/** Returns every row of every table as text. */
async function everything(godwit: Godwit): Promise<string> {
  const tables = await godwit.rows<{ name: string }>(
    "select quote_ident(table_name) as name from information_schema.tables where table_schema = 'public' and table_type = 'BASE TABLE'",
  );
  const texts: string[] = [];
  for (const { name } of tables)
    texts.push(...(await godwit.rows<{ text: string }>(`select t::text as text from ${name} t`)).map(({ text }) => text));
  return texts.join("\n");
}

/** Returns the secret in the notations in which it could appear: as shown, as bytes, and as a database shows bytes. */
function formsOf(secret: unknown): string[] {
  const body = String(secret).slice("whsec_".length);
  const bytes = Buffer.from(body, "base64");
  return [
    String(secret),
    body,
    body.replace(/=+$/, ""),
    bytes.toString("base64url"),
    bytes.toString("hex"),
    Buffer.from(body).toString("hex"),
  ];
}

describe("a secret at rest", () => {
  test("appears in no table and no log in any notation, and the encrypted responses are replayed", async () => {
    await using godwit = await startGodwit(ROLES);
    const endpoints = clientOf(godwit, await godwit.key()).endpoints;
    const create = { body: { url: hooks.url() }, idempotencyKey: randomUUID() };
    const created = await endpoints.request("POST", "", create);
    const { id } = created.json;
    const rotate = { idempotencyKey: randomUUID() };
    const rotated = await endpoints.request("POST", `/${String(id)}/rotate_secret`, rotate);
    const last = await endpoints.rotate(id);
    await hooks.called(await endpoints.test(id));
    assertReplayOf(created, await endpoints.request("POST", "", create));
    assertReplayOf(rotated, await endpoints.request("POST", `/${String(id)}/rotate_secret`, rotate));

    const text = await everything(godwit);
    assert.ok(text.includes(hooks.url()) && text.includes(create.idempotencyKey) && text.includes("webhook.test"), "all tables are read");
    const said = JSON.stringify([godwit.logs, godwit.output]);
    const secrets = [created.json["secret"], rotated.json["secret"], last["secret"]];
    assert.equal(new Set(secrets).size, 3);
    for (const form of secrets.flatMap(formsOf)) assert.ok(!text.includes(form) && !said.includes(form), "a secret is readable");
  });

  test("that was copied to another endpoint signs nothing", async () => {
    await using godwit = await startGodwit(ROLES);
    const endpoints = clientOf(godwit, await godwit.key()).endpoints;
    const [mine, yours] = [await endpoints.create({ url: hooks.url() }), await endpoints.create({ url: hooks.url("/other") })];
    await godwit.rows("update webhook_endpoints set secret = (select secret from webhook_endpoints where id = $2) where id = $1", [
      rowId(mine["id"]),
      rowId(yours["id"]),
    ]);
    const event = await endpoints.test(mine["id"]);
    await hooks.called(await endpoints.test(yours["id"]), 1, "/other");
    assert.ok(!idsOf(hooks.at("/hook")).includes(event));
  });
});

describe("a rotation", () => {
  let godwit: Godwit;
  let endpoints: EndpointClient;
  before(async () => {
    godwit = await startGodwit(ROLES);
    await godwit.unlimited();
    endpoints = clientOf(godwit, await godwit.key()).endpoints;
  });
  after(() => godwit.stop());

  /** Returns which of the secrets signed a new event. */
  async function signers(id: unknown, records: readonly Json[]): Promise<boolean[]> {
    const call = await hooks.called(await endpoints.test(id));
    const found = records.map(({ secret }) => isSignedBy(secret, call));
    assert.equal(call.headers["webhook-signature"]?.split(" ").length, found.filter(Boolean).length);
    return found;
  }

  test("signs with the new and the previous secret, and a second rotation drops the first secret", async () => {
    const first = await endpoints.create({ url: hooks.url() });
    const { id } = first;
    assert.deepEqual(await signers(id, [first]), [true]);
    const second = await endpoints.rotate(id);
    assert.deepEqual(await signers(id, [first, second]), [true, true]);
    const third = await endpoints.rotate(id);
    assert.deepEqual(await signers(id, [first, second, third]), [false, true, true]);
  });

  test("keeps the previous secret for a day, and shows when it ends", async () => {
    const first = await endpoints.create({ url: hooks.url() });
    const { id } = first;
    const { secret, ...second } = await endpoints.rotate(id);
    const until = Date.parse(String(second["previous_secret_until"]));
    assert.equal(until - Date.parse(String(second["updated_at"])), DAY_MS);
    assert.ok(Math.abs(until - Date.now() - DAY_MS) < LIMIT_MS);
    assert.deepEqual(await endpoints.read(id), second);
    await godwit.rows("update webhook_endpoints set previous_secret_until = now() where id = $1", [rowId(id)]);
    assert.equal((await endpoints.read(id))["previous_secret_until"], null);
    assert.deepEqual(await signers(id, [first, { secret }]), [false, true]);
    await endpoints.edit(id, { description: "changed" });
    const [row] = await godwit.rows<object>("select previous_secret, previous_secret_until from webhook_endpoints where id = $1", [
      rowId(id),
    ]);
    assert.deepEqual(row, { previous_secret: null, previous_secret_until: null }, "an expired secret is deleted");
  });
});

describe("the secret key of the installation", () => {
  const KEY_B = Buffer.alloc(32, 9).toString("base64");
  const KEY_C = Buffer.alloc(32, 11).toString("base64");
  const NEW_KEY = { GODWIT_SECRET_KEY: KEY_B, ...ALLOW_LOOPBACK };
  const CHANGING = { ...NEW_KEY, GODWIT_PREVIOUS_SECRET_KEY: SECRET_KEY };

  /** Returns the reason why a start is refused. */
  async function refusal(databaseUrl: string, env: Record<string, string>): Promise<string> {
    const run = spawnGodwit(["serve"], { GODWIT_PORT: "0", GODWIT_LOG: "json", DATABASE_URL: databaseUrl, ...env });
    assert.notEqual(await run.exit, 0);
    assert.ok(!run.logs.some(({ msg }) => msg === "listening"));
    return JSON.stringify([run.output, run.logs]);
  }

  test("can change when the previous key is given: endpoints keep their secrets, and stored responses are replayed", async () => {
    const databaseUrl = await createDatabase();
    const create = { body: { url: hooks.url("/changing") }, idempotencyKey: randomUUID() };

    const old = await startGodwit({ ...ROLES, databaseUrl });
    const key = await old.key();
    const created = await clientOf(old, key).endpoints.request("POST", "", create);
    const { id, secret } = created.json;
    const rotated = await clientOf(old, key).endpoints.rotate(id);
    await old.stop();

    for (const env of [NEW_KEY, { ...NEW_KEY, GODWIT_PREVIOUS_SECRET_KEY: KEY_C }]) {
      const said = await refusal(databaseUrl, env);
      assert.match(said, /the secret key differs from the one this database was set up with/);
      assert.match(said, /GODWIT_PREVIOUS_SECRET_KEY/);
      for (const each of [SECRET_KEY, KEY_B, KEY_C]) assert.ok(!said.includes(each), "no key is shown");
    }

    /** Asserts that both secrets sign, as before the change. */
    const assertSigned = async (node: Godwit): Promise<void> => {
      const call = await hooks.called(await clientOf(node, key).endpoints.test(id), 1, "/changing");
      assert.deepEqual([isSignedBy(secret, call), isSignedBy(rotated["secret"], call)], [true, true]);
    };
    // The second start finds the change completed, like a further node.
    for (let start = 0; start < 2; start += 1) {
      await using changing = await startGodwit({ databaseUrl, roles: "api,webhooks", env: CHANGING });
      await assertSigned(changing);
      assertReplayOf(created, await clientOf(changing, key).endpoints.request("POST", "", create));
    }
    await using changed = await startGodwit({ databaseUrl, roles: "api,webhooks", env: NEW_KEY });
    await assertSigned(changed);
    assert.match(await refusal(databaseUrl, { GODWIT_SECRET_KEY: SECRET_KEY }), /the secret key differs/);
  });

  test("can change with very many endpoints: all secrets are encrypted again, and failing_since is kept", async () => {
    const databaseUrl = await createDatabase();
    const old = await startGodwit({ databaseUrl });
    type Sealed = { id: EndpointId; secret: string; failing_since: Date; status: string };
    const sealed = "select id, secret, failing_since, status from webhook_endpoints order by id";
    const box = new SecretBox(Buffer.from(SECRET_KEY, "base64"));
    const ids = Array.from({ length: 1_201 }, () => newId("whe", Date.now()));
    // More than one page of endpoints, of many accounts.
    await old.rows(
      `insert into webhook_endpoints (account_id, environment, id, url, event_types, status, secret, failing_since, updated_at)
       select gen_random_uuid(), 'live', id, 'https://example.com', '{*}', 'enabled', secret, '2026-01-01T00:00:00Z', now()
         from unnest($1::uuid[], $2::text[]) endpoint(id, secret)`,
      [ids.map(uuidToText), ids.map((id) => box.seal("whsec_x", secretContext({ id })))],
    );
    const then = await old.rows<Sealed>(sealed);
    await old.stop();
    await using changed = await startGodwit({ databaseUrl, env: CHANGING });
    const now = await changed.rows<Sealed>(sealed);
    const newBox = new SecretBox(Buffer.from(KEY_B, "base64"));
    for (const { id, secret } of now) assert.equal(newBox.open(secret, secretContext({ id })), "whsec_x");
    assert.deepEqual(
      now.map((row) => ({ ...row, secret: "" })),
      then.map((row) => ({ ...row, secret: "" })),
    );
  });
});
