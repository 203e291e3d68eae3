/** The test of a connection to a carrier: connects and signs in, and sends no message. */
import { NOT_ALLOWED } from "../outbound/resolve.ts";
import { parseJsonObject } from "./carrier-fields.ts";
import { HttpCaller, type HttpCall, type HttpCallerOptions, type HttpResponse } from "./http-call.ts";

/** The steps of a test. A failed test ends with the step that failed. */
export const TEST_STEPS = ["address", "connection", "tls", "credentials", "response"] as const;
export type TestStep = (typeof TEST_STEPS)[number];

/** `step` is null if nothing failed. */
export type ConnectionTest = { step: TestStep | null; detail: string };

export const succeeded = (detail: string): ConnectionTest => ({ step: null, detail });
export const failed = (step: TestStep, detail: string): ConnectionTest => ({ step, detail });

const TLS_ERROR = /SSL|TLS|CERT|SELF_SIGNED|UNABLE_TO_VERIFY|ISSUER|DEPTH_ZERO|HOSTNAME|EPROTO/;

/** The failure of a connection that could not be opened, by the code of its error. Whether a port is closed or filtered is not reported: the
 *  test is no port scanner. */
export function connectionFailure(code: string): ConnectionTest {
  if (code === NOT_ALLOWED) return failed("address", "The host name has no address that links of accounts may connect to.");
  if (TLS_ERROR.test(code))
    return failed("tls", `The TLS handshake failed: ${code}. Is this the port for TLS, and the certificate valid for the host?`);
  return failed(
    "connection",
    "No connection to the host and port. Are both right, is TLS set as the port expects it, and does the carrier's firewall allow this service?",
  );
}

type TestCall = Pick<HttpCallerOptions, "baseUrl" | "lookup"> & Pick<HttpCall, "path" | "headers">;

const TIMEOUT_MS = 10_000;

/** Calls a URL of the carrier with the credentials of the link. */
export async function testCall(
  { baseUrl, lookup, path, headers }: TestCall,
  signal: AbortSignal,
  read: (response: HttpResponse) => ConnectionTest,
): Promise<ConnectionTest> {
  const caller = new HttpCaller({ baseUrl, lookup, connections: 1, timeoutMs: TIMEOUT_MS });
  try {
    const outcome = await caller.call({ method: "GET", path, headers }, signal);
    if (outcome.kind === "unreachable") return connectionFailure(outcome.cause);
    if (outcome.kind === "no_response") return failed("response", "The carrier did not respond in time.");
    if (outcome.status === 401 || outcome.status === 403) return failed("credentials", "The carrier refused the credentials.");
    return read(outcome);
  } finally {
    await caller.close();
  }
}

/** Opens a connection, for carriers without a call that only checks the credentials. */
export async function testConnection({ baseUrl, lookup }: Pick<TestCall, "baseUrl" | "lookup">): Promise<ConnectionTest> {
  const caller = new HttpCaller({ baseUrl, lookup, connections: 1, timeoutMs: TIMEOUT_MS });
  try {
    const cause = await caller.connect();
    if (cause !== undefined) return connectionFailure(cause);
    return succeeded("The carrier can be reached. It checks the credentials with the first message.");
  } finally {
    await caller.close();
  }
}

/** A response in the carrier's form has a member. */
export const isResponseWith = (response: HttpResponse, member: string): boolean =>
  response.status === 200 && parseJsonObject(response)?.[member] !== undefined;

export const unexpected = ({ status }: HttpResponse): ConnectionTest =>
  failed("response", `The carrier responded with HTTP ${status}, and not as expected. Is the base URL right?`);
