/** The speed of delivery receipts among the first parts of long inbound messages, over one connection with a window of ten. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { STATUS, type ShortMessage } from "../../src/providers/smpp/pdu.ts";
import { smpp } from "../../src/providers/smpp/smpp.ts";
import { LINK, linkTo, Rig } from "../support/delivery-rig.ts";
import { until } from "../support/expect.ts";
import { settingsFor } from "../support/fakes/smsc-link.ts";
import { deliverSm, receiptSm } from "../support/fakes/smsc-scripts.ts";
import { Smsc } from "../support/fakes/smsc.ts";

const RECEIPTS = 100;
const WINDOW = 10;
const ROUNDS = 15;

const firstPart = (count: number): ShortMessage =>
  deliverSm({ esmClass: 0x40, text: Buffer.from([6, 8, 4, count >> 8, count & 0xff, 2, 1, 0x78]) });

const medianOf = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Infinity;

test(`${RECEIPTS} receipts among as many first parts take at most twice the time of ${RECEIPTS} receipts without them`, async () => {
  const smsc = await Smsc.start();
  try {
    await using rig = await Rig.open();
    await rig.deliver({ [LINK]: smpp }, { links: [{ ...linkTo(LINK), settings: settingsFor(smsc) }] });
    await until("the link to be bound", () => smsc.bound.length === 1);
    let count = 0;
    const run = async (isMixed: boolean): Promise<number> => {
      const startedAt = performance.now();
      const worker = async (): Promise<void> => {
        for (let each = 0; each < RECEIPTS / WINDOW; each += 1) {
          count += 1;
          if (isMixed) assert.equal(await smsc.session.deliver(firstPart(count)), STATUS.ok);
          assert.equal(await smsc.session.deliver(receiptSm(`r${count}`)), STATUS.ok);
        }
      };
      await Promise.all(Array.from({ length: WINDOW }, worker));
      return performance.now() - startedAt;
    };
    for (const isMixed of [true, false]) await run(isMixed);
    // The rounds alternate, so that other work on the machine meets both kinds.
    const times: { mixed: number; alone: number }[] = [];
    for (let round = 0; round < ROUNDS; round += 1) times.push({ mixed: await run(true), alone: await run(false) });
    const [mixed, alone] = [medianOf(times.map((each) => each.mixed)), medianOf(times.map((each) => each.alone))];
    assert.ok(mixed <= 2 * alone, `${mixed.toFixed(0)} ms among parts, ${alone.toFixed(0)} ms alone`);
  } finally {
    await smsc.stop();
  }
});
