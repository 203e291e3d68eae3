/** Sends the messages of a sendsms request by the same way as `POST /v1/messages`. */
import type { Call, RouteResponse } from "../api/route.ts";
import { encodeId } from "../model/id.ts";
import type { Clock } from "../database/database-clock.ts";
import { Problem } from "../http/problem.ts";
import { compile } from "../http/validate.ts";
import { fingerprintOf, idempotencyClaim, parseIdempotencyKey, type IdempotencyClaim, type LockSecret } from "../idempotency/key.ts";
import type { Acceptor } from "../messages/accept.ts";
import { checkNewMessage, NewMessageBody, type NewMessage } from "../messages/new-message.ts";
import type { AddressGate } from "../outbound/address-gate.ts";
import { ACCEPTED, answer, answerTo, DENIED, escapeHtml, Refusal, TEMPORARY } from "./answers.ts";
import { parseCallbackUrl } from "./callback-url.ts";
import { DLR_REPORTED, type SentDetails } from "./details.ts";
import type { SendSms } from "./read-sendsms.ts";

export type SendParts = { acceptor: Acceptor; clock: Clock; gate: AddressGate; lockSecret: () => LockSecret };

type SendCall = Call<never, never, never>;

const findFaults = compile(NewMessageBody, "body");

const MINUTE_SECONDS = 60;
const MINUTE_MS = 60_000;

/** How a receiver's message ended: accepted, denied as by a list, or refused. */
type Sent = { written: string; location: string | null; refusal: Problem | undefined };

export async function sendAll(parts: SendParts, request: SendSms, call: SendCall): Promise<RouteResponse> {
  const { dlrUrl } = request;
  const url = dlrUrl === "" ? undefined : parseCallbackUrl(dlrUrl);
  if (url !== undefined && parts.gate.urlRefusal(url) !== undefined) throw new Refusal("DLR-URL field not allowed, rejected");
  const claim = claimOf(parts, request, call);
  const messages = request.receivers.map((receiver) => ({ receiver, message: newMessage(parts, request, receiver.number) }));
  for (const { message } of messages) checkMessage(message);
  const sent = await Promise.all(
    messages.map(({ receiver, message }, index) => sendOne(parts, { request, receiver, message, call, claim, index })),
  );
  return summarize(request, sent);
}

function newMessage({ clock }: SendParts, request: SendSms, recipient: string): NewMessage {
  const { sender, text, priority, validityMinutes, deferredMinutes, account } = request;
  return {
    recipient: recipient as NewMessage["recipient"],
    channel: "sms",
    body: text,
    sender,
    ...(priority === null ? {} : { priority }),
    ...(validityMinutes === null ? {} : { ttl_seconds: validityMinutes * MINUTE_SECONDS }),
    ...(deferredMinutes === null || deferredMinutes === 0
      ? {}
      : { send_at: new Date(clock.now() + deferredMinutes * MINUTE_MS).toISOString() }),
    ...(account === "" ? {} : { metadata: { account } }),
  };
}

function checkMessage(message: NewMessage): void {
  const errors = [...findFaults(message), ...checkNewMessage(message)];
  if (errors.length > 0) throw new Problem("invalid_request_payload", { errors });
}

/** The claim of a request with an `Idempotency-Key`, which Kannel does not have. */
function claimOf(
  { lockSecret }: SendParts,
  { receivers }: SendSms,
  { head, body, header, credential }: SendCall,
): IdempotencyClaim | undefined {
  const key = parseIdempotencyKey(header("idempotency-key"));
  if (key === undefined) return undefined;
  if (receivers.length > 1) throw new Refusal("Idempotency-Key with several receivers not supported, rejected");
  const content = (body as Buffer | undefined)?.toString("hex");
  return idempotencyClaim(lockSecret(), credential.environmentKey, key, fingerprintOf(head.method, head.target, content));
}

type OneMessage = {
  request: SendSms;
  receiver: SendSms["receivers"][number];
  message: NewMessage;
  call: SendCall;
  claim: IdempotencyClaim | undefined;
  index: number;
};

async function sendOne({ acceptor }: SendParts, { request, receiver, message, call, claim, index }: OneMessage): Promise<Sent> {
  const { credential, requestId, writeProblem, trace } = call;
  const { written } = receiver;
  try {
    // The ids of messages end as that of their request, so only one message can have its id.
    const own = index === 0 ? { requestId } : {};
    const stored = await acceptor.accept(message, {
      credential,
      claim,
      writeProblem,
      trace,
      ...own,
      source: "kannel",
      sourceDetails: detailsOf(request, written, call),
    });
    if (stored.status < 300) return { written, location: stored.location, refusal: undefined };
    const { code, detail, errors } = JSON.parse(stored.body) as Problem;
    return { written, location: null, refusal: new Problem(code, { detail, ...(errors === undefined ? {} : { errors }) }) };
  } catch (error) {
    if (error instanceof Problem) return { written, location: null, refusal: error };
    throw error;
  }
}

/** The facts that reports need. A message without reports has none. */
function detailsOf({ dlrUrl, dlrMask, from, account, metaData }: SendSms, to: string, { credential }: SendCall): string | null {
  if (dlrUrl === "" || (dlrMask & DLR_REPORTED) === 0) return null;
  const details: SentDetails = {
    user: encodeId("key", credential.keyId),
    from,
    to,
    dlr_url: dlrUrl,
    dlr_mask: dlrMask,
    account,
    meta_data: metaData,
  };
  return JSON.stringify(details);
}

/** Kannel answers a request of several receivers once. Denied ones are named, which Kannel does only if it answers before it has stored the
 *  messages. */
function summarize({ denied: unfit }: SendSms, sent: readonly Sent[]): RouteResponse {
  const accepted = sent.filter(({ refusal }) => refusal === undefined);
  const refused = sent.flatMap(({ written, refusal }) =>
    refusal === undefined ? [] : [{ written: escapeHtml(written), refusal, answered: answerTo(refusal) }],
  );
  const [first] = refused;
  const location = accepted[0]?.location ?? null;
  if (accepted.length === 0 && first !== undefined) throw first.refusal;
  const denied = [...unfit, ...refused.filter(({ answered }) => answered.body === DENIED).map(({ written }) => written)];
  const failed = refused.filter(({ answered }) => answered.body !== DENIED).map(({ written }) => written);
  if (failed.length > 0) {
    const isTemporary = refused.every(({ answered }) => answered.body === TEMPORARY || answered.body === DENIED);
    return { ...answer(isTemporary ? 503 : 500, `Sending failed. Failed receivers are: ${failed.join(" ")}`), location };
  }
  const text = denied.length === 0 ? ACCEPTED : `Sent. Denied receivers are: ${denied.join(" ")}`;
  return { ...answer(202, text), location };
}
