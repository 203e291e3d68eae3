/** A start that is not possible ends soon, with one sentence that says what to do, and leaves nothing behind. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer as createTlsServer } from "node:https";
import { createServer, type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { selfSigned } from "../support/certificate.ts";
import { asAdmin, createEmptyDatabase } from "../support/database.ts";
import { runGodwit, SECRET_KEY } from "../support/harness.ts";

let folder: string;
before(() => (folder = mkdtempSync(join(tmpdir(), "godwit-start-"))));
after(() => rmSync(folder, { recursive: true, force: true }));

const serve = (env: Record<string, string>, ...args: string[]): ReturnType<typeof runGodwit> =>
  runGodwit(["serve", ...args], { GODWIT_PORT: "0", ...env });

function assertOneSentence({ code, stdout, stderr }: Awaited<ReturnType<typeof runGodwit>>, exitCode: number, says: RegExp): void {
  assert.equal(code, exitCode, stderr);
  assert.match(stderr, says);
  assert.doesNotMatch(`${stdout}${stderr}`, /^ +at /m, "no stack trace");
}

test("a start names a variable that is no setting in the log, and continues", { timeout: 60_000 }, async () => {
  writeFileSync(join(folder, "no-folder"), "");
  const { code, stdout } = await serve({ GODWIT_DATA_DIR: join(folder, "no-folder"), GODWIT_PROT: "1" });
  assert.equal(code, 1, "for the data directory");
  const line = stdout.split("\n").find((text) => text.includes("service.variable_unknown"));
  const { level, variable, msg } = JSON.parse(line ?? "{}") as Record<string, unknown>;
  assert.deepEqual([level, variable, msg], [40, "GODWIT_PROT", "GODWIT_PROT is not a setting, and is ignored; did you mean GODWIT_PORT?"]);
});

describe("a data directory", () => {
  const CASES: readonly (readonly [what: string, path: () => string, says: RegExp])[] = [
    ["that is a file", () => join(folder, "file"), /file is not a folder: set GODWIT_DATA_DIR to a folder/],
    ["below a device", () => "/dev/null/x", /^godwit: \/dev\/null is not a folder/],
    ["below a file", () => join(folder, "file", "deep", "data"), /file is not a folder/],
    ["in /proc", () => "/proc/nope", /^godwit: \/proc\/nope cannot be (?:created|written)/],
    ["that is a link to nothing", () => join(folder, "dangling"), /dangling cannot be created/],
  ];
  before(() => {
    writeFileSync(join(folder, "file"), "");
    symlinkSync(join(folder, "gone"), join(folder, "dangling"));
  });
  for (const [what, path, says] of CASES)
    test(`${what} is refused`, { timeout: 60_000 }, async () => assertOneSentence(await serve({ GODWIT_DATA_DIR: path() }), 1, says));

  for (const command of ["keys list", "migrate --plan", "backup create backup", "hold"])
    test(`that is a file is refused by ${command}`, async () =>
      assertOneSentence(await runGodwit(command.split(" "), { GODWIT_DATA_DIR: join(folder, "file") }), 1, /file is not a folder: set/));

  test("of another major version of PostgreSQL is refused, and stays as it is", async () => {
    const cluster = join(folder, "older", "postgres");
    mkdirSync(cluster, { recursive: true });
    writeFileSync(join(cluster, "PG_VERSION"), "17\n");
    assertOneSentence(
      await serve({ GODWIT_DATA_DIR: join(folder, "older") }),
      1,
      /older\/postgres was written by PostgreSQL 17, and this godwit brings 18\.\S+: start the godwit that wrote it, or copy the data/,
    );
    assert.deepEqual(readdirSync(cluster), ["PG_VERSION"]);
  });

  for (const command of ["keys list", "links", "hold"])
    test(`without a database is refused by ${command}, and stays as it is`, async () => {
      const dataDir = join(folder, "absent");
      assertOneSentence(
        await runGodwit(command.split(" "), { GODWIT_DATA_DIR: dataDir }),
        1,
        /absent has no database: name the --data-dir/,
      );
      assert.ok(!existsSync(dataDir), "no data directory");
    });

  test("that is a file is a failed check of doctor", async () => {
    const result = await runGodwit(["doctor"], { GODWIT_DATA_DIR: join(folder, "file") });
    assert.match(result.stdout, /^FAIL {2}disk .*file is not a folder$/m);
    assert.match(result.stdout, /^FAIL {2}database .*file is not a folder/m);
    assertOneSentence(result, 1, /^$/);
  });
});

test("a port that is in use is noticed before a database is created", async () => {
  const other = createServer().listen(0, "127.0.0.1");
  await once(other, "listening");
  const dataDir = join(folder, "data");
  const port = String((other.address() as AddressInfo).port);
  assertOneSentence(
    await serve({ GODWIT_PORT: port, GODWIT_DATA_DIR: dataDir }),
    1,
    /^godwit: port \d+ on 127\.0\.0\.1 is in use: stop the program/,
  );
  assert.ok(!existsSync(dataDir), "no data directory");
  other.close();
});

describe("the configuration", () => {
  const toml = (text: string): string => {
    const path = join(folder, "godwit.toml");
    writeFileSync(path, text);
    return path;
  };

  test("a certificate that is missing is one fault, also on a public address", async () => {
    const env = { GODWIT_HOST: "0.0.0.0", GODWIT_TLS_CERT: "/nowhere/cert.pem", GODWIT_TLS_KEY: "/nowhere/key.pem" };
    assertOneSentence(await serve(env), 2, /has 1 fault:\n {2}- GODWIT_TLS_CERT, GODWIT_TLS_KEY: there is no file \/nowhere\/key\.pem\n/);
  });

  test("a misspelled setting, table or field gets a suggestion", async () => {
    const text = 'prot = 1\n[[links]]\nname = "x"\n[[link]]\nname = "acme"\nprovider = "smpp"\nsystem_di = "a"\n';
    const result = await serve({ GODWIT_CONFIG: toml(text) });
    for (const says of [
      /prot: is not a setting; did you mean port\?/,
      /links: is not a setting; did you mean link\?/,
      /system_di: is not a known field; did you mean system_id\?/,
    ])
      assertOneSentence(result, 2, says);
  });

  test("a link with several faults reports a missing variable as well", async () => {
    const text = '[[link]]\nname = "acme"\nprovider = "smpp"\nhost = "127.0.0.1"\npassword_env = "NOT_SET"\n';
    const result = await serve({ GODWIT_CONFIG: toml(text) });
    for (const says of [/link acme: system_id: is required/, /link acme: password_env: the variable NOT_SET is not set/])
      assertOneSentence(result, 2, says);
  });
});

describe("a client", () => {
  const send = (env: Record<string, string>): ReturnType<typeof runGodwit> =>
    runGodwit(["send", "--to", "+14155550123", "--body", "x"], { GODWIT_KEY: `gw_test_${"a".repeat(40)}`, ...env });

  test("explains a port that fetch refuses", async () =>
    assertOneSentence(await send({ GODWIT_URL: "http://127.0.0.1:1" }), 1, /this port cannot be used for HTTP/));

  test("explains a certificate of an unknown authority", async () => {
    const server = createTlsServer(selfSigned(), (_request, response) => response.end()).listen(0, "127.0.0.1");
    await once(server, "listening");
    const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
    assertOneSentence(await send({ GODWIT_URL: url }), 1, /not from a known authority: set NODE_EXTRA_CA_CERTS/);
    server.close();
  });

  test("recognizes an incomplete key", async () =>
    assertOneSentence(await send({ GODWIT_KEY: "gw_test_abc" }), 2, /GODWIT_KEY: is mistyped or incomplete/));
});

describe("a database role without rights on the schema", () => {
  const role = `norights_${process.pid}`;
  let url: string;
  before(async () => {
    url = await createEmptyDatabase();
    await asAdmin((admin) => admin.query(`create role ${role} login`));
    url = url.replace(/\/\/[^@]*@/, `//${role}@`);
  });
  after(async () => asAdmin((admin) => admin.query(`drop role ${role}`)));

  for (const command of ["serve", "migrate", "keys list"])
    test(`is named in one sentence by ${command}`, async () =>
      assertOneSentence(
        await runGodwit(command.split(" "), { GODWIT_PORT: "0", DATABASE_URL: url, GODWIT_SECRET_KEY: SECRET_KEY }),
        1,
        /^godwit: the database refuses its role: permission denied for schema public: make the role the owner/m,
      ));

  test("is a failed check of doctor", async () => {
    const { stdout } = await runGodwit(["doctor"], { DATABASE_URL: url, GODWIT_SECRET_KEY: SECRET_KEY });
    assert.match(stdout, new RegExp(`^FAIL {2}rights .*the role ${role} cannot create tables in the schema public`, "m"));
  });
});
