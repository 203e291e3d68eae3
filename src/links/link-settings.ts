/** The settings of a `[[link]]` table, one schema for each provider. The names are those of the file. A secret is given by the name of
 *  the environment variable that holds it. */
import { HINT, oneOf, Type, type Schema } from "../http/schema.ts";
import { isLoopback } from "../lib/addresses.ts";
import type { ProviderName } from "../providers/providers.ts";
import { SMPP_DEFAULTS, type SmppSettings } from "../providers/smpp/settings.ts";
import { partHeaderBytes } from "../providers/smpp/text.ts";
import { senderField } from "./address.ts";
import type { Channel } from "./channel.ts";

/** The name of a variable and not the secret itself, since files get into backups. */
const secret = Type.String({ pattern: "^[A-Z][A-Z0-9_]{0,99}$", [HINT]: "must be the name of an environment variable" });
const text = (maxLength = 256) => Type.String({ minLength: 1, maxLength });
const flag = Type.Boolean();
const count = (minimum: number, maximum: number) => Type.Integer({ minimum, maximum });
const url = Type.String({ pattern: "^https?://[^\\s]+$", [HINT]: "must be a URL" });

const COMMON = {
  name: Type.String({ pattern: "^[a-z][a-z0-9_-]{0,39}$", [HINT]: "must be up to 40 of a-z, 0-9, _ and -, and begin with a letter" }),
  provider: text(),
  sender: Type.Optional(senderField),
  on_unknown: Type.Optional(oneOf(["fail", "resend"])),
  hold_seconds: Type.Optional(count(1, 259_200)),
  window: Type.Optional(count(1, 1_000)),
  rate: Type.Optional(Type.Number({ minimum: 0.1, maximum: 10_000 })),
};

/** For carriers on another machine that offer no TLS: passwords and messages are readable on the network. */
const PLAINTEXT = { allow_plaintext: Type.Optional(flag) };

const of = (fields: Record<string, Schema>) => Type.Object({ ...COMMON, ...fields }, { additionalProperties: false });
const ton = Type.Optional(count(0, 6));
const npi = Type.Optional(count(0, 18));

export type LinkKind = {
  schema: Schema;
  channels: readonly Channel[];
  defaults: Readonly<Record<string, unknown>>;
  rateName: string;
  /** Derives further settings from the settings and the name of the link. */
  derive?: (settings: Readonly<Record<string, unknown>>, name: string) => Record<string, unknown>;
  /** The bytes of the header in each part of a long text, where they differ from the usual ones. */
  headerBytes?: (settings: Readonly<Record<string, unknown>>) => number;
};

export const LINK_KINDS: Readonly<Record<ProviderName, LinkKind>> = {
  simulator: {
    schema: of({ speed: Type.Optional(Type.Number({ minimum: 0.01, maximum: 1_000_000 })) }),
    channels: ["sms", "whatsapp"],
    defaults: { speed: 1 },
    rateName: "messagesPerSecond",
  },
  smpp: {
    schema: of({
      ...PLAINTEXT,
      host: text(),
      port: count(1, 65_535),
      tls: Type.Optional(flag),
      tls_server_name: Type.Optional(text()),
      tls_ca: Type.Optional(text(65_536)),
      system_id: text(15),
      password_env: secret,
      system_type: Type.Optional(Type.String({ maxLength: 12 })),
      bind_mode: Type.Optional(oneOf(["transceiver", "pair"])),
      enquire_seconds: Type.Optional(count(1, 600)),
      response_seconds: Type.Optional(count(1, 300)),
      alphabet: Type.Optional(oneOf(["gsm7", "latin1", "ascii"])),
      long_text: Type.Optional(oneOf(["udh8", "udh16", "sar", "payload"])),
      source_ton: ton,
      source_npi: npi,
      destination_ton: ton,
      destination_npi: npi,
      service_type: Type.Optional(Type.String({ maxLength: 5 })),
      receipt_ids: Type.Optional(oneOf(["learn", "same", "decimal", "hex"])),
      address_range: Type.Optional(Type.String({ maxLength: 40 })),
    }),
    channels: ["sms"],
    defaults: SMPP_DEFAULTS,
    rateName: "partsPerSecond",
    headerBytes: (settings) => partHeaderBytes(settings as SmppSettings),
  },
  whatsapp: {
    schema: of({
      ...PLAINTEXT,
      base_url: Type.Optional(url),
      version: Type.Optional(Type.String({ pattern: "^v\\d{1,3}\\.\\d{1,2}$", [HINT]: "must be a version such as v23.0" })),
      phone_number_id: text(64),
      waba_id: Type.Optional(Type.String({ pattern: "^\\d{1,32}$", [HINT]: "must be the id of a business account, digits only" })),
      access_token_env: secret,
      app_secret_env: secret,
      verify_token_env: secret,
    }),
    channels: ["whatsapp"],
    defaults: { baseUrl: "https://graph.facebook.com", version: "v23.0", wabaId: null, messagesPerSecond: 80, window: 50 },
    rateName: "messagesPerSecond",
  },
  twilio: {
    schema: of({
      ...PLAINTEXT,
      base_url: Type.Optional(url),
      account_sid: text(64),
      auth_token_env: secret,
      messaging_service_sid: Type.Optional(text(64)),
      public_url: url,
    }),
    channels: ["sms"],
    defaults: { baseUrl: "https://api.twilio.com", messagingServiceSid: null, partsPerSecond: 10, window: 20 },
    rateName: "partsPerSecond",
    // The URL at which the carrier calls this service.
    derive: ({ publicUrl, ...rest }, name) => ({
      ...rest,
      statusCallbackUrl: `${String(publicUrl).replace(/\/+$/, "")}/providers/twilio/${name}`,
    }),
  },
};

export const isProviderName = (name: unknown): name is ProviderName => typeof name === "string" && Object.hasOwn(LINK_KINDS, name);

/** Returns the setting that makes a link send secrets or messages over a network without TLS, and what to write instead. */
export function findPlaintext({ host, tls, baseUrl, publicUrl }: Readonly<Record<string, unknown>>): string | undefined {
  if (typeof host === "string" && tls !== true && !isLoopback(host))
    return `tls: is off, and ${host} is on another machine; set tls = true`;
  for (const [name, value] of Object.entries({ base_url: baseUrl, public_url: publicUrl })) {
    const address = typeof value === "string" ? URL.parse(value) : null;
    if (address?.protocol === "http:" && !isLoopback(address.hostname.replaceAll(/[[\]]/g, "")))
      return `${name}: is http:// on another machine; write https://`;
  }
  return undefined;
}
