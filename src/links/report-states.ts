/** Reports the states of the links that this node has open, every few seconds. */
import { RepeatingJob } from "../lib/background-job.ts";
import type { LinkState } from "../providers/provider.ts";
import type { Clock } from "../database/database-clock.ts";
import type { Database } from "../database/database.ts";
import { dropState, writeState, type LinkError } from "./queries.ts";

export type { LinkError };

const REPORT_EVERY_MS = 2_000;

export type OpenLink = { name: string; state: LinkState; inFlight: number; lastError: LinkError | null };

export type StateReporterParts = {
  db: Database;
  clock: Clock;
  node: string;
  links: () => readonly OpenLink[];
  onError: (error: unknown) => void;
};

export class StateReporter {
  readonly #parts: StateReporterParts;
  readonly #job: RepeatingJob;
  readonly #reported = new Set<string>();

  constructor(parts: StateReporterParts) {
    this.#parts = parts;
    this.#job = new RepeatingJob({ onError: parts.onError });
  }

  start(): void {
    this.#job.repeat(async () => {
      await this.report();
      return REPORT_EVERY_MS;
    });
  }

  async report(): Promise<void> {
    const { db, clock, node, links } = this.#parts;
    const open = links();
    for (const { name, state, inFlight, lastError } of open) {
      this.#reported.add(name);
      await writeState(db, name, node, { state: state.kind, reason: state.reason, inFlight, lastError, atMs: clock.now() });
    }
    const names = new Set(open.map(({ name }) => name));
    for (const name of this.#reported) {
      if (names.has(name)) continue;
      await this.#drop(name);
      this.#reported.delete(name);
    }
  }

  /** Deletes the reported states. */
  async stop(): Promise<void> {
    await this.#job.stop();
    // A state that cannot be deleted counts for some seconds only.
    await Promise.all([...this.#reported].map((name) => this.#drop(name).catch(() => undefined)));
  }

  #drop(name: string): Promise<void> {
    const { db, clock, node } = this.#parts;
    return dropState(db, name, node, clock.now());
  }
}
