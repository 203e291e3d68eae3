/** Webhook requests of the Cloud API: one that verifies our URL, and from then on signed notifications. */
import { createHmac } from "node:crypto";
import { parseWithin } from "../../lib/scan-json.ts";
import { parseNumber } from "../carrier-fields.ts";
import { isSameSecret, storeReports, textResponse } from "../carrier-request.ts";
import type { CarrierRequest, CarrierResponse, Host, ProviderLink, UnmatchedReceipt } from "../provider.ts";
import { accountName } from "./business-account.ts";
import { TEMPLATE_REJECTED } from "./errors.ts";
import { parseNotifications, type Notifications, type NumberNotifications, type StatusReport } from "./notifications.ts";

type Secrets = { appSecret: string; verifyToken: string };
type NumberSettings = { appSecret: string; phoneNumberId: string };
type WebhookSettings = Secrets & NumberSettings & { baseUrl: string; wabaId: string | null; owner?: string };
type NumberLink = ProviderLink<NumberSettings>;

/** The link of the called URL, and the links of the same app, which has one URL for all its numbers. */
type App = { host: Host; own: NumberSettings; links: () => readonly NumberLink[] };

export async function handleRequest(
  settings: WebhookSettings,
  request: CarrierRequest,
  { host, links }: Omit<App, "own">,
): Promise<CarrierResponse> {
  if (request.method === "GET") return verifySubscription(settings, request);
  if (!isSigned(settings.appSecret, request)) {
    host.log.warn({ event: "providers.signature_invalid", provider: "whatsapp" }, "a request with a wrong signature was refused");
    return textResponse(401, "the signature is not right");
  }
  const payload = parseWithin(LIMITS, request.body);
  if (payload === undefined) return textResponse(400, "the body is not JSON, or has too many values");
  const { wabaId: own } = settings;
  const nameAccount = (wabaId = own ?? undefined) => (wabaId === undefined ? undefined : accountName(settings, wabaId));
  const notifications = parseNotifications(payload.value, nameAccount);
  if (notifications === undefined) return textResponse(413, "the body has too many notifications");
  return store(notifications, { host, own: settings, links });
}

function verifySubscription({ verifyToken }: Secrets, { query }: CarrierRequest): CarrierResponse {
  const challenge = query["hub.challenge"] ?? "";
  const isVerified = query["hub.mode"] === "subscribe" && isSameSecret(query["hub.verify_token"] ?? "", verifyToken);
  // The response repeats the challenge, so a challenge that a browser could take for more than text is refused.
  return isVerified && /^[\w.~-]{1,200}$/.test(challenge) ? textResponse(200, challenge) : textResponse(403, "the token is not right");
}

// The name of the algorithm, and a SHA-256 in hexadecimal.
const SIGNATURE_LENGTH = 71;

/** The signature covers the received bytes: the same JSON, serialized again, could differ. */
function isSigned(appSecret: string, { headers, body }: CarrierRequest): boolean {
  const given = headers["x-hub-signature-256"] ?? "";
  // A secret that was never set would admit every caller.
  if (given.length !== SIGNATURE_LENGTH || appSecret === "") return false;
  return isSameSecret(given.toLowerCase(), `sha256=${createHmac("sha256", appSecret).update(body).digest("hex")}`);
}

// A notification has about 30 values, and is nested ten levels deep.
const LIMITS = { maxDepth: 32, maxValues: 32_768 };

async function store({ ignored, byNumber, reviews }: Notifications, { host, own, links }: App): Promise<CarrierResponse> {
  if (ignored > 0) host.log.info({ provider: "whatsapp", ignored }, "a request reported changes that are not processed");
  // A request without the id of the number is about the link of the URL.
  const isOwn = (id: string | undefined): boolean => id === undefined || id === own.phoneNumberId;
  const ofApp = [...byNumber.keys()].every(isOwn) ? [] : linksOfApp(links(), own);
  const hostOf = (id: string | undefined): Host | undefined =>
    isOwn(id) ? host : ofApp.find(({ settings }) => settings.phoneNumberId === id)?.host;
  const stored = Array.from(
    Map.groupBy(byNumber, ([id]) => hostOf(id)),
    ([found, group]) => {
      const notifications = joinNumbers(group.map(([, each]) => each));
      return found === undefined ? storeUnmatched(notifications, host, ofApp) : storeOnLink(notifications, found);
    },
  );
  const isReviewed = reviews.length === 0 || (await storeReports(host, { receipts: [], messages: [], reviews }));
  const isStored = (await Promise.all(stored)).every(Boolean);
  return isStored && isReviewed ? textResponse(200, "taken") : textResponse(503, "not stored: say it again");
}

/** The links that have the secret with which the request was signed. */
const linksOfApp = (links: readonly NumberLink[], { appSecret }: NumberSettings): readonly NumberLink[] =>
  links.filter(({ settings }) => isSameSecret(settings.appSecret, appSecret));

const joinNumbers = (all: readonly NumberNotifications[]): NumberNotifications => ({
  statuses: all.flatMap(({ statuses }) => statuses),
  messages: all.flatMap(({ messages }) => messages),
  preferences: all.flatMap(({ preferences }) => preferences),
});

function storeOnLink({ statuses, messages, preferences }: NumberNotifications, host: Host): Promise<boolean> {
  const receipts = statuses.map(({ receipt }) => receipt);
  if (receipts.some(({ error }) => error?.code === TEMPLATE_REJECTED)) host.templatesChanged();
  return storeReports(host, { receipts, messages, preferences });
}

/** Stores what is about numbers of no link, by the host of the URL's link. */
function storeUnmatched(
  { statuses, messages, preferences }: NumberNotifications,
  host: Host,
  ofApp: readonly NumberLink[],
): Promise<boolean> {
  const unmatched = { receipts: statuses.map(toUnmatched), messages, links: ofApp.map(({ name }) => name) };
  return storeReports(host, { receipts: [], messages: [], preferences, unmatched });
}

const toUnmatched = ({ receipt, raw }: StatusReport): UnmatchedReceipt => ({
  receipt,
  recipient: parseNumber(raw["recipient_id"]) ?? null,
  raw: JSON.stringify(raw),
});
