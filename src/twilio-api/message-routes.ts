/** Twilio's Messages: create, fetch, list, update and delete. */
import type { RouteResponse } from "../api/route.ts";
import type { Clock } from "../database/database-clock.ts";
import type { Database } from "../database/database.ts";
import type { Acceptor } from "../messages/accept.ts";
import type { MessageChanger } from "../messages/change-message.ts";
import type { Composer } from "../messages/compose.ts";
import { messageRecord, type Message, type MessageRecord } from "../messages/message.ts";
import { findMessage, listMessages } from "../messages/queries.ts";
import { toId } from "../model/id.ts";
import { ERASED } from "../model/phone-number.ts";
import type { Owner } from "../model/owner.ts";
import type { AddressGate } from "../outbound/address-gate.ts";
import type { RecipientEraser } from "../recipients/erase-recipient.ts";
import { requireCallable } from "./callback-url.ts";
import { twilioProblem } from "./errors.ts";
import { requireKnown } from "./forms.ts";
import { listResource, readList } from "./message-list.ts";
import { messageResource } from "./message-resource.ts";
import { readNewMessage, type TwilioMessage } from "./new-message.ts";
import { addingFile } from "./message-media.ts";
import { readDetails } from "./queries.ts";
import { chooseFromPool, servicesOf } from "./messaging-services.ts";
import { messageOfSid } from "./sids.ts";
import { detailsText, type SourceDetails } from "./source-details.ts";
import { jsonReply, notFound, writeReply, type TwilioRequest, type TwilioRow } from "./twilio-route.ts";

export type MessageParts = {
  db: Database;
  clock: Clock;
  gate: AddressGate;
  acceptor: Acceptor;
  composer: Composer;
  messages: MessageChanger;
  eraser: RecipientEraser;
};

const MESSAGES = "/2010-04-01/Accounts/{AccountSid}/Messages";
const UPDATES = new Set(["Body", "Status"]);

export const messageRows = (parts: MessageParts): TwilioRow[] => [
  {
    method: "POST",
    path: `${MESSAGES}.json`,
    operationId: "twilioCreateMessage",
    scope: "messages:send",
    weight: "send",
    handle: (request) => create(parts, request),
  },
  {
    method: "GET",
    path: `${MESSAGES}.json`,
    operationId: "twilioListMessages",
    scope: "messages:read",
    weight: "heavy",
    handle: (request) => list(parts, request),
  },
  {
    method: "GET",
    path: `${MESSAGES}/{Sid}.json`,
    operationId: "twilioFetchMessage",
    scope: "messages:read",
    handle: async (request) => {
      requireKnown(request.parameters);
      const message = await findOwnMessage(parts.db, request);
      const details = (await readDetails(parts.db, request.credential, [message])).get(message);
      return jsonReply(messageResource(messageRecord(message), request.accountSid, details));
    },
  },
  {
    method: "POST",
    path: `${MESSAGES}/{Sid}.json`,
    operationId: "twilioUpdateMessage",
    scope: "messages:send",
    handle: (request) => update(parts, request),
  },
  {
    method: "DELETE",
    path: `${MESSAGES}/{Sid}.json`,
    operationId: "twilioDeleteMessage",
    scope: "recipients:erase",
    handle: async (request) => {
      requireKnown(request.parameters);
      const message = await findOwnMessage(parts.db, request);
      if (!(await parts.eraser.eraseMessage(request.write, message))) throw twilioProblem(20009);
      return { status: 204, body: "" };
    },
  },
];

async function create(
  { db, clock, gate, acceptor, composer }: MessageParts,
  { credential, accountSid, parameters, write }: TwilioRequest,
): Promise<RouteResponse> {
  const message = readNewMessage(parameters, clock.now());
  const { statusCallback: callback, serviceSid: service } = message;
  if (callback !== undefined) requireCallable(callback, gate);
  const details: SourceDetails = {
    ...(callback === undefined ? {} : { credential: credential.keyId.toString("hex"), callback }),
    ...(service === undefined ? {} : { service }),
  };
  const sender = service === undefined ? undefined : await senderOf(db, composer, message, credential, service);
  const response = await acceptor.accept(sender === undefined ? message.request : { ...message.request, sender }, {
    ...write,
    source: "twilio",
    sourceDetails: detailsText(details),
    complete: addingFile(composer.media, credential, message),
  });
  return writeReply(response, 201, (record: MessageRecord) => messageResource(record, accountSid, details));
}

/** The sender of a message that a pool sends. Undefined if the route chooses it. A named sender must be one of the pool. */
async function senderOf(
  db: Database,
  { linkDirectory }: Composer,
  { request: { sender, recipient } }: TwilioMessage,
  owner: Owner,
  serviceSid: string,
): Promise<string | undefined> {
  const service = servicesOf(linkDirectory, owner).find(({ sid }) => sid === serviceSid);
  if (service === undefined) throw twilioProblem(21701);
  if (service.pool === null) return undefined;
  if (typeof sender === "string" && !service.senders.some(({ number }) => number === sender)) throw twilioProblem(21606);
  if (typeof sender === "string") return sender;
  const { accountId, environment } = owner;
  const chosen = await chooseFromPool(db, linkDirectory, service, { accountId, environment, recipient });
  if (chosen === undefined) throw twilioProblem(21612);
  return chosen;
}

async function list({ db }: MessageParts, { credential, accountSid, parameters, path }: TwilioRequest): Promise<RouteResponse> {
  const request = readList(parameters);
  const { items, next } = await listMessages(db, credential, request.filter, request.position.size);
  const shown = items.filter((message) => !isErased(message));
  const details = await readDetails(db, credential, shown);
  const resources = shown.map((message) => messageResource(messageRecord(message), accountSid, details.get(message)));
  return jsonReply(listResource(request, path, resources, next === null ? null : toId("msg", next)));
}

/** A message without the data of its person does not exist for a client of Twilio. */
const isErased = ({ direction, recipient, sender }: Message): boolean => (direction === "inbound" ? sender : recipient) === ERASED;

/** The message that a parameter of the path names. */
export async function findOwnMessage(
  db: Database,
  { credential, params, path }: TwilioRequest,
  parameter: "Sid" | "MessageSid" = "Sid",
): Promise<Message> {
  const id = messageOfSid(params[parameter] ?? "");
  const message = id && (await findMessage(db, credential.accountId, credential.environment, id));
  if (message === undefined || isErased(message)) throw notFound(path);
  return message;
}

/** Cancels a message, or removes its text. */
async function update({ db, messages }: MessageParts, request: TwilioRequest): Promise<RouteResponse> {
  const { parameters, accountSid, write } = request;
  requireKnown(parameters, UPDATES);
  const status = parameters.get("Status")?.[0];
  const body = parameters.get("Body")?.[0];
  const isCancel = status === "canceled" && body === undefined;
  if (!isCancel && (body !== "" || status !== undefined)) throw twilioProblem(30400);
  const message = await findOwnMessage(db, request);
  const details = (await readDetails(db, request.credential, [message])).get(message);
  const response = await (isCancel ? messages.cancel(write, message.id) : messages.redact(write, message.id));
  return writeReply(response, 200, (record: MessageRecord) => messageResource(record, accountSid, details));
}
