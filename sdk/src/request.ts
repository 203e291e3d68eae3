/** Builds the request of an operation: URL, headers and body, the same for every attempt. */
import type { OperationId } from "./operation.ts";
import { OPERATIONS } from "./operations.ts";

export type Request = { method: string; url: string; headers: Readonly<Record<string, string>>; body: string | undefined };

/** The input of an operation, whose types the caller has already checked. */
export type Input = {
  path?: Readonly<Record<string, string>>;
  query?: Readonly<Record<string, string | number | undefined>> | undefined;
  body?: unknown;
};

export function toRequest(baseUrl: string, id: OperationId, { path = {}, query = {}, body }: Input): Request {
  const [method, template] = OPERATIONS[id];
  const filledPath = template.replaceAll(/\{(\w+)\}/g, (_, name: string) => segment(name, path[name]));
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value !== undefined) parameters.set(name, String(value));
  const search = parameters.toString();
  return {
    method,
    url: `${baseUrl}${filledPath}${search === "" ? "" : `?${search}`}`,
    headers: body === undefined ? {} : { "content-type": "application/json" },
    body: body === undefined ? undefined : JSON.stringify(body),
  };
}

/** Encodes an id for the path. Refuses an id that is empty or consists of dots, because it would address another operation. */
function segment(name: string, value: unknown): string {
  if (typeof value === "string" && value !== "" && !/^\.{1,2}$/.test(value)) return encodeURIComponent(value);
  throw new TypeError(`${name} must be an id, and is ${value === "" ? "empty" : String(value)}`);
}

/** Returns the base URL without a trailing slash. In a browser it may be a path, such as `/`. */
export function parseBaseUrl(given: string | URL): string {
  const { location } = globalThis as { location?: { href: string } };
  const url = new URL(given, location?.href);
  if (!/^https?:$/.test(url.protocol) || url.username !== "" || url.password !== "" || url.search !== "" || url.hash !== "")
    throw new TypeError("baseUrl must be an http or https URL without a user, a query or a fragment");
  return `${url.origin}${url.pathname.replace(/\/+$/, "")}`;
}

/** Lower-cases the names, so that our own headers replace the caller's headers of the same name. */
export const lowerCased = (headers: Readonly<Record<string, string>> = {}): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
