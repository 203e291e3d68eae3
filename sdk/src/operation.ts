/** The shapes of a call, read off the generated types: what an operation takes, and what it answers. */
import type { OPERATIONS } from "./operations.ts";
import type { operations } from "./schema.ts";

export type OperationId = keyof typeof OPERATIONS;

type JsonOf<Content> = Content extends { content: { "application/json": infer Json } } ? Json : never;
type Responses<Id extends OperationId> = operations[Id]["responses"];

export type AnswerOf<Id extends OperationId> = JsonOf<Responses<Id>[keyof Responses<Id>]>;
export type BodyOf<Id extends OperationId> = operations[Id] extends { requestBody: infer Body } ? JsonOf<Body> : never;
export type QueryOf<Id extends OperationId> = NonNullable<operations[Id]["parameters"]["query"]>;

type PathInput<Id extends OperationId> = operations[Id]["parameters"] extends { path: infer Path } ? { path: Path } : unknown;
type BodyInput<Id extends OperationId> = [BodyOf<Id>] extends [never] ? unknown : { body: BodyOf<Id> };

export type InputOf<Id extends OperationId> = PathInput<Id> & BodyInput<Id> & { query?: QueryOf<Id> | undefined };

/** What every call can be told. */
export type CallOptions = {
  /** Ends the call, whatever it is doing: the promise is rejected with the signal's reason. */
  signal?: AbortSignal | undefined;
  /** For one attempt, from the request to the last byte of the answer. */
  timeoutMs?: number | undefined;
  /** How often to try again after the first attempt. */
  maxRetries?: number | undefined;
  /** For all attempts together, with the waits between them. */
  totalTimeoutMs?: number | undefined;
  /** Further headers, such as `traceparent`. */
  headers?: Readonly<Record<string, string>> | undefined;
};

/** What a call that changes something can be told. */
export type WriteOptions = CallOptions & {
  /** A version-4 UUID of your own, kept with your work, so that a repetition after a crash is the same request. */
  idempotencyKey?: string | undefined;
};
