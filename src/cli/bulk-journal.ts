/** The journal of a bulk send: the result file with a line for each row that is done, and beside it a small file that says which batch is
 *  on its way. A send that was killed continues from them. */
import {
  closeSync,
  existsSync,
  fdatasyncSync,
  fsyncSync,
  ftruncateSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { RESULT_HEAD, type ResultCounts } from "../bulk/results.ts";
import type { BulkSettings } from "../bulk/rows.ts";
import { StartupError } from "../database/startup-error.ts";

/** A batch that was sent, and whose response is not in the result file. */
export type Pending = { key: string; lastRow: number; startedAtMs: number };

export type JournalState = {
  version: 1;
  /** The content of the file when the send began, and the number of its rows. */
  sha256: string;
  rows: number;
  settings: BulkSettings;
  batchRows: number;
  /** The account and the environment of the key. */
  account: string;
  environment: string;
  doneRow: number;
  counts: ResultCounts;
  /** The length of the result file with the lines of all rows that are done. */
  resultBytes: number;
  pending: Pending | null;
  isComplete: boolean;
};

type NewState = Pick<JournalState, "sha256" | "rows" | "settings" | "batchRows" | "account" | "environment">;

// Both files contain phone numbers.
const MODE = 0o600;

export class Journal {
  readonly #results: string;
  readonly #file: number;
  state: JournalState;

  private constructor(results: string, file: number, state: JournalState) {
    this.#results = results;
    this.#file = file;
    this.state = state;
  }

  /** Throws if the result file exists: another send wrote it. */
  static create(results: string, fields: NewState): Journal {
    const file = openSync(results, "wx", MODE);
    const head = Buffer.from(RESULT_HEAD);
    writeSync(file, head);
    const counts = { accepted: 0, refused: 0, invalid: 0 };
    const journal = new Journal(results, file, {
      version: 1,
      ...fields,
      doneRow: 0,
      counts,
      resultBytes: head.length,
      pending: null,
      isComplete: false,
    });
    journal.#write();
    return journal;
  }

  static exists = (results: string): boolean => existsSync(results) || existsSync(stateFile(results));

  /** Whether a batch was on its way when the send stopped. */
  static isPending(results: string): boolean {
    return existsSync(stateFile(results)) && readState(results).pending !== null;
  }

  /** Whether every row is done. */
  static isComplete = (results: string): boolean => existsSync(stateFile(results)) && readState(results).isComplete;

  /** Continues where the journal ends. Lines without a state are of a batch that is on its way, and are written again. */
  static open(results: string): Journal {
    if (!existsSync(stateFile(results))) throw new StartupError(`there is no send to resume: ${stateFile(results)} does not exist`);
    const state = readState(results);
    if (state.version !== 1) throw new StartupError(`${stateFile(results)} was written by another version of godwit`);
    if (!existsSync(results) || statSync(results).size < state.resultBytes)
      throw new StartupError(`${results} is shorter than ${stateFile(results)} says: restore it, since it has the ids of the messages`);
    const file = openSync(results, "r+");
    ftruncateSync(file, state.resultBytes);
    return new Journal(results, file, state);
  }

  /** Records that a batch is sent, before it is. */
  begin(pending: Pending): void {
    this.state = { ...this.state, pending };
    this.#write();
  }

  /** Nothing of the batch was executed. */
  withdraw(): void {
    this.state = { ...this.state, pending: null };
    this.#write();
  }

  /** Records that the rows up to `doneRow` are done. */
  commit(doneRow: number, lines: string, counts: ResultCounts): void {
    const bytes = Buffer.from(lines);
    // A full disk can take a part.
    for (let at = 0; at < bytes.length;) at += writeSync(this.#file, bytes, at, bytes.length - at, this.state.resultBytes + at);
    const before = this.state.counts;
    this.state = {
      ...this.state,
      doneRow,
      counts: {
        accepted: before.accepted + counts.accepted,
        refused: before.refused + counts.refused,
        invalid: before.invalid + counts.invalid,
      },
      resultBytes: this.state.resultBytes + bytes.length,
      pending: null,
    };
    fdatasyncSync(this.#file);
    this.#write();
  }

  complete(): void {
    this.state = { ...this.state, isComplete: true };
    this.#write();
  }

  close(): void {
    closeSync(this.#file);
  }

  /** Removes both files of a send of which nothing was accepted, so that it can begin again with other settings. */
  discard(): void {
    this.close();
    rmSync(this.#results, { force: true });
    rmSync(stateFile(this.#results), { force: true });
  }

  #write(): void {
    const path = stateFile(this.#results);
    const file = openSync(`${path}.new`, "w", MODE);
    writeFileSync(file, JSON.stringify(this.state));
    fsyncSync(file);
    closeSync(file);
    renameSync(`${path}.new`, path);
  }
}

const stateFile = (results: string): string => `${results}.state`;

function readState(results: string): JournalState {
  try {
    return JSON.parse(readFileSync(stateFile(results), "utf8")) as JournalState;
  } catch (error) {
    throw new StartupError(`${stateFile(results)} cannot be read: ${(error as Error).message}`, { cause: error });
  }
}
