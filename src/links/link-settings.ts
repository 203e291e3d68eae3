/** The settings of a `[[link]]` table, one schema for each provider. The names are those of the file. A secret is given by the name of
 *  the environment variable that holds it. */
import { parseBoundedUrl, withoutFinalSlashes } from "../lib/urls.ts";
import { HINT, Type } from "../http/schema.ts";
import { isLoopback } from "../lib/addresses.ts";
import { HTTP_FIELDS } from "../providers/http/definition.ts";
import type { ProviderName } from "../providers/providers.ts";
import { TWILIO_DEFAULTS } from "../providers/twilio/twilio.ts";
import { WHATSAPP_DEFAULTS } from "../providers/whatsapp/whatsapp.ts";
import { smscAddresses, type SmppSettings } from "../providers/smpp/settings.ts";
import { deriveHttp } from "./http-definition.ts";
import { described, linkSchema, optionally, PLAINTEXT, PUBLIC_URL, secret, text, url, type LinkKind } from "./link-kind.ts";
import { SMPP_KIND } from "./smpp-kind.ts";
import type { Fault } from "../http/problem.ts";
import { compile } from "../http/validate.ts";
import type { CarrierOptionKind } from "./link-kind.ts";
import type { Link } from "./link.ts";
import type { CarrierOptions } from "../providers/provider.ts";

export const LINK_KINDS: Readonly<Record<ProviderName, LinkKind>> = {
  simulator: {
    schema: linkSchema({ speed: Type.Optional(Type.Number({ minimum: 0.01, maximum: 1_000_000 })) }),
    channels: ["sms", "whatsapp"],
    defaults: { speed: 1 },
    rateName: "messagesPerSecond",
    // Requests for any carrier can be tried in `test`.
    carrierOptions: { schema: Type.Object({}, { additionalProperties: true, maxProperties: 20 }) },
  },
  smpp: SMPP_KIND,
  whatsapp: {
    schema: linkSchema({
      phone_number_id: described(
        Type.String({ pattern: "^\\d{1,64}$", [HINT]: "must be digits" }),
        '"000000000000000"',
        "Id of the phone number at Meta (App Dashboard, WhatsApp, API Setup): below the number, not the number itself.",
      ),
      waba_id: optionally(
        Type.String({ pattern: "^\\d{1,32}$", [HINT]: "must be the id of a business account, digits only" }),
        '"102290129340398"',
        "Id of the WhatsApp business account, on the same page. With it, Meta reviews templates. Links with the same id share them.",
      ),
      access_token_env: described(
        secret,
        '"WHATSAPP_ACCESS_TOKEN"',
        "Environment variable with the access token (Business settings, System users): a permanent one with whatsapp_business_messaging.",
      ),
      app_secret_env: described(
        secret,
        '"WHATSAPP_APP_SECRET"',
        "Environment variable with the app secret (App Dashboard, App settings, Basic), which verifies callbacks.",
      ),
      verify_token_env: described(
        secret,
        '"WHATSAPP_VERIFY_TOKEN"',
        "Environment variable with the verify token: any text, which you also enter beside the callback URL at Meta.",
      ),
      version: optionally(
        Type.String({ pattern: "^v\\d{1,3}\\.\\d{1,2}$", [HINT]: "must be a version such as v23.0" }),
        '"v23.0"',
        "Version of the Graph API.",
      ),
      base_url: optionally(url, '"https://graph.facebook.com"', "URL of the Graph API."),
      ...PLAINTEXT,
    }),
    channels: ["whatsapp"],
    defaults: WHATSAPP_DEFAULTS,
    rateName: "messagesPerSecond",
  },
  twilio: {
    schema: linkSchema({
      account_sid: described(
        Type.String({ pattern: "^\\w{1,64}$", [HINT]: "must be letters and digits" }),
        '"AC00000000000000000000000000000000"',
        "Account SID on the first page of the Twilio Console (Account Info). It begins with AC.",
      ),
      auth_token_env: described(
        secret,
        '"TWILIO_AUTH_TOKEN"',
        "Environment variable with the auth token, below the account SID. It also verifies callbacks.",
      ),
      messaging_service_sid: optionally(
        text(64),
        '"your-messaging-service-sid"',
        "Messaging service (Messaging, Services) that chooses the sender. It begins with MG.",
      ),
      public_url: described(...PUBLIC_URL),
      base_url: optionally(url, '"https://api.twilio.com"', "URL of the API, for carriers with a compatible API."),
      ...PLAINTEXT,
    }),
    channels: ["sms"],
    defaults: TWILIO_DEFAULTS,
    rateName: "partsPerSecond",
    // The URL at which the carrier calls this service.
    derive: ({ publicUrl, ...rest }, name) => ({
      ...rest,
      statusCallbackUrl: `${withoutFinalSlashes(String(publicUrl))}/providers/twilio/${name}`,
    }),
  },
  http: {
    schema: linkSchema({ public_url: optionally(...PUBLIC_URL), ...HTTP_FIELDS, ...PLAINTEXT }),
    channels: ["sms"],
    defaults: { partsPerSecond: 10, window: 20 },
    rateName: "partsPerSecond",
    derive: deriveHttp,
  },
};

export const isProviderName = (name: unknown): name is ProviderName => typeof name === "string" && Object.hasOwn(LINK_KINDS, name);

/** Returns the setting that makes a link send secrets or messages over a network without TLS, and what to write instead. */
export function findPlaintext(settings: Readonly<Record<string, unknown>>): string | undefined {
  const { hosts, host, tls, baseUrl, publicUrl, request, pollUrl, tokenUrl } = settings;
  const names = Array.isArray(hosts) && hosts.length > 0 ? smscAddresses(settings as SmppSettings).map((each) => each.host) : [host];
  const remote = names.find((name): name is string => typeof name === "string" && !isLoopback(name));
  if (remote !== undefined && tls !== true) return `tls: is off, and ${remote} is on another machine; set tls = true`;
  for (const [name, value] of Object.entries({
    [request === undefined ? "base_url" : "request.url"]: baseUrl,
    "poll.url": pollUrl,
    "request.auth.token_url": tokenUrl,
    public_url: publicUrl,
  })) {
    const address = typeof value === "string" ? parseBoundedUrl(value) : null;
    if (address?.protocol === "http:" && !isLoopback(address.hostname.replaceAll(/[[\]]/g, "")))
      return `${name}: is http:// on another machine; write https://`;
  }
  return undefined;
}

const NO_OPTIONS: CarrierOptionKind = { schema: Type.Object({}, { additionalProperties: false }) };

/** Returns the faults of the `carrier_options` of a message, with pointers into the request. They are checked for the link that the message
 *  takes first; a provider ignores members of another. */
export function findOptionFaults({ provider, settings }: Link, options: CarrierOptions): Fault[] {
  const { schema, findFaults } = LINK_KINDS[provider].carrierOptions ?? NO_OPTIONS;
  const faults = compile(schema, "body")(options);
  const found = faults.length > 0 ? faults : (findFaults?.(options, settings as Readonly<Record<string, unknown>>) ?? []);
  return found.map((fault) => ({ ...fault, pointer: `/carrier_options${"pointer" in fault ? fault.pointer : ""}` }));
}
