/** The header with which Twilio's clients mark the repetition of a request: it is an idempotency key. */
import { hash } from "node:crypto";
import type { Credential } from "../access/authenticate.ts";
import type { RequestHead } from "../api/route.ts";
import { fingerprintOf, idempotencyClaim, lockSecretOf, type IdempotencyClaim, type IdempotencyKey } from "../idempotency/key.ts";
import type { SecretBox } from "../lib/secret-box.ts";
import { uuidFromBytes, uuidFromText } from "../lib/uuid.ts";
import { twilioProblem } from "./errors.ts";
import type { TwilioParameters } from "./forms.ts";

const HEADER = "i-twilio-idempotency-token";
const VERSION_4 = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/i;
const MAX_LENGTH = 255;
const UUID_BYTES = 16;

export type ClaimOf = (credential: Credential, head: RequestHead, parameters: TwilioParameters) => IdempotencyClaim | undefined;

/** The claim of a request with the header. A UUID is the key itself, and any other text is hashed to one. */
export function claimBy(box: SecretBox): ClaimOf {
  let lockSecret: ReturnType<typeof lockSecretOf> | undefined;
  return ({ environmentKey }, { method, target, headers }, parameters) => {
    const { [HEADER]: token } = headers;
    if (token === undefined) return undefined;
    if (typeof token !== "string" || token === "" || token.length > MAX_LENGTH)
      throw twilioProblem(20001, `I-Twilio-Idempotency-Token must have 1 to ${MAX_LENGTH} characters`);
    lockSecret ??= lockSecretOf(box);
    return idempotencyClaim(lockSecret, environmentKey, keyOf(token), fingerprintOf(method, target, [...parameters]));
  };
}

const keyOf = (token: string): IdempotencyKey =>
  (VERSION_4.test(token)
    ? uuidFromText(token)
    : uuidFromBytes(Buffer.from(hash("sha256", `twilio ${token}`, "hex"), "hex").subarray(0, UUID_BYTES))) as IdempotencyKey;
