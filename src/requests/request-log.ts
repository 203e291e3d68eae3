/** The log of API requests: keeps what the developers of an account need to find a fault of their program. It is written beside the requests, in
 *  batches, and a request never waits for it. A busy environment has a sample of its requests in the log; docs/http.md states the bounds. */
import type { Registry } from "prom-client";
import type { Credential } from "../access/authenticate.ts";
import type { Database } from "../database/database.ts";
import { RepeatingJob } from "../lib/background-job.ts";
import { BoundedMap } from "../lib/bounded-map.ts";
import { metricsIn } from "../lib/metrics.ts";
import { TokenBucket } from "../lib/token-bucket.ts";
import type { AnsweredRequest } from "../model/answered-request.ts";
import { decodeId } from "../model/id.ts";
import type { LoggedRequest } from "./logged-request.ts";
import { maskBody, maskPath, maskProblem, maskQuery, maskUserAgent } from "./mask.ts";
import { deleteOldRequests, insertRequests } from "./queries.ts";

const DAY_MS = 86_400_000;
/** docs/http.md states these numbers. */
const KEPT_DAYS = 7;
const KEPT_ROWS = 50_000;

// Of each environment and process, once for refused requests and once for the others. A developer makes fewer. At the full rate of a process a row
// costs a hundredth of its request this way.
const RATE = { perSecond: 5, burst: 200 };
const MAX_ENVIRONMENTS = 10_000;
// One statement writes them. More rows than this wait only while the database is slow.
const MAX_WAITING = 2_000;
const AFTER_ERROR_MS = 1_000;

const MAX_PATH = 1_000;
const MAX_INTEGER = 2_147_483_647;

export type RequestLogParts = { db: Database; registry: Registry; storeEveryMs: number; onError: (error: unknown) => void };

type Rates = { refused: TokenBucket; others: TokenBucket };

export class RequestLog {
  readonly #db: Database;
  readonly #rates = new BoundedMap<string, Rates>(MAX_ENVIRONMENTS);
  readonly #omit: (reason: "rate" | "waiting" | "database", count: number) => void;
  readonly #job: RepeatingJob;
  #waiting: LoggedRequest[] = [];

  constructor({ db, registry, storeEveryMs, onError }: RequestLogParts) {
    this.#db = db;
    const omitted = metricsIn(registry).counter(
      "godwit_request_log_omitted_total",
      "Requests that are not in the request log: beyond its rate for an environment, because too many waited, or because the database failed.",
      { reason: ["rate", "waiting", "database"] },
    );
    this.#omit = (reason, count) => omitted.inc({ reason }, count);
    const turn = async (): Promise<number> => {
      await this.#store();
      return storeEveryMs;
    };
    this.#job = new RepeatingJob({ turns: [turn], onError, afterErrorMs: AFTER_ERROR_MS });
  }

  start(): void {
    this.#job.start();
  }

  /** Stores the last requests. */
  async stop(): Promise<void> {
    await this.#job.stop();
    await this.#store().catch(() => undefined);
  }

  /** Notes a request with its response. `describe` is called if the request is logged. */
  readonly note = (credential: Credential, status: number, describe: () => AnsweredRequest): void => {
    if (!this.#ratesOf(credential)[status >= 400 ? "refused" : "others"].take()) return this.#omit("rate", 1);
    if (this.#waiting.length >= MAX_WAITING) return this.#omit("waiting", 1);
    this.#waiting.push(toRow(credential, describe()));
  };

  #ratesOf({ environmentKey }: Credential): Rates {
    let rates = this.#rates.get(environmentKey);
    if (rates === undefined) {
      rates = { refused: new TokenBucket(RATE), others: new TokenBucket(RATE) };
      this.#rates.set(environmentKey, rates);
    }
    return rates;
  }

  async #store(): Promise<void> {
    const rows = this.#waiting;
    if (rows.length === 0) return;
    this.#waiting = [];
    try {
      await insertRequests(this.#db, rows);
    } catch (error) {
      this.#omit("database", rows.length);
      throw error;
    }
  }
}

function toRow({ accountId, environment, keyId, keyName, tokenExpiresAtMs }: Credential, answered: AnsweredRequest): LoggedRequest {
  const { refused, messageId, userAgent } = answered;
  const problem = refused && maskProblem(refused.problem);
  return {
    account_id: accountId,
    environment,
    id: answered.id,
    key_id: keyId,
    credential: tokenExpiresAtMs === null ? "key" : "token",
    key_name: keyName,
    operation: answered.operation,
    method: answered.method,
    path: storable(`${maskPath(answered.route, answered.params)}${maskQuery(answered.query)}`.slice(0, MAX_PATH)),
    status: answered.status,
    code: problem?.code ?? null,
    is_replay: answered.isReplay,
    duration_us: Math.min(MAX_INTEGER, Math.round(answered.tookMs * 1_000)),
    request_bytes: answered.requestBytes,
    response_bytes: answered.responseBytes,
    peer: answered.peer,
    user_agent: userAgent === undefined ? null : maskUserAgent(userAgent),
    message_id: messageId === undefined ? null : (decodeId("msg", messageId) ?? null),
    problem: problem === undefined ? null : { detail: storable(problem.detail), errors: problem.errors.map(storableFault) },
    body: refused?.body === undefined ? null : storable(maskBody(refused.body) ?? "") || null,
  };
}

/** PostgreSQL stores neither a NUL nor half of a character, and would refuse the rows of all accounts for one of them. */
const storable = (text: string): string => text.toWellFormed().replaceAll("\0", "");
const storableFault = (fault: Record<string, string>): Record<string, string> =>
  Object.fromEntries(Object.entries(fault).map(([name, value]) => [name, storable(value)]));

/** Deletes a batch of rows that are too old or too many, and returns how many. */
export const deleteLoggedRequests = (db: Database, nowMs: number, most: number): Promise<number> =>
  deleteOldRequests(db, { beforeMs: nowMs - KEPT_DAYS * DAY_MS, kept: KEPT_ROWS, most });
