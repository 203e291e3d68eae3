/** Bodies that a handler reads as a stream. A few are read at a time, in turns that are fair between accounts. The bytes of the others stay with their
 *  clients, except those that arrived with the head of the request. */
import type { Credential } from "../access/authenticate.ts";
import { Problem, unavailable } from "../http/problem.ts";
import { FairLimit } from "../lib/fair-limit.ts";
import { SharedBudget } from "../lib/shared-budget.ts";
import { SharedTimer } from "../lib/shared-timer.ts";
import { idKey } from "../model/id.ts";
import { isJson } from "./admit.ts";
import type { Exchange } from "./exchange.ts";
import { declaredBytes } from "./intake.ts";
import type { UploadedBody } from "./route.ts";
import { closeUnread } from "./sockets.ts";

// Each holds about a megabyte: a piece that arrives, a chunk, and its copies on the way to the database.
const TURNS = { total: 12, alone: 8, shared: 4, maxWaiting: Infinity };
// Each holds the bytes that Node reads together with the head of a request, up to 65,536.
const WAITING = { total: 128, share: 96 };
const MAX_WAIT_MS = 60_000;
const RETRY_SECONDS = 5;
// A sender below this rate, on average after the first seconds, keeps a turn from others. The slowest connections of phones are faster.
const LEAST_BYTES_PER_SECOND = 16_384;
const FIRST_MS = 5_000;
/** The time of the largest upload at this rate. */
export const MAX_UPLOAD_MS = 7_200_000;
const CHECK_RATE_MS = 1_000;

const ARRIVING = new SharedTimer(CHECK_RATE_MS);

const tooMany = (): Problem => unavailable("too many uploads are waiting: send fewer at the same time", RETRY_SECONDS);

export class Uploads {
  readonly #turns = new FairLimit(TURNS);
  readonly #waiting = new SharedBudget(WAITING);
  readonly #rejected: () => void;
  readonly #stopping: AbortSignal;

  constructor(rejected: () => void, stopping: AbortSignal) {
    this.#rejected = rejected;
    this.#stopping = stopping;
  }

  /** Stops reading a request of a route with uploads if it is one, before more of its body arrives. */
  recognize(exchange: Exchange): void {
    const { request } = exchange;
    if (isJson(exchange)) return;
    exchange.isUpload = true;
    if (declaredBytes(request) !== 0) request.socket.pause();
  }

  /** Runs the work when it is the account's turn. `ask`: the client sends the body after `100 Continue`. */
  async run<T>(
    exchange: Exchange,
    { credential: { accountId } }: { credential: Pick<Credential, "accountId"> },
    ask: boolean,
    work: (upload: UploadedBody) => Promise<T>,
  ): Promise<T> {
    const { request, response } = exchange;
    const account = idKey(accountId);
    try {
      return await this.#inTurn(account, async () => {
        if (ask) response.writeContinue();
        const pieces = piecesOf(exchange, this.#stopping);
        return work({ contentType: request.headers["content-type"], length: declaredBytes(request), pieces });
      });
    } finally {
      if (!request.complete) closeUnread(exchange);
    }
  }

  async #inTurn<T>(account: string, work: () => Promise<T>): Promise<T> {
    if (this.#waiting.take(account, 1) !== undefined) {
      this.#rejected();
      throw tooMany();
    }
    const { promise: late, reject } = Promise.withResolvers<never>();
    let isOver = false;
    const leave = (): void => {
      isOver = true;
      clearTimeout(timer);
      this.#waiting.release(account, 1);
    };
    const timer = setTimeout(() => {
      leave();
      this.#rejected();
      reject(tooMany());
    }, MAX_WAIT_MS);
    this.#turns.note(account);
    const turn = this.#turns.run(account, async () => {
      if (isOver) throw tooMany();
      leave();
      return work();
    });
    return Promise.race([turn, late]);
  }
}

/** Reads the body as fast as the caller takes its pieces. Only the time in which the client is waited for counts for its rate. */
async function* piecesOf(exchange: Exchange, stopping: AbortSignal): AsyncGenerator<Buffer> {
  const { promise: ended, reject } = Promise.withResolvers<never>();
  ended.catch(() => undefined);
  let waitedMs = 0;
  let waitingSince: number | undefined;
  const checkRate = (): void => {
    const tookMs = waitedMs + (waitingSince === undefined ? 0 : performance.now() - waitingSince);
    if (tookMs >= FIRST_MS && exchange.uploadedBytes < (tookMs / 1_000) * LEAST_BYTES_PER_SECOND) reject(new Problem("request_timeout"));
  };
  const stop = (): void => reject(unavailable("the service is stopping"));
  ARRIVING.add(checkRate);
  stopping.addEventListener("abort", stop);
  if (stopping.aborted) stop();
  // A request that is destroyed gets no response.
  const pieces = exchange.request.iterator({ destroyOnReturn: false }) as AsyncIterator<Buffer>;
  try {
    for (;;) {
      waitingSince = performance.now();
      const next = await Promise.race([pieces.next(), ended]);
      waitedMs += performance.now() - waitingSince;
      waitingSince = undefined;
      if (next.done === true) return;
      exchange.uploadedBytes += next.value.length;
      yield next.value;
    }
  } catch (error) {
    // The client has disconnected.
    throw error instanceof Problem ? error : Object.assign(error as Error, { statusCode: 400 });
  } finally {
    ARRIVING.delete(checkRate);
    stopping.removeEventListener("abort", stop);
  }
}
