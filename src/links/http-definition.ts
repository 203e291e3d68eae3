/** The settings of a link of the provider `http`: the definition of the carrier's HTTP API, its values and its secrets. */
import { withoutFinalSlashes } from "../lib/urls.ts";
import { compileCarrier } from "../providers/http/carrier.ts";
import type { CarrierDefinition } from "../providers/http/definition.ts";

/** Reads secrets and reports faults for a kind of link whose secrets are in their own table. */
export type DeriveContext = { readSecret: (variable: string, field: string) => string; report: (fault: string) => void };

type Members = { needs: readonly string[]; may?: readonly string[] };
const SIGNED = ["signed", "timestamp_header", "tolerance_seconds"];
const AUTH: Readonly<Record<string, Members>> = {
  basic: { needs: ["username", "password"] },
  bearer: { needs: ["token"] },
  oauth2: { needs: ["token_url", "client_id", "client_secret"], may: ["scope", "audience", "client_auth"] },
  hmac: {
    needs: ["header", "secret"],
    may: ["secret_encoding", "algorithm", "encoding", "prefix", "signed", "timestamp_header", "nonce_header"],
  },
  sigv4: { needs: ["region", "service", "access_key_id", "secret_access_key"] },
};
const VERIFICATION: Readonly<Record<string, Members>> = {
  none: { needs: [] },
  token: { needs: ["header", "token"] },
  "query-token": { needs: ["parameter", "token"] },
  basic: { needs: ["username", "password"] },
  hmac: { needs: ["header", "secret"], may: ["algorithm", "encoding", "prefix", ...SIGNED] },
  ed25519: { needs: ["header", "public_key"], may: SIGNED },
  jwt: { needs: ["secret"], may: ["payload_hash", "tolerance_seconds"] },
};
/** The values of members that are not templates. */
const VALUES: Readonly<Record<string, readonly unknown[]>> = {
  algorithm: ["sha1", "sha256", "sha512"],
  encoding: ["hex", "base64"],
  secret_encoding: ["text", "base64"],
  client_auth: ["header", "body"],
};

/** Reports members that the type does not have, and missing ones. Returns whether the table is right. */
function checkTyped(value: unknown, kinds: Readonly<Record<string, Members>>, at: string, report: DeriveContext["report"]): boolean {
  const { type, ...members } = value as Record<string, unknown> & { type: string };
  const kind = Object.hasOwn(kinds, type) ? kinds[type] : undefined;
  const faults: string[] = [];
  if (kind === undefined) faults.push(`${at}.type: must be one of ${Object.keys(kinds).join(", ")}`);
  const { needs, may = [] } = kind ?? { needs: [], may: Object.keys(members) };
  for (const name of needs) if (!(name in members)) faults.push(`${at}.${name}: is required with type ${type}`);
  for (const [name, member] of Object.entries(members)) {
    const isKnown = needs.includes(name) || may.includes(name);
    if (!isKnown) faults.push(`${at}.${name}: is not a known field with type ${type}`);
    else if (VALUES[name]?.includes(member) === false) faults.push(`${at}.${name}: must be one of ${VALUES[name].join(", ")}`);
    else if (typeof member !== (name === "tolerance_seconds" ? "number" : "string")) faults.push(`${at}.${name}: has the wrong type`);
  }
  for (const fault of faults) report(fault);
  return faults.length === 0;
}

const SECRET_SUFFIX = "_env";

/** The settings that the provider receives. The definition is compiled once here, so that all of its faults are reported. */
export function deriveHttp(settings: Readonly<Record<string, unknown>>, link: string, context: DeriveContext): Record<string, unknown> {
  const { request, response, poll, callbacks, receipts, inbound, errors, values = {}, secrets = {}, publicUrl, ...rest } = settings;
  const definition = withoutUndefined({ request, response, poll, callbacks, receipts, inbound, errors }) as CarrierDefinition;
  const configured = {
    definition,
    values: values as Record<string, string>,
    secrets: Object.fromEntries(
      Object.entries(secrets as Record<string, string>).map(([name, variable]) => [
        name.slice(0, -SECRET_SUFFIX.length),
        context.readSecret(variable, `secrets.${name}`),
      ]),
    ),
    callbackUrl: typeof publicUrl !== "string" ? null : `${withoutFinalSlashes(publicUrl)}/providers/http/${link}`,
  };
  const { auth } = definition.request;
  const isRight = [
    auth === undefined || checkTyped(auth, AUTH, "request.auth", context.report),
    callbacks === undefined || checkTyped(definition.callbacks?.verification, VERIFICATION, "callbacks.verification", context.report),
  ].every(Boolean);
  const compiled = isRight ? compileCarrier(configured, context.report) : undefined;
  const urls = { baseUrl: compiled?.requests.baseUrl, pollUrl: compiled?.poll?.call.baseUrl, tokenUrl: compiled?.tokens?.origin };
  return { ...rest, ...configured, ...urls };
}

const withoutUndefined = (fields: Record<string, unknown>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
