/** Examples of a carrier's documentation: responses and callbacks, with the outcomes that they must have. They test a definition without
 *  an account at the carrier. */
import { oneOf, Type, type Static } from "../../http/schema.ts";
import { compile } from "../../http/validate.ts";
import { unreachable } from "../../lib/assert.ts";
import type { Recipient } from "../../model/phone-number.ts";
import type { InboundMessage, Outgoing, Receipt } from "../provider.ts";
import type { ResponseOutcome } from "../http-link.ts";

const text = Type.String({ maxLength: 65_536 });
const strings = Type.Record(text, { maxProperties: 50 });
const table = <P extends Parameters<typeof Type.Object>[0]>(properties: P) => Type.Object(properties, { additionalProperties: false });

const send = table({
  name: text,
  /** The text of the message; "Hello" if it is absent. */
  text: Type.Optional(text),
  /** The request that the definition must make. Absent members are not compared. */
  request: Type.Optional(
    table({ method: Type.Optional(text), path: Type.Optional(text), body: Type.Optional(text), headers: Type.Optional(strings) }),
  ),
  response: table({ status: Type.Integer({ minimum: 200, maximum: 599 }), body: text }),
  outcome: text,
});

const callback = table({
  name: text,
  method: Type.Optional(oneOf(["GET", "POST"])),
  /** The query of the called URL. */
  query: Type.Optional(text),
  headers: Type.Optional(strings),
  body: Type.Optional(text),
  receipts: Type.Optional(Type.Array(text, { maxItems: 1_000 })),
  messages: Type.Optional(Type.Array(text, { maxItems: 1_000 })),
  /** The body of our response. */
  response: Type.Optional(text),
});

const Examples = table({
  values: Type.Optional(strings),
  send: Type.Optional(Type.Array(send, { maxItems: 100 })),
  callback: Type.Optional(Type.Array(callback, { maxItems: 100 })),
});

export type Examples = Static<typeof Examples>;
export type SendExample = Static<typeof send>;
export type CallbackExample = Static<typeof callback>;

/** Returns the faults of a file of examples, one sentence for each. */
export const exampleFaults = (file: unknown): string[] =>
  compile(Examples, "body")(file).map((fault) => `${"pointer" in fault ? fault.pointer : ""}: ${fault.detail}`);

// A fixed time, so that every run makes the same request.
export const EXAMPLE_MS = Date.UTC(2030, 0, 1);

export const exampleMessage = ({ text: body = "Hello" }: Pick<SendExample, "text"> = {}): Outgoing => ({
  id: "msg_01k9zs3v8mf4tb2xg1qj6n0d5c",
  attempt: 1,
  channel: "sms",
  recipient: "+4915112345678" as Recipient,
  sender: "+14155550100",
  body,
  template: null,
  expiresAtMs: EXAMPLE_MS + 3_600_000,
});

/** The value of a secret in examples: recognizable, so that a report can hide it. */
export const exampleSecret = (name: string): string => `secret-${name}`;

/** An outcome in one line, as examples write it. */
export function outcomeText(outcome: ResponseOutcome): string {
  switch (outcome.kind) {
    case "accepted":
      return outcome.isOurs === true ? "accepted without an id" : `accepted ${outcome.providerMessageId}`;
    case "refused":
      return `refused ${outcome.code} ${outcome.providerCode}${outcome.isPermanent ? "" : " temporarily"}`;
    case "throttled":
    case "paused":
      return `${outcome.kind} ${outcome.providerCode}`;
    case "unknown":
    case "withdrawn":
      return outcome.kind;
    default:
      return unreachable(outcome);
  }
}

export const receiptText = ({ status, providerMessageId, reference, error }: Receipt): string =>
  [
    status,
    ...(providerMessageId === null ? [] : [`id=${providerMessageId}`]),
    ...(reference === null ? [] : [`reference=${reference}`]),
    ...(error === null ? [] : [`error=${error.code}`, `code=${error.providerCode}`]),
  ].join(" ");

export const messageText = ({ from, to, text: body, details }: InboundMessage): string =>
  `${from} to ${to}: ${body}${details === undefined ? "" : ` ${JSON.stringify(details)}`}`;
