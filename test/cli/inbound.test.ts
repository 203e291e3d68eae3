/** `godwit inbound`: lists what is kept, and assigns messages. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { runGodwit, SECRET_KEY, startGodwit, type Godwit } from "../support/harness.ts";

let godwit: Godwit;
let env: Record<string, string>;
before(async () => {
  godwit = await startGodwit();
  env = { DATABASE_URL: godwit.databaseUrl ?? "", GODWIT_SECRET_KEY: SECRET_KEY };
  await godwit.rows(
    `insert into kept_inbound (id, kind, link, provider, channel, provider_message_id, sender, recipient, body)
     values ('01980000-0000-7000-8000-000000000001', 'message', 'acme', 'smpp', 'sms', null, '+14155550123', '99999', 'START'),
            ('01980000-0000-7000-8000-000000000002', 'notification', 'wa', 'whatsapp', 'whatsapp', 'wamid.1', null, null, '{}')`,
  );
});
after(() => godwit.stop());

const run = (...args: readonly string[]) => runGodwit(["inbound", ...args], env);

test("what is kept is listed, the newest first", async () => {
  const { code, stdout } = await run("list", "--json");
  assert.equal(code, 0);
  const listed = JSON.parse(stdout) as Record<string, unknown>[];
  assert.deepEqual(
    listed.map(({ kind, link, sender, recipient, text }) => [kind, link, sender, recipient, text]),
    [
      ["notification", "wa", null, null, "{}"],
      ["message", "acme", "+14155550123", "99999", "START"],
    ],
  );
});

test("a content is one line of the table", async () => {
  const content = {
    type: "media",
    caption: "at the door",
    is_voice: false,
    files: [{ kind: "image", carrierFile: "4711", fileName: null }],
  };
  await godwit.rows(
    `insert into kept_inbound (id, kind, link, provider, channel, sender, recipient, body, content)
     values ('01980000-0000-7000-8000-000000000003', 'message', 'wa', 'whatsapp', 'whatsapp', '+14155550123', '99999', 'at the door', $1)`,
    [JSON.stringify(content)],
  );
  const { stdout } = await run("list");
  assert.match(stdout, /at the door +media image "at the door" /);
  await godwit.rows("delete from kept_inbound where id = '01980000-0000-7000-8000-000000000003'");
});

test("a message is assigned once, and only with an account that exists", async () => {
  const listed = JSON.parse((await run("list", "--json")).stdout) as { id: string; kind: string }[];
  const idOf = (kind: string): string => listed.find((each) => each.kind === kind)?.id ?? assert.fail();
  for (const [args, message] of [
    [["assign", "inb_1", "--account", "default"], /name the message by its id/],
    [["assign", idOf("message")], /--account is required/],
    [["assign", idOf("message"), "--account", "nobody"], /no account nobody/],
    [["assign", idOf("message"), "--account", "default", "--environment", "other"], /--environment must be test or live/],
    [["assign", idOf("notification"), "--account", "default"], /is a notification/],
  ] as const) {
    const { code, stderr } = await run(...args);
    assert.deepEqual([code, message.test(stderr)], [2, true], stderr);
  }
  const assigned: string[] = [];
  for (let time = 0; time < 2; time += 1) {
    const { code, stdout, stderr } = await run("assign", idOf("message"), "--account", "default", "--json");
    assert.equal(code, 0, stderr);
    assigned.push(stdout);
  }
  assert.equal(assigned[0], assigned[1]);
  const rows = await godwit.rows("select environment, body, link from messages where direction = 'inbound'");
  assert.deepEqual(rows, [{ environment: "live", body: "START", link: "acme" }]);
  const elsewhere = await run("assign", idOf("message"), "--account", "default", "--environment", "test");
  assert.deepEqual([elsewhere.code, /another account or environment/.test(elsewhere.stderr)], [2, true]);
  const key = await godwit.key({ environment: "live" });
  const { json } = await godwit.request("GET", "/v1/audit_events?action=message.assigned", { key });
  assert.equal((json["data"] as unknown[]).length, 1);
});
