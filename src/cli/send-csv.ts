/** godwit send --csv: sends a message to each row of a file. Reads the file once for the preview, and once more to send it. */
import { createHash } from "node:crypto";
import { createReadStream, statSync } from "node:fs";
import { createInterface } from "node:readline/promises";
import { MAX_GROUP_ROWS, sendIdOf } from "../bulk/groups.ts";
import { BulkPreview } from "../bulk/preview.ts";
import { readHeadings, readBulkRows } from "../bulk/read-rows.ts";
import type { BulkSettings } from "../bulk/rows.ts";
import { validateSamples, type Sample, type SampleValidation } from "../bulk/samples.ts";
import { StartupError } from "../database/startup-error.ts";
import { CsvFault } from "../lib/csv.ts";
import { cancelSend } from "./bulk-cancel.ts";
import { Journal } from "./bulk-journal.ts";
import { describePreview, previewRecord } from "./bulk-preview.ts";
import { sendRows } from "./bulk-send.ts";
import { readBulkSettings } from "./bulk-settings.ts";
import { readClientConfig } from "./client-config.ts";
import { callRepeatedly, expectSuccess, type Caller, type RepeatOptions } from "./client.ts";
import { EXIT, interruption, neededFlag, readDuration, textFlag, UsageError, type Input } from "./command.ts";
import { NOT_FOR_ROWS } from "./message-content.ts";
import { say } from "./output.ts";
import { ProgressLine } from "./progress-line.ts";

/** The flags of one message, which have no meaning for a file. */
const SINGLE_FLAGS = ["to", "idempotency-key", "wait", ...NOT_FOR_ROWS];
/** The flags that a send in progress may still have. The journal has the others. */
const RESUME_FLAGS = new Set(["csv", "results", "resume", "cancel", "unconfirmed", "yes", "json", "url", "key", "timeout"]);

// The service restarts within minutes, and a quota is refilled within seconds.
const DEFAULT_LIMIT_SECONDS = 900;

type Scan = { preview: BulkPreview; sha256: string };

/** `readShared` reads the fields of the flags as for one message. */
export async function sendCsv(input: Input, readShared: (input: Input) => Promise<Record<string, unknown>>): Promise<number> {
  const { flags } = input;
  const isSent = flags["resume"] === true || flags["cancel"] === true;
  for (const flag of SINGLE_FLAGS) if (flags[flag] !== undefined) throw new UsageError(`--${flag} is for one message, not for --csv`);
  const other = Object.keys(flags).find((flag) => isSent && !RESUME_FLAGS.has(flag));
  if (other !== undefined) throw new UsageError(`--${other} cannot change a send that has begun: its settings are beside its result file`);
  const unconfirmed = textFlag(flags, "unconfirmed");
  if (unconfirmed !== undefined && unconfirmed !== "skip" && unconfirmed !== "repeat")
    throw new UsageError("--unconfirmed must be skip or repeat");
  const path = neededFlag(flags, "csv");
  const results = textFlag(flags, "results") ?? `${path}.results.csv`;
  const limitMs = (readDuration(input, "timeout") ?? DEFAULT_LIMIT_SECONDS) * 1_000;
  const stopping = interruption();
  const repeat = (): RepeatOptions => ({ signal: stopping, deadline: performance.now() + limitMs, finishesRequest: true });
  const call: Caller = { client: readClientConfig(flags), repeat };
  if (flags["cancel"] === true) return cancelSend(call, results, flags);
  try {
    const found = statSync(path, { throwIfNoEntry: false });
    if (found === undefined) throw new UsageError(`${path} does not exist`);
    if (!found.isFile()) throw new UsageError(`${path} is not a file`);
    return await (flags["resume"] === true
      ? resume(call, { input, path, results, stopping })
      : begin(call, { input, path, results, stopping }, readShared));
  } catch (error) {
    if (error instanceof CsvFault) throw new StartupError(`${path}: ${error.message}`, { cause: error });
    throw error;
  }
}

type Send = { input: Input; path: string; results: string; stopping: AbortSignal };

async function begin(call: Caller, send: Send, readShared: (input: Input) => Promise<Record<string, unknown>>): Promise<number> {
  const { input, path, results, stopping } = send;
  const { flags } = input;
  const isTrial = flags["dry-run"] === true;
  if (!isTrial && flags["yes"] !== true && !process.stdin.isTTY)
    throw new UsageError("add --yes to send without a question, or --dry-run for the preview");
  if (!isTrial && Journal.exists(results))
    throw new UsageError(
      `${results} exists: ${Journal.isComplete(results) ? "that send is complete" : "--resume continues that send"}, --results FILE begins another one`,
    );
  const headings = await readHeadings(createReadStream(path));
  if (headings === undefined) throw new UsageError(`${path} is empty`);
  const owner = await readOwner(call);
  const partial = await readBulkSettings({ input, shared: await readShared(input), headings, client: call.client, repeat: call.repeat() });
  const { preview, sha256 } = await scan(path, { ...partial, sendId: "" }, stopping);
  const settings: BulkSettings = { ...partial, sendId: textFlag(flags, "send-id") ?? (await sendIdOf(sha256, partial)) };
  const samples = await validateSamples(preview, settings, (message) => validate(call, message));
  const shown = { path, headings, preview, samples, settings, ...owner };
  if (isTrial && flags["json"] === true) process.stdout.write(`${JSON.stringify(previewRecord(shown))}\n`);
  else
    (isTrial ? (text: string) => void process.stdout.write(text) : (text: string) => void process.stderr.write(text))(
      describePreview(shown),
    );
  if (isTrial) return preview.invalid === 0 && samples.every(isFine) ? EXIT.done : EXIT.failed;
  if (preview.valid === 0) throw new StartupError("nothing was sent: no row is valid");
  if (flags["yes"] !== true && !(await confirm(preview.valid, owner.environment, stopping))) return EXIT.failed;
  if ((await hashOf(path)) !== sha256) throw new StartupError(`nothing was sent: ${path} has changed since the preview`);
  const { account, environment, batchRows } = owner;
  const journal = Journal.create(results, { sha256, rows: preview.rows, settings, batchRows, account, environment });
  return sendRows(call, { flags, path, results, journal, stopping });
}

const isFine = ({ validation: { valid } }: Sample): boolean => valid;

async function resume(call: Caller, { input: { flags }, path, results, stopping }: Send): Promise<number> {
  const journal = Journal.open(results);
  const { settings, sha256, account, environment, isComplete } = journal.state;
  const owner = await readOwner(call);
  if (owner.account !== account || owner.environment !== environment)
    throw new StartupError(`the send began in ${environment} of ${account}, and the key is of ${owner.environment} of ${owner.account}`);
  if (isComplete) say("the send is complete");
  else if ((await scan(path, settings, stopping)).sha256 !== sha256)
    throw new StartupError(`${path} has changed since the send began: restore it, or send the other rows as a new file`);
  return sendRows(call, { flags, path, results, journal, stopping });
}

/** Reads the whole file, and remembers no row of it. */
async function scan(path: string, settings: BulkSettings, stopping: AbortSignal): Promise<Scan> {
  const preview = new BulkPreview();
  const hash = createHash("sha256");
  const progress = new ProgressLine();
  async function* hashed(): AsyncGenerator<Buffer> {
    for await (const chunk of createReadStream(path) as AsyncIterable<Buffer>) {
      hash.update(chunk);
      yield chunk;
    }
  }
  for await (const rows of readBulkRows(hashed(), settings)) {
    for (const row of rows) preview.add(row);
    progress.show(() => `checked ${preview.rows.toLocaleString("en")} rows`);
    if (stopping.aborted) break;
  }
  progress.end();
  if (stopping.aborted) throw new StartupError("interrupted before anything was sent");
  return { preview, sha256: hash.digest("hex") };
}

async function hashOf(path: string): Promise<string> {
  const hash = createHash("sha256");
  for await (const chunk of createReadStream(path) as AsyncIterable<Buffer>) hash.update(chunk);
  return hash.digest("hex");
}

type Owner = { account: string; environment: string; batchRows: number };

// A batch costs a request of the quota for every fifty items.
const ITEMS_PER_REQUEST = 50;

/** The account of the key, and the items that its quota permits in one batch. */
async function readOwner({ client, repeat }: Caller): Promise<Owner> {
  const { json, headers } = expectSuccess(await callRepeatedly(client, { method: "GET", path: "/v1/credential" }, repeat()), client, {});
  const [, burst] = /;q=(\d{1,9})/.exec(headers.get("ratelimit-policy") ?? "") ?? [];
  const batchRows = burst === undefined ? MAX_GROUP_ROWS : Math.min(MAX_GROUP_ROWS, Number(burst) * ITEMS_PER_REQUEST);
  return { account: String(json?.["account_id"]), environment: String(json?.["environment"]), batchRows };
}

async function validate({ client, repeat }: Caller, message: Record<string, unknown>): Promise<SampleValidation> {
  const request = { method: "POST", path: "/v1/messages/validate", body: message };
  return expectSuccess(await callRepeatedly(client, request, repeat()), client, {}).json as unknown as SampleValidation;
}

async function confirm(count: number, environment: string, signal: AbortSignal): Promise<boolean> {
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  try {
    const answer = await terminal.question(
      `Send ${count.toLocaleString("en")} ${count === 1 ? "message" : "messages"} in ${environment}? [y/N] `,
      { signal },
    );
    return /^y(es)?$/i.test(answer.trim());
  } catch {
    // Ctrl-C is a no.
    return false;
  } finally {
    terminal.close();
  }
}
