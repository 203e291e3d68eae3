/** The carriers that the console can add, with the fields of each. The names of fields are those of the API: a dot leads into a table.
 *  The texts of smpp, twilio and whatsapp are those of the service: npm run setting-texts. */
import SETTING_TEXTS from "./setting-texts.json" with { type: "json" };

export type CarrierField = {
  /** The path in `settings`, such as `host` or `secrets.api_key`. */
  name: string;
  label: string;
  /** Where to find the value at the carrier. */
  help: string;
  kind: "text" | "number" | "flag" | "secret" | "origin";
  isOptional?: true;
  placeholder?: string;
};

export type Carrier = {
  /** The provider, or the carrier of the provider `http`. */
  id: string;
  title: string;
  about: string;
  isHttp?: true;
  /** Whether the carrier writes numbers in national format, so that their country must be known. */
  hasCountry?: true;
  fields: readonly CarrierField[];
  /** Where to enter the callback URL at the carrier. */
  callbackHelp?: string;
};

const { smpp, twilio, whatsapp } = SETTING_TEXTS;

const text = (name: string, label: string, help: string, placeholder?: string): CarrierField => ({
  name,
  label,
  help,
  kind: "text",
  ...(placeholder === undefined ? {} : { placeholder }),
});
const secret = (name: string, label: string, help: string): CarrierField => ({ name, label, help, kind: "secret" });
const optional = (field: CarrierField): CarrierField => ({ ...field, isOptional: true });

const PUBLIC_URL: CarrierField = {
  name: "public_url",
  label: "Public URL",
  help: twilio.public_url,
  kind: "origin",
};

const CALLBACK_TOKEN = secret(
  "secrets.callback_token",
  "Callback token",
  "Choose a long one. It verifies what the carrier sends to the callback URL.",
);
/** Where to enter the callback URL with its token. */
const withToken = (place: string): string => `${place}: enter it with ?token= and the callback token at the end. Receipts need no entry.`;

export const CARRIERS: readonly Carrier[] = [
  {
    id: "smpp",
    title: "SMPP",
    about: "SMS through any operator or aggregator that offers SMPP 3.4.",
    hasCountry: true,
    fields: [
      text("host", "Host", smpp.host, "smpp.acme.example"),
      { name: "port", label: "Port", help: smpp.port, kind: "number" },
      { name: "tls", label: "Use TLS", help: smpp.tls, kind: "flag" },
      text("system_id", "System ID", smpp.system_id, "godwit"),
      secret("password", "Password", smpp.password),
      optional(text("system_type", "System type", smpp.system_type)),
    ],
  },
  {
    id: "whatsapp",
    title: "WhatsApp",
    about: "The WhatsApp Cloud API of Meta, with your own business account.",
    fields: [
      text("phone_number_id", "Phone number ID", whatsapp.phone_number_id),
      optional(text("waba_id", "WhatsApp Business Account ID", whatsapp.waba_id)),
      secret("access_token", "Access token", whatsapp.access_token),
      secret("app_secret", "App secret", whatsapp.app_secret),
      secret("verify_token", "Verify token", whatsapp.verify_token),
    ],
    callbackHelp:
      "App Dashboard, WhatsApp, Configuration: enter it as the callback URL, with the verify token. Then subscribe to the field messages.",
  },
  {
    id: "twilio",
    title: "Twilio",
    about: "SMS through a Twilio account.",
    fields: [
      text("account_sid", "Account SID", twilio.account_sid),
      secret("auth_token", "Auth token", twilio.auth_token),
      optional(text("messaging_service_sid", "Messaging Service SID", twilio.messaging_service_sid)),
      PUBLIC_URL,
    ],
    callbackHelp: "Phone Numbers, your number, Messaging: enter it at “A message comes in”. Receipts need no entry at Twilio.",
  },
  {
    id: "telnyx",
    title: "Telnyx",
    about: "SMS through the Telnyx Messaging API v2.",
    isHttp: true,
    fields: [
      secret("secrets.api_key", "API key", "Mission Control Portal, Keys & Credentials, API Keys. It begins with KEY."),
      secret("secrets.public_key", "Public key", "Keys & Credentials, Public Key. It verifies what Telnyx sends to the callback URL."),
      optional(
        text("values.messaging_profile_id", "Messaging profile ID", "Messaging, Programmable Messaging: for messages without a sender."),
      ),
      PUBLIC_URL,
    ],
    callbackHelp: "Messaging profile, Inbound: enter it as the webhook URL for inbound messages. Receipts need no entry at Telnyx.",
  },
  {
    id: "vonage",
    title: "Vonage",
    about: "SMS through the Vonage Messages API v1.",
    isHttp: true,
    fields: [
      secret("secrets.api_key", "API key", "Vonage Dashboard, API Settings: at the top of the page."),
      secret("secrets.api_secret", "API secret", "API Settings, API Key Secret."),
      secret(
        "secrets.signature_secret",
        "Signature secret",
        "API Settings, signed webhooks. It verifies what Vonage sends to the callback URL.",
      ),
      PUBLIC_URL,
    ],
    callbackHelp: "API Settings: choose the Messages API, and enter it as the URL of inbound SMS. Receipts need no entry at Vonage.",
  },
  {
    id: "sinch",
    title: "Sinch",
    about: "SMS through the Sinch SMS API.",
    isHttp: true,
    fields: [
      text("values.service_plan_id", "Service plan ID", "Sinch Build Dashboard, SMS, APIs."),
      secret("secrets.api_token", "API token", "Beside the service plan ID: press Show."),
      secret(
        "secrets.webhook_secret",
        "Webhook secret",
        "Ask Sinch to sign the callbacks of the service plan with HMAC, and enter that secret.",
      ),
      optional(text("values.region", "Region", "The region of the service plan: us, eu, au, br or ca. Without one: us.", "us")),
      PUBLIC_URL,
    ],
    callbackHelp: "SMS, APIs, the service plan: enter it as the callback URL for inbound messages. Receipts need no entry at Sinch.",
  },
  {
    id: "aws",
    title: "AWS End User Messaging",
    about: "SMS through Amazon Web Services (Pinpoint SMS and Voice v2).",
    isHttp: true,
    fields: [
      text("values.region", "Region", "The region of your phone numbers, at the top right of the AWS console.", "eu-central-1"),
      secret(
        "secrets.access_key_id",
        "Access key ID",
        "IAM, Users, Security credentials: of a user that may call sms-voice:SendTextMessage.",
      ),
      secret("secrets.secret_access_key", "Secret access key", "Shown once, when IAM creates the access key."),
      secret("secrets.callback_user", "Callback user", "Choose any name. It becomes part of the URL of the SNS subscription."),
      secret("secrets.callback_password", "Callback password", "Choose a long one without special characters, for the same URL."),
      optional(
        text(
          "values.configuration_set",
          "Configuration set",
          "End User Messaging, Configuration sets: the one with the SNS topic for receipts.",
        ),
      ),
    ],
    callbackHelp:
      "SNS, your topic: create an HTTPS subscription to it with raw message delivery, and write the callback user and password before the host: https://USER:PASSWORD@…",
  },
  {
    id: "bandwidth",
    title: "Bandwidth",
    about: "SMS through the Bandwidth Messaging API v2.",
    isHttp: true,
    fields: [
      text("values.account_id", "Account ID", "Bandwidth App, Account: the number of the account."),
      text("values.application_id", "Application ID", "Applications: the messaging application."),
      secret("secrets.username", "User name", "Account, API credentials."),
      secret("secrets.password", "Password", "Account, API credentials."),
      secret("secrets.callback_user", "Callback user", "Choose any name, and enter it as the callback user of the application."),
      secret(
        "secrets.callback_password",
        "Callback password",
        "Choose a long one, and enter it as the callback password of the application.",
      ),
    ],
    callbackHelp: "Applications, your messaging application: enter it as the callback URL, with the callback user and password.",
  },
  {
    id: "budgetsms",
    title: "BudgetSMS",
    about: "SMS through the BudgetSMS HTTP API. It has no inbound messages.",
    isHttp: true,
    fields: [
      secret("secrets.username", "User name", "Control panel, account."),
      secret("secrets.userid", "User ID", "Control panel, API settings."),
      secret("secrets.handle", "Handle", "Control panel, API settings."),
      CALLBACK_TOKEN,
    ],
    callbackHelp: "Control panel, push URL for receipts: enter it with ?token= and the callback token at the end.",
  },
  {
    id: "elks",
    title: "46elks",
    about: "SMS through the 46elks API.",
    isHttp: true,
    fields: [
      secret("secrets.username", "API user name", "46elks dashboard, account."),
      secret("secrets.password", "API password", "46elks dashboard, account."),
      CALLBACK_TOKEN,
      PUBLIC_URL,
    ],
    callbackHelp: withToken("Numbers, your number, sms_url"),
  },
  {
    id: "infobip",
    title: "Infobip",
    about: "SMS through the Infobip SMS API v3.",
    isHttp: true,
    fields: [
      text("values.base_url", "Base URL", "Infobip portal, at the top of the page, without https://.", "abc123.api.infobip.com"),
      secret("secrets.api_key", "API key", "Infobip portal, API keys."),
      CALLBACK_TOKEN,
      PUBLIC_URL,
    ],
    callbackHelp: withToken("Numbers, your number, forwarding of inbound messages"),
  },
  {
    id: "jasmin",
    title: "Jasmin",
    about: "SMS through the HTTP API of a Jasmin gateway behind TLS.",
    isHttp: true,
    fields: [
      text("values.host", "Host and port", "The address of Jasmin's HTTP API.", "sms.example.com:1401"),
      secret("secrets.username", "User name", "The user of Jasmin."),
      secret("secrets.password", "Password", "The password of the user."),
      CALLBACK_TOKEN,
      PUBLIC_URL,
    ],
    callbackHelp: withToken("HTTP connector of Jasmin with the method POST"),
  },
  {
    id: "kannel",
    title: "Kannel",
    about: "SMS through sendsms of a Kannel gateway behind TLS.",
    isHttp: true,
    fields: [
      text("values.host", "Host and port", "The address of Kannel's smsbox.", "sms.example.com:13013"),
      secret("secrets.username", "User name", "The user name of the sendsms-user group."),
      secret("secrets.password", "Password", "The password of the sendsms-user group."),
      CALLBACK_TOKEN,
      PUBLIC_URL,
    ],
    callbackHelp: "sms-service group, get-url: enter it with ?token=TOKEN&id=%I&from=%p&to=%P&text=%b at the end. Receipts need no entry.",
  },
  {
    id: "plivo",
    title: "Plivo",
    about: "SMS through the Plivo Message API v1.",
    isHttp: true,
    fields: [
      secret("secrets.auth_id", "Auth ID", "Plivo console, overview."),
      secret("secrets.auth_token", "Auth token", "Plivo console, overview."),
      CALLBACK_TOKEN,
      PUBLIC_URL,
    ],
    callbackHelp: withToken("Application of your number, message URL"),
  },
  {
    id: "routee",
    title: "Routee",
    about: "SMS through the Routee API. Inbound messages are not read.",
    isHttp: true,
    fields: [
      secret("secrets.application_id", "Application ID", "Routee platform, applications."),
      secret("secrets.application_secret", "Application secret", "Routee platform, applications."),
      CALLBACK_TOKEN,
      PUBLIC_URL,
    ],
    callbackHelp: "Receipts need no entry at Routee.",
  },
  {
    id: "signalwire",
    title: "SignalWire",
    about: "SMS through the SignalWire Compatibility API.",
    isHttp: true,
    fields: [
      text("values.space", "Space", "The first part of the URL of your space.", "example"),
      text("values.project_id", "Project ID", "SignalWire dashboard, API."),
      secret("secrets.api_token", "API token", "SignalWire dashboard, API: one that may send messages."),
      CALLBACK_TOKEN,
      PUBLIC_URL,
    ],
    callbackHelp: withToken("Application of your number, status callback"),
  },
];

/** The carrier of a link, by its provider and its carrier. Undefined for the simulator, and for carriers that only the operator defines. */
export const carrierOf = (link: { provider: string; carrier: string | null }): Carrier | undefined =>
  CARRIERS.find(({ id }) => id === (link.carrier ?? link.provider));
