/** Hooks for logs, metrics and traces: called for every attempt of a call. */

/** An attempt that starts. Contains no headers, no query and no body, so that no credential, number or text gets into a log. */
export type RequestEvent = {
  method: string;
  path: string;
  /** The number of this attempt, from one. */
  attempt: number;
  /** The same for all attempts of a call. Null for reads and deletions. */
  idempotencyKey: string | null;
};

/** An attempt that has ended, with a response or without. */
export type ResponseEvent = RequestEvent & {
  durationMs: number;
  /** Null if there was no response. */
  status: number | null;
  requestId: string | null;
  /** The error of a failed attempt, otherwise null. */
  error: unknown;
  /** The wait before the next attempt. Null if this was the last one. */
  retryMs: number | null;
};

/** An error that a hook throws rejects the call. Event streams and exports do not call the hooks. */
export type Hooks = {
  /** Called before every attempt. */
  onRequest?: ((event: RequestEvent) => void) | undefined;
  /** Called after every attempt. */
  onResponse?: ((event: ResponseEvent) => void) | undefined;
};
