/** STOP, in every form in which a carrier may write the addresses, on every kind of link: no message of the account to the person becomes
 *  `sending` afterwards. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { until } from "../support/expect.ts";
import { FakeGraph, graphCall, GRAPH_SECRETS, graphSignature } from "../support/fakes/graph.ts";
import { CallbackServer, HttpCarrierServer } from "../support/fakes/http-carrier.ts";
import { Smsc } from "../support/fakes/smsc.ts";
import { deliverSm } from "../support/fakes/smsc-scripts.ts";
import { FakeTwilio, twilioSignature, TWILIO_SECRETS } from "../support/fakes/twilio.ts";
import { startGodwit, type Godwit } from "../support/harness.ts";
import { seeded } from "../support/seed.ts";
import { PASSWORDS, smppTable } from "../support/smpp-messages.ts";

/** An address as a carrier writes it: `ton` only on SMPP. */
type Written = { text: string; ton: number };

const national = (number: string): string => number.slice(2);

const FORMS: Readonly<Record<string, (number: string) => Written>> = {
  "E.164": (number) => ({ text: number, ton: 1 }),
  "without a plus, marked as international": (number) => ({ text: number.slice(1), ton: 1 }),
  "without a plus": (number) => ({ text: number.slice(1), ton: 0 }),
  "with 00": (number) => ({ text: `00${number.slice(1)}`, ton: 0 }),
  national: (number) => ({ text: national(number), ton: 0 }),
  "national, marked as such": (number) => ({ text: national(number), ton: 2 }),
};

/** A number of an account, of the link only, named by the request only, and one without messages. */
const OWNED = "+14155550100";
const OF_LINK = "+14155550101";
const NAMED = "+14155550102";
const UNKNOWN = "+14155550103";

/** `account`: who sends. `sender`: what the request names. `to`: what the person writes to, empty where the carrier does not name it. */
type Case = { account: "default" | "other"; sender: string | null; to: string };

const CASES: Readonly<Record<string, Case>> = {
  "the number of an account": { account: "default", sender: null, to: OWNED },
  "the sender of the link": { account: "other", sender: null, to: OF_LINK },
  "a number that only the request named": { account: "other", sender: NAMED, to: NAMED },
  "an unknown number": { account: "other", sender: null, to: UNKNOWN },
  "the number of an account, which the carrier does not name": { account: "default", sender: null, to: "" },
  "the sender of the link, which the carrier does not name": { account: "other", sender: null, to: "" },
  "a number that only the request named, and not the carrier": { account: "other", sender: NAMED, to: "" },
};

type Stop = { from: Written; to: Written };

/** A carrier that brings STOP, and the configuration of its link. */
type Carrier = {
  channel: "sms" | "whatsapp";
  link: string;
  env: Record<string, string>;
  forms: readonly string[];
  /** Resolves when the STOP is acknowledged. */
  stop: (godwit: Godwit, stop: Stop) => Promise<void>;
  /** The recipients of all messages that have left. */
  sentTo: () => string[];
  close: () => Promise<unknown>;
};

const ALL_FORMS = Object.keys(FORMS);
let ids = 0;

async function smppCarrier(): Promise<Carrier> {
  const smsc = await Smsc.start();
  return {
    channel: "sms",
    link: smppTable("carrier", smsc, { sender: OF_LINK, any_sender: true, country: "US" }),
    env: PASSWORDS,
    forms: ALL_FORMS,
    async stop(_, { from, to }) {
      const [source, destination] = [from, to].map(({ text, ton }) => ({ ton, npi: 1, text })) as [never, never];
      assert.equal(await smsc.session.deliver(deliverSm({ source, destination, text: Buffer.from("STOP") })), 0);
    },
    sentTo: () => smsc.submits.map(({ short }) => `+${short.destination.text}`),
    close: () => smsc.stop(),
  };
}

async function twilioCarrier(): Promise<Carrier> {
  const twilio = await new FakeTwilio().listen();
  // The port of the service is not known yet. Statuses are not looked at here.
  const statuses = await CallbackServer.open(async () => ({ status: 200, contentType: "text/plain", body: "" }));
  const settings = `base_url = "${twilio.url}"\naccount_sid = "${TWILIO_SECRETS.accountSid}"\nauth_token_env = "TOKEN"\npublic_url = "${new URL(statuses.url()).origin}"`;
  return {
    channel: "sms",
    link: `[[link]]\nname = "carrier"\nprovider = "twilio"\n${settings}\nsender = "${OF_LINK}"\nany_sender = true\ncountry = "US"\n`,
    env: { TOKEN: TWILIO_SECRETS.authToken },
    forms: ALL_FORMS,
    async stop(godwit, { from, to }) {
      const url = `${godwit.url}/providers/twilio/carrier`;
      const fields = { MessageSid: `SM${(ids += 1)}`, From: from.text, To: to.text, Body: "STOP", SmsStatus: "received" };
      const headers = { "x-twilio-signature": twilioSignature(url, fields), "content-type": "application/x-www-form-urlencoded" };
      const { status } = await fetch(url, { method: "POST", headers, body: new URLSearchParams(fields).toString() });
      assert.equal(status, 200);
    },
    sentTo: () => twilio.messages.map(({ To }) => To ?? ""),
    close: () => Promise.all([twilio.close(), statuses.close()]),
  };
}

/** A carrier that a definition describes. */
async function httpCarrier(): Promise<Carrier> {
  const server = new HttpCarrierServer(({ body }) => ({ kind: "responds", status: 200, body }));
  const carrier = await server.listen();
  const definition = [
    `request = { url = "${carrier.url}/send", body = { id = "{{id}}", to = "{{recipient}}", text = "{{body}}" } }`,
    `response = { id = "$.id" }`,
    `callbacks = { verification = { type = "token", header = "x-token", token = "{{secret.token}}" } }`,
    `secrets = { token_env = "TOKEN" }`,
    `inbound = { id = "$.id", from = "$.from", to = "$.to", text = "$.text" }`,
  ];
  return {
    channel: "sms",
    link: `[[link]]\nname = "carrier"\nprovider = "http"\nsender = "${OF_LINK}"\nany_sender = true\ncountry = "US"\npublic_url = "http://127.0.0.1"\n${definition.join("\n")}\n`,
    env: { TOKEN: "of-the-callbacks" },
    forms: ALL_FORMS,
    async stop(godwit, { from, to }) {
      const body = JSON.stringify({ id: `in-${(ids += 1)}`, from: from.text, to: to.text, text: "STOP" });
      const headers = { "content-type": "application/json", "x-token": "of-the-callbacks" };
      const { status } = await fetch(`${godwit.url}/providers/http/carrier`, { method: "POST", headers, body });
      assert.equal(status, 200);
    },
    sentTo: () => carrier.seen.map(({ body }) => (JSON.parse(body) as { to: string }).to),
    close: () => carrier.close(),
  };
}

/** Two numbers of one app, whose callbacks all come to the URL of the other link. */
async function whatsappCarrier(): Promise<Carrier> {
  const graph = await new FakeGraph().listen();
  const link = (name: string, id: string): string =>
    `[[link]]\nname = "${name}"\nprovider = "whatsapp"\nbase_url = "${graph.url}"\nphone_number_id = "${id}"\n` +
    `access_token_env = "TOKEN"\napp_secret_env = "APP"\nverify_token_env = "VERIFY"\nsender = "${OF_LINK}"\nany_sender = true\ncountry = "US"\n`;
  return {
    channel: "whatsapp",
    link: link("carrier", "2002") + link("callbacks", "1001"),
    env: { TOKEN: GRAPH_SECRETS.accessToken, APP: GRAPH_SECRETS.appSecret, VERIFY: GRAPH_SECRETS.verifyToken },
    // WhatsApp writes international numbers only.
    forms: ALL_FORMS.filter((form) => !form.startsWith("national")),
    async stop(godwit, { from, to }) {
      const message = { from: from.text, id: `wamid.${(ids += 1)}`, timestamp: "1749416383", type: "text", text: { body: "STOP" } };
      const metadata = { display_phone_number: to.text, phone_number_id: "2002" };
      const body = graphCall({ metadata, messages: [message] });
      const headers = { "content-type": "application/json", "x-hub-signature-256": graphSignature(body) };
      const { status } = await fetch(`${godwit.url}/providers/whatsapp/callbacks`, { method: "POST", headers, body });
      assert.equal(status, 200);
    },
    sentTo: () => graph.messages.map(({ to }) => `+${String(to)}`),
    close: () => graph.close(),
  };
}

const OWNER = `[[sender]]\nnumber = "${OWNED}"\nlink = "carrier"\naccount = "default"\nenvironment = "live"\n`;

describe("STOP in any form", () => {
  for (const [kind, open] of Object.entries({ smpp: smppCarrier, twilio: twilioCarrier, whatsapp: whatsappCarrier, http: httpCarrier }))
    test(`on ${kind} is the last word to its sender: no message becomes sending afterwards`, async (context) => {
      const random = seeded(context);
      const digits = (count: number): string => Array.from({ length: count }, () => Math.floor(random() * 10)).join("");
      const people = new Set<string>();
      /** A number of the United States. Some of them are numbers of other countries without their plus, too. */
      const newPerson = (): string => {
        const number = `+1${2 + Math.floor(random() * 8)}${digits(2)}${2 + Math.floor(random() * 8)}${digits(6)}`;
        if (people.has(number)) return newPerson();
        people.add(number);
        return number;
      };
      const carrier = await open();
      try {
        const { channel, link, env, forms } = carrier;
        await using godwit = await startGodwit({ roles: "api,dispatch", config: link + OWNER, env });
        const keys = {
          default: await godwit.key({ environment: "live" }),
          other: await godwit.key({ environment: "live", account: "other" }),
        };
        await godwit.unlimited();
        const cases = Object.entries(CASES).flatMap(([what, each]) => forms.map((form) => ({ what, form, ...each, person: newPerson() })));
        const send = async ({ account, sender, person }: (typeof cases)[number], more: object = {}) =>
          godwit.send(keys[account], { channel, recipient: person, body: "Hello", ...(sender === null ? {} : { sender }), ...more });
        const later = { send_at: new Date(Date.now() + 3_600_000).toISOString() };
        for (const each of cases) {
          assert.equal((await send(each)).status, 202, each.person);
          assert.equal((await send(each, later)).status, 202);
        }
        await until("the first messages to be sent", () => carrier.sentTo().length === cases.length || undefined);
        for (const { form, person, to } of cases) {
          const write = FORMS[form] ?? assert.fail();
          await carrier.stop(godwit, { from: write(person), to: to === "" ? { text: "", ton: 0 } : write(to) });
        }
        for (const each of cases)
          assert.equal((await send(each)).json["code"], "recipient_opted_out", `${each.form} to ${each.what}: ${each.person}`);
        // Those that were accepted before have their time now.
        await godwit.rows("update delivery_queue set due_at = now() where due_at > now() + interval '10 minutes'");
        await until("the others to fail", async () => {
          const rows = await godwit.rows<{ code: string }>("select error ->> 'code' as code from messages where status = 'failed'");
          return rows.length === cases.length && rows.every(({ code }) => code === "recipient_opted_out") ? true : undefined;
        });
        assert.deepEqual(carrier.sentTo().toSorted(), [...people].toSorted());
      } finally {
        await carrier.close();
      }
    });
});
