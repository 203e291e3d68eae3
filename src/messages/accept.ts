/** Accepting messages: decided in memory, made durable by group commit, answered after the commit. */
import type { Credential } from "../access/authenticate.ts";
import { Problem, unavailable } from "../http/problem.ts";
import type { KeyClaim } from "../idempotency/key.ts";
import { Once, type Replay } from "../idempotency/once.ts";
import { newUuid, uuidTimeMs } from "../lib/uuid.ts";
import { poll } from "../lib/wait.ts";
import type { Clock } from "../storage/database-clock.ts";
import { ConnectionLost, isRowRefused, type Database } from "../storage/database.ts";
import { GroupCommit, Overloaded } from "../storage/group-commit.ts";
import { DEFAULT_TTL_SECONDS, MAX_RECORD_BYTES, toRecord, type Message } from "./message.ts";
import { unavailableFields, type NewMessage } from "./new-message.ts";
import { acceptStatement, existingMessages, type Acceptance } from "./queries.ts";
import { segmentsOf } from "./segments.ts";

export type Accepted = { kind: "accepted"; status: number; location: string | null; body: string };

/** How a refusal by a business rule is written as an answer: it is stored, so its bytes are made before the claim. */
export type WriteProblem = (problem: Problem) => string;

// Past two hundred rows a batch gets no cheaper per message, and its commit holds up everyone in it.
const MAX_BATCH = 200;
// Some seconds of work for a busy database. Beyond that a client is better told to come again.
const MAX_WAITING = 4_000;
// As long as a database needs to come back after a crash; clients wait that long for their answer.
const FIND_OUT_MS = 8_000;

/** Told of every commit, to count it. */
export type Watch = { committed(size: number, seconds: number): void };

type Outcome = "done" | "taken" | "lost" | "unknown";

export class Acceptor {
  readonly #db: Database;
  readonly #clock: Clock;
  readonly #watch: Watch;
  readonly #once: Once;
  readonly #commits: GroupCommit<Acceptance, Outcome>;

  constructor(db: Database, clock: Clock, watch: Watch) {
    this.#db = db;
    this.#watch = watch;
    this.#clock = clock;
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
    const refusal = findRefusal(request);
    const acceptance =
      refusal === undefined ? this.#toAcceptance(request, credential, claim) : toRefusal(refusal, credential, claim, writeProblem);
    // Without a key there is nothing to remember a refusal by.
    if (refusal !== undefined && claim === undefined) throw refusal;
    return this.#once.run(credential, claim, () => this.#submit(acceptance));
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

  #toAcceptance(request: NewMessage, { accountId, environment }: Credential, claim: KeyClaim | undefined): Acceptance {
    const id = newUuid(this.#clock.now());
    const nowMs = uuidTimeMs(id);
    const message: Message = {
      id,
      environment,
      direction: "outbound",
      channel: request.channel,
      recipient: request.recipient,
      sender: request.sender ?? null,
      body: request.body ?? null,
      status: "queued",
      sequence: 1,
      error: null,
      segments: request.channel === "sms" && typeof request.body === "string" ? segmentsOf(request.body) : null,
      priority: request.priority ?? "normal",
      clientReference: request.client_reference ?? null,
      metadata: request.metadata ?? {},
      expiresAtMs: nowMs + (request.ttl_seconds ?? DEFAULT_TTL_SECONDS) * 1_000,
      updatedAtMs: nowMs,
    };
    const record = toRecord(message);
    const text = JSON.stringify(record);
    if (Buffer.byteLength(text) > MAX_RECORD_BYTES) throw tooLarge();
    return {
      accountId,
      environment,
      claim,
      message,
      event: { id: newUuid(nowMs), type: "message.queued", record: text },
      answer: { status: 202, location: `/v1/messages/${record.id}`, body: null },
    };
  }

  async #commit(items: readonly Acceptance[]): Promise<readonly Outcome[]> {
    const startedAt = performance.now();
    try {
      const rows = await this.#db.rows<{ ordinal: number }>(acceptStatement(items));
      this.#watch.committed(items.length, (performance.now() - startedAt) / 1_000);
      const done = new Set(rows.map(({ ordinal }) => ordinal - 1));
      return items.map((_, index) => (done.has(index) ? "done" : "taken"));
    } catch (error) {
      if (error instanceof ConnectionLost) return this.#findOut(items, error);
      throw error;
    }
  }

  /** The connection died in mid-commit. The old session is ended first, so that what is not there now never will be. */
  async #findOut(items: readonly Acceptance[], { session }: ConnectionLost): Promise<readonly Outcome[]> {
    const ask = async (): Promise<readonly Outcome[] | undefined> => {
      try {
        await this.#db.endSession(session);
        return await this.#lookAgain(items);
      } catch {
        return undefined;
      }
    };
    return (await poll(ask, { timeoutMs: FIND_OUT_MS, everyMs: 200 })) ?? items.map(() => "unknown");
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

const tooLarge = (): Problem =>
  new Problem("invalid_request_payload", {
    errors: [
      {
        pointer: "",
        code: "too_large",
        detail: `the message as a whole must not exceed ${MAX_RECORD_BYTES} bytes; shorten metadata or body`,
      },
    ],
  });

/** Business rules: refusals that a retry with the same key gets again. */
function findRefusal(request: NewMessage): Problem | undefined {
  const missing = unavailableFields(request);
  if (missing.length > 0) return new Problem("feature_not_available", { errors: missing });
  const { channel, body, max_segments: most } = request;
  if (channel === "sms" && typeof body === "string" && typeof most === "number") {
    const { count } = segmentsOf(body);
    if (count > most) {
      const detail = `the text needs ${count} parts, max_segments allows ${most}`;
      return new Problem("max_segments_exceeded", { errors: [{ pointer: "/max_segments", code: "max_segments_exceeded", detail }] });
    }
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
  answer: { status: problem.status, location: null, body: write(problem) },
});
