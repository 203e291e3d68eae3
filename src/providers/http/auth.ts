/** The credentials of requests: fixed headers, a signature for each request, or an access token. */
import { basicAuthorization } from "../../lib/basic-authorization.ts";
import { createHash, createHmac, randomUUID } from "node:crypto";
import { unreachable } from "../../lib/assert.ts";
import type { HttpRequest } from "../../outbound/http-client.ts";
import type { AuthDefinition } from "./definition.ts";
import { AccessTokens } from "./oauth2.ts";
import type { DefinitionReader } from "./reader.ts";
import { signSigV4 } from "./sigv4.ts";
import { fillText } from "./template.ts";

/** A request without its credentials. `host` is that of the URL. */
type UnsignedRequest = HttpRequest & { host: string; nowMs: number };

export type Auth = {
  /** All headers of the request, with its credentials. Names are in lower case. */
  sign: (request: UnsignedRequest) => HttpRequest["headers"];
  /** For an access token, which is needed before a request is made. */
  tokens?: AccessTokens;
};

const NO_AUTH: Auth = { sign: ({ headers }) => headers };

const authorized =
  (authorization: () => string): Auth["sign"] =>
  ({ headers }) => ({ ...headers, authorization: authorization() });

export function compileAuth(reader: DefinitionReader, definition: AuthDefinition | undefined): Auth {
  if (definition === undefined) return NO_AUTH;
  const constant = (text: string, name: string): string => reader.constant(text, `request.auth.${name}`);
  switch (definition.type) {
    case "basic": {
      const header = basicAuthorization(constant(definition.username, "username"), constant(definition.password, "password"));
      return { sign: authorized(() => header) };
    }
    case "bearer": {
      const token = constant(definition.token, "token");
      return { sign: authorized(() => `Bearer ${token}`) };
    }
    case "oauth2": {
      const tokens = new AccessTokens(reader, definition);
      return { sign: authorized(() => tokens.header), tokens };
    }
    case "sigv4": {
      const [region, service] = [constant(definition.region, "region"), constant(definition.service, "service")];
      const accessKeyId = constant(definition.access_key_id, "access_key_id");
      const credentials = { region, service, accessKeyId, secretAccessKey: constant(definition.secret_access_key, "secret_access_key") };
      return { sign: (request) => signSigV4(credentials, request) };
    }
    case "hmac":
      return { sign: compileHmac(reader, definition) };
    default:
      return unreachable(definition);
  }
}

const SIGNED_VARIABLES = ["method", "url", "path", "body", "body_sha256", "timestamp", "nonce"] as const;

/** A signature over a text that the definition composes. Time and nonce are sent in the headers that it names. */
function compileHmac(reader: DefinitionReader, definition: Extract<AuthDefinition, { type: "hmac" }>): Auth["sign"] {
  const { algorithm = "sha256", encoding = "hex", timestamp_header: timeHeader, nonce_header: nonceHeader } = definition;
  const secret = reader.constant(definition.secret, "request.auth.secret");
  const key = Buffer.from(secret, definition.secret_encoding === "base64" ? "base64" : "utf8");
  const prefix = reader.constant(definition.prefix ?? "", "request.auth.prefix");
  const template = reader.template(definition.signed ?? "{{body}}", "request.auth.signed", SIGNED_VARIABLES);
  for (const header of [definition.header, timeHeader, nonceHeader])
    if (header !== undefined && !/^[\w-]+$/.test(header)) reader.fault("request.auth", `${header} is not the name of a header`);
  return ({ origin, path, method, headers, body, nowMs }) => {
    const values: Record<(typeof SIGNED_VARIABLES)[number], string> = {
      method,
      url: origin + path,
      path,
      body,
      body_sha256: createHash("sha256").update(body).digest("hex"),
      timestamp: String(Math.floor(nowMs / 1_000)),
      nonce: randomUUID(),
    };
    const signature = createHmac(algorithm, key)
      .update(fillText(template, (name) => values[name], String))
      .digest(encoding);
    return {
      ...headers,
      ...(timeHeader === undefined ? {} : { [timeHeader.toLowerCase()]: values.timestamp }),
      ...(nonceHeader === undefined ? {} : { [nonceHeader.toLowerCase()]: values.nonce }),
      [definition.header.toLowerCase()]: prefix + signature,
    };
  };
}
