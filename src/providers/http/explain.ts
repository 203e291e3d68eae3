/** Explains how a definition reads an example: the request, the values of its paths, and what became of it. */
import { carrierOf, type ConfiguredCarrier } from "./carrier.ts";
import type { CarrierDefinition } from "./definition.ts";
import { EXAMPLE_MS, exampleMessage, messageText, outcomeText, receiptText, type CallbackExample, type SendExample } from "./examples.ts";
import { compileFormat } from "./format.ts";
import { compilePath, findAll, textAt, type Document } from "./json-path.ts";
import { DefinitionReader, membersOf } from "./reader.ts";

export type Explained = { name: string; lines: string[]; expected: string; found: string; isRight: boolean };

type NamedPath = readonly [name: string, path: string | undefined];

export function explainSend(settings: ConfiguredCarrier, example: SendExample): Explained {
  const { requests, responses } = carrierOf(settings);
  const { response } = settings.definition;
  const message = exampleMessage(example);
  const { method, origin, path, body, headers } = requests.toRequest(message, EXAMPLE_MS);
  const { status, body: text } = example.response;
  const read = compileFormat(new DefinitionReader(new Map(), () => undefined), response, "response");
  const outcome = responses.interpret({ kind: "response", status, retryAfterMs: null, text, durationMs: 0 }, message);
  const found = outcomeText(outcome);
  const paths: NamedPath[] = [
    ["accepted_when", response.accepted_when?.path],
    ["id", response.id],
    ...membersOf(response.error_code, "error_code").map(({ member, at }) => [at, member] as const),
  ];
  const lines = [
    `request: ${hide(settings, `${method} ${origin}${path}`)}`,
    ...Object.keys(headers).map((name) => `  ${name}: ${name === "authorization" ? "(hidden)" : hide(settings, headers[name] ?? "")}`),
    ...(body === "" ? [] : [`  ${hide(settings, body)}`]),
    `response: HTTP ${status} as ${response.format ?? "json"}: ${text}`,
    ...valueLines(read(text), paths),
    ...(outcome.kind === "unknown" ? [`why: ${outcome.detail}`] : []),
    ...(outcome.kind === "paused" ? [`why: ${outcome.reason}`] : []),
  ];
  return { name: example.name, lines, expected: example.outcome, found, isRight: found === example.outcome };
}

export function explainCallback(settings: ConfiguredCarrier, example: CallbackExample): Explained {
  const { callbacks, parseReports } = carrierOf(settings);
  const { method = "POST", query: search = "", headers = {}, body = "", receipts = [], messages = [] } = example;
  const query = Object.fromEntries(new URLSearchParams(search));
  const url = `${settings.callbackUrl}?${search}`;
  const request = { method, url, query, headers, body: Buffer.from(body) };
  const isVerified = callbacks?.verify({ request, calledUrl: url, nowMs: EXAMPLE_MS }) === true;
  const document = callbacks?.read(body, query);
  const reports = document === undefined ? { receipts: [], messages: [] } : parseReports(document);
  const found = [...reports.receipts.map(receiptText), ...reports.messages.map(messageText)].join("; ") || "nothing";
  const expected = [...receipts, ...messages].join("; ") || "nothing";
  const lines = [
    `callback: ${method} ?${hide(settings, search)} as ${settings.definition.callbacks?.format ?? "json"}: ${body}`,
    `verified: ${isVerified ? "yes" : "no: the service would refuse it"}`,
    ...(document === undefined ? ["not read: it is not in this format, or exceeds a limit"] : itemLines(document, settings.definition)),
  ];
  return { name: example.name, lines, expected, found, isRight: isVerified && found === expected };
}

/** The values of the paths of receipts and messages, for each item that fulfills its condition. */
function itemLines(document: Document, { receipts, inbound }: CarrierDefinition): string[] {
  const kinds = [
    ...(receipts === undefined ? [] : [["receipt", receipts] as const]),
    ...membersOf(inbound, "message").map(({ member, at }) => [at, member] as const),
  ];
  return kinds.flatMap(([kind, { items, when, ...table }]) => {
    const list = items === undefined ? undefined : compilePath(items);
    const bodies = list === undefined ? [document.body] : findAll(list, document);
    const paths = Object.entries(table).filter(
      (entry): entry is [string, string] => typeof entry[1] === "string" && /^[$?]/.test(entry[1]),
    );
    return bodies.flatMap((body) => valueLines({ ...document, body }, [["when", when?.path], ...paths]).map((line) => `${kind}.${line}`));
  });
}

const valueLines = (document: Document | undefined, paths: readonly NamedPath[]): string[] =>
  document === undefined
    ? ["not read: it is not in this format, or exceeds a limit"]
    : paths.flatMap(([name, path]) => {
        const compiled = path === undefined ? undefined : compilePath(path);
        return compiled === undefined ? [] : [`${name}: ${path} is ${JSON.stringify(textAt(compiled, document)) ?? "not there"}`];
      });

/** Writes the names of secrets in place of their values. */
const hide = ({ secrets }: ConfiguredCarrier, text: string): string =>
  Object.entries(secrets).reduce((hidden, [name, value]) => (value === "" ? hidden : hidden.replaceAll(value, `{{secret.${name}}}`)), text);
