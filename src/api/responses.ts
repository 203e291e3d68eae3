/** The form of all responses, also of those on a bare socket: problems as errors, and a request id on each. */
import { STATUS_CODES, type IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { Problem, PROBLEM_TYPE, unavailable } from "../http/problem.ts";
import { encodeId, explainMissing, toId, type RequestId } from "../model/id.ts";
import { uuidSequence } from "../lib/uuid.ts";
import { isDatabaseTrouble } from "../database/database.ts";

export const JSON_TYPE = "application/json; charset=utf-8";
const PROBLEM_CONTENT_TYPE = `${PROBLEM_TYPE}; charset=utf-8`;

export const contentTypeFor = (status: number): string => (status >= 400 ? PROBLEM_CONTENT_TYPE : JSON_TYPE);

/** The headers of every response: names and values in turn. */
export function commonHeaders(requestId: string, isTls: boolean): string[] {
  const headers = ["x-request-id", requestId, "cache-control", "no-store", "x-content-type-options", "nosniff"];
  if (isTls) headers.push("strict-transport-security", "max-age=31536000");
  return headers;
}

// The ids of requests use the clock of this machine, so they have their own sequence, apart from the ids of records.
const newRequestUuid = uuidSequence();

export const newRequestId = (): RequestId => toId("req", newRequestUuid(Date.now()));

export const BODY_LIMIT_BYTES = 65_536;

// Only in logs and metrics: the client closed the connection before the response was complete. Proxies commonly use this number.
export const CLIENT_CLOSED = 499;

/** Converts an error into the problem for the client. Undefined: the error is a fault of this service, for the log. */
export function toProblem(error: Error & { statusCode?: number }): Problem | undefined {
  if (error instanceof Problem) return error;
  if (isDatabaseTrouble(error)) return unavailable("the database is unavailable or overloaded", 1, error);
  if (error.statusCode === 400) return new Problem("invalid_request_payload", { detail: "the request could not be read" });
  return undefined;
}

export const tooLarge = (bodyLimit: number): Problem =>
  new Problem("payload_too_large", { detail: `the body may have at most ${bodyLimit} bytes` });

/** Adds what the id in the path names, where it explains why nothing was found. */
export function withIdHint(problem: Problem | undefined, { params }: { params: Readonly<Record<string, string>> }): Problem | undefined {
  const id = params["id"];
  const hint = problem?.code === "not_found" && id !== undefined ? explainMissing(id, problem.detail) : undefined;
  return hint === undefined ? problem : new Problem("not_found", { detail: `${problem?.detail}; ${hint}` });
}

export const unsupportedMediaType = (isEncoded: boolean): Problem =>
  new Problem("unsupported_media_type", {
    errors: [
      isEncoded
        ? { header: "Content-Encoding", code: "invalid_value", detail: "must be absent: send the body without compression" }
        : { header: "Content-Type", code: "invalid_value", detail: "must be application/json, in UTF-8" },
    ],
  });

/** Responds to a request that could not be parsed or took too long. There is no request object, only a socket. */
export function respondToBrokenRequest(error: NodeJS.ErrnoException, socket: Duplex, isTls: boolean): string | undefined {
  if (!socket.writable || error.code === "ECONNRESET" || error.code === "EPIPE") {
    socket.destroy();
    return undefined;
  }
  return respondOnSocket(brokenProblem(error), socket, isTls);
}

/** The code of the error of a body in too many small chunks. */
export const SMALL_CHUNKS = "SMALL_CHUNKS";

function brokenProblem({ code }: NodeJS.ErrnoException): Problem {
  if (code === "HPE_HEADER_OVERFLOW") return new Problem("request_header_fields_too_large");
  if (code === "ERR_HTTP_REQUEST_TIMEOUT") return new Problem("request_timeout");
  if (code === SMALL_CHUNKS) return new Problem("invalid_request_payload", { detail: "the body has too many small chunks" });
  return new Problem("invalid_request_payload", { detail: "this is not valid HTTP" });
}

/** Responds to CONNECT, a request for a tunnel, which Node passes on as a bare socket. */
export const respondToConnect = (_request: IncomingMessage, socket: Duplex, isTls: boolean): string =>
  respondOnSocket(new Problem("method_not_allowed", { headers: { allow: "GET, HEAD" } }), socket, isTls);

function respondOnSocket(problem: Problem, socket: Duplex, isTls: boolean): string {
  const requestId = encodeId("req", newRequestId());
  // Without a readable request the origin is unknown, so the body uses a relative reference.
  const body = problem.toBody("", requestId);
  const headers = {
    ...problem.headers,
    "content-type": PROBLEM_CONTENT_TYPE,
    "content-length": String(Buffer.byteLength(body)),
    connection: "close",
    date: new Date().toUTCString(),
  };
  const all = [...commonHeaders(requestId, isTls), ...Object.entries(headers).flat()];
  const lines = all.flatMap((name, at) => (at % 2 === 0 ? [`${name}: ${all[at + 1]}\r\n`] : []));
  socket.end(`HTTP/1.1 ${problem.status} ${STATUS_CODES[problem.status]}\r\n${lines.join("")}\r\n${body}`);
  return requestId;
}
