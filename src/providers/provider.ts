/** The contract of a provider: a kind of carrier connection. A provider knows neither our HTTP API nor our tables. It submits
 *  messages one by one, returns the outcome of each, and passes on receipts, inbound messages and template reviews.
 *
 *  A new provider is a folder beside this file and a line in `providers.ts`. It must pass `test/support/provider-conformance.ts`. */
import type { CarriedContent, SentContent } from "../model/content.ts";
import type { Log } from "../model/log.ts";
import type { Recipient } from "../model/phone-number.ts";
import type { BusinessAccountClient, ReviewUpdate, TemplateCategory } from "./business-account.ts";
import type { FileFailure, OpenFile, OutgoingMedia } from "./carrier-file.ts";
import type { ConnectionTest } from "./connection-test.ts";

/** A message as a provider submits it. */
export type Outgoing = {
  /** Our public id, and the reference for carriers that accept one. */
  id: string;
  /** The number of this attempt, from one. */
  attempt: number;
  channel: "sms" | "whatsapp";
  /** An E.164 number, or on WhatsApp a business-scoped user id: checked when the request was parsed. */
  recipient: Recipient;
  sender: string | null;
  /** The text; for a template, with its variables filled in. */
  body: string;
  /** For carriers that have the template and fill in the variables themselves. */
  template: OutgoingTemplate | null;
  /** The content beside the text, if the message has one, with its file. */
  content?: SentContent | null;
  media?: OutgoingMedia | undefined;
  /** The id that the carrier gave to the uploaded file. */
  carrierFile?: string;
  /** The carrier id of the message that this one quotes or reacts to. */
  quotes?: string | undefined;
  /** The carrier must not deliver the message after this time. */
  expiresAtMs: number;
  priority?: "high" | "normal" | "bulk";
  /** Members that the provider has checked, and members of other providers, which it ignores. */
  carrierOptions?: CarrierOptions | null;
  /** The parts that the carrier accepted in an earlier attempt on this link, if the others are to be sent now. */
  acceptedParts?: AcceptedParts | undefined;
};

export type CarrierOptions = Readonly<Record<string, unknown>>;

/** A fault of the options. The pointer begins at the options. */
export type OptionFault = { pointer: string; code: string; detail: string };

/** The first parts of a message, which a carrier has accepted without the others. */
export type AcceptedParts = {
  /** The carrier ids, in the order of the parts. */
  ids: readonly string[];
  /** The number of parts that the message has. */
  total: number;
  /** The number in every part by which a phone puts the parts together. */
  reference: number;
};

/** A template with the variables of header and body, in the order in which a carrier expects them: `{{1}}` before `{{2}}`, names in
 *  order of their first appearance. A variable that appears in both is in both lists. */
export type OutgoingTemplate = {
  name: string;
  language: string;
  /** Null for messages that were stored before the category was. */
  category: TemplateCategory | null;
  header: readonly Variable[];
  body: readonly Variable[];
};
export type Variable = { name: string; value: string };

/** The error of a message that a carrier refused or did not deliver: our code and message, and the carrier's own code. */
export type CarrierError = { code: string; message: string; providerCode: string | null; isPermanent: boolean };

/** The outcome of an attempt. `unknown` is the honest outcome whenever bytes may have left and no definite response came: the message is
 *  never sent again blindly. A provider that throws has the outcome `unknown` too. */
export type SendOutcome =
  /** Carriers may give each part of a message its own id: `providerMessageId` is the first, `furtherPartIds` are the others, in order.
   *  `isOurs`: the carrier gives no ids and returns our public id in its receipts, so `providerMessageId` is that id. */
  | { kind: "accepted"; providerMessageId: string; isOurs?: true; furtherPartIds?: readonly string[] }
  /** `isPermanent`: the carrier would refuse the same message again. Otherwise another attempt follows later. The code `RECIPIENT_OPTED_OUT`
   *  suppresses the recipient. */
  | ({ kind: "refused"; acceptedParts?: AcceptedParts | undefined } & CarrierError)
  /** The rate is too high, for the whole link or for this recipient. The message is not the cause. */
  | { kind: "throttled"; scope: "link" | "recipient"; retryAfterMs: number | null; providerCode: string | null }
  /** Bytes may have left. */
  | { kind: "unknown"; detail: string; acceptedParts?: AcceptedParts | undefined }
  /** `begin` has resolved to false, so nothing was sent. */
  | { kind: "withdrawn" };

/** The code of a refused message whose recipient has opted out at the carrier, from this sender or from all. It becomes a suppression. */
export const RECIPIENT_OPTED_OUT = "recipient_opted_out";

/** The code of a receipt whose message the carrier did not deliver because it blocks the account. It pauses the link. */
export const ACCOUNT_BLOCKED = "carrier_account_blocked";

/** Stores the message as `sending`. Resolves to false if the message must not be sent any more: it was canceled, or its recipient opted
 *  out. The provider calls it when the message has its connection, its turn and its place in the window, and writes the first byte right after
 *  it. If something delays that byte, the provider calls it again: more than a second after the last call the message is checked again. */
export type Begin = () => Promise<boolean>;

/** The field in `raw` of a receipt that stands for a late response to the submission. */
export const LATE_RESPONSE = "answer";

export const RECEIPT_STATUSES = ["sent", "delivered", "read", "undelivered", "expired", "failed"] as const;
export type ReceiptStatus = (typeof RECEIPT_STATUSES)[number];

/** A delivery receipt. It identifies its message by the carrier id. That id is not known here when the response to the message was
 *  lost: then the receipt identifies the message by our reference, if the carrier returns it. */
export type Receipt = {
  providerMessageId: string | null;
  /** Our public id, if the carrier returns it. */
  reference: string | null;
  status: ReceiptStatus;
  /** The code `RECIPIENT_OPTED_OUT` suppresses the recipient. */
  error: CarrierError | null;
  /** The carrier's own fields, for the timeline. No text of the message. */
  raw: Readonly<Record<string, string>>;
  /** The carrier ids of all parts, if a late response completes a message in parts. */
  partIds?: readonly string[];
  /** The form of the carrier id, compared with that of the response. Absent if the carrier writes both alike. */
  idForm?: ReceiptIds;
  /** The addresses of the phone and of our number, as the carrier wrote them, if it names them. Some carriers swap them. */
  addresses?: readonly string[];
  /** The addresses of a receipt that its carrier did not mark as one, as it wrote them. Anybody can write a text that looks like a receipt, so
   *  it counts only for a message to one of these addresses. */
  unmarkedFrom?: readonly string[];
};

/** How receipts write the id of a response. `decimal`: receipts are in decimal, responses in hexadecimal; `hex` is the opposite. `auto`: in any
 *  of these forms. */
export const RECEIPT_IDS = ["auto", "same", "decimal", "hex"] as const;
export type ReceiptIds = (typeof RECEIPT_IDS)[number];

/** How a carrier marks an address. `other`: a short code, a name, or any other address that is no phone number. */
export type AddressType = "international" | "national" | "other";

/** The addresses of an inbound message, as the carrier writes them. The host reads them, with the country of the link. An address without
 *  a type is read by its form. A message is passed on even if an address has an unknown form, or is absent: it may be an opt-out. */
export type InboundAddresses = {
  /** The person's number, or a business-scoped user id of WhatsApp. Empty if the carrier names none: the host keeps the message for the
   *  operator. */
  from: string;
  fromType?: AddressType;
  /** A second address of the same person, if the carrier names one: a user id beside the number. */
  alsoFrom?: string;
  /** Our number. Null or empty if the carrier names none: the host uses the sender of the link. */
  to: string | null;
  toType?: AddressType;
};

/** A message from a person to one of our numbers. */
export type InboundMessage = InboundAddresses & {
  /** The carrier id, if there is one. A repeated message is recognized by it. */
  providerMessageId: string | null;
  channel: "sms" | "whatsapp";
  text: string;
  /** The carrier id of the message that this one replies to, if the carrier names it. */
  inReplyTo: string | null;
  /** The meaning that the carrier found in the text: an opt-out, an opt-in, or a request for help. It counts in place of our own lists of
   *  words, and the carrier has replied. */
  reported?: "out" | "in" | "help";
  /** When the person wrote the message, if the carrier names the time. */
  writtenAtMs?: number;
  /** The message was written to a group, and not to our number only. It neither opts out nor opens a service window. */
  isToGroup?: boolean;
  /** The content of the message, if it is more than a text. A notice of the channel (`system`) neither opts out nor opens a service window. */
  content?: CarriedContent;
  /** Facts that neither the text nor the content has, by their names. They become its metadata. */
  details?: Readonly<Record<string, string>>;
};

/** One part of a message that a carrier delivers in several, in any order. The parts of a message have the same addresses, `reference` and
 *  `total`. The host keeps the contents, and `joinParts` reads them when all parts are there. */
export type InboundPart = PartContent & {
  addresses: InboundAddresses & { to: string };
  reference: string;
  /** From 2 to 255. */
  total: number;
  /** From 1. */
  number: number;
  /** How long the message waits for its other parts, from its first one on. */
  waitMs: number;
};

/** The bytes of a part, as the carrier sent them. */
export type PartContent = {
  dataCoding: number;
  /** A user data header precedes the text. */
  hasHeader: boolean;
  userData: Buffer;
};

/** The choice of a person, in the carrier's app, whether our number may write to them. */
export type Preference = {
  /** The person's addresses, in the form of inbound messages. */
  from: string;
  alsoFrom?: string;
  /** Our number, as in inbound messages. */
  to: string | null;
  isOptOut: boolean;
};

/** A receipt about a number of which no link is configured. */
export type UnmatchedReceipt = {
  receipt: Receipt;
  /** The number of the person, if the carrier names it. */
  recipient: string | null;
  /** The receipt as the carrier wrote it. */
  raw: string;
};

/** The reports of a carrier about numbers of which no link is configured. `links`: the names of the links whose secret signed it. */
export type UnmatchedReports = {
  receipts: readonly UnmatchedReceipt[];
  messages: readonly InboundMessage[];
  links: readonly string[];
};

/** The host refuses reports because their link brings too many. The carrier is asked to send them again. The host has logged it. */
export class ReportsThrottled extends Error {
  override name = "ReportsThrottled";
}

/** The functions of this service that a provider may call. */
export type Host = {
  /** Resolves when the receipts are committed: acknowledge the carrier only then. Rejects when they are not. Returns those that are no receipts:
   *  unmarked texts about a message to somebody else. */
  receive(receipts: readonly Receipt[]): Promise<readonly Receipt[]>;
  /** Resolves when the messages are committed: acknowledge the carrier only then. Rejects when they are not. */
  receiveMessages(messages: readonly InboundMessage[]): Promise<void>;
  /** Resolves when the part is committed: acknowledge the carrier only then. Rejects when it is not. Call the returned function when the response
   *  was written: until then, the same part counts as a repetition. */
  receivePart(part: InboundPart): Promise<() => void>;
  /** Resolves when the choices are committed: acknowledge the carrier only then. Rejects when they are not. */
  receivePreferences(preferences: readonly Preference[]): Promise<void>;
  /** Applies the receipts that name a message of ours, and keeps the rest for the operator. Resolves when everything is committed:
   *  acknowledge the carrier only then. Rejects when it is not. */
  receiveUnmatched(reports: UnmatchedReports): Promise<void>;
  /** Resolves when the reviews are committed: acknowledge the carrier only then. Rejects when they are not. */
  receiveReviews(reviews: readonly ReviewUpdate[]): Promise<void>;
  /** Reports that the carrier's response to a message contradicts our record of its template. */
  templatesChanged(): void;
  /** Reports that `isReady`, `state` or `window` of the connection changed. */
  changed(): void;
  /** The database's time. */
  now(): number;
  log: Log;
};

/** The host of a link that one node has at a time. */
export type LeasedHost = Host & {
  /** False as soon as another node may have the link: then nothing more may be written. Call it right before bytes leave, since a
   *  process may be suspended between any two lines and continue after another node has taken over. Absent if no other node can
   *  have the link. */
  hasLease?(): boolean;
  /** The stored position in the reports of a carrier that is polled. */
  cursor?: PollCursor;
};

export type PollCursor = { read(): Promise<string | null>; store(position: string): Promise<void> };

/** The state of a link, for people and for failover. */
export type LinkState = {
  kind: "connecting" | "connected" | "throttled" | "paused";
  /** The cause of a state other than `connected`: for people, without secrets. */
  reason: string | null;
};

/** A request that a carrier sent to a URL of ours. */
export type CarrierRequest = {
  method: string;
  /** The whole URL that the carrier called, for signatures that cover it. */
  url: string;
  query: Readonly<Record<string, string>>;
  headers: Readonly<Record<string, string>>;
  /** The unchanged bytes, which signatures cover. */
  body: Buffer;
};
export type CarrierResponse = { status: number; contentType: string; body: string; headers?: Record<string, string> };

/** One open link. */
export type Connection = {
  /** Absent for links that are always connected. */
  readonly state?: LinkState;
  /** The number of messages that may wait for the carrier's response at a time. */
  readonly window: number;
  /** False while nothing can be submitted; then no message is claimed for the link. */
  readonly isReady: boolean;
  /** Submits one message. Waits for a connection and its turn, then calls `begin`, and writes at once if that resolves to true. Always settles soon
   *  after `signal` is aborted: a message that has left without a response is `unknown`, and one that waits is `throttled`. `renew`
   *  returns a signal that replaces `signal` and allows as much time again: for a message in parts, when the carrier has accepted one. */
  send(message: Outgoing, signal: AbortSignal, begin: Begin, renew?: () => AbortSignal): Promise<SendOutcome>;
  /** Ends the connection as its protocol prescribes, within seconds. Called when no `send` is running any more. */
  close(): Promise<void>;
};

/** A link of a provider, for requests that are about several links. */
export type ProviderLink<Settings> = { name: string; settings: Settings; host: Host };

export type Provider<Settings> = {
  /** One node has the link at a time, since the carrier allows one connection, or counts one rate, for all our nodes together. */
  isExclusive?: boolean;
  /** Handles a request to /providers/{provider}/{link}. Any node may receive it, also one that has not opened the link. Resolves when
   *  the contents of the request are committed. `links` returns all links of the provider, since a carrier may know several of them by
   *  one URL: the provider itself checks which of them the request may be about. */
  handleRequest?(
    settings: Settings,
    request: CarrierRequest,
    host: Host,
    links?: () => readonly ProviderLink<Settings>[],
  ): Promise<CarrierResponse>;
  /** The methods of these requests; by default only POST. Requests with other methods get the 404 of an unknown link before their body is read. */
  requestMethods?: readonly ("GET" | "POST")[];
  /** The limit of their bodies; 64 kB by default. */
  maxRequestBytes?: number;
  /** The account at the carrier that owns the templates of a link, without secrets. Links with the same name share their templates.
   *  Undefined if the link has no such account. */
  businessAccountName?(settings: Settings): string | undefined;
  openBusinessAccount?(settings: Settings, log: Log): BusinessAccountClient;
  /** Opens a file of an inbound message, by the id or the URL that the message had. Any node may call it, as `handleRequest`. */
  openFile?(settings: Settings, carrierFile: string, signal: AbortSignal): Promise<OpenFile | FileFailure>;
  /** The text of a message in parts. Undefined stands for a part that did not come. Required if the provider passes on parts. */
  joinParts?(settings: Settings, parts: readonly (PartContent | undefined)[]): string;
  /** Tests the settings of a link that is not open: connects and signs in, and sends no message. */
  test?(settings: Settings, log: Log, signal: AbortSignal): Promise<ConnectionTest>;
  /** Shown as `provider.name` in the API. */
  name: string;
  open(settings: Settings, host: Host): Promise<Connection>;
};

export const hasLease = (host: LeasedHost): boolean => host.hasLease?.() ?? true;

export const WITHDRAWN: SendOutcome = { kind: "withdrawn" };

// A closed link is mostly opened again, on this node or on another, within this time.
const NOT_SENT_WAIT_MS = 1_000;

export const throttled = (retryAfterMs: number, providerCode: string | null): SendOutcome => ({
  kind: "throttled",
  scope: "link",
  retryAfterMs,
  providerCode,
});

/** The outcome of a message that was not sent at all, because of the link. The message returns to the front of its lane, for the
 *  node that has the link next, and the attempt does not count. */
const notSent = (providerCode: string): SendOutcome => throttled(NOT_SENT_WAIT_MS, providerCode);

export const LINK_CLOSED = notSent("link_closed");
export const LINK_ELSEWHERE = notSent("link_elsewhere");
/** Not `unknown`, since nothing was sent: the next process sends a message that waits for its turn when this process ends. */
export const NOT_SENT = notSent("not_sent");
