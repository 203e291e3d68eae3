/** The input and output types of the operations, derived from the generated types, and the options of a call. */
import type { OPERATIONS } from "./operations.ts";
import type { OptionNames } from "./option-names.ts";
import type { operations } from "./schema.ts";

/** The name of an operation of the API, such as `sendMessage`. */
export type OperationId = keyof typeof OPERATIONS;

type JsonOf<Content> = Content extends { content: { "application/json": infer Json } } ? Json : never;
type Responses<Id extends OperationId> = operations[Id]["responses"];

/** The data that a successful response of the operation contains. */
export type ResponseOf<Id extends OperationId> = JsonOf<Responses<Id>[keyof Responses<Id>]>;
/** The request body of the operation. */
export type BodyOf<Id extends OperationId> = operations[Id] extends { requestBody: infer Body } ? JsonOf<Body> : never;
/** The query parameters of the operation. */
export type QueryOf<Id extends OperationId> = NonNullable<operations[Id]["parameters"]["query"]>;

type PathInput<Id extends OperationId> = operations[Id]["parameters"] extends { path: infer Path } ? { path: Path } : unknown;
type BodyInput<Id extends OperationId> = [BodyOf<Id>] extends [never] ? unknown : { body: BodyOf<Id> };

export type InputOf<Id extends OperationId> = PathInput<Id> & BodyInput<Id> & { query?: QueryOf<Id> | undefined };

/** Options of every call. They override the options of the client. */
export type CallOptions = {
  /** Aborts the call at any point. The promise is rejected with the signal's reason. */
  signal?: AbortSignal | undefined;
  /** The time limit of one attempt, from the request to the last byte of the response. */
  timeoutMs?: number | undefined;
  /** The maximum number of retries after the first attempt. */
  maxRetries?: number | undefined;
  /** The time limit of all attempts together, including the waits between them. */
  totalTimeoutMs?: number | undefined;
  /** Additional headers, such as `traceparent`. */
  headers?: Readonly<Record<string, string>> | undefined;
};

/** Options of a call that changes something. */
export type WriteOptions = CallOptions & {
  /** Your own idempotency key, a version-4 UUID. Store it with your data, so that a repetition after a crash is the same request. */
  idempotencyKey?: string | undefined;
};

/** Of all calls: a read and a deletion have no use for a key, and no harm from it. */
export const CALL_OPTIONS: OptionNames<WriteOptions> = {
  idempotencyKey: true,
  timeoutMs: true,
  maxRetries: true,
  totalTimeoutMs: true,
  headers: true,
  signal: true,
};
