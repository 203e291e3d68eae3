/** Accepts a batch: decides every item by itself, and stores all valid ones in one commit with the idempotency key and the response. */
import { setImmediate } from "node:timers/promises";
import type { QueuedDeliveries } from "../events/publish.ts";
import { Problem, toSentence, unavailable, type Fault } from "../http/problem.ts";
import { Once, type Executed, type Replay, type WriteCall, type WriteResponse } from "../idempotency/once.ts";
import { ConcurrencyLimit } from "../lib/concurrency-limit.ts";
import { encodeId, newId } from "../model/id.ts";
import type { AcceptParts } from "../messages/accept.ts";
import { type Origin } from "../messages/compose.ts";
import { consentProblem } from "../messages/refusals.ts";
import { storeMessages } from "../messages/accept-statement.ts";
import { toAcceptance, type Acceptance } from "../messages/acceptance.ts";
import type { Tx } from "../database/database.ts";
import type { Owner } from "../model/owner.ts";
import { toFields, type AcceptedBatch, type Batch } from "./batch.ts";
import { publishCompleted } from "./complete.ts";
import { toItem, type NewBatch } from "./new-batch.ts";
import { insertBatch } from "./queries.ts";

// Other requests wait for a turn of the event loop. An item takes from 0.01 to several milliseconds.
const TURN_MS = 10;
// The response is stored. A thousand items of only unknown fields would make it many times as large as the request.
const MAX_FAULTS = 20;
const MAX_FAULTS_BYTES = 524_288;

// Each store holds a connection for a thousand messages. Requests for single messages need connections too.
const MAX_STORED_AT_ONCE = 4;
// Some seconds of work for a busy database. Beyond that a 503 with a later retry serves the client better.
const MAX_WAITING = 60;

type StoredBatch = WriteResponse & { stored: readonly Acceptance[]; deliveries: readonly QueuedDeliveries[] };
type Decided = Acceptance | Problem;
type Result = AcceptedBatch["results"][number];

export class BatchAcceptor {
  readonly #parts: AcceptParts;
  readonly #once: Once;
  readonly #stores = new ConcurrencyLimit(MAX_STORED_AT_ONCE, MAX_WAITING);

  constructor(parts: AcceptParts) {
    this.#parts = parts;
    this.#once = new Once(parts.db, parts.clock);
  }

  async accept(request: NewBatch, { credential, requestId, claim, trace }: WriteCall): Promise<Executed | Replay> {
    const { clock, handover, wakeWebhooks, watch, tracing } = this.#parts;
    const { accountId, environment } = credential;
    if (this.#stores.isFull) throw unavailable("too many batches wait to be stored");
    const id = newId("batch", clock.now());
    let decided: readonly Decided[] = [];
    const store = async (tx: Tx): Promise<StoredBatch> => {
      const startedAt = performance.now();
      const { stored, refused, deliveries } = await storeMessages(tx, decided.filter(isAcceptance));
      watch.committed(stored.length, (performance.now() - startedAt) / 1_000);
      const results = withinBytes(decided.map((each, index) => toResult(isAcceptance(each) ? (refused.get(each) ?? each) : each, index)));
      const nowMs = clock.now();
      const completedAtMs = stored.length === 0 ? nowMs : null;
      const batch: Batch = { accountId, environment, id, accepted: stored.length, refused: decided.length - stored.length, completedAtMs };
      await insertBatch(tx, batch, nowMs);
      if (completedAtMs !== null) await publishCompleted(tx, batch, [], completedAtMs);
      const body: AcceptedBatch = { ...toFields(batch), results };
      return { status: 202, location: `/v1/batches/${body.id}`, body: JSON.stringify(body), eventId: null, stored, deliveries };
    };
    const span = tracing?.begin("commit", "internal", trace ?? null, { "godwit.batch_id": encodeId("batch", id) });
    const endSpan = (messages: number): void => span?.end({ "godwit.messages": messages });
    // A repeated batch looks for no files, and fetches none.
    const committing = this.#once.run(credential, claim, async () => {
      if (await this.#once.isExecuted(credential, claim)) return "taken";
      decided = await this.#decide(request, credential, { requestId, batchId: id, trace });
      return this.#stores.run(() => this.#once.commit(credential, claim, store));
    });
    committing.then((done) => endSpan(done.kind === "executed" ? done.stored.length : 0)).catch(() => endSpan(0));
    const response = await committing;
    if (response.kind === "executed") {
      const { stored, deliveries } = response;
      // A batch without messages has published its own event.
      wakeWebhooks(stored.length > 0 ? deliveries : undefined);
      for (const [lane, each] of Map.groupBy(stored, ({ queueEntry }) => queueEntry.lane))
        handover.queued(
          lane,
          each.map(({ message }) => message),
        );
    }
    return response;
  }

  /** Checks each item against business rules and the size of its record, before anything is locked. */
  async #decide(request: NewBatch, owner: Owner, origin: Origin): Promise<Decided[]> {
    const decided: Decided[] = [];
    let turnEndsAt = 0;
    for (let index = 0; index < request.items.length; index += 1) {
      if (performance.now() >= turnEndsAt) {
        await setImmediate();
        turnEndsAt = performance.now() + TURN_MS;
      }
      decided.push(await this.#decideItem(request, index, owner, origin));
    }
    return decided;
  }

  async #decideItem(batch: NewBatch, index: number, owner: Owner, origin: Origin): Promise<Decided> {
    const { request, faults } = toItem(batch, index);
    if (faults.length > 0) return new Problem("invalid_request_payload", { errors: faults });
    try {
      const composed = await this.#parts.composer.compose(request, owner, origin);
      return composed instanceof Problem ? within(composed, index) : toAcceptance(composed);
    } catch (error) {
      if (error instanceof Problem) return within(error, index);
      throw error;
    }
  }
}

const isAcceptance = (decided: Decided): decided is Acceptance => !(decided instanceof Problem);

const toFault = (fault: Fault) => ({ pointer: "pointer" in fault ? fault.pointer : "", code: fault.code, detail: fault.detail });

/** The problem of an item, with pointers into the batch. */
const within = ({ code, detail, errors }: Problem, index: number): Problem =>
  new Problem(code, {
    detail,
    errors: (errors ?? [{ pointer: "", code, detail }])
      .map(toFault)
      .map((fault) => ({ ...fault, pointer: `/items/${index}${fault.pointer}` })),
  });

/** Leaves out the faults of the last items if all faults together are too long. Each item keeps its code and its detail. */
function withinBytes(results: readonly Result[]): Result[] {
  let bytes = 0;
  return results.map((result) => {
    if (result.error === null) return result;
    bytes += Buffer.byteLength(JSON.stringify(result.error.errors));
    return bytes <= MAX_FAULTS_BYTES ? result : { ...result, error: { ...result.error, errors: [] } };
  });
}

function toResult(decided: Decided | "recipient_opted_out" | "service_window_closed", index: number): Result {
  if (typeof decided === "string") return toResult(within(consentProblem(decided), index), index);
  if (isAcceptance(decided)) return { index, status: "accepted", message_id: encodeId("msg", decided.message.id), error: null };
  const { code, detail, errors = [] } = decided;
  const error = { code, detail: toSentence(detail), errors: errors.slice(0, MAX_FAULTS).map(toFault) };
  return { index, status: "refused", message_id: null, error };
}
