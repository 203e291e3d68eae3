/** The settings of a link of the provider `http`: the definition of the carrier's HTTP API, its values and its secrets. */
import { HINT, oneOf, Type, type Schema } from "../http/schema.ts";
import { compileCarrier } from "../providers/http/carrier.ts";
import type { CarrierDefinition } from "../providers/http/definition.ts";
import { RECEIPT_STATUSES } from "../providers/provider.ts";

/** Reads secrets and reports faults for a kind of link whose secrets are in their own table. */
export type DeriveContext = { readSecret: (variable: string, field: string) => string; report: (fault: string) => void };

const text = Type.String({ minLength: 1, maxLength: 1_000 });
const paths = Type.Unsafe<string | string[]>({ type: ["string", "array"], minLength: 1, maxLength: 1_000, items: text, maxItems: 5 });
const words = Type.Array(Type.String({ minLength: 1, maxLength: 100 }), { maxItems: 500 });
const table = (required: Record<string, Schema>, optional: Record<string, Schema> = {}) =>
  Type.Object(
    { ...required, ...Object.fromEntries(Object.entries(optional).map(([key, schema]) => [key, Type.Optional(schema)])) },
    { additionalProperties: false },
  );
const NAME = { pattern: "^[a-z][a-z0-9_]{0,39}$", [HINT]: "must be up to 40 of a-z, 0-9 and _, and begin with a letter" };
const templates = Type.Record(Type.String({ maxLength: 1_000 }), { maxProperties: 50 });
const condition = table({ path: text }, { equals: words });
// A status of 500 and above is always an unknown outcome: a server that failed does not know what it had done before.
const statuses = Type.Array(Type.Integer({ minimum: 200, maximum: 499 }), { maxItems: 100 });
const matches = table({}, { statuses, codes: words });
const seconds = Type.Integer({ minimum: 1, maximum: 2_592_000 });
/** The members depend on the type, and `MEMBERS` lists them. */
const typed = Type.Unsafe<unknown>({ type: "object", required: ["type"], properties: { type: { type: "string" } }, maxProperties: 20 });

const INBOUND = table(
  { from: text, to: text },
  {
    when: condition,
    items: text,
    id: text,
    text,
    details: Type.Record(text, { propertyNames: NAME, maxProperties: 20 }),
    in_reply_to: text,
    number_type: oneOf(["international", "national"]),
  },
);

const DEFINITION = {
  request: table(
    { url: text },
    {
      method: oneOf(["POST", "PUT", "GET"]),
      headers: templates,
      query: templates,
      format: oneOf(["json", "form"]),
      body: Type.Unsafe<unknown>({ type: "object", maxProperties: 100 }),
      auth: typed,
      expires_seconds: table({}, { least: seconds, most: seconds }),
    },
  ),
  response: table(
    { id: text },
    {
      success: statuses,
      accepted_when: condition,
      error_code: paths,
      throttled: matches,
      paused: matches,
      transient: matches,
      final: matches,
    },
  ),
  poll: Type.Optional(
    table({ url: text, next: text }, { headers: templates, query: templates, every_seconds: Type.Integer({ minimum: 1, maximum: 3_600 }) }),
  ),
  callbacks: Type.Optional(
    table({ verification: typed }, { format: oneOf(["json", "form", "query"]), confirm: table({ path: text, host: text }) }),
  ),
  receipts: Type.Optional(
    table(
      { status: text, statuses: table({}, Object.fromEntries(RECEIPT_STATUSES.map((status) => [status, words]))) },
      { when: condition, items: text, id: text, reference: text, error_code: text },
    ),
  ),
  inbound: Type.Optional(Type.Unsafe<unknown>({ ...INBOUND, type: ["object", "array"], items: INBOUND, minItems: 1, maxItems: 10 })),
  errors: Type.Optional(
    Type.Record(Type.String({ pattern: "^[a-z][a-z0-9_]{0,59}$", [HINT]: "must be an error code of a-z, 0-9 and _" }), {
      maxProperties: 500,
    }),
  ),
};

export const HTTP_FIELDS: Record<string, Schema> = {
  ...DEFINITION,
  values: Type.Optional(Type.Record(Type.String({ maxLength: 1_000 }), { propertyNames: NAME, maxProperties: 50 })),
  secrets: Type.Optional(
    Type.Record(Type.String({ pattern: "^[A-Z][A-Z0-9_]{0,99}$", [HINT]: "must be the name of an environment variable" }), {
      propertyNames: { pattern: "^[a-z][a-z0-9_]{0,39}_env$", [HINT]: "must be a name that ends with _env" },
      maxProperties: 20,
    }),
  ),
};

type Members = { needs: readonly string[]; may?: readonly string[] };
const SIGNED = ["signed", "timestamp_header", "tolerance_seconds"];
const AUTH: Readonly<Record<string, Members>> = {
  basic: { needs: ["username", "password"] },
  bearer: { needs: ["token"] },
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
    callbackUrl: typeof publicUrl !== "string" ? null : `${publicUrl.replace(/\/+$/, "")}/providers/http/${link}`,
  };
  const { auth } = definition.request;
  const isRight = [
    auth === undefined || checkTyped(auth, AUTH, "request.auth", context.report),
    callbacks === undefined || checkTyped(definition.callbacks?.verification, VERIFICATION, "callbacks.verification", context.report),
  ].every(Boolean);
  const compiled = isRight ? compileCarrier(configured, context.report) : undefined;
  return { ...rest, ...configured, baseUrl: compiled?.requests.baseUrl, pollUrl: compiled?.poll?.call.baseUrl };
}

const withoutUndefined = (fields: Record<string, unknown>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
