/** The real program with SMPP links during disturbances: the database is lost, the service stops, its file changes,
 *  or a carrier refuses its password. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { STATUS } from "../../src/providers/smpp/pdu.ts";
import { writeConfig } from "../support/config-file.ts";
import { until } from "../support/expect.ts";
import { Smsc, type Script, type Submit } from "../support/fakes/smsc.ts";
import { deliverSm, receiptSm } from "../support/fakes/smsc-scripts.ts";
import { startGodwit, type Godwit } from "../support/harness.ts";
import { withoutDatabase } from "../support/outage.ts";
import { PASSWORDS, sendTexts, smppTable, messageStates, textsAt, untilAll } from "../support/smpp-messages.ts";

const OUR_NUMBER = `[[sender]]\nnumber = "+14155550100"\nlink = "acme"\naccount = "default"\nenvironment = "live"\n`;
const isSent = ({ status }: { status: string }): boolean => status === "sent";

type Scene = { smsc: Smsc; godwit: Godwit; key: string };

// A busy machine may renew a lease late. No test here waits for the end of a lease.
const LASTING = { linkLeaseMs: 60_000 };
// A reload and a pause are those of one process.
const ONE_PROCESS = { asProcess: true, isOneProcess: true, roles: "api,dispatch" } as const;

/** A service that is bound to a carrier. */
async function withBound(
  script: Script,
  table: Readonly<Record<string, string | number>>,
  run: (scene: Scene) => Promise<void>,
): Promise<void> {
  const smsc = await Smsc.start(script);
  try {
    const config = smppTable("acme", smsc, table) + OUR_NUMBER;
    await using godwit = await startGodwit({ ...ONE_PROCESS, config, env: PASSWORDS, timings: LASTING });
    await godwit.unlimited();
    await until("the link to be bound", () => smsc.bound.length === 1 || undefined);
    await run({ smsc, godwit, key: await godwit.key({ environment: "live" }) });
  } finally {
    await smsc.stop();
  }
}

/** A link as returned by `GET /v1/links`. */
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
  await until("the file to be reloaded", () => count() > before || undefined);
}

// The tests mostly wait. Each uses database connections, of which there are few.
describe("an SMPP link", { concurrency: 2 }, () => {
  test("whose service has lost its database requests everything again, and stores it once when it is repeated", () =>
    withBound({}, {}, async ({ smsc, godwit, key }) => {
      await sendTexts(godwit, key, 1);
      await untilAll(godwit, "the message to be sent", isSent);
      const said = [receiptSm("m1"), deliverSm({ text: Buffer.from("Hello") })];
      await withoutDatabase(godwit, async () => {
        const answers = await Promise.all(said.map((short) => smsc.session.deliver(short)));
        assert.deepEqual(answers, [STATUS.temporaryError, STATUS.temporaryError]);
      });
      assert.deepEqual(
        (await messageStates(godwit)).map(({ status }) => status),
        ["sent"],
      );
      await until("the link to be bound", () => smsc.bound.length === 1 || undefined);
      for (const short of said) assert.equal(await smsc.session.deliver(short), STATUS.ok);
      // The carrier also repeats the receipt.
      assert.equal(await smsc.session.deliver(said[0] ?? assert.fail()), STATUS.ok);
      assert.deepEqual(
        (await messageStates(godwit)).map(({ status }) => status),
        ["delivered"],
      );
      const written = await godwit.rows<{ body: string }>("select body from messages where direction = 'inbound'");
      assert.deepEqual(written, [{ body: "Hello" }]);
    }));

  test("with 16-bit part references has its segments counted so in the record, in a validation, and at the carrier", () =>
    withBound({}, { long_text: "udh16" }, async ({ smsc, godwit, key }) => {
      const body = { channel: "sms", recipient: "+14155550123", body: "a".repeat(153 * 2) };
      const checked = await godwit.request("POST", "/v1/messages/validate", { key, body });
      const sent = await godwit.request("POST", "/v1/messages", { key, body });
      for (const { json } of [checked, sent]) assert.equal((json["segments"] as { count: number }).count, 3);
      const tooMany = await godwit.request("POST", "/v1/messages", { key, body: { ...body, max_segments: 2 } });
      assert.equal(tooMany.json["code"], "max_segments_exceeded");
      await untilAll(godwit, "the message to be sent", isSent);
      assert.equal(smsc.session.submits.length, 3);
      const later = { ...body, body: "short", send_at: new Date(Date.now() + 3_600_000).toISOString() };
      const scheduled = await godwit.request("POST", "/v1/messages", { key, body: later });
      const edited = await godwit.request("PATCH", `/v1/messages/${String(scheduled.json["id"])}`, { key, body: { body: body.body } });
      assert.equal((edited.json["segments"] as { count: number }).count, 3);
    }));

  test("whose service stops claims nothing more, awaits the responses, unbinds, and reads until the carrier responds", () => {
    const held: Submit[] = [];
    return withBound({ submit: (submit) => void held.push(submit), unbind: "silence" }, { window: 5 }, async ({ smsc, godwit, key }) => {
      await sendTexts(godwit, key, 30);
      await until("the window to be full", () => held.length === 5 || undefined);
      const { session } = smsc;
      const db = godwit.rows.bind(godwit);
      const stopping = new Promise<number | null>((resolve) => godwit.child.once("exit", (code) => resolve(code)));
      godwit.child.kill("SIGTERM");
      await until("the claimed messages to be returned", async () => {
        const [row] = await db<{ count: number }>("select count(*)::integer as count from delivery_queue where due_at > now()");
        return row?.count === 5 || undefined;
      });
      assert.ok(!session.received.some(({ command }) => command === "unbind"), "no unbind before the responses");
      for (const submit of held) session.accept(submit);
      const unbind = await until("the unbind", () => session.received.find(({ command }) => command === "unbind"));
      // A message that the carrier still delivers is read, and is requested again.
      assert.equal(await session.deliver(receiptSm("m1")), STATUS.temporaryError);
      assert.equal(session.isClosed, false);
      session.write({ command: "unbind_resp", status: STATUS.ok, sequence: unbind.sequence });
      assert.equal(await stopping, 0);
      assert.equal(smsc.submits.length, 5, "no new message is submitted");
      const stories = await messageStates(godwit);
      assert.deepEqual(
        ["sent", "queued"].map((status) => stories.filter((each) => each.status === status).length),
        [5, 25],
      );
      assert.deepEqual(await db("select from link_leases"), [], "the next node need not wait for the link");
    });
  });

  test("that is unchanged in the next file keeps its bind, and one with another window is drained, unbound and bound again", () => {
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
      assert.ok(!first?.received.some(({ command }) => command === "unbind"));

      const reloading = reload(godwit, smppTable("acme", smsc, { window: 3, rate: 500 }) + OUR_NUMBER);
      await until("the link to show its new window", async () => (await linkNow(godwit, key, "acme"))["window"] === 3 || undefined);
      isHolding = false;
      for (const each of held) first?.accept(each);
      await reloading;
      await until("the link to be bound again", () => (smsc.sessions.length === 2 && smsc.bound.length === 1 ? true : undefined));
      assert.equal(first?.received.at(-1)?.command, "unbind", "the unbind follows the responses");
      await untilAll(godwit, "all to be sent", isSent);
      const texts = textsAt(smsc);
      assert.deepEqual([texts.length, new Set(texts).size, smsc.mostBound], [20, 20, 1]);
      assert.deepEqual([(await linkNow(godwit, key, "acme"))["rate"], first?.submits.length], [500, 2]);
    });
  });

  test("whose carrier refuses our password pauses: the next link sends what it may, and the rest waits for a new file", async () => {
    const [a, b] = await Promise.all([Smsc.start(), Smsc.start()]);
    try {
      const ROUTES = `[[route]]\nchannel = "sms"\nlinks = ["a", "b"]\n[[route]]\nchannel = "sms"\nprefixes = ["+14155559"]\nlinks = ["a"]\n`;
      const planWith = (password: string): string =>
        smppTable("a", a, { password_env: password, on_unknown: "resend", hold_seconds: 1 }) + smppTable("b", b) + ROUTES;
      const config = planWith("WRONG_PASSWORD");
      await using godwit = await startGodwit({ ...ONE_PROCESS, config, env: PASSWORDS, timings: LASTING });
      await godwit.unlimited();
      const key = await godwit.key({ environment: "live" });
      await until("both to be bound", () => a.bound.length + b.bound.length === 2 || undefined);
      // One message is at the carrier without a response when the carrier refuses the password.
      a.script = {
        submit: () => undefined,
        bind: ({ password }) => (password === PASSWORDS.RIGHT_PASSWORD ? STATUS.ok : STATUS.invalidPassword),
      };
      await sendTexts(godwit, key, 1);
      await until("the message to be at the carrier", () => a.submits.length === 1 || undefined);
      a.session.socket.destroy();
      await until("the link to be paused", async () => (await linkNow(godwit, key, "a"))["state"] === "paused" || undefined);
      assert.equal((await linkNow(godwit, key, "a"))["reason"], "needs_operator");
      const logged = await until("the refusal to be logged", () => godwit.logs.find(({ event }) => event === "smpp.bind_refused"));
      assert.deepEqual([logged["link"], String(logged["status"]).slice(-2)], ["a", "0E"]);
      const binds = a.binds.length;
      await sendTexts(godwit, key, 3, 1);
      await sendTexts(godwit, key, 2, 9_000);
      await until("the next link to have its messages", () => b.submits.length === 3 || undefined);
      await until(
        "the message of unknown outcome to wait for its link",
        async () => (await messageStates(godwit))[0]?.status === "queued" || undefined,
      );
      assert.deepEqual(textsAt(b).toSorted(), ["text 1", "text 2", "text 3"]);
      assert.deepEqual(
        (await messageStates(godwit)).filter(({ status }) => status === "queued").map(({ body, error_code: code }) => [body, code]),
        ["text 0", "text 9000", "text 9001"].map((body) => [body, null]),
      );
      assert.deepEqual([a.submits.length, a.binds.length], [1, binds], "the link did not bind repeatedly");

      a.script = { bind: a.script.bind ?? (() => STATUS.ok) };
      await reload(godwit, planWith("RIGHT_PASSWORD"));
      await untilAll(godwit, "all to be sent", isSent);
      assert.deepEqual(textsAt(a), ["text 0", ...textsAt(a).slice(1)]);
      assert.deepEqual(
        textsAt(a).slice(1).toSorted(),
        ["text 0", "text 9000", "text 9001"],
        "the message of unknown outcome is resent on its link",
      );
      assert.deepEqual([b.submits.length, b.sessions.length], [3, 1], "the other link is unchanged");
      assert.ok(!godwit.output.concat(JSON.stringify(godwit.logs)).join("\n").includes(PASSWORDS.RIGHT_PASSWORD));
    } finally {
      await Promise.all([a.stop(), b.stop()]);
    }
  });
});
