/** A route is a row: method, path, scope, schemas, replies and handler in one place. The server runs the rows, the OpenAPI
 *  document and the method checks are read from them. */
import type { Credential } from "../access/authenticate.ts";
import type { Scope } from "../access/scope.ts";
import type { ErrorCode } from "../http/codes.ts";
import type { Fault, Problem } from "../http/problem.ts";
import type { Static, TSchema } from "../http/schema.ts";
import type { Trace } from "../lib/trace.ts";
import type { IdempotencyClaim } from "../idempotency/key.ts";
import type { Executed, Replay } from "../idempotency/once.ts";

type Method = "GET" | "POST" | "PATCH" | "PUT" | "DELETE";

export type Call<Body, Query, Params> = {
  credential: Credential;
  body: Body;
  query: Query;
  params: Params;
  /** The trace that the request belongs to, where it says so and the route keeps it. */
  trace: Trace | undefined;
  /** The request's idempotency key with its fingerprint, where there is one. */
  claim: IdempotencyClaim | undefined;
  /** A problem as the bytes this client would get: for answers that are stored. */
  writeProblem: (problem: Problem) => string;
  /** What is wrong with the request: never anything, but for a route that tells faults rather than refuses them. */
  faults: readonly Fault[];
  header: (name: string) => string | undefined;
  /** Whether the credential still holds: for answers that go on. */
  isAdmitted: () => Promise<boolean>;
  /** The client left, or the service stops: for answers that go on. */
  gone: () => AbortSignal;
};

export type RouteResponse = { status: number; body: string; location?: string | null; isReplay?: boolean };

/** An answer that goes on: frames of text, until they end or the client leaves. */
export type StreamResponse = { status: 200; contentType: string; frames: AsyncGenerator<string> };

/** What a write became, as its answer. */
export const toResponse = ({ kind, status, location, body }: Executed | Replay): RouteResponse => ({
  status,
  location,
  body,
  isReplay: kind === "replay",
});

/** The same answer under another status: what was asked for was so already. */
type Already = { status: number; description: string };

export type Route = {
  method: Method;
  /** With `{name}` for parameters, as OpenAPI writes it. */
  path: string;
  summary: string;
  description: string;
  tag: string;
  /** Null: any living credential may ask. */
  scope: Scope | null;
  isIdempotent: boolean;
  /** The messages it makes belong to the trace that the request names. */
  keepsTrace?: true;
  body?: TSchema;
  /** What the document says of the body, where a route takes more than it documents and says for itself what is wrong. */
  documentedBody?: TSchema;
  /** 64 kB where it does not say. */
  maxBodyBytes?: number;
  /** How many requests of the quota it costs; one where it does not say. */
  cost?: (body: unknown) => number;
  /** The faults of a body are its answer, not its end. */
  tellsFaults?: true;
  query?: TSchema;
  params?: TSchema;
  /** Rules beyond the body's schema; they run also on a body that the schema refuses, so that all faults are told at once. */
  check?: (body: Readonly<Record<string, unknown>>) => Fault[];
  reply: { status: number; description: string; schema: TSchema; hasLocation?: true; contentType?: string; already?: Already };
  /** Codes besides those that every route of its kind can answer with. */
  problems: readonly ErrorCode[];
  handle: (call: Call<never, never, never>) => Promise<RouteResponse | StreamResponse>;
};

type TypedRoute<B extends TSchema, Q extends TSchema, P extends TSchema> = Omit<Route, "body" | "query" | "params" | "handle"> & {
  body?: B;
  query?: Q;
  params?: P;
  handle: (call: Call<Static<B>, Static<Q>, Static<P>>) => Promise<RouteResponse | StreamResponse>;
};

/** Ties the handler's types to the schemas. */
export const route = <B extends TSchema, Q extends TSchema, P extends TSchema>(row: TypedRoute<B, Q, P>): Route => row;
