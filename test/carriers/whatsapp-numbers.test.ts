/** Several numbers of one Meta app, whose callbacks all come to the URL of one link. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { MAX_KEPT_MESSAGES } from "../../src/delivery/kept-inbound.ts";
import { decodeId } from "../../src/model/id.ts";
import { until } from "../support/expect.ts";
import { FakeGraph, graphCall, GRAPH_SECRETS, graphSignature, status } from "../support/fakes/graph.ts";
import { startGodwit, type Godwit } from "../support/harness.ts";

const SECRETS = {
  TOKEN: GRAPH_SECRETS.accessToken,
  APP: GRAPH_SECRETS.appSecret,
  VERIFY: GRAPH_SECRETS.verifyToken,
  OTHER_APP: "the secret of another app",
};

let graph: FakeGraph;
let godwit: Godwit;
let key: string;
before(async () => {
  graph = await new FakeGraph().listen();
  const link = (name: string, id: string, secret = "APP"): string =>
    `[[link]]\nname = "${name}"\nprovider = "whatsapp"\nbase_url = "${graph.url}"\nphone_number_id = "${id}"\n` +
    `access_token_env = "TOKEN"\napp_secret_env = "${secret}"\nverify_token_env = "VERIFY"\n`;
  const sender = (number: string, name: string): string =>
    `[[sender]]\nnumber = "${number}"\nlink = "${name}"\naccount = "default"\nenvironment = "live"\n`;
  const links = link("wa", "1001") + link("wa2", "2002") + link("apart", "3003", "OTHER_APP");
  const senders = sender("+14155550001", "wa") + sender("+14155550002", "wa2") + sender("+14155550003", "apart");
  godwit = await startGodwit({ roles: "api,dispatch", config: links + senders, env: SECRETS });
  await godwit.unlimited();
  key = await godwit.key({ environment: "live" });
});
after(async () => {
  await godwit.stop();
  await graph.close();
});

const callAbout = (id: string, number: string, value: object): string =>
  graphCall({ metadata: { display_phone_number: number.slice(1), phone_number_id: id }, ...value });

/** Calls the URL of the first link. Returns the status of the response. */
async function post(body: string): Promise<number> {
  const headers = { "content-type": "application/json", "x-hub-signature-256": graphSignature(body) };
  return (await fetch(`${godwit.url}/providers/whatsapp/wa`, { method: "POST", headers, body })).status;
}

const notify = async (id: string, number: string, value: object): Promise<void> =>
  assert.equal(await post(callAbout(id, number, value)), 200);

type Sent = { id: string; carrierId: string; recipient: string };

let people = 0;
async function send(sender: string): Promise<Sent> {
  people += 1;
  const recipient = `+1415555${1_000 + people}`;
  const { json, text } = await godwit.send(key, { channel: "whatsapp", recipient, sender, body: "Hello" });
  const path = `/v1/messages/${String(json["id"])}`;
  const sent = await until(`the message to be sent: ${text}`, async () => {
    const message = (await godwit.request("GET", path, { key })).json;
    return message["status"] === "sent" ? message : undefined;
  });
  return { id: String(json["id"]), carrierId: (sent["provider"] as { message_id: string }).message_id, recipient };
}

const statusOf = async ({ id }: Sent): Promise<unknown> => (await godwit.request("GET", `/v1/messages/${id}`, { key })).json["status"];
const delivered = ({ id, carrierId, recipient }: Sent, reference = id) => ({
  statuses: [status(carrierId, recipient.slice(1), reference, "delivered")],
});
const text = (from: string, body: string, id: string) => ({
  messages: [{ from: from.slice(1), id, timestamp: "1749416383", type: "text", text: { body } }],
});
const kept = (kind: string): Promise<{ body: string; sender: string; link: string }[]> =>
  godwit.rows("select body, sender, link from kept_inbound where kind = $1 order by id", [kind]);

describe("the callback URL of an app", () => {
  test("takes the receipts of all its numbers", async () => {
    const message = await send("+14155550002");
    await notify("2002", "+14155550002", delivered(message));
    assert.equal(await statusOf(message), "delivered");
  });

  test("takes the messages to all its numbers, with their opt-outs", async () => {
    const { recipient } = await send("+14155550002");
    await notify("2002", "+14155550002", text(recipient, "STOP", "wamid.stop"));
    const [inbound] = await godwit.rows("select link, recipient from messages where direction = 'inbound' and sender = $1", [recipient]);
    assert.deepEqual(inbound, { link: "wa2", recipient: "+14155550002" });
    const again = await godwit.send(key, { channel: "whatsapp", recipient, sender: "+14155550002", body: "Hello" });
    assert.equal(again.json["code"], "recipient_opted_out");
  });

  test("takes the button of a template that ends marketing messages as an opt-out", async () => {
    const { recipient, carrierId } = await send("+14155550002");
    // Meta puts the label of the button into both fields.
    const button = { text: "Stop promotions", payload: "Stop promotions" };
    const context = { from: "14155550002", id: carrierId };
    const message = { from: recipient.slice(1), id: "wamid.button", timestamp: "1749416383", type: "button", button, context };
    await notify("2002", "+14155550002", { messages: [message] });
    const again = await godwit.send(key, { channel: "whatsapp", recipient, sender: "+14155550002", body: "Hello" });
    assert.equal(again.json["code"], "recipient_opted_out");
  });

  test("takes a receipt of a number without a link, where it names a message of ours", async () => {
    const message = await send("+14155550002");
    await notify("9009", "+14155550009", delivered(message));
    assert.equal(await statusOf(message), "delivered");
  });

  test("takes no receipt for a message of another app, and keeps it", async () => {
    const message = await send("+14155550003");
    const already = (await kept("notification")).length;
    await notify("9009", "+14155550009", delivered(message));
    assert.equal(await statusOf(message), "sent");
    assert.equal((await kept("notification")).length, already + 1);
  });

  test("stores what is about its own numbers once, while it cannot keep what is about a number without a link", async () => {
    const message = await send("+14155550002");
    const own = callAbout("2002", "+14155550002", { ...delivered(message), ...text(message.recipient, "Thank you", "wamid.thanks") });
    const strange = callAbout("9009", "+14155550009", text("+14155559997", "Hi", "wamid.strange"));
    const { entry: first, ...rest } = JSON.parse(own) as { entry: object[] };
    const both = JSON.stringify({ ...rest, entry: [...first, ...(JSON.parse(strange) as { entry: object[] }).entry] });
    await godwit.rows(
      `insert into kept_inbound (id, kind, link, provider, channel, sender, recipient, body)
       select gen_random_uuid(), 'message', 'wa', 'whatsapp', 'whatsapp', '+1', '+2', 'full' from generate_series(1, $1::integer)`,
      [MAX_KEPT_MESSAGES],
    );
    const stored = () =>
      godwit.rows(
        `select (select count(*)::integer from messages where direction = 'inbound' and body = 'Thank you') as messages,
                (select count(*)::integer from events where type = 'message.delivered' and message_id = $1 and not is_ignored) as receipts`,
        [decodeId("msg", message.id)],
      );
    for (const _ of [1, 2, 3]) {
      assert.equal(await post(both), 503);
      assert.deepEqual(await stored(), [{ messages: 1, receipts: 1 }]);
    }
    assert.equal(await post(own), 200, "without the other number");
    await godwit.rows("delete from kept_inbound where body = 'full'");
    assert.equal(await post(both), 200);
    assert.deepEqual(await stored(), [{ messages: 1, receipts: 1 }]);
    assert.deepEqual(await kept("message"), [{ body: "Hi", sender: "+14155559997", link: "wa" }]);
    await godwit.rows("delete from kept_inbound");
  });

  test("keeps what is about a number without a link, and reports it", async () => {
    await notify("9009", "+14155550009", {
      ...delivered({ id: "", carrierId: "wamid.x", recipient: "+14155559999" }),
      ...text("+14155559998", "Hi", "wamid.hi"),
    });
    const [notification] = (await kept("notification")).slice(-1);
    assert.deepEqual([notification?.sender, notification?.link], ["+14155559999", "wa"]);
    assert.equal((JSON.parse(notification?.body ?? "") as { id: string }).id, "wamid.x");
    assert.deepEqual(await kept("message"), [{ body: "Hi", sender: "+14155559998", link: "wa" }]);
    for (const event of ["delivery.notifications_kept", "delivery.inbound_unowned"] as const)
      await until(event, () => godwit.logs.some((line) => line.event === event));
  });

  test("keeps the newest thousand notifications", async () => {
    await godwit.rows(
      `insert into kept_inbound (id, kind, link, provider, channel, body)
       select gen_random_uuid(), 'notification', 'wa', 'whatsapp', 'whatsapp', 'old' from generate_series(1, 1100)`,
    );
    await godwit.rows("update kept_inbound set id = ('00000000' || right(id::text, 28))::uuid where body = 'old'");
    await notify("9009", "+14155550009", delivered({ id: "", carrierId: "wamid.newest", recipient: "+14155559999" }));
    const all = await kept("notification");
    assert.equal(all.length, 1_000);
    assert.match(all.at(-1)?.body ?? "", /wamid\.newest/);
  });
});
