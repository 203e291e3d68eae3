/** Accepting messages: decided in memory, made durable by group commit, answered after the commit. */
import type { ConsentRefusal } from "../consent/refusal.ts";
import { Problem, unavailable } from "../http/problem.ts";
import { Once, type Replay, type WriteCall } from "../idempotency/once.ts";
import { encodeId } from "../lib/id.ts";
import type { Bell } from "../events/bell.ts";
import { ConnectionLost, isRowRefused, type Database } from "../storage/database.ts";
import { findOut } from "../storage/find-out.ts";
import { GroupCommit, Overloaded } from "../storage/group-commit.ts";
import type { Tracing } from "../tracing/tracing.ts";
import { toAcceptance, toRefusal, type Acceptance, type MessageAcceptance } from "./acceptance.ts";
import type { Change } from "./change.ts";
import { refusalOf, type Composed, type Composer } from "./compose.ts";
import type { Handover, Reservation } from "./handover.ts";
import type { Message } from "./message.ts";
import type { NewMessage } from "./new-message.ts";
import { storeAcceptances } from "./accept-statement.ts";
import { existingMessages } from "./queries.ts";

export type Accepted = { kind: "accepted"; status: number; location: string | null; body: string };

// Past two hundred rows a batch gets no cheaper per message, and its commit holds up everyone in it.
const MAX_BATCH = 200;
// Some seconds of work for a busy database. Beyond that a client is better told to come again.
const MAX_WAITING = 4_000;

/** Told of every commit, to count it. */
export type Watch = { committed(size: number, seconds: number): void };

/** What became of an item: stored, or another's, or refused by what the database knows of the recipient. */
type Stored = "done" | "taken" | ConsentRefusal;
type Outcome = Stored | "lost" | "unknown";

export type AcceptorParts = {
  db: Database;
  composer: Composer;
  handover: Handover;
  bell: Bell;
  watch: Watch;
  tracing?: Tracing | undefined;
};

export class Acceptor {
  readonly #db: Database;
  readonly #composer: Composer;
  readonly #handover: Handover;
  readonly #bell: Bell;
  readonly #watch: Watch;
  readonly #tracing: Tracing | undefined;
  readonly #once: Once;
  readonly #commits: GroupCommit<Acceptance, Outcome>;

  constructor({ db, composer, handover, bell, watch, tracing }: AcceptorParts) {
    this.#db = db;
    this.#composer = composer;
    this.#handover = handover;
    this.#bell = bell;
    this.#watch = watch;
    this.#tracing = tracing;
    this.#once = new Once(db);
    this.#commits = new GroupCommit({
      run: (items) => this.#commit(items),
      isItemFault: isRowRefused,
      maxBatch: MAX_BATCH,
      maxWaiting: MAX_WAITING,
      maxConcurrent: 4,
      minConcurrentBatch: 28,
      maxWaitMs: 50,
    });
  }

  get waiting(): number {
    return this.#commits.waiting;
  }

  accept(request: NewMessage, call: WriteCall): Promise<Accepted | Replay> {
    const composed = this.#composer.compose(request, call.credential, call.trace && { trace: call.trace });
    return composed instanceof Promise ? composed.then((made) => this.#accept(made, call)) : this.#accept(composed, call);
  }

  #accept(composed: Composed | Problem, call: WriteCall): Promise<Accepted | Replay> {
    const { credential, claim } = call;
    if (composed instanceof Problem) return this.#once.run(credential, claim, () => this.#refuse(composed, call));
    const acceptance = toAcceptance(composed, claim);
    return this.#once.run(credential, claim, () => this.#submitMessage(acceptance, call));
  }

  /** Without a key there is nothing to remember a refusal by. */
  async #refuse(problem: Problem, { credential, claim, writeProblem }: WriteCall): Promise<Accepted | "taken"> {
    if (claim === undefined) throw problem;
    const refusal = toRefusal(problem, credential, claim, writeProblem);
    return certain(await this.#submit(refusal)) === "done" ? toAccepted(refusal) : "taken";
  }

  /** A message that finds room in this process is in its hands from the moment it is stored; any other is due for whoever
   *  comes first. */
  async #submitMessage(acceptance: MessageAcceptance, call: WriteCall): Promise<Accepted | "taken"> {
    const { message, place } = acceptance;
    const reservation = place.dueAtMs === null ? this.#handover.reserve(place.lane, message) : undefined;
    if (reservation !== undefined) {
      place.leaseMs = this.#handover.leaseMs;
      if (reservation.written !== null) bornWritten(acceptance, reservation.written);
    }
    const span = this.#tracing?.begin("commit", "internal", message.trace, { "godwit.message_id": encodeId("msg", message.id) });
    let outcome: Outcome = "lost";
    try {
      outcome = await this.#submit(acceptance);
    } finally {
      span?.end({ "godwit.outcome": outcome }, outcome === "lost" || outcome === "unknown");
      if (outcome === "done") this.#handover.stored(place.lane, message, reservation);
      else if (reservation !== undefined) this.#giveUp(place.lane, { message, reservation, mayBeStored: outcome === "unknown" });
    }
    if (outcome === "done") return toAccepted(acceptance);
    return outcome === "taken" ? outcome : this.#refuse(refusalOf(certain(outcome)), call);
  }

  /** One that may be stored all the same has not left: whoever reads its record must not have to doubt that. */
  #giveUp(lane: string, { message, reservation, mayBeStored }: { message: Message; reservation: Reservation; mayBeStored: boolean }): void {
    if (mayBeStored && reservation.written !== null) this.#handover.withdraw(lane, message, reservation);
    else this.#handover.release(lane, reservation);
  }

  async #submit(acceptance: Acceptance): Promise<Outcome> {
    try {
      return await this.#commits.submit(acceptance);
    } catch (error) {
      throw error instanceof Overloaded ? unavailable("too many messages wait to be stored", 1, error) : error;
    }
  }

  async #commit(items: readonly Acceptance[]): Promise<readonly Outcome[]> {
    const startedAt = performance.now();
    try {
      const { done, refused, isTold } = await storeAcceptances(this.#db, items);
      this.#watch.committed(items.length, (performance.now() - startedAt) / 1_000);
      if (isTold) this.#bell.ring();
      return items.map((_, index) => (done.has(index) ? "done" : (refused.get(index) ?? "taken")));
    } catch (error) {
      if (!(error instanceof ConnectionLost)) throw error;
      return (await findOut(this.#db, error, () => this.#lookAgain(items))) ?? items.map(() => "unknown");
    }
  }

  async #lookAgain(items: readonly Acceptance[]): Promise<readonly Outcome[]> {
    const messages = items.flatMap(({ accountId, environment, message }) =>
      message === null ? [] : [{ accountId, environment, message }],
    );
    const rows = await existingMessages(this.#db, messages);
    const there = new Set(rows.map(({ id }) => id.toString("latin1")));
    const outcomes: Outcome[] = [];
    for (const item of items) {
      const { message, claim, answer } = item;
      const isStored =
        message === null
          ? claim !== undefined && (await this.#once.holds(item, claim, answer.body))
          : there.has(message.id.toString("latin1"));
      outcomes.push(isStored ? "done" : "lost");
    }
    return outcomes;
  }
}

/** Throws where the connection to the database was lost, and with it the outcome, or the knowledge of it. */
function certain<O extends Outcome>(outcome: O): Exclude<O, "lost" | "unknown"> {
  if (outcome === "lost") throw unavailable("the database connection was lost before the message was stored");
  if (outcome === "unknown")
    throw new Problem("internal_server_error", { cause: new Error("whether the message was stored could not be found out") });
  return outcome as Exclude<O, "lost" | "unknown">;
}

/** It counts as what it is when the statement is done. */
function bornWritten(acceptance: MessageAcceptance, written: Change): void {
  acceptance.written = written;
  acceptance.counted = written.counted;
}

const toAccepted = ({ answer: { status, location, body }, event }: Acceptance): Accepted => ({
  kind: "accepted",
  status,
  location,
  body: body ?? (event as { record: string }).record,
});
