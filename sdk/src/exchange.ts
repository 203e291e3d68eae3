/** One request and its answer, or the reason why there is none. */
import type { Deadline } from "./deadline.ts";
import { ConnectionError, toApiError, unexpectedAnswer, type ApiError } from "./errors.ts";
import type { Request } from "./request.ts";

export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

export async function send(fetch: Fetch, { url, method, headers, body }: Request, deadline: Deadline): Promise<Response> {
  // A redirection followed could turn a POST into a GET, or carry the credential elsewhere.
  const init: RequestInit = { method, headers, redirect: "manual", signal: deadline.signal };
  const response = await withinDeadline(async () => fetch(url, body === undefined ? init : { ...init, body }), deadline);
  if (response.type !== "opaqueredirect" && (response.status < 300 || response.status > 399)) return response;
  throw unexpectedAnswer(response, "the answer leads elsewhere: give the URL of the service itself as baseUrl");
}

/** What the network does, told in our classes. */
export async function withinDeadline<T>(work: () => Promise<T>, deadline: Deadline): Promise<T> {
  try {
    return await deadline.limit(work());
  } catch (error) {
    if (deadline.signal.aborted) throw deadline.signal.reason;
    throw new ConnectionError(`no answer: ${failureReason(error)}`, { cause: error });
  }
}

/** Runtimes wrap what went wrong into "fetch failed". */
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
    throw unexpectedAnswer(response, "the answer is not JSON: is baseUrl the URL of a godwit?");
  }
}
