/** godwit find: finds messages of all accounts. */
import { isoTime } from "../lib/time.ts";
import { uuidTimeMs } from "../lib/uuid.ts";
import type { FoundMessage } from "../messages/search-queries.ts";
import { parseSearch, searchMessages } from "../messages/search.ts";
import { decodeId, encodeId } from "../model/id.ts";
import { cliOrigin } from "../model/origin.ts";
import { isUserId } from "../model/phone-number.ts";
import { textFlag, UsageError, type Command, type Input } from "./command.ts";
import { print, say } from "./output.ts";
import { withDatabase } from "./with-database.ts";

const MAX_LIMIT = 100;

export const find: Command = {
  name: "find",
  about: [
    "Finds the messages of all accounts by a message id (msg_…), by the id of the request that sent them (req_…), by a complete number (+…), or by the carrier's id. A number is found as the recipient and as the sender of inbound messages. A carrier's id is found for GODWIT_RECEIPT_WAIT, and seven days more without a receipt.",
    "Each search is recorded in the audit log of the installation, and in that of each account whose messages it prints, with their ids. Numbers are masked without --numbers. Texts are never printed.",
    "Works beside a running service, on the data directory of a stopped one, and with DATABASE_URL.",
  ],
  usage: ["find ID|NUMBER [--limit NUMBER] [--before ID] [--numbers] [--json]"],
  flags: {
    limit: { value: "NUMBER", fallback: "25", help: "how many messages, the newest first; 100 at most" },
    before: { value: "ID", help: "only messages that were created before this one, for the next page" },
    numbers: { isSwitch: true, help: "print complete numbers; the audit log records it" },
  },
  settings: "database",
  hasTables: true,
  examples: [
    ["The message of a request:", "godwit find req_01m7efq7sbe3yt5gky9cw6af4s"],
    ["The newest messages to and from a person:", "godwit find +14155550123 --limit 10"],
    ["A message by the id of the carrier, with all fields:", "godwit find 6f1c02d9 --wide"],
  ],
  run: (input) => run(input),
};

async function run(input: Input): Promise<void> {
  const { flags } = input;
  const [word] = input.words;
  if (word === undefined) throw new UsageError("name the message: by its id, a request id, a number or the id of the carrier");
  const search = parseSearch(word);
  if (search === undefined) throw new UsageError("this is no complete id, and no number such as +14155550123");
  const limit = Number(textFlag(flags, "limit") ?? 25);
  if (!Number.isInteger(limit) || limit < 1 || limit > MAX_LIMIT)
    throw new UsageError(`--limit must be a whole number from 1 to ${MAX_LIMIT}`);
  const last = textFlag(flags, "before");
  const before = last === undefined ? undefined : decodeId("msg", last);
  if (last !== undefined && before === undefined) throw new UsageError("--before must be the id of a message, msg_…");
  const showsNumbers = flags["numbers"] === true;
  await withDatabase(input, "find", async ({ db, clock }) => {
    const { items, next } = await searchMessages(db, clock, { search, before, limit, showsNumbers, origin: cliOrigin() });
    const shown = showsNumbers ? (number: string) => number : maskNumber;
    print(
      flags,
      items.map((row) => toRecord(row, shown)),
      toLine,
    );
    if (next !== undefined) say(`there are more: --before ${encodeId("msg", next)}`);
    if (items.length === 0 && search.kind === "carrier_id")
      say("no message has this carrier id; a number begins with + and its country code");
  });
}

// The country stays visible, and enough to tell the two numbers of a conversation apart. Short codes, which belong to no person, are shown.
const SHOWN_START = 4;
const SHOWN_END = 2;

/** Masks a number, or a user id of WhatsApp. The name of a sender stays as it is. */
const maskNumber = (text: string): string =>
  (/^\+?\d+$/.test(text) && text.length > SHOWN_START + SHOWN_END) || isUserId(text)
    ? `${text.slice(0, SHOWN_START)}…${text.slice(-SHOWN_END)}`
    : text;

const timeOrNull = (time: Date | null): string | null => (time === null ? null : isoTime(time.getTime()));

const toRecord = (row: FoundMessage, shown: (number: string) => string) => ({
  id: encodeId("msg", row.id),
  account: row.account,
  account_id: encodeId("acct", row.account_id),
  environment: row.environment,
  direction: row.direction,
  channel: row.channel,
  status: row.status,
  error_code: row.error_code,
  recipient: shown(row.recipient),
  sender: row.sender === null ? null : shown(row.sender),
  link: row.link,
  provider_message_id: row.provider_message_id,
  created_at: isoTime(uuidTimeMs(row.id)),
  updated_at: isoTime(row.updated_at.getTime()),
  sent_at: timeOrNull(row.sent_at),
  delivered_at: timeOrNull(row.delivered_at),
});

/** A record as a row of a table. */
const toLine = ({ id, account, environment, status, recipient, sender, link, created_at }: ReturnType<typeof toRecord>) => ({
  created_at,
  id,
  account,
  environment,
  status,
  recipient,
  sender,
  link,
});
