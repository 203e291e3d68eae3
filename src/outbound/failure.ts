/** Why a connection or a call failed. Customers see only a coarse reason: more detail would make this service a port scanner. */
import { NOT_ALLOWED } from "./address-gate.ts";

export const FAILURES = ["timeout", "connection_failed", "tls_failed", "address_not_allowed", "invalid_response"] as const;
export type Failure = (typeof FAILURES)[number];

const TIMED_OUT = "TimeoutError";

export const timedOut = (message: string): Error => Object.assign(new Error(message), { name: TIMED_OUT });

export function failureOf(error: Error): Failure {
  const { code = "", name, message } = error as NodeJS.ErrnoException;
  if (code === NOT_ALLOWED) return "address_not_allowed";
  if (name === TIMED_OUT || /TIMEOUT|ETIMEDOUT/.test(code)) return "timeout";
  // Errors of the parser have no code. An upgrade, or a 100 that was not requested, has the code of any socket error.
  if (name === "HTTPParserError" || /^bad (response|upgrade)$/.test(message)) return "invalid_response";
  if (/^UND_ERR_(HEADERS_OVERFLOW|RES_|RESPONSE|INFO)/.test(code)) return "invalid_response";
  if (/SSL|TLS|CERT|SELF_SIGNED|UNABLE_TO_VERIFY|ISSUER|DEPTH_ZERO|HOSTNAME|EPROTO/.test(code)) return "tls_failed";
  return "connection_failed";
}

/** The code of an error, which contains no address, or else its message. */
export function causeOf(error: Error): string {
  const { code, message } = error as NodeJS.ErrnoException;
  return code ?? message;
}

/** The code and the message of an error, with addresses: for the operator only. */
export function describeFailure(error: Error): string {
  const { code, message } = error as NodeJS.ErrnoException;
  return [code, message].filter(Boolean).join(": ");
}
