/** The commands that show and change records through the API of a running service: messages, templates, webhooks, suppressions, events. */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, before, describe, test } from "node:test";
import type { Json } from "../support/client/request.ts";
import { until } from "../support/expect.ts";
import { runGodwit, startGodwit, type Godwit } from "../support/harness.ts";
import { ALLOW_LOOPBACK, HookServer } from "../support/hook-server.ts";

type Result = Awaited<ReturnType<typeof runGodwit>>;

const NO_MESSAGE = "msg_01k9zs3v8mf4tb2xg1qj6n0d5c";

let godwit: Godwit;
let key: string;
before(async () => {
  godwit = await startGodwit({ roles: "api,dispatch,webhooks", simulatorSpeed: 100, env: ALLOW_LOOPBACK });
  key = await godwit.key();
  await godwit.unlimited();
});
after(() => godwit.stop());

const run = (...args: string[]): Promise<Result> => runGodwit(args, { GODWIT_URL: godwit.url, GODWIT_KEY: key });

/** Runs a command that must succeed and print only JSON. */
async function json<T = Json>(...args: string[]): Promise<T> {
  const { code, stdout, stderr } = await run(...args, "--json");
  assert.equal(code, 0, stderr);
  assert.equal(stderr, "");
  return JSON.parse(stdout) as T;
}

async function sent(body: object = {}): Promise<string> {
  const reply = await godwit.send(key, body);
  assert.equal(reply.status, 202, reply.text);
  return String(reply.json["id"]);
}

describe("messages", () => {
  test("list has the newest messages with the columns that people need", async () => {
    const id = await sent({ client_reference: "table", body: "first line\nsecond line" });
    const { code, stdout, stderr } = await run("messages", "list", "--reference", "table");
    assert.equal(code, 0, stderr);
    const [header = "", row = ""] = stdout.split("\n");
    assert.match(header, /^id +status +channel +recipient +created_at +text$/);
    assert.ok(row.startsWith(`${id}  `) && row.endsWith("first line second line"), row);
    const wide = await run("messages", "list", "--reference", "table", "--wide");
    assert.match(wide.stdout, /client_reference/);
  });

  test("list follows the pages up to --limit or --all, and reports that there are more", async () => {
    const reference = randomUUID();
    for (let count = 0; count < 3; count += 1) await sent({ client_reference: reference });
    const list = (...flags: string[]): Promise<Json[]> => json<Json[]>("messages", "list", "--reference", reference, ...flags);
    assert.deepEqual([(await list("--limit", "2")).length, (await list("--all")).length], [2, 3]);
    const { stderr } = await run("messages", "list", "--reference", reference, "--limit", "2");
    assert.match(stderr, /there are more: use --limit or --all/);
    assert.deepEqual(await list("--until", "1d"), []);
    assert.equal((await list("--since", "1h", "--status", "canceled")).length, 0);
  });

  test("--all reads more than one page of the API", async () => {
    const reference = randomUUID();
    const items = Array.from({ length: 130 }, () => ({
      recipient: "+14155550123",
      channel: "sms",
      body: "x",
      client_reference: reference,
    }));
    const batch = await godwit.request("POST", "/v1/batches", { key, idempotencyKey: randomUUID(), body: { items } });
    assert.equal(batch.status, 202, batch.text);
    const listed = await json<Json[]>("messages", "list", "--reference", reference, "--all");
    assert.equal(new Set(listed.map(({ id }) => id)).size, 130);
  });

  test("get prints the message as in the API, and events its timeline", async () => {
    const id = await sent({ recipient: "+15005550002" });
    await until("the message to fail", async () => (await json("messages", "get", id))["status"] === "failed" || undefined);
    const { stdout } = await run("messages", "get", id);
    assert.match(stdout, new RegExp(`^id +${id}$`, "m"));
    assert.doesNotMatch(stdout, /delivered_at/, "fields without a value are left out");
    const types = (await json<Json[]>("messages", "events", id)).map(({ type }) => type);
    assert.ok(types.includes("message.failed") && types.includes("message.queued"), types.join());
    const timeline = await run("messages", "events", id);
    assert.match(timeline.stdout, /message\.failed +failed/);
  });

  test("cancel cancels a scheduled message, and fails for one that has been sent", async () => {
    const id = await sent({ send_at: new Date(Date.now() + 3_600_000).toISOString() });
    assert.equal((await json("messages", "cancel", id))["status"], "canceled");
    const again = await run("messages", "cancel", id);
    assert.equal(again.code, 1);
    assert.match(again.stderr, /^godwit: 422 message_not_cancelable/);
  });

  test("an unknown message exits with 1, with the problem on the output of --json", async () => {
    const { code, stdout, stderr } = await run("messages", "get", NO_MESSAGE, "--json");
    assert.equal(code, 1);
    assert.equal((JSON.parse(stdout) as Json)["code"], "not_found");
    assert.match(stderr, /^godwit: 404 not_found/);
  });
});

test("templates are listed by name and status, and shown by name", async () => {
  const name = `hello_${randomUUID().slice(0, 8)}`;
  const body = { name, language: "en", category: "utility", channels: ["sms"], body: "Hello {{name}}" };
  assert.equal((await godwit.request("POST", "/v1/templates", { key, body, idempotencyKey: randomUUID() })).status, 201);
  assert.equal((await json("templates", "get", name))["body"], "Hello {{name}}");
  assert.deepEqual(
    (await json<Json[]>("templates", "list", "--name", name)).map((each) => each["name"]),
    [name],
  );
  const { stdout } = await run("templates", "list", "--name", name, "--status", "approved");
  assert.match(stdout, new RegExp(`^${name} +approved +sms +en `, "m"));
});

describe("webhooks and events", () => {
  test("an endpoint is created with its secret, tested, shown and deleted", async () => {
    await using hooks = await HookServer.listen();
    const created = await run("webhooks", "create", hooks.url(), "--types", "message.*", "--description", "test");
    assert.equal(created.code, 0, created.stderr);
    assert.match(created.stdout, /^secret +whsec_\S+$/m);
    assert.match(created.stderr, /copy the secret now: it is shown only once/);
    const [id = ""] = /whe_[0-9a-z]{26}/.exec(created.stdout) ?? [];
    assert.deepEqual((await json("webhooks", "get", id))["event_types"], ["message.*"]);
    assert.match((await run("webhooks", "list")).stdout, new RegExp(`^${id} +enabled +${hooks.url()}`, "m"));

    const tested = await json("webhooks", "test", id);
    assert.deepEqual([tested["status"], tested["response_status"]], ["succeeded", 200]);
    assert.equal(hooks.calls.at(-1)?.type, "webhook.test");
    hooks.status = 500;
    const failed = await run("webhooks", "test", id);
    assert.equal(failed.code, 1, failed.stderr);
    assert.match(failed.stdout, /^response_status +500$/m);
    hooks.status = 200;

    const message = await sent();
    await until("the events of the message", () => hooks.calls.filter(({ body }) => body.includes(message)).length >= 4 || undefined);
    const events = await json<Json[]>("events", "list", "--message", message, "--type", "message.delivered");
    const event = String(events[0]?.["id"]);
    const calls = hooks.ids().filter((each) => each === event).length;
    const resent = await json<Json[]>("events", "resend", event);
    assert.deepEqual(
      resent.map(({ endpoint_id: endpoint }) => endpoint),
      [id],
    );
    await until("the second call", () => hooks.ids().filter((each) => each === event).length > calls || undefined);
    assert.match((await run("events", "deliveries", event)).stdout, new RegExp(`${id} +\\w+ +[12] +200$`, "m"));
    const nowhere = await run("events", "resend", event, "--endpoint", "whe_01k9zs3v8mf4tb2xg1qj6n0d5c");
    assert.equal(nowhere.code, 2);
    assert.match(nowhere.stderr, /has no delivery of this event/);

    assert.equal((await json("webhooks", "delete", id))["deleted"], true);
    assert.equal((await run("webhooks", "get", id)).code, 1);
  });

  test("a URL that the service refuses exits with 1 and the reason", async () => {
    const { code, stderr } = await run("webhooks", "create", "http://10.0.0.1/hooks");
    assert.equal(code, 1);
    assert.match(stderr, /endpoint_url_refused/);
  });

  test("events list has the subject, and get prints one event", async () => {
    const message = await sent();
    await until("the events", async () => (await json<Json[]>("events", "list", "--message", message)).length >= 4 || undefined);
    const { stdout } = await run("events", "list", "--message", message, "--since", "1h");
    assert.match(stdout, new RegExp(`message\\.queued +\\S+Z +${message} +\\+1415`));
    const [first] = await json<Json[]>("events", "list", "--message", message);
    assert.equal((await json("events", "get", String(first?.["id"])))["type"], first?.["type"]);
  });
});

test("suppressions are added, listed, and removed by id or by recipient", async () => {
  const [one, two] = ["+14155550198", "+14155550199"] as const;
  const added = await json("suppressions", "add", one, "--note", "by telephone");
  assert.deepEqual([added["status"], added["note"]], ["active", "by telephone"]);
  await json("suppressions", "add", two, "--sender", "ACME");
  assert.match((await run("suppressions", "list", "--recipient", one)).stdout, /\+14155550198 +all +active +api /);
  assert.equal((await godwit.send(key, { recipient: one })).json["code"], "recipient_opted_out");

  assert.equal((await json("suppressions", "remove", String(added["id"])))["status"], "lifted");
  const wrongSender = await run("suppressions", "remove", two);
  assert.equal(wrongSender.code, 2);
  assert.match(wrongSender.stderr, /there is no active suppression of \+14155550199 for all senders/);
  assert.equal((await json("suppressions", "remove", two, "--sender", "ACME"))["status"], "lifted");
});

const WRONG: readonly (readonly [args: string, says: RegExp])[] = [
  ["messages", /messages needs one of: list, get, cancel, events/],
  ["messages get", /name the message by its id, msg_…/],
  ["messages list --limit many", /--limit must be a whole number from 1, not many/],
  ["messages list --since yesterday", /--since must be a duration such as 2h, or a time/],
  ["webhooks create", /name the URL of the endpoint/],
  ["events list --typ x", /there is no flag --typ; did you mean --type\?/],
  ["suppressions add", /name the recipient/],
];
test("wrong use exits with 2 and names the fault", async () => {
  for (const [args, says] of WRONG) {
    const { code, stderr } = await run(...args.split(" "));
    assert.equal(code, 2, args);
    assert.match(stderr, says, args);
  }
});

test("a service that cannot be reached exits with 1 and one sentence", async () => {
  const { code, stderr } = await runGodwit(["messages", "list"], { GODWIT_URL: "http://127.0.0.1:9", GODWIT_KEY: key });
  assert.equal(code, 1);
  assert.match(stderr, /^godwit: .*\(http:\/\/127\.0\.0\.1:9\)\n$/);
});
