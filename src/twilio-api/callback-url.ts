/** The URLs of clients that the service calls. */
import { parseCallable } from "../compatible/callback-url.ts";
import type { AddressGate } from "../outbound/address-gate.ts";
import { refuseUrl } from "../webhooks/new-endpoint.ts";
import { twilioProblem } from "./errors.ts";

/** Whether the text is a URL that can be called, without a fragment. It may contain a user name and a password, as Twilio's documents suggest. */
export const isCallable = (text: string): boolean => parseCallable(text)?.hash === "";

/** Throws unless the service may call the URL. */
export function requireCallable(text: string, gate: AddressGate): void {
  const refusal = isCallable(text) ? refuseUrl(text, gate) : undefined;
  if (refusal !== undefined) throw twilioProblem(21609, refusal.detail);
  if (!isCallable(text)) throw twilioProblem(21609);
}
