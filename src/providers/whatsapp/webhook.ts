/** The door for the Cloud API's calls: it asks once whether the address is ours, and from then on tells us things, signed. */
import { createHmac, timingSafeEqual } from "node:crypto";
import { isCommitted, isSameSecret, plain } from "../http-answer.ts";
import type { CarrierResponse, CarrierRequest, Host } from "../provider.ts";
import { TEMPLATE } from "./errors.ts";
import { notificationsIn, type Notifications } from "./notifications.ts";
import { accountName } from "./business-account.ts";

type Secrets = { appSecret: string; verifyToken: string };
type Settings = Secrets & { baseUrl: string; wabaId: string | null };

export async function answer(settings: Settings, request: CarrierRequest, host: Host): Promise<CarrierResponse> {
  if (request.method === "GET") return answerChallenge(settings, request);
  if (request.method !== "POST") return plain(405, "GET and POST are answered here");
  if (!isSigned(settings.appSecret, request)) {
    host.log.warn({ event: "providers.signature_invalid", provider: "whatsapp" }, "a request with a wrong signature was refused");
    return plain(401, "the signature is not right");
  }
  const payload = parsed(request.body);
  if (payload === undefined) return plain(400, "the body is not JSON");
  const { baseUrl, wabaId: own } = settings;
  const accountOf = (wabaId = own ?? undefined) => (wabaId === undefined ? undefined : accountName(baseUrl, wabaId));
  return take(notificationsIn(payload.value, accountOf), host);
}

function answerChallenge({ verifyToken }: Secrets, { query }: CarrierRequest): CarrierResponse {
  const challenge = query["hub.challenge"] ?? "";
  const isMeant = query["hub.mode"] === "subscribe" && isSameSecret(query["hub.verify_token"] ?? "", verifyToken);
  // Given back as it came: nothing that a browser could take for more than text.
  return isMeant && /^[\w.~-]{1,200}$/.test(challenge) ? plain(200, challenge) : plain(403, "the token is not right");
}

/** Over the bytes as they came: written anew, the same JSON would have others. */
function isSigned(appSecret: string, { headers, body }: CarrierRequest): boolean {
  const [, hex = ""] = /^sha256=([0-9a-f]{64})$/i.exec(headers["x-hub-signature-256"] ?? "") ?? [];
  const given = Buffer.from(hex, "hex");
  const expected = createHmac("sha256", appSecret).update(body).digest();
  // A secret that was never set would let anybody in.
  return given.length === expected.length && timingSafeEqual(given, expected) && appSecret !== "";
}

function parsed(body: Buffer): { value: unknown } | undefined {
  try {
    return { value: JSON.parse(body.toString("utf8")) };
  } catch {
    return undefined;
  }
}

async function take({ ignored, ...said }: Notifications, host: Host): Promise<CarrierResponse> {
  if (ignored > 0) host.log.info({ provider: "whatsapp", ignored }, "a request reported changes that are not processed");
  if (said.receipts.some(({ error }) => error?.code === TEMPLATE)) host.templatesChanged();
  return (await isCommitted(host, said)) ? plain(200, "taken") : plain(503, "not stored: say it again");
}
