/** godwit hold and godwit resume: accept messages without handing them over, and decide about the messages of a restored database. */
import { createInterface } from "node:readline/promises";
import { countHeld, endHeld, type HeldCounts } from "../delivery/held-messages.ts";
import { groupDigits } from "../lib/group-digits.ts";
import { cliOrigin } from "../model/origin.ts";
import { Advancer } from "../messages/advance.ts";
import { beginHold, endHold, holdRestored, readHold } from "../links/hold.ts";
import { UsageError, type Command, type Input } from "./command.ts";
import { print, say } from "./output.ts";
import { withDatabase, type OpenedDatabase } from "./with-database.ts";

export const hold: Command = {
  name: "hold",
  about: [
    "All nodes accept messages and submit none to carriers until godwit resume. Receipts and inbound messages are processed as usual.",
    "For a database of DATABASE_URL that was restored from a backup: run it before the first node starts. A restored embedded database starts with a hold.",
  ],
  usage: ["hold [--json]"],
  flags: {},
  settings: "database",
  examples: [["After pg_restore, before the nodes start:", "DATABASE_URL=postgres://godwit@db.example.com/godwit godwit hold"]],
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
    "Ends a hold. Messages that were queued or sending when the hold began may have been submitted after the backup: the restored database does not have that information. Either send them, and some may arrive twice, or end them as failed with the code outcome_unknown, and some may not arrive at all. A later receipt corrects the status of a message.",
    "At a terminal the command asks for the decision, unless a flag gives it. Messages that were accepted during the hold are sent in any case, and scheduled ones at their time.",
  ],
  usage: ["resume [--send | --end] [--json]"],
  flags: {
    send: { isSwitch: true, help: "send the messages from before the hold" },
    end: { isSwitch: true, help: "end them as failed with the code outcome_unknown" },
  },
  settings: "database",
  examples: [
    ["Decide in a terminal:", "godwit resume"],
    ["No message may arrive twice:", "godwit resume --end"],
  ],
  run: (input) => withDatabase(input, "resume", (database) => run(input, database)),
};

async function run(input: Input, { db, clock, config }: OpenedDatabase): Promise<void> {
  if (input.flags["send"] === true && input.flags["end"] === true) throw new UsageError("--send and --end exclude each other");
  await holdRestored(config, db, clock);
  const held = await readHold(db, clock.now());
  if (held === undefined) {
    say("there is no hold: messages are submitted to carriers");
    return print(input.flags, { on_hold: false, sent: 0, ended: 0 });
  }
  const counts = await countHeld(db, held.sinceMs);
  const waiting = (counts.queued ?? 0) + (counts.sending ?? 0);
  say(held.reason);
  say(describe(counts));
  const isEnd = waiting > 0 && (await choose(input)) === "end";
  const advancer = new Advancer({ db, clock, wakeWebhooks: () => undefined, watch: { advanced: () => undefined } });
  const ended = isEnd
    ? await endHeld(db, advancer, held.sinceMs, (count) => say(`ended ${groupDigits(count)} of ${groupDigits(waiting)}`))
    : 0;
  await endHold(db, clock, cliOrigin());
  print(input.flags, { on_hold: false, sent: waiting - ended, ended });
}

const describe = ({ queued = 0, sending = 0, scheduled = 0 }: HeldCounts): string =>
  `from before: ${groupDigits(queued)} queued, ${groupDigits(sending)} being sent, ${groupDigits(scheduled)} scheduled for later`;

async function choose({ flags: { send, end } }: Input): Promise<"send" | "end"> {
  if (send === true) return "send";
  if (end === true) return "end";
  if (!process.stdin.isTTY)
    throw new UsageError("decide with --send or --end: messages from before the hold may have been submitted after the backup");
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  try {
    for (;;) {
      const text = (await terminal.question("send them (some may arrive twice), or end them as outcome_unknown? [send/end] ")).trim();
      if (text === "send" || text === "end") return text;
    }
  } finally {
    terminal.close();
  }
}
