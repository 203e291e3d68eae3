/** Builds the request of an operation: URL, headers and body, the same for every attempt. */
import { readVariable } from "./environment.ts";
import type { OperationId } from "./operation.ts";
import { OPERATIONS } from "./operations.ts";
import type { UploadBody } from "./upload-body.ts";

export type Request = { method: string; url: string; headers: Readonly<Record<string, string>>; body: string | UploadBody | undefined };

/** The input of an operation, whose types the caller has already checked. */
export type Input = {
  path?: Readonly<Record<string, string>>;
  query?: Readonly<Record<string, string | number | Date | undefined>> | undefined;
  body?: unknown;
  /** The body of an upload, in place of `body`. */
  file?: UploadBody;
  contentType?: string;
};

export function toRequest(baseUrl: string, id: OperationId, input: Input): Request {
  const { path = {}, query = {}, body, file, contentType } = input;
  const [method, template] = OPERATIONS[id];
  if ("body" in input && body === undefined) throw new TypeError(`${method} ${template} needs an object, and it is undefined`);
  const filledPath = template.replaceAll(/\{(\w+)\}/g, (_, name: string) => segment(name, path[name], `${method} ${template}`));
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value !== undefined) parameters.set(name, queryText(name, value));
  const search = parameters.toString();
  return {
    method,
    url: `${baseUrl}${filledPath}${search === "" ? "" : `?${search}`}`,
    headers: body === undefined && file === undefined ? {} : { "content-type": contentType ?? "application/json" },
    body: file ?? (body === undefined ? undefined : bodyText(body)),
  };
}

const queryText = (name: string, value: string | number | Date): string => (value instanceof Date ? timeText(name, value) : String(value));

const bodyText = (body: unknown): string =>
  JSON.stringify(body, function replaceTime(this: Record<string, unknown>, name: string, value: unknown): unknown {
    const given = this[name];
    return given instanceof Date ? timeText(name, given) : value;
  });

/** Refuses an invalid time. JSON has null in its place, and a message whose `send_at` is null is sent at once. */
function timeText(name: string, time: Date): string {
  if (Number.isNaN(time.getTime())) throw new TypeError(`${name} is an invalid date`);
  return time.toISOString();
}

/** Encodes an id for the path. Refuses an id that is empty or consists of dots, because it would address another operation. */
function segment(name: string, value: unknown, operation: string): string {
  if (typeof value === "string" && value !== "" && !/^\.{1,2}$/.test(value)) return encodeURIComponent(value);
  throw new TypeError(`${operation} needs an id, and ${name} is ${value === "" ? "empty" : String(value)}`);
}

// The address of `npx godwit serve` and of the container.
const DEFAULT_BASE_URL = "http://127.0.0.1:8080";

/** Returns the base URL without a trailing slash: the option, the variable GODWIT_URL, or the default. In a browser it may be a path, such
 *  as `/`. */
export function parseBaseUrl(option: string | URL | undefined): string {
  const name = option === undefined ? "the environment variable GODWIT_URL" : "baseUrl";
  const given = String(option ?? readVariable("GODWIT_URL") ?? DEFAULT_BASE_URL);
  const { location } = globalThis as { location?: { href: string } };
  const url = URL.canParse(given, location?.href) && given !== "" ? new URL(given, location?.href) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol)) {
    // A URL with an @ may contain a password.
    const shown = given.includes("@") ? "" : `, and is ${JSON.stringify(given)}`;
    throw new TypeError(`${name} must be an http or https URL, such as ${DEFAULT_BASE_URL}${shown}`);
  }
  if (url.username !== "" || url.password !== "" || url.search !== "" || url.hash !== "")
    throw new TypeError(`${name} must be a URL without a user, a query or a fragment, such as ${DEFAULT_BASE_URL}`);
  const baseUrl = `${url.origin}${withoutFinalSlashes(url.pathname)}`;
  if (!baseUrl.endsWith("/v1")) return baseUrl;
  throw new TypeError(`${name} must not end in /v1, which the client adds: use ${baseUrl.slice(0, -"/v1".length)}`);
}

function withoutFinalSlashes(path: string): string {
  let end = path.length;
  while (path[end - 1] === "/") end -= 1;
  return path.slice(0, end);
}

/** Lower-cases the names, so that our own headers replace the caller's headers of the same name. */
export const lowerCased = (headers: Readonly<Record<string, string>> = {}): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
