/** The rows of Twilio's API: each reads its parameters from a form or a query, and belongs to the account of its credential. */
import { isUtf8, type Buffer } from "node:buffer";
import type { CompatibleAuthenticator, CompatibleCredential } from "../compatible/authenticate.ts";
import type { Scope } from "../access/scope.ts";
import { JSON_TYPE } from "../api/responses.ts";
import type { Call, Route, RouteResponse, StreamResponse } from "../api/route.ts";
import { Problem } from "../http/problem.ts";
import { Type } from "../http/schema.ts";
import type { AuditedCall, Executed, Replay } from "../idempotency/once.ts";
import { authenticateBy, lastEnvironmentBy } from "./api.ts";
import { toTwilioError, twilioProblem } from "./errors.ts";
import { parseParameters, type TwilioParameters } from "./forms.ts";
import { claimBy, type ClaimOf } from "./idempotency.ts";
import { accountSid } from "./sids.ts";
import type { SecretBox } from "../lib/secret-box.ts";

/** The base path. Clients set it as the base URL of each product of Twilio. */
export const PREFIX = "/twilio";

/** A request of a client. */
export type TwilioRequest = {
  credential: CompatibleCredential;
  accountSid: string;
  params: Readonly<Record<string, string>>;
  parameters: TwilioParameters;
  /** The path without the base path, as the resources name themselves. */
  path: string;
  /** The URL of this API, by which the resources of newer products name themselves. */
  baseUrl: string;
  /** For features that store the response with the idempotency key of the request. */
  write: AuditedCall & { credential: CompatibleCredential; requestId: Call<never, never, never>["requestId"] };
};

export type TwilioRow = {
  method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** Below the base path, with Twilio's names of parameters. */
  path: string;
  operationId: string;
  scope: Scope | null;
  weight?: "send" | "heavy";
  handle: (request: TwilioRequest) => Promise<RouteResponse | StreamResponse>;
};

type RowParts = { users: CompatibleAuthenticator; box: SecretBox };

/** Makes the route of each row. */
export function routesOf({ users, box }: RowParts, rows: readonly TwilioRow[]): Route[] {
  const compatible = { authenticate: authenticateBy(users), lastEnvironmentOf: lastEnvironmentBy(users), writeRefusal };
  const claimOf = claimBy(box);
  return rows.map(({ method, path, operationId, scope, weight, handle }) => ({
    method,
    path: `${PREFIX}${path}`,
    operationId,
    summary: `${method} ${path} of Twilio's API`,
    description: "See Move from Twilio.",
    tag: "Compatible APIs",
    scope,
    isIdempotent: false,
    ...(weight === undefined ? {} : { weight }),
    keepsTrace: true,
    compatible,
    reply: { status: 200, description: "The resource, as Twilio's documents describe it.", schema: Type.Object({}) },
    problems: [],
    handle: async (call: Call<never, never, never>) => handle(readRequest(call, claimOf)),
  }));
}

function readRequest(call: Call<never, never, never>, claimOf: ClaimOf): TwilioRequest {
  const { head, body, origin, requestId, trace } = call;
  const credential = call.credential as CompatibleCredential;
  const params = call.params as Readonly<Record<string, string>>;
  const [target = "", query = ""] = splitOnce(head.target, "?");
  const sid = accountSid(credential);
  const hasPrefix = target.startsWith(PREFIX);
  const path = hasPrefix ? target.slice(PREFIX.length) : target;
  const baseUrl = call.address + (hasPrefix ? PREFIX : "");
  if ("AccountSid" in params && params["AccountSid"] !== sid) throw notFound(path);
  const parameters = head.method === "POST" ? readForm(body, call.header("content-type"), query) : parseParameters(query);
  const claim = head.method === "POST" ? claimOf(credential, head, parameters) : undefined;
  const write = { credential, origin, requestId, trace, claim, writeProblem };
  return { credential, accountSid: sid, params, parameters, path, baseUrl, write };
}

function splitOnce(text: string, separator: string): string[] {
  const at = text.indexOf(separator);
  return at === -1 ? [text] : [text.slice(0, at), text.slice(at + 1)];
}

const FORM_TYPE = /^application\/x-www-form-urlencoded(?:[ \t]*;[ \t]*charset="?utf-8"?)?$/i;

function readForm(body: Buffer, contentType: string | undefined, query: string): TwilioParameters {
  if (query !== "") throw twilioProblem(20001, "The parameters of a POST request belong in its body");
  if (body.length > 0 && !FORM_TYPE.test(contentType ?? ""))
    throw new Problem("unsupported_media_type", { detail: "Send Content-Type: application/x-www-form-urlencoded" });
  if (!isUtf8(body)) throw twilioProblem(20001, "The body is not UTF-8");
  return parseParameters(body.toString("utf8"));
}

export const notFound = (path: string): Problem => twilioProblem(20404, `The requested resource ${path.slice(0, 300)} was not found`);

const CHALLENGE = { "www-authenticate": 'Basic realm="Twilio API"' };

function writeRefusal(problem: Problem): RouteResponse {
  const error = toTwilioError(problem);
  return {
    status: error.status,
    contentType: JSON_TYPE,
    body: JSON.stringify(error),
    headers: error.status === 401 ? CHALLENGE : {},
  };
}

const writeProblem = (problem: Problem): string => JSON.stringify(toTwilioError(problem));

export const jsonReply = (value: unknown, status = 200): RouteResponse => ({
  status,
  contentType: JSON_TYPE,
  body: JSON.stringify(value),
});

/** The response of a write, whose record `toResource` converts. A refusal that is stored with its key is in Twilio's form already. */
export function writeReply(response: Executed | Replay, status: number, toResource: (record: never) => unknown): RouteResponse {
  const { body, kind, location } = response;
  const value: unknown = JSON.parse(body);
  const isReplay = kind === "replay";
  if (response.status >= 400) return { status: (value as { status: number }).status, contentType: JSON_TYPE, body, isReplay };
  return { ...jsonReply(toResource(value as never), status), location, isReplay };
}
