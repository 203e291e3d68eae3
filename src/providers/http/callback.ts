/** Callbacks of a carrier: verified first, then parsed, and acknowledged when everything in them is committed. */
import type { AddressGate } from "../../outbound/address-gate.ts";
import { storeReports, textResponse } from "../carrier-request.ts";
import type { CarrierRequest, CarrierResponse, Host } from "../provider.ts";
import { carrierOf, type ConfiguredCarrier } from "./carrier.ts";
import { confirmSubscription } from "./confirmation.ts";

/** Carriers report some hundred receipts in one request at most. */
export const MAX_CALLBACK_BYTES = 65_536;
const MAX_REPORTS = 1_000;

type CallbackSettings = ConfiguredCarrier & { gate?: AddressGate | undefined };

export async function handleCallback(settings: CallbackSettings, request: CarrierRequest, host: Host): Promise<CarrierResponse> {
  const { callbacks, parseReports } = carrierOf(settings);
  if (callbacks === undefined || (request.method === "GET" && !callbacks.isQuery))
    return textResponse(404, "this link has no callbacks of this kind");
  const calledUrl = publicUrlOf(settings, request);
  if (!callbacks.verify({ request, calledUrl, nowMs: host.now() })) {
    host.log.warn({ event: "providers.signature_invalid", provider: "http" }, "a request with a wrong signature was refused");
    // Some carriers (AWS SNS) send their credentials only after this challenge, and take any other refusal as final.
    if (callbacks.challenge !== undefined)
      return { ...textResponse(401, "the credentials are not right"), headers: { "www-authenticate": callbacks.challenge } };
    return textResponse(403, "the signature is not right");
  }
  const document = callbacks.read(request.body.toString(), request.query);
  if (document === undefined) return textResponse(400, "the contents cannot be read");
  const confirmation = callbacks.confirmation(document);
  if (confirmation !== undefined) return confirmSubscription(confirmation, { log: host.log, gate: settings.gate });
  const reports = parseReports(document);
  const count = reports.receipts.length + reports.messages.length;
  if (count > MAX_REPORTS) return textResponse(413, `more than ${MAX_REPORTS} reports`);
  if (count === 0) host.log.info({ provider: "http", bytes: request.body.length }, "a request reported nothing that is processed");
  return (await storeReports(host, reports)) ? callbacks.stored : textResponse(503, "not stored: send it again");
}

/** The URL that the carrier called. A proxy may show us a different one. */
function publicUrlOf({ callbackUrl }: ConfiguredCarrier, { url }: CarrierRequest): string {
  const at = url.indexOf("?");
  return callbackUrl === null ? url : callbackUrl + (at === -1 ? "" : url.slice(at));
}
