/** A successful response: its data, and what its headers contain. */

/** The remaining quota of the credential's environment, from the RateLimit headers. */
export type RateLimit = { name: string; remaining: number; resetSeconds: number; quota: number | null; windowSeconds: number | null };

/** A successful response with its metadata. `withResponse()` of a call returns it. */
export type ApiResponse<T> = {
  data: T;
  status: number;
  /** The id of the request. Include it in bug reports. */
  requestId: string | null;
  /** True if this is the stored response of an earlier request with the same idempotency key. The repeated request had no effect. */
  isReplayed: boolean;
  /** The idempotency key that was sent. Null for reads and deletions. */
  idempotencyKey: string | null;
  /** The remaining quota. Null if the environment has no limit. */
  rateLimit: RateLimit | null;
  /** The number of requests that were made, including retries. */
  attempts: number;
  headers: Headers;
};

/** Parses an item of IETF draft-ietf-httpapi-ratelimit-headers: `"name";a=1;b=2`. */
function parseItem(text: string | null): { name: string; parameters: ReadonlyMap<string, number> } | undefined {
  const [, name, rest] = /^"([^"]*)"((?:;[a-z]+=\d+)*)/.exec(text ?? "") ?? [];
  if (name === undefined || rest === undefined) return undefined;
  const pairs = Array.from(rest.matchAll(/;([a-z]+)=(\d+)/g), ([, key = "", value]) => [key, Number(value)] as const);
  return { name, parameters: new Map(pairs) };
}

export function parseRateLimit(headers: Headers): RateLimit | null {
  const [left, policy] = [parseItem(headers.get("ratelimit")), parseItem(headers.get("ratelimit-policy"))];
  if (left === undefined) return null;
  return {
    name: left.name,
    remaining: left.parameters.get("r") ?? 0,
    resetSeconds: left.parameters.get("t") ?? 0,
    quota: policy?.parameters.get("q") ?? null,
    windowSeconds: policy?.parameters.get("w") ?? null,
  };
}

/** A call in progress. Await it to get the data, or await `withResponse()` to get the data with the response's metadata. */
export class Call<T> implements Promise<T> {
  readonly [Symbol.toStringTag] = "Call";
  readonly #response: Promise<ApiResponse<T>>;

  constructor(response: Promise<ApiResponse<T>>) {
    this.#response = response;
  }

  /** Returns the data with the metadata of the response: status, request id, replay, quota, attempts and headers. */
  withResponse(): Promise<ApiResponse<T>> {
    return this.#response;
  }

  /** @deprecated Use `withResponse()`. */
  withAnswer(): Promise<ApiResponse<T>> {
    return this.#response;
  }

  // The inner promise is created on use: a promise without a handler would be reported as an unhandled rejection.
  // oxlint-disable-next-line unicorn/no-thenable -- a call is a promise
  then<A = T, B = never>(
    onData?: ((data: T) => A | PromiseLike<A>) | null,
    onError?: ((error: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    return this.#response.then(({ data }) => data).then(onData, onError);
  }

  catch<B = never>(onError?: ((error: unknown) => B | PromiseLike<B>) | null): Promise<T | B> {
    return this.then(undefined, onError);
  }

  finally(onEnd?: (() => void) | null): Promise<T> {
    return this.#response.then(({ data }) => data).finally(onEnd);
  }
}
