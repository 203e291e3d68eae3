/** Accepting messages: decided in memory, made durable by group commit, answered after the commit. */
import type { Credential } from "../access/authenticate.ts";
import { Problem, unavailable } from "../http/problem.ts";
import type { KeyClaim } from "../idempotency/key.ts";
import { Once, type Owner, type Replay } from "../idempotency/once.ts";
import { newUuid, uuidTimeMs, type Uuid } from "../lib/uuid.ts";
import type { Bell } from "../outbox/bell.ts";
import { SCHEDULED_LANE, type Place } from "../queue/place.ts";
import type { Link } from "../routing/link.ts";
import type { Routes } from "../routing/route.ts";
import type { Clock } from "../storage/database-clock.ts";
import { ConnectionLost, isRowRefused, type Database } from "../storage/database.ts";
import { findOut } from "../storage/find-out.ts";
import { GroupCommit, Overloaded } from "../storage/group-commit.ts";
import { countedOf } from "../usage/usage.ts";
import type { Handover } from "./handover.ts";
import { DEFAULT_TTL_SECONDS, MAX_RECORD_BYTES, toRecord, type Message } from "./message.ts";
import { tooLarge, tooManySegments, unavailableFields, type NewMessage } from "./new-message.ts";
import { existingMessages, storeAcceptances, type Acceptance } from "./queries.ts";
import { segmentsOf } from "./segments.ts";

export type Accepted = { kind: "accepted"; status: number; location: string | null; body: string };

/** How a refusal by a business rule is written as an answer: it is stored, so its bytes are made before the claim. */
export type WriteProblem = (problem: Problem) => string;

// Past two hundred rows a batch gets no cheaper per message, and its commit holds up everyone in it.
const MAX_BATCH = 200;
// Some seconds of work for a busy database. Beyond that a client is better told to come again.
const MAX_WAITING = 4_000;

/** Told of every commit, to count it. */
export type Watch = { committed(size: number, seconds: number): void };

type Outcome = "done" | "taken" | "lost" | "unknown";

export type AcceptorParts = { db: Database; clock: Clock; routes: Routes; handover: Handover; bell: Bell; watch: Watch };

export class Acceptor {
  readonly #db: Database;
  readonly #clock: Clock;
  readonly #routes: Routes;
  readonly #handover: Handover;
  readonly #bell: Bell;
  readonly #watch: Watch;
  readonly #once: Once;
  readonly #commits: GroupCommit<Acceptance, Outcome>;

  constructor({ db, clock, routes, handover, bell, watch }: AcceptorParts) {
    this.#db = db;
    this.#clock = clock;
    this.#routes = routes;
    this.#handover = handover;
    this.#bell = bell;
    this.#watch = watch;
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

  accept(request: NewMessage, credential: Credential, claim: KeyClaim | undefined, writeProblem: WriteProblem): Promise<Accepted | Replay> {
    const verdict = findRefusal(request) ?? this.#routes.linkFor(credential) ?? new Problem("no_route");
    if (verdict instanceof Problem) {
      // Without a key there is nothing to remember a refusal by.
      if (claim === undefined) throw verdict;
      return this.#once.run(credential, claim, () => this.#submit(toRefusal(verdict, credential, claim, writeProblem)));
    }
    const acceptance = this.#toAcceptance(request, credential, claim, verdict);
    return this.#once.run(credential, claim, () => this.#submitMessage(acceptance));
  }

  /** A message that finds room in this process is in its hands from the moment it is stored; any other is due for whoever
   *  comes first. */
  async #submitMessage(acceptance: MessageAcceptance): Promise<Accepted | "taken"> {
    const { message, place } = acceptance;
    const isReserved = place.dueAtMs === null && this.#handover.reserve(place.lane, message);
    if (isReserved) place.leaseMs = this.#handover.leaseMs;
    let answer: Accepted | "taken" | undefined;
    try {
      answer = await this.#submit(acceptance);
      return answer;
    } finally {
      if (typeof answer === "object") this.#handover.stored(place.lane, message, isReserved);
      else if (isReserved) this.#handover.release(place.lane);
    }
  }

  async #submit(acceptance: Acceptance): Promise<Accepted | "taken"> {
    let outcome: Outcome;
    try {
      outcome = await this.#commits.submit(acceptance);
    } catch (error) {
      throw error instanceof Overloaded ? unavailable("too many messages wait to be stored", 1, error) : error;
    }
    if (outcome === "taken") return "taken";
    if (outcome === "lost") throw unavailable("the database connection was lost before the message was stored");
    if (outcome === "unknown")
      throw new Problem("internal_server_error", { cause: new Error("whether the message was stored could not be found out") });
    const { answer, event } = acceptance;
    return {
      kind: "accepted",
      status: answer.status,
      location: answer.location,
      body: answer.body ?? (event as { record: string }).record,
    };
  }

  #toAcceptance(request: NewMessage, credential: Credential, claim: KeyClaim | undefined, link: Link): MessageAcceptance {
    const { accountId, environment } = credential;
    const message = toMessage(request, credential, newUuid(this.#clock.now()), link);
    const record = toRecord(message);
    const text = JSON.stringify(record);
    if (Buffer.byteLength(text) > MAX_RECORD_BYTES) throw tooLarge();
    return {
      accountId,
      environment,
      claim,
      message,
      // The first event of a message has its id: where the message is known, so is its event.
      event: { id: message.id, type: `message.${message.status}`, record: text },
      place: placeOf(message, link),
      counted: countedOf(message),
      answer: { status: 202, location: `/v1/messages/${record.id}`, body: null },
    };
  }

  async #commit(items: readonly Acceptance[]): Promise<readonly Outcome[]> {
    const startedAt = performance.now();
    try {
      const { done, isTold } = await storeAcceptances(this.#db, items);
      this.#watch.committed(items.length, (performance.now() - startedAt) / 1_000);
      if (isTold) this.#bell.ring();
      return items.map((_, index) => (done.has(index) ? "done" : "taken"));
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

type MessageAcceptance = Acceptance & { message: Message; place: Place };

/** The message that a request makes. */
export function toMessage(request: NewMessage, { accountId, environment }: Owner, id: Uuid, link: Link): Message {
  const nowMs = uuidTimeMs(id);
  const { body } = request;
  const sendAtMs = typeof request.send_at === "string" ? Date.parse(request.send_at) : null;
  const isScheduled = sendAtMs !== null && sendAtMs > nowMs;
  return {
    accountId,
    environment,
    id,
    direction: "outbound",
    channel: request.channel,
    recipient: request.recipient,
    sender: request.sender ?? link.sender,
    body: body ?? null,
    status: isScheduled ? "scheduled" : "queued",
    sequence: 1,
    error: null,
    segments: request.channel === "sms" && typeof body === "string" ? segmentsOf(body) : null,
    priority: request.priority ?? "normal",
    clientReference: request.client_reference ?? null,
    metadata: request.metadata ?? {},
    maxSegments: request.max_segments ?? null,
    sendAtMs,
    expiresAtMs: (isScheduled ? sendAtMs : nowMs) + (request.ttl_seconds ?? DEFAULT_TTL_SECONDS) * 1_000,
    provider: null,
    attempts: 0,
    updatedAtMs: nowMs,
    sentAtMs: null,
    deliveredAtMs: null,
    readAtMs: null,
    failedAtMs: null,
    canceledAtMs: null,
    isRedacted: false,
  };
}

const placeOf = ({ status, sendAtMs }: Message, link: Link): Place => ({
  ...(status === "scheduled" ? { lane: SCHEDULED_LANE, dueAtMs: sendAtMs } : { lane: link.name, dueAtMs: null }),
  leaseMs: 0,
});

/** Business rules: refusals that a retry with the same key gets again. */
function findRefusal(request: NewMessage): Problem | undefined {
  const missing = unavailableFields(request);
  if (missing.length > 0) return new Problem("feature_not_available", { errors: missing });
  const { channel, body, max_segments: most } = request;
  if (channel === "sms" && typeof body === "string" && typeof most === "number") {
    const { count } = segmentsOf(body);
    if (count > most) return tooManySegments(count, most, "/max_segments");
  }
  return undefined;
}

const toRefusal = (
  problem: Problem,
  { accountId, environment }: Credential,
  claim: KeyClaim | undefined,
  write: WriteProblem,
): Acceptance => ({
  accountId,
  environment,
  claim,
  message: null,
  event: null,
  place: null,
  counted: null,
  answer: { status: problem.status, location: null, body: write(problem) },
});
