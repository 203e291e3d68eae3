/** `godwit find`: what it finds, what it shows, and what the audit logs say afterwards. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { acceptedBatch, clientOf, clientOfAccount, DEFAULTS, items, newRecipient, type Client, type Json } from "../support/client.ts";
import { runGodwit, SECRET_KEY, startGodwit, type Godwit, type Reply } from "../support/harness.ts";

let godwit: Godwit;
let house: Client;
let bank: Client;
before(async () => {
  godwit = await startGodwit({ roles: "api,dispatch", simulatorSpeed: 100 });
  await godwit.unlimited();
  house = clientOf(godwit, await godwit.key());
  bank = await clientOfAccount(godwit, "bank");
});
after(() => godwit.stop());

const run = (...args: readonly string[]) =>
  runGodwit(["find", ...args], { DATABASE_URL: godwit.databaseUrl ?? "", GODWIT_SECRET_KEY: SECRET_KEY });

async function find(...args: readonly string[]): Promise<Json[]> {
  const { code, stdout, stderr } = await run(...args, "--json");
  assert.equal(code, 0, stderr);
  return JSON.parse(stdout) as Json[];
}

const requestOf = ({ headers }: Reply): string => headers.get("x-request-id") ?? assert.fail();
const idsOf = (records: readonly Json[]): unknown[] => records.map(({ id }) => id);

/** The audit entries of an account, or of the installation, about searches, the oldest first. */
const searchesOf = async (account: string): Promise<Json[]> => {
  const args = ["audit", "list", "--account", account, "--action", "message.searched", "--json"];
  const { stdout } = await runGodwit(args, { DATABASE_URL: godwit.databaseUrl ?? "", GODWIT_SECRET_KEY: SECRET_KEY });
  return (JSON.parse(stdout) as Json[]).toReversed();
};

describe("a message is found", () => {
  test("by its id, with its account, its status and masked numbers, and without its text", async () => {
    const recipient = newRecipient();
    const { id } = await bank.messages.send({ recipient, body: "a secret of the bank" });
    await bank.messages.reached(id, "delivered");
    const { stdout } = await run(String(id), "--json");
    const [found, ...others] = JSON.parse(stdout) as Json[];
    assert.deepEqual(others, []);
    assert.deepEqual(
      [found?.["id"], found?.["account"], found?.["environment"], found?.["status"], found?.["link"]],
      [id, "bank", "test", "delivered", "simulator"],
    );
    assert.equal(found?.["recipient"], `${recipient.slice(0, 4)}…${recipient.slice(-2)}`);
    assert.ok(!stdout.includes(recipient) && !stdout.includes("secret of the bank"), stdout);
    const [shown] = await find(String(id), "--numbers");
    assert.equal(shown?.["recipient"], recipient);
  });

  test("by the id of its request, also in a batch and a verification", async () => {
    const sent = await house.messages.post({ recipient: newRecipient() });
    assert.deepEqual(idsOf(await find(requestOf(sent))), [sent.json["id"]]);
    const batch = await bank.batches.post({ defaults: DEFAULTS, items: items(3) });
    const { results } = acceptedBatch(batch);
    assert.deepEqual(idsOf(await find(requestOf(batch))), results.map(({ message_id: id }) => id).toReversed());
    const verification = await bank.verifications.start({ channel: "sms" });
    assert.deepEqual(idsOf(await find(requestOf(verification))), [verification.json["message_id"]]);
    // A refused request has created none.
    const refused = await house.messages.post({ recipient: "12" });
    const none = await run(requestOf(refused), "--json");
    assert.deepEqual([none.code, none.stdout], [1, "[]\n"]);
    assert.match(none.stderr, /^no message is of this request; godwit requests shows whether it was refused$/m);
  });

  test("by a number, in all accounts, as the recipient and as the sender of inbound messages, page by page", async () => {
    const person = newRecipient();
    const ids: unknown[] = [];
    for (const client of [house, bank, house]) ids.unshift((await client.messages.send({ recipient: person }))["id"]);
    assert.deepEqual(idsOf(await find(person)), ids);
    const first = await run(person, "--limit", "2", "--json");
    assert.deepEqual(idsOf(JSON.parse(first.stdout) as Json[]), ids.slice(0, 2));
    assert.match(first.stderr, new RegExp(`there are more: --before ${String(ids[1])}`));
    assert.deepEqual(idsOf(await find(person, "--before", String(ids[1]))), ids.slice(2));
    const writer = newRecipient();
    const inbound = "01990000-0000-7000-8000-000000000001";
    await godwit.rows(
      `insert into messages (account_id, environment, id, direction, channel, recipient, sender, inbound_sender, status, sequence, priority,
                             updated_at)
       select account_id, 'test', $2, 'inbound', 'sms', '+14155550199', $1, $1, 'received', 1, 'normal', now()
         from environments limit 1`,
      [writer, inbound],
    );
    assert.deepEqual(
      (await find(writer)).map(({ direction }) => direction),
      ["inbound"],
    );
    assert.equal((await find("+14155550199")).length, 1);
  });

  test("by the id of the carrier", async () => {
    const { id } = await bank.messages.send({ recipient: newRecipient() });
    const { provider } = await bank.messages.reached(id, "delivered");
    assert.deepEqual(idsOf(await find(String((provider as Json)["message_id"]))), [id]);
  });
});

test("the timeline of the only message that is found follows, without what the carrier wrote", async () => {
  // The simulator does not deliver to this number.
  const { id } = await bank.messages.send({ recipient: "+15005550005" });
  await bank.messages.reached(id, "undelivered");
  const [found] = await find(String(id));
  const timeline = found?.["timeline"] as Json[];
  assert.deepEqual(
    timeline.map(({ type, status }) => [type, status]),
    ["queued", "sending", "sent", "undelivered"].map((status) => [`message.${status}`, status]),
  );
  assert.ok(timeline.every(({ created_at: at }) => new Date(String(at)).getTime() > 0));
  assert.deepEqual([timeline[2]?.["outcome"], timeline[2]?.["attempt"], timeline[2]?.["link"]], ["accepted", 1, "simulator"]);
  assert.ok(!JSON.stringify(timeline).includes("15005550005"));
  const { stdout } = await run(String(id));
  assert.match(stdout, /\n\ncreated_at +type .*\n.* message\.queued .*\n(.*\n)*.* message\.undelivered /);
});

describe("a list of messages", () => {
  test("has those of all accounts with a status, an error code and a link, the newest first, page by page, and is in the audit logs", async () => {
    const ids: unknown[] = [];
    for (const client of [house, bank, house, bank]) {
      const { id } = await client.messages.send({ recipient: "+15005550009" });
      await client.messages.send({ recipient: newRecipient() });
      await client.messages.reached(id, "undelivered");
      ids.unshift(id);
    }
    const filters = ["--status", "undelivered", "--error", "landline_unreachable", "--link", "simulator"];
    const first = await run(...filters, "--limit", "3", "--json");
    const page = JSON.parse(first.stdout) as Json[];
    assert.deepEqual([idsOf(page), page.map(({ account }) => account)], [ids.slice(0, 3), ["bank", page[1]?.["account"], "bank"]]);
    assert.match(first.stderr, new RegExp(`there are more: --before ${String(ids[2])}`));
    assert.deepEqual(idsOf(await find(...filters, "--before", String(ids[2]), "--limit", "1")), ids.slice(3));
    assert.deepEqual(await find("--status", "undelivered", "--link", "other"), []);
    assert.deepEqual(await find("--error", "no_such_code", "--since", "7d"), []);
    const { changes } = (await searchesOf("bank")).at(-1) ?? assert.fail();
    const { by, status, link, numbers_shown, messages } = changes as Json;
    assert.deepEqual([by, status, link, numbers_shown, messages], ["filter", "undelivered", "simulator", false, [ids[0], ids[2]]]);
  });

  test("has only messages of the time of --since", async () => {
    const old = "01990000-0000-7000-8000-000000000002";
    await godwit.rows(
      `insert into messages (account_id, environment, id, direction, channel, recipient, status, sequence, priority, updated_at)
       select account_id, 'test', $1, 'outbound', 'sms', '+14155550198', 'expired', 1, 'normal', now()
         from environments limit 1`,
      [old],
    );
    assert.deepEqual(await find("--status", "expired", "--since", "7d"), []);
  });
});

test("a search is recorded in the logs of the installation and of the accounts that it returned messages of, without a number", async () => {
  const quiet = await clientOfAccount(godwit, "quiet");
  const person = newRecipient();
  const { id } = await bank.messages.send({ recipient: person });
  await quiet.messages.send({ recipient: newRecipient() });
  const earlier = (await searchesOf("installation")).length;
  await find(person, "--numbers");
  await find(newRecipient());
  const [installation, account = assert.fail()] = [(await searchesOf("installation")).slice(earlier), (await searchesOf("bank")).at(-1)];
  assert.deepEqual(
    installation.map(({ target, changes }) => [target, changes]),
    [
      [
        { type: "message", id: null },
        { by: "number", numbers_shown: true, found: 1 },
      ],
      [
        { type: "message", id: null },
        { by: "number", numbers_shown: false, found: 0 },
      ],
    ],
  );
  assert.deepEqual(
    [account["environment"], account["target"], account["changes"]],
    ["test", { type: "message", id }, { by: "number", numbers_shown: true, messages: [id] }],
  );
  assert.equal((account["actor"] as Json)["type"], "cli");
  assert.ok(!JSON.stringify([installation, account]).includes(person.slice(1)));
  assert.deepEqual(await searchesOf("quiet"), []);
  // The customer reads the entry through the API.
  const { json } = await bank.request("GET", "/v1/audit_events?action=message.searched&limit=1");
  assert.equal((json["data"] as Json[])[0]?.["id"], account["id"]);
});

test("an unknown id exits with 1 and says so, and an empty list with 0", async () => {
  const unknown = await run("msg_01k9zs3v8mf4tb2xg1qj6n0d5c");
  assert.equal(unknown.code, 1);
  assert.match(unknown.stderr, /^there is no message with this id; messages are deleted after their retention$/m);
  assert.equal((await run("no-such-carrier-id")).code, 1);
  assert.deepEqual(await find(newRecipient()), []);
});

test("a wrong word or limit is refused before the database is opened", async () => {
  for (const [args, message] of [
    [[], /name the message/],
    [["--status", "lost"], /--status/],
    [["--status", "failed", "--since", "8d"], /--since must be 7d at most/],
    [["msg_01k9zs3v8mf4tb2xg1qj6n0d5c", "--link", "simulator"], /--link is for a list/],
    [["msg_1"], /no complete id/],
    [["req_1"], /no complete id/],
    [["+1415"], /no complete id, and no number/],
    [["x".repeat(513)], /no complete id/],
    [["+14155550123", "--limit", "101"], /--limit must be a whole number from 1 to 100/],
    [["+14155550123", "--before", "evt_1"], /--before must be the id of a message/],
  ] as const) {
    const { code, stderr } = await run(...args);
    assert.deepEqual([code, message.test(stderr)], [2, true], stderr);
  }
});
