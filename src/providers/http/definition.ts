/** The definition of a carrier with an HTTP API, as the configuration file has it: requests, responses and callbacks. The schemas check the file,
 *  and the types follow from them. */
import { HINT, oneOf, Type, type Schema, type Static } from "../../http/schema.ts";
import { RECEIPT_STATUSES, type ReceiptStatus } from "../provider.ts";

export type AuthDefinition =
  | { type: "basic"; username: string; password: string }
  | { type: "bearer"; token: string }
  | {
      type: "oauth2";
      token_url: string;
      client_id: string;
      client_secret: string;
      scope?: string;
      audience?: string;
      client_auth?: "header" | "body";
    }
  | {
      type: "hmac";
      header: string;
      secret: string;
      secret_encoding?: "text" | "base64";
      algorithm?: "sha1" | "sha256" | "sha512";
      encoding?: "hex" | "base64";
      prefix?: string;
      signed?: string;
      timestamp_header?: string;
      nonce_header?: string;
    }
  | { type: "sigv4"; region: string; service: string; access_key_id: string; secret_access_key: string };

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

const table = <P extends Readonly<Record<string, Schema>>>(properties: P) => Type.Object(properties, { additionalProperties: false });
/** A table whose members depend on its type. `links/http-definition.ts` lists them. */
const typed = <T>() =>
  Type.Unsafe<T>({ type: "object", required: ["type"], properties: { type: { type: "string", maxLength: 100 } }, maxProperties: 20 });

const text = Type.String({ minLength: 1, maxLength: 1_000 });
const maybeText = Type.Optional(text);
const paths = Type.Unsafe<string | string[]>({ type: ["string", "array"], minLength: 1, maxLength: 1_000, items: text, maxItems: 10 });
const words = Type.Array(Type.String({ minLength: 1, maxLength: 100 }), { maxItems: 500 });
const NAME = { pattern: "^[a-z][a-z0-9_]{0,39}$", [HINT]: "must be up to 40 of a-z, 0-9 and _, and begin with a letter" };
const templates = Type.Record(Type.String({ maxLength: 1_000 }), { maxProperties: 50 });
const condition = table({ path: text, equals: Type.Optional(words), not_equals: Type.Optional(words) });
// A status of 500 and above is always an unknown outcome: a server that failed does not know what it had done before.
const statuses = Type.Array(Type.Integer({ minimum: 200, maximum: 499 }), { maxItems: 100 });
const seconds = Type.Integer({ minimum: 1, maximum: 2_592_000 });
/** Responses by their status, and by the carrier's code. The code `*` is any code that no list has. */
const matches = table({ statuses: Type.Optional(statuses), codes: Type.Optional(words) });

/** How a text of the carrier is read. `pattern` is for the format `text`: its named groups are the members of the tree. */
const formatFields = <F extends string>(formats: readonly F[]) => ({
  format: Type.Optional(oneOf(formats)),
  pattern: Type.Optional(Type.String({ minLength: 1, maxLength: 300 })),
});
/** Each line becomes an element of a list. */
const eachLine = Type.Optional(Type.Boolean());

const request = table({
  method: Type.Optional(oneOf(["POST", "PUT", "GET"])),
  url: text,
  headers: Type.Optional(templates),
  query: Type.Optional(templates),
  format: Type.Optional(oneOf(["json", "form", "xml", "text"])),
  /** Tables and lists whose texts are templates; one template for `xml` and `text`. */
  body: Type.Optional(Type.Unsafe<Record<string, unknown> | string>({ type: ["object", "string"], maxProperties: 100, maxLength: 10_000 })),
  auth: Type.Optional(typed<AuthDefinition>()),
  /** The carrier's words for `{{encoding}}`. */
  encodings: Type.Optional(table({ text, unicode: text })),
  expires_seconds: Type.Optional(table({ least: Type.Optional(seconds), most: Type.Optional(seconds) })),
});

const response = table({
  ...formatFields(["json", "form", "xml", "text"]),
  success: Type.Optional(statuses),
  /** A further condition for success, for carriers that report refusals with the status of a success. */
  accepted_when: Type.Optional(condition),
  /** `none` for a carrier that gives no ids. */
  id: text,
  /** If a response has several codes, the first one that the definition names decides. */
  error_code: Type.Optional(paths),
  throttled: Type.Optional(matches),
  paused: Type.Optional(matches),
  transient: Type.Optional(matches),
  final: Type.Optional(matches),
});

/** A page of reports. `next` is the position after it, and `{{cursor}}` the one before it. */
const poll = table({
  ...formatFields(["json", "form", "xml", "text"]),
  each_line: eachLine,
  url: text,
  next: text,
  headers: Type.Optional(templates),
  query: Type.Optional(templates),
  every_seconds: Type.Optional(Type.Integer({ minimum: 1, maximum: 3_600 })),
});

/** `confirm`: the URL in a callback by which a subscription is confirmed, and the only host that it may have. */
const callbacks = table({
  ...formatFields(["json", "form", "query", "xml", "text"]),
  each_line: eachLine,
  /** The response to a callback that is stored. */
  response: Type.Optional(
    table({ status: Type.Optional(Type.Integer({ minimum: 200, maximum: 299 })), content_type: maybeText, body: maybeText }),
  ),
  verification: typed<VerificationDefinition>(),
  confirm: Type.Optional(table({ path: text, host: text })),
});

const receipts = table({
  when: Type.Optional(condition),
  items: maybeText,
  id: maybeText,
  reference: maybeText,
  status: text,
  error_code: maybeText,
  /** The carrier's words for each of our statuses. */
  statuses: Type.Unsafe<Partial<Record<ReceiptStatus, string[]>>>(
    table(Object.fromEntries(RECEIPT_STATUSES.map((status) => [status, Type.Optional(words)]))),
  ),
});

const inbound = table({
  when: Type.Optional(condition),
  items: maybeText,
  id: maybeText,
  from: text,
  to: text,
  /** The first path that has a text. Absent for messages without one, such as binary ones. */
  text: Type.Optional(paths),
  /** Paths of contents besides the text, by our names for them. Every value that they find is kept. */
  details: Type.Optional(Type.Record(paths, { propertyNames: NAME, maxProperties: 20 })),
  in_reply_to: maybeText,
  /** How the carrier writes numbers; by their form if it is absent. */
  number_type: Type.Optional(oneOf(["international", "national"])),
});

const DEFINITION = {
  request,
  response,
  poll: Type.Optional(poll),
  callbacks: Type.Optional(callbacks),
  receipts: Type.Optional(receipts),
  /** One for each kind of message that the carrier writes in a form of its own. */
  inbound: Type.Optional(
    Type.Unsafe<InboundDefinition | InboundDefinition[]>({
      ...inbound,
      type: ["object", "array"],
      items: inbound,
      minItems: 1,
      maxItems: 10,
    }),
  ),
  /** Our error codes by those of the carrier, in responses and receipts. */
  errors: Type.Optional(
    Type.Record(Type.String({ pattern: "^[a-z][a-z0-9_]{0,59}$", [HINT]: "must be an error code of a-z, 0-9 and _" }), {
      maxProperties: 500,
    }),
  ),
};
const Definition = table(DEFINITION);

export type FormatDefinition = { format?: NonNullable<CallbacksDefinition["format"]>; pattern?: string; each_line?: boolean };
export type RequestDefinition = Static<typeof request>;
export type CallbacksDefinition = Static<typeof callbacks>;
export type ReceiptsDefinition = Static<typeof receipts>;
export type InboundDefinition = Static<typeof inbound>;
export type Condition = Static<typeof condition>;
export type Matches = Static<typeof matches>;
export type CarrierDefinition = Static<typeof Definition>;

/** The settings of a link: the definition, and the values and secrets that its templates name. */
export const HTTP_FIELDS: Record<string, Schema> = {
  ...DEFINITION,
  values: Type.Optional(Type.Record(Type.String({ maxLength: 1_000 }), { propertyNames: NAME, maxProperties: 50 })),
  secrets: Type.Optional(
    Type.Record(Type.String({ pattern: "^[A-Z][A-Z0-9_]{0,99}$", [HINT]: "must be the name of an environment variable" }), {
      propertyNames: { pattern: "^[a-z][a-z0-9_]{0,39}_env$", [HINT]: "must be a name that ends with _env" },
      maxProperties: 20,
    }),
  ),
};
