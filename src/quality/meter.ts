/** Measures links: stores the counts of this process, and reads the scores that the counts of all processes give. */
import type { Clock } from "../database/database-clock.ts";
import type { Database } from "../database/database.ts";
import { RepeatingJob } from "../lib/background-job.ts";
import { OutcomeCounts } from "./outcomes.ts";
import { deleteOldCounts, readDecayed, storeCounts } from "./queries.ts";
import { LinkScores, NO_SCORES } from "./scores.ts";
import type { Windows } from "./windows.ts";

export type MeterParts = {
  db: Database;
  clock: Clock;
  windows: Windows;
  /** The links that are chosen by their scores; none are read without any. */
  measuredLinks: () => readonly string[];
  onError: (error: unknown) => void;
};

export class LinkMeter {
  readonly counts: OutcomeCounts;
  readonly #parts: MeterParts;
  readonly #job: RepeatingJob;
  #scores = NO_SCORES;
  #deletedAtMs = 0;

  constructor(parts: MeterParts) {
    this.#parts = parts;
    this.counts = new OutcomeCounts(parts.windows);
    const { turnMs } = parts.windows;
    const turns = [() => this.store(), () => this.read()].map((turn) => async () => {
      await turn();
      return turnMs;
    });
    this.#job = new RepeatingJob({ turns, onError: parts.onError, afterErrorMs: turnMs });
  }

  get scores(): LinkScores {
    return this.#scores;
  }

  start(): void {
    this.#job.start();
  }

  stop(): Promise<void> {
    return this.#job.stop();
  }

  /** Stores the counts of this process. */
  async store(): Promise<void> {
    const { db, clock, windows } = this.#parts;
    const counts = this.counts.take();
    if (counts.length === 0) return;
    await storeCounts(db, counts);
    const nowMs = clock.now();
    if (nowMs - this.#deletedAtMs < windows.halfLifeMs) return;
    this.#deletedAtMs = nowMs;
    await deleteOldCounts(db, windows, nowMs);
  }

  /** Reads the scores anew. */
  async read(): Promise<void> {
    const { db, clock, windows, measuredLinks } = this.#parts;
    const links = measuredLinks();
    this.#scores = links.length === 0 ? NO_SCORES : new LinkScores(await readDecayed(db, links, windows, clock.now()));
  }
}
