/** Reads the body of a request into one buffer, or ends a request whose body is not wanted. */
import type { IncomingMessage } from "node:http";
import { PassThrough, pipeline, type Readable } from "node:stream";
import { Problem } from "../http/problem.ts";
import { BODY_LIMIT_BYTES, tooLarge } from "./responses.ts";

// Chunked bodies are mostly small. The buffer doubles as they grow.
const FIRST_BYTES = 4_096;

export type BodyForm = {
  /** The declared length; undefined for a chunked body. */
  length: number | undefined;
  limit: number;
  /** The time that the body may take; undefined: the time of the request. */
  timeoutMs?: number | undefined;
};

export const NO_BODY_ALLOWED: BodyForm = { length: undefined, limit: 0 };

/** The declared length of a body; undefined for a chunked one. */
export const declaredBytes = ({ headers }: Pick<IncomingMessage, "headers">): number | undefined =>
  headers["transfer-encoding"] === undefined ? Number(headers["content-length"] ?? 0) : undefined;

type Done = (error: Error | null, body?: Buffer) => void;

/** Collects into one buffer, because a list of chunks would cost a hundred times the body if each chunk has one byte. */
export function collectBody(payload: Readable, { length, limit, timeoutMs }: BodyForm, done: Done): void {
  if (length !== undefined && length > limit) return done(tooLarge(limit));
  let bytes = Buffer.allocUnsafe(length ?? Math.min(FIRST_BYTES, limit));
  let received = 0;
  const timer = timeoutMs === undefined ? undefined : setTimeout(() => end(new Problem("request_timeout")), timeoutMs);
  const end = (error: Error | null): void => {
    clearTimeout(timer);
    payload.off("data", add).off("end", succeed).off("error", fail);
    done(error, error === null ? bytes.subarray(0, received) : undefined);
  };
  const add = (chunk: Buffer): void => {
    const needed = received + chunk.length;
    if (needed > limit) return end(tooLarge(limit));
    if (needed > bytes.length) {
      const larger = Buffer.allocUnsafe(Math.min(limit, Math.max(needed, 2 * bytes.length)));
      bytes.copy(larger, 0, 0, received);
      bytes = larger;
    }
    chunk.copy(bytes, received);
    received = needed;
  };
  const succeed = (): void => end(null);
  // The client has disconnected.
  const fail = (error: Error): void => end(Object.assign(error, { statusCode: 400 }));
  payload.on("data", add).on("end", succeed).on("error", fail);
  payload.resume();
}

/** Buffers the body while the credential is looked up. Node drops the unread body of a request whose client has disconnected, and a
 *  client may disconnect after it has sent the whole body. */
export const holdBody = (request: IncomingMessage): Readable =>
  pipeline(request, new PassThrough({ highWaterMark: BODY_LIMIT_BYTES }), () => undefined);

/** Whether so much of the body has not arrived that reading it, to keep the connection, would cost more than a new connection. */
export const hasLargeRest = (request: IncomingMessage): boolean =>
  !request.complete && (declaredBytes(request) ?? Infinity) > BODY_LIMIT_BYTES;

// Time for the client to read the response. Meanwhile the rest of the body stays in the buffers of the operating system.
const LINGER_MS = 1_000;

/** Makes the connection end after a response with `connection: close`, without reading the rest of the body. A connection that is closed with unread bytes is
 *  reset, and the client could lose the response, so it is closed a moment later. */
export function closeUnread({ socket }: IncomingMessage): void {
  // Node calls this after the last response of a connection, and would close it at once.
  socket.destroySoon = () => {
    socket.end();
    // Node resumes the socket in this turn, to discard the rest of the body.
    setImmediate(() => socket.pause());
    setTimeout(() => socket.destroy(), LINGER_MS).unref();
  };
}
