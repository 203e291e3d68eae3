/** Sends one request and reads its response, or throws the reason why there is none. */
import type { Deadline } from "./deadline.ts";
import { ConnectionError, GodwitError, toApiError, unexpectedResponse, type ApiError } from "./errors.ts";
import type { Request } from "./request.ts";
import { isUploadBody, type UploadBody } from "./upload-body.ts";

export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

const REDIRECTED = "the response is a redirect, which is not followed: set baseUrl to the final URL of the service";

export async function send(fetch: Fetch, { url, method, headers, body }: Request, deadline: Deadline): Promise<Response> {
  // Following a redirect could turn a POST into a GET, or send the credential to another host.
  const init: RequestInit = { method, headers, redirect: "manual", signal: deadline.signal };
  if (isUploadBody(body)) return sendUpload((upload) => fetch(url, { ...init, ...upload }), body, { deadline, url });
  const response = await withinDeadline(async () => fetch(url, body === undefined ? init : { ...init, body }), deadline, url);
  if (response.type !== "opaqueredirect" && (response.status < 300 || response.status > 399)) return response;
  throw unexpectedResponse(response, REDIRECTED);
}

/** The options of a request with a stream. Node copies a request that may be redirected or that belongs to a window, and the copy keeps all bytes. */
const STREAMED = { redirect: "error", window: null, duplex: "half" } as const;

type Target = { deadline: Deadline; url: string };

async function sendUpload(
  fetch: (init: RequestInit) => Promise<Response>,
  upload: UploadBody,
  { deadline, url }: Target,
): Promise<Response> {
  const body = await deadline.limit(upload.open());
  try {
    return await withinDeadline(async () => fetch({ ...STREAMED, body }), deadline, url);
  } catch (error) {
    if (upload.failure !== undefined) throw upload.failure.error;
    if (error instanceof ConnectionError && /unexpected redirect/.test(error.message)) throw new GodwitError(REDIRECTED, { cause: error });
    throw error;
  }
}

/** Runs the work under the deadline. Converts an error of the network to a `ConnectionError`. `url`: the work opens the connection. */
export async function withinDeadline<T>(work: () => Promise<T>, deadline: Deadline, url?: string): Promise<T> {
  try {
    return await deadline.limit(work());
  } catch (error) {
    if (deadline.signal.aborted) throw deadline.signal.reason;
    const from = url === undefined ? "" : ` from ${new URL(url).origin}`;
    throw new ConnectionError(`no response${from}: ${failureReason(error)}`, { cause: error });
  }
}

/** Returns the reason of a failed request. Runtimes hide it in the cause, behind "fetch failed". */
function failureReason(error: unknown): string {
  const { message, cause } = error as { message?: string; cause?: { message?: string; code?: string } };
  const reason = [cause?.message, cause?.code, message].find((text) => text !== undefined && text !== "") ?? "the connection failed";
  return cause?.code === "ECONNREFUSED" ? `${reason}; is Godwit running there?` : reason;
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
