/** The contract of a provider: a kind of carrier connection. A provider knows neither our HTTP nor our tables; it is handed
 *  messages one by one, says what became of each, and passes on what the carrier says later.
 *
 *  Adding one is a folder beside this file and a line in `providers.ts`. `test/support/provider-conformance.ts` is what it must pass. */
import type { Log } from "../lib/log.ts";
import type { Recipient } from "../lib/phone-number.ts";
import type { TemplateCategory, BusinessAccountClient, ReviewUpdate } from "./business-account.ts";

/** What a carrier needs of a message. */
export type Outgoing = {
  /** Our public id. A carrier that can carry a reference of ours gets this one. */
  id: string;
  /** Counts the tries at this message, from one. */
  attempt: number;
  channel: "sms" | "whatsapp";
  /** An E.164 number: checked when the request was parsed. */
  recipient: Recipient;
  sender: string | null;
  /** The text, of a template with its variables filled in. */
  body: string;
  /** For carriers that have the template and fill it in themselves. */
  template: OutgoingTemplate | null;
  /** The carrier must not deliver it after this. */
  expiresAtMs: number;
};

/** The variables of each part, in the order in which a carrier takes them: `{{1}}` before `{{2}}`, names as they first appear. A
 *  variable that both parts have is in both. */
export type OutgoingTemplate = {
  name: string;
  language: string;
  /** Null of messages from before it was kept. */
  category: TemplateCategory | null;
  header: readonly Variable[];
  body: readonly Variable[];
};
export type Variable = { name: string; value: string };

/** What became of a try. `unknown` is the honest answer whenever bytes may have left and nothing definite came back: it is
 *  never sent again blindly. A provider that throws has said `unknown` too. */
export type SendOutcome =
  /** Of a message that went in several parts the carrier may have named each: the first, and the others in their order. */
  | { kind: "accepted"; providerMessageId: string; furtherPartIds?: readonly string[] }
  /** `isPermanent`: the same message would be refused again. Otherwise it is tried again, later. */
  | { kind: "refused"; code: string; message: string; providerCode: string | null; isPermanent: boolean }
  /** Too fast, for the whole link or for this recipient. No fault of the message. */
  | { kind: "throttled"; scope: "link" | "recipient"; retryAfterMs: number | null; providerCode: string | null }
  | { kind: "unknown"; detail: string };

export const RECEIPT_STATUSES = ["sent", "delivered", "read", "undelivered", "expired", "failed"] as const;
export type ReceiptStatus = (typeof RECEIPT_STATUSES)[number];

/** What a carrier says later. It names the message by the id it gave it. Of a message whose answer never came nobody knows that
 *  id: it is named by the reference it was sent with, where the carrier gives that back. */
export type Receipt = {
  providerMessageId: string | null;
  /** Our public id, where the carrier gives it back. */
  reference: string | null;
  status: ReceiptStatus;
  error: { code: string; message: string; providerCode: string | null; isPermanent: boolean } | null;
  /** What the carrier said, in its own words, for the timeline. No text of the message. */
  raw: Readonly<Record<string, string>>;
};

/** What someone wrote to a number of ours. */
export type InboundMessage = {
  /** What the carrier calls it, where it does: by that a repetition is known. */
  providerMessageId: string | null;
  channel: "sms" | "whatsapp";
  /** Who wrote it, in E.164. */
  from: string;
  /** The number of ours it was written to. */
  to: string;
  text: string;
  /** What the carrier calls the message it answers, where it says so. */
  inReplyTo: string | null;
};

/** What a provider may ask of us. */
export type Host = {
  /** Resolves when the receipts are committed: acknowledge the carrier only then. Rejects when they are not. */
  receive(receipts: readonly Receipt[]): Promise<void>;
  /** Resolves when the messages are committed: acknowledge the carrier only then. Rejects when they are not. */
  receiveMessages(messages: readonly InboundMessage[]): Promise<void>;
  /** Resolves when what became of templates is committed: acknowledge the carrier only then. Rejects when it is not. */
  receiveReviews(verdicts: readonly ReviewUpdate[]): Promise<void>;
  /** The carrier's answer to a message says that it has the template otherwise than we believe. */
  templatesChanged(): void;
  /** Something changed that matters to whoever sends: `isReady` above all. */
  changed(): void;
  /** The database's time. */
  now(): number;
  log: Log;
};

/** What a provider may ask of us besides, when one node has its link at a time. */
export type LeasedHost = Host & {
  /** False from the moment the link may be another node's: then nothing more is written. Asked right before the bytes leave, since
   *  a process may stand still between any two lines, and wake up when another has taken over. Left out where nobody else has it. */
  hasLease?(): boolean;
  /** What the carrier called the last messages of this link, whichever node sent them, the oldest first. */
  recentCarrierIds?(): Promise<readonly string[]>;
};

/** How a link is doing, for those who watch it. */
export type LinkState = {
  kind: "connecting" | "connected" | "throttled" | "paused";
  /** Why it is not simply connected: for people, without secrets. */
  reason: string | null;
};

/** A request that a carrier sent to a URL of ours. */
export type CarrierRequest = {
  method: string;
  /** The whole address as the carrier called it, for signatures that cover it. */
  url: string;
  query: Readonly<Record<string, string>>;
  headers: Readonly<Record<string, string>>;
  /** As it came: signatures are over these bytes. */
  body: Buffer;
};
export type CarrierResponse = { status: number; contentType: string; body: string };

/** One open link. */
export type Connection = {
  /** Left out by links that are always connected. */
  readonly state?: LinkState;
  /** Messages that may be at the carrier without an answer, at one time. */
  readonly window: number;
  /** False while nothing can be handed over; then nothing is claimed. */
  readonly isReady: boolean;
  /** Hands one message over. Called only after it is on record that bytes may leave. Settles within `signal`'s time, in
   *  any case: when it is aborted, what has left without an answer is unknown. */
  send(message: Outgoing, signal: AbortSignal): Promise<SendOutcome>;
  /** No send is under way any more. Ends the connection in the carrier's manner, within seconds. */
  close(): Promise<void>;
};

export type Provider<Settings> = {
  /** Its carrier takes one connection, or counts a rate, for all our nodes together: one of them has the link at a time. */
  isExclusive?: boolean;
  /** What carriers send to /providers/{provider}/{link}. It may come to any node, whoever has the link open; it needs no
   *  connection. Answers when what was said is committed. */
  handleRequest?(settings: Settings, request: CarrierRequest, host: Host): Promise<CarrierResponse>;
  /** Which account at the carrier has the templates of a link looked at; links with the same one share them. Undefined where none
   *  does. No secret is in it. */
  businessAccountName?(settings: Settings): string | undefined;
  /** Where templates are handed in and asked after, of a link that has an account for it. */
  openBusinessAccount?(settings: Settings, log: Log): BusinessAccountClient;
  /** Shown as `provider.name` in the record. */
  name: string;
  open(settings: Settings, host: Host): Promise<Connection>;
};

export const hasLease = (host: LeasedHost): boolean => host.hasLease?.() ?? true;

// Whoever closed the link mostly opens it again, here or on another node, within this time.
const WAIT_MS = 1_000;

export type NotSentReason = "link_closed" | "link_elsewhere" | "not_sent";

/** Nothing of the message has left the house, and it is not at fault: it goes back to the front of its lane, for whoever has the
 *  link next, and uses up none of its tries. */
export const notSent = (why: NotSentReason): SendOutcome => ({
  kind: "throttled",
  scope: "link",
  retryAfterMs: WAIT_MS,
  providerCode: why,
});
