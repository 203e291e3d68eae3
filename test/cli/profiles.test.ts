/** `godwit login` and `godwit profiles`: stored URLs and keys, and what takes precedence over them. */
import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, afterEach, before, beforeEach, describe, test } from "node:test";
import { readClientConfig } from "../../src/cli/client-config.ts";
import { writeProfiles } from "../../src/cli/profile-store.ts";
import { runGodwit, startGodwit, type Godwit } from "../support/harness.ts";

let godwit: Godwit;
let key: string;
let folder: string;
before(async () => {
  godwit = await startGodwit();
  key = await godwit.key();
});
after(() => godwit.stop());
beforeEach(() => (folder = mkdtempSync(join(tmpdir(), "godwit-profiles-"))));
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const run = (args: readonly string[], env: Record<string, string> = {}, stdin = ""): ReturnType<typeof runGodwit> =>
  runGodwit(args, { XDG_CONFIG_HOME: folder, ...env }, stdin);
const file = (): string => join(folder, "godwit", "profiles.json");

describe("login", () => {
  test("checks the key, stores it for this user only, and commands use it", async () => {
    const { code, stdout, stderr } = await run(["login", "--url", godwit.url], {}, `${key}\n`);
    assert.equal(code, 0, stderr);
    assert.match(stdout, /^profile +default$/m);
    assert.match(stdout, /^environment +test$/m);
    assert.ok(!`${stdout}${stderr}`.includes(key), "the key is not shown");
    assert.equal(statSync(file()).mode & 0o777, 0o600);
    assert.equal(statSync(join(folder, "godwit")).mode & 0o077, 0);
    assert.equal((await run(["messages", "list", "--json"])).stdout, "[]\n");
  });

  test("stores nothing where the service refuses the key or is not reached", async () => {
    const wrong = key.replace(/.{4}$/, "0000");
    const refused = await run(["login", "--url", godwit.url], {}, wrong);
    assert.equal(refused.code, 1);
    assert.match(refused.stderr, /nothing was stored: 401 unauthorized_invalid_token[^]*copied completely/);
    const away = await run(["login", "--url", "http://127.0.0.1:9"], { GODWIT_KEY: key });
    assert.equal(away.code, 1);
    assert.match(away.stderr, /nothing was stored: /);
    assert.ok(!existsSync(file()));
  });

  test("recognises a key that is too short without asking the service", async () => {
    const { code, stderr } = await run(["login", "--url", "http://127.0.0.1:9"], { GODWIT_KEY: key.slice(0, -1) });
    assert.equal(code, 2);
    assert.match(stderr, /is mistyped or incomplete/);
  });
});

test("profiles are listed without their keys, selected and removed", async () => {
  for (const name of ["one", "two"]) assert.equal((await run(["login", name], { GODWIT_URL: godwit.url, GODWIT_KEY: key })).code, 0);
  const listed = await run(["profiles", "list", "--json"]);
  assert.ok(!listed.stdout.includes(key));
  const hint = `${key.slice(0, 12)}…`;
  assert.deepEqual(JSON.parse(listed.stdout), [
    { name: "one", current: false, url: godwit.url, key: hint },
    { name: "two", current: true, url: godwit.url, key: hint },
  ]);
  assert.equal((await run(["profiles", "use", "one"])).code, 0);
  assert.equal((await run(["profiles", "remove", "one"])).code, 0);
  assert.deepEqual(Object.keys((JSON.parse(readFileSync(file(), "utf8")) as { profiles: object }).profiles), ["two"]);
  const unknown = await run(["profiles", "use", "three"]);
  assert.equal(unknown.code, 2);
  assert.match(unknown.stderr, /there is no profile three; godwit login three adds it/);
  const none = await run(["messages", "list"]);
  assert.equal(none.code, 2);
  assert.match(none.stderr, /GODWIT_KEY: is needed: set it, or store it with: godwit login/);
});

test("a damaged file is reported with its path", async () => {
  await run(["login", "--url", godwit.url], {}, key);
  writeFileSync(file(), "{");
  const { code, stderr } = await run(["messages", "list"]);
  assert.equal(code, 2);
  assert.match(stderr, /profiles\.json is not a file of profiles/);
});

describe("precedence", () => {
  const keyOf = (letter: string): string => `gw_test_${letter.repeat(40)}`;
  const [A, B, C, D] = ["a", "b", "c", "d"].map(keyOf) as [string, string, string, string];
  const at = (name: string): string => `http://${name}.example`;
  const read = (flags: Record<string, string>, env: Record<string, string> = {}): string => {
    const { url, key: used } = readClientConfig(flags, { XDG_CONFIG_HOME: folder, ...env });
    return `${new URL(url).hostname} ${used[8]}`;
  };
  beforeEach(() =>
    writeProfiles(
      { XDG_CONFIG_HOME: folder },
      { current: "one", profiles: { one: { url: at("one"), key: A }, two: { url: at("two"), key: B } } },
    ),
  );

  test("the current profile is used without flags and variables", () => assert.equal(read({}), "one.example a"));
  test("GODWIT_PROFILE takes precedence over the current profile", () =>
    assert.equal(read({}, { GODWIT_PROFILE: "two" }), "two.example b"));
  test("a key in the environment takes precedence, and is not sent to the URL of a profile", () =>
    assert.equal(read({}, { GODWIT_KEY: C, GODWIT_PROFILE: "two" }), "127.0.0.1 c"));
  test("--profile takes precedence over the environment", () =>
    assert.equal(read({ profile: "two" }, { GODWIT_KEY: C, GODWIT_URL: at("env") }), "two.example b"));
  test("--url and --key take precedence over everything", () =>
    assert.equal(read({ url: at("flag"), key: D, profile: "two" }, { GODWIT_KEY: C }), "flag.example d"));
  test("the key of a profile is not sent to another URL of the environment", () =>
    assert.throws(() => read({}, { GODWIT_URL: at("env") }), /is not the URL of the current profile/));
  test("an unknown profile is reported with the known ones", () =>
    assert.throws(() => read({ profile: "three" }), /there is no profile three; stored profiles: one, two/));
});
