/** `godwit api`: any request to the API of a running service, with its response on the output. */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, before, test } from "node:test";
import type { Json } from "../support/client.ts";
import { freePort } from "../support/free-port.ts";
import { runGodwit, startGodwit, type Godwit } from "../support/harness.ts";

type Result = Awaited<ReturnType<typeof runGodwit>>;

let godwit: Godwit;
let key: string;
before(async () => {
  godwit = await startGodwit();
  key = await godwit.key();
  await godwit.unlimited();
});
after(() => godwit.stop());

const api = (args: readonly string[], stdin?: string): Promise<Result> =>
  runGodwit(["api", ...args], { GODWIT_URL: godwit.url, GODWIT_KEY: key }, stdin);

/** Runs a command that must succeed and print only JSON. */
async function json(args: readonly string[], stdin?: string): Promise<Json> {
  const { code, stdout, stderr } = await api([...args, "--json"], stdin);
  assert.equal(code, 0, stderr);
  assert.equal(stderr, "");
  assert.equal(stdout.trimEnd().split("\n").length, 1);
  return JSON.parse(stdout) as Json;
}

test("a record is created, read, changed and deleted", async () => {
  const name = `hello_${randomUUID().slice(0, 8)}`;
  const body = { name, language: "en", category: "utility", channels: ["sms"], body: "Hello {{name}}" };
  assert.equal((await json(["POST", "/v1/templates", "--data", JSON.stringify(body)]))["name"], name);
  const changed = await json(["PATCH", `/v1/templates/${name}`, "--data", "-"], JSON.stringify({ body: "Bye {{name}}" }));
  assert.equal(changed["body"], "Bye {{name}}");
  const shown = await api(["GET", `/v1/templates/${name}`]);
  assert.match(shown.stdout, /^ {2}"body": "Bye \{\{name\}\}",$/m, "people get one field on each line");
  assert.equal((await json(["DELETE", `/v1/templates/${name}`]))["status"], "archived");
});

test("a message is sent with an idempotency key, and canceled", async () => {
  const body = { recipient: "+14155550123", channel: "sms", body: "hello", send_at: new Date(Date.now() + 3_600_000).toISOString() };
  const { id } = await json(["POST", "/v1/messages", "--data", JSON.stringify(body)]);
  assert.equal((await json(["POST", `/v1/messages/${String(id)}/cancel`]))["status"], "canceled");
  const again = await api(["POST", `/v1/messages/${String(id)}/cancel`]);
  assert.equal(again.code, 1);
  assert.match(again.stderr, /^godwit: 422 message_not_cancelable/);
});

test("--all reads every page of a list, and prints a record on each line", async () => {
  const reference = randomUUID();
  const items = Array.from({ length: 130 }, () => ({
    recipient: "+14155550123",
    channel: "sms",
    body: "x",
    client_reference: reference,
  }));
  const batch = await godwit.request("POST", "/v1/batches", { key, idempotencyKey: randomUUID(), body: { items } });
  assert.equal(batch.status, 202, batch.text);
  const { code, stdout, stderr } = await api(["GET", `/v1/messages?client_reference=${reference}`, "--all"]);
  assert.equal(code, 0, stderr);
  const ids = stdout
    .trimEnd()
    .split("\n")
    .map((line) => (JSON.parse(line) as Json)["id"]);
  assert.deepEqual([ids.length, new Set(ids).size], [130, 130]);
});

test("a refused request exits with 1, with the problem on the output of --json", async () => {
  const { code, stdout, stderr } = await api(["GET", "/v1/messages/msg_01k9zs3v8mf4tb2xg1qj6n0d5c", "--json"]);
  assert.equal(code, 1);
  assert.equal((JSON.parse(stdout) as Json)["code"], "not_found");
  assert.match(stderr, /^godwit: 404 not_found/);
});

const WRONG: readonly (readonly [args: readonly string[], says: RegExp])[] = [
  [[], /name the method, such as GET, and the path/],
  [["FETCH", "/v1/messages"], /name the method, such as GET, and the path/],
  [["GET", "v1/messages"], /the path begins with a slash/],
  [["GET", "@example.com/"], /the path begins with a slash/],
  [["POST", "/v1/messages", "--all"], /--all is for GET/],
  [["POST", "/v1/messages", "--data", "{"], /--data is not JSON/],
  [["GET", "/v1/messages", "--dta", "{}"], /there is no flag --dta; did you mean --data\?/],
];
test("wrong use exits with 2 and names the fault", async () => {
  for (const [args, says] of WRONG) {
    const { code, stderr } = await api(args);
    assert.equal(code, 2, args.join(" "));
    assert.match(stderr, says, args.join(" "));
  }
});

test("a service that cannot be reached exits with 1 and one sentence", async () => {
  const { code, stderr } = await runGodwit(["api", "GET", "/v1/messages"], { GODWIT_URL: "http://127.0.0.1:9", GODWIT_KEY: key });
  assert.equal(code, 1);
  assert.match(stderr, /^godwit: .*\(http:\/\/127\.0\.0\.1:9\)\n$/);
});

test("a read ends at once where no service runs, and a write is repeated with its key", async () => {
  const env = { GODWIT_URL: `http://127.0.0.1:${await freePort()}`, GODWIT_KEY: key };
  for (const args of [["api", "GET", "/v1/messages", "--all"], ["requests"], ["media", "list"]]) {
    const { code, stderr } = await runGodwit(args, env);
    assert.equal(code, 1, args.join(" "));
    assert.match(stderr, /^godwit: connect ECONNREFUSED \S+: is the service running\? godwit serve starts it \(\S+\)\n$/);
  }
  const { stderr } = await runGodwit(["send", "--to", "+14155550123", "--body", "x", "--timeout", "2s"], env);
  assert.match(stderr, /the next attempt follows in/);
});

test("without a key the command exits with 2, and names the variable", async () => {
  const { code, stderr } = await runGodwit(["api", "GET", "/v1/messages"], { GODWIT_URL: godwit.url });
  assert.equal(code, 2);
  assert.match(stderr, /GODWIT_KEY: is needed: create a key with: godwit keys create/);
});
