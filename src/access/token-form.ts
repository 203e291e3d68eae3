/** Parses the request of RFC 6749 §4.4: a form, with a client that authenticates in the form or by HTTP Basic. */
import { Problem, type Fault } from "../http/problem.ts";

export type TokenRequest = { headers: Readonly<Record<string, string>>; body: Buffer; peer: string };
export type Client = { id: string; secret: string };
export type TokenForm = { client: Client; grantType: string; scope: string | undefined };

const FORM_TYPE = /^application\/x-www-form-urlencoded(?:[ \t]*;[ \t]*charset="?utf-8"?)?$/i;

// The form has four known fields, and room for those of extensions.
const MAX_FIELDS = 50;

const PARAMETERS = ["grant_type", "scope", "client_id", "client_secret"] as const;
type Parameter = (typeof PARAMETERS)[number];
type Form = Readonly<Partial<Record<Parameter, string>>>;

/** A problem with the error code of RFC 6749 beside the code of the API. */
export const oauthProblem = (
  error: string,
  code: Problem["code"],
  detail: string,
  more: { errors?: Fault[]; headers?: Record<string, string> } = {},
): Problem => new Problem(code, { detail, ...more, members: { error } });

export function parseTokenForm({ headers, body }: TokenRequest): TokenForm {
  if (!FORM_TYPE.test(headers["content-type"] ?? "") || (headers["content-encoding"] ?? "identity") !== "identity")
    throw oauthProblem("invalid_request", "unsupported_media_type", "send Content-Type: application/x-www-form-urlencoded");
  const text = body.toString("utf8");
  if (text.split("&", MAX_FIELDS + 1).length > MAX_FIELDS)
    throw oauthProblem("invalid_request", "invalid_request_payload", `the form has more than ${MAX_FIELDS} fields`);
  const form = readForm(text);
  const client = parseClient(headers["authorization"], form);
  const { grant_type: grantType, scope } = form;
  if (grantType === undefined) throw invalidForm([{ pointer: "/grant_type", code: "required", detail: "must be client_credentials" }]);
  return { client, grantType, scope };
}

/** RFC 6749 §3.2: unknown parameters are ignored, a parameter without a value counts as absent, and a known parameter occurs once.
 *  Unknown parameters may occur twice, such as `resource` of RFC 8707. */
function readForm(text: string): Form {
  const sent = new URLSearchParams(text);
  const repeated = PARAMETERS.filter((name) => sent.getAll(name).length > 1);
  if (repeated.length > 0)
    throw invalidForm(repeated.map((name) => ({ pointer: `/${name}`, code: "repeated", detail: "must be sent once" })));
  return Object.fromEntries(PARAMETERS.map((name) => [name, sent.get(name) || undefined]));
}

const invalidForm = (errors: (Fault & { pointer: string })[]): Problem => {
  const detail = errors.map((fault) => `${fault.pointer.slice(1)}: ${fault.detail}`).join("; ");
  return oauthProblem("invalid_request", "invalid_request_payload", detail, { errors });
};

const noClient = (detail: string): Problem => oauthProblem("invalid_client", "unauthorized_missing_token", detail, CHALLENGE);

function parseClient(authorization: string | undefined, { client_id: id, client_secret: secret }: Form): Client {
  if (authorization === undefined) {
    if (id === undefined || secret === undefined)
      throw noClient("send the key's id and the key by HTTP Basic, or as client_id and client_secret");
    return { id, secret };
  }
  if (secret !== undefined)
    throw invalidForm([{ pointer: "/client_secret", code: "repeated", detail: "must be sent once: there is an Authorization header too" }]);
  const client = basicClient(authorization);
  if (client === undefined) throw noClient("the Authorization header must be: Basic <base64 of id:key>");
  if (id !== undefined && id !== client.id)
    throw invalidForm([{ pointer: "/client_id", code: "mismatch", detail: "must be the one in the Authorization header" }]);
  return client;
}

export const CHALLENGE = { headers: { "www-authenticate": 'Basic realm="godwit", charset="UTF-8"' } };

/** The id and the secret are each form-encoded before they are joined (RFC 6749 §2.3.1). */
function basicClient(header: string): Client | undefined {
  const encoded = /^Basic +([A-Za-z0-9+/]+=*)$/i.exec(header)?.[1];
  if (encoded === undefined) return undefined;
  const text = Buffer.from(encoded, "base64").toString("utf8");
  const colon = text.indexOf(":");
  if (colon < 0) return undefined;
  try {
    const [id, secret] = [text.slice(0, colon), text.slice(colon + 1)].map((half) => decodeURIComponent(half.replaceAll("+", " ")));
    return id === undefined || secret === undefined ? undefined : { id, secret };
  } catch {
    return undefined;
  }
}
