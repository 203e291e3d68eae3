/** The link that an account defines: the fields of requests, and how they become a link. A definition has the settings of a `[[link]]` table
 *  of the configuration file; its secrets are given literally. */
import { parseBoundedUrl } from "../lib/urls.ts";
import { isIP } from "node:net";
import { isDeepStrictEqual } from "node:util";
import { hasSuggestion } from "../lib/nearest.ts";
import { escapePointer, type Fault } from "../http/problem.ts";
import { HINT, oneOf, optional, Type, type Schema, type Static } from "../http/schema.ts";
import { compile } from "../http/validate.ts";
import { encodeId, type AccountId, type LinkId } from "../model/id.ts";
import { UNSEEN } from "../model/unseen-characters.ts";
import { hostOf } from "../lib/addresses.ts";
import { uuidToText } from "../lib/uuid.ts";
import { countryField, senderField } from "./address.ts";
import { CARRIERS, providerMeant, withCarrierFiles } from "./carrier-files.ts";
import { COMMON } from "./link-kind.ts";
import { priceTable } from "./prices.ts";
import { findPlaintext, LINK_KINDS } from "./link-settings.ts";
import type { Link } from "./link.ts";
import { readLink } from "./plan.ts";
import { smscAddresses, type SmppSettings } from "../providers/smpp/settings.ts";
import type { AddressGate } from "../outbound/address-gate.ts";

export const CREATED_PROVIDERS = ["smpp", "twilio", "whatsapp", "http"] as const;
export type CreatedProvider = (typeof CREATED_PROVIDERS)[number];

// Certificates and keys are the largest settings.
const MAX_SECRET = 16_384;

// A name is shown to the operator, in a terminal as well.
const name = Type.String({
  minLength: 1,
  maxLength: 64,
  pattern: `^(?!.*[${UNSEEN}])\\S(.*\\S)?$`,
  [HINT]: "must have 1 to 64 characters, no white space at its ends, and no control characters",
  description: "A name, unique among the links of the account.",
  examples: ["Acme"],
});
const settings = Type.Unsafe<Record<string, unknown>>({
  type: "object",
  additionalProperties: true,
  maxProperties: 60,
  description:
    "The settings of the provider, with the names of the configuration file: see [Connect carriers](/docs/links), [SMPP](/docs/smpp) and [Carriers](/docs/carriers). Secrets are given literally, such as `password` in place of `password_env`, and are never returned.",
  examples: [{ host: "smpp.acme.example", port: 2776, tls: true, system_id: "godwit", password: "…" }],
});
const common = {
  sender: optional({ ...senderField, description: "The default sender of the link." }),
  any_sender: optional(
    Type.Boolean({
      description: "Permits messages to name senders that the link does not have. By default only a link without senders takes any.",
    }),
  ),
  country: optional({ ...countryField, description: "The country whose national numbers the carrier may send." }),
  rate: optional(
    Type.Number({
      minimum: 0.1,
      maximum: 10_000,
      description: "The maximum number of parts per second, or of messages on channels without parts.",
    }),
  ),
  window: optional(
    Type.Integer({ minimum: 1, maximum: 100, description: "The maximum number of submissions that wait for a response at the same time." }),
  ),
  prices: optional({
    ...priceTable,
    maxProperties: 100,
    description:
      "Prices of a segment, for routes with the strategy `price`: of all countries (`*`), of a country (`DE`), and of the beginning of a number (`+4917`).",
    examples: [{ "*": 0.05, DE: 0.07 }],
  }),
  hold_seconds: optional(
    Type.Integer({ minimum: 1, maximum: 259_200, description: "The seconds to wait for a late response after an unknown outcome." }),
  ),
  on_unknown: optional(oneOf(["fail", "resend"], { description: "What happens to a message with an unknown outcome after the wait." })),
};

const definitionFields = {
  provider: oneOf(CREATED_PROVIDERS, { description: "The kind of connection.", [HINT]: providerMeant }),
  carrier: optional(oneOf(CARRIERS, { description: "The carrier, with the provider `http`." })),
  ...common,
  settings,
};
export const NewLinkBody = Type.Object(
  { name, ...definitionFields },
  { additionalProperties: false, title: "NewLink", description: "A link to create." },
);
export type NewLink = Static<typeof NewLinkBody>;

export const EditLinkBody = Type.Object(
  {
    name: optional(name),
    ...common,
    settings: optional(settings),
    paused: optional(Type.Boolean({ description: "A paused link sends nothing. It still receives receipts and inbound messages." })),
  },
  { additionalProperties: false, title: "EditLink", description: "The fields to change." },
);
export type EditLink = Static<typeof EditLinkBody>;

/** A definition as it is stored, without secrets. */
export type LinkDefinition = Omit<NewLink, "name">;
const checkDefinition = compile(Type.Object(definitionFields, { additionalProperties: false }), "body");
/** The faults of a stored definition, which another version may have written. Those of its settings are found when the link is read. */
export const definitionFaults = (definition: unknown): Fault[] => checkDefinition(definition);

/** Secrets by the names of their settings. */
export type LinkSecrets = Readonly<Record<string, string>>;

const SUFFIX = "_env";

const propertiesOf = (provider: CreatedProvider): Record<string, Schema> =>
  (LINK_KINDS[provider].schema as unknown as { properties: Record<string, Schema> }).properties;

/** The names of the secrets of a provider. Those of HTTP carriers are in a table of their own. */
const secretNames = (provider: CreatedProvider): string[] =>
  Object.keys(propertiesOf(provider))
    .filter((key) => key.endsWith(SUFFIX))
    .map((key) => key.slice(0, -SUFFIX.length));

const literal = Type.String({
  minLength: 1,
  maxLength: MAX_SECRET,
  pattern: "^[^\\u0000-\\u001f\\u007f]*$",
  [HINT]: "must not have control characters or line breaks",
});
// A key in PEM has several lines.
const pem = Type.String({ minLength: 1, maxLength: MAX_SECRET });
const SEVERAL_LINES: ReadonlySet<string> = new Set(["tls_key"]);
const secretTable = Type.Record(literal, { maxProperties: 20 });
const valueTable = Type.Record(Type.String({ maxLength: 1_000 }), { maxProperties: 50 });

const certificates = Type.String({ minLength: 1, maxLength: MAX_SECRET });

/** The settings that an account may give. The operator's file has further ones: definitions of carriers, and connections without TLS. */
export function settingsSchema(provider: CreatedProvider): Schema {
  const { allow_plaintext: _, ...all } = propertiesOf(provider);
  const own = Object.entries(all).filter(([key]) => !Object.hasOwn(COMMON, key) && !key.endsWith(SUFFIX));
  // An account may take less of the service than its operator.
  const bounded =
    provider === "smpp" ? { binds: Type.Integer({ minimum: 1, maximum: 4 }), tls_ca: certificates, tls_cert: certificates } : {};
  const fields =
    provider === "http"
      ? { public_url: all["public_url"] as Schema, secrets: secretTable, values: valueTable }
      : {
          ...Object.fromEntries([
            ...own,
            ...secretNames(provider).map((secret) => [secret, SEVERAL_LINES.has(secret) ? pem : literal] as const),
          ]),
          ...bounded,
        };
  return Type.Unsafe({ type: "object", properties: fields, additionalProperties: false });
}

const VALIDATORS = new Map(CREATED_PROVIDERS.map((provider) => [provider, compile(settingsSchema(provider), "body")] as const));

/** The faults of settings that the schema of a request cannot express: those of their provider. */
export function settingFaults({ provider, settings: given }: Readonly<Record<string, unknown>>): Fault[] {
  const validate = VALIDATORS.get(provider as CreatedProvider);
  if (validate === undefined || typeof given !== "object" || given === null) return [];
  return validate(given)
    .map((fault) => ("pointer" in fault ? { ...fault, pointer: `/settings${fault.pointer}` } : fault))
    .map((fault) => (provider === "http" && fault.code === "unknown_field" && !hasSuggestion(fault.detail) ? withPlace(fault) : fault));
}

/** Settings of HTTP carriers have tables. */
const withPlace = (fault: Fault): Fault => ({
  ...fault,
  detail: `${fault.detail}: secrets belong in settings.secrets, other values of the carrier in settings.values`,
});

/** The faults of names of settings that a provider does not have. */
export function unknownSettings(provider: CreatedProvider, names: readonly string[]): Fault[] {
  const { properties } = settingsSchema(provider) as unknown as { properties: Readonly<Record<string, Schema>> };
  return names
    .filter((each) => !Object.hasOwn(properties, each))
    .map((each) => ({ pointer: `/settings/${escapePointer(each)}`, code: "unknown_field", detail: "is not a known field" }));
}

/** Moves the secrets out of settings. */
export function splitSecrets(
  provider: CreatedProvider,
  given: Readonly<Record<string, unknown>>,
): { plain: Record<string, unknown>; secrets: LinkSecrets } {
  if (provider === "http") {
    const { secrets = {}, ...plain } = given;
    return { plain, secrets: secrets as LinkSecrets };
  }
  const names = new Set(secretNames(provider));
  const entries = Object.entries(given);
  return {
    plain: Object.fromEntries(entries.filter(([key]) => !names.has(key))),
    secrets: Object.fromEntries(entries.filter(([key]) => names.has(key)) as [string, string][]),
  };
}

export type CreatedLink = { account_id: AccountId; id: LinkId; definition: LinkDefinition; secrets: LinkSecrets };

export type ReadLink = { kind: "read"; link: Link } | { kind: "faulty"; faults: Fault[] } | { kind: "refused"; fault: Fault };

/** Reads a definition as the configuration file is read. Returns the link, the faults of the definition, or the address that the account
 *  may not connect to. */
export function readCreatedLink(created: CreatedLink, gate: AddressGate): ReadLink {
  const { account_id: accountId, definition, secrets } = created;
  const linkName = encodeId("lnk", created.id);
  const texts: string[] = [];
  const merged = withCarrierFiles({ link: [toTable(created)] }, undefined, texts) as { link: unknown[] };
  const link = readLink(merged.link[0], "link", { secretOf: (variable) => secrets[variable.toLowerCase()], faults: texts });
  const faults = [
    ...distinct(texts.map((text) => toFault(text.replace(`link ${linkName}: `, ""), secrets))),
    ...(definition.provider === "http" && !definition.carrier
      ? [{ pointer: "/carrier", code: "required", detail: `is required with provider http: one of ${CARRIERS.join(", ")}` }]
      : []),
    ...(definition.provider !== "http" && definition.carrier
      ? [{ pointer: "/carrier", code: "not_allowed", detail: "belongs to the provider http" }]
      : []),
    ...publicUrlFaults(definition),
    ...userFaults(definition),
  ];
  if (link === undefined || faults.length > 0) return { kind: "faulty", faults };
  const fault = addressFault(link, gate);
  if (fault !== undefined) return { kind: "refused", fault };
  // Always the same gate: links with equal settings are equal.
  const owned = { ...(link.settings as object), gate, owner: uuidToText(accountId) };
  return { kind: "read", link: { ...link, source: "api", accountId, settings: owned } };
}

/** The fault of an address that the account may not connect to. */
function addressFault(link: Link, gate: AddressGate): Fault | undefined {
  for (const { host, isTls, pointer } of targetsOf(link)) {
    const reason = gate.hostRefusal(host, isTls);
    if (reason !== undefined)
      return { pointer, code: "not_allowed", detail: `${reason}, unless the operator allows its network with GODWIT_WEBHOOK_ALLOW` };
  }
  return undefined;
}

type Target = { host: string; port: string; path: string; isTls: boolean; pointer: string };

/** Whether two links connect to the same addresses. */
export const hasSameTargets = (one: Link, other: Link): boolean => isDeepStrictEqual(targetsOf(one), targetsOf(other));

/** The hosts that a link connects to. */
function targetsOf({ provider, settings: given }: Link): Target[] {
  if (provider === "smpp") {
    const { tls, hosts } = given as SmppSettings;
    const pointer = hosts.length > 0 ? "/settings/hosts" : "/settings/host";
    return smscAddresses(given as SmppSettings).map(({ host, port }) => ({ host, port: String(port), path: "", isTls: tls, pointer }));
  }
  const { baseUrl, pollUrl, tokenUrl } = given as { baseUrl?: string; pollUrl?: string; tokenUrl?: string };
  return [baseUrl, pollUrl, tokenUrl].flatMap((text) => {
    const url = parseBoundedUrl(text ?? "");
    if (url === null) return [];
    const pointer = provider === "http" ? "/settings/values" : "/settings/base_url";
    return [{ host: hostOf(url), port: url.port, path: url.pathname, isTls: url.protocol === "https:", pointer }];
  });
}

/** The definition as a table of the configuration file. Each secret has a variable with its name in capitals. */
function toTable({ id, definition, secrets }: CreatedLink): Record<string, unknown> {
  const { provider, carrier, settings: own, ...rest } = definition;
  const variables = Object.fromEntries(Object.keys(secrets).map((key) => [`${key}${SUFFIX}`, key.toUpperCase()]));
  const present = Object.fromEntries(Object.entries(rest).filter(([, value]) => value !== null && value !== undefined));
  return {
    name: encodeId("lnk", id),
    provider,
    ...present,
    ...own,
    ...(provider === "http" ? { secrets: variables, ...(carrier ? { carrier } : {}) } : variables),
    // `addressFault` decides whether TLS is needed.
    allow_plaintext: true,
  };
}

function publicUrlFaults({ settings: own }: LinkDefinition): Fault[] {
  const { public_url: publicUrl } = own;
  const host = typeof publicUrl === "string" ? (parseBoundedUrl(publicUrl)?.hostname ?? "") : "";
  const fault = typeof publicUrl === "string" && isIP(host) === 0 ? findPlaintext({ publicUrl }) : undefined;
  return fault === undefined ? [] : [toFault(fault)];
}

/** A password in a URL would be stored and shown like any other setting. */
const userFaults = ({ settings: own }: LinkDefinition): Fault[] =>
  Object.entries(own).flatMap(([setting, value]) => {
    const url = typeof value === "string" && value.includes("@") ? parseBoundedUrl(value) : null;
    const hasUser = url !== null && `${url.username}${url.password}` !== "";
    return hasUser ? [{ pointer: `/settings/${setting}`, code: "not_allowed", detail: "must not have a user or a password" }] : [];
  });

/** The fault of a text such as `password_env: is required`. */
function toFault(text: string, secrets: LinkSecrets = {}): Fault {
  const [, path = "", detail = text] = /^([\w.]+): (.*)$/s.exec(text) ?? [];
  const cause = causeOf(path, detail, secrets);
  if (cause !== undefined) return cause;
  const names = path.split(".").map((part) => part.replace(/_env$/, ""));
  const pointer = path === "" ? "/settings" : Object.hasOwn(COMMON, path) ? `/${path}` : `/settings/${names.join("/")}`;
  const isMissing = /^the variable \w+ is not set$/.test(detail) || detail === "is required";
  return { pointer, ...(isMissing ? MISSING : { code: "invalid_value", detail: detail.replaceAll(/_env\b/g, "") }) };
}

const MISSING = { code: "required", detail: "is required" };

/** The cause of a fault in the definition of an HTTP carrier, which the account cannot see: a value or secret that it gave, or did not
 *  give. */
function causeOf(path: string, detail: string, secrets: LinkSecrets): Fault | undefined {
  const [, kind, missing] = /^the (value|secret) (\w+) is not set/.exec(detail) ?? [];
  if (kind !== undefined) return { pointer: `/settings/${kind}s/${missing}`, ...MISSING };
  if (detail === "{{callback_url}} needs public_url") return { pointer: "/settings/public_url", ...MISSING };
  const member = /^callbacks\.verification\.(\w+)$/.exec(path)?.[1];
  if (member === undefined || secrets[member] === undefined) return undefined;
  return { pointer: `/settings/secrets/${member}`, code: "invalid_value", detail };
}

/** A value that is missing in several places is one fault. */
const distinct = (faults: readonly Fault[]): Fault[] => [...new Map(faults.map((fault) => [JSON.stringify(fault), fault])).values()];
