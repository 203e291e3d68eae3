import { availableParallelism } from "node:os";
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { after, describe, test } from "node:test";
import { ConfigError, readConfig, type Config, type EnvironmentVariables, type Flags } from "./config.ts";
import { SETTINGS } from "./settings.ts";
import { selfSigned } from "../test/support/certificate.ts";

const folder = mkdtempSync(join(tmpdir(), "godwit-config-"));
after(() => rmSync(folder, { recursive: true }));

let files = 0;
function write(text: string): string {
  files += 1;
  const path = join(folder, `file${files}`);
  writeFileSync(path, text, { mode: 0o600 });
  return path;
}

const serve = (env: EnvironmentVariables, flags: Flags = {}): Config => readConfig(flags, "serve", env);

function faultsOf(env: EnvironmentVariables, flags: Flags = {}): readonly string[] {
  try {
    serve(env, flags);
  } catch (error) {
    assert.ok(error instanceof ConfigError);
    return error.faults;
  }
  return [];
}

/** One fault for each pattern, in any order. */
function assertFaults(faults: readonly string[], patterns: readonly RegExp[]): void {
  assert.equal(faults.length, patterns.length, faults.join("\n"));
  for (const pattern of patterns)
    assert.ok(
      faults.some((fault) => pattern.test(fault)),
      `${pattern} in ${faults.join("\n")}`,
    );
}

test("without any setting the defaults hold", () => {
  const { metricsAllow, webhookAddresses, log, ...rest } = serve({});
  assert.deepEqual(rest, {
    host: "127.0.0.1",
    port: 8080,
    dataDir: resolve("data"),
    archive: undefined,
    archiveDays: 7,
    databaseUrl: undefined,
    readUrl: undefined,
    readMaxLagMs: 10_000,
    isDatabasePlaintextAllowed: false,
    isMigrating: true,
    tls: undefined,
    trustedProxies: [],
    twilioHost: undefined,
    logLevel: "info",
    logSample: 1,
    maxConnections: 10_000,
    maxConnectionsPerPeer: 500,
    mediaBucket: undefined,
    mediaQuotaBytes: 5_000_000_000,
    mediaRetentionDays: 30,
    secretKey: undefined,
    previousSecretKey: undefined,
    roles: new Set(["api", "dispatch", "webhooks"]),
    workers: Math.min(4, Math.max(1, availableParallelism() - 1)),
    drainMs: 0,
    simulatorSpeed: 1,
    // Three days.
    receiptWaitMs: 259_200_000,
    retentionDays: 90,
    auditRetentionDays: 400,
    plan: { links: [], senders: [], routes: [], allowedCountries: {} },
    consent: [],
    tracing: undefined,
    verificationLimits: { cooldownSeconds: 30, perRecipientHour: 5, perPrefixHour: 100 },
    unknownVariables: [],
  });
  assert.equal(metricsAllow.isEmpty, true);
  assert.deepEqual([webhookAddresses.allow.isEmpty, webhookAddresses.deny.isEmpty], [true, true]);
  assert.equal(log, process.stdout.isTTY ? "pretty" : "json");
});

test("a variable that is no setting is reported, with the setting that is near, unless an orchestrator sets it for a service", () => {
  const file = write(
    `[[link]]\nname = "acme"\nprovider = "smpp"\nhost = "127.0.0.1"\nport = 1\nsystem_id = "x"\npassword_env = "GODWIT_ACME"\nallow_plaintext = true\n`,
  );
  const { unknownVariables } = serve({
    GODWIT_PROT: "1",
    GODWIT_LOG_LEVLE: "",
    GODWIT_PORT_FILE: "x",
    GODWIT_COLOR_OF_THE_SEA: "blue",
    GODWIT_CONFIG: file,
    GODWIT_ACME: "secret",
    GODWIT_KEY: "gw_test_x",
    GODWIT_SERVICE_HOST: "10.0.0.1",
    GODWIT_SERVICE_PORT_HTTP: "8080",
    GODWIT_PORT_8080_TCP: "tcp://10.0.0.1:8080",
    GODWIT_PORT_8080_TCP_ADDR: "10.0.0.1",
    GODWIT_METRICS_PORT: "tcp://10.0.0.2:9090",
    GODWIT_METRICS_SERVICE_PORT: "9090",
  });
  assert.deepEqual(unknownVariables, [
    { name: "GODWIT_PROT", hint: "; did you mean GODWIT_PORT?" },
    { name: "GODWIT_PORT_FILE", hint: "" },
    { name: "GODWIT_COLOR_OF_THE_SEA", hint: "" },
  ]);
});

test("a secret may be named with _FILE", () => {
  const path = write(Buffer.alloc(32, 7).toString("base64"));
  assert.deepEqual(serve({ GODWIT_SECRET_KEY_FILE: path }).unknownVariables, []);
});

test("an empty variable is no setting", () => {
  const env = Object.fromEntries(Object.values(SETTINGS).map(({ env: name }) => [name, " "]));
  assert.deepEqual({ ...serve(env), metricsAllow: 0, webhookAddresses: 0 }, { ...serve({}), metricsAllow: 0, webhookAddresses: 0 });
});

const file = write('port = 1001\nlog = "pretty"\nreceipt_wait = 11\n');
const PORTS: readonly (readonly [what: string, env: EnvironmentVariables, flags: Flags, port: number])[] = [
  ["the default without any", {}, {}, 8080],
  ["the file over the default", { GODWIT_CONFIG: file }, {}, 1001],
  ["the environment over the file", { GODWIT_CONFIG: file, GODWIT_PORT: "1002" }, {}, 1002],
  ["the flag over the environment and the file", { GODWIT_CONFIG: file, GODWIT_PORT: "1002" }, { port: "1003" }, 1003],
  ["the flag's file over the environment's", { GODWIT_CONFIG: "/nowhere" }, { config: file }, 1001],
];

for (const [what, env, flags, port] of PORTS) {
  test(`precedence: ${what}`, () => assert.equal(serve(env, flags).port, port));
}

test("settings from different places combine", () => {
  const { port, log, receiptWaitMs } = serve({ GODWIT_CONFIG: file, GODWIT_LOG: "silent" }, { port: "0" });
  assert.deepEqual({ port, log, receiptWaitMs }, { port: 0, log: "silent", receiptWaitMs: 11_000 });
});

test("a list in the file is a list of addresses", () => {
  const path = write('trusted_proxies = ["10.0.0.0/8", "fd00::1"]\nmetrics_allow = "10.0.0.7"');
  const { trustedProxies, metricsAllow } = serve({ GODWIT_CONFIG: path });
  assert.deepEqual(trustedProxies, ["10.0.0.0/8", "fd00::1/128"]);
  assert.deepEqual([metricsAllow.has("10.0.0.7"), metricsAllow.has("10.0.0.8")], [true, false]);
});

const ROLES: readonly (readonly [what: string, env: EnvironmentVariables, roles: readonly string[]])[] = [
  ["one", { GODWIT_ROLES: "dispatch" }, ["dispatch"]],
  ["both, with spaces", { GODWIT_ROLES: " api , dispatch " }, ["api", "dispatch"]],
  ["the same twice", { GODWIT_ROLES: "api,api" }, ["api"]],
  ["a list in the file", { GODWIT_CONFIG: write('roles = ["api"]') }, ["api"]],
];

for (const [what, env, roles] of ROLES) test(`roles: ${what}`, () => assert.deepEqual(serve(env).roles, new Set(roles)));

const NUMBERS: readonly (readonly [env: EnvironmentVariables, read: (config: Config) => number, value: number])[] = [
  [{ GODWIT_SIMULATOR_SPEED: "1" }, ({ simulatorSpeed }) => simulatorSpeed, 1],
  [{ GODWIT_SIMULATOR_SPEED: "1000000" }, ({ simulatorSpeed }) => simulatorSpeed, 1_000_000],
  [{ GODWIT_MAX_CONNECTIONS: "1" }, ({ maxConnections }) => maxConnections, 1],
  [{ GODWIT_MAX_CONNECTIONS_PER_PEER: "1000000" }, ({ maxConnectionsPerPeer }) => maxConnectionsPerPeer, 1_000_000],
  [{ GODWIT_RECEIPT_WAIT: "1" }, ({ receiptWaitMs }) => receiptWaitMs, 1_000],
  [{ GODWIT_RECEIPT_WAIT: "604800" }, ({ receiptWaitMs }) => receiptWaitMs, 604_800_000],
  [{ GODWIT_RETENTION_DAYS: "40" }, ({ retentionDays }) => retentionDays, 40],
  [{ GODWIT_AUDIT_RETENTION_DAYS: "40" }, ({ auditRetentionDays }) => auditRetentionDays, 40],
  [{ GODWIT_RETENTION_DAYS: "3650" }, ({ retentionDays }) => retentionDays, 3_650],
];

for (const [env, read, value] of NUMBERS) test(`at its limit: ${JSON.stringify(env)}`, () => assert.equal(read(serve(env)), value));

const BAD: readonly (readonly [what: string, env: EnvironmentVariables, faults: readonly RegExp[]])[] = [
  ["a port beyond all ports", { GODWIT_PORT: "65536" }, [/^GODWIT_PORT: .*0 to 65535, not "65536"/]],
  ["a port below zero", { GODWIT_PORT: "-1" }, [/^GODWIT_PORT:/]],
  ["a port that is no number", { GODWIT_PORT: "http" }, [/^GODWIT_PORT:/]],
  ["half a port", { GODWIT_PORT: "80.5" }, [/^GODWIT_PORT:/]],
  ["a setting of an earlier release", { GODWIT_REQUEST_TIMEOUT: "60" }, [/^GODWIT_REQUEST_TIMEOUT: is no longer a setting: .*30 seconds/]],
  [
    "two settings of an earlier release",
    { GODWIT_ANONYMOUS_BODIES: "16", GODWIT_TENANT_BODIES: "64" },
    [/^GODWIT_ANONYMOUS_BODIES: is no longer a setting: .*16 MiB/, /^GODWIT_TENANT_BODIES: is no longer a setting: .*32 MiB/],
  ],
  ["an unknown role", { GODWIT_ROLES: "api,webmaster" }, [/^GODWIT_ROLES: "webmaster" is not a role; known are api, dispatch, webhooks$/]],
  ["a role in capitals", { GODWIT_ROLES: "API" }, [/^GODWIT_ROLES: "API" is not a role/]],
  ["two unknown roles", { GODWIT_ROLES: "cook,api,waiter" }, [/"cook" is not/, /"waiter" is not/]],
  ["a comma and no role after it", { GODWIT_ROLES: "api," }, [/^GODWIT_ROLES: "" is not a role/]],
  ["an empty list of roles in the file", { GODWIT_CONFIG: write("roles = []") }, [/^roles in the configuration file: "" is not a role/]],
  [
    "a carrier that stands still",
    { GODWIT_SIMULATOR_SPEED: "0" },
    [/^GODWIT_SIMULATOR_SPEED: must be a factor from 1 to 1000000, not "0"/],
  ],
  ["a carrier at half its speed", { GODWIT_SIMULATOR_SPEED: "0.5" }, [/^GODWIT_SIMULATOR_SPEED:/]],
  ["a carrier beyond all speed", { GODWIT_SIMULATOR_SPEED: "1000001" }, [/^GODWIT_SIMULATOR_SPEED:/]],
  [
    "more workers than the embedded database has connections for",
    { GODWIT_WORKERS: "10" },
    [/^GODWIT_WORKERS: must be auto or a number of processes from 1 to 9, not "10"/],
  ],
  ["no time for receipts", { GODWIT_RECEIPT_WAIT: "0" }, [/^GODWIT_RECEIPT_WAIT: must be a number of seconds from 1 to 604800, not "0"/]],
  ["more than a week for receipts", { GODWIT_RECEIPT_WAIT: "604801" }, [/^GODWIT_RECEIPT_WAIT:/]],
  ["a time for receipts with its unit", { GODWIT_RECEIPT_WAIT: "72h" }, [/^GODWIT_RECEIPT_WAIT:/]],
  [
    "a retention shorter than messages are under way",
    { GODWIT_RETENTION_DAYS: "39" },
    [/^GODWIT_RETENTION_DAYS: must be a number of days from 40 to 3650, not "39"/],
  ],
  ["a retention of more than ten years", { GODWIT_RETENTION_DAYS: "3651" }, [/^GODWIT_RETENTION_DAYS:/]],
  ["another style of log", { GODWIT_LOG: "xml" }, [/^GODWIT_LOG: must be json, pretty or silent, not "xml"/]],
  ["a proxy by name", { GODWIT_TRUSTED_PROXIES: "proxy" }, [/^GODWIT_TRUSTED_PROXIES: "proxy" is not an address/]],
  ["two bad blocks of addresses", { GODWIT_METRICS_ALLOW: "a,10.0.0.1,b" }, [/"a" is not/, /"b" is not/]],
  [
    "another database",
    { DATABASE_URL: "mysql://x", GODWIT_SECRET_KEY: Buffer.alloc(32).toString("base64") },
    [/^DATABASE_URL: must begin with/],
  ],
  ["a certificate without a private key", { GODWIT_TLS_CERT: "x" }, [/^GODWIT_TLS_KEY: is needed with GODWIT_TLS_CERT/]],
  ["a private key without a certificate", { GODWIT_TLS_KEY: "x" }, [/^GODWIT_TLS_CERT: is needed with GODWIT_TLS_KEY/]],
  [
    "a certificate that is not there",
    { GODWIT_TLS_CERT: "/nowhere", GODWIT_TLS_KEY: "/nowhere" },
    [/^GODWIT_TLS_CERT, GODWIT_TLS_KEY: there is no file/],
  ],
  ["a file that is not there", { GODWIT_CONFIG: "/nowhere" }, [/^GODWIT_CONFIG: \/nowhere: there is no such file$/]],
  [
    "a file that is not TOML",
    { GODWIT_CONFIG: write("# first\nport = = 1") },
    [/^GODWIT_CONFIG: .*: line 2, column 8: is not valid TOML: invalid value$/],
  ],
  ["a file that is a folder", { GODWIT_CONFIG: "/" }, [/^GODWIT_CONFIG: \/: is a folder and not a file$/]],
  ["an unknown key in the file", { GODWIT_CONFIG: write("prot = 1") }, [/prot: is not a setting; did you mean port\?$/]],
  ["the secret key in the file", { GODWIT_CONFIG: write('secret_key = "x"') }, [/secret_key: is not a setting/]],
  ["a file that names a file", { GODWIT_CONFIG: write('config = "x"') }, [/config: is not a setting/]],
  ["a value of no known kind in the file", { GODWIT_CONFIG: write("port = true") }, [/port: must be a string, a number or a list/]],
  [
    "a bad value in the file, reported with its key",
    { GODWIT_CONFIG: write("receipt_wait = 0") },
    [/^receipt_wait in the configuration file: must be/],
  ],
];

for (const [what, env, faults] of BAD) test(`${what} is a fault`, () => assertFaults(faultsOf(env), faults));

test("a fault in a flag names the flag", () => assertFaults(faultsOf({}, { port: "x" }), [/^--port: /]));

test("all faults are reported at once", () => {
  const env = { GODWIT_PORT: "x", GODWIT_LOG: "x", GODWIT_HOST: "0.0.0.0", DATABASE_URL: "x", GODWIT_CONFIG: write("a = 1\nb = 2") };
  assertFaults(faultsOf(env), [/GODWIT_PORT/, /GODWIT_LOG/, /GODWIT_HOST/, /^DATABASE_URL/, /GODWIT_SECRET_KEY/, / a: /, / b: /]);
  assert.throws(() => serve(env), /the configuration has 7 faults:\n {2}- /);
});

for (const host of ["0.0.0.0", "::", "10.0.0.1", "godwit.example.com"]) {
  test(`${host} in clear text is refused, with what to do`, () => {
    assertFaults(faultsOf({ GODWIT_HOST: host }), [
      /^GODWIT_HOST: .*in clear text; set GODWIT_TLS_CERT and GODWIT_TLS_KEY, or GODWIT_TRUSTED_PROXIES/,
    ]);
  });
}

for (const host of ["127.0.0.1", "127.0.0.53", "::1", "localhost"]) {
  test(`${host} needs no TLS`, () => assert.equal(serve({ GODWIT_HOST: host }).host, host));
}

test("any address will do behind a declared proxy", () => {
  const { trustedProxies } = serve({ GODWIT_HOST: "0.0.0.0", GODWIT_TRUSTED_PROXIES: "10.0.0.0/8, 192.0.2.1" });
  assert.deepEqual(trustedProxies, ["10.0.0.0/8", "192.0.2.1/32"]);
});

test("any address will do with TLS", () => {
  const { certPath, keyPath } = selfSignedFiles();
  const { tls } = serve({ GODWIT_HOST: "0.0.0.0", GODWIT_TLS_CERT: certPath, GODWIT_TLS_KEY: keyPath });
  assert.deepEqual(tls, { certPath, keyPath });
});

test("a certificate of another key is a fault", () => {
  const env = { GODWIT_TLS_CERT: selfSignedFiles().certPath, GODWIT_TLS_KEY: selfSignedFiles().keyPath };
  assertFaults(faultsOf(env), [/^GODWIT_TLS_CERT, GODWIT_TLS_KEY: the key .* does not belong to the certificate/]);
});

test("a command that does not listen may have any address and no secret key", () => {
  const config = readConfig({}, "database", { GODWIT_HOST: "0.0.0.0", DATABASE_URL: "postgres://x/y" });
  assert.equal(config.databaseUrl, "postgres://x/y");
});

const LINK = `
[[link]]
name = "acme"
provider = "smpp"
host = "smpp.acme.example"
port = 2776
tls = true
system_id = "godwit"
password_env = "ACME_PASSWORD"
rate = 50
`;

test("the file has links, senders, routes and countries beside the settings, and the secrets are in the environment", () => {
  const path = write(`port = 1001
${LINK}
[[sender]]
number = "+14155550100"
link = "acme"
account = "default"
environment = "live"

[[route]]
channel = "sms"
countries = ["US"]
links = ["acme"]

[allowed_countries]
live = ["US", "CA"]
`);
  const { port, plan } = serve({ GODWIT_CONFIG: path, ACME_PASSWORD: " hunter2 " });
  assert.equal(port, 1001);
  const [link, ...more] = plan.links;
  assert.ok(link !== undefined);
  assert.deepEqual([link.name, link.provider, more.length], ["acme", "smpp", 0]);
  const { host, password, partsPerSecond } = link.settings as Record<string, unknown>;
  assert.deepEqual([host, password, partsPerSecond], ["smpp.acme.example", "hunter2", 50]);
  const { senders, routes, allowedCountries } = JSON.parse(JSON.stringify(plan)) as Config["plan"];
  assert.deepEqual(senders, [{ number: "+14155550100", link: "acme", account: "default", environment: "live" }]);
  assert.deepEqual(routes, [{ channel: "sms", countries: ["US"], links: ["acme"] }]);
  assert.deepEqual(allowedCountries, { live: ["US", "CA"] });
});

test("faults of settings and of tables are reported together", () => {
  const path = write(`color = "red"\nreceipt_wait = 0\n${LINK}window = "wide"\n[[route]]\nchannel = "sms"\nlinks = ["nope"]\n`);
  assertFaults(faultsOf({ GODWIT_CONFIG: path, GODWIT_PORT: "x", ACME_PASSWORD: "p" }), [
    /color: is not a setting/,
    /^receipt_wait in the configuration file/,
    /^link acme: window: must be an integer$/,
    /^route 1: there is no link nope$/,
    /^GODWIT_PORT/,
  ]);
});

test("the file has consent settings, and all faults of them are reported", () => {
  const table = (more: string): string => `[[consent]]\naccount = "default"\nenvironment = "live"\n${more}\n`;
  const { consent } = serve({ GODWIT_CONFIG: write(table('opt_out_words = ["Basta"]\nreplies = { help = "Call us" }')) });
  assert.deepEqual(JSON.parse(JSON.stringify(consent)), [
    { account: "default", environment: "live", opt_out_words: ["Basta"], replies: { help: "Call us" } },
  ]);
  const faulty = table('languages = ["xx"]') + table('opt_in_words = ["stop"]') + table("") + table("");
  assertFaults(faultsOf({ GODWIT_CONFIG: write(faulty) }), [
    /^consent 1: languages.0: must be one of/,
    /^consent 2: opt_in_words.0: is already in another list$/,
    /^consent 2: default has another table for live$/,
  ]);
});

test("a link in single brackets is a fault, with how to write it", () =>
  assertFaults(faultsOf({ GODWIT_CONFIG: write(LINK.replace("[[link]]", "[link]")) }), [/^link: must be written \[\[link\]\]$/]));

for (const value of [undefined, "", " "]) {
  test(`a link's secret that is ${value === undefined ? "not there" : `"${value}"`} is a fault for who serves, and none for who only looks`, () => {
    const env = { GODWIT_CONFIG: write(LINK), ACME_PASSWORD: value };
    assertFaults(faultsOf(env), [/^link acme: password_env: the variable ACME_PASSWORD is not set$/]);
    const [link] = readConfig({}, "database", env).plan.links;
    assert.equal(link?.name, "acme");
  });
}

const KEY = Buffer.from(Array.from({ length: 32 }, (_, index) => 255 - index));
test("a database on another machine without a verified certificate is a fault, also of commands, unless plain text is allowed", () => {
  const env = { DATABASE_URL: "postgres://godwit:hidden@db.example.com/godwit?sslmode=require", GODWIT_SECRET_KEY: KEY.toString("base64") };
  assertFaults(faultsOf(env), [/^DATABASE_URL: sslmode=require does not verify .* write sslmode=verify-full/]);
  assert.throws(() => readConfig({}, "database", env), /sslmode=verify-full, or set GODWIT_DATABASE_PLAINTEXT=allow/);
  assert.equal(serve({ ...env, GODWIT_DATABASE_PLAINTEXT: "allow" }).isDatabasePlaintextAllowed, true);
  assertFaults(faultsOf({ GODWIT_DATABASE_PLAINTEXT: "yes" }), [/^GODWIT_DATABASE_PLAINTEXT: must be allow or not set, not "yes"/]);
});

const DATABASE = { DATABASE_URL: "postgresql://db/godwit" };

for (const [form, text] of [
  ["base64", KEY.toString("base64")],
  ["base64 of URLs, without padding", KEY.toString("base64url")],
] as const) {
  test(`32 bytes in ${form} are a secret key`, () => assert.deepEqual(serve({ ...DATABASE, GODWIT_SECRET_KEY: text }).secretKey, KEY));
}

test("a standby to read from needs the database whose standby it is, and a verified certificate", () => {
  const env = { GODWIT_SECRET_KEY: KEY.toString("base64"), ...DATABASE };
  assertFaults(faultsOf({ GODWIT_READ_URL: "postgresql://localhost/godwit" }), [/^GODWIT_READ_URL: is a standby of DATABASE_URL/]);
  assertFaults(faultsOf({ ...env, GODWIT_READ_URL: "postgresql://db2/godwit?sslmode=require" }), [
    /^GODWIT_READ_URL: sslmode=require does not verify/,
  ]);
  for (const seconds of ["1", "301"])
    assertFaults(faultsOf({ ...env, GODWIT_READ_MAX_LAG: seconds }), [/^GODWIT_READ_MAX_LAG: must be a number of seconds from 2 to 300/]);
  const { readUrl, readMaxLagMs } = serve({ ...env, GODWIT_READ_URL: "postgresql://db2/godwit", GODWIT_READ_MAX_LAG: "30" });
  assert.deepEqual([readUrl, readMaxLagMs], ["postgresql://db2/godwit", 30_000]);
});

test("a database elsewhere needs the secret key", () =>
  assertFaults(faultsOf(DATABASE), [/^GODWIT_SECRET_KEY: is needed with DATABASE_URL/]));

test("the embedded database does not need the secret key", () => assert.equal(serve({}).secretKey, undefined));

for (const [what, text] of [
  ["31 bytes", Buffer.alloc(31).toString("base64")],
  ["33 bytes", Buffer.alloc(33).toString("base64")],
  ["32 bytes in hexadecimal", KEY.toString("hex")],
  ["something that is not base64", `${"!".repeat(8)}${KEY.toString("base64")}`],
] as const) {
  test(`${what} are no secret key, and are not repeated in the fault`, () => {
    const faults = faultsOf({ ...DATABASE, GODWIT_SECRET_KEY: text });
    assertFaults(faults, [/^GODWIT_SECRET_KEY: must be 32 bytes in base64/]);
    assert.ok(!faults.join("").includes(text));
  });
}

test("a flag does not set the secret key", () => {
  assert.equal(serve({}, { "": KEY.toString("base64"), "secret-key": KEY.toString("base64") }).secretKey, undefined);
});

function selfSignedFiles(): { certPath: string; keyPath: string } {
  const { cert, key } = selfSigned();
  return { certPath: write(cert), keyPath: write(key) };
}

describe("a secret in a file", () => {
  const SECRET = Buffer.alloc(32, 5).toString("base64");
  const URL = "postgres://godwit:secret@127.0.0.1/godwit";

  test("is read where a variable with _FILE names it, also that of a link", () => {
    const config = write(
      '[[link]]\nname = "acme"\nprovider = "smpp"\nhost = "127.0.0.1"\nport = 2775\nsystem_id = "a"\npassword_env = "ACME_PASSWORD"\n',
    );
    const env = {
      DATABASE_URL_FILE: write(`${URL}\n`),
      GODWIT_READ_URL_FILE: write(`${URL}\n`),
      GODWIT_SECRET_KEY_FILE: write(`${SECRET}\n`),
      GODWIT_CONFIG: config,
      ACME_PASSWORD_FILE: write("passw0rd\n"),
    };
    const { databaseUrl, readUrl, secretKey, plan } = serve(env);
    assert.deepEqual([databaseUrl, readUrl, secretKey?.toString("base64")], [URL, URL, SECRET]);
    assert.ok(JSON.stringify(plan.links).includes('"passw0rd"'));
  });

  test("is read from the credentials of systemd", () => {
    const credentials = mkdtempSync(join(folder, "credentials-"));
    writeFileSync(join(credentials, "GODWIT_SECRET_KEY"), SECRET);
    assert.equal(serve({ CREDENTIALS_DIRECTORY: credentials }).secretKey?.toString("base64"), SECRET);
  });

  test("is a fault if the file is missing or empty, or the variable is set as well", () => {
    assertFaults(faultsOf({ GODWIT_SECRET_KEY_FILE: "/nowhere/key" }), [/^GODWIT_SECRET_KEY_FILE: ENOENT.*\/nowhere\/key/]);
    assertFaults(faultsOf({ GODWIT_SECRET_KEY_FILE: write("\n") }), [/^GODWIT_SECRET_KEY_FILE: .* is empty/]);
    const both = { GODWIT_SECRET_KEY: SECRET, GODWIT_SECRET_KEY_FILE: write(SECRET) };
    assertFaults(faultsOf(both), [/^GODWIT_SECRET_KEY_FILE: GODWIT_SECRET_KEY is set as well; unset one of them$/]);
  });
});
