/** godwit send: sends one message through a running service, and can follow it to its final status. */
import { randomUUID } from "node:crypto";
import type { Flags } from "../config.ts";
import { unreachable } from "../lib/assert.ts";
import { CHANNELS } from "../links/channel.ts";
import { MEDIA_KINDS } from "../model/content.ts";
import { TARGETS_HINT } from "../bulk/columns.ts";
import { PRIORITIES, type MessageRecord } from "../messages/message.ts";
import { readClientConfig, type ClientConfig } from "./client-config.ts";
import { callRepeatedly, explainProblem, type RequestResult } from "./client.ts";
import {
  EXIT,
  interruption,
  neededFlag,
  pairFlags,
  present,
  readDuration,
  readInput,
  textFlag,
  UsageError,
  type Command,
  type Input,
} from "./command.ts";
import { contentLine } from "./content-line.ts";
import { followMessage, isDelivered, type StatusChange } from "./follow-message.ts";
import { checkContentFlags, isMediaFlag, readContent } from "./message-content.ts";
import { formatRecord, paintStatus, say } from "./output.ts";
import { FETCH_MS, isUrl } from "./upload-file.ts";

const DEFAULT_LIMIT_SECONDS = 30;
const DEFAULT_WAIT_SECONDS = 120;
// The largest file at a megabit per second.
const DEFAULT_UPLOAD_SECONDS = 900;
const MAX_LIMIT_SECONDS = 86_400;

export const send: Command = {
  name: "send",
  about: [
    "Sends one message through the HTTP API of a running service, with a key that has the scope messages:send. It repeats the request with the same idempotency key when the service is busy or cannot be reached, so that the message is sent once.",
    "With --media a file of this machine is uploaded first, for which the key also needs the scope media:write. --content takes any other content: see docs/content.md.",
    "With --wait it follows the message to its final status and prints each change. The key also needs the scope events:read, or messages:read, with which quick changes may be left out.",
    "With --csv it sends a message to each row of a file, once, after a preview. A result file has the outcome of each row. Ctrl-C pauses, and --resume continues after a pause or a crash. See docs/bulk-send.md.",
  ],
  usage: [
    "send --to NUMBER --body TEXT [flags]",
    "send --to NUMBER --template NAME [--var NAME=TEXT] [flags]",
    "send --to NUMBER --media FILE|URL|ID [--caption TEXT] [flags]",
    "send --to NUMBER --content JSON|@FILE [flags]",
    "send --csv FILE [--body TEXT] [--template NAME] [--map COLUMN=FIELD] [--dry-run] [--yes] [flags]",
    "send --csv FILE [--results FILE] [--resume] [--cancel]",
  ],
  flags: {
    to: { value: "NUMBER", help: "the recipient, such as +14155550123" },
    body: { help: "the text; - reads it from the standard input" },
    template: { value: "NAME|ID", help: "a template instead of a text, by name or id" },
    var: { value: "NAME=TEXT", isRepeated: true, help: "a variable of the template" },
    media: { value: "FILE|URL|ID", help: "a file of this machine, a URL from which the service fetches it, or the id of media" },
    caption: { help: "with --media: the text below the file" },
    kind: {
      value: "KIND",
      choices: MEDIA_KINDS,
      help: "with --media: how the file is shown; without it, by its content; required for a URL",
    },
    "file-name": { value: "NAME", help: "with --media: the name that the recipient of a document sees; without it, that of the file" },
    content: { value: "JSON|@FILE", help: "a content as in the API, or the file that has it" },
    "reply-to": { value: "ID", help: "the message of the conversation that this one quotes" },
    channel: { value: "CHANNEL", choices: CHANNELS, fallback: "sms", help: "the channel of the message" },
    sender: { help: "the sender; without it, that of the route" },
    "send-at": { value: "TIME", help: "when to send it, such as 2030-01-31T09:00:00Z; without it, now" },
    ttl: { value: "TIME", fallback: "48h", help: "time to live: the message is not submitted after this time" },
    priority: { value: "PRIORITY", choices: PRIORITIES, fallback: "normal, with --csv bulk", help: "high for codes, bulk for campaigns" },
    reference: { help: "your own reference (client_reference)" },
    metadata: { value: "NAME=TEXT", isRepeated: true, help: "a value that is stored with the message" },
    "max-segments": { value: "COUNT", help: "refuse a text with more segments" },
    "idempotency-key": { value: "UUID", help: "your own key: the same message with the same key is sent once" },
    wait: { isSwitch: true, help: "follow the message to its final status" },
    timeout: {
      value: "TIME",
      fallback: "30s, with --wait 2m, with --csv or --media 15m",
      help: "the time limit of the command; with --csv, of each batch",
    },
    csv: { value: "FILE", help: "send to each row of this CSV file, whose first row has the headings" },
    map: {
      value: "COLUMN=FIELD",
      isRepeated: true,
      help: `with --csv: the field of a column: ${TARGETS_HINT}; without it, the heading decides`,
    },
    "dry-run": { isSwitch: true, help: "with --csv: only the preview" },
    yes: { isSwitch: true, help: "with --csv: send without a question" },
    results: { value: "FILE", fallback: "FILE.results.csv", help: "with --csv: the result file" },
    resume: { isSwitch: true, help: "with --csv: continue a send that was paused or killed" },
    cancel: { isSwitch: true, help: "with --csv: cancel the messages of a send that are scheduled or queued" },
    "allow-duplicates": { isSwitch: true, help: "with --csv: send to a recipient of several rows more than once" },
    "send-id": { help: "with --csv: your own name of the send; the same file with another name is sent again" },
    unconfirmed: {
      value: "ACTION",
      choices: ["skip", "repeat"],
      help: "with --resume: what to do with a batch whose outcome is not known after 23 hours",
    },
  },
  settings: "client",
  examples: [
    ["One message:", 'godwit send --to +14155550123 --body "Your table is ready"'],
    ["A template, followed to its final status:", "godwit send --to +14155550123 --template order_shipped --var order=A-17 --wait"],
    [
      "A picture with a caption on WhatsApp:",
      'godwit send --to +14155550123 --channel whatsapp --media offer.jpg --caption "Until Friday"',
    ],
    ["A place:", `godwit send --to +14155550123 --channel whatsapp --content '{"type": "location", "latitude": 47.37, "longitude": 8.54}'`],
    ["The preview of a CSV file:", "godwit send --csv customers.csv --template order_shipped --map Mobile=recipient --dry-run"],
    ["A CSV file, without a question:", 'godwit send --csv customers.csv --body "We open at nine tomorrow." --yes'],
    [
      "The end of a log, and the final status:",
      "tail -n 3 backup.log | godwit send --to +14155550123 --body - --wait --json | jq -r .status",
    ],
  ],
  exitCodes: {
    0: "accepted; with --wait: delivered; with --csv: every row was accepted",
    1: "refused, or no service was reached; with --wait: it was not delivered; with --csv: not every row was accepted",
    2: "wrong use; nothing was sent",
    3: "with --csv: paused; otherwise unknown: no response confirms that it was accepted, or with --wait its final status was not reached in time",
  },
  async run(input) {
    const { flags } = input;
    if (flags["csv"] !== undefined) return (await import("./send-csv.ts")).sendCsv(input, readShared);
    const unused = CSV_FLAGS.find((flag) => flags[flag] !== undefined);
    if (unused !== undefined) throw new UsageError(`--${unused} needs --csv`);
    const client = readClientConfig(flags);
    const limitMs = readLimit(input) * 1_000;
    const message = await readMessage(input);
    const idempotencyKey = textFlag(flags, "idempotency-key") ?? randomUUID();
    const signal = AbortSignal.any([interruption(), AbortSignal.timeout(limitMs)]);
    const options = { signal, deadline: performance.now() + limitMs };
    const read = await readContent(flags, { client, idempotencyKey, options });
    if ("failed" in read) return explain(read.failed, flags, { client, idempotencyKey });
    const body = { ...message, ...present({ content: read.content }) };
    const headers = { "idempotency-key": idempotencyKey };
    const limit = isUrl(textFlag(flags, "media")) ? { limitMs: FETCH_MS } : {};
    const outcome = await callRepeatedly(client, { method: "POST", path: "/v1/messages", body, headers, ...limit }, options);
    const sent = acceptedIn(outcome);
    if (sent === undefined) return explain(outcome, flags, { client, idempotencyKey });
    return flags["wait"] === true ? follow(client, sent, flags, signal) : showAccepted(sent, flags);
  },
};

function defaultLimit(flags: Flags): number {
  if (flags["media"] !== undefined) return DEFAULT_UPLOAD_SECONDS;
  return flags["wait"] === true ? DEFAULT_WAIT_SECONDS : DEFAULT_LIMIT_SECONDS;
}

function readLimit(input: Input): number {
  const seconds = readDuration(input, "timeout") ?? defaultLimit(input.flags);
  if (seconds < 1 || seconds > MAX_LIMIT_SECONDS) throw new UsageError("--timeout must be from 1s to 24h");
  return seconds;
}

type Accepted = { record: MessageRecord; text: string; isReplayed: boolean };

function acceptedIn(outcome: RequestResult): Accepted | undefined {
  if (outcome.kind !== "response" || outcome.status !== 202 || outcome.json?.["object"] !== "message") return undefined;
  const { json, text, headers } = outcome;
  return { record: json as MessageRecord, text, isReplayed: headers.get("idempotent-replayed") === "true" };
}

const CSV_FLAGS = ["map", "dry-run", "yes", "results", "resume", "cancel", "allow-duplicates", "send-id", "unconfirmed"];

/** Builds the request from the flags. The API validates it and reports all faults together. */
async function readMessage(input: Input): Promise<object> {
  const { flags } = input;
  const recipient = neededFlag(flags, "to");
  checkContentFlags(flags);
  return { recipient, ...present({ reply_to: textFlag(flags, "reply-to") }), ...(await readShared(input)) };
}

/** Reads the fields that do not depend on the recipient. */
async function readShared(input: Input): Promise<Record<string, unknown>> {
  const { flags } = input;
  const [body, template] = [textFlag(flags, "body"), textFlag(flags, "template")];
  const [variables, metadata] = [pairs(flags, "var"), pairs(flags, "metadata")];
  return present({
    channel: textFlag(flags, "channel") ?? "sms",
    body: body === "-" ? await readInput(MAX_INPUT_BYTES) : body,
    template_id: template,
    template_variables: variables,
    sender: textFlag(flags, "sender"),
    send_at: textFlag(flags, "send-at"),
    ttl_seconds: readDuration(input, "ttl"),
    priority: textFlag(flags, "priority"),
    client_reference: textFlag(flags, "reference"),
    metadata,
    max_segments: readCount(flags, "max-segments"),
  });
}

/** The flags whose names differ from the API's fields, to name the flag beside a fault of the API. */
const FLAG_NAMES: Readonly<Record<string, string>> = {
  recipient: "to",
  template_id: "template",
  template_variables: "var",
  ttl_seconds: "ttl",
  client_reference: "reference",
};

function flagName(field: string, flags: Flags): string {
  const [top = "", member = ""] = field.split(".");
  const own = flagOf(top === "content" && flags["media"] !== undefined ? member : top);
  const flag = top === "content" && flags["media"] !== undefined && !isMediaFlag(own) ? "media" : own;
  return flag in send.flags ? `${field} (--${flag})` : field;
}

const flagOf = (field: string): string => FLAG_NAMES[field] ?? field.toLowerCase().replaceAll("_", "-");

function pairs(flags: Flags, name: string): Record<string, string> | undefined {
  const given = pairFlags(flags, name);
  return given.length === 0 ? undefined : Object.fromEntries(given);
}

function readCount(flags: Flags, name: string): number | undefined {
  const text = textFlag(flags, name);
  if (text !== undefined && !/^\d{1,6}$/.test(text)) throw new UsageError(`--${name} must be a whole number, not ${text}`);
  return text === undefined ? undefined : Number(text);
}

// Far more than the longest message.
const MAX_INPUT_BYTES = 65_536;

type SendContext = { client: ClientConfig; idempotencyKey: string };

/** Prints why the message was not accepted, as far as the reason is known, and returns the exit code. */
function explain(outcome: RequestResult, flags: Flags, { client: { url }, idempotencyKey }: SendContext): number {
  const show = (code: string, detail: string): void => {
    if (flags["json"] === true) process.stdout.write(`${JSON.stringify({ code, detail, idempotency_key: idempotencyKey })}\n`);
    say(`godwit: ${detail}`);
  };
  switch (outcome.kind) {
    case "response": {
      const detail = explainProblem(outcome, (field) => flagName(field, flags));
      if (flags["json"] === true && outcome.json === undefined) show("not_a_godwit", detail);
      else {
        if (flags["json"] === true) process.stdout.write(`${JSON.stringify(outcome.json)}\n`);
        say(`godwit: ${detail}`);
      }
      return EXIT.failed;
    }
    case "unreachable":
      show("service_unreachable", `nothing was sent: ${outcome.reason} (${url})`);
      return EXIT.failed;
    case "unknown":
      show("outcome_unknown", `it is not known whether the message was accepted: ${outcome.reason}`);
      say(`repeat the command with --idempotency-key ${idempotencyKey} to find out: it sends the message only if it was not accepted`);
      return EXIT.unknown;
    default:
      return unreachable(outcome);
  }
}

function showAccepted({ record, text, isReplayed }: Accepted, flags: Flags): number {
  if (flags["json"] === true) process.stdout.write(`${text}\n`);
  else process.stdout.write(describe(record, isReplayed));
  return EXIT.done;
}

async function follow(client: ClientConfig, sent: Accepted, flags: Flags, signal: AbortSignal): Promise<number> {
  const isJson = flags["json"] === true;
  if (!isJson) process.stdout.write(describe(sent.record, sent.isReplayed));
  // With --json the standard output has one object, the message in its final status. Earlier changes go to the standard error.
  const onChange = (change: StatusChange): void =>
    isJson ? say(changeLine(change, false)) : void process.stdout.write(`${changeLine(change, true)}\n`);
  const followed = await followMessage(client, sent.record, { signal, onChange });
  const { kind, record } = followed;
  if (isJson) process.stdout.write(`${JSON.stringify(record)}\n`);
  if (kind === "ended") return isDelivered(record) ? EXIT.done : EXIT.failed;
  say(`godwit: the final status of ${record.id} is not known, the last one was ${record.status}: ${followed.reason}`);
  return EXIT.unknown;
}

const count = (number: number, noun: string): string => `${number} ${noun}${number === 1 ? "" : "s"}`;

function describe(record: MessageRecord, isReplayed: boolean): string {
  const { id, status, recipient, channel, sender, content, segments, send_at: sendAt } = record;
  const fields = {
    id: `${id}${isReplayed ? "  (accepted before under this idempotency key)" : ""}`,
    status: `${status}${status === "scheduled" && sendAt !== null ? ` for ${sendAt}` : ""}`,
    to: `${recipient} by ${channel}`,
    from: sender,
    content: contentLine(content),
    text: segments && `${count(segments.count, "segment")} (${segments.encoding}, ${count(segments.characters, "character")})`,
  };
  return formatRecord(fields, false);
}

function changeLine({ at, record: { status, error } }: StatusChange, isPainted: boolean): string {
  const text = error === null ? status : `${status.padEnd(11)}  ${error.code}: ${error.message}`;
  return `${at}  ${isPainted ? paintStatus(status, text) : text}`;
}
