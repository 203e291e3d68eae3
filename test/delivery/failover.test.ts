/** Failover: when a message moves to the next link of its route, which sender it gets there, and when it stays. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { advance } from "../../src/messages/advance.ts";
import { changeBy } from "../../src/messages/change.ts";
import type { Message } from "../../src/messages/message.ts";
import type { NewMessage } from "../../src/messages/new-message.ts";
import { sendingSignal } from "../../src/delivery/begin-sending.ts";
import { encodeId, newId } from "../../src/model/id.ts";
import type { Link } from "../../src/links/link.ts";
import { EMPTY_PLAN, type Plan, type Sender } from "../../src/links/plan.ts";
import { LinkDirectory, NOTHING_CREATED, type CreatedRecords } from "../../src/links/directory.ts";
import { linkTo, Rig } from "../support/delivery-rig.ts";
import { recipientNo, recipientOf } from "../support/recipient.ts";
import { Exchange, ExclusiveCarrier } from "../support/exclusive-carrier.ts";
import { until } from "../support/expect.ts";
import { accepted, refused, ScriptedCarrier, unknown } from "../support/scripted-carrier.ts";

const SIMULATOR = { ...linkTo("simulator"), provider: "simulator" } as const;
const ownLink = (name: string, sender: string, fields: Partial<Link> = {}): Link => ({ ...linkTo(name), sender, ...fields });
const A = ownLink("a", "AAA");
const B = ownLink("b", "BBB");

/** Real routing, with the rig's account under the name `house`. */
const linkDirectoryWith = (rig: Rig, fields: Partial<Plan> = {}): LinkDirectory =>
  new LinkDirectory(SIMULATOR, { ...EMPTY_PLAN, links: [A, B], ...fields }, new Map([["house", rig.accountId]]));
/** Both links permit any sender. */
const permissive = (rig: Rig): LinkDirectory =>
  linkDirectoryWith(rig, {
    links: [
      { ...A, anySender: true },
      { ...B, anySender: true },
    ],
  });
const numberOn = (number: string, link: string): Sender => ({ number, link, account: "house", environment: "live" });

const send = (rig: Rig, linkDirectory: LinkDirectory, fields: Partial<NewMessage> = {}): Promise<Message> =>
  rig.accept(fields, { linkDirectory, environment: "live" });

const carriersOf = () => ({ simulator: new ScriptedCarrier(), a: new ScriptedCarrier(), b: new ScriptedCarrier() });
const reasonsOf = async (rig: Rig, message: Message): Promise<string[]> =>
  (await rig.timeline(message)).flatMap(({ detail }) => detail?.reason ?? []);

describe("a message that is refused temporarily", () => {
  test("is submitted to the next link, from the sender of that link", async () => {
    await using rig = await Rig.open();
    const [linkDirectory, carriers] = [linkDirectoryWith(rig), carriersOf()];
    carriers.a.otherwise = refused(false);
    const message = await send(rig, linkDirectory);
    assert.equal(message.sender, "AAA");
    await rig.deliver(carriers, { linkDirectory });
    const sent = await rig.untilStatus(message, "sent");
    assert.deepEqual([sent.provider?.link, sent.sender, sent.attempts], ["b", "BBB", 2]);
    assert.deepEqual([carriers.a.sends[0]?.message.sender, carriers.b.sends[0]?.message.sender], ["AAA", "BBB"]);
    assert.deepEqual([carriers.a.sends.length, carriers.b.sends.length, carriers.simulator.sends.length], [1, 1, 0]);
    assert.deepEqual(await reasonsOf(rig, message), ["b takes it next"]);
  });

  test("is submitted to the next link from the account's own number on that link", async () => {
    await using rig = await Rig.open();
    const linkDirectory = linkDirectoryWith(rig, { senders: [numberOn("+15550001", "a"), numberOn("+15550002", "b")] });
    const carriers = carriersOf();
    carriers.a.otherwise = refused(false);
    const message = await send(rig, linkDirectory);
    assert.equal(message.sender, "+15550001");
    await rig.deliver(carriers, { linkDirectory });
    const sent = await rig.untilStatus(message, "sent");
    assert.deepEqual([sent.provider?.link, sent.sender], ["b", "+15550002"]);
  });

  test("keeps the sender that its request names", async () => {
    await using rig = await Rig.open();
    const [linkDirectory, carriers] = [permissive(rig), carriersOf()];
    carriers.a.otherwise = refused(false);
    const message = await send(rig, linkDirectory, { sender: "MINE" });
    await rig.deliver(carriers, { linkDirectory });
    const sent = await rig.untilStatus(message, "sent");
    assert.deepEqual([sent.provider?.link, sent.sender, carriers.b.sends[0]?.message.sender], ["b", "MINE", "MINE"]);
  });

  test("stays with the link that permits any sender, if the next one does not", async () => {
    await using rig = await Rig.open();
    const linkDirectory = linkDirectoryWith(rig, { links: [{ ...A, anySender: true }, B] });
    const carriers = carriersOf();
    carriers.a.responds(recipientNo(1), refused(false), { kind: "accepted", providerMessageId: "x" });
    const message = await send(rig, linkDirectory, { sender: "MINE", recipient: recipientNo(1) });
    await rig.deliver(carriers, { linkDirectory });
    const sent = await rig.untilStatus(message, "sent");
    assert.deepEqual([sent.provider?.link, sent.sender, sent.attempts, carriers.b.sends.length], ["a", "MINE", 2, 0]);
  });

  test("stays with the link that owns its named number", async () => {
    await using rig = await Rig.open();
    const linkDirectory = linkDirectoryWith(rig, { senders: [numberOn("+15550001", "a"), numberOn("+15550009", "a")] });
    const carriers = carriersOf();
    carriers.a.responds(recipientNo(1), refused(false), { kind: "accepted", providerMessageId: "x" });
    const message = await send(rig, linkDirectory, { sender: "+15550009", recipient: recipientNo(1) });
    await rig.deliver(carriers, { linkDirectory });
    const sent = await rig.untilStatus(message, "sent");
    assert.deepEqual([sent.provider?.link, sent.sender, sent.attempts, carriers.b.sends.length], ["a", "+15550009", 2, 0]);
  });

  for (const [what, senders, sender] of [
    ["the number that the account would have on the link anyway", [numberOn("+15550001", "a"), numberOn("+15550002", "b")], "+15550001"],
    ["the sender of the link itself", [], "AAA"],
  ] as const)
    test(`keeps ${what} where its request names it, and waits for the link that has it`, async () => {
      await using rig = await Rig.open();
      const linkDirectory = linkDirectoryWith(rig, { senders });
      const carriers = carriersOf();
      carriers.a.responds(recipientNo(1), refused(false), { kind: "accepted", providerMessageId: "x" });
      const message = await send(rig, linkDirectory, { sender, recipient: recipientNo(1) });
      assert.deepEqual([message.sender, message.senderReason], [sender, "named"]);
      await rig.deliver(carriers, { linkDirectory });
      const sent = await rig.untilStatus(message, "sent");
      assert.deepEqual([sent.provider?.link, sent.sender, sent.attempts, carriers.b.sends.length], ["a", sender, 2, 0]);
    });

  test("has the reasons of its new link and sender", async () => {
    await using rig = await Rig.open();
    const linkDirectory = linkDirectoryWith(rig, { senders: [numberOn("+15550002", "b")] });
    const carriers = carriersOf();
    carriers.a.otherwise = refused(false);
    const message = await send(rig, linkDirectory);
    assert.deepEqual([message.senderReason, message.linkReason], ["link_default", "file_order"]);
    await rig.deliver(carriers, { linkDirectory });
    const sent = await rig.untilStatus(message, "sent");
    assert.deepEqual([sent.sender, sent.senderReason, sent.linkReason], ["+15550002", "only_sender", "failover"]);
  });

  test("from before reasons were stored keeps its sender", async () => {
    await using rig = await Rig.open();
    const [linkDirectory, carriers] = [permissive(rig), carriersOf()];
    carriers.a.otherwise = refused(false);
    const message = await send(rig, linkDirectory, { sender: "MINE" });
    await rig.rows("update messages set sender_reason = null, link_reason = null");
    await rig.deliver(carriers, { linkDirectory });
    const sent = await rig.untilStatus(message, "sent");
    assert.deepEqual([sent.provider?.link, sent.sender], ["b", "MINE"]);
  });

  test("moves through all links of the route and then to the first one again", async () => {
    await using rig = await Rig.open();
    const [linkDirectory, carriers] = [linkDirectoryWith(rig), carriersOf()];
    carriers.a.responds(recipientNo(1), refused(false), refused(false), { kind: "accepted", providerMessageId: "x" });
    carriers.b.otherwise = refused(false);
    const message = await send(rig, linkDirectory, { recipient: recipientNo(1) });
    await rig.deliver(carriers, { linkDirectory });
    const sent = await rig.untilStatus(message, "sent");
    assert.deepEqual([sent.provider?.link, sent.sender, sent.attempts], ["a", "AAA", 3]);
    assert.deepEqual([carriers.a.sends.length, carriers.b.sends.length], [2, 1]);
  });

  test("is submitted to the same link again where the route has no other", async () => {
    await using rig = await Rig.open();
    const linkDirectory = linkDirectoryWith(rig, { routes: [{ channel: "sms", links: ["a"] }] });
    const carriers = carriersOf();
    carriers.a.responds(recipientNo(1), refused(false), { kind: "accepted", providerMessageId: "x" });
    const message = await send(rig, linkDirectory, { recipient: recipientNo(1) });
    await rig.deliver(carriers, { linkDirectory });
    const sent = await rig.untilStatus(message, "sent");
    assert.deepEqual([sent.provider?.link, sent.attempts, carriers.b.sends.length], ["a", 2, 0]);
    assert.deepEqual(await reasonsOf(rig, message), []);
  });
});

test("a message that is refused permanently fails and is submitted to no other link", async () => {
  await using rig = await Rig.open();
  const [linkDirectory, carriers] = [linkDirectoryWith(rig), carriersOf()];
  carriers.a.otherwise = refused(true);
  const message = await send(rig, linkDirectory);
  await rig.deliver(carriers, { linkDirectory });
  const failed = await rig.untilStatus(message, "failed");
  assert.deepEqual([failed.error?.code, failed.attempts, failed.sender], ["invalid_destination", 1, "AAA"]);
  assert.equal(carriers.b.sends.length, 0);
});

test("a message of unknown outcome stays with its link, also when it is resent and refused", async () => {
  await using rig = await Rig.open();
  const again = { ...A, onUnknown: { holdMs: 50, policy: "resend" as const } };
  const linkDirectory = linkDirectoryWith(rig, { links: [again, B] });
  const carriers = carriersOf();
  carriers.a.responds(recipientNo(1), unknown, refused(false), { kind: "accepted", providerMessageId: "x" });
  const message = await send(rig, linkDirectory, { recipient: recipientNo(1) });
  await rig.deliver(carriers, { linkDirectory });
  const sent = await rig.untilStatus(message, "sent");
  assert.deepEqual([sent.provider?.link, sent.attempts, sent.hasUnknown], ["a", 3, true]);
  assert.equal(carriers.b.sends.length, 0);
});

describe("a link that is down on every node", () => {
  const DOWN = { downAfterMs: 300 };
  /** A carrier that cannot be reached. */
  const unreachable = (): ExclusiveCarrier => {
    const carrier = new ExclusiveCarrier(new Exchange(), "n");
    carrier.isReady = false;
    carrier.state = { kind: "connecting", reason: "no connection" };
    return carrier;
  };

  test("loses its waiting messages to the next link that is up, from the sender of that link", async () => {
    await using rig = await Rig.open();
    const C = ownLink("c", "CCC");
    const linkDirectory = linkDirectoryWith(rig, { links: [A, B, C] });
    const carriers = { ...carriersOf(), a: unreachable(), b: unreachable(), c: new ScriptedCarrier() };
    const messages = await Promise.all([1, 2, 3].map((index) => send(rig, linkDirectory, { recipient: recipientNo(index) })));
    await rig.deliver(carriers, { linkDirectory, ...DOWN });
    for (const message of messages) {
      const sent = await rig.untilStatus(message, "sent");
      assert.deepEqual([sent.provider?.link, sent.sender, sent.attempts], ["c", "CCC", 1]);
      assert.deepEqual(await reasonsOf(rig, message), ["a is down: c takes it"]);
      assert.deepEqual(
        (await rig.timeline(message)).map(({ type, sequence }) => [type, sequence]),
        [
          ["message.queued", 1],
          ["message.rerouted", 1],
          ["message.sending", 2],
          ["message.sent", 3],
        ],
      );
    }
    assert.deepEqual([carriers.a.sends.length, carriers.b.sends.length, carriers.c.sends.length], [0, 0, 3]);
  });

  test("keeps messages that have no other link, in their order, and sends them when it is up again", async () => {
    await using rig = await Rig.open();
    const linkDirectory = linkDirectoryWith(rig, {
      routes: [
        { channel: "sms", links: ["a"] },
        { channel: "sms", prefixes: ["+1212"], links: ["a", "b"] },
      ],
    });
    const carriers = { ...carriersOf(), a: unreachable() };
    const stay = await send(rig, linkDirectory, { recipient: recipientNo(1) });
    const move = await send(rig, linkDirectory, { recipient: recipientOf("+12125550123") });
    await rig.deliver(carriers, { linkDirectory, ...DOWN });
    await rig.untilStatus(move, "sent");
    const row = await until("its claim to be returned", async () => {
      const now = await rig.queueRow(stay);
      return now !== undefined && now.due_in_ms < 0 ? now : undefined;
    });
    assert.deepEqual([row.link, (await rig.message(stay)).status], ["a", "queued"]);
    assert.ok(row.due_in_ms < -300, "its due time is unchanged");
    carriers.a.isReady = true;
    carriers.a.state = { kind: "connected", reason: null };
    carriers.a.changed();
    const sent = await rig.untilStatus(stay, "sent");
    assert.deepEqual([sent.provider?.link, carriers.b.sends.length], ["a", 1]);
  });

  test("also loses messages that a node has claimed and cannot submit", async () => {
    await using rig = await Rig.open();
    const linkDirectory = linkDirectoryWith(rig);
    // Like a carrier over HTTP: it accepts every request and responds with throttling.
    const paused = new ExclusiveCarrier(new Exchange(), "n", { window: 2 });
    paused.otherwise = () => {
      paused.state = { kind: "paused", reason: "the token has expired" };
      return { kind: "throttled", scope: "link", retryAfterMs: 60_000, providerCode: "190" };
    };
    const carriers = { ...carriersOf(), a: paused };
    const messages = await Promise.all([1, 2, 3, 4].map((index) => send(rig, linkDirectory, { recipient: recipientNo(index) })));
    await rig.deliver(carriers, { linkDirectory, ...DOWN });
    for (const message of messages) assert.equal((await rig.untilStatus(message, "sent")).provider?.link, "b");
  });

  test("loses a message that may use another link, however many before it may not", async () => {
    await using rig = await Rig.open();
    const linkDirectory = linkDirectoryWith(rig, {
      routes: [
        { channel: "sms", links: ["a"] },
        { channel: "sms", prefixes: ["+1212"], links: ["a", "b"] },
      ],
    });
    const carriers = { ...carriersOf(), a: unreachable() };
    const stay = await rig.acceptMany(700, (index) => ({ recipient: recipientNo(index) }), { linkDirectory, environment: "live" });
    const move = await send(rig, linkDirectory, { recipient: recipientOf("+12125550123") });
    await rig.deliver(carriers, { linkDirectory, ...DOWN });
    await rig.untilStatus(move, "sent");
    assert.deepEqual([await rig.count("queued"), carriers.b.sends.length], [stay.length, 1]);
  });

  test("keeps a message that names its sender until it is up again", async () => {
    await using rig = await Rig.open();
    const linkDirectory = linkDirectoryWith(rig);
    const carriers = { ...carriersOf(), a: unreachable() };
    const named = await send(rig, linkDirectory, { sender: "AAA" });
    const other = await send(rig, linkDirectory, { recipient: recipientNo(2) });
    await rig.deliver(carriers, { linkDirectory, ...DOWN });
    const moved = await rig.untilStatus(other, "sent");
    assert.deepEqual([moved.provider?.link, moved.sender, moved.linkReason], ["b", "BBB", "failover"]);
    assert.deepEqual([(await rig.queueRow(named))?.link, await reasonsOf(rig, named)], ["a", []]);
    carriers.a.isReady = true;
    carriers.a.state = { kind: "connected", reason: null };
    carriers.a.changed();
    const sent = await rig.untilStatus(named, "sent");
    assert.deepEqual([sent.provider?.link, sent.sender, carriers.b.sends.length], ["a", "AAA", 1]);
  });

  test("loses no message to a link that is also down", async () => {
    await using rig = await Rig.open();
    const [linkDirectory, carriers] = [linkDirectoryWith(rig), { ...carriersOf(), a: unreachable(), b: unreachable() }];
    const message = await send(rig, linkDirectory);
    const marker = await rig.accept({ recipient: recipientNo(2) }, { link: "gone" });
    await rig.deliver(carriers, { linkDirectory, ...DOWN });
    // A lane without a link is checked after the links, so both have been checked by then.
    await rig.untilStatus(marker, "sent");
    assert.equal((await rig.queueRow(message))?.link, "a");
    assert.deepEqual(await reasonsOf(rig, message), []);
  });

  test("holds a message whose node ended during the submission, and then applies its policy", async () => {
    await using rig = await Rig.open();
    const brief = { ...A, onUnknown: { holdMs: 100, policy: "fail" as const } };
    const [linkDirectory, carriers] = [linkDirectoryWith(rig, { links: [brief, B] }), { ...carriersOf(), a: unreachable() }];
    const message = await send(rig, linkDirectory);
    // The state after a process that ended when bytes may have left.
    const written = changeBy(message, sendingSignal(message, brief), rig.clock.now());
    assert.ok(written !== undefined);
    assert.deepEqual(await advance(rig.db, [written]), [true]);
    await rig.makeDue(message);
    await rig.deliver(carriers, { linkDirectory, ...DOWN });
    const failed = await rig.untilStatus(message, "failed");
    assert.equal(failed.error?.code, "outcome_unknown");
    assert.deepEqual(
      (await rig.timeline(message)).map(({ type }) => type),
      ["message.queued", "message.sending", "attempt.unknown", "message.failed"],
    );
    assert.deepEqual([carriers.a.sends.length, carriers.b.sends.length], [0, 0]);
  });

  test("loses its waiting messages to a configured link when it is removed from the plan", async () => {
    await using rig = await Rig.open();
    const linkDirectory = linkDirectoryWith(rig);
    const carriers = carriersOf();
    const message = await send(rig, linkDirectory);
    linkDirectory.replaceFile({ ...EMPTY_PLAN, links: [B] }, new Map([["house", rig.accountId]]));
    await rig.deliver({ simulator: carriers.simulator, b: carriers.b }, { linkDirectory, ...DOWN });
    const sent = await rig.untilStatus(message, "sent");
    assert.equal(sent.provider?.link, "b");
    assert.equal(carriers.simulator.sends.length, 0);
  });

  test("of an account loses its messages to other links of the account only, also when it is deleted", async () => {
    await using rig = await Rig.open();
    const linkDirectory = linkDirectoryWith(rig);
    const carriers = carriersOf();
    const [deleted, other] = [newId("lnk", 1), newId("lnk", 2)].map((id) => encodeId("lnk", id)) as [string, string];
    const created = (...names: string[]): CreatedRecords => ({
      ...NOTHING_CREATED,
      links: names.map((name) => ({ ...linkTo(name), accountId: rig.accountId })),
    });
    linkDirectory.replaceCreated(created(deleted));
    const message = await send(rig, linkDirectory);
    linkDirectory.replaceCreated(NOTHING_CREATED);
    const own = new ScriptedCarrier();
    const delivery = await rig.deliver({ ...carriers, [other]: own }, { linkDirectory, ...DOWN });
    // A message of the operator's link that is removed moves, so failover has had its turn.
    const moved = await rig.accept({}, { link: "removed", environment: "live" });
    assert.equal((await rig.untilStatus(moved, "sent")).provider?.link, "a");
    assert.equal((await rig.message(message)).status, "queued");
    linkDirectory.replaceCreated(created(other));
    await delivery.reload();
    assert.equal((await rig.untilStatus(message, "sent")).provider?.link, other);
    assert.deepEqual([carriers.a.sends.length, own.sends.length], [1, 1]);
  });

  test("loses no message while it is up on another node", async () => {
    await using rig = await Rig.open();
    const [linkDirectory, exchange] = [linkDirectoryWith(rig), new Exchange()];
    const owner = { ...carriersOf(), a: new ExclusiveCarrier(exchange, "n1") };
    const first = await rig.deliver(owner, { linkDirectory, ...DOWN });
    await until(
      "the owner to be connected and to report it",
      async () => (await rig.rows("select 1 from link_states where link = 'a' and state = 'connected'")).length > 0 || undefined,
    );
    const other = { ...carriersOf(), a: new ExclusiveCarrier(exchange, "n2") };
    await rig.deliver(other, { linkDirectory, ...DOWN, node: "node-2", db: rig.connect("node-2") });
    // The owner is slow: the message waits while the other node checks more than once.
    owner.a.responds(recipientNo(1), "never");
    const waiting = await send(rig, linkDirectory, { recipient: recipientNo(1) });
    const marker = await rig.accept({ recipient: recipientNo(2) }, { link: "gone" });
    await until("the marker to be rerouted", async () => (await rig.queueRow(marker))?.link !== "gone" || undefined);
    assert.equal((await rig.queueRow(waiting))?.link, "a");
    assert.deepEqual([owner.b.sends.length, other.b.sends.length, other.a.opens], [0, 0, 0]);
    assert.equal(first.lanes.get("a")?.connection.isReady, true);
  });
});

describe("a scheduled message", () => {
  const soon = (): string => new Date(Date.now() + 1_000).toISOString();

  test("chooses its link at send_at", async () => {
    await using rig = await Rig.open();
    const [linkDirectory, carriers] = [linkDirectoryWith(rig, { routes: [{ channel: "sms", links: ["a"] }] }), carriersOf()];
    const message = await send(rig, linkDirectory, { send_at: soon() });
    assert.equal(message.status, "scheduled");
    linkDirectory.replaceFile({ ...EMPTY_PLAN, links: [A, B], routes: [{ channel: "sms", links: ["b"] }] }, new Map());
    await rig.deliver(carriers, { linkDirectory });
    const sent = await rig.untilStatus(message, "sent");
    assert.deepEqual([sent.provider?.link, carriers.a.sends.length], ["b", 0]);
  });

  test("moves to the new link of its route, from the account's number there, when its first link has left the route", async () => {
    await using rig = await Rig.open();
    const accounts = new Map([["house", rig.accountId]]);
    const senders = [numberOn("+15550001", "a"), numberOn("+15550002", "b")];
    const [linkDirectory, carriers] = [linkDirectoryWith(rig, { senders, routes: [{ channel: "sms", links: ["a"] }] }), carriersOf()];
    const message = await send(rig, linkDirectory, { send_at: soon() });
    assert.equal(message.sender, "+15550001");
    linkDirectory.replaceFile({ ...EMPTY_PLAN, links: [A, B], senders, routes: [{ channel: "sms", links: ["b"] }] }, accounts);
    await rig.deliver(carriers, { linkDirectory });
    const sent = await rig.untilStatus(message, "sent");
    assert.deepEqual([sent.provider?.link, sent.sender, carriers.b.sends[0]?.message.sender], ["b", "+15550002", "+15550002"]);
  });

  test("keeps the sender that its request names, and fails where no link of its route has it any more", async () => {
    await using rig = await Rig.open();
    const accounts = new Map([["house", rig.accountId]]);
    const senders = [numberOn("+15550001", "a"), numberOn("+15550002", "b")];
    const [linkDirectory, carriers] = [linkDirectoryWith(rig, { senders, routes: [{ channel: "sms", links: ["a"] }] }), carriersOf()];
    const message = await send(rig, linkDirectory, { send_at: new Date(Date.now() + 3_600_000).toISOString(), sender: "+15550001" });
    linkDirectory.replaceFile({ ...EMPTY_PLAN, links: [A, B], senders, routes: [{ channel: "sms", links: ["b"] }] }, accounts);
    await rig.makeDue(message);
    await rig.deliver(carriers, { linkDirectory });
    const failed = await rig.untilStatus(message, "failed");
    assert.deepEqual([failed.error?.code, failed.sender, carriers.b.sends.length], ["no_route", "+15550001", 0]);
  });

  test("fails when it has no route at send_at, and nothing is submitted", async () => {
    await using rig = await Rig.open();
    const [linkDirectory, carriers] = [linkDirectoryWith(rig), carriersOf()];
    const message = await send(rig, linkDirectory, { send_at: soon() });
    linkDirectory.replaceFile({ ...EMPTY_PLAN, links: [A, B], routes: [{ channel: "whatsapp", links: ["a"] }] }, new Map());
    await rig.deliver(carriers, { linkDirectory });
    const failed = await rig.untilStatus(message, "failed");
    assert.deepEqual([failed.error?.code, failed.attempts], ["no_route", 0]);
    assert.equal(await rig.queueRow(message), undefined);
    for (const carrier of Object.values(carriers)) assert.equal(carrier.sends.length, 0);
  });

  for (const [what, code, plan] of [
    ["to a country that is no longer allowed", "destination_not_permitted", { allowedCountries: { live: ["DE"] } }],
    [
      "from a number that now belongs to another account",
      "sender_not_allowed",
      { senders: [{ ...numberOn("+15550009", "a"), account: "other" }] },
    ],
  ] as const)
    test(`${what} fails with ${code}, and nothing is submitted`, async () => {
      await using rig = await Rig.open();
      const [linkDirectory, carriers] = [permissive(rig), carriersOf()];
      const message = await send(rig, linkDirectory, { send_at: soon(), sender: "+15550009" });
      const accounts = new Map([["other", newId("acct", Date.now())]]);
      linkDirectory.replaceFile({ ...EMPTY_PLAN, links: [A, B], ...plan }, accounts);
      await rig.deliver(carriers, { linkDirectory });
      const failed = await rig.untilStatus(message, "failed");
      assert.deepEqual([failed.error?.code, failed.error?.permanent, failed.attempts], [code, true, 0]);
      for (const carrier of Object.values(carriers)) assert.equal(carrier.sends.length, 0);
    });
});

describe("a fallback", () => {
  const WA = ownLink("wa", "WAWA", { channels: ["whatsapp"] });
  const SMS = [ownLink("a", "AAA", { channels: ["sms"] }), ownLink("b", "BBB", { channels: ["sms"] })];
  const CASES: readonly (readonly [what: string, fields: Partial<NewMessage>, sender: string, reason: string, link: string])[] = [
    ["on the same channel keeps the sender that the request names", { channel: "sms", sender: "+15550002" }, "+15550002", "named", "b"],
    ["on another channel keeps it where a link has it", { channel: "whatsapp", sender: "+15550002" }, "+15550002", "named", "b"],
    ["on another channel has the sender of its link otherwise", { channel: "whatsapp", sender: "+15550003" }, "AAA", "link_default", "a"],
    ["has the sender of its link where the request names none", { channel: "whatsapp" }, "AAA", "link_default", "a"],
  ];
  for (const [what, fields, sender, reason, link] of CASES)
    test(what, async () => {
      await using rig = await Rig.open();
      const senders = [numberOn("+15550002", "b"), numberOn("+15550002", "wa"), numberOn("+15550003", "wa")];
      const linkDirectory = linkDirectoryWith(rig, { links: [...SMS, WA], senders });
      const carriers = { ...carriersOf(), wa: new ScriptedCarrier() };
      for (const carrier of Object.values(carriers))
        carrier.otherwise = ({ message: { body } }) => (body === "step" ? accepted() : refused(true));
      await send(rig, linkDirectory, { body: "first", fallback: [{ channel: "sms", body: "step", after_seconds: 3_600 }], ...fields });
      await rig.deliver(carriers, { linkDirectory });
      const step = await until("the step to be sent", async () => {
        const rows = await rig.rows<{ sender: string; sender_reason: string; link: string }>(
          "select sender, sender_reason, link from messages where fallback_of is not null and status = 'sent'",
        );
        return rows[0];
      });
      assert.deepEqual(step, { sender, sender_reason: reason, link });
    });
});
