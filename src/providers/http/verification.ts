/** Verifies that a callback comes from the carrier: a signature, a token, or credentials. The cheap checks come first. */
import { basicAuthorization } from "../../lib/basic-authorization.ts";
import { createHash, createHmac, createPublicKey, verify as verifySignature, type KeyObject } from "node:crypto";
import { unreachable } from "../../lib/assert.ts";
import { waysToWrite } from "../called-url.ts";
import { parseJsonObject, type JsonObject } from "../carrier-fields.ts";
import { isSameSecret } from "../carrier-request.ts";
import type { CarrierRequest } from "../provider.ts";
import type { VerificationDefinition } from "./definition.ts";
import type { DefinitionReader } from "./reader.ts";
import type { TextTemplate } from "./template.ts";

/** `calledUrl` is our public URL with the query of the request. */
type Called = { request: CarrierRequest; calledUrl: string; nowMs: number };
export type Verify = (called: Called) => boolean;

type Of<Type extends VerificationDefinition["type"]> = Extract<VerificationDefinition, { type: Type }>;

// Longer than the signatures, tokens and credentials of any carrier.
const MAX_HEADER_CHARS = 4_096;
const TOLERANCE_SECONDS = 300;
const AT = "callbacks.verification";

export function compileVerification(reader: DefinitionReader, definition: VerificationDefinition): Verify {
  const secret = (text: string, name: string): string => reader.constant(text, `${AT}.${name}`);
  switch (definition.type) {
    case "none":
      return () => true;
    case "token": {
      const [name, token] = [definition.header.toLowerCase(), secret(definition.token, "token")];
      return ({ request }) => isSameSecret(headerOf(request, name), token);
    }
    case "query-token": {
      const token = secret(definition.token, "token");
      return ({ request: { query } }) => isSameSecret((query[definition.parameter] ?? "").slice(0, MAX_HEADER_CHARS), token);
    }
    case "basic": {
      const [user, password] = [secret(definition.username, "username"), secret(definition.password, "password")];
      const expected = user === "" && password === "" ? "" : basicAuthorization(user, password);
      return ({ request }) => isSameSecret(headerOf(request, "authorization"), expected);
    }
    case "hmac":
      return compileHmac(reader, definition);
    case "ed25519":
      return compileEd25519(reader, definition);
    case "jwt":
      return compileJwt(reader, definition);
    default:
      return unreachable(definition);
  }
}

/** The header, or an empty text if it is absent or too long. */
function headerOf({ headers }: CarrierRequest, name: string): string {
  const value = headers[name] ?? "";
  return value.length <= MAX_HEADER_CHARS ? value : "";
}

function compileHmac(reader: DefinitionReader, definition: Of<"hmac">): Verify {
  const { algorithm = "sha256", encoding = "hex", prefix = "" } = definition;
  const key = reader.constant(definition.secret, `${AT}.secret`);
  const [signedBytes, isRecent] = compileSigned(reader, definition);
  const header = definition.header.toLowerCase();
  return (called) => {
    const given = headerOf(called.request, header);
    if (given === "" || key === "" || !isRecent(called)) return false;
    const sign = (signed: Buffer): string => prefix + createHmac(algorithm, key).update(signed).digest(encoding);
    return signedBytes(called).some((signed) => isSameSecret(given, sign(signed)));
  };
}

const ED25519_KEY_BYTES = 32;
const ED25519_SIGNATURE_BYTES = 64;
// The encoding of an Ed25519 key in ASN.1 is this head and the key itself (RFC 8410).
const KEY_HEAD = Buffer.from("302a300506032b6570032100", "hex");

function compileEd25519(reader: DefinitionReader, definition: Of<"ed25519">): Verify {
  const key = readPublicKey(reader.constant(definition.public_key, `${AT}.public_key`), reader);
  const [signedBytes, isRecent] = compileSigned(reader, definition);
  const header = definition.header.toLowerCase();
  return (called) => {
    const signature = Buffer.from(headerOf(called.request, header), "base64");
    if (key === undefined || signature.length !== ED25519_SIGNATURE_BYTES || !isRecent(called)) return false;
    return signedBytes(called).some((signed) => verifySignature(null, signed, key, signature));
  };
}

/** A key that is not set has been reported, or is not needed. */
function readPublicKey(text: string, reader: DefinitionReader): KeyObject | undefined {
  const bytes = Buffer.from(text, "base64");
  if (bytes.length === ED25519_KEY_BYTES) return createPublicKey({ key: Buffer.concat([KEY_HEAD, bytes]), format: "der", type: "spki" });
  if (text !== "") reader.fault(`${AT}.public_key`, `must be an Ed25519 key of ${ED25519_KEY_BYTES} bytes in base64`);
  return undefined;
}

const SIGNED_VARIABLES = ["body", "url", "url_without_query"] as const;
type SignedVariable = (typeof SIGNED_VARIABLES)[number] | `header.${string}`;

const isHeaderVariable = (name: string): name is `header.${string}` => name.startsWith("header.");

type SignedDefinition = Pick<Of<"hmac">, "signed" | "timestamp_header" | "tolerance_seconds">;

/** The bytes that the carrier may have signed, one for each way to write a signed URL, and whether the time of the request is near enough: a
 *  signature that was overheard is of no use later. */
function compileSigned(
  reader: DefinitionReader,
  definition: SignedDefinition,
): [(called: Called) => Buffer[], (called: Called) => boolean] {
  const { signed = "{{body}}", timestamp_header: timestampHeader, tolerance_seconds: tolerance = TOLERANCE_SECONDS } = definition;
  checkTimestamp(reader, signed, timestampHeader);
  const named = Array.from(signed.matchAll(/\{\{\s*(header\.[\w-]+)\s*\}\}/g), ([, name = ""]) => name).filter(isHeaderVariable);
  const template: TextTemplate<SignedVariable> = reader.template(signed, `${AT}.signed`, [...SIGNED_VARIABLES, ...named]);
  const hasUrl = template.some((part) => typeof part !== "string" && part.variable.startsWith("url"));
  const bytes = ({ calledUrl, ...called }: Called): Buffer[] =>
    (hasUrl ? waysToWrite(calledUrl, called.request) : [calledUrl]).map((url) =>
      Buffer.concat(
        template.map((part) => (typeof part === "string" ? Buffer.from(part) : signedPart(part.variable, { ...called, calledUrl: url }))),
      ),
    );
  const isRecent = ({ request, nowMs }: Called): boolean => {
    if (timestampHeader === undefined) return true;
    const seconds = Number(headerOf(request, timestampHeader.toLowerCase()) || Number.NaN);
    return Math.abs(nowMs / 1_000 - seconds) <= tolerance;
  };
  return [bytes, isRecent];
}

/** Reports a time that the signature does not cover: with another time, an overheard request would be valid for ever. */
function checkTimestamp(reader: DefinitionReader, signed: string, header: string | undefined): void {
  const variable = `{{header.${header}}}`;
  if (header === undefined || signed.toLowerCase().replaceAll(/\s/g, "").includes(variable.toLowerCase())) return;
  reader.fault(`${AT}.timestamp_header`, `is not signed, so that anyone could change it: write ${variable} in signed`);
}

function signedPart(variable: SignedVariable, { request, calledUrl }: Called): Buffer {
  if (isHeaderVariable(variable)) return Buffer.from(headerOf(request, variable.slice("header.".length).toLowerCase()));
  switch (variable) {
    case "body":
      return request.body;
    case "url":
      return Buffer.from(calledUrl);
    case "url_without_query":
      return Buffer.from(calledUrl.split("?", 1)[0] ?? "");
    default:
      return unreachable(variable);
  }
}

/** A token that the carrier signs for each request, with the hash of the body among its claims. */
function compileJwt(reader: DefinitionReader, definition: Of<"jwt">): Verify {
  const { payload_hash: hashClaim, tolerance_seconds: tolerance = TOLERANCE_SECONDS } = definition;
  const key = reader.constant(definition.secret, `${AT}.secret`);
  return ({ request, nowMs }) => {
    const claims = key === "" ? undefined : readToken(headerOf(request, "authorization"), key);
    const isRecent = Math.abs(nowMs / 1_000 - Number(claims?.["iat"])) <= tolerance;
    if (claims === undefined || !isRecent) return false;
    return hashClaim === undefined || isSameSecret(String(claims[hashClaim]), createHash("sha256").update(request.body).digest("hex"));
  };
}

/** The claims of a bearer token with a right signature. The algorithm is always HS256, whatever the token says. */
function readToken(authorization: string, key: string): JsonObject | undefined {
  const [, text = "", claims = "", signature = ""] = /^bearer ([\w-]+\.([\w-]+))\.([\w-]+)$/i.exec(authorization) ?? [];
  const isSigned = isSameSecret(signature, createHmac("sha256", key).update(text).digest("base64url"));
  return isSigned ? parseJsonObject({ text: Buffer.from(claims, "base64url").toString() }) : undefined;
}
