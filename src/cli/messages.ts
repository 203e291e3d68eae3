/** godwit messages: lists, shows and cancels messages through the API of a running service. */
import { CHANNELS } from "../links/channel.ts";
import { STATUSES } from "../messages/states.ts";
import { ApiClient, LIST_FLAGS, neededWord, oneLine, pathOf, printList, readTime, type ApiRecord } from "./client.ts";
import { textFlag, type Command, type Input } from "./command.ts";
import { print } from "./output.ts";

const PATH = "/v1/messages";

export const messages: Command = {
  name: "messages",
  about: [
    "Shows messages of the environment of the API key, through the HTTP API of a running service. list, get and events need a key with the scope messages:read, cancel needs messages:send.",
    "events prints the timeline of a message: its events, its attempts at carriers, and signals that changed nothing. cancel works while a message is scheduled or queued.",
  ],
  usage: [
    "messages list [flags]",
    "messages get MESSAGE_ID [--json]",
    "messages cancel MESSAGE_ID [--json]",
    "messages events MESSAGE_ID [flags]",
  ],
  flags: {
    status: { type: "string", value: "STATUS", choices: STATUSES, help: "only messages with this status" },
    channel: { type: "string", value: "CHANNEL", choices: CHANNELS, help: "only messages of this channel" },
    direction: { type: "string", value: "DIRECTION", choices: ["outbound", "inbound"], help: "only messages of this direction" },
    to: { type: "string", value: "NUMBER", help: "only messages to this recipient" },
    reference: { type: "string", help: "only messages with this client_reference" },
    batch: { type: "string", value: "BATCH_ID", help: "only messages of this batch" },
    error: { type: "string", value: "CODE", help: "only messages with this error code" },
    since: { type: "string", value: "TIME", help: "only messages after this time: 2h for the last two hours, or 2030-01-31T09:00:00Z" },
    until: { type: "string", value: "TIME", help: "only messages before this time" },
    ...LIST_FLAGS,
  },
  settings: "client",
  hasTables: true,
  examples: [
    ["The newest messages:", "godwit messages list"],
    ["Messages of the last day that failed:", "godwit messages list --status failed --since 1d --all"],
    ["The timeline of a message:", "godwit messages events msg_01k9zs3v8mf4tb2xg1qj6n0d5c"],
    ["Cancel a scheduled message:", "godwit messages cancel msg_01k9zs3v8mf4tb2xg1qj6n0d5c"],
    [
      "Count the errors of a batch:",
      "godwit messages list --batch bat_01k9zs3v8mf4tb2xg1qj6n0d5c --all --json | jq 'group_by(.error.code) | map(length)'",
    ],
  ],
  async run(input) {
    const [verb] = input.words;
    if (verb === "list") return list(input);
    const path = pathOf(PATH, neededWord(input, "the message by its id, msg_…"));
    if (verb === "events") return printList(input, { path: `${path}/events`, toRow: toEntryRow });
    const client = new ApiClient(input.flags);
    print(input.flags, verb === "get" ? await client.get(path) : await client.post(`${path}/cancel`));
  },
};

const list = (input: Input): Promise<void> => {
  const { flags } = input;
  const query = {
    status: textFlag(flags, "status"),
    channel: textFlag(flags, "channel"),
    direction: textFlag(flags, "direction"),
    recipient: textFlag(flags, "to"),
    client_reference: textFlag(flags, "reference"),
    batch_id: textFlag(flags, "batch"),
    error_code: textFlag(flags, "error"),
    created_after: readTime(flags, "since"),
    created_before: readTime(flags, "until"),
  };
  return printList(input, { path: PATH, query, toRow });
};

const toRow = ({ id, status, error, channel, recipient, created_at, body, template_id }: ApiRecord): object => ({
  id,
  status,
  error: (error as { code?: string } | null)?.code ?? null,
  channel,
  recipient,
  created_at,
  text: oneLine(body) ?? template_id,
});

type Entry = {
  attempt?: { number: number; link: string; outcome: string; detail: string | null } | null;
  receipt?: { status: string } | null;
};

function toEntryRow(entry: ApiRecord): object {
  const { created_at, type, status, reason, ignored } = entry;
  const { attempt, receipt } = entry as Entry;
  const notes = [
    ...(attempt ? [`attempt ${attempt.number} on ${attempt.link}: ${attempt.outcome}`, attempt.detail] : []),
    ...(receipt ? [`receipt ${receipt.status}`] : []),
    reason,
    ...(ignored === true ? ["ignored"] : []),
  ];
  return { created_at, type, status, details: notes.filter((note) => typeof note === "string").join("; ") || null };
}
