/** The definition of a carrier with an HTTP API, as the configuration file has it: requests, responses and callbacks. */
import type { ReceiptStatus } from "../provider.ts";

export type Condition = { path: string; equals?: readonly string[] };
/** Responses by their status, and by the carrier's code. The code `*` is any code that no list has. */
export type Matches = { statuses?: readonly number[]; codes?: readonly string[] };

export type AuthDefinition =
  | { type: "basic"; username: string; password: string }
  | { type: "bearer"; token: string }
  | { type: "sigv4"; region: string; service: string; access_key_id: string; secret_access_key: string };

export type RequestDefinition = {
  method?: "POST" | "PUT" | "GET";
  url: string;
  headers?: Readonly<Record<string, string>>;
  query?: Readonly<Record<string, string>>;
  format?: "json" | "form";
  /** Tables and lists whose texts are templates. */
  body?: Readonly<Record<string, unknown>>;
  auth?: AuthDefinition;
  expires_seconds?: { least?: number; most?: number };
};

type ResponseDefinition = {
  success?: readonly number[];
  /** A further condition for success, for carriers that report refusals with the status of a success. */
  accepted_when?: Condition;
  id: string;
  /** Of several codes in a response, the first one that the definition names decides. */
  error_code?: string | readonly string[];
  throttled?: Matches;
  paused?: Matches;
  transient?: Matches;
  final?: Matches;
};

export type VerificationDefinition =
  | { type: "none" }
  | { type: "token"; header: string; token: string }
  | { type: "query-token"; parameter: string; token: string }
  | { type: "basic"; username: string; password: string }
  | ({ type: "hmac"; algorithm?: "sha1" | "sha256" | "sha512"; encoding?: "hex" | "base64"; secret: string; prefix?: string } & Signed)
  | ({ type: "ed25519"; public_key: string } & Signed)
  | { type: "jwt"; secret: string; payload_hash?: string; tolerance_seconds?: number };

/** The signed text is a template over the body, the URL and the headers of the request. */
type Signed = { header: string; signed?: string; timestamp_header?: string; tolerance_seconds?: number };

/** `confirm`: the URL in a callback by which a subscription is confirmed, and the only host that it may have. */
export type CallbacksDefinition = {
  format?: "json" | "form" | "query";
  verification: VerificationDefinition;
  confirm?: { path: string; host: string };
};

export type ReceiptsDefinition = {
  when?: Condition;
  items?: string;
  id?: string;
  reference?: string;
  status: string;
  error_code?: string;
  /** The carrier's words for each of our statuses. */
  statuses: Readonly<Partial<Record<ReceiptStatus, readonly string[]>>>;
};

export type InboundDefinition = {
  when?: Condition;
  items?: string;
  id?: string;
  from: string;
  to: string;
  /** Absent for messages without a text, such as binary ones. */
  text?: string;
  /** Paths of contents besides the text, by our names for them. */
  details?: Readonly<Record<string, string>>;
  in_reply_to?: string;
  /** How the carrier writes numbers; by their form if it is absent. */
  number_type?: "international" | "national";
};

/** A page of reports. `next` is the position after it, and `{{cursor}}` the one before it. */
type PollDefinition = {
  url: string;
  next: string;
  headers?: Readonly<Record<string, string>>;
  query?: Readonly<Record<string, string>>;
  every_seconds?: number;
};

export type CarrierDefinition = {
  request: RequestDefinition;
  response: ResponseDefinition;
  poll?: PollDefinition;
  callbacks?: CallbacksDefinition;
  receipts?: ReceiptsDefinition;
  /** One for each kind of message that the carrier writes in a form of its own. */
  inbound?: InboundDefinition | readonly InboundDefinition[];
  /** Our error codes by those of the carrier, in responses and receipts. */
  errors?: Readonly<Record<string, string>>;
};
