/** Messages in several parts: each part has its own carrier id and receipts, and the status of the message follows from its parts. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { ConsentDefaults } from "../../src/consent/consent-defaults.ts";
import { ProviderHosts } from "../../src/delivery/provider-hosts.ts";
import { createLog } from "../../src/model/log.ts";
import { uuidSequence } from "../../src/lib/uuid.ts";
import type { Message } from "../../src/messages/message.ts";
import type { Receipt } from "../../src/providers/provider.ts";
import { Announcer } from "../../src/queue/announcer.ts";
import { deleteOldRows } from "../../src/retention/queries.ts";
import { LinkDirectory } from "../../src/links/directory.ts";
import { LINK, linkTo, Rig } from "../support/delivery-rig.ts";
import { recipientNo } from "../support/recipient.ts";
import { silentWatch, wakeNothing, MEDIA_RETENTION_MS } from "../support/engine.ts";
import { until } from "../support/expect.ts";
import { accepted, acceptedParts, CARRIER_ERROR, receipt, ScriptedCarrier, unknown, type Send } from "../support/scripted-carrier.ts";

const ERROR = { error: CARRIER_ERROR };
type PartRow = { number: number; name: string; status: string; error: { code: string } | null };

const partsIn = (rig: Rig, { id }: Message): Promise<PartRow[]> =>
  rig.rows<PartRow>("select number, provider_message_id as name, status, error from message_parts where message_id = $1 order by number", [
    id,
  ]);
const statusesIn = async (rig: Rig, message: Message): Promise<string[]> => (await partsIn(rig, message)).map(({ status }) => status);
const parked = async (rig: Rig): Promise<string[]> =>
  (await rig.rows<{ name: string }>("select provider_message_id as name from parked_receipts order by 1")).map(({ name }) => name);

/** The receipts in the timeline: the part, the status, and whether the receipt was ignored. */
const receiptsIn = async (rig: Rig, message: Message): Promise<unknown[][]> =>
  (await rig.timeline(message)).flatMap(({ detail, isIgnored, type }) =>
    detail?.receipt ? [[detail.receipt["part"], detail.receipt["status"], isIgnored, type]] : [],
  );

let rig: Rig;
const carrier = new ScriptedCarrier();
// Three parts each, with carrier ids that contain the recipient.
carrier.otherwise = ({ message: { recipient } }: Send) => acceptedParts(`${recipient}-1`, `${recipient}-2`, `${recipient}-3`);
before(async () => {
  rig = await Rig.open();
  await rig.deliver({ [LINK]: carrier });
});
after(() => rig[Symbol.asyncDispose]());

let people = 0;
async function sent(): Promise<Message> {
  const message = await rig.accept({ recipient: recipientNo((people += 1)) });
  carrier.changed();
  return rig.untilStatus(message, "sent");
}
const of = ({ recipient }: Message, part: number, status: Receipt["status"], fields: Partial<Receipt> = {}): Receipt =>
  receipt(`${recipient}-${part}`, status, fields);

describe("a message in parts", () => {
  test("has a row for each part, with its carrier id", async () => {
    const message = await sent();
    const { recipient } = message;
    assert.deepEqual(await partsIn(rig, message), [
      { number: 1, name: `${recipient}-1`, status: "sent", error: null },
      { number: 2, name: `${recipient}-2`, status: "sent", error: null },
      { number: 3, name: `${recipient}-3`, status: "sent", error: null },
    ]);
    assert.equal(message.provider?.messageId, `${recipient}-1`);
    const names = await rig.rows<{ name: string; part: number }>(
      "select provider_message_id as name, part from provider_references where message_id = $1 order by part",
      [message.id],
    );
    assert.deepEqual(
      names,
      [1, 2, 3].map((part) => ({ name: `${recipient}-${part}`, part })),
    );
  });

  test("has no rows for a single part, and the carrier id is that of the message", async () => {
    const recipient = recipientNo((people += 1));
    carrier.responds(recipient, accepted("single"));
    const accepting = await rig.accept({ recipient });
    carrier.changed();
    const message = await rig.untilStatus(accepting, "sent");
    assert.deepEqual(await partsIn(rig, message), []);
    assert.deepEqual(await rig.rows("select part from provider_references where message_id = $1", [message.id]), [{ part: null }]);
    await carrier.receive([receipt("single", "delivered")]);
    assert.equal((await rig.message(message)).status, "delivered");
  });

  test("is delivered when its last part is delivered, and not before", async () => {
    const message = await sent();
    await carrier.receive([of(message, 2, "delivered")]);
    assert.deepEqual(await rig.message(message).then(({ status, sequence }) => [status, sequence]), ["sent", 3]);
    await carrier.receive([of(message, 1, "delivered")]);
    assert.equal((await rig.message(message)).status, "sent");
    await carrier.receive([of(message, 3, "delivered")]);
    const now = await rig.message(message);
    assert.deepEqual([now.status, now.sequence, now.error], ["delivered", 4, null]);
    assert.ok(now.deliveredAtMs !== null);
    assert.deepEqual(await statusesIn(rig, message), ["delivered", "delivered", "delivered"]);
    assert.deepEqual(await receiptsIn(rig, message), [
      [2, "delivered", false, "part.delivered"],
      [1, "delivered", false, "part.delivered"],
      [3, "delivered", false, "message.delivered"],
    ]);
    const events = (await rig.timeline(message)).filter(({ status }) => status !== null).map(({ type }) => type);
    assert.deepEqual(
      events,
      ["message.queued", "message.sending", "message.sent", "message.delivered"],
      "only transitions of the message are events",
    );
  });

  for (const order of [
    [1, 2, 3],
    [3, 2, 1],
    [2, 3, 1],
    [3, 1, 2],
  ]) {
    for (const how of ["together", "one by one"] as const) {
      test(`is delivered by receipts for the parts ${order.join(", ")}, ${how}`, async () => {
        const message = await sent();
        const receipts = order.map((part) => of(message, part, "delivered"));
        if (how === "together") await carrier.receive(receipts);
        else for (const each of receipts) await carrier.receive([each]);
        const now = await rig.message(message);
        assert.deepEqual([now.status, now.sequence], ["delivered", 4]);
        assert.equal((await receiptsIn(rig, message)).length, 3);
      });
    }
  }

  for (const [bad, part] of [
    ["undelivered", 1],
    ["undelivered", 3],
    ["failed", 2],
    ["expired", 2],
  ] as const) {
    test(`is ${bad} when part ${part} is ${bad}, with its error, whatever the status of the others`, async () => {
      const message = await sent();
      const others = [1, 2, 3].filter((other) => other !== part);
      await carrier.receive([of(message, others[0] ?? 0, "delivered"), of(message, part, bad, ERROR)]);
      const now = await rig.message(message);
      assert.deepEqual([now.status, now.error?.code, now.sequence], [bad, "blocked_by_carrier", 4]);
      await carrier.receive([of(message, others[1] ?? 0, "delivered")]);
      assert.deepEqual(
        await rig.message(message).then(({ status, sequence }) => [status, sequence]),
        [bad, 4],
        "receipts of the other parts do not change the status",
      );
      assert.equal((await partsIn(rig, message))[part - 1]?.error?.code, "blocked_by_carrier");
    });
  }

  test("that is undelivered because of one part is delivered when that part and all others are delivered", async () => {
    const message = await sent();
    await carrier.receive([of(message, 1, "delivered"), of(message, 2, "undelivered", ERROR), of(message, 2, "delivered")]);
    assert.equal((await rig.message(message)).status, "undelivered", "part 3 has no receipt yet");
    await carrier.receive([of(message, 3, "delivered")]);
    const now = await rig.message(message);
    assert.deepEqual([now.status, now.sequence], ["delivered", 5]);
    assert.equal(now.error?.code, "blocked_by_carrier", "an error once set is not erased");
  });

  test("that is undelivered because of two parts is delivered when both are", async () => {
    const message = await sent();
    await carrier.receive([of(message, 1, "undelivered", ERROR), of(message, 2, "expired"), of(message, 3, "delivered")]);
    await carrier.receive([of(message, 1, "delivered")]);
    assert.equal((await rig.message(message)).status, "undelivered");
    await carrier.receive([of(message, 2, "delivered")]);
    assert.equal((await rig.message(message)).status, "delivered");
  });

  test("changes once, however often a receipt is repeated", async () => {
    const message = await sent();
    const all = [1, 2, 3].map((part) => of(message, part, "delivered"));
    await carrier.receive([...all, ...all]);
    await carrier.receive([of(message, 2, "delivered"), of(message, 2, "undelivered", ERROR), of(message, 2, "sent")]);
    const now = await rig.message(message);
    assert.deepEqual([now.status, now.sequence, now.error], ["delivered", 4, null]);
    const ignored = (await receiptsIn(rig, message)).filter(([, , isIgnored]) => isIgnored);
    assert.equal(ignored.length, 6);
    assert.deepEqual(await statusesIn(rig, message), ["delivered", "delivered", "delivered"]);
  });

  test("whose carrier ids are not distinct or not valid is treated as one part, which any receipt moves", async () => {
    for (const [at, names] of [
      ["same-a", "same-a"],
      ["x-1", ""],
      ["y-1", "y\n2"],
    ].entries()) {
      const recipient = recipientNo((people += 1));
      const [first = "", ...further] = names;
      carrier.responds(recipient, acceptedParts(first, ...further));
      const accepting = await rig.accept({ recipient });
      carrier.changed();
      const message = await rig.untilStatus(accepting, "sent");
      assert.deepEqual(await partsIn(rig, message), [], `case ${at}`);
      await carrier.receive([receipt(first, "delivered")]);
      assert.equal((await rig.message(message)).status, "delivered", `case ${at}`);
    }
  });

  test("expires without receipts, and late receipts of all its parts still deliver it", async () => {
    const message = await sent();
    await carrier.receive([of(message, 2, "delivered")]);
    // The wait for receipts has ended for all carrier ids of the message.
    await rig.rows("update provider_references set expires_at = expires_at - interval '2 hours' where message_id = $1", [message.id]);
    const expired = await rig.untilStatus(message, "expired");
    assert.equal(expired.error?.code, "no_receipt");
    await carrier.receive([of(message, 1, "delivered")]);
    assert.equal((await rig.message(message)).status, "expired", "one part is not the whole message");
    await carrier.receive([of(message, 3, "delivered")]);
    assert.equal((await rig.message(message)).status, "delivered");
    assert.deepEqual(await parked(rig), []);
  });
});

describe("concurrent receipts of several parts", () => {
  test("through two processes always complete the message", async () => {
    const hosts = ["p", "q"].map((name) => {
      const [db, { log }] = [rig.connect(name), createLog("silent")];
      return new ProviderHosts({
        db,
        announcer: new Announcer(db, name, log),
        clock: rig.clock,
        providers: {},
        linkDirectory: new LinkDirectory(linkTo(LINK)),
        consentDefaults: new ConsentDefaults(),
        mediaRetentionMs: MEDIA_RETENTION_MS,
        wakeWebhooks: wakeNothing,
        receiptWaitMs: 3_600_000,
        watch: silentWatch,
        pauseLink: async () => undefined,
        log,
      });
    });
    for (let round = 0; round < 40; round += 1) {
      const message = await sent();
      const [left, right] = hosts;
      await Promise.all([
        left?.receipts.receive(LINK, [of(message, 1, "delivered"), of(message, 2, "delivered")]),
        right?.receipts.receive(LINK, [of(message, 3, "delivered")]),
        right?.receipts.receive(LINK, [of(message, 2, "delivered")]),
      ]);
      const now = await rig.message(message);
      assert.deepEqual([now.status, now.sequence], ["delivered", 4], `round ${round}`);
    }
  });
});

describe("receipts that arrive before the response", () => {
  test("are parked for each part and processed when the carrier ids are known", async () => {
    await using own = await Rig.open();
    const quick = new ScriptedCarrier();
    let waiting: string[] = [];
    quick.otherwise = acceptedParts("q-1", "q-2", "q-3");
    quick.onSend = async () => {
      await quick.receive([receipt("q-2", "delivered"), receipt("q-3", "delivered"), receipt("q-1", "delivered")]);
      waiting = await parked(own);
    };
    const message = await own.accept();
    await own.deliver({ [LINK]: quick });
    const now = await own.untilStatus(message, "delivered");
    assert.deepEqual(waiting, ["q-1", "q-2", "q-3"]);
    assert.equal(now.sequence, 4);
    await until("nothing to be parked", async () => (await parked(own)).length === 0 || undefined);
    assert.deepEqual((await receiptsIn(own, message)).map(([part]) => String(part)).toSorted(), ["1", "2", "3"]);
  });
});

describe("a message that is resent", () => {
  test("has the carrier ids of the accepted attempt, and receipts of that attempt move it", async () => {
    await using own = await Rig.open();
    const again = new ScriptedCarrier();
    again.responds(recipientNo(1), unknown, acceptedParts("b-1", "b-2"));
    const message = await own.accept({ recipient: recipientNo(1) });
    await own.deliver({ [LINK]: again }, { links: [linkTo(LINK, { holdMs: 50, policy: "resend" })] });
    await own.untilStatus(message, "sent");
    assert.deepEqual(
      (await partsIn(own, message)).map(({ name }) => name),
      ["b-1", "b-2"],
    );
    await again.receive([receipt("b-1", "delivered"), receipt("b-2", "delivered")]);
    assert.equal((await own.message(message)).status, "delivered");
  });

  test("and whose first response arrives late keeps the status of its parts, and both carrier ids of each part count", async () => {
    await using own = await Rig.open();
    const again = new ScriptedCarrier();
    const late = Promise.withResolvers<ReturnType<typeof accepted>>();
    again.responds(recipientNo(1), () => late.promise, acceptedParts("b-1", "b-2"));
    const message = await own.accept({ recipient: recipientNo(1) });
    await own.deliver({ [LINK]: again }, { links: [linkTo(LINK, { holdMs: 50, policy: "resend" })], responseTimeoutMs: 200 });
    await own.untilStatus(message, "sent");
    await again.receive([receipt("b-1", "delivered")]);
    late.resolve(acceptedParts("a-1", "a-2"));
    await until("the late carrier ids", async () => {
      const rows = await own.rows("select 1 from provider_references where provider_message_id in ('a-1', 'a-2')");
      return rows.length === 2 || undefined;
    });
    assert.deepEqual(
      (await partsIn(own, message)).map(({ name, status }) => [name, status]),
      [
        ["b-1", "delivered"],
        ["b-2", "sent"],
      ],
    );
    await again.receive([receipt("a-2", "delivered")]);
    assert.equal((await own.message(message)).status, "delivered");
  });
});

describe("the rows of parts", () => {
  test("are deleted by the age of their messages, and not before", async () => {
    const [young, old] = [await sent(), uuidSequence()(Date.now() - 100 * 86_400_000)];
    await rig.rows(
      `insert into message_parts (account_id, environment, message_id, number, provider_message_id, status, updated_at)
       select $1, 'test', $2, number, 'old-' || number, 'sent', now() from generate_series(1, 3) number`,
      [rig.accountId, old],
    );
    const before90 = Date.now() - 90 * 86_400_000;
    assert.equal(await deleteOldRows(rig.db, "message_parts", before90, 2), 2);
    assert.equal(await deleteOldRows(rig.db, "message_parts", before90, 2), 1);
    assert.equal(await deleteOldRows(rig.db, "message_parts", before90, 2), 0);
    assert.equal((await partsIn(rig, young)).length, 3);
  });
});
