/** Reports the states of the links that this node has open, every few seconds. */
import { RepeatingJob } from "../lib/background-job.ts";
import type { LinkState } from "../providers/provider.ts";
import type { Database } from "../storage/database.ts";
import { dropState, writeState, type LinkError } from "./queries.ts";

export type { LinkError };

const REPORT_EVERY_MS = 2_000;

/** A link that is open on this node. */
export type OpenLink = { name: string; state: LinkState; inFlight: number; lastError: LinkError | null };

export class StateReporter {
  readonly #db: Database;
  readonly #node: string;
  readonly #links: () => readonly OpenLink[];
  readonly #job: RepeatingJob;
  readonly #reported = new Set<string>();

  constructor(db: Database, node: string, links: () => readonly OpenLink[], onError: (error: unknown) => void) {
    this.#db = db;
    this.#node = node;
    this.#links = links;
    this.#job = new RepeatingJob({ onError });
  }

  start(): void {
    this.#job.repeat(async () => {
      await this.report();
      return REPORT_EVERY_MS;
    });
  }

  async report(): Promise<void> {
    const open = this.#links();
    for (const { name, state, inFlight, lastError } of open) {
      this.#reported.add(name);
      await writeState(this.#db, name, this.#node, { state: state.kind, reason: state.reason, inFlight, lastError });
    }
    const names = new Set(open.map(({ name }) => name));
    for (const name of this.#reported) {
      if (names.has(name)) continue;
      await dropState(this.#db, name, this.#node);
      this.#reported.delete(name);
    }
  }

  /** Deletes the reported states. */
  async stop(): Promise<void> {
    await this.#job.stop();
    // A state that cannot be deleted counts for some seconds only.
    await Promise.all([...this.#reported].map((name) => dropState(this.#db, name, this.#node).catch(() => undefined)));
  }
}
