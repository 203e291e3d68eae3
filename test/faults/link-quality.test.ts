/** Three links of a route, of which the first turns bad for ten minutes: a route by quality loses a tenth of the messages of a static one, at most, and
 *  leaves the link within a minute. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { LinkDirectory } from "../../src/links/directory.ts";
import { EMPTY_PLAN, type RouteRow } from "../../src/links/plan.ts";
import type { Message } from "../../src/messages/message.ts";
import { LinkMeter } from "../../src/quality/meter.ts";
import { windowsOf } from "../../src/quality/windows.ts";
import { linkTo, Rig } from "../support/delivery-rig.ts";
import { silentWatch } from "../support/engine.ts";
import { recipientNo } from "../support/recipient.ts";
import { receipt, ScriptedCarrier } from "../support/scripted-carrier.ts";

const NAMES = ["a", "b", "c"] as const;
// A message a second, in groups of five. The counts are stored and read after each group, as the service does every five seconds.
const GROUP = 5;
const GROUP_MS = 5_000;
const GOOD_GROUPS = 12;
const BAD_GROUPS = 120;

/** How a bad carrier ends a message that it has accepted. */
type Fault = "reports a failure" | "reports nothing";

type Figures = { lost: number; messages: number; noticedAfterMs: number };

/** Sends messages while the first link delivers, and then others for ten minutes while it does not. The clock of the meter is ahead by the time that
 *  the groups would take. */
async function sendThrough(strategy: RouteRow["strategy"], fault: Fault): Promise<Figures> {
  await using rig = await Rig.open();
  const carriers = { a: new ScriptedCarrier(), b: new ScriptedCarrier(), c: new ScriptedCarrier() };
  const simulator = { ...linkTo("simulator"), provider: "simulator" } as const;
  const route: RouteRow = { channel: "sms", links: [...NAMES], ...(strategy && { strategy }) };
  const plan = { ...EMPTY_PLAN, links: NAMES.map((name) => linkTo(name)), routes: [route] };
  const startMs = rig.clock.now();
  let nowMs = startMs;
  const meter: LinkMeter = new LinkMeter({
    db: rig.db,
    clock: { now: () => nowMs },
    windows: windowsOf(60_000),
    measuredLinks: () => linkDirectory.current.measuredLinks,
    onError: (error) => assert.fail(String(error)),
  });
  const linkDirectory = new LinkDirectory(simulator, plan, new Map(), () => meter.scores);
  /** Counts a message as one that was sent and settled in the time of its group. */
  const advanced = (after: Message): void => {
    const at = (ms: number | null): number | null => (ms === null ? null : ms === after.updatedAtMs ? nowMs : nowMs - 1);
    const { sentAtMs, deliveredAtMs, failedAtMs } = after;
    meter.counts.count({
      ...after,
      updatedAtMs: nowMs,
      sentAtMs: at(sentAtMs),
      deliveredAtMs: at(deliveredAtMs),
      failedAtMs: at(failedAtMs),
    });
  };
  const { handover } = await rig.deliver(
    { simulator: new ScriptedCarrier(), ...carriers },
    { linkDirectory, watch: { ...silentWatch, advanced } },
  );
  const badSinceMs = startMs + GOOD_GROUPS * GROUP_MS;
  let [lost, noticedAfterMs] = [0, Infinity];
  for (let group = 0; group < GOOD_GROUPS + BAD_GROUPS; group += 1) {
    const isBad = group >= GOOD_GROUPS;
    const fields = (at: number) => ({ recipient: recipientNo(group * GROUP + at) });
    const accepted = await rig.acceptMany(GROUP, fields, { linkDirectory, environment: "live", handover });
    for (const message of await Promise.all(accepted.map((each) => rig.untilStatus(each, "sent")))) {
      const { link, messageId } = message.provider ?? assert.fail("it was sent");
      const isLost = isBad && link === "a";
      if (isLost) lost += 1;
      if (isBad && link !== "a" && message.linkReason === "quality") noticedAfterMs = Math.min(noticedAfterMs, nowMs - badSinceMs);
      if (isLost && fault === "reports nothing") continue;
      const status = isLost ? "undelivered" : "delivered";
      await carriers[link as keyof typeof carriers].receive([receipt(messageId, status)]);
      await rig.untilStatus(message, status);
    }
    nowMs += GROUP_MS;
    await meter.store();
    await meter.read();
  }
  return { lost, messages: BAD_GROUPS * GROUP, noticedAfterMs };
}

describe("ten minutes of a bad link", { concurrency: true }, () => {
  test("cost a static route all messages", async () => {
    const { lost, messages } = await sendThrough(undefined, "reports a failure");
    assert.equal(lost, messages);
  });

  for (const fault of ["reports a failure", "reports nothing"] as const)
    test(`cost a route by quality at most a tenth of them if the carrier ${fault}, and the route leaves it within a minute`, async () => {
      const { lost, messages, noticedAfterMs } = await sendThrough("quality", fault);
      assert.ok(lost > 0, "the bad link is still measured");
      assert.ok(noticedAfterMs <= 60_000, `${noticedAfterMs} ms`);
      assert.ok(lost <= 0.1 * messages, `${lost} of ${messages} messages are lost`);
    });
});
