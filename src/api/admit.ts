/** Whether a request may run, in the same order for every route: credential → quota → address → scope → media type and size, all before its
 *  body is read, and last the turn of its account. */
import { setTimeout as sleep } from "node:timers/promises";
import { requireAddress, requireScope, type Authenticator, type Credential } from "../access/authenticate.ts";
import { overQuota, quotaHeaders, type Limiter, type QuotaDecision } from "../access/limiter.ts";
import { Problem } from "../http/problem.ts";
import { FairLimit, type Room } from "../lib/fair-limit.ts";
import { idKey } from "../model/id.ts";
import type { Exchange } from "./exchange.ts";
import { declaredBytes } from "./intake.ts";
import type { Metrics } from "./metrics.ts";
import { BODY_LIMIT_BYTES, tooLarge, unsupportedMediaType } from "./responses.ts";
import type { Route } from "./route.ts";

/** A request that may run, with its credential. */
export type Admitted = { exchange: Exchange; credential: Credential };

export type Access = { authenticator: Authenticator; limiter: Limiter; metrics: Metrics };

/** Checks credential, quota, scope and media type before the body is read. Calls `wait` before it waits for the database, which is rare: the
 *  credential is cached, and this node has quota. */
export async function admit(
  route: Route,
  exchange: Exchange,
  { authenticator, limiter, metrics }: Access,
  wait: () => void,
): Promise<Credential> {
  const found =
    route.compatible === undefined
      ? authenticator.authenticate(exchange.request.headers.authorization)
      : route.compatible.authenticate(exchange.head);
  if (found instanceof Promise) waitFor(found, wait);
  const credential = await found;
  exchange.credential = credential;
  const taken = limiter.take(credential);
  if (taken instanceof Promise) waitFor(taken, wait);
  const decision = await taken;
  if (decision !== undefined) checkQuota(exchange, metrics, credential, decision);
  requireAddress(credential, exchange.ip);
  if (route.scope !== null) requireScope(credential, route.scope);
  if (exchange.isUpload) checkUpload(exchange, route.upload);
  else if (route.compatible !== undefined) checkPlain(exchange, route.maxBodyBytes);
  else if (route.body !== undefined) checkMediaType(exchange, route.maxBodyBytes);
  return credential;
}

/** The environment of the credential of a request when it was last looked up. */
export const lastEnvironmentOf = ({ compatible }: Route, exchange: Exchange, authenticator: Authenticator): string | undefined =>
  compatible === undefined
    ? authenticator.lastEnvironmentOf(exchange.request.headers.authorization)
    : compatible.lastEnvironmentOf(exchange.head);

function waitFor(pending: Promise<unknown>, wait: () => void): void {
  // Handled here as well, for a request that `wait` refuses.
  pending.catch(() => undefined);
  wait();
}

/** Whether the credential is still valid: false after its key was revoked, true while the database is unavailable. */
export const isAdmitted = async (authenticator: Authenticator, { request }: Exchange): Promise<boolean> => {
  try {
    await authenticator.authenticate(request.headers.authorization);
    return true;
  } catch (error) {
    return !(error instanceof Problem && error.status === 401);
  }
};

/** Charges the cost of a request beyond the first unit, once the body shows it. */
export async function chargeMore(
  route: Route,
  value: unknown,
  { exchange, credential }: Admitted,
  { limiter, metrics }: Access,
): Promise<void> {
  // A request that costs more than the burst is charged the whole burst; otherwise it could never be admitted.
  const more = Math.min(route.cost?.(value, exchange.head) ?? 1, credential.tier.limit?.burst ?? Infinity) - 1;
  const decision = more > 0 ? await limiter.take(credential, more) : undefined;
  if (decision !== undefined) checkQuota(exchange, metrics, credential, decision);
}

function checkQuota(exchange: Exchange, metrics: Metrics, credential: Credential, decision: QuotaDecision): void {
  exchange.headers(quotaHeaders(credential, decision));
  if (decision.isAdmitted) return;
  metrics.refusedByQuota();
  throw overQuota(credential, decision);
}

// An allow-list: the lenient parsing of media types has been a source of bypasses.
const JSON_MEDIA_TYPE = /^application\/json(?:[ \t]*;[ \t]*charset="?utf-8"?)?$/i;

export const isJson = ({ request: { headers } }: Exchange): boolean => JSON_MEDIA_TYPE.test(headers["content-type"] ?? "");

const isPlain = ({ request: { headers } }: Exchange): boolean =>
  headers["content-encoding"] === undefined || headers["content-encoding"] === "identity";

function checkUpload(exchange: Exchange, { maxBytes }: { maxBytes: number } = { maxBytes: 0 }): void {
  if (!isPlain(exchange)) throw new Problem("unsupported_media_type", { detail: "an upload may have no content encoding" });
  if (/^multipart\//i.test(exchange.request.headers["content-type"] ?? ""))
    throw new Problem("unsupported_media_type", { detail: "send the file itself as the body, not as a part of a form" });
  if ((declaredBytes(exchange.request) ?? 0) > maxBytes) throw tooLarge(maxBytes);
}

/** A compatible API reads the type of the body itself. */
function checkPlain(exchange: Exchange, maxBodyBytes = BODY_LIMIT_BYTES): void {
  if (!isPlain(exchange)) throw new Problem("unsupported_media_type", { detail: "the body may have no content encoding" });
  if ((declaredBytes(exchange.request) ?? 0) > maxBodyBytes) throw tooLarge(maxBodyBytes);
}

function checkMediaType(exchange: Exchange, maxBodyBytes = BODY_LIMIT_BYTES): void {
  const { headers } = exchange.request;
  if (!isPlain(exchange) || !isJson(exchange)) throw unsupportedMediaType(!isPlain(exchange));
  const length = Number(headers["content-length"] ?? 0);
  if (length > maxBodyBytes) throw tooLarge(maxBodyBytes);
}

// Messages of several requests share a commit, so an account may use most of it while the others are idle. Beside others its requests must
// not fill a turn of the event loop: eight take a millisecond or two.
const SENDS = { total: Infinity, alone: 3_000, shared: 8, maxWaiting: 2_000 };
// A second of work or less. Bulk messages beyond it can be sent later, and must not delay those that cannot.
const BULK_WAITING = 250;
// Lists, batches and imports take the processor and the database for a long time each.
const HEAVY = { alone: 2, shared: 1, maxWaiting: 200 };
// Each other request uses a connection of the database for a moment.
const LIGHT = { alone: 4, shared: 3, maxWaiting: 500 };
const RETRY_SECONDS = 1;
// A client that repeats at once gets its response after this time: refusals would take the processor from accepted requests otherwise. Beyond
// this number of them, responses are not delayed, since each keeps its request in memory.
const REFUSAL_MS = 1_000;
const MAX_DELAYED = 2_000;

type Weighed = Pick<Route, "weight" | "urgency">;
type TurnCall = { credential: Pick<Credential, "accountId">; body: unknown };

/** The turns of accounts: how much work of one account runs at a time, so that no account keeps the processor and the database from the
 *  others. */
export class AccountTurns {
  readonly #sends: FairLimit;
  readonly #urgentSends = new FairLimit(SENDS);
  readonly #heavy: FairLimit;
  readonly #light: FairLimit;
  readonly #rejected: () => void;
  #delayed = 0;

  /** `heavy` and `light`: how many requests of each kind run at a time. `room`: how many sends of an account may run. */
  constructor(rejected: () => void, { heavy, light }: { heavy: number; light: number }, room?: Room) {
    this.#sends = new FairLimit(SENDS, () => performance.now(), room);
    this.#heavy = new FairLimit({ ...HEAVY, total: heavy });
    this.#light = new FairLimit({ ...LIGHT, total: light });
    this.#rejected = rejected;
  }

  /** Runs the handler of a route when it is the account's turn. */
  run<T>({ weight, urgency }: Weighed, { body, credential: { accountId } }: TurnCall, work: () => Promise<T>): Promise<T> {
    const account = idKey(accountId);
    const urgent = urgency?.(body) ?? "usual";
    const sends = urgent === "urgent" ? this.#urgentSends : this.#sends;
    const mine = weight === "send" ? sends : weight === "heavy" ? this.#heavy : this.#light;
    this.#sends.note(account);
    this.#urgentSends.note(account);
    this.#heavy.note(account);
    this.#light.note(account);
    if (!mine.isFull(account, urgent === "bulk" ? BULK_WAITING : undefined)) return mine.run(account, work);
    this.#rejected();
    return this.#refuse();
  }

  async #refuse(): Promise<never> {
    this.#delayed += 1;
    if (this.#delayed <= MAX_DELAYED) await sleep(REFUSAL_MS);
    this.#delayed -= 1;
    throw new Problem("rate_limit_exceeded", {
      detail: "too many requests of this account are waiting: send fewer at the same time",
      headers: { "retry-after": String(RETRY_SECONDS) },
    });
  }

  /** Runs a read of the past for an event stream, which is never refused. */
  readonly read = <T>({ accountId }: Pick<Credential, "accountId">, work: () => Promise<T>): Promise<T> =>
    this.#heavy.run(idKey(accountId), work);
}
