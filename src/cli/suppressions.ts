/** godwit suppressions: lists, adds and removes suppressions through the API of a running service. */
import { SUPPRESSION_STATUSES } from "../consent/suppression.ts";
import { ApiClient, LIST_FLAGS, neededWord, pathOf, printList, type ApiRecord } from "./client.ts";
import { textFlag, UsageError, type Command, type Input } from "./command.ts";
import { print } from "./output.ts";

const PATH = "/v1/suppressions";

export const suppressions: Command = {
  name: "suppressions",
  about: [
    "A suppression refuses messages to a recipient, from one sender or from all. These commands use the HTTP API of a running service: list needs a key with the scope suppressions:read, add and remove need suppressions:write.",
    "remove takes the id of a suppression, or a recipient; then it lifts the active suppression of the recipient for the sender of --sender, or the one for all senders. The record stays in the list with the status lifted.",
  ],
  usage: [
    "suppressions list [flags]",
    "suppressions add RECIPIENT [--sender SENDER] [--note TEXT] [--json]",
    "suppressions remove ID|RECIPIENT [--sender SENDER] [--json]",
  ],
  flags: {
    recipient: { type: "string", value: "RECIPIENT", help: "only suppressions of this recipient" },
    sender: { type: "string", value: "SENDER", help: "the sender whose messages are refused; without it, all senders" },
    status: {
      type: "string",
      value: "STATUS",
      choices: SUPPRESSION_STATUSES,
      fallback: "active",
      help: "only suppressions with this status",
    },
    note: { type: "string", help: "a note for people" },
    ...LIST_FLAGS,
  },
  settings: "client",
  hasTables: true,
  examples: [
    ["All active suppressions:", "godwit suppressions list --all"],
    ["A customer asked by telephone:", 'godwit suppressions add +14155550123 --note "asked by telephone"'],
    ["The customer agrees again:", "godwit suppressions remove +14155550123"],
  ],
  async run(input) {
    const { flags, words } = input;
    const [recipient, sender] = [textFlag(flags, "recipient"), textFlag(flags, "sender")];
    if (words[0] === "list")
      return printList(input, { path: PATH, query: { recipient, sender, status: textFlag(flags, "status") }, toRow });
    if (words[0] === "add") {
      const note = textFlag(flags, "note");
      const body = {
        recipient: neededWord(input, "the recipient, such as +14155550123"),
        ...(sender === undefined ? {} : { sender }),
        ...(note === undefined ? {} : { note }),
      };
      return print(flags, await new ApiClient(flags).post(PATH, body));
    }
    return remove(input, sender ?? null);
  },
};

async function remove(input: Input, sender: string | null): Promise<void> {
  const client = new ApiClient(input.flags);
  const word = neededWord(input, "the suppression by its id, sup_…, or the recipient");
  print(input.flags, await client.delete(pathOf(PATH, word.startsWith("sup_") ? word : await findActive(client, word, sender))));
}

async function findActive(client: ApiClient, recipient: string, sender: string | null): Promise<string> {
  for await (const page of client.pages(PATH, { recipient, status: "active" })) {
    const found = page.find((record) => record["sender"] === sender);
    if (found !== undefined) return String(found["id"]);
  }
  const senders = sender === null ? "all senders" : `the sender ${sender}`;
  throw new UsageError(
    `there is no active suppression of ${recipient} for ${senders}; godwit suppressions list --recipient ${recipient} lists them`,
  );
}

const toRow = ({ id, recipient, sender, status, source, keyword, updated_at, note }: ApiRecord): object => ({
  id,
  recipient,
  sender: sender ?? "all",
  status,
  source: keyword ?? source,
  updated_at,
  note,
});
