/** `godwit doctor` for a running service, for a stopped one, and for every fault that it reports. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer as createHttpServer } from "node:http";
import { createServer, type AddressInfo, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { onlyReading } from "../../src/database/health.ts";
import { sql } from "../../src/database/sql.ts";
import { VERSION } from "../../src/version.ts";
import { selfSigned } from "../support/certificate.ts";
import { until } from "../support/expect.ts";
import { TEMPLATE, urlOf } from "../support/database.ts";
import { runGodwit, SECRET_KEY, startGodwit, type Godwit } from "../support/harness.ts";
import { ALLOW_LOOPBACK } from "../support/hook-server.ts";
import { TestServer } from "../support/test-server.ts";

type Check = { name: string; status: "ok" | "warn" | "fail"; detail: string; hint: string | null };
type Report = { code: number | null; status: string; checks: Check[]; check: (name: string) => Check | undefined; text: string };

let folder: string;
let database: TestServer;
let godwit: Godwit;
before(async () => {
  folder = mkdtempSync(join(tmpdir(), "godwit-doctor-"));
  // The embedded database runs as another user where the tests run as root, and must be reachable here.
  chmodSync(folder, 0o755);
  // The shared server of the tests does not survive a crash, so its settings would be reported as faults.
  database = await TestServer.start({});
  godwit = await startGodwit({ databaseUrl: urlOf(TEMPLATE, database.url), env: ALLOW_LOOPBACK });
  await godwit.unlimited();
});
after(async () => {
  await godwit.stop();
  await database.stop();
  rmSync(folder, { recursive: true, force: true });
});

let files = 0;
function write(text: string, mode = 0o600): string {
  files += 1;
  const path = join(folder, `file${files}`);
  writeFileSync(path, text, { mode });
  return path;
}

const ownSettings = (): Record<string, string> => ({
  DATABASE_URL: godwit.databaseUrl ?? "",
  GODWIT_SECRET_KEY: SECRET_KEY,
  GODWIT_PORT: new URL(godwit.url).port,
});

async function doctor(env: Record<string, string> = {}, base = ownSettings(), ...flags: string[]): Promise<Report> {
  const { code, stdout, stderr } = await runGodwit(["doctor", "--json", ...flags], { ...base, ...env });
  assert.equal(stdout.trimEnd().split("\n").length, 1, stderr);
  const { status, checks } = JSON.parse(stdout) as { status: string; checks: Check[] };
  for (const check of checks)
    assert.equal(check.hint === null, check.status === "ok", `${check.name}: every check that is not ok has a hint`);
  return { code, status, checks, text: stdout, check: (name) => checks.find((each) => each.name === name) };
}

const MACHINE = ["configuration", "node", "disk", "tls", "database", "schema", "rights", "durability", "checksums", "connections", "clock"];
const ALL = [...MACHINE, "partitions", "secret key", "queue", "inbound", "receipts", "delivery", "links", "webhooks", "service"];

/** The rows of checks that are not always there. */
const FURTHER: Readonly<Record<string, string[]>> = { node: ["node", "bucket"], links: ["links", "created links", "link NAME"] };

describe("a running service", () => {
  test("has nothing that waits", async () => {
    const { checks, check } = await doctor({}, ownSettings(), "--load");
    assert.deepEqual(
      checks.map(({ name }) => name),
      [...ALL, "load"],
    );
    assert.match(
      check("load")?.detail ?? "",
      /^nothing has waited for 1 second; a worker uses \d+ % of a processor, and this machine \d+ % of all$/,
    );
  });

  test("passes every check, with a warning that live has no link yet", async () => {
    const { code, status, checks, check } = await doctor();
    assert.deepEqual(
      checks.map(({ name, status: each }) => `${name} ${each}`),
      ALL.map((name) => `${name} ${name === "links" ? "warn" : "ok"}`),
    );
    assert.deepEqual([code, status], [0, "warn"]);
    assert.match(check("links")?.detail ?? "", /live cannot send messages/);
    assert.match(check("links")?.hint ?? "", /docs\/go-live\.md/);
    assert.equal(check("service")?.detail, `ready at ${godwit.url}, version ${VERSION}`);
  });

  test("is asked which links it has, and which version it is", async () => {
    const file = write(
      `[[link]]\nname = "acme"\nprovider = "smpp"\nhost = "127.0.0.1"\nport = 1\nsystem_id = "x"\npassword_env = "PASSWORD"\nallow_plaintext = true\n`,
    );
    const { check } = await doctor({ GODWIT_CONFIG: file });
    assert.equal(check("service")?.status, "warn");
    assert.equal(check("service")?.detail, `ready at ${godwit.url} with other links than these settings: acme`);
    assert.match(check("service")?.hint ?? "", /SIGHUP/);
    let version = "9.8.7";
    const other = createHttpServer(({ url }, response) => {
      response.statusCode = url === "/readyz" || version !== "" ? 200 : 403;
      response.end(url === "/metrics" ? `godwit_info{version="${version}"} 1\n` : "{}");
    }).listen(0, "127.0.0.1");
    await once(other, "listening");
    const port = { GODWIT_PORT: String((other.address() as AddressInfo).port) };
    const newer = await doctor(port);
    version = "";
    const silent = await doctor(port);
    other.close();
    assert.match(newer.check("service")?.detail ?? "", / with version 9\.8\.7, and this is /);
    assert.deepEqual([newer.check("service")?.status, silent.check("service")?.status], ["warn", "ok"]);
    assert.match(silent.check("service")?.detail ?? "", /may not read its metrics/);
  });

  test("is reported with one line per check, with hints for checks that are not ok, and without colors in a pipe", async () => {
    const { code, stdout } = await runGodwit(["doctor"], { ...ownSettings(), GODWIT_SECRET_KEY: "" });
    assert.equal(code, 0);
    assert.match(stdout, /^ok {4}node {11}\d+\.\d+\.\d+$/m);
    assert.match(stdout, /^warn {2}secret key {5}GODWIT_SECRET_KEY is not set here\n {21}→ every node needs it/m);
    // oxlint-disable-next-line no-control-regex
    assert.doesNotMatch(stdout, /\u001b/);
  });

  test("has a row in the manual for each check", () => {
    const page = readFileSync(join(import.meta.dirname, "..", "..", "docs", "cli-doctor.md"), "utf8");
    const rows = Array.from(page.matchAll(/^\| ([a-z ]+(?: NAME)?) \|[^|]*\|[^|]*\|$/gm), ([, name]) => name).filter(
      (name) => name !== "check",
    );
    assert.deepEqual(
      rows,
      [...ALL, "load"].flatMap((name) => FURTHER[name] ?? name),
    );
  });

  test("is checked through a read-only connection", async () => {
    assert.ok(godwit.db !== undefined);
    const db = onlyReading(godwit.db);
    await assert.rejects(db.rows(sql`delete from accounts`), /read-only transaction/);
    assert.deepEqual(await db.rows(sql`select 1 as one`), [{ one: 1 }]);
  });
});

describe("the report", { concurrency: 2 }, () => {
  test("shows an unreachable database, and the other checks still run", async () => {
    const { code, check } = await doctor({ DATABASE_URL: "postgres://nobody:hidden@127.0.0.1:1/none", GODWIT_PORT: "0" });
    assert.equal(code, 1);
    assert.equal(check("database")?.status, "fail");
    assert.match(check("database")?.detail ?? "", /ECONNREFUSED/);
    assert.doesNotMatch(check("database")?.detail ?? "", /hidden/);
    assert.deepEqual([check("node")?.status, check("service")?.status, check("schema")], ["ok", "ok", undefined]);
  });

  test("shows all faults of the configuration, and does not guess the database", async () => {
    const file = write('prot = 8080\n[[link]]\nname = "acme"\nprovider = "pigeon"\n');
    const { code, checks, check } = await doctor({ GODWIT_CONFIG: file, GODWIT_ROLES: "api,cook" });
    assert.equal(code, 1);
    for (const fault of [/prot: is not a setting/, /link acme: provider: must be one of/, /"cook" is not a role/])
      assert.match(check("configuration")?.detail ?? "", fault);
    assert.deepEqual(
      checks.map(({ name }) => name),
      ["configuration", "node"],
    );
  });

  test("shows a warning for settings that only a service needs where no service runs", async () => {
    const { code, check } = await doctor({ GODWIT_HOST: "0.0.0.0" });
    assert.equal(code, 0);
    assert.equal(check("configuration")?.status, "warn");
    assert.match(check("configuration")?.detail ?? "", /0\.0\.0\.0 is not a loopback address/);
  });

  test("shows a variable that is no setting", async () => {
    const { code, check } = await doctor({ GODWIT_PROT: "1", GODWIT_SERVICE_HOST: "10.0.0.1" });
    assert.deepEqual([code, check("configuration")?.status], [0, "warn"]);
    assert.equal(check("configuration")?.detail, "GODWIT_PROT is not a setting; did you mean GODWIT_PORT?");
  });

  test("shows a different secret key", async () => {
    const { code, check } = await doctor({ GODWIT_SECRET_KEY: Buffer.alloc(32, 8).toString("base64") });
    assert.equal(code, 1);
    assert.match(check("secret key")?.detail ?? "", /is not the secret key of this database/);
    const changing = await doctor({ GODWIT_SECRET_KEY: Buffer.alloc(32, 8).toString("base64"), GODWIT_PREVIOUS_SECRET_KEY: SECRET_KEY });
    assert.equal(changing.check("secret key")?.status, "ok");
  });

  test("shows that no service listens at the configured address", async () => {
    const silent = createServer().listen(0, "127.0.0.1");
    await once(silent, "listening");
    const { port } = silent.address() as AddressInfo;
    silent.close();
    const { code, check } = await doctor({ GODWIT_PORT: String(port) });
    assert.equal(code, 0);
    assert.deepEqual([check("service")?.status, check("database")?.status], ["warn", "ok"]);
  });

  test("shows a schema of another version, and does not read its tables", async () => {
    const { code, checks, check } = await doctor({ DATABASE_URL: database.url });
    assert.equal(code, 0);
    assert.match(check("schema")?.detail ?? "", /version 0, and this godwit has \d+/);
    assert.ok(!checks.some(({ name }) => ["queue", "webhooks", "partitions"].includes(name)));
  });

  test("shows messages that have waited too long", async () => {
    const key = await godwit.key();
    await godwit.send(key);
    const waitFor = (minutes: number): Promise<unknown> =>
      godwit.rows("update delivery_queue set due_at = now() - make_interval(mins => $1)", [minutes]);
    await waitFor(2);
    const late = await doctor();
    assert.deepEqual([late.code, late.check("queue")?.status], [0, "warn"]);
    assert.match(late.check("queue")?.detail ?? "", /^1 waiting; the oldest due has waited 1\d\d s for simulator$/);
    await waitFor(30);
    const veryLate = await doctor();
    assert.deepEqual([veryLate.code, veryLate.check("queue")?.status], [1, "fail"]);
    await godwit.rows("delete from delivery_queue");
  });
});

// Each changes the database, or its server, for all others.
describe("the report, one after the other,", () => {
  test("names the hold where messages wait and links are paused for it", async () => {
    assert.equal((await runGodwit(["hold"], ownSettings())).code, 0);
    await godwit.send(await godwit.key());
    await godwit.rows("update delivery_queue set due_at = now() - interval '1 hour'");
    const [{ reason } = assert.fail()] = await godwit.rows<{ reason: string }>("select reason from link_pauses where link = '*'");
    const report = (link: string, why: string): Promise<unknown> =>
      godwit.rows(
        `insert into link_states (link, node, state, reason, in_flight, updated_at) values ($1, 'node', 'paused', $2, 0, now() + interval '1 hour')`,
        [link, why],
      );
    await report("held", reason);
    await report("blocked", "the carrier refuses the account");
    const file = write('[[link]]\nname = "held"\nprovider = "simulator"\n[[link]]\nname = "blocked"\nprovider = "simulator"\n');
    const { code, check } = await doctor({ GODWIT_CONFIG: file });
    assert.equal((await runGodwit(["resume", "--send"], ownSettings())).code, 0);
    await godwit.rows("delete from delivery_queue");
    await godwit.rows("delete from link_states");
    assert.deepEqual([code, check("queue")?.status], [0, "warn"]);
    assert.match(check("queue")?.detail ?? "", /; delivery is on hold$/);
    for (const name of ["queue", "delivery", "link held"]) assert.match(check(name)?.hint ?? "", /^godwit resume shows what waits/, name);
    assert.match(check("link blocked")?.hint ?? "", /at the carrier/);
  });

  test("shows the value of synchronous_commit, and warns where commits do not wait for the synchronous standbys", async () => {
    const set = async (expected: RegExp, ...settings: readonly string[]): Promise<Check["status"]> => {
      for (const setting of settings) await godwit.rows(`alter system ${setting}`);
      await godwit.rows("select pg_reload_conf()");
      const { status } = await until(String(expected), async () => {
        const check = (await doctor()).check("durability");
        return check !== undefined && expected.test(check.detail) ? check : undefined;
      });
      return status;
    };
    assert.equal(await set(/synchronous_commit is local$/, "set synchronous_commit = local"), "ok");
    assert.equal(await set(/is local: confirmed messages can be lost in a failover/, "set synchronous_standby_names = 'b'"), "warn");
    assert.equal(await set(/is remote_write: confirmed/, "set synchronous_commit = remote_write"), "warn");
    assert.equal(await set(/synchronous_commit is on$/, "reset synchronous_standby_names", "reset synchronous_commit"), "ok");
  });
});

describe("certificates", { concurrency: 2 }, () => {
  const DAY_MS = 86_400_000;
  const inDays = (days: number): Date => new Date(Date.now() + days * DAY_MS);
  const NONE = { DATABASE_URL: "postgres://nobody@127.0.0.1:1/none", GODWIT_PORT: "0" };
  const tlsOf = async (cert: string, key: string): Promise<Check | undefined> =>
    (await doctor({ GODWIT_TLS_CERT: cert, GODWIT_TLS_KEY: key }, NONE)).check("tls");

  const CASES: readonly (readonly [what: string, dates: { from?: Date; to?: Date }, status: string, says: RegExp])[] = [
    ["one that is valid for a year", { to: inDays(365) }, "ok", /valid for 36\d more days/],
    ["one that expires soon", { to: inDays(29) }, "warn", /valid for 28 more days/],
    ["an expired one", { to: inDays(-1) }, "fail", /expired on/],
    ["one that is not valid yet", { from: inDays(2) }, "fail", /not valid before/],
  ];
  for (const [what, dates, status, says] of CASES) {
    test(`${what}: ${status}`, async () => {
      const { cert, key } = selfSigned(dates);
      const check = await tlsOf(write(cert), write(key));
      assert.equal(check?.status, status, check?.detail);
      assert.match(check?.detail ?? "", says);
    });
  }

  test("a key that its group may read: warn; one that every user may read: fail", async () => {
    const { cert, key } = selfSigned({ to: inDays(365) });
    for (const [mode, status] of [
      [0o640, "warn"],
      [0o644, "fail"],
    ] as const) {
      const path = write(key);
      chmodSync(path, mode);
      const check = await tlsOf(write(cert), path);
      assert.equal(check?.status, status, check?.detail);
      assert.match(`${check?.detail} ${check?.hint}`, /chmod 600/);
    }
  });

  test("one that does not match its key, or is missing: fail", async () => {
    const [mine, other] = [selfSigned(), selfSigned()];
    assert.equal((await tlsOf(write(mine.cert), write(other.key)))?.status, "fail");
    const missing = await tlsOf(join(folder, "nothing"), write(mine.key));
    assert.equal(missing?.status, "fail");
    assert.match(missing?.detail ?? "", /there is no file/);
  });
});

/** Accepts connections and records the bytes received. */
class Ear {
  readonly #server: Server;
  connections = 0;
  heard = 0;

  private constructor() {
    this.#server = createServer((socket) => {
      this.connections += 1;
      socket.on("error", () => undefined).on("data", (chunk) => (this.heard += chunk.length));
    });
  }

  static async open(): Promise<Ear> {
    const ear = new Ear();
    ear.#server.listen(0, "127.0.0.1");
    await once(ear.#server, "listening");
    return ear;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  close(): void {
    this.#server.close();
  }
}

describe("remote hosts", () => {
  let ear: Ear;
  let closedPort: number;
  before(async () => {
    ear = await Ear.open();
    const gone = await Ear.open();
    closedPort = gone.port;
    gone.close();
  });
  after(() => ear.close());

  test("of links are checked for reachability, with the state that nodes report, and nothing is sent to a carrier", async () => {
    const smpp = (name: string, port: number): string =>
      `[[link]]\nname = "${name}"\nprovider = "smpp"\nhost = "127.0.0.1"\nport = ${port}\nsystem_id = "x"\npassword_env = "PASSWORD"\n`;
    const twilio = `[[link]]\nname = "tw"\nprovider = "twilio"\nbase_url = "http://127.0.0.1:${ear.port}"\naccount_sid = "AC1"\nauth_token_env = "PASSWORD"\npublic_url = "https://example.com"\n`;
    const GODWIT_CONFIG = write(smpp("up", ear.port) + smpp("away", closedPort) + smpp("refused", ear.port) + twilio);
    const say = (link: string, state: string, reason: string | null): Promise<unknown> =>
      godwit.rows(
        "insert into link_states (link, node, state, reason, in_flight, updated_at) values ($1, 'n1', $2, $3, 0, now() + interval '1 hour')",
        [link, state, reason],
      );
    await say("up", "connected", null);
    await say("refused", "connecting", "the carrier refused our password");
    const { code, check } = await doctor({ GODWIT_CONFIG, PASSWORD: "hidden" });
    assert.equal(code, 1);
    assert.equal(check("link up")?.detail, `smpp at 127.0.0.1:${ear.port} can be reached; a node reports: connected`);
    assert.equal(check("link up")?.status, "ok");
    assert.equal(check("link away")?.status, "fail");
    assert.match(check("link away")?.detail ?? "", /cannot be reached: .*ECONNREFUSED.*; no node has it open/);
    assert.equal(check("link refused")?.status, "warn");
    assert.match(check("link refused")?.detail ?? "", /a node reports: connecting, the carrier refused our password/);
    assert.equal(check("link tw")?.status, "warn");
    assert.match(check("link tw")?.detail ?? "", /twilio at .* can be reached; no node has it open/);
    assert.equal(ear.connections, 3);
    assert.equal(ear.heard, 0);
    await godwit.rows("delete from link_states");
  });

  test("of links fail where the carriers refuse all of them, and not while one sends or is paused by a person", async () => {
    const link = (name: string): string =>
      `[[link]]\nname = "${name}"\nprovider = "smpp"\nhost = "127.0.0.1"\nport = ${ear.port}\nsystem_id = "x"\npassword_env = "PASSWORD"\n`;
    const env = { GODWIT_CONFIG: write(link("one") + link("two")), PASSWORD: "hidden" };
    const say = (name: string, state: string): Promise<unknown> =>
      godwit.rows(
        "insert into link_states (link, node, state, reason, in_flight, updated_at) values ($1, 'n1', $2, 'the carrier refuses the password (0x0E)', 0, now() + interval '1 hour')",
        [name, state],
      );
    await say("one", "paused");
    await say("two", "connected");
    assert.deepEqual((await doctor(env)).check("links"), undefined);
    await godwit.rows("update link_states set state = 'paused'");
    const refused = await doctor(env);
    assert.deepEqual([refused.code, refused.check("link one")?.status, refused.check("links")?.status], [1, "warn", "fail"]);
    await godwit.rows("insert into link_pauses (link, reason) values ('two', 'paused by the operator')");
    const paused = await doctor(env);
    await godwit.rows("delete from link_states");
    await godwit.rows("delete from link_pauses");
    assert.deepEqual([paused.code, paused.check("links")], [0, undefined]);
  });

  test("of links that may do without TLS are named", async () => {
    const GODWIT_CONFIG = write(
      `[[link]]\nname = "acme"\nprovider = "smpp"\nhost = "127.0.0.1"\nport = ${ear.port}\nsystem_id = "x"\npassword_env = "PASSWORD"\nallow_plaintext = true\n`,
    );
    const { check } = await doctor({ GODWIT_CONFIG, PASSWORD: "hidden" });
    assert.equal(check("link acme transport")?.status, "warn");
    assert.match(check("link acme transport")?.detail ?? "", /allow_plaintext is set/);
  });

  test("of links without a country whose carriers may write national numbers are named", async () => {
    const smpp = (name: string, more = ""): string =>
      `[[link]]\nname = "${name}"\nprovider = "smpp"\nhost = "127.0.0.1"\nport = ${ear.port}\nsystem_id = "x"\npassword_env = "PASSWORD"\n${more}`;
    const http = (name: string, inbound: string, more = ""): string =>
      `[[link]]\nname = "${name}"\nprovider = "http"\nrequest = { url = "http://127.0.0.1:${ear.port}/" }\nresponse = { id = "$.id" }\n` +
      `callbacks = { verification = { type = "token", header = "x", token = "x" } }\n${inbound}\n${more}`;
    const INBOUND = 'from = "$.from", to = "$.to"';
    const links = [
      smpp("acme"),
      smpp("home", 'country = "GB"\n'),
      http("open", `inbound = { ${INBOUND} }`),
      http("mixed", `inbound = [{ ${INBOUND}, number_type = "international" }, { ${INBOUND} }]`),
      http("closed", `inbound = { ${INBOUND}, number_type = "international" }`),
      http("domestic", `inbound = { ${INBOUND} }`, 'country = "GB"\n'),
      http("silent", ""),
    ];
    const { checks } = await doctor({ GODWIT_CONFIG: write(links.join("")), PASSWORD: "hidden" });
    assert.deepEqual(
      checks.filter(({ name }) => name.endsWith(" country")).map(({ name, status }) => [name, status]),
      [
        ["link acme country", "warn"],
        ["link open country", "warn"],
        ["link mixed country", "warn"],
      ],
    );
  });

  test("of inbound messages that belong to no account are counted", async () => {
    await godwit.rows(
      `insert into kept_inbound (id, kind, link, provider, channel)
       select gen_random_uuid(), kind, 'x', 'x', 'sms' from unnest(array['message', 'message', 'notification']) as kinds(kind)`,
    );
    const { check } = await doctor();
    assert.equal(check("inbound")?.status, "warn");
    assert.match(check("inbound")?.detail ?? "", /^2 messages without an owner and 1 notifications without a link are kept/);
    await godwit.rows("delete from kept_inbound");
  });

  test("of receipts that match no message are counted by link", async () => {
    await godwit.rows(
      `insert into parked_receipts (link, provider_message_id, status, receipt, received_at)
       values ('acme', '1', 'delivered', '{}', now() - interval '2 minutes'), ('acme', '2', 'delivered', '{}', now())`,
    );
    const { check } = await doctor();
    assert.equal(check("receipts")?.status, "warn");
    assert.equal(check("receipts")?.detail, "delivery receipts that match no message: 1 of acme");
    await godwit.rows("delete from parked_receipts");
  });

  test("of links whose callbacks are not verified are named", async () => {
    const link = (type: string): string =>
      `[[link]]\nname = "${type}"\nprovider = "http"\nrequest = { url = "http://127.0.0.1:${ear.port}/" }\nresponse = { id = "$.id" }\ncallbacks = { verification = { type = "${type}"`;
    const GODWIT_CONFIG = write(`${link("none")} } }\n${link("token")}, header = "x-token", token = "t" } }\n`);
    const { check } = await doctor({ GODWIT_CONFIG });
    assert.equal(check("link none callbacks")?.status, "warn");
    assert.match(check("link none callbacks")?.detail ?? "", /not verified/);
    assert.match(check("link none")?.detail ?? "", /^http at 127\.0\.0\.1:\d+ can be reached/);
    assert.equal(check("link token callbacks"), undefined);
  });

  test("of links are checked also without a database", async () => {
    const file = write(
      `[[link]]\nname = "acme"\nprovider = "smpp"\nhost = "127.0.0.1"\nport = ${ear.port}\nsystem_id = "x"\npassword_env = "PASSWORD"\n`,
    );
    const { check } = await doctor({ GODWIT_CONFIG: file, DATABASE_URL: "postgres://nobody@127.0.0.1:1/none", GODWIT_PORT: "0" });
    assert.deepEqual([check("link acme")?.status, check("database")?.status], ["ok", "fail"]);
    // Only the service needs the password.
    assert.match(check("configuration")?.detail ?? "", /the variable PASSWORD is not set/);
    assert.equal(check("configuration")?.status, "warn");
  });

  test("of endpoints are checked for reachability, with the state of the endpoints, and nothing is sent to them", async () => {
    const key = await godwit.key();
    const endpoint = async (url: string): Promise<string> => {
      const { status, json, text } = await godwit.request("POST", "/v1/webhook_endpoints", { key, body: { url, event_types: ["*"] } });
      assert.equal(status, 201, text);
      return String(json["id"]);
    };
    const { connections: connectionsBefore } = ear;
    await endpoint(`http://127.0.0.1:${ear.port}/hook?token=hidden`);
    await endpoint(`http://127.0.0.1:${ear.port}/another`);
    const away = await endpoint(`http://127.0.0.1:${closedPort}/hook`);
    const well = await doctor(ALLOW_LOOPBACK);
    assert.equal(well.code, 0);
    assert.equal(well.check("webhooks")?.status, "warn");
    assert.match(
      well.check("webhooks")?.detail ?? "",
      new RegExp(
        `^3 enabled; 1 of 2 hosts reached; not: http://127\\.0\\.0\\.1:${closedPort} \\(${away}\\): connection_failed, ECONNREFUSED`,
      ),
    );
    assert.doesNotMatch(well.text, /hidden/);
    // Addresses of this machine may be called only if the operator allows it.
    const { check } = await doctor();
    assert.match(check("webhooks")?.detail ?? "", /address_not_allowed/);
    await until("the connection to be seen", () => ear.connections > connectionsBefore || undefined);
    assert.deepEqual([ear.connections, ear.heard], [connectionsBefore + 1, 0]);
    await godwit.rows("update webhook_endpoints set failing_since = now()");
    assert.match((await doctor(ALLOW_LOOPBACK)).check("webhooks")?.detail ?? "", /^3 enabled, 3 failing;/);
    await godwit.rows("delete from webhook_endpoints");
  });
});

describe("a data directory", () => {
  test("is checked while the service runs and after it has stopped, and is not changed", async () => {
    const dataDir = join(folder, "data");
    const settings = { GODWIT_DATA_DIR: dataDir };
    const none = await doctor(settings, {});
    assert.deepEqual([none.code, none.check("database")?.status, existsSync(dataDir)], [0, "warn", false]);

    const embedded = await startGodwit({ env: settings });
    const running = await doctor({ ...settings, GODWIT_PORT: new URL(embedded.url).port }, {});
    assert.deepEqual([running.code, running.check("links")?.status, running.check("service")?.status], [0, "warn", "ok"], running.text);
    assert.match(running.check("database")?.detail ?? "", /^PostgreSQL 18\.\d+, embedded in /);
    assert.equal(await embedded.stop(), 0);

    chmodSync(join(dataDir, "secret.key"), 0o644);
    const stopped = await doctor({ ...settings, GODWIT_PORT: "0" }, {});
    assert.deepEqual([stopped.code, stopped.check("schema")?.status, stopped.check("secret key")?.status], [0, "ok", "warn"]);
    rmSync(join(dataDir, "secret.key"));
    const lost = await doctor({ ...settings, GODWIT_PORT: "0" }, {});
    assert.deepEqual([lost.code, lost.check("secret key")?.status], [1, "fail"]);
    assert.equal(existsSync(join(dataDir, "secret.key")), false, "the doctor creates no key");
  });
});
