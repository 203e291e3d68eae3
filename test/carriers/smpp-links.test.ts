/** The real program with SMPP links, when things go wrong around it: the database goes away, it is told to stop, its file changes,
 *  a carrier no longer takes its password. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { STATUS } from "../../src/providers/smpp/pdu.ts";
import { writeConfig } from "../support/config-file.ts";
import { until } from "../support/expect.ts";
import { Smsc, type Script, type Submit } from "../support/fakes/smsc.ts";
import { deliverSm, receiptSm } from "../support/fakes/smsc-words.ts";
import { startGodwit, type Godwit } from "../support/harness.ts";
import { withoutDatabase } from "../support/outage.ts";
import { PASSWORDS, sendTexts, smppTable, messageStates, textsAt, untilAll } from "../support/smpp-messages.ts";

const OUR_NUMBER = `[[sender]]\nnumber = "+14155550100"\nlink = "acme"\naccount = "default"\nenvironment = "live"\n`;
const isSent = ({ status }: { status: string }): boolean => status === "sent";

type Scene = { smsc: Smsc; godwit: Godwit; key: string };

// A busy machine may renew a lease late. Nothing here waits for the end of one.
const LASTING = { linkLeaseMs: 60_000 };

/** A service that is bound to a carrier. */
async function withBound(
  script: Script,
  table: Readonly<Record<string, string | number>>,
  run: (scene: Scene) => Promise<void>,
): Promise<void> {
  const smsc = await Smsc.start(script);
  try {
    const config = smppTable("acme", smsc, table) + OUR_NUMBER;
    await using godwit = await startGodwit({ asProcess: true, roles: "api,dispatch", config, env: PASSWORDS, timings: LASTING });
    await godwit.unlimited();
    await until("it to be bound", () => smsc.bound.length === 1 || undefined);
    await run({ smsc, godwit, key: await godwit.key({ environment: "live" }) });
  } finally {
    await smsc.stop();
  }
}

/** What `GET /v1/links` says of a link. */
async function linkNow(godwit: Godwit, key: string, name: string): Promise<Record<string, unknown>> {
  const { data } = (await godwit.request("GET", "/v1/links", { key })).json as { data: Record<string, unknown>[] };
  return data.find((link) => link["name"] === name) ?? assert.fail("no such link");
}

/** Replaces the configuration file and waits until the service has read it. */
async function reload(godwit: Godwit, config: string): Promise<void> {
  const count = (): number => godwit.output.filter((line) => line === "links, senders and routes reloaded").length;
  const before = count();
  writeConfig(config, godwit.configFile);
  godwit.child.kill("SIGHUP");
  await until("it to be reloaded", () => count() > before || undefined);
}

// Most of the time they wait. Each has connections to the database, of which there are not many.
describe("an SMPP link", { concurrency: 2 }, () => {
  test("whose service has lost its database asks for everything again, and has it once when it comes again", () =>
    withBound({}, {}, async ({ smsc, godwit, key }) => {
      await sendTexts(godwit, key, 1);
      await untilAll(godwit, "it to be sent", isSent);
      const said = [receiptSm("m1"), deliverSm({ text: Buffer.from("Hello") })];
      await withoutDatabase(godwit, async () => {
        const answers = await Promise.all(said.map((short) => smsc.session.deliver(short)));
        assert.deepEqual(answers, [STATUS.temporaryError, STATUS.temporaryError]);
      });
      assert.deepEqual(
        (await messageStates(godwit)).map(({ status }) => status),
        ["sent"],
      );
      await until("it to be bound", () => smsc.bound.length === 1 || undefined);
      for (const short of said) assert.equal(await smsc.session.deliver(short), STATUS.ok);
      // And the receipt once more, as carriers do.
      assert.equal(await smsc.session.deliver(said[0] ?? assert.fail()), STATUS.ok);
      assert.deepEqual(
        (await messageStates(godwit)).map(({ status }) => status),
        ["delivered"],
      );
      const written = await godwit.rows<{ body: string }>("select body from messages where direction = 'inbound'");
      assert.deepEqual(written, [{ body: "Hello" }]);
    }));

  test("that ties parts by sixteen bits is counted so in the record, in a validation, and at the carrier", () =>
    withBound({}, { long_text: "udh16" }, async ({ smsc, godwit, key }) => {
      const body = { channel: "sms", recipient: "+14155550123", body: "a".repeat(153 * 2) };
      const checked = await godwit.request("POST", "/v1/messages/validate", { key, body });
      const sent = await godwit.request("POST", "/v1/messages", { key, body });
      for (const { json } of [checked, sent]) assert.equal((json["segments"] as { count: number }).count, 3);
      const tooMany = await godwit.request("POST", "/v1/messages", { key, body: { ...body, max_segments: 2 } });
      assert.equal(tooMany.json["code"], "max_segments_exceeded");
      await untilAll(godwit, "it to be sent", isSent);
      assert.equal(smsc.session.submits.length, 3);
      const later = { ...body, body: "short", send_at: new Date(Date.now() + 3_600_000).toISOString() };
      const scheduled = await godwit.request("POST", "/v1/messages", { key, body: later });
      const edited = await godwit.request("PATCH", `/v1/messages/${String(scheduled.json["id"])}`, { key, body: { body: body.body } });
      assert.equal((edited.json["segments"] as { count: number }).count, 3);
    }));

  test("whose service is told to stop claims nothing more, hears the answers, unbinds, and reads until the carrier agrees", () => {
    const held: Submit[] = [];
    return withBound({ submit: (submit) => void held.push(submit), unbind: "silence" }, { window: 5 }, async ({ smsc, godwit, key }) => {
      await sendTexts(godwit, key, 30);
      await until("the window to be full", () => held.length === 5 || undefined);
      const { session } = smsc;
      const db = godwit.rows.bind(godwit);
      const stopping = new Promise<number | null>((resolve) => godwit.child.once("exit", (code) => resolve(code)));
      godwit.child.kill("SIGTERM");
      await until("what was only claimed to be given back", async () => {
        const [row] = await db<{ count: number }>("select count(*)::integer as count from delivery_queue where due_at > now()");
        return row?.count === 5 || undefined;
      });
      assert.ok(!session.heard.some(({ command }) => command === "unbind"), "not before the answers");
      for (const submit of held) session.accept(submit);
      const unbind = await until("the unbind", () => session.heard.find(({ command }) => command === "unbind"));
      // What the carrier still has to say is heard, and is to be said again.
      assert.equal(await session.deliver(receiptSm("m1")), STATUS.temporaryError);
      assert.equal(session.isClosed, false);
      session.write({ command: "unbind_resp", status: STATUS.ok, sequence: unbind.sequence });
      assert.equal(await stopping, 0);
      assert.equal(smsc.submits.length, 5, "nothing new was handed over");
      const stories = await messageStates(godwit);
      assert.deepEqual(
        ["sent", "queued"].map((status) => stories.filter((each) => each.status === status).length),
        [5, 25],
      );
      assert.deepEqual(await db("select from link_leases"), [], "the next node need not wait for the link");
    });
  });

  test("that the next file has as it is keeps its bind; one with another window is drained, unbound and bound anew", () => {
    const held: Submit[] = [];
    let isHolding = false;
    const submit: Script["submit"] = (each, session) => {
      if (isHolding) held.push(each);
      else session.accept(each);
    };
    return withBound({ submit }, { window: 2, rate: 1_000 }, async ({ smsc, godwit, key }) => {
      const [first] = smsc.sessions;
      isHolding = true;
      await sendTexts(godwit, key, 20);
      await until("the window to be full", () => held.length === 2 || undefined);
      await reload(
        godwit,
        smppTable("acme", smsc, { window: 2, rate: 1_000 }) + OUR_NUMBER + `[[route]]\nchannel = "sms"\nlinks = ["acme"]\n`,
      );
      assert.deepEqual([smsc.sessions.length, first?.isClosed], [1, false]);
      assert.ok(!first?.heard.some(({ command }) => command === "unbind"));

      const reloading = reload(godwit, smppTable("acme", smsc, { window: 3, rate: 500 }) + OUR_NUMBER);
      await until("the link to be told apart", async () => (await linkNow(godwit, key, "acme"))["window"] === 3 || undefined);
      isHolding = false;
      for (const each of held) first?.accept(each);
      await reloading;
      await until("it to be bound anew", () => (smsc.sessions.length === 2 && smsc.bound.length === 1 ? true : undefined));
      assert.equal(first?.heard.at(-1)?.command, "unbind", "after the answers, and in the carrier's manner");
      await untilAll(godwit, "all to be sent", isSent);
      const texts = textsAt(smsc);
      assert.deepEqual([texts.length, new Set(texts).size, smsc.mostBound], [20, 20, 1]);
      assert.deepEqual([(await linkNow(godwit, key, "acme"))["rate"], first?.submits.length], [500, 2]);
    });
  });

  test("that no longer takes our password pauses: the next link takes what may go there, the rest waits for a file that mends it", async () => {
    const [a, b] = await Promise.all([Smsc.start(), Smsc.start()]);
    try {
      const ROUTES = `[[route]]\nchannel = "sms"\nlinks = ["a", "b"]\n[[route]]\nchannel = "sms"\nprefixes = ["+14155559"]\nlinks = ["a"]\n`;
      const planWith = (password: string): string =>
        smppTable("a", a, { password_env: password, on_unknown: "resend", hold_seconds: 1 }) + smppTable("b", b) + ROUTES;
      const config = planWith("WRONG_PASSWORD");
      await using godwit = await startGodwit({ asProcess: true, roles: "api,dispatch", config, env: PASSWORDS, timings: LASTING });
      await godwit.unlimited();
      const key = await godwit.key({ environment: "live" });
      await until("both to be bound", () => a.bound.length + b.bound.length === 2 || undefined);
      // One is at the carrier without an answer when that changes its mind about us.
      a.script = {
        submit: () => undefined,
        bind: ({ password }) => (password === PASSWORDS.RIGHT_PASSWORD ? STATUS.ok : STATUS.invalidPassword),
      };
      await sendTexts(godwit, key, 1);
      await until("it to be at the carrier", () => a.submits.length === 1 || undefined);
      a.session.socket.destroy();
      await until("the link to be paused", async () => (await linkNow(godwit, key, "a"))["state"] === "paused" || undefined);
      assert.match(String((await linkNow(godwit, key, "a"))["reason"]), /bind refused with 0x0E/);
      assert.equal(godwit.logs.find(({ event }) => event === "smpp.bind_refused")?.["link"], "a");
      const binds = a.binds.length;
      await sendTexts(godwit, key, 3, 1);
      await sendTexts(godwit, key, 2, 9_000);
      await until("the next link to have what may go there", () => b.submits.length === 3 || undefined);
      await until("the unknown one to wait for its link", async () => (await messageStates(godwit))[0]?.status === "queued" || undefined);
      assert.deepEqual(textsAt(b).toSorted(), ["text 1", "text 2", "text 3"]);
      assert.deepEqual(
        (await messageStates(godwit)).filter(({ status }) => status === "queued").map(({ body, error_code: code }) => [body, code]),
        ["text 0", "text 9000", "text 9001"].map((body) => [body, null]),
      );
      assert.deepEqual([a.submits.length, a.binds.length], [1, binds], "it did not knock again and again");

      a.script = { bind: a.script.bind ?? (() => STATUS.ok) };
      await reload(godwit, planWith("RIGHT_PASSWORD"));
      await untilAll(godwit, "all to be sent", isSent);
      assert.deepEqual(textsAt(a), ["text 0", ...textsAt(a).slice(1)]);
      assert.deepEqual(textsAt(a).slice(1).toSorted(), ["text 0", "text 9000", "text 9001"], "the unknown one is sent again where it was");
      assert.deepEqual([b.submits.length, b.sessions.length], [3, 1], "and the other link was left alone");
      assert.ok(!godwit.output.concat(JSON.stringify(godwit.logs)).join("\n").includes(PASSWORDS.RIGHT_PASSWORD));
    } finally {
      await Promise.all([a.stop(), b.stop()]);
    }
  });
});
