/** The Kannel API: `/cgi-bin/sendsms`, delivery reports and inbound messages by URL, and the status pages. Here are the settings of a user,
 *  which have the names of Kannel's configuration groups `sendsms-user` and `sms-service`. */
import type { Scope } from "../access/scope.ts";
import type { CompatibleApi, Mac, Settings } from "../compatible/compatible-api.ts";
import type { Fault } from "../http/problem.ts";
import { randomBase62 } from "../lib/base62.ts";
import { mustBeOneOf } from "../lib/nearest.ts";
import { parseCallbackUrl } from "./callback-url.ts";

const SETTINGS = [
  "get-url",
  "post-url",
  "max-messages",
  "alt-charset",
  "name",
  "default-sender",
  "faked-sender",
  "forced-smsc",
  "unified-prefix",
  "status",
] as const;

export type KannelSettings = Readonly<Partial<Record<(typeof SETTINGS)[number], string>>>;

/** The settings of a stored credential. */
export const kannelSettings = (settings: Settings): KannelSettings => settings;

const SECRET_DIGITS = 24;
// Someone who guesses a password needs no user name for it.
const LEAST_STATUS_PASSWORD = 16;

/** The user name of the password that opens the status pages, which have no user name. */
export const statusUser = (password: string, mac: Mac): string => `status-${mac(password).slice(0, 32)}`;

/** Whether a credential opens the status pages, and nothing else. */
export const isForStatus = (settings: Settings): boolean => settings["status"] === "true";

const STATUS_SCOPES: readonly Scope[] = ["usage:read", "links:read"];

// Failed by the carrier, or not delivered in time; and what the carrier has accepted.
const REPORTED = ["message.sent", "message.delivered", "message.undelivered", "message.failed", "message.expired"];

export const kannel: CompatibleApi = {
  source: "kannel",
  title: "Kannel",
  defaultScopes: (settings) => (isForStatus(settings) ? STATUS_SCOPES : ["messages:send", ...STATUS_SCOPES]),
  check: ({ userName, secret, settings, scopes }) => {
    const faults = settingFaults(settings);
    const fault = (pointer: string, code: string, detail: string): unknown => faults.push({ pointer, code, detail });
    const isStatus = isForStatus(settings);
    if (userName === null && !isStatus) fault("/user_name", "required", "is required");
    if (userName !== null && isStatus)
      fault("/user_name", "conflict", "cannot be combined with status=true: the status pages have only a password");
    if (isStatus && secret !== null && secret.length < LEAST_STATUS_PASSWORD)
      fault("/secret", "too_short", `must have at least ${LEAST_STATUS_PASSWORD} characters`);
    if (isStatus && scopes.some((scope) => !STATUS_SCOPES.includes(scope)))
      fault("/scopes", "conflict", `can only be ${STATUS_SCOPES.join(" and ")} with status=true`);
    return faults;
  },
  prepare: ({ userName, secret, settings }, _, mac) => {
    const password = secret ?? randomBase62(SECRET_DIGITS);
    const { "get-url": getUrl, "post-url": postUrl } = kannelSettings(settings);
    const url = getUrl ?? postUrl;
    return {
      userName: userName ?? statusUser(password, mac),
      secret: password,
      settings,
      callbacks: { url: url ?? "", eventTypes: url === undefined ? REPORTED : [...REPORTED, "message.received"] },
    };
  },
  nameOfSecret: (secret, settings, mac) => (isForStatus(settings) ? statusUser(secret, mac) : undefined),
  urls: (settings) => [settings["get-url"], settings["post-url"]].filter((url) => url !== undefined),
};

function settingFaults(settings: Settings): Fault[] {
  const faults: Fault[] = [];
  const fault = (name: string, code: string, detail: string): unknown => faults.push({ pointer: `/settings/${name}`, code, detail });
  for (const [name, value] of Object.entries(settings)) {
    if (!(SETTINGS as readonly string[]).includes(name)) fault(name.slice(0, 40), "unknown_field", mustBeOneOf(name, SETTINGS));
    else if (value === "") fault(name, "too_short", "must not be empty");
  }
  if (faults.length > 0) return faults;
  const { "get-url": getUrl, "post-url": postUrl, ...given } = kannelSettings(settings);
  for (const [name, url] of [["get-url", getUrl] as const, ["post-url", postUrl] as const])
    if (url !== undefined && parseCallbackUrl(url) === undefined) fault(name, "invalid_format", "must be an http or https URL");
  if (getUrl !== undefined && postUrl !== undefined) fault("post-url", "conflict", "cannot be combined with get-url");
  // Kannel sends the response as a message by default. The setting shows that its user knows the difference.
  if ((getUrl ?? postUrl) !== undefined && given["max-messages"] !== "0")
    fault("max-messages", "required", "must be 0 with get-url or post-url: the response to an inbound message is not sent as a reply");
  if ((getUrl ?? postUrl) === undefined && given["max-messages"] !== undefined)
    fault("max-messages", "conflict", "needs get-url or post-url");
  if (given["alt-charset"] !== undefined && !/^(?:utf-?8|utf-?16be|ucs-?2)$/i.test(given["alt-charset"]))
    fault("alt-charset", "unknown_value", "must be UTF-8 or UTF-16BE");
  if (given["unified-prefix"] !== undefined && parsePrefixes(given["unified-prefix"]) === undefined)
    fault("unified-prefix", "invalid_format", 'must be prefixes such as "+358,00358,0;+,00"');
  if (given["forced-smsc"] !== undefined && given["forced-smsc"] !== "true")
    fault("forced-smsc", "unknown_value", "must be true: the routes of this service choose the link, whatever smsc a request names");
  if (given.status !== undefined && given.status !== "true") fault("status", "unknown_value", "must be true");
  return faults;
}

export type Prefixes = readonly { official: string; others: readonly string[] }[];

/** Reads a list in the form of Kannel's `unified-prefix`: the prefix of a number, then those that stand for it. */
export function parsePrefixes(text: string): Prefixes | undefined {
  const prefixes = text.split(";").map((each) => each.split(",").map((word) => word.trim()));
  const isFit = prefixes.every(
    ([official = "", ...others]) => /^\+\d{0,7}$/.test(official) && others.every((other) => /^\+?\d{0,9}$/.test(other)),
  );
  return isFit ? prefixes.map(([official = "", ...others]) => ({ official, others })) : undefined;
}
