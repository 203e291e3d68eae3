/** The credentials of Twilio's API: an account SID with an auth token, or the SID and the secret of an API key. */
import { randomBytes } from "node:crypto";
import type { CompatibleAuthenticator, CompatibleCredential, Login } from "../compatible/authenticate.ts";
import type { CompatibleApi, Settings } from "../compatible/compatible-api.ts";
import type { RequestHead } from "../api/route.ts";
import type { Fault } from "../http/problem.ts";
import { withoutFinalSlashes } from "../lib/urls.ts";
import type { KeyId } from "../model/id.ts";
import { isCallable } from "./callback-url.ts";
import { twilioProblem } from "./errors.ts";
import { accountSid } from "./sids.ts";

const TYPES = ["auth_token", "api_key"];

/** The settings of a credential. `sms_url`: the URL that gets inbound messages, as that of a number at Twilio. `base_url`: the URL of this API as
 *  the client knows it, for the URLs of files. */
type TwilioSettings = { type: "auth_token" | "api_key"; sms_url: string | null; base_url: string | null };

const KNOWN = new Set(["type", "sms_url", "base_url"]);
const URLS = ["sms_url", "base_url"] as const;

export const twilioSettings = ({ type, sms_url: url, base_url: base }: Settings): TwilioSettings => ({
  type: type === "api_key" ? "api_key" : "auth_token",
  sms_url: typeof url === "string" ? url : null,
  base_url: typeof base === "string" ? withoutFinalSlashes(base) : null,
});

// Half as many bytes as the auth tokens of Twilio have digits.
const TOKEN_BYTES = 16;

// Not `message.queued` and `message.sending`: the response to the request has the first, and the second is followed at once by another one.
const STATUS_EVENTS = ["sent", "delivered", "read", "undelivered", "failed", "expired", "canceled"].map((name) => `message.${name}`);

export const TWILIO_API: CompatibleApi = {
  source: "twilio",
  title: "Twilio",
  defaultScopes: () => [
    "messages:send",
    "messages:read",
    "media:read",
    "media:write",
    "links:read",
    "verifications:read",
    "verifications:write",
  ],
  check: ({ userName, secret, settings }) => {
    const faults: Fault[] = Object.keys(settings)
      .filter((name) => !KNOWN.has(name))
      .map((name) => ({ pointer: `/settings/${name.slice(0, 40)}`, code: "unknown_field", detail: "is not a setting of this API" }));
    const { type } = settings;
    if (userName !== null)
      faults.push({ pointer: "/user_name", code: "not_supported", detail: "is the SID, which the account determines" });
    if (secret?.includes(":") === true) faults.push({ pointer: "/secret", code: "invalid_format", detail: "must not contain a colon" });
    if (type !== undefined && !TYPES.includes(type))
      faults.push({ pointer: "/settings/type", code: "unknown_value", detail: `must be one of ${TYPES.join(", ")}` });
    for (const name of URLS) {
      const { [name]: url } = settings;
      if (url !== undefined && !(typeof url === "string" && isCallable(url)))
        faults.push({ pointer: `/settings/${name}`, code: "invalid_format", detail: "must be a URL such as https://example.com/sms" });
    }
    return faults;
  },
  prepare: ({ secret, settings }, { id, ...owner }) => {
    const { type, sms_url: url, base_url: base } = twilioSettings(settings);
    return {
      userName: type === "api_key" ? apiKeySid(id) : accountSid(owner),
      secret: secret ?? randomBytes(TOKEN_BYTES).toString("hex"),
      settings: { type, ...(url === null ? {} : { sms_url: url }), ...(base === null ? {} : { base_url: base }) },
      callbacks: { url: url ?? "", eventTypes: [...STATUS_EVENTS, ...(url === null ? [] : ["message.received"])] },
    };
  },
  urls: (settings) => [twilioSettings(settings).sms_url].filter((url) => url !== null),
};

const apiKeySid = (id: KeyId): string => `SK${id.toString("hex")}`;

/** The user name and the password of HTTP Basic authentication. */
function readLogin({ headers }: RequestHead): Login {
  const encoded = /^Basic +([A-Za-z0-9+/]+=*)$/i.exec(headers.authorization ?? "")?.[1];
  const text = encoded === undefined ? "" : Buffer.from(encoded, "base64").toString("utf8");
  const colon = text.indexOf(":");
  if (colon < 1) throw twilioProblem(20003, "Your AccountSid or AuthToken was incorrect.");
  return { source: "twilio", userName: text.slice(0, colon), secret: text.slice(colon + 1) };
}

export const authenticateBy =
  (users: CompatibleAuthenticator) =>
  (head: RequestHead): CompatibleCredential | Promise<CompatibleCredential> =>
    users.authenticate(readLogin(head));

export const lastEnvironmentBy =
  (users: CompatibleAuthenticator) =>
  (head: RequestHead): string | undefined =>
    users.lastEnvironmentOf(readLogin(head));
