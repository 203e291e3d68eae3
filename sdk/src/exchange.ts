/** Sends one request and reads its response, or throws the reason why there is none. */
import type { Deadline } from "./deadline.ts";
import { ConnectionError, toApiError, unexpectedResponse, type ApiError } from "./errors.ts";
import type { Request } from "./request.ts";

export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

export async function send(fetch: Fetch, { url, method, headers, body }: Request, deadline: Deadline): Promise<Response> {
  // Following a redirect could turn a POST into a GET, or send the credential to another host.
  const init: RequestInit = { method, headers, redirect: "manual", signal: deadline.signal };
  const response = await withinDeadline(async () => fetch(url, body === undefined ? init : { ...init, body }), deadline);
  if (response.type !== "opaqueredirect" && (response.status < 300 || response.status > 399)) return response;
  throw unexpectedResponse(response, "the response is a redirect, which is not followed: set baseUrl to the final URL of the service");
}

/** Runs the work under the deadline. Converts an error of the network to a `ConnectionError`. */
export async function withinDeadline<T>(work: () => Promise<T>, deadline: Deadline): Promise<T> {
  try {
    return await deadline.limit(work());
  } catch (error) {
    if (deadline.signal.aborted) throw deadline.signal.reason;
    throw new ConnectionError(`no response: ${failureReason(error)}`, { cause: error });
  }
}

/** Returns the reason of a failed request. Runtimes hide it in the cause, behind "fetch failed". */
function failureReason(error: unknown): string {
  const { message, cause } = error as { message?: string; cause?: { message?: string; code?: string } };
  return [cause?.message, cause?.code, message].find((text) => text !== undefined && text !== "") ?? "the connection failed";
}

export async function readFailure(response: Response, deadline: Deadline): Promise<ApiError> {
  return toApiError(response, await withinDeadline(() => response.text(), deadline));
}

export async function readJson(response: Response, deadline: Deadline): Promise<unknown> {
  const text = await withinDeadline(() => response.text(), deadline);
  try {
    return JSON.parse(text) as unknown;
  } catch {
    throw unexpectedResponse(response, "the response is not JSON: check that baseUrl is the URL of a Godwit service");
  }
}
