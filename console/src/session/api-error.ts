/** The errors of requests that the console makes without the SDK. */
import { ApiError } from "godwit-sdk";

type ProblemBody = { code: string; title: string; detail: string; errors?: ApiError["errors"]; required_scopes?: string[] };

/** Converts an error response of the service to the error that the SDK would throw. */
export const toApiError = ({ status, headers }: { status: number; headers: Headers }, body: ProblemBody): ApiError =>
  new ApiError({
    status,
    code: body.code,
    title: body.title,
    detail: body.detail,
    requestId: headers.get("x-request-id"),
    errors: body.errors ?? [],
    requiredScopes: body.required_scopes ?? [],
    retryAfterSeconds: null,
    headers,
  });

/** Converts the text of an error response. A text that is no problem document comes from a proxy in front of the service. */
export function parseApiError(response: { status: number; headers: Headers }, text: string): ApiError {
  try {
    return toApiError(response, JSON.parse(text) as ProblemBody);
  } catch {
    const title = `The response has the status ${response.status}`;
    return toApiError(response, { code: "unexpected_response", title, detail: "It does not come from the service" });
  }
}
