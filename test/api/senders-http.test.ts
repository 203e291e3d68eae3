/** Senders over HTTP: which sender and link a message gets and why, in its record and in a validation, with SMPP carriers. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { STATUS } from "../../src/providers/smpp/pdu.ts";
import { assertProblem, until } from "../support/expect.ts";
import { Smsc, type Script } from "../support/fakes/smsc.ts";
import { startGodwit, type Godwit, type Reply } from "../support/harness.ts";
import { PASSWORDS, smppTable } from "../support/smpp-messages.ts";

const senderTable = (number: string, more = ""): string =>
  `[[sender]]\nnumber = "${number}"\nlink = "first"\naccount = "default"\nenvironment = "live"\n${more}\n`;

const [ONE, TWO, NAME, SECOND] = ["+14155550101", "+14155550102", "Acme", "+14155550199"];
const REFUSED_ONCE = "+14155550155";
const REASONS = ["sender", "sender_reason", "link_reason"] as const;

describe("with two SMPP links", () => {
  let first: Smsc;
  let second: Smsc;
  let godwit: Godwit;
  let key: string;
  let refusals = 0;
  const refuseOnce: Script = {
    submit(submit, session) {
      const isRefused = `+${submit.short.destination.text}` === REFUSED_ONCE && refusals === 0;
      if (isRefused) refusals += 1;
      if (isRefused) session.refuse(submit, STATUS.systemError);
      else session.accept(submit, `first-${submit.sequence}`);
    },
  };
  before(async () => {
    [first, second] = [await Smsc.start(refuseOnce), await Smsc.start({})];
    const config = [
      smppTable("first", first, { sender: "12345" }),
      smppTable("second", second, { sender: SECOND }),
      senderTable(ONE, 'pool = "alerts"'),
      senderTable(TWO, 'pool = "alerts"'),
      senderTable(NAME, 'countries = ["DE"]'),
    ].join("");
    godwit = await startGodwit({ roles: "api,dispatch", config, env: PASSWORDS });
    await godwit.unlimited();
    key = await godwit.key({ environment: "live" });
    await until("both links are bound", () => (first.bound.length === 1 && second.bound.length === 1) || undefined);
  });
  after(async () => {
    await godwit.stop();
    await Promise.all([first.stop(), second.stop()]);
  });

  const read = async (id: unknown): Promise<Reply["json"]> => (await godwit.request("GET", `/v1/messages/${String(id)}`, { key })).json;
  const untilSent = (id: unknown): Promise<Reply["json"]> =>
    until(`${String(id)} is sent`, async () => [await read(id)].find(({ status }) => status === "sent"));
  async function send(fields: object): Promise<Reply["json"]> {
    const { status, json, text } = await godwit.send(key, { body: "Hello", ...fields });
    assert.equal(status, 202, text);
    return json;
  }
  const reasonsOf = (json: Reply["json"]): unknown[] => REASONS.map((name) => json[name]);
  const sourceTo = (smsc: Smsc, recipient: string): string[] =>
    smsc.submits.flatMap(({ short }) => (`+${short.destination.text}` === recipient ? [short.source.text] : []));

  test("the response and the record show the sender and the link, and why", async () => {
    const recipient = "+14155550133";
    const json = await send({ recipient });
    assert.ok([ONE, TWO].includes(String(json["sender"])));
    assert.deepEqual(reasonsOf(json).slice(1), ["pool", "file_order"]);
    assert.deepEqual(reasonsOf(await untilSent(json["id"])), reasonsOf(json));
    const again = await send({ recipient });
    assert.deepEqual(reasonsOf(again), [json["sender"], "sticky", "file_order"]);
    await untilSent(again["id"]);
    const source = String(json["sender"]).slice(1);
    assert.deepEqual(sourceTo(first, recipient), [source, source]);
  });

  test("a validation shows what the message would have", async () => {
    const validate = async (fields: object): Promise<unknown> => {
      const reply = await godwit.request("POST", "/v1/messages/validate", { key, body: { channel: "sms", body: "Hello", ...fields } });
      return reply.json["route"];
    };
    const recipient = "+4915112345678";
    const german = { provider: "smpp", link: "first", link_reason: "file_order", links: null, sender: NAME, sender_reason: "preferred" };
    assert.deepEqual(await validate({ recipient }), german);
    assert.deepEqual(await validate({ recipient, sender: SECOND }), {
      ...german,
      link: "second",
      link_reason: "sender",
      sender: SECOND,
      sender_reason: "named",
    });
    assert.deepEqual(reasonsOf(await send({ recipient })), [NAME, "preferred", "file_order"]);
  });

  test("a sender that is not for the country of the recipient is refused", async () =>
    assertProblem(await godwit.send(key, { recipient: "+14155550134", body: "Hello", sender: NAME }), "sender_not_allowed"));

  test("a sender that no link has is refused, with the list of senders", async () => {
    const refused = await godwit.send(key, { recipient: "+14155550134", body: "Hello", sender: "+14155559999" });
    assertProblem(refused, "sender_not_allowed");
    for (const sender of [ONE, TWO, NAME, SECOND, "12345"]) assert.ok(String(refused.json["detail"]).includes(sender), sender);
  });

  test("a sender that the request names is kept when its carrier refuses the message for now", async () => {
    const json = await send({ recipient: REFUSED_ONCE, sender: ONE });
    assert.deepEqual(reasonsOf(json), [ONE, "named", "file_order"]);
    const sent = await untilSent(json["id"]);
    assert.deepEqual(reasonsOf(sent), [ONE, "named", "file_order"]);
    assert.deepEqual(sourceTo(first, REFUSED_ONCE), [ONE.slice(1), ONE.slice(1)]);
    assert.deepEqual(sourceTo(second, REFUSED_ONCE), []);
    refusals = 0;
    const free = await untilSent((await send({ recipient: REFUSED_ONCE }))["id"]);
    assert.deepEqual(reasonsOf(free), [SECOND, "link_default", "failover"]);
    assert.deepEqual(sourceTo(second, REFUSED_ONCE), [SECOND.slice(1)]);
  });

  test("the messages of a batch have the senders of the pool, and those that they name", async () => {
    const items = [{ recipient: "+14155550141" }, { recipient: "+14155550142", sender: TWO }];
    const reply = await godwit.request("POST", "/v1/batches", { key, body: { defaults: { channel: "sms", body: "Hello" }, items } });
    assert.equal(reply.status, 202, reply.text);
    const [chosen, named] = await Promise.all((reply.json["results"] as { message_id: string }[]).map(({ message_id: id }) => read(id)));
    assert.deepEqual(reasonsOf(named ?? {}), [TWO, "named", "file_order"]);
    assert.equal(chosen?.["sender_reason"], "pool");
  });
});
