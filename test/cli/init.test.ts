/** `godwit init` and `godwit config check`: every written file is accepted, and every fault of a file is reported. */
import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { after, before, describe, test } from "node:test";
import { starterFile } from "../../src/cli/starter-file.ts";
import { routeRows, senderRows, STARTER_NAMES, starterOf } from "../../src/cli/starter-links.ts";
import { inspectConfig } from "../../src/config.ts";
import { LINK_KINDS } from "../../src/links/link-settings.ts";
import { SETTINGS } from "../../src/settings.ts";
import { runGodwit, SECRET_KEY } from "../support/harness.ts";

const ROOT = join(import.meta.dirname, "..", "..");

let folder: string;
before(() => {
  folder = mkdtempSync(join(tmpdir(), "godwit-init-"));
});
after(() => rmSync(folder, { recursive: true, force: true }));

let files = 0;
const newPath = (): string => join(folder, `file-${(files += 1)}.toml`);
function write(text: string): string {
  const path = newPath();
  writeFileSync(path, text);
  return path;
}

// 32 bytes in base64, so that it can be any secret, also a public key of Ed25519.
const secretsOf = (variables: readonly string[]): Record<string, string> => Object.fromEntries(variables.map((name) => [name, SECRET_KEY]));

const faultsOf = (text: string, variables: readonly string[]): readonly string[] =>
  inspectConfig({ config: write(text) }, "serve", { ...secretsOf(variables), GODWIT_SECRET_KEY: SECRET_KEY }).faults;

/** Replaces the placeholders of the SMPP and Twilio links. */
const withoutPlaceholders = (text: string): string =>
  text
    .replace('"smpp.carrier.example"', '"smpp.acme.example"')
    .replace('"your-system-id"', '"acme"')
    .replace("AC00000000000000000000000000000000", "AC1")
    .replaceAll("000000000000000", "1")
    .replaceAll("https://godwit.example.com", "https://messages.acme.example")
    .replaceAll(/^number = ".*"/gm, 'number = "+14155550199"');

describe("init", () => {
  test("writes a file that config check accepts once its variables and placeholders are set", async () => {
    const path = newPath();
    const written = await runGodwit(["init", path, "--carrier", "smpp"], {});
    assert.deepEqual([written.code, written.stdout], [0, ""], written.stderr);
    assert.match(written.stderr, /set: SMPP_PASSWORD\nCheck it: {2}godwit config check/);
    const byNpx = await runGodwit(["init", newPath()], { npm_lifecycle_event: "npx" });
    assert.match(byNpx.stderr, /^Check it: {2}npx godwit config check .*\nStart it: {2}npx godwit serve/m);
    const without = await runGodwit(["config", "check", path], {});
    assert.equal(without.code, 1);
    assert.match(without.stdout, /the variable SMPP_PASSWORD is not set/);
    const untouched = await runGodwit(["config", "check", path], { SMPP_PASSWORD: "x" });
    assert.equal(untouched.code, 1);
    assert.match(untouched.stdout, /3 faults$/m);
    assert.match(untouched.stdout, /link smpp: host: is still the placeholder smpp\.carrier\.example; replace it/);
    assert.match(untouched.stdout, /link smpp: system_id: is still the placeholder your-system-id; /);
    assert.match(untouched.stdout, /sender 1: number: is still the placeholder \+14155550100; /);
    writeFileSync(path, withoutPlaceholders(readFileSync(path, "utf8")));
    const { code, stdout } = await runGodwit(["config", "check", path], { SMPP_PASSWORD: "x" });
    assert.equal(code, 0, stdout);
  });

  for (const carrier of STARTER_NAMES)
    test(`names the variables of ${carrier}, and needs no others`, () => {
      const { text, variables } = starterFile("godwit.toml", [carrier]);
      assert.ok(variables.length > 0);
      for (const variable of variables) assert.ok(text.includes(`#   ${variable}: `), variable);
      const named = faultsOf(text, []).map((fault) => / the variable (\w+) is not set$/.exec(fault)?.[1] ?? fault);
      assert.deepEqual(new Set(named), new Set(variables));
      assert.deepEqual(faultsOf(text, variables), []);
    });

  test("has a carrier for each carrier file of the package", () => {
    const shipped = readdirSync(join(ROOT, "packaging", "carriers")).map((file) => basename(file, ".toml"));
    assert.deepEqual(STARTER_NAMES.toSorted(), ["smpp", "twilio", "whatsapp", ...shipped].toSorted());
  });

  test("writes one route for the links of a channel", () => {
    const { text, variables } = starterFile("godwit.toml", STARTER_NAMES);
    assert.deepEqual(faultsOf(text, variables), []);
    assert.equal(text.match(/^\[\[route\]\]$/gm)?.length, 2);
  });

  test("without a carrier writes a file that serve accepts as it is", async () => {
    const path = newPath();
    assert.equal((await runGodwit(["init", path], {})).code, 0);
    assert.equal((await runGodwit(["config", "check", path], {})).code, 0);
  });

  test("adds a carrier to an existing file with --append", async () => {
    const path = write("port = 8081\n");
    const added = await runGodwit(["init", path, "--append", "--carrier", "twilio"], {});
    assert.equal(added.code, 0, added.stderr);
    const { text, variables } = { text: readFileSync(path, "utf8"), variables: starterOf("twilio").variables };
    assert.ok(text.startsWith("port = 8081\n\n# A link to a carrier: Twilio.\n"));
    assert.deepEqual(faultsOf(text, variables), []);
    const missing = newPath();
    for (const args of [
      ["init", path, "--append"],
      ["init", path, "--append", "--carrier", "twilio"],
      ["init", missing, "--append", "--carrier", "twilio"],
    ])
      assert.equal((await runGodwit(args, {})).code, 2);
    assert.ok(!existsSync(missing));
  });

  test("prints the same file with --stdout, and writes nothing", async () => {
    const path = newPath();
    const { code, stdout } = await runGodwit(["init", path, "--stdout", "--carrier", "smpp"], {});
    assert.deepEqual([code, stdout], [0, starterFile(path, ["smpp"]).text]);
    assert.ok(!existsSync(path));
  });

  test("does not overwrite a file, and reports a folder that is missing", async () => {
    const path = write("port = 1\n");
    const refused = await runGodwit(["init", path], {});
    assert.equal(refused.code, 2);
    assert.match(refused.stderr, /exists; name another file/);
    assert.equal(readFileSync(path, "utf8"), "port = 1\n");
    const missing = await runGodwit(["init", join(folder, "missing", "godwit.toml")], {});
    assert.equal(missing.code, 2);
    assert.match(missing.stderr, /there is no folder \S+missing/);
  });

  test("refuses an unknown carrier, and lists the known ones", async () => {
    const { code, stderr } = await runGodwit(["init", newPath(), "--carrier", "telnix"], {});
    assert.equal(code, 2);
    assert.match(stderr, /there is no carrier telnix; the carriers are smpp, twilio, whatsapp, aws/);
  });
});

describe("the written file", () => {
  test("has every setting that a file may have", () => {
    const { text } = starterFile("godwit.toml", []);
    const settings = text.slice(0, text.indexOf("#[allowed_countries]"));
    const written = Array.from(settings.matchAll(/^#(\w+) = /gm), ([, name]) => name);
    const known = Object.values<{ flag: string; isSecret?: true }>(SETTINGS).filter(({ flag, isSecret }) => flag !== "config" && !isSecret);
    assert.deepEqual(
      written,
      known.map(({ flag }) => flag.replaceAll("-", "_")),
    );
  });

  // The definition of a carrier is in its carrier file.
  const IN_CARRIER_FILE = new Set(["request", "response", "poll", "callbacks", "receipts", "inbound", "errors"]);
  const members = (schema: unknown): string[] => Object.keys((schema as { properties: object }).properties);

  for (const carrier of STARTER_NAMES)
    test(`has every setting of a link to ${carrier}, each once and with an explanation`, () => {
      const { set, optional } = starterOf(carrier);
      const names = [...set, ...optional].map(([name]) => name);
      assert.equal(new Set(names).size, names.length);
      const provider = set.find(([name]) => name === "provider")?.[1].replaceAll('"', "") as keyof typeof LINK_KINDS;
      const expected = members(LINK_KINDS[provider].schema).filter((name) => provider !== "http" || !IN_CARRIER_FILE.has(name));
      const hasOwn = new Set([...names, "carrier", "public_url", "values"]);
      assert.deepEqual(
        expected.filter((name) => !hasOwn.has(name)),
        [],
      );
      for (const [name, , help] of [...set, ...optional]) assert.match(help, /^\S.{10,}\.$/, name);
    });

  test("has every setting of senders and routes", () => {
    const { set, optional } = senderRows("smpp");
    const sender = [...set, ...optional].map(([name]) => name);
    assert.deepEqual(sender.toSorted(), ["account", "countries", "environment", "link", "number", "pool", "preference", "rate"]);
    const route = routeRows("sms", ["smpp"]);
    const names = [...route.set, ...route.optional].map(([name]) => name);
    assert.deepEqual(names.toSorted(), [
      "account",
      "channel",
      "countries",
      "environment",
      "links",
      "prefixes",
      "priority",
      "strategy",
      "weights",
    ]);
  });

  // These need another setting, or a real file.
  const NOT_BY_ITSELF = /^#(hosts|read_url|tls_ca|tls_cert|tls_key|tls_key_env) = /m;

  for (const carrier of STARTER_NAMES)
    test(`accepts every optional setting of ${carrier} when its # is removed`, () => {
      const { text, variables } = starterFile("godwit.toml", [carrier]);
      const paragraphs = text.split("\n\n");
      const optional = paragraphs.filter((paragraph) => /^#[a-z[]/m.test(paragraph) && !NOT_BY_ITSELF.test(paragraph));
      assert.ok(optional.length > 40);
      for (const paragraph of optional) {
        const changed = paragraphs.map((each) => (each === paragraph ? each.replaceAll(/^#(?=[a-z[])/gm, "") : each)).join("\n\n");
        assert.deepEqual(faultsOf(changed, variables), [], paragraph);
      }
    });
});

describe("config check", () => {
  const FAULTY = `port = 99999

[[link]]
name = "acme"
provider = "smpp"
host = "smpp.acme.example"
port = 2775
system_id = "godwit"
password_env = "ACME_PASSWORD"

[[route]]
channel = "sms"
links = ["other"]
`;

  test("prints every fault of the file and exits with 1", async () => {
    const path = write(FAULTY);
    const { code, stdout, stderr } = await runGodwit(["config", "check", path], {});
    assert.deepEqual([code, stderr], [1, ""]);
    assert.ok(stdout.startsWith(`${path}: 4 faults\n`), stdout);
    for (const fault of [/port in the configuration file: must be a port/, /ACME_PASSWORD is not set/, /tls: is off/, /no link other/])
      assert.match(stdout, fault);
  });

  test("names the line of a fault in the syntax", async () => {
    const { code, stdout } = await runGodwit(["config", "check", write("port = 8080\n\n[[link]\nname = 1\n")], {});
    assert.equal(code, 1);
    assert.match(stdout, /: line 3, column \d+: is not valid TOML: /);
  });

  test("reads the file of GODWIT_CONFIG, and the faults of variables", async () => {
    const path = write("port = 8080\n");
    const { code, stdout } = await runGodwit(["config", "check", "--json"], { GODWIT_CONFIG: path, GODWIT_LOG: "loud" });
    assert.equal(code, 1);
    const { file, faults } = JSON.parse(stdout) as { file: string; faults: string[] };
    assert.deepEqual([file, faults.length], [path, 1]);
    assert.match(faults[0] ?? "", /^GODWIT_LOG: must be json/);
  });

  test("refuses what serve refuses: an open address without TLS, and a database without a secret key", async () => {
    const path = write('host = "0.0.0.0"\n');
    const { code, stdout } = await runGodwit(["config", "check", path], { DATABASE_URL: "postgres://127.0.0.1/none" });
    assert.equal(code, 1);
    assert.match(stdout, /GODWIT_HOST: 0\.0\.0\.0 is not a loopback address/);
    assert.match(stdout, /GODWIT_SECRET_KEY: is needed with DATABASE_URL/);
  });

  test("needs a file, and reports one that is missing", async () => {
    const none = await runGodwit(["config", "check"], {});
    assert.equal(none.code, 2);
    assert.match(none.stderr, /name a file, or set GODWIT_CONFIG/);
    const missing = await runGodwit(["config", "check", "/missing.toml"], {});
    assert.equal(missing.code, 1);
    assert.match(missing.stdout, /there is no such file/);
  });

  test("reports the placeholders in the values of a carrier", async () => {
    const { text, variables } = starterFile("godwit.toml", ["bandwidth"]);
    const { code, stdout } = await runGodwit(["config", "check", write(text)], secretsOf(variables));
    assert.equal(code, 1);
    assert.match(stdout, /link bandwidth: values: account_id: is still the placeholder your-account-id; /);
  });

  test("shows links, senders and routes, and no secret", async () => {
    const { text, variables } = starterFile("godwit.toml", ["twilio", "whatsapp"]);
    const { code, stdout } = await runGodwit(["config", "check", write(withoutPlaceholders(text))], secretsOf(variables));
    assert.equal(code, 0, stdout);
    assert.match(stdout, /^links$[^]*^twilio +twilio +sms .*\/providers\/twilio\/twilio$/m);
    assert.match(stdout, /^senders$[^]*^\+14155550199 +twilio +default +live/m);
    assert.match(stdout, /^routes$[^]*^whatsapp +whatsapp/m);
    assert.ok(!stdout.includes(SECRET_KEY));
  });
});
