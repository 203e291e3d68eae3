/** godwit find: finds messages of all accounts. */
import type { Flags } from "../config.ts";
import { isoTime } from "../lib/time.ts";
import { firstUuidAt, uuidTimeMs } from "../lib/uuid.ts";
import type { FoundMessage, ListFilter } from "../messages/search-queries.ts";
import { MAX_TIMELINE, parseSearch, readTimeline, searchMessages, type FoundEntry, type Search } from "../messages/search.ts";
import { STATUSES, type Status } from "../messages/states.ts";
import { decodeId, encodeId } from "../model/id.ts";
import { cliOrigin } from "../model/origin.ts";
import { EXIT, readDuration, textFlag, UsageError, type Command, type Input } from "./command.ts";
import { maskNumber } from "./mask-number.ts";
import { formatTable, print, say } from "./output.ts";
import { withDatabase } from "./with-database.ts";

const MAX_LIMIT = 100;
const DEFAULT_SINCE = "1h";
const DEFAULT_SINCE_SECONDS = 3_600;
const MAX_SINCE_SECONDS = 7 * 86_400;
const FILTERS = ["status", "error", "link", "since"] as const;

export const find: Command = {
  name: "find",
  about: [
    "Finds messages of all accounts by a message id (msg_…), a request id (req_…), a complete number (+…) or the carrier's id, or lists them. A single message is followed by its timeline.",
    "A number is that of a recipient, or of the sender of an inbound message. A carrier's id is found for GODWIT_RECEIPT_WAIT, and seven days more without a receipt.",
    "Each search is recorded in the audit log. Texts are never printed.",
  ],
  usage: ["find ID|NUMBER [flags]", "find [--status STATUS] [--error CODE] [--link NAME] [--since TIME] [flags]"],
  flags: {
    status: { value: "STATUS", choices: STATUSES, help: "only this status" },
    error: { value: "CODE", help: "only this error code" },
    link: { value: "NAME", help: "only with the last attempt on this link" },
    since: { value: "TIME", fallback: DEFAULT_SINCE, help: "newer than this, such as 15m; at most 7d" },
    limit: { value: "NUMBER", fallback: "25", help: "how many, newest first; at most 100" },
    before: { value: "ID", help: "only older than this message, for the next page" },
    numbers: { isSwitch: true, help: "print complete numbers, not masked ones" },
  },
  settings: "database",
  hasTables: true,
  examples: [
    ["The messages of a request:", "godwit find req_01m7efq7sbe3yt5gky9cw6af4s"],
    ["The messages that failed in the last day:", "godwit find --status failed --since 1d"],
  ],
  exitCodes: { [EXIT.failed]: "failed, or no message has the id" },
  run: (input) => run(input),
};

async function run(input: Input): Promise<number> {
  const { flags } = input;
  const search = readSearch(input);
  const limit = Number(textFlag(flags, "limit") ?? 25);
  if (!Number.isInteger(limit) || limit < 1 || limit > MAX_LIMIT)
    throw new UsageError(`--limit must be a whole number from 1 to ${MAX_LIMIT}`);
  const last = textFlag(flags, "before");
  const before = last === undefined ? undefined : decodeId("msg", last);
  if (last !== undefined && before === undefined) throw new UsageError("--before must be the id of a message, msg_…");
  const showsNumbers = flags["numbers"] === true;
  let isUnknown = false;
  await withDatabase(input, "find", async ({ db, clock }) => {
    const { items, next } = await searchMessages(db, clock, { search, before, limit, showsNumbers, origin: cliOrigin() });
    const shown = showsNumbers ? (number: string) => number : maskNumber;
    const records = items.map((row) => toRecord(row, shown));
    const [message, ...others] = items;
    const isList = search.kind === "filter" || message === undefined || others.length > 0 || next !== undefined;
    const entries = isList ? undefined : await readTimeline(db, message);
    printFound(flags, records, entries);
    if (entries?.length === MAX_TIMELINE) say(`the timeline has the newest ${MAX_TIMELINE} entries; the API has all`);
    if (next !== undefined && items.length === limit) say(`there are more: --before ${encodeId("msg", next)}`);
    else if (next !== undefined)
      say(`only the messages after ${isoTime(uuidTimeMs(next))} were searched; the earlier ones: --before ${encodeId("msg", next)}`);
    isUnknown = items.length === 0 && before === undefined && search.kind in UNKNOWN;
    if (isUnknown) say(UNKNOWN[search.kind] ?? "");
  });
  return isUnknown ? EXIT.failed : EXIT.done;
}

/** The text for an id without a message. A list may be empty. */
const UNKNOWN: Readonly<Record<string, string>> = {
  message: "there is no message with this id; messages are deleted after their retention",
  request: "no message is of this request; godwit requests shows whether it was refused",
  carrier_id: "no message has this carrier id; a number begins with + and its country code",
};

function readSearch(input: Input): Search {
  const [word] = input.words;
  const filters = FILTERS.filter((name) => textFlag(input.flags, name) !== undefined);
  if (word === undefined && filters.length === 0)
    throw new UsageError(
      "name the message by its id, a request id, a number or the id of the carrier, or list messages with --status, --error, --link or --since",
    );
  if (word === undefined) return { kind: "filter", filter: readFilter(input) };
  if (filters.length > 0) throw new UsageError(`--${filters[0]} is for a list, without an id or a number`);
  const search = parseSearch(word);
  if (search === undefined) throw new UsageError("this is no complete id, and no number such as +14155550123");
  return search;
}

function readFilter(input: Input): ListFilter {
  const seconds = readDuration(input, "since") ?? DEFAULT_SINCE_SECONDS;
  if (seconds > MAX_SINCE_SECONDS) throw new UsageError("--since must be 7d at most");
  const status = textFlag(input.flags, "status") ?? null;
  if (status !== null && !isStatus(status)) throw new UsageError(`--status must be one of ${STATUSES.join(", ")}`);
  return {
    status,
    errorCode: textFlag(input.flags, "error") ?? null,
    link: textFlag(input.flags, "link") ?? null,
    from: firstUuidAt(Date.now() - seconds * 1_000),
  };
}

const isStatus = (text: string): text is Status => (STATUSES as readonly string[]).includes(text);

type FoundRecord = ReturnType<typeof toRecord>;

/** Prints the messages, and the timeline of the only one. */
function printFound(flags: Flags, records: readonly FoundRecord[], entries: readonly FoundEntry[] | undefined): void {
  const timeline = entries?.map(toEntry);
  if (flags["json"] === true) return print(flags, timeline === undefined ? records : records.map((record) => ({ ...record, timeline })));
  print(flags, records, toLine);
  if (timeline !== undefined) process.stdout.write(`\n${formatTable(timeline, false)}`);
}

/** An entry of the timeline without what the carrier wrote, which may contain numbers. */
function toEntry({ created_at, type, status, ignored, attempt, receipt, reason }: FoundEntry): Readonly<Record<string, unknown>> {
  return {
    created_at,
    type,
    status,
    ignored: ignored || null,
    attempt: attempt?.number ?? null,
    outcome: attempt?.outcome ?? null,
    link: attempt?.link ?? receipt?.link ?? null,
    part: receipt?.part ?? null,
    error_code: receipt?.error_code ?? null,
    provider_code: attempt?.provider_code ?? receipt?.provider_code ?? null,
    retry_at: attempt?.retry_at ?? null,
    reason,
  };
}

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
const toLine = ({ id, account, environment, status, error_code, recipient, sender, link, created_at }: FoundRecord) => ({
  created_at,
  id,
  account,
  environment,
  status,
  error_code,
  recipient,
  sender,
  link,
});
