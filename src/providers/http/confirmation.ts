/** Confirms a subscription to a carrier's notifications, for carriers that send a URL to call before they send anything else. */
import { parseBoundedUrl } from "../../lib/urls.ts";
import { isLoopback } from "../../lib/addresses.ts";
import type { Log } from "../../model/log.ts";
import type { AddressGate } from "../../outbound/address-gate.ts";
import { callOnce } from "../../outbound/http-client.ts";
import { textResponse } from "../carrier-request.ts";
import type { CarrierResponse } from "../provider.ts";
import type { CallbacksDefinition } from "./definition.ts";
import { textAt, type Document } from "./json-path.ts";
import type { DefinitionReader } from "./reader.ts";

/** The URL to call; undefined for all other callbacks. */
export type FindConfirmation = (document: Document) => URL | undefined;

const TIMEOUT_MS = 5_000;

/** Only URLs of the configured host are called, over TLS. */
export function compileConfirmation(reader: DefinitionReader, confirm: CallbacksDefinition["confirm"]): FindConfirmation {
  if (confirm === undefined) return () => undefined;
  const path = reader.path(confirm.path, "callbacks.confirm.path");
  const host = reader.constant(confirm.host, "callbacks.confirm.host");
  return (document) => {
    const url = parseBoundedUrl(textAt(path, document) ?? "");
    const isSafe = url?.protocol === "https:" || (url?.protocol === "http:" && isLoopback(url.hostname));
    return url !== null && isSafe && url.host === host ? url : undefined;
  };
}

type ConfirmParts = { log: Log; gate: AddressGate | undefined };

export async function confirmSubscription({ origin, host, pathname, search }: URL, { log, gate }: ConfirmParts): Promise<CarrierResponse> {
  const request = { origin, path: pathname + search, method: "GET", headers: {}, body: "" } as const;
  const outcome = await callOnce({ gate, timeoutMs: TIMEOUT_MS }, request, AbortSignal.timeout(TIMEOUT_MS));
  const isConfirmed = outcome.kind === "response" && outcome.status < 300;
  log.info({ provider: "http", host, is_confirmed: isConfirmed }, "a subscription was to be confirmed");
  return isConfirmed ? textResponse(200, "") : textResponse(503, "not confirmed: send it again");
}
