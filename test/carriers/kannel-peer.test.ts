/** Our Kannel API beside a real Kannel of Debian: both get the same requests, call by call, and each has a carrier of its own. */
import assert from "node:assert/strict";
import { once } from "node:events";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, describe, test, type TestContext } from "node:test";
import type { ShortMessage } from "../../src/providers/smpp/pdu.ts";
import { fromGsm7 } from "../../src/model/gsm7.ts";
import { recordOf } from "../support/client.ts";
import { missingProgram } from "../support/debian-package.ts";
import { until } from "../support/expect.ts";
import { Kannel, KANNEL_PROGRAM } from "../support/fakes/kannel.ts";
import { Smsc } from "../support/fakes/smsc.ts";
import { byRecipient, deliverSm } from "../support/fakes/smsc-scripts.ts";
import { startGodwit, type Godwit } from "../support/harness.ts";
import { ALLOW_LOOPBACK, bodyServer } from "../support/hook-server.ts";
import { RECIPIENTS } from "../support/recipient.ts";
import { PASSWORDS, smppTable } from "../support/smpp-messages.ts";

const USER = { username: "playsms", password: "a-password-of-playsms" };
const STATUS_PASSWORD = "a-password-for-scripts";
const OUR_NUMBER = '[[sender]]\nnumber = "+14155550100"\nlink = "carrier"\naccount = "default"\nenvironment = "live"\n';
const GET =
  "/get?from=%p&to=%P&text=%a&all=%A&bytes=%b&word=%k&next=%s&rest=%r&coding=%c&charset=%C&smsc=%i&service=%n&type=%d&class=%m&wait=%M&hex=%e&two=%%";

type Parameters = Readonly<Record<string, string>>;
type Peer = { name: "kannel" | "godwit"; url: string; carrier: Smsc };

let missing: string | undefined;
let kannel: Kannel;
let godwit: Godwit;
let receiver: Server;
let peers: readonly Peer[];
const calls: URL[] = [];

before(async () => {
  missing = missingProgram("kannel", KANNEL_PROGRAM);
  if (missing !== undefined) return;
  receiver = bodyServer((request, _, response) => {
    calls.push(new URL(request.url ?? "", "http://localhost"));
    response.end("ok");
  }).listen(0, "127.0.0.1");
  await once(receiver, "listening");
  const [theirs, ours] = [await Smsc.start(byRecipient), await Smsc.start(byRecipient)];
  kannel = await Kannel.start({
    carrierPort: theirs.port,
    userName: USER.username,
    password: USER.password,
    getUrl: callback("kannel", GET),
    statusPassword: STATUS_PASSWORD,
  });
  godwit = await startGodwit({
    roles: "api,dispatch,webhooks",
    isOneProcess: true,
    // Requests of Kannel name senders as they like.
    config: smppTable("carrier", ours, { any_sender: true }) + OUR_NUMBER,
    env: { ...PASSWORDS, ...ALLOW_LOOPBACK },
  });
  await godwit.unlimited();
  await until("both to be bound", () => (theirs.bound.length === 1 && ours.bound.length === 1) || undefined);
  const key = await godwit.key({ environment: "live" });
  const create = async (body: object): Promise<unknown> =>
    recordOf(await godwit.request("POST", "/v1/compatible_credentials", { key, body: { source: "kannel", ...body } }), 201);
  await create({ user_name: USER.username, secret: USER.password, settings: { "get-url": callback("godwit", GET), "max-messages": "0" } });
  await create({ secret: STATUS_PASSWORD, settings: { status: "true" } });
  peers = [
    { name: "kannel", url: kannel.sendsmsUrl, carrier: theirs },
    { name: "godwit", url: godwit.url, carrier: ours },
  ];
});
after(async () => {
  if (missing !== undefined) return;
  await Promise.all([kannel.stop(), godwit.stop()]);
  for (const { carrier } of peers) await carrier.stop();
  receiver.close();
});

function callback(name: Peer["name"], path: string): string {
  return `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/${name}${path}`;
}

const SMS = { from: "12345", to: "14155550123", text: "Hello" };

async function get({ url }: Peer, parameters: Parameters, user: Parameters = USER): Promise<string> {
  const reply = await fetch(`${url}/cgi-bin/sendsms?${new URLSearchParams({ ...user, ...parameters }).toString()}`);
  return `${reply.status} ${await reply.text()}`;
}

async function post({ url }: Peer, headers: Parameters, body: string | Buffer): Promise<string> {
  const named = Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name === "content-type" ? name : `X-Kannel-${name}`, value]),
  );
  const reply = await fetch(`${url}/cgi-bin/sendsms`, { method: "POST", headers: named, body });
  return `${reply.status} ${await reply.text()}`;
}

const { from: _from, ...WITHOUT_SENDER } = SMS;
const { to: _to, ...WITHOUT_RECEIVER } = SMS;
const LATIN = Buffer.from("Gr\xfc\xdfe", "latin1");
const AUTH = { Username: USER.username, Password: USER.password };
const POSTED = { ...AUTH, From: "12345", To: "14155550123", "content-type": "text/plain" };

/** A request, with our response if it differs from that of Kannel. */
type Row = { does: string; ask: (peer: Peer) => Promise<string>; ours?: string };
const row = (does: string, parameters: Parameters, ours?: string): Row => ({
  does,
  ask: (peer) => get(peer, parameters),
  ...(ours === undefined ? {} : { ours }),
});

const ROWS: readonly Row[] = [
  row("a text", SMS),
  row("a text with its length at the limit", { ...SMS, text: "x".repeat(160) }),
  row("a long text", { ...SMS, text: "y".repeat(300) }),
  row("characters of the extension table", { ...SMS, text: "€{}[]~^|\\" }),
  row("a text in UTF-8 of UCS-2", { ...SMS, text: "Привет", charset: "UTF-8", coding: "2" }),
  row("a text in ISO-8859-1", { ...SMS, charset: "ISO-8859-1", text: "Hello" }),
  row("several receivers", { ...SMS, to: "14155550123 14155550124" }),
  row("receivers with two spaces", { ...SMS, to: "14155550123  14155550124 " }),
  row("a receiver with a prefix of zeros", { ...SMS, to: "0014155550123" }),
  row("a receiver with hyphens", { ...SMS, to: "1-415-555-0123" }),
  row("a sender with letters", { ...SMS, from: "Godwit" }),
  row("a priority", { ...SMS, priority: "3" }),
  row("a validity", { ...SMS, validity: "60" }),
  row("an account", { ...SMS, account: "billing" }),
  row("meta-data", { ...SMS, "meta-data": "?own?order=7&" }),
  row("a mask without a URL", { ...SMS, "dlr-mask": "31" }),
  row("a number with text behind it", { ...SMS, priority: "2x" }),
  row("a number that is none", { ...SMS, priority: "x" }),
  row("the old names of the parameters", { ...SMS, dlrmask: "0", dlrurl: "http://127.0.0.1:9/x" }),
  row("a parameter that does not exist", { ...SMS, color: "red" }),
  row("no receiver", WITHOUT_RECEIVER),
  row("an empty receiver", { ...SMS, to: "" }),
  row("a receiver with letters", { ...SMS, to: "abc" }),
  row("no sender", WITHOUT_SENDER),
  row("an empty sender", { ...SMS, from: "" }),
  row("a mask that is too large", { ...SMS, "dlr-mask": "67" }),
  row("a mask that is too small", { ...SMS, "dlr-mask": "-2" }),
  row("a short URL of reports", { ...SMS, "dlr-url": "http" }),
  row("a URL of reports with another scheme", { ...SMS, "dlr-url": "ftp://example.com/" }),
  row("an account with brackets", { ...SMS, account: "[x]" }),
  row("an account that is too long", { ...SMS, account: "x".repeat(65) }),
  row("a class beyond its range", { ...SMS, mclass: "4" }),
  row("a protocol beyond its range", { ...SMS, pid: "256" }),
  row("a return path beyond its range", { ...SMS, rpi: "3" }),
  row("an alternative coding beyond its range", { ...SMS, "alt-dcs": "2" }),
  row("an indicator beyond its range", { ...SMS, mwi: "8" }),
  row("a coding beyond its range", { ...SMS, coding: "3" }),
  row("a compression beyond its range", { ...SMS, compress: "2" }),
  row("a validity beyond its range", { ...SMS, validity: "-2" }),
  row("a deferral beyond its range", { ...SMS, deferred: "-2" }),
  row("a priority beyond its range", { ...SMS, priority: "4" }),
  row("a user data header of another length", { ...SMS, udh: "\u0005\u0000" }),
  row("an unknown charset", { ...SMS, charset: "no-such-charset" }),
  { does: "a wrong password", ask: (peer) => get(peer, SMS, { ...USER, password: "another" }) },
  { does: "an unknown user", ask: (peer) => get(peer, SMS, { ...USER, username: "nobody" }) },
  { does: "no user", ask: (peer) => get(peer, SMS, {}) },
  { does: "the short names of the user", ask: (peer) => get(peer, SMS, { user: USER.username, pass: USER.password }) },
  { does: "a POST", ask: (peer) => post(peer, POSTED, "Hello") },
  { does: "a POST in ISO-8859-1", ask: (peer) => post(peer, { ...POSTED, "content-type": "text/plain; charset=ISO-8859-1" }, LATIN) },
  { does: "a POST without a receiver", ask: (peer) => post(peer, { ...AUTH, From: "12345", "content-type": "text/plain" }, "x") },
  { does: "a POST with a wrong password", ask: (peer) => post(peer, { ...POSTED, Password: "another" }, "x") },
  { does: "a POST of a form", ask: (peer) => post(peer, { ...POSTED, "content-type": "application/x-www-form-urlencoded" }, "text=x") },
  { does: "a POST of HTML", ask: (peer) => post(peer, { ...POSTED, "content-type": "text/html" }, "<p>x</p>") },
  { does: "a POST with a coding beyond its range", ask: (peer) => post(peer, { ...POSTED, Coding: "3" }, "x") },
  // The differences, as the page lists them.
  row("an empty text", { ...SMS, text: "" }, "400 Text is empty, rejected"),
  row("one of several receivers with letters", { ...SMS, to: "14155550123 abc" }, "202 Sent. Denied receivers are: abc"),
  row("an impossible number", { ...SMS, to: "12" }, "400 Number(s) has/have been denied by white- and/or black-lists."),
  row("a message for the memory of the phone", { ...SMS, mclass: "1" }),
  row("a flash message", { ...SMS, mclass: "0" }, "400 MClass field not supported, rejected"),
  row("a waiting indicator", { ...SMS, mwi: "1" }, "400 MWI field not supported, rejected"),
  row("bytes", { ...SMS, coding: "1" }, "400 Coding field not supported, rejected"),
  row("a user data header", { ...SMS, udh: "\u0002\u0070\u0000" }, "400 UDH field not supported, rejected"),
  row("an SMSC that exists", { ...SMS, smsc: "carrier" }, "400 SMSC-ID field not supported, rejected"),
  row("options of SMPP", { ...SMS, "meta-data": "?smpp?x=1&" }, "400 Meta-Data field not supported, rejected"),
  row("billing information", { ...SMS, binfo: "7" }, "400 BInfo field not supported, rejected"),
  row("a validity above two days", { ...SMS, validity: "2881" }, "400 Validity must be 1 to 2880 minutes, rejected"),
];

const skips = (context: TestContext): boolean => {
  if (missing !== undefined) context.skip(missing);
  return missing !== undefined;
};

describe("the response is that of Kannel to", () => {
  for (const { does, ask, ours } of ROWS)
    test(ours === undefined ? does : `${does}, except for a difference that the page lists`, async (context) => {
      if (skips(context)) return;
      const [theirs = "", own = ""] = await Promise.all(peers.map(ask));
      assert.equal(own, ours ?? theirs);
      if (ours !== undefined) assert.notEqual(own, theirs, "there is no difference any more");
    });
});

/** The parts of a message as the carrier got them: sender, receiver and text. */
const submitted = ({ source, destination, dataCoding, text, esmClass }: ShortMessage): string => {
  const header = (esmClass & 0x40) === 0 ? 0 : text.readUInt8(0) + 1;
  const body = text.subarray(header);
  return `${source.text} ${destination.text} ${dataCoding === 8 ? Buffer.from(body).swap16().toString("utf16le") : fromGsm7(body)}`;
};

describe("the carrier gets from both", () => {
  const TEXTS: Readonly<Record<string, Parameters>> = {
    "a text": { text: "Hello @ €{}" },
    "a text in UCS-2": { text: "Привет, мир", charset: "UTF-8", coding: "2" },
    "a text in windows-1252": { text: "caf\u00e9", charset: "UTF-8" },
  };
  for (const [what, parameters] of Object.entries(TEXTS))
    test(what, async (context) => {
      if (skips(context)) return;
      const [theirs, own] = await Promise.all(
        peers.map(async (peer) => {
          const count = peer.carrier.submits.length;
          assert.equal(await get(peer, { ...SMS, to: "14155550199", ...parameters }), "202 0: Accepted for delivery");
          const mine = await until("the submit_sm", () =>
            peer.carrier.submits.slice(count).find(({ short }) => short.destination.text === "14155550199"),
          );
          return submitted(mine.short);
        }),
      );
      assert.equal(own, theirs);
    });
});

const REPORT = "type=%d&to=%p&from=%P&text=%a&all=%A&foreign=%F&smsc=%i&service=%n&data=%D&coding=%c&class=%m&account=%o&two=%%&unknown=%y";

/** The parameters of calls without those that differ: ids, the account, which Kannel replaces by that at the carrier, the groups of SMPP among the
 *  meta-data, and the text of the carrier, of which only the state is compared. */
function comparable({ searchParams }: URL): Record<string, string> {
  const { text = "", all = "", foreign = "", account: _, data = "", ...rest } = Object.fromEntries(searchParams);
  return {
    ...rest,
    data: /\?orig_msg\?[^?]*/.exec(data)?.[0] ?? "",
    text: /stat:(\w+) err:(\w+)/.exec(text)?.slice(1).join(" ") ?? text.replace(/\/.*/, "/"),
    isSameText: String(text === all),
    hasForeign: String(foreign !== ""),
  };
}

describe("reports are those of Kannel for", () => {
  const CASES: Readonly<Record<string, { to: string; mask: string; count: number }>> = {
    "a delivered message": { to: RECIPIENTS.delivered, mask: "31", count: 2 },
    "a delivered message, only at the end": { to: RECIPIENTS.delivered, mask: "3", count: 1 },
    "a message that was not delivered": { to: RECIPIENTS.undelivered, mask: "7", count: 1 },
    "a refused message": { to: RECIPIENTS.refused, mask: "16", count: 1 },
    "a refused message, of which only failure is asked": { to: RECIPIENTS.refused, mask: "2", count: 1 },
  };
  for (const [what, { to, mask, count }] of Object.entries(CASES))
    test(what, async (context) => {
      if (skips(context)) return;
      const name = `/report-${what.replaceAll(/\W+/g, "-")}`;
      const [theirs, own] = await Promise.all(
        peers.map(async (peer) => {
          const url = callback(peer.name, `${name}?${REPORT}`);
          const reply = await get(peer, { ...SMS, to: to.slice(1), "dlr-url": url, "dlr-mask": mask, account: "billing" });
          assert.equal(reply, "202 0: Accepted for delivery");
          const found = await until(`${count} reports of ${peer.name}`, () => {
            const mine = calls.filter(({ pathname }) => pathname === `/${peer.name}${name}`);
            return mine.length >= count ? mine : undefined;
          });
          return found.map(comparable).toSorted((one, other) => Number(one["type"]) - Number(other["type"]));
        }),
      );
      assert.deepEqual(own, theirs);
    });
});

describe("inbound messages are passed on as by Kannel:", () => {
  const TEXTS: Readonly<Record<string, Partial<ShortMessage>>> = {
    "a text": { text: Buffer.from("Hello  world of words") },
    "a text with signs": { text: Buffer.from("a&b=c?d/e") },
    "a text in UCS-2": { dataCoding: 8, text: Buffer.from("Привет", "utf16le").swap16() },
  };
  for (const [what, fields] of Object.entries(TEXTS))
    test(what, async (context) => {
      if (skips(context)) return;
      const count = calls.length;
      const [theirs, own] = await Promise.all(
        peers.map(async ({ name, carrier }) => {
          assert.equal(await carrier.session.deliver(deliverSm(fields)), 0);
          const { search } = await until(`the call of ${name}`, () =>
            calls.slice(count).find(({ pathname }) => pathname === `/${name}/get`),
          );
          // Numbers are in E.164 here.
          return search.replaceAll(/(from|to)=(?:%2B)?/g, "$1=");
        }),
      );
      assert.equal(own, theirs);
    });
});

describe("the status pages", () => {
  /** The form of a page: its words and signs without numbers, names and the lines of boxes. */
  const formOf = (text: string): string =>
    text
      .split("\n")
      .filter((line) => /^(Status|WDP|SMS|DLR|SMSC)|^ {4}\S+\[/.test(line))
      .map((line) => line.replaceAll(/-?\d+(?:\.\d+)?/g, "0").replace(/^( {4})\S+\[\S+\]( {4}).*? \(/, "$1ID$2NAME ("))
      .join("\n");

  test("have the lines of Kannel", async (context) => {
    if (skips(context)) return;
    // Nodes report the states of their links every few seconds.
    const own = await until("the link to be online", async () => {
      const page = await (await fetch(`${godwit.url}/status.txt?password=${STATUS_PASSWORD}`)).text();
      return page.includes("(online ") ? page : undefined;
    });
    const theirs = await kannel.status(STATUS_PASSWORD);
    const lines = (text: string): string[] => formOf(text).split("\n").slice(0, 8);
    assert.deepEqual(lines(own), lines(theirs));
    assert.ok(formOf(own).includes(formOf(theirs).split("\n").at(-1) ?? "?"), formOf(own));
  });

  test("have the elements of Kannel", async (context) => {
    if (skips(context)) return;
    const elements = (text: string): string[] =>
      [...new Set(Array.from(text.matchAll(/<([a-z-]+)>/gi), ([, name = ""]) => name))].toSorted((a, b) => (a < b ? -1 : 1));
    const own = await (await fetch(`${godwit.url}/status.xml?password=${STATUS_PASSWORD}`)).text();
    assert.deepEqual(elements(own), elements(await kannel.status(STATUS_PASSWORD, "xml")));
  });
});
