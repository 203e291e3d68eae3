/** Accepts messages. A request is decided in memory and stored by group commit. The response is sent after the commit. */
import type { WebhookHandover } from "../events/handover.ts";
import type { WakeWebhooks } from "../events/publish.ts";
import { Problem, unavailable } from "../http/problem.ts";
import { Once, type Executed, type Replay, type WriteCall } from "../idempotency/once.ts";
import { unreachable } from "../lib/assert.ts";
import { encodeId, idKey } from "../model/id.ts";
import type { Clock } from "../database/database-clock.ts";
import { isRowRefused, type Database } from "../database/database.ts";
import { GroupCommit, Overloaded } from "../database/group-commit.ts";
import type { Tracing } from "../tracing/tracing.ts";
import { commitAcceptances, type Outcome, type Watch } from "./accept-statement.ts";
import { toAcceptance, type Acceptance } from "./acceptance.ts";
import { type Composer, type Origin } from "./compose.ts";
import { consentProblem } from "./refusals.ts";
import { hasContent } from "./make-content.ts";
import type { Handover, LanePlace } from "./handover.ts";
import type { Message } from "./message.ts";
import type { NewMessage } from "./new-message.ts";
import { findSourceDetails } from "./queries.ts";

// Beyond 200 rows a batch gets no cheaper per message, and its commit delays every request in it.
const MAX_BATCH = 200;
// Some seconds of work for a busy database. Beyond that a client gets 503, and retries.
const MAX_WAITING = 4_000;
// With two workers and 64 clients, 9 % less processor time for each message (bench/README.md, workers).
const REST_MS = 4;

/** The parts that every way to accept messages needs: single ones, batches and verifications. */
export type AcceptParts = {
  db: Database;
  clock: Clock;
  composer: Composer;
  handover: Handover;
  wakeWebhooks: WakeWebhooks;
  webhookHandover?: WebhookHandover | undefined;
  watch: Watch;
  tracing?: Tracing | undefined;
};

/** The details that the API gave with the message that came through it. */
export const readSourceDetails = findSourceDetails;

/** A request of our own API, or of a compatible one. `sourceDetails`: the facts that only that API has to know of the message, as JSON.
 *  `complete` adds what takes time to fetch: it is not run for a request that was executed before. */
type AcceptCall = WriteCall &
  Pick<Origin, "source"> & { sourceDetails?: string | null; complete?: ((request: NewMessage) => Promise<NewMessage>) | undefined };

export class Acceptor {
  readonly #parts: AcceptParts;
  readonly #once: Once;
  readonly #commits: GroupCommit<Acceptance, Outcome>;

  /** `isOneOfSeveral`: other workers of this machine accept messages as well. */
  constructor(parts: AcceptParts, isOneOfSeveral = false) {
    this.#parts = parts;
    this.#once = new Once(parts.db, parts.clock);
    this.#commits = new GroupCommit({
      run: (items) => commitAcceptances(parts, items),
      isItemFault: isRowRefused,
      maxBatch: MAX_BATCH,
      ownerOf: ({ message }) => idKey(message.accountId),
      maxWaiting: MAX_WAITING,
      maxConcurrent: 4,
      minConcurrentBatch: 28,
      maxWaitMs: 50,
      restMs: isOneOfSeveral ? REST_MS : undefined,
    });
  }

  get waiting(): number {
    return this.#commits.waiting;
  }

  async accept(request: NewMessage, call: AcceptCall): Promise<Executed | Replay> {
    const { credential, claim, complete } = call;
    if (complete === undefined && !hasContent(request)) return this.#once.run(credential, claim, await this.#decide(request, call));
    // The files and messages that a content names may be gone when the request is repeated, and files behind URLs are fetched once.
    return this.#once.run(credential, claim, async () => {
      if (await this.#once.isExecuted(credential, claim)) return "taken";
      return (await this.#decide(complete === undefined ? request : await complete(request), call))();
    });
  }

  /** Composes the message. Returns the step that stores it, or its refusal. */
  async #decide(request: NewMessage, call: AcceptCall): Promise<() => Promise<Executed | "taken">> {
    const composed = await this.#parts.composer.compose(request, call.credential, call);
    if (composed instanceof Problem) return () => this.#refuse(composed, call);
    const acceptance = toAcceptance(composed, call.claim, undefined, call.sourceDetails);
    return () => this.#store(acceptance, call);
  }

  /** Stores a refusal under its idempotency key. Without a key there is nothing to store. */
  async #refuse(problem: Problem, { credential, claim, writeProblem }: WriteCall): Promise<Executed | "taken"> {
    if (claim === undefined) throw problem;
    return this.#once.commit(credential, claim, async () => ({ status: problem.status, body: writeProblem(problem) }));
  }

  /** Stores a message. If a lane of this machine has a place for it, that process owns the message from the moment it is stored;
   *  otherwise the message is due for any node. */
  async #store(acceptance: Acceptance, call: WriteCall): Promise<Executed | "taken"> {
    const { handover, tracing } = this.#parts;
    const { message, queueEntry } = acceptance;
    const place = queueEntry.dueAtMs === null ? handover.reserve(queueEntry.lane, message) : undefined;
    const toStore = place ? { ...acceptance, queueEntry: { ...queueEntry, leaseMs: handover.leaseMs } } : acceptance;
    const span = tracing?.begin("commit", "internal", message.trace, { "godwit.message_id": encodeId("msg", message.id) });
    let outcome: Outcome = "lost";
    try {
      outcome = await this.#commits.submit(toStore);
    } catch (error) {
      throw error instanceof Overloaded ? unavailable("too many messages wait to be stored", 1, error) : error;
    } finally {
      span?.end({ "godwit.outcome": outcome }, outcome === "lost" || outcome === "unknown");
      this.#settleReservation(queueEntry.lane, outcome, message, place);
    }
    switch (outcome) {
      case "done":
        if (message.source !== null) this.#parts.watch.cameThrough(message.source);
        return { kind: "executed", status: 202, location: acceptance.location, body: acceptance.body };
      case "taken":
        return outcome;
      case "recipient_opted_out":
      case "service_window_closed":
        return this.#refuse(consentProblem(outcome), call);
      case "lost":
        throw unavailable("the database connection was lost before the message was stored");
      case "unknown":
        throw new Problem("internal_server_error", { cause: new Error("whether the message was stored could not be found out") });
      default:
        return unreachable(outcome);
    }
  }

  #settleReservation(lane: string, outcome: Outcome, message: Message, place: LanePlace | undefined): void {
    if (outcome !== "done") place?.release();
    else if (place === undefined) this.#parts.handover.queued(lane, [message]);
    else place.take(message);
  }
}
