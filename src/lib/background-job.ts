/** Work that runs in the background from `start` to `stop`. */
import { setMaxListeners } from "node:events";
import { pause, within } from "./wait.ts";

/** One turn of the work. Returns after how many milliseconds the next turn begins. */
export type Turn = (stopping: AbortSignal) => Promise<number>;

export type RepeatingJobOptions = {
  turns?: readonly Turn[];
  /** Called for an error that a turn throws. The turn is run again later. */
  onError: (error: unknown) => void;
  afterErrorMs?: number;
  firstAfterMs?: number;
  /** How long a first turn delays the next one at most. */
  firstTurnMs?: number;
  /** Varies every pause by a quarter, so that nodes that were started together do not work at the same moment. */
  isSpread?: boolean;
  /** How long `stop` waits for the turns that are running; without it, until they end. */
  stopWithinMs?: number;
};

const AFTER_ERROR_MS = 1_000;
// A first turn that takes longer does not delay the others any further.
const FIRST_TURN_MS = 100;

/** Runs each of its turns repeatedly. Turns are independent of each other: a slow one delays no other. Only the first turns begin one after
 *  the other: at once, they would open as many connections to the database as there are turns. */
export class RepeatingJob {
  readonly #options: RepeatingJobOptions;
  readonly #stopping = new AbortController();
  readonly #running = new Set<Promise<void>>();
  /** Settles when the first turn that was added last has ended, or has delayed the next one for long enough. */
  #firstTurns: Promise<void> | undefined;

  constructor(options: RepeatingJobOptions) {
    this.#options = options;
    // Every pausing turn listens to the signal, and a job may have more turns than Node.js expects listeners.
    setMaxListeners(0, this.#stopping.signal);
  }

  start(): void {
    for (const turn of this.#options.turns ?? []) this.repeat(turn);
  }

  /** Adds a turn to a job that runs. */
  repeat(turn: Turn): void {
    const running = this.#repeat(turn).finally(() => this.#running.delete(running));
    this.#running.add(running);
  }

  /** Begins no further turn and waits for those that are running. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    const ended = Promise.all(this.#running);
    await (this.#options.stopWithinMs === undefined ? ended : within(ended, this.#options.stopWithinMs));
  }

  async #repeat(turn: Turn): Promise<void> {
    const { signal } = this.#stopping;
    const { firstAfterMs = 0, firstTurnMs = FIRST_TURN_MS } = this.#options;
    if (firstAfterMs > 0) await this.#pause(firstAfterMs);
    const before = this.#firstTurns;
    const { promise, resolve: letNextBegin } = Promise.withResolvers<void>();
    this.#firstTurns = promise;
    if (before !== undefined) await before;
    for (let isFirst = true; !signal.aborted; isFirst = false) {
      const running = this.#run(turn);
      if (isFirst) void within(running, firstTurnMs).then(() => letNextBegin());
      await this.#pause(await running);
    }
    letNextBegin();
  }

  async #run(turn: Turn): Promise<number> {
    try {
      return await turn(this.#stopping.signal);
    } catch (error) {
      this.#options.onError(error);
      return this.#options.afterErrorMs ?? AFTER_ERROR_MS;
    }
  }

  #pause(ms: number): Promise<void> {
    return pause(this.#options.isSpread === true ? ms * (0.75 + Math.random() / 2) : ms, this.#stopping.signal);
  }
}
