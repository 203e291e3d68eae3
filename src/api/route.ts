/** A route is a row: method, path, scope, schemas, replies and handler in one place. The server runs the rows. The OpenAPI document and
 *  the checks of methods are derived from them. */
import type { IncomingHttpHeaders } from "node:http";
import type { Credential } from "../access/authenticate.ts";
import type { Scope } from "../access/scope.ts";
import type { ErrorCode } from "../http/codes.ts";
import type { Fault, Problem } from "../http/problem.ts";
import type { Static, Schema } from "../http/schema.ts";
import type { IdempotencyClaim } from "../idempotency/key.ts";
import type { Executed, Replay } from "../idempotency/once.ts";
import type { RequestId } from "../model/id.ts";
import type { ChangeOrigin } from "../model/origin.ts";
import type { Trace } from "../lib/trace.ts";

type Method = "GET" | "POST" | "PATCH" | "PUT" | "DELETE";

export type Call<Body, Query, Params> = {
  credential: Credential;
  /** The caller and its address, for the audit log. */
  origin: () => ChangeOrigin;
  /** The messages that the request creates have the second half of this id in theirs. */
  requestId: RequestId;
  body: Body;
  query: Query;
  params: Params;
  /** The trace of the request, if the request names one and the route keeps it. */
  trace: Trace | undefined;
  /** The idempotency claim of the request, if it has a key. */
  claim: IdempotencyClaim | undefined;
  /** Writes a problem as the body for this client, for responses that are stored. */
  writeProblem: (problem: Problem) => string;
  /** The faults of the request. Empty, except on a route with `reportsFaults`. */
  faults: readonly Fault[];
  header: (name: string) => string | undefined;
  /** The method, the path with its query and the headers, as the client sent them. */
  head: RequestHead;
  /** The origin that the client used. */
  address: string;
  /** Whether the credential is still valid, for streaming responses. */
  isAdmitted: () => Promise<boolean>;
  /** Aborted when the client disconnects or the service stops, for streaming responses. */
  gone: () => AbortSignal;
  /** Computes the claim of an upload, whose fingerprint is known after its last byte. */
  claimOf: (sha256: Buffer) => IdempotencyClaim | undefined;
  /** The body of an upload. The request has no `body` and no `claim` then. */
  upload?: UploadedBody;
};

/** A body that is read as a stream. It fails if the client disconnects or sends too slowly. */
export type UploadedBody = {
  /** The media type that the client declares. */
  contentType: string | undefined;
  /** The declared length; undefined for a chunked body. */
  length: number | undefined;
  pieces: AsyncIterable<Buffer>;
};

/** The parts of a request by which a compatible API authenticates it. */
export type RequestHead = {
  method: string;
  /** The path with its query, as the client sent it. */
  target: string;
  headers: IncomingHttpHeaders;
};

/** How a compatible API differs from ours. The checks and their order are the same. */
type CompatibleRoute = {
  /** Returns the credential, or throws a 401 problem. */
  authenticate: (head: RequestHead) => Credential | Promise<Credential>;
  /** The environment of the credential when it was last looked up, however long ago; undefined for an unknown one. */
  lastEnvironmentOf: (head: RequestHead) => string | undefined;
  /** Writes a refusal in the form of the API. */
  writeRefusal: (problem: Problem, origin: string) => RouteResponse;
};

export type Urgency = "urgent" | "usual" | "bulk";

export type RouteResponse = {
  status: number;
  body: string;
  /** The type of the body, if it is neither JSON nor a problem. */
  contentType?: string;
  /** The path of the created record. A compatible API does not show it. */
  location?: string | null;
  isReplay?: boolean;
  headers?: Problem["headers"] | undefined;
};

/** A streaming response: frames of text or bytes, until they end or the client disconnects. */
export type StreamResponse = {
  status: 200;
  contentType: string;
  headers?: Readonly<Record<string, string>>;
  frames: AsyncGenerator<string | Buffer>;
};

/** The response of a write. */
export const toResponse = (response: Executed | Replay): RouteResponse => ({
  status: response.status,
  location: response.location,
  body: response.body,
  isReplay: response.kind === "replay",
  headers: response.kind === "replay" ? undefined : response.headers,
});

/** The status of the same response if the requested state existed before, and nothing changed. */
type UnchangedReply = { status: number; description: string };

export type Route = {
  method: Method;
  /** With `{name}` for parameters, as OpenAPI writes it. */
  path: string;
  /** The name of the operation in the OpenAPI document and in clients made from it, such as `sendMessage`. */
  operationId: string;
  summary: string;
  description: string;
  tag: string;
  /** Null: any valid credential may call the route. */
  scope: Scope | null;
  isIdempotent: boolean;
  /** How much of the service a request takes (`admit.ts`). `send`: the handler stores by group commit. `heavy`: the request takes
   *  the processor or the database for milliseconds. Light by default. */
  weight?: "send" | "heavy";
  /** Of a request of weight `send`: `urgent` must not wait for others of its account, and `bulk` is refused first if too many wait. */
  urgency?: (body: unknown) => Urgency;
  /** The response may be some seconds old if the operator permits it, so a standby of the database can be read (`standby-reads.ts`). The route has a
   *  list or counts of many records, and no id in its path. */
  mayLag?: true;
  /** A large response is compressed. It has nothing that a stranger can choose, such as the text or the number of an inbound message: the length
   *  of the compressed response could disclose the rest to someone who sees the connection (BREACH). */
  isCompressible?: true;
  /** Left out of the request log: the route reads that log. */
  isUnlogged?: true;
  /** A POST that stores and sends nothing. The console repeats it while a person types; the request log leaves it out there, like a GET. */
  isReadOnly?: true;
  /** The messages of the route belong to the trace that the request names. */
  keepsTrace?: true;
  body?: Schema;
  /** The body in the OpenAPI document, for a route that accepts more than it documents and reports the faults itself. */
  documentedBody?: Schema;
  /** The limit of the body; 64 kB by default. */
  maxBodyBytes?: number;
  /** A body of another type than JSON is an upload, which the handler reads as a stream. */
  upload?: { maxBytes: number };
  /** The cost in requests of the quota; one by default. */
  cost?: (body: unknown, head: RequestHead) => number;
  /** The handler reports the faults of the body in its response, and the request is not refused. */
  reportsFaults?: true;
  query?: Schema;
  params?: Schema;
  /** The headers of the request that only this route reads, for the OpenAPI document. */
  headers?: Schema;
  /** Rules beyond the schema of the body. They run also for a body that the schema refuses, so that all faults are reported at once. */
  check?: (body: Readonly<Record<string, unknown>>) => Fault[];
  /** The route belongs to an API that is compatible with that of another product. It is not in the OpenAPI document, and its handler reads the
   *  request itself: `body` is the bytes, and there is no claim. */
  compatible?: CompatibleRoute;
  reply: { status: number; description: string; schema: Schema; hasLocation?: true; contentType?: string; already?: UnchangedReply };
  /** The error codes of this route besides those of every such route. */
  problems: readonly ErrorCode[];
  handle: (call: Call<never, never, never>) => Promise<RouteResponse | StreamResponse>;
};

type TypedRoute<B extends Schema, Q extends Schema, P extends Schema> = Omit<Route, "body" | "query" | "params" | "handle"> & {
  body?: B;
  query?: Q;
  params?: P;
  handle: (call: Call<Static<B>, Static<Q>, Static<P>>) => Promise<RouteResponse | StreamResponse>;
};

/** Derives the types of the handler from the schemas. */
export const route = <B extends Schema, Q extends Schema, P extends Schema>(row: TypedRoute<B, Q, P>): Route => row;
