/** The time until every node refuses a credential that was revoked or has expired. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { apiKeyHint } from "../../src/access/api-key.ts";
import { createToken, newOAuthClient } from "../support/keys.ts";
import { until } from "../support/expect.ts";
import { startGodwit, type Godwit } from "../support/harness.ts";

let godwit: Godwit;
let other: Godwit;
before(async () => {
  godwit = await startGodwit();
  other = await startGodwit({ databaseUrl: godwit.databaseUrl });
  await godwit.unlimited();
});
after(() => Promise.all([godwit.stop(), other.stop()]));

/** Returns the time until both nodes refuse the credential. */
async function refusedAfterMs(key: string): Promise<number> {
  const startedAt = performance.now();
  for (const node of [godwit, other])
    await until(
      "the credential is refused",
      async () => (await node.request("GET", "/v1/messages?limit=1", { key })).status === 401 || undefined,
    );
  return performance.now() - startedAt;
}

async function use(key: string): Promise<void> {
  for (const node of [godwit, other]) assert.equal((await node.request("GET", "/v1/messages?limit=1", { key })).status, 200);
}

test("a revoked key is refused within 1.5 seconds, also while it is in use", async () => {
  const key = await godwit.key();
  await use(key);
  await godwit.rows("update api_keys set revoked_at = now() where hint = $1", [apiKeyHint(key)]);
  const tookMs = await refusedAfterMs(key);
  assert.ok(tookMs < 1_500, `${tookMs} ms`);
});

test("a key works until it expires, and is refused within about a second afterwards", async () => {
  const expiresAt = Date.now() + 1_500;
  const key = await godwit.key({ expiresAt: new Date(expiresAt) });
  await use(key);
  await refusedAfterMs(key);
  assert.ok(Date.now() < expiresAt + 2_000, `${Date.now() - expiresAt} ms after its expiry`);
});

test("a token is refused within two seconds after its key is revoked", async () => {
  const client = await newOAuthClient(godwit);
  const revoked = await newOAuthClient(godwit);
  const token = await createToken(godwit, revoked);
  await use(token);
  assert.equal((await godwit.request("DELETE", `/v1/keys/${revoked.id}`, { key: client.secret })).status, 200);
  const tookMs = await refusedAfterMs(token);
  assert.ok(tookMs < 2_000, `${tookMs} ms`);
});
