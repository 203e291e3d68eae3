/** The test of a connection to a carrier: connects and signs in, and sends no message. */
import { requireUrl } from "../lib/urls.ts";
import type { AddressGate } from "../outbound/address-gate.ts";
import { causeOf, failureOf } from "../outbound/failure.ts";
import { callOnce, targetBelow, type HttpResponse } from "../outbound/http-client.ts";
import { reach, targetOf } from "../outbound/open-socket.ts";
import { parseJsonObject } from "./carrier-fields.ts";

/** The steps of a test. A failed test ends with the step that failed. */
export const TEST_STEPS = ["address", "connection", "tls", "credentials", "response"] as const;
export type TestStep = (typeof TEST_STEPS)[number];

/** `step` is null if nothing failed. */
export type ConnectionTest = { step: TestStep | null; detail: string };

export const succeeded = (detail: string): ConnectionTest => ({ step: null, detail });
export const failed = (step: TestStep, detail: string): ConnectionTest => ({ step, detail });

/** The failure of a connection that could not be opened. Whether a port is closed or filtered is not reported: the
 *  test is no port scanner. */
export function connectionFailure(error: Error): ConnectionTest {
  const failure = failureOf(error);
  // One text for both: it must not reveal which names exist in the operator's network.
  if (failure === "address_not_allowed")
    return failed(
      "address",
      "The host name was not found, or it has no address that links of accounts may connect to: check its spelling.",
    );
  if (failure === "tls_failed")
    return failed("tls", `The TLS handshake failed: ${causeOf(error)}. Is this the port for TLS, and the certificate valid for the host?`);
  return failed(
    "connection",
    "No connection to the host and port. Are both right, is TLS set as the port expects it, and does the carrier's firewall allow this service?",
  );
}

const TIMEOUT_MS = 10_000;

type Carrier = { baseUrl: string; gate?: AddressGate | undefined };

/** Calls a URL of the carrier with the credentials of the link. */
export async function testCall(
  { baseUrl, gate, path, headers }: Carrier & { path: string; headers: Readonly<Record<string, string>> },
  signal: AbortSignal,
  read: (response: HttpResponse) => ConnectionTest,
): Promise<ConnectionTest> {
  const request = { ...targetBelow(baseUrl, path), method: "GET", headers, body: "" } as const;
  const outcome = await callOnce({ gate, timeoutMs: TIMEOUT_MS }, request, signal);
  if (outcome.kind === "unreachable") return connectionFailure(outcome.error);
  if (outcome.kind !== "response") return failed("response", "The carrier did not respond in time.");
  if (outcome.status === 401 || outcome.status === 403) return failed("credentials", "The carrier refused the credentials.");
  return read(outcome);
}

/** Opens a connection, for carriers without a call that only checks the credentials. */
export async function testConnection({ baseUrl, gate }: Carrier): Promise<ConnectionTest> {
  const failure = await reach({ ...targetOf(requireUrl(baseUrl)), gate }, TIMEOUT_MS);
  if (failure !== undefined) return connectionFailure(failure);
  return succeeded("The carrier can be reached. It checks the credentials with the first message.");
}

/** A response in the carrier's form has a member. */
export const isResponseWith = (response: HttpResponse, member: string): boolean =>
  response.status === 200 && parseJsonObject(response)?.[member] !== undefined;

export const unexpected = ({ status }: HttpResponse): ConnectionTest =>
  failed("response", `The carrier responded with HTTP ${status}, and not as expected. Is the base URL right?`);
