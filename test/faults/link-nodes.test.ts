/** Two nodes and a carrier that accepts one connection in total: messages are sent by the node that has the connection. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { InboundMessage } from "../../src/providers/provider.ts";
import { ConsentDefaults } from "../../src/consent/consent-defaults.ts";
import type { DeliveryWatch } from "../../src/delivery/context.ts";
import { Inbound } from "../../src/delivery/inbound.ts";
import { newId, type AccountId, type MessageId } from "../../src/model/id.ts";
import { createLog } from "../../src/model/log.ts";
import { EMPTY_PLAN, type Sender } from "../../src/links/plan.ts";
import { LinkDirectory } from "../../src/links/directory.ts";
import { LINK, linkTo, Rig } from "../support/delivery-rig.ts";
import { RECIPIENT, recipientNo } from "../support/recipient.ts";
import { wakeNothing, MEDIA_RETENTION_MS } from "../support/engine.ts";
import { Exchange, ExclusiveCarrier } from "../support/exclusive-carrier.ts";
import { until } from "../support/expect.ts";
import { accepted, receipt, ScriptedCarrier, type Send } from "../support/scripted-carrier.ts";

type State = { link: string; node: string; state: string; reason: string | null; in_flight: number; last_error: string | null };
const statesIn = (rig: Rig): Promise<State[]> =>
  rig.rows<State>("select link, node, state, reason, in_flight, last_error from link_states order by link, node");

// A busy machine may renew a lease late. No test here waits for the end of the owner's lease.
const LASTING = { linkLeaseMs: 60_000 };

const second = (rig: Rig) => ({ node: "node-2", db: rig.connect("node-2") });

describe("an exclusive link on two nodes", () => {
  test("is open on one of them, which submits all messages, also those that the other accepts", async () => {
    await using rig = await Rig.open();
    const exchange = new Exchange();
    const [mine, theirs] = [new ExclusiveCarrier(exchange, "1"), new ExclusiveCarrier(exchange, "2")];
    const owner = await rig.deliver({ [LINK]: mine }, LASTING);
    await until("the link to be open", () => exchange.open === 1 || undefined);
    const other = await rig.deliver({ [LINK]: theirs }, second(rig));
    await Promise.all(
      [owner.handover, other.handover].map((handover) => rig.acceptMany(50, (index) => ({ recipient: recipientNo(index) }), { handover })),
    );
    await until("all to be sent", async () => (await rig.count("sent")) === 100 || undefined);
    assert.deepEqual([mine.sends.length, theirs.sends.length, theirs.opens], [100, 0, 0]);
    assert.equal(new Set(exchange.sends.map(({ id }) => id)).size, 100);
    assert.deepEqual([exchange.opened, exchange.highWater], [1, 1]);
  });

  test("continues on the other when its node stops: nothing is lost or duplicated, and the link is never open twice", async () => {
    await using rig = await Rig.open();
    const exchange = new Exchange();
    const [mine, theirs] = [new ExclusiveCarrier(exchange, "1", { window: 3 }), new ExclusiveCarrier(exchange, "2", { window: 3 })];
    for (const carrier of [mine, theirs]) carrier.otherwise = ({ message }: Send) => accepted(`name of ${message.id}`);
    const owner = await rig.deliver({ [LINK]: mine }, LASTING);
    await until("the link to be open", () => exchange.open === 1 || undefined);
    await rig.deliver({ [LINK]: theirs }, second(rig));
    const accepting = rig.acceptMany(300, (index) => ({ recipient: recipientNo(index) }), { handover: owner.handover });
    await until("some messages to be sent", () => mine.sends.length > 20 || undefined);
    const stopping = owner.stop();
    await accepting;
    await stopping;
    assert.ok(mine.sends.length < 300, "the node stopped before all messages were sent");
    await until("all to be sent", async () => (await rig.count("sent")) === 300 || undefined);
    assert.equal(exchange.sends.length, 300);
    assert.equal(new Set(exchange.sends.map(({ id }) => id)).size, 300);
    assert.deepEqual([mine.opens, theirs.opens, exchange.highWater], [1, 1, 1]);
    assert.ok(theirs.sends.length > 0);
    // The second node receives the receipts for messages of the first.
    await theirs.receive(exchange.sends.map(({ id }) => receipt(`name of ${id}`, "delivered")));
    assert.equal(await rig.count("delivered"), 300);
  });

  test("that a node loses does not wait for the messages that this node had claimed", async () => {
    await using rig = await Rig.open();
    const exchange = new Exchange();
    const [mine, theirs] = [new ExclusiveCarrier(exchange, "1", { window: 1 }), new ExclusiveCarrier(exchange, "2")];
    mine.responds(recipientNo(0), "never");
    const owner = await rig.deliver({ [LINK]: mine });
    await until("the link to be open", () => exchange.open === 1 || undefined);
    const stuck = await rig.accept({ recipient: recipientNo(0) });
    const ahead = await rig.accept({ recipient: recipientNo(1) });
    await until("both messages to be claimed", () => (mine.sends.length === 1 && owner.lanes.get(LINK)?.ownedCount === 2) || undefined);
    await rig.rows("update link_leases set node = 'somebody else', expires_at = now() + interval '1 hour'");
    await rig.deliver({ [LINK]: theirs }, second(rig));
    // The node would otherwise renew the lease of the message for ever.
    await until("the message to be returned", () => owner.lanes.get(LINK)?.ownedCount === 1 || undefined);
    await until("the connection to be closed", () => exchange.open === 0 || undefined);
    await rig.rows("update link_leases set expires_at = now()");
    await rig.untilStatus(ahead, "sent");
    assert.equal(exchange.highWater, 1);
    assert.deepEqual(exchange.sends.filter(({ id }) => id === exchange.sends.at(-1)?.id).length, 1);
    assert.equal((await rig.message(stuck)).status, "sending", "a message that may have left is not sent again");
  });
});

describe("the stored state of a link", () => {
  test("is written by the node that has it open, with its messages in flight and last error, and deleted when the node stops", async () => {
    await using rig = await Rig.open();
    const exchange = new Exchange();
    const [mine, theirs] = [new ExclusiveCarrier(exchange, "1"), new ExclusiveCarrier(exchange, "2")];
    mine.state = { kind: "throttled", reason: "less, please" };
    mine.responds(recipientNo(1), { kind: "refused", code: "spam", message: "no", providerCode: null, isPermanent: true });
    const owner = await rig.deliver({ [LINK]: mine }, LASTING);
    await until("the link to be open", () => exchange.open === 1 || undefined);
    await rig.deliver({ [LINK]: theirs }, second(rig));
    const message = await rig.accept({ recipient: recipientNo(1) });
    await rig.untilStatus(message, "failed");
    const expected = { link: LINK, node: "node-1", state: "throttled", reason: "less, please", in_flight: 0, last_error: "spam" };
    await until("the state to be stored", async () => ((await statesIn(rig))[0]?.last_error === "spam" ? true : undefined));
    assert.deepEqual(await statesIn(rig), [expected]);
    await owner.stop();
    assert.ok((await statesIn(rig)).every(({ node }) => node !== "node-1"));
    await until("the other node to store it", async () => ((await statesIn(rig))[0]?.node === "node-2" ? true : undefined));
    assert.deepEqual(await statesIn(rig), [{ ...expected, node: "node-2", state: "connected", reason: null, last_error: null }]);
  });
});

describe("the last error of a link", () => {
  type ErrorRow = { code: string; at: Date; said: Date };
  const errorIn = async (rig: Rig): Promise<ErrorRow> =>
    (await rig.rows<ErrorRow>("select last_error as code, last_error_at as at, updated_at as said from link_states"))[0] ??
    assert.fail("no state is stored");

  test("has the time of its occurrence: the same error again is a new one, and a repeated report is not", async () => {
    await using rig = await Rig.open();
    const carrier = new ScriptedCarrier();
    carrier.otherwise = { kind: "refused", code: "spam", message: "no", providerCode: null, isPermanent: true };
    await rig.deliver({ [LINK]: carrier });
    const fail = async (index: number): Promise<void> => {
      const message = await rig.accept({ recipient: recipientNo(index) });
      await rig.untilStatus(message, "failed");
    };
    await fail(1);
    const first = await until("the state to be stored", async () =>
      (await rig.rows("select from link_states where last_error = 'spam'")).length > 0 ? errorIn(rig) : undefined,
    );
    const again = await until("the state to be stored again", async () => {
      const now = await errorIn(rig);
      return now.said > first.said ? now : undefined;
    });
    assert.deepEqual([again.code, again.at], ["spam", first.at]);
    await fail(2);
    await until("the second error to be stored", async () => (await errorIn(rig)).at > first.at || undefined);
  });
});

describe("a changed plan", () => {
  test("keeps the connections of unchanged links, closes removed ones, and opens new ones", async () => {
    await using rig = await Rig.open();
    const exchange = new Exchange();
    const carriers = Object.fromEntries(
      ["same", "other", "gone", "new"].map((name) => [name, new ExclusiveCarrier(name === "same" ? exchange : new Exchange(), name)]),
    );
    const simulator = new ScriptedCarrier();
    const plan = (links: ReturnType<typeof linkTo>[]) => ({ ...EMPTY_PLAN, links });
    const linkDirectory = new LinkDirectory(
      { ...linkTo("simulator"), provider: "simulator" },
      plan([linkTo("same"), linkTo("other"), linkTo("gone")]),
    );
    const delivery = await rig.deliver({ ...carriers, simulator }, { linkDirectory });
    await until("three to be open", () => ["same", "other", "gone"].every((name) => carriers[name]?.exchange.open === 1) || undefined);
    const lane = delivery.lanes.get("same");
    // One message is being submitted on the link that is removed. The close waits for it.
    const answer = Promise.withResolvers<ReturnType<typeof accepted>>();
    carriers["gone"]?.responds(RECIPIENT, () => answer.promise);
    const message = await rig.accept({}, { link: "gone" });
    carriers["gone"]?.changed();
    await until("the message to be at the carrier", () => carriers["gone"]?.sends[0]);
    linkDirectory.replaceFile(plan([linkTo("same"), { ...linkTo("other"), settings: { speed: 2 } }, linkTo("new")]), new Map());
    // Two concurrent calls still open a link once.
    const reloads = [delivery.reload(), delivery.reload()];
    await until("the others to be open meanwhile", () =>
      ["other", "new"].every((name) => carriers[name]?.opens === (name === "other" ? 2 : 1)),
    );
    assert.equal(carriers["gone"]?.exchange.open, 1, "not while a message is being submitted");
    answer.resolve(accepted("7"));
    await Promise.all(reloads);
    assert.equal((await rig.message(message)).status, "sent");
    await until("the others to be open", () => ["other", "new"].every((name) => carriers[name]?.exchange.open === 1) || undefined);
    assert.deepEqual([...delivery.lanes.keys()].toSorted(), ["new", "other", "same", "simulator"]);
    assert.equal(delivery.lanes.get("same"), lane);
    const seen = Object.entries(carriers).map(([name, carrier]) => [
      name,
      carrier.opens,
      carrier.exchange.open,
      carrier.exchange.highWater,
    ]);
    assert.deepEqual(seen, [
      ["same", 1, 1, 1],
      ["other", 2, 1, 1],
      ["gone", 1, 0, 1],
      ["new", 1, 1, 1],
    ]);
  });

  test("loses no message that is being stored for a link during its close", async () => {
    await using rig = await Rig.open();
    const carrier = new ScriptedCarrier();
    const linkDirectory = new LinkDirectory({ ...linkTo("simulator"), provider: "simulator" }, { ...EMPTY_PLAN, links: [linkTo(LINK)] });
    const delivery = await rig.deliver({ [LINK]: carrier, simulator: new ScriptedCarrier() }, { linkDirectory });
    const place = await until("its queue to be known", async () => {
      const probe = await rig.accept({ recipient: recipientNo(1) }, { handover: delivery.handover });
      await rig.untilStatus(probe, "sent");
      return delivery.handover.reserve(LINK, probe);
    });
    // A place is reserved, its message is not stored yet, and the settings of the link change.
    const message = await rig.accept({ recipient: recipientNo(2) });
    linkDirectory.replaceFile({ ...EMPTY_PLAN, links: [{ ...linkTo(LINK), sender: "NEW" }] }, new Map());
    carrier.isReady = false;
    const reloading = delivery.reload();
    place.take(message);
    carrier.isReady = true;
    carrier.isClosed = false;
    await reloading;
    carrier.isClosed = false;
    // Without waiting for a lease of many seconds.
    await rig.untilStatus(message, "sent");
    assert.equal(carrier.sendsTo(recipientNo(2)).length, 1);
    assert.equal(delivery.lanes.get(LINK)?.link.sender, "NEW");
  });
});

describe("an inbound message to one of our numbers", () => {
  const OTHER = newId("acct", Date.now());
  const number = (fields: Partial<Sender> = {}): Sender => ({
    number: "+15550001",
    link: LINK,
    account: "house",
    environment: "live",
    ...fields,
  });
  const inbound = (fields: Partial<InboundMessage> = {}): InboundMessage => ({
    providerMessageId: null,
    channel: "sms",
    from: "+14155550123",
    to: "+15550001",
    text: "Hello",
    inReplyTo: null,
    ...fields,
  });
  const outcomes: string[] = [];
  const doorOf = (rig: Rig, senders: Sender[]): Inbound =>
    new Inbound({
      db: rig.db,
      clock: rig.clock,
      linkDirectory: new LinkDirectory(
        linkTo("simulator"),
        { ...EMPTY_PLAN, links: [linkTo(LINK)], senders },
        new Map([
          ["house", rig.accountId],
          ["other", OTHER],
        ]),
      ),
      consentDefaults: new ConsentDefaults(),
      mediaRetentionMs: MEDIA_RETENTION_MS,
      queued: () => undefined,
      filesCame: () => undefined,
      wakeWebhooks: wakeNothing,
      watch: { inbound: (_link: string, outcome: string) => outcomes.push(outcome) } as unknown as DeliveryWatch,
      log: createLog("silent").log,
    });
  type Row = { account_id: AccountId; environment: string; in_reply_to: MessageId | null };
  const received = (rig: Rig): Promise<Row[]> =>
    rig.rows<Row>("select account_id, environment, in_reply_to from messages where direction = 'inbound' order by id");

  test("belongs to the owner of the number, in its environment", async () => {
    await using rig = await Rig.open();
    outcomes.length = 0;
    await doorOf(rig, [number(), number({ number: "+15550002", account: "other" })]).receive(linkTo(LINK), [
      inbound(),
      inbound({ to: "+15550002", from: "+14155550124" }),
    ]);
    const rows = await received(rig);
    assert.deepEqual(
      rows.map(({ account_id: id, environment }) => `${id.toString("hex")} ${environment}`).toSorted(),
      [`${rig.accountId.toString("hex")} live`, `${OTHER.toString("hex")} live`].toSorted(),
    );
    assert.deepEqual(outcomes, ["received", "received"]);
  });

  test("without an owner, or on another link, is kept for the operator", async () => {
    await using rig = await Rig.open();
    outcomes.length = 0;
    const door = doorOf(rig, [number()]);
    await door.receive(linkTo(LINK), [inbound({ to: "+15550009" })]);
    await door.receive(linkTo("elsewhere"), [inbound()]);
    assert.deepEqual([await received(rig), outcomes], [[], ["kept", "kept"]]);
  });

  test("replies to a message of the same owner, and never to one of another", async () => {
    await using rig = await Rig.open();
    outcomes.length = 0;
    const carrier = new ScriptedCarrier();
    await rig.deliver({ [LINK]: carrier });
    carrier.responds(recipientNo(1), accepted("mine"));
    carrier.responds(recipientNo(2), accepted("theirs"));
    const mine = await rig.accept({ recipient: recipientNo(1) });
    const theirs = await rig.accept({ recipient: recipientNo(2) }, { accountId: OTHER });
    carrier.changed();
    await rig.untilStatus(mine, "sent");
    await rig.untilStatus(theirs, "sent");
    const door = doorOf(rig, [number({ environment: "test" })]);
    for (const inReplyTo of ["mine", "theirs", "nothing"]) await door.receive(linkTo(LINK), [inbound({ inReplyTo })]);
    const rows = await received(rig);
    assert.deepEqual(
      rows.map(({ in_reply_to: id }) => id?.toString("hex") ?? null),
      [mine.id.toString("hex"), null, null],
    );
    assert.ok(rows.every(({ account_id: id, environment }) => id.equals(rig.accountId) && environment === "test"));
  });
});
