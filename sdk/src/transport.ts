/** One call: as many requests as it takes, under one idempotency key, within its limits. */
import { Call, parseRateLimit, type Answer } from "./answer.ts";
import { toCredential, type Credential, type CredentialOptions, type TokenAnswer, type TokenRequest } from "./credential.ts";
import { Deadline, wait } from "./deadline.ts";
import { GodwitError, unexpectedAnswer } from "./errors.ts";
import { readFailure, readJson, send, type Fetch } from "./exchange.ts";
import type { AnswerOf, InputOf, OperationId, WriteOptions } from "./operation.ts";
import { lowerCased, parseBaseUrl, toRequest, type Input, type Request } from "./request.ts";
import { isRetryable, LIMITS, resolveLimits, retryDelayMs, type Limits } from "./retry.ts";
import { newUuid } from "./uuid.ts";

export type TransportOptions = CredentialOptions & {
  /** Where the service is, such as `https://godwit.example.com`. */
  baseUrl: string | URL;
  /** In place of the runtime's own. */
  fetch?: Fetch | undefined;
  /** For one attempt, from the request to the last byte of the answer. 30 seconds. */
  timeoutMs?: number | undefined;
  /** How often to try again after the first attempt. 4. */
  maxRetries?: number | undefined;
  /** For all attempts of a call together, with the waits between them. 2 minutes. */
  totalTimeoutMs?: number | undefined;
  /** Further headers of every request. */
  headers?: Readonly<Record<string, string>> | undefined;
};

type AttemptOptions = Limits & { signal?: AbortSignal | undefined; credential?: Credential; idempotencyKey: string | null };

export class Transport {
  readonly #baseUrl: string;
  readonly #fetch: Fetch;
  readonly #limits: Limits;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #credential: Credential;

  constructor(options: TransportOptions) {
    this.#baseUrl = parseBaseUrl(options.baseUrl);
    // Browsers refuse a fetch that is called as somebody's method.
    this.#fetch = options.fetch ?? ((url, init) => fetch(url, init));
    this.#limits = resolveLimits(options, LIMITS);
    this.#headers = lowerCased(options.headers);
    this.#credential = toCredential(options, (request) => this.#fetchToken(request));
  }

  call<Id extends OperationId>(id: Id, input: InputOf<Id>, options: WriteOptions = {}): Call<AnswerOf<Id>> {
    return new Call(this.#execute(id, input, options) as Promise<Answer<AnswerOf<Id>>>);
  }

  /** An answer that goes on, once its head is there. One attempt, and the deadline stays with the caller. */
  async open(
    id: OperationId,
    input: Input,
    { headers, deadline }: { headers: Record<string, string>; deadline: Deadline },
  ): Promise<Response> {
    const request = toRequest(this.#baseUrl, id, input);
    const response = await this.#sendAuthorized({ ...request, headers: { ...this.#headers, ...headers } }, this.#credential, deadline);
    if (!response.ok) throw await readFailure(response, deadline);
    const { accept = "" } = headers;
    if ((response.headers.get("content-type") ?? "").startsWith(accept)) return response;
    throw unexpectedAnswer(response, `the answer is not ${accept}: is baseUrl the URL of a godwit?`);
  }

  async #execute(id: OperationId, input: Input, options: WriteOptions): Promise<Answer<unknown>> {
    const request = toRequest(this.#baseUrl, id, input);
    const isWrite = request.method === "POST" || request.method === "PATCH";
    const idempotencyKey = isWrite ? (options.idempotencyKey ?? newUuid()) : null;
    const headers = {
      ...this.#headers,
      ...lowerCased(options.headers),
      ...request.headers,
      accept: "application/json",
      ...(idempotencyKey === null ? {} : { "idempotency-key": idempotencyKey }),
    };
    const attemptOptions = {
      ...resolveLimits(options, this.#limits),
      signal: options.signal,
      credential: this.#credential,
      idempotencyKey,
    };
    return this.#retry({ ...request, headers }, attemptOptions);
  }

  /** One attempt: whoever waits for the token tries again. It heeds nobody's signal, since others may wait for it, too. */
  #fetchToken({ headers, body }: TokenRequest): Promise<Answer<TokenAnswer>> {
    const request = { method: "POST", url: `${this.#baseUrl}/v1/oauth/token`, headers: { ...this.#headers, ...headers }, body };
    return this.#attempt(request, { ...this.#limits, idempotencyKey: null }) as Promise<Answer<TokenAnswer>>;
  }

  async #retry(request: Request, options: AttemptOptions): Promise<Answer<unknown>> {
    const endsAt = performance.now() + options.totalTimeoutMs;
    for (let attempts = 1; ; attempts += 1) {
      try {
        const timeoutMs = Math.min(options.timeoutMs, endsAt - performance.now());
        return { ...(await this.#attempt(request, { ...options, timeoutMs })), attempts };
      } catch (error) {
        if (error instanceof GodwitError) Object.assign(error, { attempts, idempotencyKey: options.idempotencyKey });
        const delayMs = retryDelayMs(attempts, error);
        const isLast = attempts > options.maxRetries || performance.now() + delayMs >= endsAt;
        if (isLast || options.signal?.aborted === true || !isRetryable(error)) throw error;
        await wait(delayMs, options.signal);
      }
    }
  }

  async #attempt(request: Request, { credential, idempotencyKey, signal, timeoutMs }: AttemptOptions): Promise<Answer<unknown>> {
    const deadline = new Deadline(signal);
    deadline.set(timeoutMs, `${request.method} ${new URL(request.url).pathname}`);
    try {
      const response = await this.#sendAuthorized(request, credential, deadline);
      if (!response.ok) throw await readFailure(response, deadline);
      const data = await readJson(response, deadline);
      const { status, headers } = response;
      const isReplayed = headers.get("idempotent-replayed") === "true";
      const requestId = headers.get("x-request-id");
      return { data, status, requestId, isReplayed, idempotencyKey, rateLimit: parseRateLimit(headers), attempts: 1, headers };
    } finally {
      deadline.end();
    }
  }

  /** A token may have ended before its time: then once more, with another. */
  async #sendAuthorized(request: Request, credential: Credential | undefined, deadline: Deadline): Promise<Response> {
    if (credential === undefined) return send(this.#fetch, request, deadline);
    const sendWith = (token: string): Promise<Response> =>
      send(this.#fetch, { ...request, headers: { ...request.headers, authorization: `Bearer ${token}` } }, deadline);
    const token = await deadline.limit(credential());
    const response = await sendWith(token);
    if (response.status !== 401) return response;
    const another = await deadline.limit(credential(token));
    if (another === token) return response;
    await response.body?.cancel();
    return sendWith(another);
  }
}
