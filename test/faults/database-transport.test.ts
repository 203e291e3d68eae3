/** The transport to a database on another machine: TLS with a verified certificate, and no password in clear text. */
import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { once } from "node:events";
import { chmodSync, chownSync, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createServer, type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import pg from "pg";
import { Database } from "../../src/database/database.ts";
import { EmbeddedPostgres } from "../../src/embedded/embedded-postgres.ts";
import { EMBEDDED_ADMIN } from "../../src/embedded/embedded-roles.ts";
import { sql } from "../../src/database/sql.ts";
import { runGodwit, SECRET_KEY } from "../support/harness.ts";
import { freePort } from "../support/free-port.ts";
import { FAST } from "../support/test-server.ts";

const hasOpenssl = spawnSync("openssl", ["version"]).status === 0;
const skip = hasOpenssl ? false : "openssl, which makes the certificates, is not installed";

// Both lead to 127.0.0.1, and the service takes them for the names of other machines. Certificates have a short form as a whole address.
const [REMOTE, OTHER_NAME] = ["127.1", "LOCALHOST"];
const NAME_IN_CERTIFICATE = "127.0.0.1";
const PASSWORD = "a-password-for-tests";

describe("a PostgreSQL with TLS", { skip }, () => {
  let folder: string;
  let server: EmbeddedPostgres;
  let port: number;
  const file = (name: string): string => join(folder, name);
  const openssl = (...args: string[]): void => void execFileSync("openssl", args, { cwd: folder, stdio: "ignore" });

  function makeAuthority(name: string): void {
    const key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", `${name}.key`];
    openssl("req", "-x509", ...key, "-out", `${name}.crt`, "-days", "2", "-subj", `/CN=${name}`);
  }

  before(async () => {
    folder = mkdtempSync(join(tmpdir(), "godwit-transport-"));
    chmodSync(folder, 0o755);
    for (const name of ["authority", "stranger"]) makeAuthority(name);
    const key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", "server.key"];
    openssl("req", ...key, "-out", "server.csr", "-subj", "/CN=server");
    writeFileSync(file("names"), `subjectAltName=DNS:${NAME_IN_CERTIFICATE}`);
    const signed = ["-CA", "authority.crt", "-CAkey", "authority.key", "-CAcreateserial", "-extfile", "names"];
    openssl("x509", "-req", "-in", "server.csr", "-out", "server.crt", "-days", "2", ...signed);
    writeFileSync(file("hba"), "local all all trust\nhost all all 127.0.0.1/32 scram-sha-256\n");
    port = await freePort();
    server = await startServer({ ssl: "off" });
    const owner = statSync(server.folder);
    for (const name of ["server.key", "server.crt", "hba"]) chownSync(file(name), owner.uid, owner.gid);
    if (!("socketDir" in server.target)) throw new Error("the embedded server listens on a socket");
    const admin = new pg.Client({ host: server.target.socketDir, port, user: EMBEDDED_ADMIN, database: "postgres" });
    await admin.connect();
    await admin.query(`create role remote login password '${PASSWORD}'`);
    await admin.query("create database remote owner remote");
    await admin.end();
    await server.stop();
    server = await startServer({ ssl: "on", ssl_cert_file: file("server.crt"), ssl_key_file: file("server.key"), hba_file: file("hba") });
  });
  after(async () => {
    await server.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  async function startServer(settings: Record<string, string>): Promise<EmbeddedPostgres> {
    const started = await EmbeddedPostgres.start({
      dataDir: file("data"),
      command: "serve",
      say: () => undefined,
      onLog: () => undefined,
      settings: { ...FAST, listen_addresses: "127.0.0.1", port: String(port), ...settings },
    });
    if (!(started instanceof EmbeddedPostgres)) throw new Error("the folder is in use");
    return started;
  }

  const url = (host: string, parameters = ""): string => `postgres://remote:${PASSWORD}@${host}:${port}/remote${parameters}`;
  const migrate = (databaseUrl: string, env: Record<string, string> = {}): ReturnType<typeof runGodwit> =>
    runGodwit(["migrate", "--json"], { DATABASE_URL: databaseUrl, ...env });

  for (const mode of ["", "sslmode=verify-full&"])
    test(`is used over TLS if its authority and name are right${mode === "" ? ", also without sslmode" : ""}`, async () => {
      const db = new Database({ url: url(REMOTE, `?${mode}sslrootcert=${file("authority.crt")}`) }, "test", () => undefined);
      const rows = await db.rows(sql`select ssl from pg_stat_ssl where pid = pg_backend_pid()`);
      await db.close();
      assert.deepEqual(rows, [{ ssl: true }]);
      const { code, stderr } = await migrate(url(REMOTE, `?${mode}sslrootcert=${file("authority.crt")}`));
      assert.equal(code, 0, stderr);
    });

  const REFUSED: readonly (readonly [what: string, host: string, authority: string, reason: RegExp])[] = [
    ["of another authority", REMOTE, "?sslrootcert=stranger.crt", /certificate.*sslrootcert=FILE/],
    ["of an authority that the machine does not know", REMOTE, "", /certificate.*sslrootcert=FILE/],
    ["for another name", OTHER_NAME, "?sslrootcert=authority.crt", /Hostname\/IP does not match/],
  ];
  for (const [what, host, authority, reason] of REFUSED)
    test(`is refused with a certificate ${what}, also where the environment switches verification off`, async () => {
      for (const env of [{}, { NODE_TLS_REJECT_UNAUTHORIZED: "0", PGSSLMODE: "no-verify" }]) {
        const { code, stderr } = await migrate(url(host, authority.replace("=", `=${folder}/`)), env);
        assert.equal(code, 1, stderr);
        assert.match(stderr, reason);
        assert.ok(!stderr.includes(PASSWORD));
      }
    });

  test("is used without TLS if that is allowed, and doctor warns", async () => {
    const env = { GODWIT_DATABASE_PLAINTEXT: "allow", GODWIT_SECRET_KEY: SECRET_KEY };
    const { code, stderr } = await migrate(url(REMOTE), env);
    assert.equal(code, 0, stderr);
    const { stdout } = await runGodwit(["doctor", "--json"], { DATABASE_URL: url(REMOTE), GODWIT_PORT: "0", ...env });
    const { checks } = JSON.parse(stdout) as { checks: { name: string; status: string; detail: string }[] };
    const transport = checks.find(({ name }) => name === "database transport");
    assert.deepEqual([transport?.status, transport?.detail.includes("clear text")], ["warn", true], stdout);
  });
});

test("a remote server without TLS is refused before the password is sent, and the message says what to do", async () => {
  await using server = await fakeServer((bytes) => (bytes.readInt32BE(4) === SSL_REQUEST ? Buffer.from("N") : CLEAR_TEXT_REQUEST));
  const { code, stderr } = await runGodwit(["migrate"], { DATABASE_URL: `postgres://godwit:${PASSWORD}@${REMOTE}:${server.port}/godwit` });
  assert.equal(code, 1);
  assert.match(stderr, /does not support SSL connections; switch on ssl in PostgreSQL, or set GODWIT_DATABASE_PLAINTEXT=allow/);
  assert.ok(server.received().every((bytes) => bytes.readInt32BE(4) === SSL_REQUEST));
});

for (const [what, host, env] of [
  ["on loopback", "127.0.0.1", {}],
  ["on another machine where plain text is allowed", REMOTE, { GODWIT_DATABASE_PLAINTEXT: "allow" }],
] as const)
  test(`a server ${what} that asks for a clear-text password does not get it`, async () => {
    await using server = await fakeServer(() => CLEAR_TEXT_REQUEST);
    const databaseUrl = `postgres://godwit:${PASSWORD}@${host}:${server.port}/godwit`;
    const { code, stderr } = await runGodwit(["migrate"], { DATABASE_URL: databaseUrl, ...env });
    assert.equal(code, 1);
    assert.match(stderr, /the server asks for the password in clear text/);
    assert.ok(server.received().length > 0);
    assert.ok(!Buffer.concat(server.received()).includes(PASSWORD));
  });

const SSL_REQUEST = 80_877_103;
// AuthenticationCleartextPassword: type, length, and the number of the method.
const CLEAR_TEXT_REQUEST = Buffer.from([0x52, 0, 0, 0, 8, 0, 0, 0, 3]);

type FakeServer = { port: number; received: () => Buffer[]; [Symbol.asyncDispose](): Promise<void> };

/** A server that responds to each chunk of bytes, and keeps what it received. */
async function fakeServer(respond: (bytes: Buffer) => Buffer): Promise<FakeServer> {
  const received: Buffer[] = [];
  const server = createServer((socket) => {
    socket.on("error", () => undefined);
    socket.on("data", (bytes: Buffer) => {
      received.push(bytes);
      socket.write(respond(bytes));
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    port: (server.address() as AddressInfo).port,
    received: () => received,
    [Symbol.asyncDispose]: async () => {
      server.close();
      await once(server, "close");
    },
  };
}
