/** An answer with what is known about it beside its data. */

/** What is left of the quota; null on a tier without limit. */
export type RateLimit = { name: string; remaining: number; resetSeconds: number; quota: number | null; windowSeconds: number | null };

export type Answer<T> = {
  data: T;
  status: number;
  /** Quote it in reports. */
  requestId: string | null;
  /** The stored answer of an earlier request with the same key: this one did nothing. */
  isReplayed: boolean;
  /** The key that was sent. */
  idempotencyKey: string | null;
  rateLimit: RateLimit | null;
  /** How many requests it took. */
  attempts: number;
  headers: Headers;
};

/** An item of the fields of IETF draft-ietf-httpapi-ratelimit-headers: `"name";a=1;b=2`. */
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

/** A call under way: await it for its data, or `withAnswer()` for all that is known. */
export class Call<T> implements Promise<T> {
  readonly [Symbol.toStringTag] = "Call";
  readonly #answer: Promise<Answer<T>>;

  constructor(answer: Promise<Answer<T>>) {
    this.#answer = answer;
  }

  /** The data with its headers: request id, replayed or not, quota, attempts. */
  withAnswer(): Promise<Answer<T>> {
    return this.#answer;
  }

  // oxlint-disable-next-line unicorn/no-thenable -- it is a promise, made when somebody waits for it: one that nobody takes would be reported as unhandled.
  then<A = T, B = never>(
    onData?: ((data: T) => A | PromiseLike<A>) | null,
    onError?: ((error: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    return this.#answer.then(({ data }) => data).then(onData, onError);
  }

  catch<B = never>(onError?: ((error: unknown) => B | PromiseLike<B>) | null): Promise<T | B> {
    return this.then(undefined, onError);
  }

  finally(onEnd?: (() => void) | null): Promise<T> {
    return this.#answer.then(({ data }) => data).finally(onEnd);
  }
}
