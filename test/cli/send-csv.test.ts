/** `godwit send --csv`: the preview of a file, its sending, a pause, a crash, and the cancellation. */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { LIMIT_MS } from "../support/expect.ts";
import { runGodwit, spawnGodwit, startGodwit, type Godwit, type Run } from "../support/harness.ts";
import { bodyServer } from "../support/hook-server.ts";
import type { Json } from "../support/client.ts";

type Result = Awaited<ReturnType<typeof runGodwit>>;

const folder = mkdtempSync(join(tmpdir(), "godwit-csv-"));
let godwit: Godwit;
let key: string;
before(async () => {
  godwit = await startGodwit();
  key = await godwit.key();
  await godwit.unlimited();
});
after(async () => {
  await godwit.stop();
  rmSync(folder, { recursive: true });
});

const send = (args: readonly string[], env: Record<string, string> = {}): Promise<Result> =>
  runGodwit(["send", ...args], { GODWIT_URL: godwit.url, GODWIT_KEY: key, ...env });

/** Writes a file with a name of its own. */
function fileOf(text: string | Buffer): string {
  const path = join(folder, `${randomUUID().slice(0, 8)}.csv`);
  writeFileSync(path, text);
  return path;
}

const NUMBERS_FROM = 14_155_550_000;
const numbers = (count: number): string[] => Array.from({ length: count }, (_, at) => `+${NUMBERS_FROM + at}`);
const fileOfNumbers = (count: number): string => fileOf(`recipient\n${numbers(count).join("\n")}\n`);
const resultsOf = (path: string): string[][] =>
  readFileSync(`${path}.results.csv`, "utf8")
    .trimEnd()
    .split("\r\n")
    .slice(1)
    .map((line) => line.split(","));

async function template(body: string): Promise<string> {
  const name = `csv_${randomUUID().slice(0, 8)}`;
  const made = await godwit.request("POST", "/v1/templates", {
    key,
    body: { name, language: "en", category: "utility", channels: ["sms"], body },
  });
  assert.equal(made.status, 201, made.text);
  return name;
}

/** The number of messages to each recipient, of the send with this reference. */
const sentTo = async (reference: string): Promise<Map<string, number>> =>
  new Map(
    (
      await godwit.rows<{ recipient: string; count: number }>(
        "select recipient, count(*)::int as count from messages where client_reference = $1 group by recipient",
        [reference],
      )
    ).map(({ recipient, count }) => [recipient, count]),
  );

describe("a file", { concurrency: 1 }, () => {
  test("is sent with the variables of a template, and the result file has the message of each row", async () => {
    const name = await template("Hello {{name}}, your order {{order_no}} is on its way.");
    const path = fileOf(
      '\uFEFFPhone;Name;Order No;Note\r\n+1 (415) 555-0101;"Ada; Countess";A-17;x\r\n+14155550102;Grace;"A ""18""";y\r\n',
    );
    const { code, stdout, stderr } = await send(["--csv", path, "--template", name, "--yes", "--json"]);
    assert.equal(code, 0, stderr);
    const summary = JSON.parse(stdout) as Json;
    assert.deepEqual([summary["status"], summary["rows"], summary["accepted"]], ["completed", 2, 2]);
    assert.match(stderr, /Phone → recipient; Name → var\.name; Order No → var\.order_no; not used: Note/);
    assert.match(stderr, /Hello Ada; Countess, your order A-17 is on its way\./);
    const rows = resultsOf(path);
    assert.deepEqual(
      rows.map(([row, recipient, status]) => [row, recipient, status]),
      [
        ["2", "+14155550101", "accepted"],
        ["3", "+14155550102", "accepted"],
      ],
    );
    const { json } = await godwit.request("GET", `/v1/messages/${rows[1]?.[3]}`, { key });
    assert.deepEqual([json["body"], json["priority"]], ['Hello Grace, your order A "18" is on its way.', "bulk"]);
  });

  test("is previewed row by row: its faults, its segments, and the texts that would be sent", async () => {
    const name = await template("Hello {{name}}!");
    const path = fileOf(
      "to,name\n+14155550101,Ada\n4155550102,Grace\n+14155550101,Ada\n+14155550103,\n+14155550104,a,b\n+15,Eve\n+1.4155E+10,X\n",
    );
    const { code, stdout } = await send(["--csv", path, "--template", name, "--dry-run"]);
    assert.equal(code, 1);
    assert.match(stdout, /^valid +1 row, 1 segment$/m);
    assert.match(stdout, /^invalid +6 rows, not sent; 1 duplicate recipient$/m);
    assert.match(stdout, /^ {2}row 3 {2}4155550102 {2}must begin with \+.*\(invalid_format\)$/m);
    assert.match(stdout, /^ {2}row 4 .*earlier row \(duplicate_recipient\)$/m);
    assert.match(stdout, /^ {2}row 5 .*no value for the variable name \(empty_variable\)$/m);
    assert.match(stdout, /^ {2}row 6 .*has 3 cells.*\(cell_count\)$/m);
    assert.match(stdout, /^ {2}row 7 .*\(invalid_format\)$/m);
    assert.match(stdout, /^ {2}row 8 .*rounded.*\(invalid_format\)$/m);
    assert.match(stdout, /^example: row 2 to \+14155550101 \(1 segment, via simulator\)\n {4}Hello Ada!$/m);
    assert.ok(!existsSync(`${path}.results.csv`));
  });

  test("has its invalid and refused rows in the result file, and formulas as texts", async () => {
    const path = fileOf("recipient,body\n+14155550101,one\n=cmd(),two\n+15005550004,opted out\n");
    const { code } = await send(["--csv", path, "--yes"]);
    assert.equal(code, 1);
    assert.deepEqual(
      resultsOf(path).map(([, recipient, status, , , error]) => [recipient, status, error]),
      [
        ["+14155550101", "accepted", ""],
        ["'=cmd()", "invalid", "invalid_format"],
        ["+15005550004", "refused", "recipient_opted_out"],
      ],
    );
  });

  test("with the same settings is sent once in a day, and again with another send id", async () => {
    const path = fileOfNumbers(3);
    const reference = `twice-${randomUUID()}`;
    const args = ["--csv", path, "--body", "hello", "--reference", reference, "--yes"];
    const first = await send(args);
    assert.equal(first.code, 0, first.stderr);
    assert.match((await send(args)).stderr, /exists: that send is complete, --results FILE begins another one/);
    const second = await send([...args, "--results", `${path}.second`]);
    assert.equal(second.code, 0);
    assert.match(second.stderr, /^3 rows were accepted before, .* not sent again/m);
    assert.equal((await sentTo(reference)).size, 3);
    assert.deepEqual([...(await sentTo(reference)).values()], [1, 1, 1], "the second time is a replay");
    assert.equal((await send([...args, "--results", `${path}.third`, "--send-id", "again"])).code, 0);
    assert.deepEqual([...(await sentTo(reference)).values()], [2, 2, 2]);
  });

  test("is sent by a key that may only send: the headings name the variables", async () => {
    const weak = await godwit.key({ scopes: ["messages:send"] });
    const path = fileOf("recipient,name\n+14155550101,Ada\n");
    const name = await template("Hello {{name}}!");
    const { code, stderr } = await send(["--csv", path, "--template", name, "--yes"], { GODWIT_KEY: weak });
    assert.equal(code, 0, stderr);
  });

  test("waits for the quota, and every row is accepted", async () => {
    await godwit.key({ account: "limited" });
    const limited = await godwit.key({ account: "limited" });
    // The burst of the sandbox is 50 requests, and 1,000 rows cost 20.
    const path = fileOfNumbers(4_000);
    const { code, stdout, stderr } = await send(["--csv", path, "--body", "hello", "--yes", "--json"], { GODWIT_KEY: limited });
    assert.equal(code, 0, stderr);
    assert.equal((JSON.parse(stdout) as Json)["accepted"], 4_000);
  });
});

const FAULTY: readonly (readonly [name: string, text: string | Buffer, args: readonly string[], message: RegExp])[] = [
  ["no column with the recipient", "name\nAda\n", ["--body", "x"], /no column has the recipient/],
  ["no text", "recipient\n+14155550101\n", [], /neither a text, a template nor a column/],
  ["an unknown column in the mapping", "recipient\n+1\n", ["--body", "x", "--map", "Mobile=recipient"], /there is no column "Mobile"/],
  ["a placeholder in the text", "recipient\n+1\n", ["--body", "Hello {{name}}"], /create a template/],
  ["UTF-16", Buffer.from("recipient\n", "utf16le"), ["--body", "x"], /line 1: .*UTF-16/],
  ["a quotation mark that is not closed", 'recipient\n+14155550101\n"+1', ["--body", "x"], /line 3: a quotation mark is not closed/],
  ["an empty file", "", ["--body", "x"], /is empty/],
];

test("an unknown template gets a suggestion, and nothing is sent", async () => {
  const name = await template("Hello");
  const path = fileOf("recipient\n+14155550101\n");
  const { code, stderr } = await send(["--csv", path, "--template", `${name}x`, "--yes"]);
  assert.equal(code, 1);
  assert.match(stderr, new RegExp(`No such template in this environment; did you mean ${name}\\?`));
  assert.ok(!existsSync(`${path}.results.csv`));
});

for (const [name, text, args, message] of FAULTY)
  test(`a file with ${name} sends nothing`, async () => {
    const path = fileOf(text);
    const { code, stderr } = await send(["--csv", path, ...args, "--yes"]);
    assert.ok(code === 1 || code === 2);
    assert.match(stderr, message);
    assert.ok(!existsSync(`${path}.results.csv`));
  });

describe("a send that stops", { concurrency: 1 }, () => {
  type Proxy = { url: string; server: Server; batches: number };

  /** Passes requests on to the service. `onBatch` gets the number of a batch that the service has executed, and decides whether the
   *  response is lost. */
  async function proxy(onBatch: (count: number) => "lost" | void): Promise<Proxy> {
    const server = bodyServer((request, body, response) => {
      const { authorization = "", "idempotency-key": idempotencyKey = "" } = request.headers;
      const headers = {
        authorization,
        ...(body === "" ? {} : { "content-type": "application/json" }),
        ...(idempotencyKey === "" ? {} : { "idempotency-key": String(idempotencyKey) }),
      };
      const method = request.method ?? "GET";
      void (async () => {
        const reply = await fetch(`${godwit.url}${request.url}`, { method, headers, ...(body === "" ? {} : { body }) });
        const text = await reply.text();
        const isBatch = method === "POST" && request.url === "/v1/batches";
        if (isBatch && onBatch((state.batches += 1)) === "lost") return;
        response.writeHead(reply.status, Object.fromEntries(reply.headers)).end(text);
      })();
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const state: Proxy = { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, server, batches: 0 };
    return state;
  }

  const close = ({ server }: Proxy): void => {
    server.close();
    server.closeAllConnections();
  };

  test("by kill -9 after a batch whose response is lost continues with every row sent once", { timeout: LIMIT_MS }, async () => {
    const path = fileOfNumbers(4_500);
    const reference = `killed-${randomUUID()}`;
    let run: Run | undefined;
    const between = await proxy((count) => {
      if (count !== 3) return undefined;
      run?.child.kill("SIGKILL");
      return "lost";
    });
    run = spawnGodwit(["send", "--csv", path, "--body", "hello", "--reference", reference, "--yes"], {
      GODWIT_URL: between.url,
      GODWIT_KEY: key,
    });
    await run.exit;
    close(between);
    assert.equal((await sentTo(reference)).size, 3_000, "the third batch was executed");
    assert.equal(resultsOf(path).length, 2_000, "and its response was lost");

    const other = await send(["--csv", path, "--resume", "--body", "bye"]);
    assert.equal(other.code, 2);
    assert.match(other.stderr, /--body cannot change a send that has begun/);
    const { code, stdout, stderr } = await send(["--csv", path, "--resume", "--json"]);
    assert.equal(code, 0, stderr);
    assert.equal((JSON.parse(stdout) as Json)["accepted"], 4_500);
    const sent = await sentTo(reference);
    assert.deepEqual([sent.size, Math.max(...sent.values())], [4_500, 1]);
    const rows = resultsOf(path);
    assert.deepEqual(
      rows.map(([row]) => Number(row)),
      Array.from({ length: 4_500 }, (_, at) => at + 2),
    );
    const stored = await godwit.rows<{ count: number }>("select count(*)::int as count from messages where client_reference = $1", [
      reference,
    ]);
    assert.equal(stored[0]?.count, new Set(rows.map((cells) => cells[3])).size, "the result file has the id of every message");
    assert.match((await send(["--csv", path, "--resume"])).stderr, /the send is complete/);
  });

  test("by Ctrl-C pauses after the batch on its way, and continues", { timeout: LIMIT_MS }, async () => {
    const path = fileOfNumbers(2_500);
    const reference = `paused-${randomUUID()}`;
    let run: Run | undefined;
    const between = await proxy((count) => void (count === 1 && run?.child.kill("SIGINT")));
    run = spawnGodwit(["send", "--csv", path, "--body", "hello", "--reference", reference, "--yes"], {
      GODWIT_URL: between.url,
      GODWIT_KEY: key,
    });
    assert.equal(await run.exit, 3);
    close(between);
    // The next batch may be on its way when the process reads the signal.
    const [, last] =
      run.output.map((line) => /^paused after row (1001|2001): godwit send --csv .* --resume continues$/.exec(line)).find(Boolean) ?? [];
    assert.equal(resultsOf(path).length, Number(last) - 1, run.output.join("\n"));
    assert.equal((await send(["--csv", path, "--resume"])).code, 0);
    const sent = await sentTo(reference);
    assert.deepEqual([sent.size, Math.max(...sent.values())], [2_500, 1]);
  });

  test("for more than a day does not guess whether its last batch was accepted", { timeout: LIMIT_MS }, async () => {
    const path = fileOfNumbers(1_500);
    const reference = `late-${randomUUID()}`;
    let run: Run | undefined;
    const between = await proxy((count) => {
      if (count !== 1) return undefined;
      run?.child.kill("SIGKILL");
      return "lost";
    });
    run = spawnGodwit(["send", "--csv", path, "--body", "hello", "--reference", reference, "--yes"], {
      GODWIT_URL: between.url,
      GODWIT_KEY: key,
    });
    await run.exit;
    close(between);
    const state = `${path}.results.csv.state`;
    const journal = JSON.parse(readFileSync(state, "utf8")) as { pending: { startedAtMs: number } };
    writeFileSync(state, JSON.stringify({ ...journal, pending: { ...journal.pending, startedAtMs: Date.now() - 25 * 3_600_000 } }));
    const asked = await send(["--csv", path, "--resume"]);
    assert.equal(asked.code, 3);
    assert.match(asked.stderr, /rows 2 to 1001 were being sent at .*--unconfirmed skip if it exists/s);
    assert.equal((await send(["--csv", path, "--resume", "--unconfirmed", "skip"])).code, 1);
    assert.deepEqual(
      [resultsOf(path).filter(([, , status]) => status === "unknown").length, (await sentTo(reference)).size],
      [1_000, 1_500],
    );
  });

  test("because its file has changed is not continued", async () => {
    const path = fileOfNumbers(2);
    assert.equal((await send(["--csv", path, "--body", "hello", "--yes"])).code, 0);
    const state = `${path}.results.csv.state`;
    writeFileSync(state, JSON.stringify({ ...(JSON.parse(readFileSync(state, "utf8")) as Json), isComplete: false }));
    writeFileSync(path, "recipient\n+14155550199\n");
    const { code, stderr } = await send(["--csv", path, "--resume"]);
    assert.equal(code, 1);
    assert.match(stderr, /has changed since the send began/);
  });

  test("because the service refuses the settings can begin again", async () => {
    const path = fileOfNumbers(2);
    const { code, stderr } = await send(["--csv", path, "--body", "hello", "--ttl", "1s", "--yes"]);
    assert.equal(code, 1);
    assert.match(stderr, /ttl_seconds/);
    assert.match(stderr, /nothing was sent/);
    assert.equal((await send(["--csv", path, "--body", "hello", "--yes"])).code, 0);
  });
});

test("the messages of a send that are scheduled can be canceled together", async () => {
  const path = fileOfNumbers(1_200);
  const at = new Date(Date.now() + 3_600_000).toISOString();
  const reference = `canceled-${randomUUID()}`;
  assert.equal((await send(["--csv", path, "--body", "hello", "--send-at", at, "--reference", reference, "--yes"])).code, 0);
  const { code, stdout, stderr } = await send(["--csv", path, "--cancel", "--json"]);
  assert.equal(code, 0, stderr);
  assert.deepEqual(JSON.parse(stdout), { object: "bulk_cancellation", canceled: 1_200, too_late: 0 });
  const statuses = await godwit.rows("select distinct status from messages where client_reference = $1", [reference]);
  assert.deepEqual(statuses, [{ status: "canceled" }]);
});
