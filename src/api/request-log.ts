/** The line that the log gets for each request. */
import type { FastifyRequest } from "fastify";

/** Every value is a number, a word of ours, or made of characters that JSON does not escape. */
export function requestLine(request: FastifyRequest, route: string, status: number, tookMs: number): string {
  const environment = request.credential?.environment;
  const theirs = sanitised(request.headers["x-request-id"]);
  return (
    `,"request_id":"${request.id}","method":"${request.method}","route":"${route}","status":${status},"ms":${Math.round(tookMs * 100) / 100}` +
    `${environment === undefined ? "" : `,"environment":"${environment}"`}${theirs === undefined ? "" : `,"client_request_id":"${theirs}"`},"msg":"request"`
  );
}

const sanitised = (header: string | string[] | undefined): string | undefined =>
  typeof header === "string" ? header.replaceAll(/[^\w.:-]/g, "").slice(0, 64) || undefined : undefined;
