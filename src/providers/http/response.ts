/** The meaning of a carrier's response, by the lists of its definition. */
import type { HttpResponse } from "../../outbound/http-client.ts";
import { parseIdentifier } from "../carrier-fields.ts";
import { interpretStatus, type ResponseOutcome } from "../http-link.ts";
import type { CarrierError, Outgoing } from "../provider.ts";
import type { CarrierDefinition, Matches } from "./definition.ts";
import { compileFormat } from "./format.ts";
import { textAt, type Document, type JsonPath } from "./json-path.ts";
import type { DefinitionReader } from "./reader.ts";

export type CarrierResponses = {
  interpret: (response: HttpResponse, message: Pick<Outgoing, "id">) => ResponseOutcome;
  /** The error of a receipt that reports a failure. */
  toError: (code: string | undefined) => CarrierError;
};

const KINDS = ["throttled", "paused", "transient", "final"] as const;
type Kind = (typeof KINDS)[number];

type Meanings = { byStatus: ReadonlyMap<number, Kind>; byCode: ReadonlyMap<string, Kind>; ofOtherCodes: Kind | undefined };

const SUCCESS = [200, 201, 202];
const ANY_CODE = "*";
const NO_ID = "none";

export function compileResponse(reader: DefinitionReader, definition: CarrierDefinition): CarrierResponses {
  const { response, errors = {} } = definition;
  const { success = SUCCESS } = response;
  const idPath = response.id === NO_ID ? undefined : reader.path(response.id, "response.id");
  if (idPath === undefined) checkWithoutIds(reader, definition);
  const read = compileFormat(reader, response, "response");
  const codePaths = reader.paths(response.error_code, "response.error_code");
  const isAccepted = reader.condition(response.accepted_when, "response.accepted_when");
  const meanings = readMeanings(reader, response);
  const isNamed = (code: string): boolean => meanings.byCode.has(code) || Object.hasOwn(errors, code);
  const toError = errorsOf(new Map(Object.entries(errors)), meanings);
  const interpret: CarrierResponses["interpret"] = (carrierResponse, message) => {
    const { status, text } = carrierResponse;
    const document = read(text);
    // A server that failed does not know whether it had created the message before.
    if (status >= 500) return { kind: "unknown", detail: `HTTP ${status}` };
    const codes = document === undefined ? [] : codePaths.flatMap((path) => codeAt(path, document) ?? []);
    const code = codes.find(isNamed) ?? codes[0];
    if (success.includes(status) && document !== undefined && isAccepted(document)) {
      if (idPath === undefined) return { kind: "accepted", providerMessageId: message.id, isOurs: true };
      const providerMessageId = parseIdentifier(textAt(idPath, document));
      if (providerMessageId === undefined) return { kind: "unknown", detail: "the carrier accepted the message, and gave it no id" };
      return { kind: "accepted", providerMessageId };
    }
    const meaning = meaningOf(meanings, status, code);
    if (meaning !== undefined) return toOutcome(meaning, carrierResponse, toError(code ?? String(status)));
    if (status < 300) return { kind: "unknown", detail: `HTTP ${status} with contents that the definition of the carrier does not list` };
    return code === undefined ? interpretStatus(carrierResponse) : interpretUnlisted(carrierResponse, toError(code));
  };
  return { interpret, toError };
}

/** Without ids, only a condition distinguishes the carrier's response from that of a proxy, and only our reference finds a message. */
function checkWithoutIds(reader: DefinitionReader, { response, receipts }: CarrierDefinition): void {
  if (response.accepted_when === undefined) reader.fault("response.accepted_when", `is required with id = "${NO_ID}"`);
  if (receipts !== undefined && receipts.reference === undefined)
    reader.fault("receipts.reference", `is required with response.id = "${NO_ID}"`);
}

/** The carrier's code. Of a URL with a fragment, or of a name with a namespace, it is the part after `#`. */
export const codeAt = (path: JsonPath | undefined, document: Document): string | undefined =>
  parseIdentifier(textAt(path, document)?.replace(/^.*#/s, ""));

function readMeanings(reader: DefinitionReader, response: CarrierDefinition["response"]): Meanings {
  const byStatus = new Map<number, Kind>();
  const byCode = new Map<string, Kind>();
  for (const kind of KINDS) {
    const { statuses = [], codes = [] }: Matches = response[kind] ?? {};
    for (const [map, keys] of [[byStatus, statuses] as const, [byCode, codes] as const])
      for (const key of keys) {
        if ((map as Map<unknown, Kind>).has(key)) reader.fault(`response.${kind}`, `${key} is in two lists`);
        (map as Map<unknown, Kind>).set(key, kind);
      }
  }
  return { byStatus, byCode, ofOtherCodes: byCode.get(ANY_CODE) };
}

/** A code says more than a status. */
const meaningOf = ({ byStatus, byCode, ofOtherCodes }: Meanings, status: number, code: string | undefined): Kind | undefined =>
  code === undefined ? byStatus.get(status) : (byCode.get(code) ?? byStatus.get(status) ?? ofOtherCodes);

// These are about the account or about the definition, so that every message would get them.
const PAUSING_STATUSES: ReadonlySet<number> = new Set([401, 402, 403, 405, 406, 407, 415]);

/** Interprets a status that no list has, with a code that no list has. The code shows that the carrier has read the request, so that a
 *  status such as 404 or 409 is about the message and not about the URL. It is not known whether the carrier would refuse the message again. */
function interpretUnlisted(response: HttpResponse, error: CarrierError): ResponseOutcome {
  const outcome = interpretStatus(response);
  if (outcome.kind === "refused") return toOutcome("final", response, error);
  if (outcome.kind !== "paused") return outcome.kind === "throttled" ? toOutcome("throttled", response, error) : outcome;
  return toOutcome(response.status < 400 || PAUSING_STATUSES.has(response.status) ? "paused" : "transient", response, error);
}

function toOutcome(kind: Kind, { status, retryAfterMs }: HttpResponse, error: CarrierError): ResponseOutcome {
  const { providerCode } = error;
  if (kind === "throttled") return { kind, scope: "link", retryAfterMs, providerCode };
  if (kind === "paused") return { kind, reason: `the carrier refuses the account: HTTP ${status}, code ${providerCode}`, providerCode };
  const isPermanent = kind === "final";
  return { kind: "refused", ...error, code: isPermanent ? error.code : temporary(error.code), isPermanent };
}

const REJECTED = "rejected_by_carrier";

const temporary = (code: string): string => (code === REJECTED ? "carrier_unavailable" : code);

const errorsOf =
  (ours: ReadonlyMap<string, string>, { byCode }: Meanings): CarrierResponses["toError"] =>
  (providerCode) => ({
    code: ours.get(providerCode ?? "") ?? REJECTED,
    message: "The carrier did not accept or deliver the message",
    providerCode: providerCode ?? null,
    isPermanent: byCode.get(providerCode ?? "") !== "transient",
  });
