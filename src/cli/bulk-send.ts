/** Sends the rows of a file, one batch after the other, and records each in the journal before and after. */
import { createReadStream } from "node:fs";
import type { Flags } from "../config.ts";
import { keyOfGroup, toBatchRequest, type RowGroup } from "../bulk/groups.ts";
import { readRowGroups } from "../bulk/read-rows.ts";
import { resultLines, type BatchOutcome } from "../bulk/results.ts";
import type { Journal } from "./bulk-journal.ts";
import { callRepeatedly, explainProblem, type Caller, type RequestResult } from "./client.ts";
import { EXIT, textFlag } from "./command.ts";
import { print, say } from "./output.ts";
import { ProgressLine } from "./progress-line.ts";

type Sending = { flags: Flags; path: string; results: string; journal: Journal; stopping: AbortSignal };

/** Receives what a person may want to know: a further attempt, and rows that the service had accepted before this send. */
type Report = { retry: (line: string) => void; replay: (rows: number) => void };

/** Why a send stopped before its end. */
type Stop = { reason: string; code: number };

// The service keeps keys for 24 hours. An hour is left for clocks that differ and for a request on its way.
const KEY_MS = 23 * 3_600_000;

export async function sendRows(call: Caller, sending: Sending): Promise<number> {
  const { flags, path, results, journal, stopping } = sending;
  const progress = new ProgressLine();
  const startedAt = performance.now();
  const firstRow = journal.state.doneRow;
  let stop: Stop | undefined;
  let replayedRows = 0;
  const report: Report = {
    retry: (line) => progress.show(() => line),
    replay: (rows) => (replayedRows += rows),
  };
  if (!journal.state.isComplete)
    for await (const group of readRowGroups(createReadStream(path), journal.state.settings, journal.state.batchRows)) {
      if (group.last <= journal.state.doneRow) continue;
      stop = stopping.aborted ? PAUSED : await sendGroup(call, sending, group, report);
      if (stop !== undefined) break;
      progress.show(() => progressLine(journal, (performance.now() - startedAt) / 1_000, firstRow));
    }
  progress.end();
  if (stop === undefined) journal.complete();
  const { counts, rows, settings } = journal.state;
  const status = stop === undefined ? "completed" : "paused";
  const record = { object: "bulk_send", status, rows, ...counts, send_id: settings.sendId, results };
  const isUnused = stop !== undefined && journal.state.doneRow === 0 && journal.state.pending === null;
  if (isUnused) journal.discard();
  else journal.close();
  print(flags, record);
  if (replayedRows > 0)
    say(
      `${replayedRows} rows were accepted before, from the same file with the same settings, and were not sent again: --send-id sends them again`,
    );
  if (stop === undefined) return counts.accepted === rows ? EXIT.done : EXIT.failed;
  say(`godwit: ${stop.reason}`);
  say(
    isUnused
      ? "nothing was sent"
      : `${status} after row ${journal.state.doneRow}: godwit send --csv ${path}${resultsFlag(flags)} --resume continues`,
  );
  return stop.code;
}

const PAUSED: Stop = { reason: "interrupted", code: EXIT.unknown };

const resultsFlag = (flags: Flags): string => (flags["results"] === undefined ? "" : ` --results ${String(flags["results"])}`);

/** Sends a group, and records its lines. Returns why it could not. */
async function sendGroup(
  { client, repeat }: Caller,
  { flags, journal }: Sending,
  group: RowGroup,
  report: Report,
): Promise<Stop | undefined> {
  const { settings, pending } = journal.state;
  const request = toBatchRequest(group, settings);
  const key = await keyOfGroup(group, request, settings.sendId);
  if (pending !== null && (pending.key !== key || Date.now() - pending.startedAtMs > KEY_MS)) {
    const choice = textFlag(flags, "unconfirmed");
    if (choice === undefined) return unconfirmed(group, pending.startedAtMs);
    if (choice === "skip") return commit(journal, group, null);
    journal.withdraw();
  }
  if (group.valid.length === 0) return commit(journal, group, null);
  const isFirstAttempt = journal.state.pending === null;
  if (isFirstAttempt) journal.begin({ key, lastRow: group.last, startedAtMs: Date.now() });
  const headers = { "idempotency-key": key };
  let isRepeated = false;
  const onRetry = (line: string): void => {
    isRepeated = true;
    report.retry(line);
  };
  const outcome = await callRepeatedly(client, { method: "POST", path: "/v1/batches", body: request, headers }, { ...repeat(), onRetry });
  if (outcome.kind === "response" && outcome.status === 202 && outcome.json?.["object"] === "batch") {
    if (isFirstAttempt && !isRepeated && outcome.headers.get("idempotent-replayed") === "true") report.replay(group.valid.length);
    return commit(journal, group, outcome.json as unknown as BatchOutcome);
  }
  // An attempt of an earlier run may have been executed, and so may a request whose response is not of the service.
  if (isFirstAttempt && (outcome.kind === "unreachable" || isRefusal(outcome))) journal.withdraw();
  return explain(outcome);
}

const isRefusal = (outcome: RequestResult): boolean => outcome.kind === "response" && typeof outcome.json?.["code"] === "string";

const SKIPPED = { code: "outcome_unknown", detail: "the row was being sent when the send stopped; its outcome is not known" };

function commit(journal: Journal, group: RowGroup, outcome: BatchOutcome | null): undefined {
  const { text, counts } = resultLines(group, outcome, SKIPPED);
  journal.commit(group.last, text, counts);
}

function explain(outcome: RequestResult): Stop {
  if (outcome.kind === "response") return { reason: explainProblem(outcome), code: EXIT.failed };
  return { reason: outcome.reason, code: outcome.kind === "unknown" ? EXIT.unknown : EXIT.failed };
}

function unconfirmed({ rows, last }: RowGroup, startedAtMs: number): Stop {
  const at = new Date(startedAtMs).toISOString();
  const reason = [
    `rows ${rows[0]?.row} to ${last} were being sent at ${at}, and the service does not recognize the request any more.`,
    `Look for a batch of that time: godwit api GET '/v1/batches?created_after=${at}'`,
    "Then add --unconfirmed skip if it exists, or --unconfirmed repeat if it does not.",
  ].join("\n  ");
  return { reason, code: EXIT.unknown };
}

function progressLine({ state: { doneRow, rows, counts } }: Journal, seconds: number, firstRow: number): string {
  // The headings are row 1.
  const done = Math.min(rows, doneRow - 1);
  const perSecond = (doneRow - firstRow) / Math.max(0.001, seconds);
  const left = Math.max(0, (rows - done) / Math.max(0.001, perSecond));
  const share = Math.floor((100 * done) / Math.max(1, rows));
  return `${done.toLocaleString("en")} of ${rows.toLocaleString("en")} rows (${share} %), ${counts.accepted.toLocaleString("en")} accepted, ${Math.round(perSecond)} rows/s, ${Math.ceil(left)} s left`;
}
