/** Sends the replies in the response of a client to an inbound message. A response that comes again, because its outcome could not be stored, sends
 *  nothing again. */
import { hash } from "node:crypto";
import type { OpenedCredential } from "../compatible/read-credential.ts";
import { Problem } from "../http/problem.ts";
import { idempotencyClaim, lockSecretOf, type IdempotencyKey } from "../idempotency/key.ts";
import type { SecretBox } from "../lib/secret-box.ts";
import { resolveUrl } from "../lib/urls.ts";
import { uuidFromBytes, uuidToText } from "../lib/uuid.ts";
import type { MediaLibrary } from "../media/library.ts";
import type { Acceptor } from "../messages/accept.ts";
import type { MessageRecord } from "../messages/message.ts";
import type { AddressGate } from "../outbound/address-gate.ts";
import { requireCallable } from "./callback-url.ts";
import { toTwilioError } from "./errors.ts";
import type { TwilioParameters } from "./forms.ts";
import { addingFile } from "./message-media.ts";
import { readNewMessage, writeAddress } from "./new-message.ts";
import { detailsText } from "./source-details.ts";
import type { TwimlMessage } from "./twiml.ts";

/** The parts of the service that send replies. They start after the worker that calls clients. */
export type Replying = { acceptor: Acceptor; media: MediaLibrary; gate: AddressGate };

type ReplyParts = { replying: Promise<Replying>; box: SecretBox };

type Reply = {
  credential: OpenedCredential;
  /** The inbound message. */
  record: MessageRecord;
  verb: TwimlMessage;
  /** The URL of the response, to which those in it are relative. */
  from: URL;
  /** Names the reply among those to all messages. */
  key: string;
};

const UUID_BYTES = 16;

/** Returns why the reply cannot be sent. Throws if that may change. */
export async function sendTwimlReply(
  { replying, box }: ReplyParts,
  { credential, record, verb, from, key }: Reply,
): Promise<Error | undefined> {
  const { accountId, environment, id: keyId, scopes } = credential;
  if (!scopes.includes("messages:send")) return new Error("the credential lacks the scope messages:send: create one that has it");
  const digest = Buffer.from(hash("sha256", `twiml ${key}`, "hex"), "hex");
  const environmentKey = `${uuidToText(accountId)}/${environment}`;
  const claim = idempotencyClaim(
    lockSecretOf(box),
    environmentKey,
    uuidFromBytes(digest.subarray(0, UUID_BYTES)) as IdempotencyKey,
    digest,
  );
  try {
    const { acceptor, media, gate } = await replying;
    const message = readNewMessage(formOf(verb, record, from), Date.now());
    const { statusCallback } = message;
    if (statusCallback !== undefined) requireCallable(statusCallback, gate);
    const sourceDetails = detailsText({
      isReply: true,
      ...(statusCallback === undefined ? {} : { credential: keyId.toString("hex"), callback: statusCallback }),
    });
    const call = { credential: { accountId, environment, keyId }, claim, writeProblem: (problem: Problem) => problem.detail };
    const complete = addingFile(media, call.credential, message);
    const response = await acceptor.accept(message.request, { ...call, source: "twilio", sourceDetails, complete });
    return response.status < 400 ? undefined : new Error(response.body);
  } catch (error) {
    if (!(error instanceof Problem) || error.status >= 500 || error.status === 429 || error.status === 409) throw error;
    const { code, message } = toTwilioError(error);
    return new Error(`${code}: ${message}`);
  }
}

/** The form that would send the reply: to the person, from the number that the person wrote to. */
function formOf(
  { body, media, to, from, statusCallback }: TwimlMessage,
  { channel, sender, recipient }: MessageRecord,
  base: URL,
): TwilioParameters {
  const absolute = (text: string): string => resolveUrl(text, base)?.href ?? text;
  return new Map<string, string[]>([
    ["To", [to ?? writeAddress(channel, sender ?? "")]],
    ["From", [from ?? writeAddress(channel, recipient)]],
    ["Body", [body]],
    ["MediaUrl", media.map(absolute)],
    ...(statusCallback === null ? [] : [["StatusCallback", [absolute(statusCallback)]] as [string, string[]]]),
  ]);
}
