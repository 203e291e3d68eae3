/** Calls the clients of this API: the status callback of a message, and the URL for inbound messages, whose response is carried out. */
import { parseCallable } from "../compatible/callback-url.ts";
import { openCredential, openCredentialOf, type OpenedCredential } from "../compatible/read-credential.ts";
import type { Database } from "../database/database.ts";
import { parseBoundedUrl, resolveUrl } from "../lib/urls.ts";
import { uuidToText } from "../lib/uuid.ts";
import type { SecretBox } from "../lib/secret-box.ts";
import { isReady } from "../media/media.ts";
import { readSourceDetails } from "../messages/accept.ts";
import type { MessageRecord } from "../messages/message.ts";
import { decodeId, toId } from "../model/id.ts";
import type { HttpOutcome, HttpRequest, HttpResponse } from "../outbound/http-client.ts";
import { isSuccess, type CallbackForm, type ClaimedDelivery, type NotYet, type UnusableResponse } from "../webhooks/attempt.ts";
import { twilioSettings } from "./api.ts";
import { inboundFields, statusFields } from "./callback-fields.ts";
import { readFiles } from "./queries.ts";
import { sendTwimlReply, type Replying } from "./replies.ts";
import { signedRequest } from "./signature.ts";
import { accountSid } from "./sids.ts";
import type { SourceDetails } from "./source-details.ts";
import { parseTwiml } from "./twiml.ts";

export type CallbackParts = { db: Database; box: SecretBox; replying: Promise<Replying>; twilioHost: string | undefined };

type Call = (request: HttpRequest) => Promise<HttpOutcome>;

export const twilioCallbacks =
  (parts: CallbackParts): CallbackForm =>
  async (delivery, call, mayWait) => {
    const record = JSON.parse(delivery.row.record) as MessageRecord;
    return record.direction === "inbound"
      ? callInbound(parts, delivery, record, { call, mayWait })
      : callStatus(parts, delivery, record, call);
  };

/** Undefined if the message has no status callback, or came through another credential. */
async function callStatus(
  { db, box }: CallbackParts,
  { endpoint, row }: ClaimedDelivery,
  record: MessageRecord,
  call: Call,
): Promise<HttpOutcome | undefined> {
  const id = decodeId("msg", record.id);
  if (record.source !== "twilio" || id === undefined) return undefined;
  const details = ((await readSourceDetails(db, endpoint, id)) ?? {}) as SourceDetails;
  if (details.callback === undefined || details.credential !== endpoint.id.toString("hex")) return undefined;
  const { token } = await readSigner({ db, box }, endpoint);
  const fields = statusFields(record, accountSid(endpoint), details);
  return call(signedRequest({ url: urlOf(details.callback), method: "POST", fields, token, id: uuidToText(row.id) }));
}

// Twilio follows more, but a client that needs several does not end.
const MAX_REDIRECTS = 5;

/** The client is called when the files of the message are downloaded, because it reads them at once; or without those that are late. Its response can send replies, and name another
 *  URL that gives the rest. */
async function callInbound(
  parts: CallbackParts,
  { endpoint, row }: ClaimedDelivery,
  record: MessageRecord,
  { call, mayWait }: { call: Call; mayWait: boolean },
): Promise<HttpOutcome | UnusableResponse | NotYet | undefined> {
  const files = await readFiles(parts.db, endpoint, record);
  if (mayWait && files.some(({ status }) => status === "pending")) return { kind: "not_yet" };
  const { credential, token } = await readSigner(parts, endpoint);
  const { base_url: base } = twilioSettings(credential.settings);
  const fields = inboundFields(
    record,
    accountSid(endpoint),
    files.filter(isReady),
    base ?? (parts.twilioHost === undefined ? null : `https://api.${parts.twilioHost}`),
  );
  let url: URL | undefined = urlOf(endpoint.url);
  let method: "GET" | "POST" = "POST";
  let replies = 0;
  for (let redirects = 0; ; redirects += 1) {
    const from: URL = url;
    const response = await call(signedRequest({ url, method, fields, token, id: uuidToText(row.id) }));
    if (response.kind !== "response" || !isSuccess(response)) return response;
    const twiml = parseTwiml(response.text);
    if (twiml instanceof Error) return unusable(response, twiml);
    for (const verb of twiml.messages) {
      const key = `${uuidToText(endpoint.id)} ${uuidToText(row.event_id)} ${replies}`;
      const refusal = await sendTwimlReply(parts, { credential, record, verb, from, key });
      replies += 1;
      if (refusal !== undefined) return unusable(response, refusal);
    }
    const { redirect } = twiml;
    if (redirect === undefined) return response;
    url = redirectTarget(redirect.url, from);
    if (url === undefined || redirects >= MAX_REDIRECTS) return unusable(response, new Error("the URL of <Redirect> cannot be called"));
    ({ method } = redirect);
  }
}

const unusable = (response: HttpResponse, error: Error): UnusableResponse => ({ kind: "unusable", response, error });

const redirectTarget = (text: string, from: URL): URL | undefined => parseCallable(resolveUrl(text, from)?.href ?? "");

/** The credential of an endpoint, and the auth token of its account, with which Twilio signs whatever the credential is. */
async function readSigner(
  { db, box }: Pick<CallbackParts, "db" | "box">,
  endpoint: ClaimedDelivery["endpoint"],
): Promise<{ credential: OpenedCredential; token: string }> {
  const credential = await openCredential(db, box, endpoint, toId("key", endpoint.id));
  if (credential === undefined) throw new Error("the endpoint has no credential");
  const isApiKey = twilioSettings(credential.settings).type === "api_key";
  const signer = isApiKey ? await openCredentialOf(db, box, "twilio", accountSid(endpoint)) : undefined;
  return { credential, token: (signer ?? credential).secret };
}

function urlOf(text: string): URL {
  const url = parseBoundedUrl(text);
  if (url === null) throw new Error("the stored URL cannot be read");
  return url;
}
