/** The receipts and inbound messages in what a carrier sends, by the paths of its definition. */
import { detailsOf, parseAddress, parseIdentifier, parseText, placeholder, rawFields } from "../carrier-fields.ts";
import type { CarrierReports } from "../carrier-request.ts";
import type { InboundMessage, Receipt, ReceiptStatus } from "../provider.ts";
import type { CarrierDefinition, InboundDefinition, ReceiptsDefinition } from "./definition.ts";
import { findAll, textAt, type Document, type JsonPath } from "./json-path.ts";
import { membersOf, type DefinitionReader } from "./reader.ts";
import { codeAt, type CarrierResponses } from "./response.ts";

export type ParseReports = (document: Document) => CarrierReports;
type ParseList<T> = (document: Document) => readonly T[];

export function compileReports(
  reader: DefinitionReader,
  { receipts, inbound }: CarrierDefinition,
  toError: CarrierResponses["toError"],
): ParseReports {
  const parseReceipts = receipts === undefined ? () => [] : compileReceipts(reader, receipts, toError);
  const kinds = membersOf(inbound, "inbound").map(({ member, at }) => compileInbound(reader, member, at));
  return (document) => ({ receipts: parseReceipts(document), messages: kinds.flatMap((parse) => parse(document)) });
}

/** Applies `parse` to each item of a document that fulfills the condition. Items that it cannot parse are left out. */
function compileList<T>(
  reader: DefinitionReader,
  { when, items }: Pick<ReceiptsDefinition, "when" | "items">,
  at: string,
  parse: (item: Document) => T | undefined,
): ParseList<T> {
  const isMeant = reader.condition(when, `${at}.when`);
  const list: JsonPath | undefined = reader.optionalPath(items, `${at}.items`);
  return (document) => {
    const elements = list === undefined ? [document.body] : findAll(list, document);
    return elements.flatMap((body) => {
      const item = { body, query: document.query };
      return isMeant(item) ? (parse(item) ?? []) : [];
    });
  };
}

const FAILURES: ReadonlySet<ReceiptStatus> = new Set(["undelivered", "failed"]);

function compileReceipts(
  reader: DefinitionReader,
  definition: ReceiptsDefinition,
  toError: CarrierResponses["toError"],
): ParseList<Receipt> {
  const path = (name: "id" | "reference" | "status" | "error_code"): JsonPath | undefined =>
    reader.optionalPath(definition[name], `receipts.${name}`);
  const [id, reference, status, errorCode] = [path("id"), path("reference"), path("status"), path("error_code")];
  if (id === undefined && reference === undefined) reader.fault("receipts", "needs id or reference, to find the message");
  const statuses = readStatuses(reader, definition);
  return compileList(reader, definition, "receipts", (item) => {
    const word = textAt(status, item);
    const ours = word === undefined ? undefined : statuses.get(word);
    const providerMessageId = parseIdentifier(textAt(id, item)) ?? null;
    const ourId = parseIdentifier(textAt(reference, item)) ?? null;
    if (ours === undefined || (providerMessageId === null && ourId === null)) return undefined;
    const code = codeAt(errorCode, item);
    return {
      providerMessageId,
      reference: ourId,
      status: ours,
      error: FAILURES.has(ours) ? toError(code) : null,
      raw: rawFields({ id: providerMessageId, status: word, error_code: code }),
    };
  });
}

function readStatuses(reader: DefinitionReader, { statuses }: ReceiptsDefinition): Map<string, ReceiptStatus> {
  const known = new Map<string, ReceiptStatus>();
  for (const [status, words] of Object.entries(statuses) as [ReceiptStatus, readonly string[]][])
    for (const word of words) {
      if (known.has(word)) reader.fault(`receipts.statuses.${status}`, `"${word}" is in two lists`);
      known.set(word, status);
    }
  return known;
}

function compileInbound(reader: DefinitionReader, definition: InboundDefinition, at: string): ParseList<InboundMessage> {
  const path = (name: "id" | "from" | "to" | "in_reply_to"): JsonPath | undefined => reader.optionalPath(definition[name], `${at}.${name}`);
  const [id, from, to, inReplyTo] = [path("id"), path("from"), path("to"), path("in_reply_to")];
  const { number_type: type, details = {} } = definition;
  const texts = reader.paths(definition.text, `${at}.text`);
  const detailPaths = Object.entries(details).map(([name, each]) => [name, reader.paths(each, `${at}.details.${name}`)] as const);
  const types = type === undefined ? {} : { fromType: type, toType: type };
  return compileList(reader, definition, at, (item) => {
    const person = parseAddress(textAt(from, item)) ?? "";
    const contents = detailsOf(Object.fromEntries(detailPaths.flatMap(([name, each]) => numbered(name, each, item))));
    const written = texts.map((each) => parseText(textAt(each, item))).find((each) => each !== undefined) ?? placeholder(contents);
    if (person === "" && written === "") return undefined;
    return {
      providerMessageId: parseIdentifier(textAt(id, item)) ?? null,
      channel: "sms",
      from: person,
      to: parseAddress(textAt(to, item)) ?? null,
      ...types,
      text: written,
      inReplyTo: parseIdentifier(textAt(inReplyTo, item)) ?? null,
      ...contents,
    };
  });
}

const ITSELF: JsonPath = { kind: "body", steps: [] };

/** Every text at the paths. The second one is named `media_url_2`, if the first one is `media_url`. */
const numbered = (name: string, paths: readonly JsonPath[], item: Document): [string, string][] =>
  paths
    .flatMap((path) => findAll(path, item))
    .flatMap((body) => textAt(ITSELF, { body, query: {} }) ?? [])
    .map((text, index) => [index === 0 ? name : `${name}_${index + 1}`, text]);
