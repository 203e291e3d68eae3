/** A carrier with an HTTP API, compiled from its definition. */
import { assert } from "../../lib/assert.ts";
import type { CallbacksDefinition, CarrierDefinition } from "./definition.ts";
import { compileAuth } from "./auth.ts";
import type { AccessTokens } from "./oauth2.ts";
import { compileFormat, type ReadDocument } from "./format.ts";
import { textResponse } from "../carrier-request.ts";
import type { CarrierResponse } from "../provider.ts";
import { compilePoll, type CarrierPoll } from "./poll.ts";
import { DefinitionReader } from "./reader.ts";
import { compileConfirmation, type FindConfirmation } from "./confirmation.ts";
import { compileReports, type ParseReports } from "./reports.ts";
import { compileRequests, type CarrierRequests } from "./call.ts";
import { compileResponse, type CarrierResponses } from "./response.ts";
import type { Constants } from "./template.ts";
import { compileVerification, type Verify } from "./verification.ts";

/** `challenge`: what a caller without the right credentials is asked for. */
type CompiledCallbacks = {
  /** A GET is a callback, too: its fields are parameters of the URL. */
  isQuery: boolean;
  read: ReadDocument;
  /** The response to a callback whose contents are stored. */
  stored: CarrierResponse;
  verify: Verify;
  challenge: string | undefined;
  confirmation: FindConfirmation;
};

export type Carrier = {
  requests: CarrierRequests;
  tokens: AccessTokens | undefined;
  responses: CarrierResponses;
  callbacks: CompiledCallbacks | undefined;
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
  const auth = compileAuth(reader, definition.request.auth);
  return {
    requests: compileRequests(reader, definition.request, auth),
    tokens: auth.tokens,
    responses,
    callbacks: callbacks && {
      isQuery: callbacks.format === "query",
      read: compileFormat(reader, callbacks, "callbacks"),
      stored: storedResponse(callbacks),
      verify: compileVerification(reader, callbacks.verification),
      challenge: callbacks.verification.type === "basic" ? 'Basic realm="godwit"' : undefined,
      confirmation: compileConfirmation(reader, callbacks.confirm),
    },
    poll: compilePoll(reader, definition, auth),
    parseReports: compileReports(reader, definition, responses.toError),
  };
}

const storedResponse = ({
  response: { status = 200, content_type: contentType, body = "" } = {},
}: CallbacksDefinition): CarrierResponse => {
  const plain = textResponse(status, body);
  return contentType === undefined ? plain : { ...plain, contentType };
};

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
