/** The log lines of messages that failed, and of attempts with an unknown outcome. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { encodeId } from "../../src/model/id.ts";
import type { Message } from "../../src/messages/message.ts";
import { linkTo, LINK, Rig } from "../support/delivery-rig.ts";
import { keepLines, type LogLine } from "../support/harness.ts";
import { recipientNo } from "../support/recipient.ts";
import { accepted, acceptedParts, CARRIER_ERROR, receipt, refused, ScriptedCarrier, unknown } from "../support/scripted-carrier.ts";

const [INFO, WARN] = [30, 40];
const BODY = "Your parcel is at the door";

// Ends while the test waits.
const HOLD_MS = 50;

function setUp(rig: Rig) {
  const carrier = new ScriptedCarrier();
  const { log, lines } = keepLines();
  const linesOf = ({ id }: Message): LogLine[] => lines.filter((line) => line["message_id"] === encodeId("msg", id));
  const start = (): Promise<unknown> =>
    rig.deliver({ [LINK]: carrier }, { log, links: [linkTo(LINK, { policy: "fail", holdMs: HOLD_MS })] });
  return { carrier, linesOf, start };
}

test("a message that the carrier refuses has one line with its status and code, and without its recipient and text", async () => {
  await using rig = await Rig.open();
  const { carrier, linesOf, start } = setUp(rig);
  await start();
  carrier.responds(recipientNo(1), refused(true));
  const message = await rig.accept({ recipient: recipientNo(1), body: BODY });
  carrier.changed();
  await rig.untilStatus(message, "failed");
  const [line, ...others] = linesOf(message);
  assert.deepEqual(others, []);
  const { level, event, account_id, link, status, code } = line ?? {};
  assert.deepEqual(
    { level, event, account_id, link, status, code },
    {
      level: INFO,
      event: "delivery.message_failed",
      account_id: encodeId("acct", message.accountId),
      link: LINK,
      status: "failed",
      code: "invalid_destination",
    },
  );
  const text = JSON.stringify(line);
  for (const secret of [recipientNo(1), BODY]) assert.ok(!text.includes(secret), text);
});

test("receipts give a line to an undelivered message, also of one part, and none to a delivered one", async () => {
  await using rig = await Rig.open();
  const { carrier, linesOf, start } = setUp(rig);
  await start();
  carrier.responds(recipientNo(1), accepted("good"));
  carrier.responds(recipientNo(2), accepted("bad"));
  carrier.responds(recipientNo(3), acceptedParts("first", "second"));
  const messages = await Promise.all([1, 2, 3].map((no) => rig.accept({ recipient: recipientNo(no) })));
  carrier.changed();
  for (const message of messages) await rig.untilStatus(message, "sent");
  const failure = { error: CARRIER_ERROR };
  await carrier.receive([receipt("good", "delivered"), receipt("bad", "undelivered", failure), receipt("second", "undelivered", failure)]);
  // A repeated receipt changes nothing.
  await carrier.receive([receipt("bad", "undelivered", failure), receipt("second", "undelivered", failure)]);
  assert.deepEqual(
    messages.map((message) => linesOf(message).map(({ level, status, code }) => [level, status, code])),
    [[], [[INFO, "undelivered", "blocked_by_carrier"]], [[INFO, "undelivered", "blocked_by_carrier"]]],
  );
});

test("every unknown outcome has a warning, and so has the message that ends with it", async () => {
  await using rig = await Rig.open();
  const { carrier, linesOf, start } = setUp(rig);
  carrier.otherwise = unknown;
  // More than the log writes of one failure in a second.
  const messages = await rig.acceptMany(30, () => ({}));
  await start();
  for (const message of messages) await rig.untilStatus(message, "failed");
  for (const message of messages)
    assert.deepEqual(
      linesOf(message).map(({ level, event, link, status, code }) => [level, event, link, status, code]),
      [
        [WARN, "delivery.outcome_unknown", LINK, "sending", null],
        [WARN, "delivery.outcome_unknown", LINK, "failed", "outcome_unknown"],
      ],
    );
});
