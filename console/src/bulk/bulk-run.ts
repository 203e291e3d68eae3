/** A bulk send of this page: sends one batch after the other, can pause and continue, and collects the result file. It goes on while the
 *  user looks at other pages of the console. */
import { ApiError, type Godwit, type NewBatch } from "godwit-sdk";
import { cancelBatch } from "../../../src/bulk/cancel-batch.ts";
import { keyOfGroup, toBatchRequest, type RowGroup } from "../../../src/bulk/groups.ts";
import { readRowGroups } from "../../../src/bulk/read-rows.ts";
import { RESULT_HEAD, resultLines, type BatchOutcome, type ResultCounts } from "../../../src/bulk/results.ts";
import { download } from "../lib/download.ts";
import type { Check } from "./check-file.ts";
import { fileBytes } from "./file-bytes.ts";

export type RunState = {
  /** `stopped`: the cancellation has failed, and can be repeated. */
  status: "sending" | "pausing" | "paused" | "done" | "canceling" | "stopped" | "canceled";
  /** The rows that are done. */
  rows: number;
  counts: ResultCounts;
  /** Rows that the service had accepted before this send. */
  replayed: number;
  canceled: number;
  tooLate: number;
  error: unknown;
};

// The service restarts within minutes, and a quota is refilled within seconds.
const BATCH_LIMITS = { maxRetries: 100, totalTimeoutMs: 900_000 };
// The service keeps keys for 24 hours. An hour is left for a request on its way.
const KEY_MS = 23 * 3_600_000;

// A carrier may refuse a message that is being sent for now. It is queued again then.
const OPEN = ["scheduled", "queued", "sending"] as const;
const BATCHES_AT_ONCE = 20;

export const downloadResults = (name: string, results: Blob | string): void => download(`${name}.results.csv`, [results]);

const START: RunState = {
  status: "paused",
  rows: 0,
  counts: { accepted: 0, refused: 0, invalid: 0 },
  replayed: 0,
  canceled: 0,
  tooLate: 0,
  error: undefined,
};

export class BulkRun {
  readonly file: File;
  readonly total: number;
  state: RunState = START;
  readonly #api: Godwit;
  readonly #check: Check;
  readonly #groups: AsyncGenerator<RowGroup>;
  readonly #leaving = new AbortController();
  readonly #listeners = new Set<() => void>();
  /** The group that is on its way, and the time at which it was first sent. */
  #pending: { group: RowGroup; startedAtMs: number } | undefined;
  // A Blob is kept by the browser, outside of the heap of the page.
  readonly #results: Blob[] = [new Blob([RESULT_HEAD])];
  readonly #batches: string[] = [];

  constructor(api: Godwit, file: File, check: Check) {
    this.file = file;
    this.total = check.preview.rows;
    this.#api = api;
    this.#check = check;
    this.#groups = readRowGroups(fileBytes(file), check.settings, check.batchRows);
  }

  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  get isActive(): boolean {
    return ["sending", "pausing", "canceling"].includes(this.state.status);
  }

  /** Begins, or continues after a pause. */
  async send(): Promise<void> {
    this.#set({ status: "sending", error: undefined });
    try {
      for (;;) {
        // Reads of the state, because a click may change it meanwhile.
        if ((this.state.status as string) === "pausing") return this.#set({ status: "paused" });
        const group = this.#pending?.group ?? (await this.#nextGroup());
        if (group === undefined) return this.#set({ status: "done" });
        await this.#sendGroup(group);
      }
    } catch (error) {
      this.#set({ status: "paused", error });
    }
  }

  /** Stops after the batch on its way. */
  pause(): void {
    if (this.state.status === "sending") this.#set({ status: "pausing" });
  }

  /** Cancels the messages that are still scheduled or queued. A canceled send cannot continue. */
  async cancel(): Promise<void> {
    this.#set({ status: "canceling", error: undefined });
    const api = this.#api;
    const { signal } = this.#leaving;
    try {
      for (let id = this.#batches.at(-1); id !== undefined; id = this.#batches.at(-1)) {
        const { canceled, tooLate } = await cancelBatch(
          {
            countStatuses: async (batchId) => (await api.batches.get(batchId, { signal })).statuses,
            list: (query, cursor) => api.messages.list(query, { signal }).page(cursor),
            cancel: (message) =>
              api.messages.cancel(message, { signal, ...BATCH_LIMITS }).then(
                () => true,
                (error: unknown) => {
                  if (error instanceof ApiError && error.status === 422) return false;
                  throw error;
                },
              ),
          },
          id,
        );
        this.#batches.pop();
        this.#set({ canceled: this.state.canceled + canceled, tooLate: this.state.tooLate + tooLate });
      }
      this.#set({ status: "canceled" });
    } catch (error) {
      this.#set({ status: "stopped", error });
    }
  }

  /** Whether a message of the send is not submitted yet. Asks for a few batches at a time, and forgets those that are through: a cancellation
   *  needs them no more. */
  async hasOpenMessages(): Promise<boolean> {
    for (let asked = 0; asked < BATCHES_AT_ONCE; asked += 1) {
      const id = this.#batches.at(-1);
      if (id === undefined) return false;
      const { statuses } = await this.#api.batches.get(id, { signal: this.#leaving.signal });
      if (OPEN.some((status) => (statuses[status] ?? 0) > 0)) return true;
      if (this.#batches.at(-1) === id) this.#batches.pop();
    }
    return true;
  }

  /** The result file, as far as rows are done. */
  get results(): Blob {
    return new Blob(this.#results);
  }

  downloadResults(): void {
    downloadResults(this.file.name, this.results);
  }

  /** Stops for good, as at the end of the session. */
  leave(): void {
    this.#leaving.abort();
  }

  async #nextGroup(): Promise<RowGroup | undefined> {
    const { value, done } = await this.#groups.next();
    return done === true ? undefined : value;
  }

  async #sendGroup(group: RowGroup): Promise<void> {
    if (group.valid.length === 0) return this.#record(group, null, false);
    const { settings } = this.#check;
    const request = toBatchRequest(group, settings);
    const idempotencyKey = await keyOfGroup(group, request, settings.sendId);
    const isFirst = this.#pending === undefined;
    this.#pending ??= { group, startedAtMs: Date.now() };
    if (Date.now() - this.#pending.startedAtMs > KEY_MS)
      throw new Error(`It is not known whether the rows up to ${group.last} were accepted. The page on batches shows whether they were.`);
    const { signal } = this.#leaving;
    const { data, isReplayed, attempts } = await this.#api.batches
      .send(request as NewBatch, { idempotencyKey, signal, ...BATCH_LIMITS })
      .withResponse();
    this.#batches.push(data.id);
    this.#record(group, data, isReplayed && isFirst && attempts === 1);
  }

  #record(group: RowGroup, outcome: BatchOutcome | null, isReplayed: boolean): void {
    const { text, counts } = resultLines(group, outcome);
    this.#results.push(new Blob([text]));
    this.#pending = undefined;
    const { rows, counts: before, replayed } = this.state;
    this.#set({
      rows: rows + group.rows.length,
      counts: {
        accepted: before.accepted + counts.accepted,
        refused: before.refused + counts.refused,
        invalid: before.invalid + counts.invalid,
      },
      replayed: replayed + (isReplayed ? group.valid.length : 0),
    });
  }

  #set(change: Partial<RunState>): void {
    this.state = { ...this.state, ...change };
    for (const listener of this.#listeners) listener();
  }
}
