/** Calls the clients of the Kannel API: reports to the `dlr-url` of a message, and inbound messages to the URL of a user. */
import { authorizationOfUrl } from "../compatible/callback-url.ts";
import { readClient } from "../compatible/read-credential.ts";
import type { Database } from "../database/database.ts";
import { uuidTimeMs, uuidToText } from "../lib/uuid.ts";
import { readSourceDetails } from "../messages/accept.ts";
import type { MessageRecord } from "../messages/message.ts";
import { isGsm7 } from "../model/gsm7.ts";
import { decodeId, encodeId, toId, type MessageId } from "../model/id.ts";
import type { HttpRequest } from "../outbound/http-client.ts";
import { VERSION } from "../version.ts";
import type { CallbackForm, ClaimedDelivery } from "../webhooks/attempt.ts";
import { parseCallbackUrl } from "./callback-url.ts";
import { DLR, DLR_EXPIRED, type SentDetails } from "./details.ts";
import { fillEscapes, kannelTime, type EscapeValues } from "./escapes.ts";
import { kannelSettings, type KannelSettings } from "./kannel.ts";

export const kannelCallbacks =
  (db: Database): CallbackForm =>
  async (delivery, call) => {
    const record = JSON.parse(delivery.row.record) as MessageRecord;
    const request = record.direction === "inbound" ? await inboundRequest(db, delivery, record) : await reportRequest(db, delivery, record);
    return request && call(request);
  };

const PRODUCT = `Godwit/${VERSION}`;

/** The report of a change. Undefined if the message has none for it. */
async function reportRequest(db: Database, { row, endpoint }: ClaimedDelivery, record: MessageRecord): Promise<HttpRequest | undefined> {
  const id = decodeId("msg", record.id);
  if (record.source !== "kannel" || id === undefined) return undefined;
  const details = (await readSourceDetails(db, endpoint, id)) as SentDetails | null;
  if (details === null || details.user !== encodeId("key", toId("key", endpoint.id))) return undefined;
  const report = reportOf(row.type, record);
  if (report === undefined || (masksOf(report.type) & details.dlr_mask) === 0) return undefined;
  const settings = await settingsOf(db, endpoint, true);
  const values = reportValues(record, { id, timeMs: uuidTimeMs(row.event_id), report, details, settings });
  return requestTo(details.dlr_url, values, { method: "GET", headers: {} });
}

/** Kannel reports a rejected message also to a client that asked only for failed ones. */
const masksOf = (type: number): number => (type === DLR.rejected ? DLR.rejected | DLR_EXPIRED : type);

type Report = { type: number; text: string };

/** The type of a report, and its text: that of the carrier's response or receipt. */
function reportOf(eventType: string, { error, provider, sent_at: sentAt }: MessageRecord): Report | undefined {
  const id = provider?.message_id ?? "";
  switch (eventType) {
    case "message.sent":
      return { type: DLR.accepted, text: "ACK/" };
    case "message.delivered":
      return { type: DLR.delivered, text: receiptText(id, "DELIVRD", "000") };
    case "message.undelivered":
      return { type: DLR.undelivered, text: receiptText(id, "UNDELIV", error?.provider_code ?? "000") };
    case "message.expired":
    case "message.failed":
      if (sentAt === null) return { type: DLR.rejected, text: `NACK/${error?.provider_code ?? ""}/${error?.message ?? ""}` };
      return eventType === "message.failed"
        ? { type: DLR.undelivered, text: receiptText(id, "REJECTD", error?.provider_code ?? "000") }
        : { type: DLR_EXPIRED, text: receiptText(id, "EXPIRED", error?.provider_code ?? "000") };
    default:
      return undefined;
  }
}

/** The usual text of a delivery receipt over SMPP. */
const receiptText = (id: string, state: string, error: string): string =>
  `id:${id} sub:001 dlvrd:${state === "DELIVRD" ? "001" : "000"} stat:${state} err:${error} text:`;

type NamedSettings = KannelSettings & { name: string };
type ReportParts = { id: MessageId; timeMs: number; report: Report; details: SentDetails; settings: NamedSettings };

const reportValues = (record: MessageRecord, { id, timeMs, report, details, settings }: ReportParts): EscapeValues => ({
  phone: details.to,
  other: details.from,
  text: Buffer.from(report.text),
  coding: -1,
  charset: "UTF-8",
  dlrType: report.type,
  timeMs,
  smscId: record.provider?.link ?? "",
  foreignId: record.provider?.message_id ?? "",
  id: uuidToText(id),
  service: settings.name,
  account: details.account,
  metaData: `${details.meta_data}?orig_msg?dlr_mask=${details.dlr_mask}&`,
  dlrUrl: details.dlr_url,
});

/** An inbound text for the URL of the user. Undefined for other contents, which Kannel does not have. */
async function inboundRequest(db: Database, { endpoint }: ClaimedDelivery, record: MessageRecord): Promise<HttpRequest | undefined> {
  const id = decodeId("msg", record.id);
  if (record.channel !== "sms" || record.body === null || id === undefined) return undefined;
  const settings = await settingsOf(db, endpoint, false);
  const { "get-url": getUrl, "post-url": postUrl } = settings;
  const url = getUrl ?? postUrl;
  if (url === undefined) return undefined;
  const values = inboundValues(record, record.body, id, settings);
  if (getUrl !== undefined) return requestTo(url, values, { method: "GET", headers: { "x-kannel-from": values.phone } });
  const charset = values.coding === 2 ? "UTF-16BE" : values.charset;
  const headers = {
    "content-type": `text/plain; charset="${charset}"`,
    "x-kannel-from": values.phone,
    "x-kannel-to": values.other,
    "x-kannel-time": kannelTime(values.timeMs),
    ...(values.smscId === "" ? {} : { "x-kannel-smsc": values.smscId }),
    "x-kannel-coding": String(values.coding),
    "x-kannel-service": values.service,
  };
  return requestTo(url, values, { method: "POST", headers, body: values.text });
}

function inboundValues(record: MessageRecord, text: string, id: MessageId, settings: NamedSettings): EscapeValues {
  const isUcs2 = !isGsm7(text);
  const keepsUtf16 = isUcs2 && !/^utf-?8$/i.test(settings["alt-charset"] ?? "");
  return {
    phone: record.sender ?? "",
    other: record.recipient,
    text: keepsUtf16 ? Buffer.from(text, "utf16le").swap16() : Buffer.from(text),
    coding: isUcs2 ? 2 : 0,
    charset: keepsUtf16 ? "UTF-16BE" : "UTF-8",
    dlrType: -1,
    timeMs: Date.parse(record.created_at),
    smscId: record.provider?.link ?? "",
    foreignId: record.provider?.message_id ?? "",
    id: uuidToText(id),
    service: settings.name,
    account: "",
    metaData: "",
    dlrUrl: "",
  };
}

/** The settings of a user, with the name of its service: in Kannel that of the user for reports, and `default` for inbound messages. */
async function settingsOf(
  db: Database,
  { accountId, environment, id }: ClaimedDelivery["endpoint"],
  isReport: boolean,
): Promise<NamedSettings> {
  const { userName, settings } = await readClient(db, { accountId, environment }, toId("key", id));
  const given = kannelSettings(settings);
  return { ...given, name: given.name ?? (isReport ? userName : "default") };
}

type CallParts = { method: "GET" | "POST"; headers: Readonly<Record<string, string>>; body?: Buffer };

/** Throws if the URL cannot be called, or is too long with its values. The path is taken from the text as it is: the parser would take what follows
 *  an escape such as `%#group#name#` for a fragment. */
function requestTo(text: string, values: EscapeValues, { method, headers, body }: CallParts): HttpRequest {
  const url = parseCallbackUrl(text);
  const filled = fillEscapes(text.replace(/^https?:\/\/[^/?#]*/i, ""), values);
  if (url === undefined || filled === undefined) throw new Error("the URL cannot be called, or is too long with its values");
  const [asWritten = ""] = filled.split("#", 1);
  // After the escapes, which a percent sign would begin.
  const path = asWritten.replaceAll(/[^!-~]+/gu, encodeURIComponent);
  const all = { "user-agent": PRODUCT, ...authorizationOfUrl(url), ...headers };
  const request = { origin: url.origin, path: path.startsWith("/") ? path : `/${path}`, method };
  return body === undefined
    ? { ...request, headers: all, body: "" }
    : { ...request, headers: { ...all, "content-length": String(body.length) }, body: "", stream: piecesOf(body) };
}

async function* piecesOf(body: Buffer): AsyncGenerator<Buffer> {
  yield body;
}
