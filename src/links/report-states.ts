/** Says every few seconds how the links are doing that this node has open. */
import { RepeatingJob } from "../lib/background-job.ts";
import type { LinkState } from "../providers/provider.ts";
import type { Database } from "../storage/database.ts";
import { dropState, writeState, type LinkError } from "./queries.ts";

export type { LinkError };

const SAY_EVERY_MS = 2_000;

/** What is known of a link that is open here. */
export type OpenLink = { name: string; state: LinkState; inFlight: number; lastError: LinkError | null };

export class StateReporter {
  readonly #db: Database;
  readonly #node: string;
  readonly #links: () => readonly OpenLink[];
  readonly #job: RepeatingJob;
  readonly #said = new Set<string>();

  constructor(db: Database, node: string, links: () => readonly OpenLink[], onError: (error: unknown) => void) {
    this.#db = db;
    this.#node = node;
    this.#links = links;
    this.#job = new RepeatingJob({ onError: onError });
  }

  start(): void {
    this.#job.repeat(async () => {
      await this.say();
      return SAY_EVERY_MS;
    });
  }

  async say(): Promise<void> {
    const open = this.#links();
    for (const { name, state, inFlight, lastError } of open) {
      this.#said.add(name);
      await writeState(this.#db, name, this.#node, { state: state.kind, reason: state.reason, inFlight, lastError });
    }
    const names = new Set(open.map(({ name }) => name));
    for (const name of this.#said) {
      if (names.has(name)) continue;
      await dropState(this.#db, name, this.#node);
      this.#said.delete(name);
    }
  }

  /** What was said is taken back. */
  async stop(): Promise<void> {
    await this.#job.stop();
    // A state that stays behind counts for some seconds only.
    await Promise.all([...this.#said].map((name) => dropState(this.#db, name, this.#node).catch(() => undefined)));
  }
}
