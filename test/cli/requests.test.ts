/** `godwit requests`: the request log as a table, and one request with its faults. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { until } from "../support/expect.ts";
import { runGodwit, startGodwit, type Godwit } from "../support/harness.ts";

let godwit: Godwit;
let key: string;
let refusedId: string;
let messageId: string;

const run = (...args: readonly string[]) => runGodwit(["requests", ...args], { GODWIT_URL: godwit.url, GODWIT_KEY: key });

before(async () => {
  godwit = await startGodwit({ timings: { requestLogMs: 20 } });
  key = await godwit.key();
  const refused = await godwit.request("POST", "/v1/messages", { key, body: { recipient: "+1", channel: "sms", body: "Hello" } });
  refusedId = refused.headers.get("x-request-id") ?? "";
  messageId = String((await godwit.send(key)).json["id"]);
  await until("both requests to be in the log", async () => (JSON.parse((await run("--json")).stdout) as { data?: [] }[]).length >= 2);
});
after(() => godwit.stop());

test("lists the requests that match the flags, the newest first", async () => {
  const { code, stdout, stderr } = await run("--since", "1h");
  assert.deepEqual([code, stderr], [0, ""]);
  const [head, first, second] = stdout.split("\n");
  assert.match(head ?? "", /^created_at +id +method +path +status +code +key +ms +message_id$/);
  assert.match(first ?? "", new RegExp(`POST +/v1/messages +202 +- .*${messageId}$`));
  assert.match(second ?? "", new RegExp(`${refusedId} +POST +/v1/messages +400 +invalid_request_payload`));
  for (const flags of [
    ["--status", "4xx"],
    ["--code", "invalid_request_payload"],
    ["--status", "400", "--method", "post"],
  ])
    assert.match((await run(...flags)).stdout, new RegExp(`^.*\n\\S+ +${refusedId} .*\n$`), flags.join(" "));
  const { key: used } = JSON.parse((await run(refusedId, "--json")).stdout) as { key: { id: string } };
  assert.match((await run("--by-key", used.id)).stdout, new RegExp(`${refusedId} `));
  assert.equal((await run("--by-key", "key_01k9zs3v8mf4tb2xg1qj6n0d5c")).stdout, "none\n");
  assert.doesNotMatch((await run("--message", messageId)).stdout, /invalid_request_payload/);
  assert.equal((await run("--operation", "getMessage")).stdout, "none\n");
});

test("prints one request with its faults and its masked body", async () => {
  const { code, stdout } = await run(refusedId);
  assert.equal(code, 0);
  assert.match(stdout, /^status +400$/m);
  assert.match(stdout, /^\/recipient +\S/m);
  assert.match(stdout, /^body +\{"recipient":"\[2 characters\]","channel":"sms","body":"\[5 characters\]"\}$/m);
  assert.equal((JSON.parse((await run(refusedId, "--json")).stdout) as { id: string }).id, refusedId);
});

test("explains a wrong id, a wrong limit, and a request that is not in the log", async () => {
  const wrong = await run("msg_1");
  assert.deepEqual([wrong.code, /complete id, req_/.test(wrong.stderr)], [2, true], wrong.stderr);
  assert.equal((await run("--limit", "1000")).code, 2);
  const absent = await run("req_01k9zs3v8mf4tb2xg1qj6n0d5c");
  assert.equal(absent.code, 1);
  assert.match(absent.stderr, /404 not_found: .*\n +No such request in the log/);
});
