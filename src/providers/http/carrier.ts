/** A carrier with an HTTP API, compiled from its definition. */
import { assert } from "../../lib/assert.ts";
import type { CallbacksDefinition, CarrierDefinition } from "./definition.ts";
import { compilePoll, type CarrierPoll } from "./poll.ts";
import { DefinitionReader } from "./reader.ts";
import { compileConfirmation, type FindConfirmation } from "./confirmation.ts";
import { compileReports, type ParseReports } from "./reports.ts";
import { compileRequests, type CarrierRequests } from "./request.ts";
import { compileResponse, type CarrierResponses } from "./response.ts";
import type { Constants } from "./template.ts";
import { compileVerification, type Verify } from "./verification.ts";

export type Carrier = {
  requests: CarrierRequests;
  responses: CarrierResponses;
  callbacks: { format: NonNullable<CallbacksDefinition["format"]>; verify: Verify; confirmation: FindConfirmation } | undefined;
  poll: CarrierPoll | undefined;
  parseReports: ParseReports;
};

/** A definition with the values that it needs, in the form in which a link has it. */
export type ConfiguredCarrier = {
  definition: CarrierDefinition;
  values: Readonly<Record<string, string>>;
  secrets: Readonly<Record<string, string>>;
  /** Our public URL of /providers/http/{link}. */
  callbackUrl: string | null;
};

/** Compiles a definition. Each fault is one sentence. */
export function compileCarrier(configured: ConfiguredCarrier, report: (fault: string) => void): Carrier {
  const { definition } = configured;
  const { callbacks, receipts, inbound } = definition;
  const reader = new DefinitionReader(constantsOf(configured), report);
  if (callbacks === undefined && definition.poll === undefined && (receipts ?? inbound) !== undefined)
    reader.fault("callbacks", "is needed with receipts or inbound: write how callbacks are verified");
  const responses = compileResponse(reader, definition);
  return {
    requests: compileRequests(reader, definition.request),
    responses,
    callbacks: callbacks && {
      format: callbacks.format ?? "json",
      verify: compileVerification(reader, callbacks.verification),
      confirmation: compileConfirmation(reader, callbacks.confirm),
    },
    poll: compilePoll(reader, definition),
    parseReports: compileReports(reader, definition, responses.toError),
  };
}

function constantsOf({ values, secrets, callbackUrl }: ConfiguredCarrier): Constants {
  const entries = [
    ...Object.entries(values).map(([name, value]) => [`value.${name}`, value] as const),
    ...Object.entries(secrets).map(([name, value]) => [`secret.${name}`, value] as const),
  ];
  return new Map(callbackUrl === null ? entries : [...entries, ["callback_url", callbackUrl] as const]);
}

const compiled = new WeakMap<ConfiguredCarrier, Carrier>();

/** The carrier of a link, whose definition was checked when the file was read. It is compiled once. */
export function carrierOf(configured: ConfiguredCarrier): Carrier {
  const known = compiled.get(configured) ?? compileCarrier(configured, (fault) => assert(false, fault));
  compiled.set(configured, known);
  return known;
}
