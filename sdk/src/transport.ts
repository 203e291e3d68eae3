/** Makes calls: each with one idempotency key, and with retries within its limits. */
import { toCredential, type Credential, type CredentialOptions, type TokenResponse, type TokenRequest } from "./credential.ts";
import { Deadline, wait } from "./deadline.ts";
import { GodwitError, StreamConsumedError, unexpectedResponse } from "./errors.ts";
import { readFailure, readJson, send, withinDeadline, type Fetch } from "./exchange.ts";
import type { Hooks } from "./hooks.ts";
import { runtimeName } from "./environment.ts";
import { CALL_OPTIONS, type CallOptions, type InputOf, type OperationId, type ResponseOf, type WriteOptions } from "./operation.ts";
import { checkOptions, type OptionNames } from "./option-names.ts";
import { lowerCased, parseBaseUrl, toRequest, type Input, type Request } from "./request.ts";
import { Call, parseRateLimit, type ApiResponse } from "./response.ts";
import { isRetryable, LIMITS, resolveLimits, retryDelayMs, type Limits } from "./retry.ts";
import { isUploadBody, type UploadBody } from "./upload-body.ts";
import { newUuid } from "./uuid.ts";
import { VERSION } from "./version.ts";

export type TransportOptions = CredentialOptions &
  Hooks & {
    /** The URL of the service, such as `https://godwit.example.com`. Default: the environment variable GODWIT_URL, or `http://127.0.0.1:8080`. */
    baseUrl?: string | URL | undefined;
    /** Replaces the fetch function of the runtime. */
    fetch?: Fetch | undefined;
    /** The time limit of one attempt, from the request to the last byte of the response. Default: 30 seconds. */
    timeoutMs?: number | undefined;
    /** The maximum number of retries after the first attempt. Default: 4. */
    maxRetries?: number | undefined;
    /** The time limit of all attempts of a call together, including the waits between them. Default: 2 minutes. */
    totalTimeoutMs?: number | undefined;
    /** Additional headers for every request. */
    headers?: Readonly<Record<string, string>> | undefined;
  };

const OPTIONS: OptionNames<TransportOptions> = {
  apiKey: true,
  accessToken: true,
  clientCredentials: true,
  baseUrl: true,
  timeoutMs: true,
  maxRetries: true,
  totalTimeoutMs: true,
  headers: true,
  fetch: true,
  onRequest: true,
  onResponse: true,
};

/** Names the package in the logs of the service. A browser sends its own header. */
function ownHeaders(): Record<string, string> {
  const runtime = runtimeName();
  return runtime === undefined ? {} : { "user-agent": `godwit-sdk/${VERSION} ${runtime}` };
}

type AttemptOptions = Limits & { signal?: AbortSignal | undefined; credential?: Credential; idempotencyKey: string | null };

type Attempt = (request: Request, options: AttemptOptions) => Promise<ApiResponse<unknown>>;

export class Transport {
  readonly #baseUrl: string;
  readonly #fetch: Fetch;
  readonly #limits: Limits;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #credential: Credential;
  readonly #hooks: Hooks;

  constructor(options: TransportOptions) {
    checkOptions(options, OPTIONS, "the client");
    this.#baseUrl = parseBaseUrl(options.baseUrl);
    // Browsers refuse a fetch that is called as a method of another object.
    this.#fetch = options.fetch ?? ((url, init) => fetch(url, init));
    this.#limits = resolveLimits(options, LIMITS);
    this.#headers = { ...ownHeaders(), ...lowerCased(options.headers) };
    this.#hooks = { onRequest: options.onRequest, onResponse: options.onResponse };
    this.#credential = toCredential(options, (request) => this.#fetchToken(request));
  }

  call<Id extends OperationId>(id: Id, input: InputOf<Id>, options: WriteOptions = {}): Call<ResponseOf<Id>> {
    return new Call(this.#execute(id, input, options) as Promise<ApiResponse<ResponseOf<Id>>>);
  }

  /** Makes a call whose body is a file, and closes the file at its end. */
  upload<Id extends OperationId>(id: Id, input: Input & { file: UploadBody }, options: WriteOptions): Call<ResponseOf<Id>> {
    const response = this.#execute(id, input, options).finally(() => input.file.end());
    return new Call(response as Promise<ApiResponse<ResponseOf<Id>>>);
  }

  /** Makes a call whose response is a file. */
  download(id: OperationId, input: Input, options: CallOptions = {}): Call<ReadableStream<Uint8Array<ArrayBuffer>>> {
    const attempt = (request: Request, limits: AttemptOptions) => this.#attemptDownload(request, limits);
    return new Call(this.#execute(id, input, options, attempt) as Promise<ApiResponse<ReadableStream<Uint8Array<ArrayBuffer>>>>);
  }

  /** Opens a streaming response and returns it when its headers have arrived. Makes one attempt. The caller owns the deadline. */
  async open(
    id: OperationId,
    input: Input,
    { headers, deadline }: { headers: Record<string, string>; deadline: Deadline },
  ): Promise<Response> {
    const request = toRequest(this.#baseUrl, id, input);
    const response = await this.#sendAuthorized(
      { ...request, headers: { ...this.#headers, ...headers, ...request.headers } },
      this.#credential,
      deadline,
    );
    if (!response.ok) throw await readFailure(response, deadline);
    const { accept = "" } = headers;
    if ((response.headers.get("content-type") ?? "").startsWith(accept)) return response;
    throw unexpectedResponse(response, `the response is not ${accept}: check that baseUrl is the URL of a Godwit service`);
  }

  async #execute(id: OperationId, input: Input, options: WriteOptions, attempt = this.#attemptJson): Promise<ApiResponse<unknown>> {
    checkOptions(options, CALL_OPTIONS, "a call");
    const request = toRequest(this.#baseUrl, id, input);
    const isWrite = request.method === "POST" || request.method === "PATCH";
    const idempotencyKey = isWrite ? (options.idempotencyKey ?? newUuid()) : null;
    const headers = {
      ...this.#headers,
      ...lowerCased(options.headers),
      ...request.headers,
      accept: attempt === this.#attemptJson ? "application/json" : "*/*",
      ...(idempotencyKey === null ? {} : { "idempotency-key": idempotencyKey }),
    };
    const attemptOptions = {
      ...resolveLimits(options, this.#limits),
      signal: options.signal,
      credential: this.#credential,
      idempotencyKey,
    };
    return this.#retry({ ...request, headers }, attemptOptions, attempt);
  }

  /** Fetches a token in one attempt; the calls that wait for it retry. Ignores the signal of a call, because other calls may wait for
   *  the same token. */
  #fetchToken({ headers, body }: TokenRequest): Promise<ApiResponse<TokenResponse>> {
    const request = { method: "POST", url: `${this.#baseUrl}/v1/oauth/token`, headers: { ...this.#headers, ...headers }, body };
    return this.#attemptJson(request, { ...this.#limits, idempotencyKey: null }) as Promise<ApiResponse<TokenResponse>>;
  }

  async #retry(request: Request, options: AttemptOptions, attempt: Attempt): Promise<ApiResponse<unknown>> {
    const endsAt = performance.now() + options.totalTimeoutMs;
    const { idempotencyKey, signal } = options;
    const call = { method: request.method, path: new URL(request.url).pathname, idempotencyKey };
    for (let attempts = 1; ; attempts += 1) {
      const about = { ...call, attempt: attempts };
      this.#hooks.onRequest?.(about);
      const startedAt = performance.now();
      const timeoutMs = Math.min(options.timeoutMs, endsAt - startedAt);
      const outcome = await attempt(request, { ...options, timeoutMs }).catch((error: unknown) => ({ error }));
      const durationMs = performance.now() - startedAt;
      if (!("error" in outcome)) {
        const { status, requestId } = outcome;
        this.#hooks.onResponse?.({ ...about, durationMs, status, requestId, error: null, retryMs: null });
        return { ...outcome, attempts };
      }
      const delayMs = retryDelayMs(attempts, outcome.error);
      const isLast = attempts > options.maxRetries || performance.now() + delayMs >= endsAt;
      const isRepeated = !isLast && signal?.aborted !== true && isRetryable(outcome.error);
      const isConsumed = isRepeated && isUploadBody(request.body) && request.body.isConsumed;
      const error = isConsumed ? new StreamConsumedError(outcome.error) : outcome.error;
      if (error instanceof GodwitError) Object.assign(error, { attempts, idempotencyKey });
      const retryMs = isRepeated && !isConsumed ? delayMs : null;
      const { status, requestId } = error instanceof GodwitError ? error : { status: null, requestId: null };
      this.#hooks.onResponse?.({ ...about, durationMs, status, requestId, error, retryMs });
      if (retryMs === null) throw error;
      await wait(retryMs, signal);
    }
  }

  readonly #attemptJson: Attempt = async (request, options) => {
    const deadline = new Deadline(options.signal);
    try {
      const response = await this.#respond(request, options, deadline);
      return toApiResponse(response, await readJson(response, deadline), options);
    } finally {
      deadline.end();
    }
  };

  async #attemptDownload(request: Request, options: AttemptOptions): Promise<ApiResponse<unknown>> {
    const deadline = new Deadline(options.signal);
    try {
      const response = await this.#respond(request, options, deadline);
      return toApiResponse(response, streamOf(response, deadline, options.timeoutMs), options);
    } catch (error) {
      deadline.end();
      throw error;
    }
  }

  async #respond(request: Request, { credential, timeoutMs }: AttemptOptions, deadline: Deadline): Promise<Response> {
    deadline.set(timeoutMs, `${request.method} ${new URL(request.url).pathname}`);
    const response = await this.#sendAuthorized(request, credential, deadline);
    if (!response.ok) throw await readFailure(response, deadline);
    return response;
  }

  /** Sends the request with a token. After a 401 it fetches another token and repeats the request once: a token can become invalid before
   *  its expiry. */
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

function toApiResponse({ status, headers }: Response, data: unknown, { idempotencyKey }: AttemptOptions): ApiResponse<unknown> {
  const isReplayed = headers.get("idempotent-replayed") === "true";
  const requestId = headers.get("x-request-id");
  return { data, status, requestId, isReplayed, idempotencyKey, rateLimit: parseRateLimit(headers), attempts: 1, headers };
}

/** The body of a response. The time limit is that of each wait for bytes, and not of the caller's work with them. */
function streamOf({ body }: Response, deadline: Deadline, timeoutMs: number): ReadableStream<Uint8Array<ArrayBuffer>> {
  deadline.pause();
  const reader = body?.getReader();
  return new ReadableStream<Uint8Array<ArrayBuffer>>(
    {
      async pull(controller) {
        deadline.set(timeoutMs, "the next part of the file");
        try {
          const part = await withinDeadline(async () => reader?.read(), deadline);
          deadline.pause();
          if (part?.value !== undefined) return controller.enqueue(part.value);
          deadline.end();
          controller.close();
        } catch (error) {
          deadline.end();
          throw error;
        }
      },
      async cancel(reason) {
        deadline.end();
        await reader?.cancel(reason).catch(() => undefined);
      },
    },
    { highWaterMark: 0 },
  );
}
