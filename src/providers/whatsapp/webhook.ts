/** Webhook requests of the Cloud API: one that verifies our URL, and from then on signed notifications. */
import { createHmac, timingSafeEqual } from "node:crypto";
import { scanJson } from "../../lib/scan-json.ts";
import { isSameSecret, storeReports, textResponse } from "../carrier-request.ts";
import type { CarrierRequest, CarrierResponse, Host } from "../provider.ts";
import { accountName } from "./business-account.ts";
import { TEMPLATE_REJECTED } from "./errors.ts";
import { parseNotifications, type Notifications } from "./notifications.ts";

type Secrets = { appSecret: string; verifyToken: string };
type WebhookSettings = Secrets & { baseUrl: string; wabaId: string | null };

export async function handleRequest(settings: WebhookSettings, request: CarrierRequest, host: Host): Promise<CarrierResponse> {
  if (request.method === "GET") return verifySubscription(settings, request);
  if (!isSigned(settings.appSecret, request)) {
    host.log.warn({ event: "providers.signature_invalid", provider: "whatsapp" }, "a request with a wrong signature was refused");
    return textResponse(401, "the signature is not right");
  }
  const payload = parseJson(request.body);
  if (payload === undefined) return textResponse(400, "the body is not JSON, or has too many values");
  const { baseUrl, wabaId: own } = settings;
  const nameAccount = (wabaId = own ?? undefined) => (wabaId === undefined ? undefined : accountName(baseUrl, wabaId));
  const notifications = parseNotifications(payload.value, nameAccount);
  return notifications === undefined ? textResponse(413, "the body has too many notifications") : store(notifications, host);
}

function verifySubscription({ verifyToken }: Secrets, { query }: CarrierRequest): CarrierResponse {
  const challenge = query["hub.challenge"] ?? "";
  const isVerified = query["hub.mode"] === "subscribe" && isSameSecret(query["hub.verify_token"] ?? "", verifyToken);
  // The response repeats the challenge, so a challenge that a browser could take for more than text is refused.
  return isVerified && /^[\w.~-]{1,200}$/.test(challenge) ? textResponse(200, challenge) : textResponse(403, "the token is not right");
}

/** The signature covers the received bytes: the same JSON, serialised again, could differ. */
function isSigned(appSecret: string, { headers, body }: CarrierRequest): boolean {
  const [, hex] = /^sha256=([0-9a-f]{64})$/i.exec(headers["x-hub-signature-256"] ?? "") ?? [];
  // A secret that was never set would admit every caller.
  if (hex === undefined || appSecret === "") return false;
  return timingSafeEqual(Buffer.from(hex, "hex"), createHmac("sha256", appSecret).update(body).digest());
}

// A notification has about 30 values, and is nested ten levels deep.
const LIMITS = { maxDepth: 32, maxValues: 32_768 };

function parseJson(body: Buffer): { value: unknown } | undefined {
  const { isTooDeep, hasTooMany } = scanJson(body, LIMITS);
  if (isTooDeep || hasTooMany) return undefined;
  try {
    return { value: JSON.parse(body.toString("utf8")) };
  } catch {
    return undefined;
  }
}

async function store({ ignored, ...reports }: Notifications, host: Host): Promise<CarrierResponse> {
  if (ignored > 0) host.log.info({ provider: "whatsapp", ignored }, "a request reported changes that are not processed");
  if (reports.receipts.some(({ error }) => error?.code === TEMPLATE_REJECTED)) host.templatesChanged();
  return (await storeReports(host, reports)) ? textResponse(200, "taken") : textResponse(503, "not stored: say it again");
}
