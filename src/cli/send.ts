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
    "Sends a message once: it repeats the request with the same idempotency key when the service is busy or away. Needs the scope messages:send.",
    "--media uploads a file of this machine first, which needs media:write. --content takes any other content: see docs/content.md.",
    "--wait prints each change until the final status. It needs events:read, or messages:read, which may miss quick changes.",
    "--csv sends a message to each row of a file, once, after a preview: see docs/batches.md#send-a-csv-file. Ctrl-C pauses it.",
  ],
  usage: [
    "send --to NUMBER --body TEXT [flags]",
    "send --to NUMBER --template NAME [--var NAME=TEXT] [flags]",
    "send --to NUMBER --media FILE|URL|ID [--caption TEXT] [flags]",
    "send --to NUMBER --content JSON|@FILE [flags]",
    "send --csv FILE [--body TEXT] [--template NAME] [flags]",
    "send --csv FILE [--resume] [--cancel]",
  ],
  flags: {
    to: { value: "NUMBER", help: "recipient, such as +14155550123" },
    body: { help: "text; - reads standard input" },
    template: { value: "NAME|ID", help: "template instead of a text" },
    var: { value: "NAME=TEXT", isRepeated: true, help: "variable of the template" },
    content: { value: "JSON|@FILE", help: "content as in the API, or the file that has it" },
    "reply-to": { value: "ID", help: "message that this one quotes" },
    channel: { value: "CHANNEL", choices: CHANNELS, fallback: "sms", help: "channel of the message" },
    sender: { help: "sender; without it, that of the route" },
    "send-at": { value: "TIME", help: "time to send, such as 2030-01-31T09:00:00Z; without it, now" },
    ttl: { value: "TIME", fallback: "48h", help: "time to live: not submitted later" },
    priority: { value: "PRIORITY", choices: PRIORITIES, fallback: "normal, with --csv bulk", help: "high for codes, bulk for campaigns" },
    reference: { help: "your own reference (client_reference)" },
    metadata: { value: "NAME=TEXT", isRepeated: true, help: "value stored with the message" },
    "max-segments": { value: "COUNT", help: "refuse a text with more segments" },
    "idempotency-key": { value: "UUID", help: "the same message with the same key is sent once" },
    wait: { isSwitch: true, help: "follow the message to its final status" },
    timeout: {
      value: "TIME",
      fallback: "30s, with --wait 2m, with --csv or --media 15m",
      help: "time limit of the command; with --csv, of each batch",
    },
    media: { value: "FILE|URL|ID", help: "file of this machine, URL that the service fetches, or id of media" },
    csv: { value: "FILE", help: "file with a row for each message, and headings in the first row" },
    caption: { group: "with --media", help: "text below the file" },
    kind: { value: "KIND", group: "with --media", choices: MEDIA_KINDS, help: "without it, by its content; required for a URL" },
    "file-name": { value: "NAME", group: "with --media", help: "name of a document for its recipient; without it, that of the file" },
    map: { value: "COLUMN=FIELD", group: "with --csv", isRepeated: true, help: `without it, by the heading; FIELD is ${TARGETS_HINT}` },
    "dry-run": { isSwitch: true, group: "with --csv", help: "only the preview" },
    yes: { isSwitch: true, group: "with --csv", help: "send without a question" },
    results: { value: "FILE", group: "with --csv", fallback: "FILE.results.csv", help: "file for the outcome of each row" },
    resume: { isSwitch: true, group: "with --csv", help: "continue a send that was paused or killed" },
    cancel: { isSwitch: true, group: "with --csv", help: "cancel the messages that are scheduled or queued" },
    "allow-duplicates": { isSwitch: true, group: "with --csv", help: "send more than once to a recipient of several rows" },
    "send-id": { group: "with --csv", help: "name of the send: another name sends the same file again" },
    unconfirmed: {
      value: "ACTION",
      group: "with --csv",
      choices: ["skip", "repeat"],
      help: "with --resume: a batch whose outcome is unknown after 23 hours",
    },
  },
  settings: "client",
  examples: [
    ["One message:", 'godwit send --to +14155550123 --body "Your table is ready"'],
    ["A template, followed to its final status:", "godwit send --to +14155550123 --template order_shipped --var order=A-17 --wait"],
    ["The preview of a CSV file:", "godwit send --csv customers.csv --template order_shipped --map Mobile=recipient --dry-run"],
  ],
  exitCodes: {
    0: "accepted; with --wait: delivered; with --csv: every row was accepted",
    1: "refused, or no service reached; with --wait: not delivered; with --csv: a row was not accepted",
    2: "wrong use; nothing was sent",
    3: "unknown whether accepted; with --wait: no final status in time; with --csv: paused",
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
