/** The credentials of compatible APIs that the console can create, with the settings of each. The names of settings are those of the API. */
import type { NewCompatibleCredential } from "godwit-sdk";

type SettingField = {
  name: string;
  label: string;
  hint: string;
  /** The values to choose from. The first one is the default. */
  options?: readonly (readonly [value: string, label: string])[];
};

export type CredentialKind = {
  title: string;
  about: string;
  source: NewCompatibleCredential["source"];
  /** The name of the user name in this API. Undefined if its clients sign in with only a password. */
  userName?: string;
  /** Whether the person chooses the user name. */
  asksUserName: boolean;
  /** The name of the password in this API. */
  secret: string;
  /** The path of the API on this service. */
  path: string;
  /** The settings that make the kind. */
  settings: Readonly<Record<string, string>>;
  fields: readonly SettingField[];
};

const TWILIO_FIELDS: readonly SettingField[] = [
  {
    name: "sms_url",
    label: "URL for inbound messages",
    hint: "Called for messages to all numbers of the environment, as the webhook of a number at Twilio.",
  },
  {
    name: "base_url",
    label: "URL of this API",
    hint: "As your application knows it, such as https://godwit.example.com/twilio. The URLs of inbound files begin with it.",
  },
];

const KANNEL_FIELDS: readonly SettingField[] = [
  { name: "get-url", label: "get-url", hint: "URL for inbound texts, such as https://example.com/sms?from=%p&text=%a, called with GET." },
  { name: "post-url", label: "post-url", hint: "The same with POST, in place of get-url." },
  { name: "max-messages", label: "max-messages", hint: "Must be 0 with one of these URLs: its response is not sent as a reply." },
  {
    name: "alt-charset",
    label: "alt-charset",
    hint: "The encoding in which inbound texts that need UCS-2 are passed.",
    options: [
      ["", "UTF-16BE"],
      ["UTF-8", "UTF-8"],
    ],
  },
  { name: "name", label: "name", hint: "The value of %n. Without it, the user name in reports, and default in inbound messages." },
  { name: "default-sender", label: "default-sender", hint: "The sender of requests that name none." },
  { name: "faked-sender", label: "faked-sender", hint: "The sender of all requests, in place of the one that they name." },
  {
    name: "forced-smsc",
    label: "forced-smsc",
    hint: "The routes of this service choose the carrier, whatever smsc a request names.",
    options: [
      ["", "Refuse requests with smsc"],
      ["true", "Accept them"],
    ],
  },
  { name: "unified-prefix", label: "unified-prefix", hint: "Prefixes of numbers, such as +358,00358,0;+,00. Without it, +,00." },
];

export const CREDENTIAL_KINDS: Readonly<Record<string, CredentialKind>> = {
  twilio: {
    title: "Twilio: account SID and auth token",
    about: "Signs in as the account. An environment can have one.",
    source: "twilio",
    userName: "Account SID",
    asksUserName: false,
    secret: "auth token",
    path: "/twilio",
    settings: {},
    fields: TWILIO_FIELDS,
  },
  twilio_api_key: {
    title: "Twilio: API key",
    about: "A further credential of the account. The account SID stays that of the environment.",
    source: "twilio",
    userName: "SID of the key",
    asksUserName: false,
    secret: "API key secret",
    path: "/twilio",
    settings: { type: "api_key" },
    fields: TWILIO_FIELDS,
  },
  kannel: {
    title: "Kannel: user of sendsms",
    about: "Sends as a user of the group sendsms-user.",
    source: "kannel",
    userName: "User name",
    asksUserName: true,
    secret: "password",
    path: "/cgi-bin/sendsms",
    settings: {},
    fields: KANNEL_FIELDS,
  },
  kannel_status: {
    title: "Kannel: password of the status pages",
    about: "Opens the status pages, and cannot send.",
    source: "kannel",
    asksUserName: false,
    secret: "password",
    path: "/status",
    settings: { status: "true" },
    fields: [],
  },
};
