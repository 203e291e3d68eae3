/** The description of one kind of link: its settings and what follows from them. Each setting has its explanation and an example, from which
 *  `godwit init`, docs/links.md and the console take their texts. */
import type { Fault } from "../http/problem.ts";
import { HINT, oneOf, Type, type Schema } from "../http/schema.ts";
import { MAX_URL_LENGTH } from "../lib/urls.ts";
import type { SegmentRules } from "../model/segments.ts";
import { countryField, nameField, senderField } from "./address.ts";
import type { CarrierAccount } from "./link.ts";
import type { Channel } from "./channel.ts";
import type { DeriveContext } from "./http-definition.ts";
import { priceTable } from "./prices.ts";

export type LinkKind = {
  schema: Schema;
  channels: readonly Channel[];
  defaults: Readonly<Record<string, unknown>>;
  rateName: string;
  /** The members of `carrier_options` that messages on such links may have; none by default. */
  carrierOptions?: CarrierOptionKind;
  /** Derives further settings from the settings and the name of the link. */
  derive?: (settings: Readonly<Record<string, unknown>>, name: string, context: DeriveContext) => Record<string, unknown>;
  /** Settings that are required in addition to those of the schema, which depend on the others. */
  required?: (table: Readonly<Record<string, unknown>>) => readonly string[];
  /** Returns faults that the schema does not find, each with the name of its setting. */
  findFaults?: (settings: Readonly<Record<string, unknown>>) => readonly string[];
  /** Whether the link only receives, so that no message is sent over it. */
  isReceiveOnly?: (settings: Readonly<Record<string, unknown>>) => boolean;
  /** The account at the carrier, if receipts of one link may come on another link of the same account. */
  carrierAccount?: (settings: Readonly<Record<string, unknown>>) => CarrierAccount;
  /** The rules by which texts are counted and split, if they differ from the usual ones. */
  segmentRules?: (settings: Readonly<Record<string, unknown>>) => SegmentRules;
};

/** The members of `carrier_options` of a provider. `findFaults` returns what depends on the settings of the link, with pointers into the
 *  options. */
export type CarrierOptionKind = {
  schema: Schema;
  findFaults?: (options: Readonly<Record<string, unknown>>, settings: Readonly<Record<string, unknown>>) => readonly Fault[];
};

const EXAMPLE = Symbol("example");

/** Adds the explanation of a setting, in sentences with Markdown, and an example in TOML: its default, if it has one. */
export const described = <S extends Schema>(schema: S, example: string, description: string): S => ({
  ...schema,
  description,
  [EXAMPLE]: example,
});
export const optionally = <S extends Schema>(schema: S, example: string, description: string) =>
  described(Type.Optional(schema), example, description);

export type SettingText = { name: string; example: string; description: string; isRequired: boolean };

/** Returns the texts of the described settings of a table. */
export function settingTexts(schema: Schema): SettingText[] {
  const { properties, required = [] } = schema as unknown as { properties: Record<string, Schema>; required?: readonly string[] };
  return Object.entries(properties).flatMap(([name, field]) => {
    const { description, [EXAMPLE]: example } = field as { description?: string; [EXAMPLE]?: string };
    return example === undefined || description === undefined ? [] : [{ name, example, description, isRequired: required.includes(name) }];
  });
}

/** The name of a variable and not the secret itself, since files get into backups. */
export const secret = Type.String({ pattern: "^[A-Z][A-Z0-9_]{0,99}$", [HINT]: "must be the name of an environment variable" });
export const text = (maxLength = 256) => Type.String({ minLength: 1, maxLength });
export const flag = Type.Boolean();
export const count = (minimum: number, maximum: number) => Type.Integer({ minimum, maximum });
// A host name has up to 253 characters, and a port.
export const url = Type.String({
  maxLength: MAX_URL_LENGTH,
  pattern: "^https?://[^\\s/?#\\\\]{1,260}([/?#]\\S*)?$",
  [HINT]: "must be a URL",
});

/** The settings of every link. */
export const COMMON = {
  name: described(
    nameField,
    '"carrier"',
    "Name of the link in routes, logs, metrics and callback URLs: up to 40 of `a`–`z`, `0`–`9`, `_` and `-`, beginning with a letter.",
  ),
  provider: described(text(), '"smpp"', "Protocol or API of the link: `smpp`, `whatsapp`, `twilio`, `http` or `simulator`."),
  sender: optionally(senderField, '"+14155550100"', "Sender of messages for which neither the request nor a `[[sender]]` names one."),
  any_sender: optionally(
    flag,
    "true",
    "Permits requests to name senders that the link does not have. By default only a link without `sender` and `[[sender]]` takes any.",
  ),
  country: optionally(
    countryField,
    '"US"',
    "Country of numbers that the carrier writes in national format. Set it on every SMS link: without it, a STOP from such a number does not find its recipient.",
  ),
  rate: optionally(
    Type.Number({ minimum: 0.1, maximum: 10_000 }),
    "10",
    "Segments per second that the carrier allows; messages per second for `whatsapp`.",
  ),
  prices: optionally(
    priceTable,
    '{ "*" = 0.05, DE = 0.07, "+4917" = 0.08 }',
    'Prices of a segment, for routes with `strategy = "price"`. The most specific one applies, and only their order matters.',
  ),
  window: optionally(count(1, 1_000), "20", "Requests to the carrier that may wait for a response at one time."),
  inbound_account: optionally(text(100), '"default"', "Account that gets inbound messages without another owner, in `live`."),
  on_unknown: optionally(
    oneOf(["fail", "resend"]),
    '"fail"',
    "After an unknown outcome: `fail` with `outcome_unknown`, or `resend`, with the risk that the message arrives twice.",
  ),
  hold_seconds: optionally(count(1, 259_200), "300", "Time in which a late response or a receipt can resolve an unknown outcome."),
};

/** For carriers on another machine that offer no TLS. */
export const PLAINTEXT = {
  allow_plaintext: optionally(
    flag,
    "true",
    "Permits a carrier on another machine without TLS. Passwords and messages are then readable on the network.",
  ),
};

/** The address of this service for the callbacks of a carrier. */
export const PUBLIC_URL = [
  url,
  '"https://godwit.example.com"',
  "URL of this service on the internet, to which the carrier sends receipts and inbound messages.",
] as const;

/** The schema of a kind: the settings of every link, then its own. */
export const linkSchema = (fields: Record<string, Schema>) => Type.Object({ ...COMMON, ...fields }, { additionalProperties: false });
