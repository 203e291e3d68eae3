/** 10,000 receipts of links that share host, system id and ranges of ids: none is applied to another message. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { idKey } from "../../src/model/id.ts";
import { readPlan } from "../../src/links/plan.ts";
import type { Message } from "../../src/messages/message.ts";
import type { Receipt } from "../../src/providers/provider.ts";
import { linkTo, Rig } from "../support/delivery-rig.ts";
import { until } from "../support/expect.ts";
import { recipientOf } from "../support/recipient.ts";
import { accepted, receipt, ScriptedCarrier } from "../support/scripted-carrier.ts";
import { seeded } from "../support/seed.ts";

const COUNT = 10_000;
const OUR_NUMBER = "+15005550000";
const phoneNo = (index: number) => recipientOf(`+49151${String(index).padStart(8, "0")}`);

/** Two carriers behind one address. The first has two links of one account, the second has one. */
const PORTS = { one: 2775, two: 2775, other: 2776 } as const;
type Name = keyof typeof PORTS;
const NAMES = Object.keys(PORTS) as Name[];
const ACCOUNTS: readonly (readonly Name[])[] = [["one", "two"], ["other"]];

test("10,000 receipts are applied to their own messages only", async (context) => {
  const random = seeded(context);
  await using rig = await Rig.open();
  const table = (name: Name) => ({ name, provider: "smpp", host: "127.0.0.1", port: PORTS[name], system_id: "godwit", password_env: "PW" });
  const { links } = readPlan({ link: NAMES.map(table) }, () => "secret", []);
  const carriers = { one: new ScriptedCarrier(), two: new ScriptedCarrier(), other: new ScriptedCarrier() };
  // Each account counts from the same number, the first one in hexadecimal.
  ACCOUNTS.forEach((names, account) => {
    let count = 100;
    for (const name of names) carriers[name].otherwise = () => accepted((count += 1).toString(account === 0 ? 16 : 10));
  });
  const accountOf = (name: string) => links.find((link) => link.name === name)?.carrierAccount ?? assert.fail();
  await rig.deliver(carriers, { links: NAMES.map((name) => ({ ...linkTo(name), carrierAccount: accountOf(name) })) });
  const linkOf = (index: number): Name => NAMES[index % NAMES.length] ?? "one";
  for (const name of NAMES) {
    const mine = Array.from({ length: COUNT }, (_, index) => index).filter((index) => linkOf(index) === name);
    await rig.acceptMany(mine.length, (index) => ({ recipient: phoneNo(mine[index] ?? 0), priority: "high" }), { link: name });
  }
  await until("all messages to be sent", async () => {
    for (const carrier of Object.values(carriers)) carrier.changed();
    return (await rig.count("sent")) === COUNT || undefined;
  });

  const rows = await rig.rows<{ id: Message["id"]; link: Name; carrier_id: string; recipient: string }>(
    `select m.id, m.link, r.provider_message_id as carrier_id, m.recipient
       from messages m
       join provider_references r on r.message_id = m.id`,
  );
  const expected = new Map<string, string>();
  const arriving: Record<Name, Receipt[]> = { one: [], two: [], other: [] };
  for (const { id, link, carrier_id: carrierId, recipient } of rows) {
    const status = random() < 0.5 ? "delivered" : "undelivered";
    const phone = random() < 0.5 ? recipient : recipient.slice(3);
    // One in ten receipts names no phone, and one in ten is about a phone of another customer.
    const kind = Math.floor(random() * 10);
    const addresses = kind === 0 ? ["", OUR_NUMBER] : kind === 1 ? ["+33612345678", OUR_NUMBER] : [phone, OUR_NUMBER];
    const wireId = link === "other" ? carrierId : String(Number.parseInt(carrierId, 16));
    const siblings = ACCOUNTS.find((names) => names.includes(link)) ?? [];
    const on = siblings[Math.floor(random() * siblings.length)] ?? link;
    arriving[on].push(receipt(wireId, status, { addresses: random() < 0.5 ? addresses : addresses.toReversed(), idForm: "auto" }));
    expected.set(idKey(id), kind === 1 ? "sent" : status);
  }
  assert.equal(expected.size, COUNT);
  for (const name of NAMES)
    for (let from = 0; from < arriving[name].length; from += 200) await carriers[name].receive(arriving[name].slice(from, from + 200));

  const after = await rig.rows<{ id: Message["id"]; status: string }>("select id, status from messages");
  const wrong = after.filter(({ id, status }) => status !== "sent" && status !== expected.get(idKey(id)));
  assert.equal(wrong.length, 0);
  const applied = after.filter(({ status }) => status !== "sent").length;
  context.diagnostic(`${applied} receipts were applied`);
  assert.ok(applied > COUNT * 0.7, `${applied} receipts were applied`);
});
