/** The command line, as a person or a script uses it, with the database of a running service. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { SCOPE_PRESETS, SCOPES } from "../../src/access/scope.ts";
import { VERSION } from "../../src/version.ts";
import type { Json } from "../support/client.ts";
import { until } from "../support/expect.ts";
import { runGodwit, startGodwit, type Godwit } from "../support/harness.ts";

type Result = Awaited<ReturnType<typeof runGodwit>>;

let godwit: Godwit;
before(async () => {
  godwit = await startGodwit();
  await godwit.unlimited();
});
after(() => godwit.stop());

const run = (...args: string[]): Promise<Result> =>
  runGodwit(args, {
    DATABASE_URL: godwit.databaseUrl ?? "",
    GODWIT_PORT: new URL(godwit.url).port,
  });

/** Runs a command that must succeed and print only JSON. */
async function json<T = Json>(...args: string[]): Promise<T> {
  const { code, stdout, stderr } = await run(...args, "--json");
  assert.equal(code, 0, stderr);
  assert.equal(stdout.trimEnd().split("\n").length, 1);
  return JSON.parse(stdout) as T;
}

const statusOf = async (key: unknown): Promise<number> =>
  (await godwit.request("GET", "/v1/messages?limit=1", { key: String(key) })).status;

describe("keys", () => {
  test("are shown once by create, with their record", async () => {
    const made = await json(
      "keys",
      "create",
      "--environment",
      "test",
      "--scopes",
      "messages:read, messages:send",
      "--name",
      "ci",
      "--expires-in",
      "90d",
    );
    assert.match(String(made["key"]), /^gw_test_[0-9A-Za-z]{40}$/);
    assert.match(String(made["id"]), /^key_[0-9a-z]{26}$/);
    assert.match(String(made["account_id"]), /^acct_[0-9a-z]{26}$/);
    assert.deepEqual(made["scopes"], ["messages:read", "messages:send"]);
    assert.equal(made["name"], "ci");
    assert.ok(Math.abs(Date.parse(String(made["expires_at"])) - Date.now() - 90 * 86_400_000) < 60_000);
    assert.equal(await statusOf(made["key"]), 200);

    const list = await json<Json[]>("keys", "list");
    const { key, ...record } = made;
    const listed = list.find(({ id }) => id === made["id"]);
    assert.deepEqual({ ...listed, last_used_at: null }, { ...record, last_used_at: null });
    assert.ok(!JSON.stringify(list).includes(String(key)), "the secret is not listed");
  });

  test("of live belong to the live environment", async () => {
    const made = await json("keys", "create", "--environment", "live", "--scopes", "messages:send");
    assert.match(String(made["key"]), /^gw_live_/);
    assert.equal(made["environment"], "live");
    // Live has no link, a response that no key of test gets.
    assert.equal((await godwit.send(String(made["key"]))).json["code"], "no_route");
  });

  test("have the scopes of presets, also beside scopes", async () => {
    const made = await json("keys", "create", "--environment", "test", "--scopes", "send,webhooks:write");
    assert.deepEqual((made["scopes"] as string[]).toSorted(), [...SCOPE_PRESETS.send.scopes, "webhooks:write"].toSorted());
    const reading = await json("keys", "create", "--environment", "test", "--scopes", "read");
    assert.ok((reading["scopes"] as string[]).every((scope) => scope.endsWith(":read")));
  });

  test("are shown to people with a warning to copy them, and listed in a table that fits", async () => {
    const { code, stdout, stderr } = await run("keys", "create", "--environment", "test", "--scopes", "all", "--name", "narrow");
    assert.equal(code, 0, stderr);
    assert.match(stdout, /^key +gw_test_\w{40}$/m);
    assert.doesNotMatch(stdout, /revoked_at/, "fields without a value are left out");
    assert.match(stderr, /copy the key now: it is shown only once/);
    const list = await run("keys", "list");
    assert.match(list.stdout, /^key_\w+ +narrow +gw_test_\w{4}… +test +all +active/m);
    for (const line of list.stdout.split("\n")) assert.ok(line.length <= 150, line);
    assert.match((await run("keys", "list", "--wide")).stdout, /account_id/);
  });

  test("have every scope where all is named", async () => {
    const made = await json("keys", "create", "--environment", "test", "--scopes", "all");
    assert.deepEqual((made["scopes"] as string[]).toSorted(), SCOPES.toSorted());
  });

  test("are replaced by rotate with the same scopes, and both work during the overlap", async () => {
    const old = await json("keys", "create", "--environment", "test", "--scopes", "messages:read", "--name", "rotated");
    const next = await json("keys", "rotate", String(old["id"]), "--overlap", "1h");
    assert.notEqual(next["key"], old["key"]);
    assert.deepEqual([next["scopes"], next["environment"], next["name"]], [old["scopes"], "test", "rotated"]);
    assert.deepEqual([await statusOf(old["key"]), await statusOf(next["key"])], [200, 200]);

    const last = await json("keys", "rotate", String(next["id"]), "--overlap", "0s");
    await until("the old key to be refused", async () => (await statusOf(next["key"])) === 401 || undefined);
    assert.deepEqual([await statusOf(old["key"]), await statusOf(last["key"])], [200, 200]);
  });

  test("keep their expiry when they are rotated", async () => {
    const old = await json("keys", "create", "--environment", "test", "--scopes", "messages:read", "--expires-in", "90d");
    const next = await json("keys", "rotate", String(old["id"]));
    assert.equal(typeof old["expires_at"], "string");
    assert.equal(next["expires_at"], old["expires_at"]);
  });

  test("say until when they work: the old one after a rotation, a new one that inherits the end, and those of the list", async () => {
    const old = await json("keys", "create", "--environment", "test", "--scopes", "messages:read");
    const first = await run("keys", "rotate", String(old["id"]), "--overlap", "1h");
    const [, end = ""] = /^the old key works until (\S+)$/m.exec(first.stderr) ?? [];
    assert.doesNotMatch(first.stderr, /the new key works/);
    const again = await run("keys", "rotate", String(old["id"]));
    assert.match(
      again.stderr,
      new RegExp(`^the old key works until ${end}\nthe new key works until ${end}, the end that the old key had`, "m"),
    );
    const list = (await run("keys", "list")).stdout;
    assert.match(list, /^id .* expires_at/);
    assert.match(list, new RegExp(`^${String(old["id"])}.* active +${end.slice(0, "2026-11-19T22:04".length)}Z`, "m"));
  });

  test("are ended by revoke, which can be repeated, and a revoked key cannot be rotated", async () => {
    const made = await json("keys", "create", "--environment", "test", "--scopes", "messages:read");
    assert.equal(await statusOf(made["key"]), 200);
    const revoked = await json("keys", "revoke", String(made["id"]));
    assert.ok(revoked["revoked_at"]);
    await until("the key to be refused", async () => (await statusOf(made["key"])) === 401 || undefined);
    assert.equal((await json("keys", "revoke", String(made["id"])))["revoked_at"], revoked["revoked_at"]);
    const { code, stderr } = await run("keys", "rotate", String(made["id"]));
    assert.equal(code, 2);
    assert.match(stderr, /revoked/);
  });
});

describe("accounts and environments", () => {
  test("an account has a test and a live environment, each on its first tier", async () => {
    const made = await json("accounts", "create", "second house");
    assert.equal(made["name"], "second house");
    assert.ok((await json<Json[]>("accounts", "list")).some(({ id }) => id === made["id"]));
    const environments = await json<Json[]>("environments", "list");
    const own = environments.filter(({ account_id: id }) => id === made["id"]);
    assert.deepEqual(
      own.map(({ environment, tier, requests_per_second: rate, burst }) => [environment, tier, rate, burst]),
      [
        ["test", "sandbox", 25, 50],
        ["live", "standard", 200, 400],
      ],
    );

    const several = await run("keys", "create", "--environment", "test", "--scopes", "messages:read");
    assert.equal(several.code, 2);
    assert.match(several.stderr, /several accounts.*default.*second house/);
    const named = ["keys", "create", "--environment", "test", "--scopes", "messages:read", "--account"];
    const [byName, byId] = await Promise.all([json(...named, "second house"), json(...named, String(made["id"]))]);
    assert.deepEqual([byName["account_id"], byId["account_id"]], [made["id"], made["id"]]);
    await godwit.rows("delete from api_key_hashes where account_id = (select id from accounts where name = 'second house')");
    for (const table of ["api_keys", "environments"])
      await godwit.rows(`delete from ${table} where account_id = (select id from accounts where name = 'second house')`);
    await godwit.rows("delete from accounts where name = 'second house'");
  });

  test("tiers are listed, defined, redefined and set", async () => {
    const tiers = await json<Json[]>("environments", "tiers");
    assert.deepEqual(tiers.slice(0, 3), [
      { name: "sandbox", requests_per_second: 25, burst: 50 },
      { name: "standard", requests_per_second: 200, burst: 400 },
      { name: "scale", requests_per_second: 2000, burst: 4000 },
    ]);
    assert.deepEqual(tiers.at(-1), { name: "unlimited", requests_per_second: null, burst: null });
    const define = (rate: string): Promise<Json> => json("environments", "define-tier", "festival", "--rate", rate, "--burst", "9");
    await define("3");
    assert.deepEqual(await define("4"), { name: "festival", requests_per_second: 4, burst: 9 });
    await json("environments", "set-tier", "live", "festival");
    const live = (await json<Json[]>("environments", "list")).find(({ environment }) => environment === "live");
    assert.deepEqual([live?.["tier"], live?.["requests_per_second"], live?.["burst"]], ["festival", 4, 9]);
    await json("environments", "set-tier", "live", "unlimited");
  });
});

describe("help and wrong use", () => {
  test("help, and a call without a command, list the commands", async () => {
    for (const args of [["help"], []]) {
      const { code, stdout } = await run(...args);
      assert.equal(code, 0);
      for (const command of ["serve", "send", "api", "trigger", "migrate", "accounts", "environments", "keys", "doctor", "version"])
        assert.match(stdout, new RegExp(`^  ${command} `, "m"));
    }
  });

  test("the help of a command names its forms, flags and settings", async () => {
    const { code, stdout } = await run("keys", "--help");
    assert.equal(code, 0);
    for (const text of ["godwit keys rotate KEY_ID", "--expires-in", "--database-url", "DATABASE_URL", ...SCOPES])
      assert.ok(stdout.includes(text), text);
    assert.ok(!stdout.includes("GODWIT_SECRET_KEY"), "a secret is not a flag");
  });

  test("version prints the version, as text and as JSON", async () => {
    assert.equal((await run("version")).stdout.trim(), `godwit ${VERSION} (node ${process.versions.node})`);
    assert.deepEqual(await json("version"), { godwit: VERSION, node: process.versions.node });
  });

  test("help COMMAND equals COMMAND --help for each command", async () => {
    const [byWord, byFlag] = await Promise.all([run("help", "send"), run("send", "--help")]);
    assert.equal(byWord.stdout, byFlag.stdout);
    for (const part of ["Usage:", "Flags:", "Settings", "Examples:", "Exit codes:"]) assert.ok(byWord.stdout.includes(part), part);
    const none = await run("help", "snd");
    assert.equal(none.code, 2);
    assert.match(none.stderr, /there is no command snd; did you mean godwit help send\?/);
  });

  const NO_KEY = "key_01k9zs3v8mf4tb2xg1qj6n0d5c";
  const WRONG: readonly (readonly [args: string, says: RegExp])[] = [
    ["fly", /unknown command fly\ngodwit help lists all commands\.\n$/],
    ["get msg_1", /unknown command get; use godwit find ID, or godwit api GET \/v1\/messages\/ID\n/],
    ["webhook list", /unknown command webhook; use godwit api GET \/v1\/webhook_endpoints\n/],
    ["help templates", /there is no command templates; use godwit api GET \/v1\/templates\n/],
    ["keyz list", /unknown command keyz; did you mean godwit keys\?/],
    ["keys", /keys needs one of: create, list, rotate, revoke/],
    ["keys crate", /keys does not know crate; did you mean godwit keys create\?/],
    ["keys list --acount x", /there is no flag --acount; did you mean --account\?/],
    ["keys revoke key_1 --overlap 24h", /keys revoke has no flag --overlap\n/],
    ["keys list --scopes all", /keys list has no flag --scopes\n/],
    ["keys create --environment test --scopes send --overlap 1h", /keys create has no flag --overlap\n/],
    ["links --rate 5", /links has no flag --rate\n/],
    ["signing-keys list --revoke", /signing-keys list has no flag --revoke\n/],
    ["accounts create second house", /one word too many: house/],
    ["signing-keys show", /signing-keys does not know show/],
    ["keys create --environment test", /--scopes is required\. Name scopes, or a preset:\n {2}--scopes send {2}send messages/],
    ["keys create --environment prod --scopes messages:read", /must be test or live, not prod/],
    [
      "keys create --environment test --scopes messages:read,messages:fly,x",
      /unknown scope messages:fly, x; there are the presets send, app, read, all, and messages:send/,
    ],
    ["keys create --environment test --scopes messages:sned", /unknown scope messages:sned; did you mean messages:send\?; there are/],
    ["keys create --environment test --scopes messages:read --expires-in soon", /--expires-in must be a number and a unit/],
    ["keys create --environment test --scopes messages:read --account unknown", /no account unknown; there are: .*default/],
    ["keys create --environment test --scopes messages:read --color red", /--color/],
    ["keys revoke key_1", /name the key by its id/],
    [`keys revoke ${NO_KEY}`, new RegExp(`no key ${NO_KEY}`)],
    ["accounts create default", /there is already an account default/],
    ["environments set-tier live platinum", /no tier platinum; there are: .*sandbox/],
    ["environments set-tier staging sandbox", /name the environment, test or live/],
    ["environments define-tier fast --rate 0 --burst 1", /--rate must be a whole number/],
    ["serve --secret-key x", /--secret-key/],
  ];
  test("wrong use exits with 2, names the fault, and shows the usage", async () => {
    // A few at a time, because each is a process.
    for (let at = 0; at < WRONG.length; at += 4) {
      await Promise.all(
        WRONG.slice(at, at + 4).map(async ([args, says]) => {
          const { code, stdout, stderr } = await run(...args.split(" "));
          assert.equal(code, 2, args);
          assert.match(stderr, says, args);
          assert.match(stderr, /Usage:|Run the service:|godwit help lists all commands/, args);
          assert.equal(stdout, "", args);
        }),
      );
    }
  });
});
