/** What the log is told of requests: one line each, and of a failure what is safe to tell. */
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

/** A database error's `detail` quotes rows, so only these members are logged. */
export function causeOf(error: unknown): object {
  if (!(error instanceof Error)) return {};
  const { name, message, stack, code } = error as NodeJS.ErrnoException;
  const cause = error.cause instanceof Error ? error.cause.message : undefined;
  return { error: name, message, error_code: code, cause, stack };
}
