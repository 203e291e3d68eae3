/** The keys that sign tokens: created once for all nodes, published before they sign, rotated, and revoked after a leak. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { decodeProtectedHeader } from "jose";
import { SecretBox } from "../../src/lib/secret-box.ts";
import { createToken, newOAuthClient, requestToken, type OAuthClient } from "../support/keys.ts";
import { until } from "../support/expect.ts";
import { createDatabase } from "../support/database.ts";
import { runGodwit, SECRET_KEY, startGodwit, type Godwit } from "../support/harness.ts";

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;

type Pair = { godwit: Godwit; other: Godwit; client: OAuthClient; stop: () => Promise<unknown> };

/** Starts two nodes on one new database at the same time. */
async function pair(): Promise<Pair> {
  const databaseUrl = await createDatabase();
  const [godwit, other] = await Promise.all([
    startGodwit({ databaseUrl, isOneProcess: true }),
    startGodwit({ databaseUrl, isOneProcess: true }),
  ]);
  const client = await newOAuthClient(godwit);
  await godwit.unlimited();
  return { godwit, other, client, stop: () => Promise.all([godwit.stop(), other.stop()]) };
}

const kidOf = (token: string): string => decodeProtectedHeader(token).kid ?? "";

const published = async (node: Godwit): Promise<string[]> =>
  ((await node.request("GET", "/.well-known/jwks.json")).json["keys"] as { kid: string }[]).map(({ kid }) => kid);

const works = async (node: Godwit, token: string): Promise<boolean> => {
  const { status } = await node.request("GET", "/v1/messages", { key: token });
  assert.ok(status === 200 || status === 401, String(status));
  return status === 200;
};

type Row = { kid: string; public_key: Record<string, string>; private_key: string; active_from: Date };
const rowsOf = (node: Godwit): Promise<Row[]> => node.rows<Row>("select * from signing_keys order by active_from");

type Listed = { kid: string; signs_from: string }[];

async function command({ databaseUrl }: Godwit, args: readonly string[], env: Record<string, string> = {}): Promise<Listed> {
  const run = await runGodwit(["signing-keys", ...args, "--json"], {
    DATABASE_URL: databaseUrl ?? "",
    GODWIT_SECRET_KEY: SECRET_KEY,
    ...env,
  });
  assert.equal(run.code, 0, run.stderr);
  return JSON.parse(run.stdout) as Listed;
}

/** Moves the start of the keys into the past. */
const age = async (node: Godwit, byMs: number): Promise<void> => {
  await node.rows("update signing_keys set active_from = active_from - make_interval(secs => $1)", [byMs / 1_000]);
};

/** Waits until both nodes have read the current keys. */
const untilPublished = async (nodes: readonly Godwit[], kids: readonly string[]): Promise<void> => {
  for (const node of nodes)
    await until("the keys are published", async () => (await published(node)).toSorted().join() === kids.toSorted().join() || undefined);
};

describe("the first signing key", () => {
  let nodes: Pair;
  before(async () => {
    nodes = await pair();
  });
  after(() => nodes.stop());

  test("exists when the service listens, is shared by nodes that start together, and its tokens work at once on the other node", async () => {
    const { godwit, other, client } = nodes;
    const [row, ...rest] = await rowsOf(godwit);
    assert.ok(row !== undefined && rest.length === 0, `${rest.length} keys too many`);
    assert.deepEqual([await published(godwit), await published(other)], [[row.kid], [row.kid]]);
    const token = await createToken(godwit, client);
    assert.equal(kidOf(token), row.kid);
    assert.ok(await works(other, token));
  });

  test("is created once when many requests need a token and there is none", async () => {
    const { godwit, other, client } = nodes;
    for (let round = 0; round < 3; round += 1) {
      await godwit.rows("delete from signing_keys");
      await untilPublished([godwit, other], []);
      const tokens = await Promise.all(Array.from({ length: 20 }, (_, index) => createToken(index % 2 === 0 ? godwit : other, client)));
      const rows = await rowsOf(godwit);
      assert.equal(rows.length, 1);
      assert.deepEqual(new Set(tokens.map(kidOf)), new Set([rows[0]?.kid]));
      for (const [index, token] of tokens.entries()) assert.ok(await works(index % 2 === 0 ? other : godwit, token));
    }
  });

  test("signs at once, also for a node whose clock is behind", async () => {
    const { godwit, other, client } = nodes;
    const [row] = await rowsOf(godwit);
    assert.ok(row !== undefined);
    await godwit.rows("delete from signing_keys");
    await untilPublished([godwit, other], []);
    await godwit.rows(
      "insert into signing_keys (kid, public_key, private_key, active_from) values ($1, $2, $3, now() + interval '5 seconds')",
      [row.kid, JSON.stringify(row.public_key), row.private_key],
    );
    await untilPublished([godwit, other], [row.kid]);
    for (const node of [godwit, other]) assert.equal(kidOf(await createToken(node, client)), row.kid);
    assert.equal((await rowsOf(godwit)).length, 1, "no other key is created");
  });

  test("is stored encrypted: its private part is in no table, and cannot be decrypted for another key id", async () => {
    const { godwit, client } = nodes;
    const [row] = await rowsOf(godwit);
    assert.ok(row !== undefined);
    assert.deepEqual(Object.keys(row.public_key).toSorted(), ["crv", "kty", "x"]);
    const box = new SecretBox(Buffer.from(SECRET_KEY, "base64"));
    const { d, x } = JSON.parse(box.open(row.private_key, `signing key ${row.kid}`)) as Record<string, string>;
    assert.ok(d !== undefined && !JSON.stringify(row).includes(d));
    assert.equal(x, row.public_key["x"]);
    assert.throws(() => box.open(row.private_key, "signing key x"));
    await createToken(godwit, client);
    assert.ok(!JSON.stringify([godwit.logs, godwit.output]).includes(d));
  });
});

describe("the rotation of signing keys", () => {
  let nodes: Pair;
  before(async () => {
    nodes = await pair();
  });
  after(() => nodes.stop());

  test("publishes a key that signs 15 minutes later, and tokens of the old key stay valid", async () => {
    const { godwit, other, client } = nodes;
    const old = await createToken(godwit, client);
    const listed = await command(godwit, ["rotate"]);
    assert.equal(listed.length, 2);
    const [next, signer] = listed;
    assert.ok(next !== undefined && signer !== undefined);
    assert.equal(signer.kid, kidOf(old));
    const aheadMs = Date.parse(next.signs_from) - Date.now();
    assert.ok(aheadMs > 14 * MINUTE_MS && aheadMs <= 15 * MINUTE_MS, `${aheadMs} ms`);
    await untilPublished([godwit, other], [next.kid, signer.kid]);
    for (const node of [godwit, other])
      assert.equal(kidOf(await createToken(node, client)), signer.kid, "the next key does not sign before its time");

    assert.deepEqual(await command(godwit, ["rotate"]), listed, "one waiting key is enough");
    assert.deepEqual(await command(godwit, ["list"]), listed);

    await age(godwit, 15 * MINUTE_MS);
    const fresh = await until("the next key signs", async () =>
      [await createToken(other, client)].find((token) => kidOf(token) === next.kid),
    );
    for (const node of [godwit, other]) for (const token of [old, fresh]) assert.ok(await works(node, token));

    // An hour after its last token the old key is not needed any more.
    await age(godwit, 64 * MINUTE_MS);
    assert.deepEqual((await published(godwit)).toSorted(), [next.kid, signer.kid].toSorted());
    await age(godwit, 2 * MINUTE_MS);
    await untilPublished([godwit, other], [next.kid]);
    await until("the old key is removed", async () => !(await works(godwit, old)) || undefined);
    assert.ok(await works(godwit, fresh));
    await command(godwit, ["rotate"]);
    assert.ok(!(await rowsOf(godwit)).some(({ kid }) => kid === signer.kid), "an expired key is deleted");
  });

  test("happens automatically after ninety days, when a token is requested, on one node", async () => {
    const { godwit, other, client } = nodes;
    await command(godwit, ["rotate", "--revoke"]);
    const [only] = await rowsOf(godwit);
    assert.ok(only !== undefined);
    await untilPublished([godwit, other], [only.kid]);
    await age(godwit, 90 * DAY_MS - MINUTE_MS);
    await createToken(godwit, client);
    assert.equal((await rowsOf(godwit)).length, 1, "no key is created before");
    await age(godwit, MINUTE_MS);
    await until("the next key is created", async () => {
      const tokens = await Promise.all([godwit, other].flatMap((node) => [createToken(node, client), createToken(node, client)]));
      for (const token of tokens) assert.equal(kidOf(token), only.kid, "the old key still signs");
      return (await rowsOf(godwit)).length > 1 || undefined;
    });
    const rows = await rowsOf(godwit);
    assert.equal(rows.length, 2);
    const next = rows.find(({ kid }) => kid !== only.kid);
    assert.ok(next !== undefined && next.active_from.getTime() - Date.now() > 14 * MINUTE_MS);
    await untilPublished([godwit, other], [only.kid, next.kid]);
    await createToken(other, client);
    assert.equal((await rowsOf(godwit)).length, 2, "one waiting key is enough");
  });

  test("with --revoke ends the old tokens on every node within seconds, and new tokens work", async () => {
    const { godwit, other, client } = nodes;
    const old = await createToken(godwit, client);
    for (const node of [godwit, other]) assert.ok(await works(node, old));
    const listed = await command(godwit, ["rotate", "--revoke"]);
    assert.equal(listed.length, 1);
    const [signer] = listed;
    assert.ok(signer !== undefined && Date.parse(signer.signs_from) <= Date.now());
    for (const node of [godwit, other]) await until("the old token is refused", async () => !(await works(node, old)) || undefined);
    for (const node of [godwit, other]) {
      const fresh = await createToken(node, client);
      assert.equal(kidOf(fresh), signer.kid);
      for (const reader of [godwit, other]) assert.ok(await works(reader, fresh));
    }
    assert.deepEqual(await published(other), [signer.kid]);
  });

  test("of a moment ago does not refuse a token on a node that is not yet notified", async () => {
    const { godwit, other, client } = nodes;
    for (let round = 0; round < 3; round += 1) {
      const [signer] = await command(godwit, ["rotate", "--revoke"]);
      const fresh = await until("a token of the new key is created", async () => {
        // The other node has just read the keys, before or after the rotation.
        const [token] = await Promise.all([createToken(godwit, client), published(other)]);
        return kidOf(token) === signer?.kid ? token : undefined;
      });
      assert.ok(await works(other, fresh));
    }
  });
});

describe("the secret key of the installation", () => {
  const NEW_KEY = { GODWIT_SECRET_KEY: Buffer.alloc(32, 9).toString("base64") };

  test("can change: signing keys are encrypted again, and old tokens stay valid", async () => {
    const old = await startGodwit();
    const { databaseUrl } = old;
    const client = await newOAuthClient(old);
    const token = await createToken(old, client);
    await command(old, ["rotate"]);
    const then = await rowsOf(old);
    await old.stop();
    for (const env of [{ ...NEW_KEY, GODWIT_PREVIOUS_SECRET_KEY: SECRET_KEY }, NEW_KEY]) {
      await using changed = await startGodwit({ databaseUrl, env });
      assert.ok(await works(changed, token));
      const fresh = await createToken(changed, client);
      assert.equal(kidOf(fresh), kidOf(token));
      assert.ok(await works(changed, fresh));
      const now = await rowsOf(changed);
      assert.deepEqual(
        now.map(({ kid, active_from: activeFrom }) => [kid, activeFrom]),
        then.map(({ kid, active_from: activeFrom }) => [kid, activeFrom]),
      );
      const box = new SecretBox(Buffer.from(NEW_KEY.GODWIT_SECRET_KEY, "base64"));
      for (const row of now) assert.match(box.open(row.private_key, `signing key ${row.kid}`), /"d":/);
    }
  });

  test("is required by the command: without it or with another one no key is created", async () => {
    await using godwit = await startGodwit();
    const already = await rowsOf(godwit);
    const env = { DATABASE_URL: godwit.databaseUrl ?? "" };
    const missing = await runGodwit(["signing-keys", "rotate"], env);
    assert.equal(missing.code, 2);
    assert.match(missing.stderr, /GODWIT_SECRET_KEY is needed/);
    const wrong = await runGodwit(["signing-keys", "rotate", "--revoke"], { ...env, ...NEW_KEY });
    assert.notEqual(wrong.code, 0);
    assert.match(wrong.stderr, /the secret key differs/);
    const unknown = await runGodwit(["signing-keys"], { ...env, GODWIT_SECRET_KEY: SECRET_KEY });
    assert.equal(unknown.code, 2);
    assert.deepEqual(await rowsOf(godwit), already);
    assert.equal((await requestToken(godwit, { basic: await newOAuthClient(godwit) })).status, 200);
  });
});
