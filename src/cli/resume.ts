/** godwit hold and godwit resume: accept messages without handing them over, and decide about the messages of a restored database. */
import { numbersIn } from "../delivery/match-receipts.ts";
import { countWaitingTo, findWaiting, listUnmatched, type ParkedSummary } from "../delivery/receipt-queries.ts";
import { countHeld, endHeld, type HeldCounts } from "../delivery/held-messages.ts";
import { groupDigits } from "../lib/group-digits.ts";
import { firstUuidAt, MAX_UUID, type Uuid } from "../lib/uuid.ts";
import { decodeId, idKey } from "../model/id.ts";
import { cliOrigin } from "../model/origin.ts";
import { Advancer } from "../messages/advance.ts";
import { beginHold, endHold, holdRestored, readHold } from "../links/hold.ts";
import type { Database } from "../database/database.ts";
import { EXIT, UsageError, type Command, type Input } from "./command.ts";
import { maskNumber } from "./mask-number.ts";
import { print, say } from "./output.ts";
import { withDatabase, type OpenedDatabase } from "./with-database.ts";

export const hold: Command = {
  name: "hold",
  about: [
    "All nodes accept messages and submit none to carriers until `godwit resume`. Receipts and inbound messages are processed.",
    "Run it on a restored database of DATABASE_URL before the first node starts. A restored embedded database starts with a hold.",
  ],
  usage: ["hold"],
  flags: {},
  settings: "database",
  examples: [["After pg_restore:", "DATABASE_URL=postgres://godwit@db.example.com/godwit godwit hold"]],
  run: (input) =>
    withDatabase(input, "hold", async ({ db, clock }) => {
      const isNew = await beginHold(db, clock, "the operator requested it", cliOrigin());
      if (!isNew) say("the hold had already begun");
      print(input.flags, { on_hold: true, reason: (await readHold(db, clock.now()))?.reason });
    }),
};

export const resume: Command = {
  name: "resume",
  about: [
    "Ends a hold with --send or --end. Without a flag it shows what waits, and changes nothing.",
    "Messages from before the hold may have been submitted after the backup. With --send some may arrive twice. With --end some may not arrive at all. A later receipt corrects the status. Messages accepted during the hold are sent in any case.",
    "--report lists receipts of messages that were sent after the backup. One with waits_here waits in the queue and would arrive twice. waiting_to_recipient counts the waiting messages to the same phone: one of them may be the one that was sent.",
  ],
  usage: ["resume [--send | --end | --report]"],
  flags: {
    send: { isSwitch: true, help: "end the hold, and send the messages from before it" },
    end: { isSwitch: true, help: "end the hold, and these messages as failed with the code outcome_unknown" },
    report: { isSwitch: true, help: "list messages sent after the backup, and change nothing" },
  },
  settings: "database",
  examples: [
    ["Show what waits:", "godwit resume"],
    ["End the hold, and send nothing twice:", "godwit resume --end"],
  ],
  exitCodes: { [EXIT.usage]: "wrong use, or no flag during a hold, which continues" },
  run: (input) => withDatabase(input, "resume", (database) => run(input, database)),
};

async function run(input: Input, { db, clock, config }: OpenedDatabase): Promise<number> {
  const given = ["send", "end", "report"].filter((name) => input.flags[name] === true);
  if (given.length > 1) throw new UsageError(`--${given.join(" and --")} exclude each other`);
  await holdRestored(config, db, clock);
  const held = await readHold(db, clock.now());
  // Without a hold, all receipts that are still parked.
  const unmatched = await listUnmatched(db, held?.sinceMs ?? 0, MAX_REPORTED);
  if (input.flags["report"] === true) {
    print(input.flags, await reportOf(db, unmatched, held === undefined ? MAX_UUID : firstUuidAt(held.sinceMs)));
    return EXIT.done;
  }
  if (held === undefined) {
    say("there is no hold: messages are submitted to carriers");
    print(input.flags, { on_hold: false, sent: 0, ended: 0 });
    return EXIT.done;
  }
  const counts = await countHeld(db, held.sinceMs);
  const waiting = (counts.queued ?? 0) + (counts.sending ?? 0);
  say(held.reason);
  say(describe(counts));
  if (unmatched.length > 0)
    say(
      `${groupDigits(unmatched.length)} receipts came since for messages that were not submitted from this database; --report lists them`,
    );
  if (given.length === 0) {
    say(waiting > 0 ? UNDECIDED : "nothing from before waits: --send or --end ends the hold");
    print(input.flags, { on_hold: true, ...counts });
    return EXIT.usage;
  }
  const advancer = new Advancer({ db, clock, wakeWebhooks: () => undefined, watch: { advanced: () => undefined } });
  const ended =
    input.flags["end"] === true
      ? await endHeld(db, advancer, held.sinceMs, (count) => say(`ended ${groupDigits(count)} of ${groupDigits(waiting)}`))
      : 0;
  await endHold(db, clock, cliOrigin());
  print(input.flags, { on_hold: false, sent: waiting - ended, ended });
  return EXIT.done;
}

const UNDECIDED = `the hold goes on; they may have been submitted after the backup: end the hold
  with --send: they are sent, and some may arrive twice
  with --end: they end as failed with the code outcome_unknown, and some may not arrive`;

// The command reads a page, not a campaign.
const MAX_REPORTED = 1_000;

/** The messages that carriers have sent, by the receipts that match none that was submitted here. `waits_here`: a message of the queue, which would be sent
 *  again. A carrier writes the reference, so only an id of ours is shown as one. */
async function reportOf(db: Database, receipts: readonly ParkedSummary[], before: Uuid): Promise<object[]> {
  const ids = receipts.map(({ reference }) => (reference === null ? undefined : decodeId("msg", reference)));
  const waiting = await findWaiting(
    db,
    ids.filter((id) => id !== undefined),
  );
  const numbers = receipts.map(({ addresses }) =>
    numbersIn({ addresses: addresses ?? [] }).flatMap((digits) => (digits === undefined ? [] : [`+${digits}`])),
  );
  const waitingTo = await countWaitingTo(db, [...new Set(numbers.flat())], before);
  return receipts.map(({ link, provider_message_id, reference, statuses, received_at }, index) => {
    const { [index]: id } = ids;
    const message_id = id === undefined ? null : reference;
    const waits_here = id !== undefined && waiting.has(idKey(id));
    // The phone comes first, but some carriers swap it with our number, to which no message waits.
    const own = numbers[index] ?? [];
    const number = own.find((each) => waitingTo.has(each)) ?? own[0];
    return {
      link,
      provider_message_id,
      message_id,
      waits_here,
      recipient: number === undefined ? null : maskNumber(number),
      waiting_to_recipient: number === undefined ? null : (waitingTo.get(number) ?? 0),
      statuses,
      received_at: received_at.toISOString(),
    };
  });
}

const describe = ({ queued = 0, sending = 0, scheduled = 0 }: HeldCounts): string =>
  `from before: ${groupDigits(queued)} queued, ${groupDigits(sending)} being sent, ${groupDigits(scheduled)} scheduled for later`;
