/** Requests that create, edit or recover an endpoint: their schemas, and the rules that a schema cannot express. */
import { mustBeOneOf } from "../lib/nearest.ts";
import { MAX_URL_LENGTH, parseBoundedUrl, requireUrl } from "../lib/urls.ts";
import { TYPE_PATTERNS } from "../events/event.ts";
import { Problem, type Fault } from "../http/problem.ts";
import { oneOf, optional, Type, type Static, timeField } from "../http/schema.ts";
import { ENDPOINT_STATUSES } from "./endpoint.ts";
import type { AddressGate } from "../outbound/address-gate.ts";

const MAX_TYPES = 50;
// Longer than any type.
const MAX_TYPE_LENGTH = 64;

const url = Type.String({
  minLength: 1,
  maxLength: MAX_URL_LENGTH,
  description:
    "The URL that receives the events: https, on the public internet. The operator of this service can also allow http and private addresses.",
  examples: ["https://example.com/hooks/godwit"],
});
const description = optional(Type.String({ maxLength: 256, description: "Your own description." }));
const eventTypes = optional(
  Type.Array(Type.String({ maxLength: MAX_TYPE_LENGTH }), {
    minItems: 1,
    maxItems: MAX_TYPES,
    description: "The types of events to receive: single types, `message.*` for all of a kind, or `*` for all. Default: all.",
    examples: [["message.*"]],
  }),
);

export const NewEndpointBody = Type.Object(
  { url, description, event_types: eventTypes },
  { additionalProperties: false, title: "NewWebhookEndpoint", description: "A webhook endpoint to create." },
);
export type NewEndpoint = Static<typeof NewEndpointBody>;

export const EditEndpointBody = Type.Object(
  {
    url: optional(url),
    description,
    event_types: eventTypes,
    status: optional(
      oneOf(ENDPOINT_STATUSES, { description: "A disabled endpoint receives nothing. Enabling it resets `failing_since`." }),
    ),
  },
  { additionalProperties: false, title: "EditWebhookEndpoint", description: "The fields to change." },
);
export type EditEndpoint = Static<typeof EditEndpointBody>;

export const RecoverBody = Type.Object(
  {
    since: timeField("The start of the recovery: events from this time on that the endpoint has not acknowledged are delivered again."),
  },
  { additionalProperties: false, title: "RecoverWebhookEndpoint", description: "The recovery of a webhook endpoint." },
);

/** Checks the rules that the schema cannot express. */
export function checkEndpoint({ url: text, event_types: types }: Readonly<Record<string, unknown>>): Fault[] {
  return [...(typeof text === "string" ? urlFaults(text) : []), ...(Array.isArray(types) ? typeFaults(types) : [])];
}

function urlFaults(text: string): Fault[] {
  const fault = (detail: string): Fault[] => [{ pointer: "/url", code: "invalid_format", detail }];
  const parsed = parseBoundedUrl(text);
  // The parser drops invisible characters, or keeps them for people to misread, and takes a backslash for a slash.
  if (parsed === null || /[\s\p{Cc}\p{Cf}\\]/u.test(text)) return fault("must be a URL such as https://example.com/hooks/godwit");
  if (parsed.protocol !== "https:" && parsed.protocol !== "http:") return fault("must be an https URL");
  if (parsed.username !== "" || parsed.password !== "") return fault("must not contain a user name or password");
  if (parsed.hash !== "") return fault("must not have a fragment");
  if (parsed.href.length > MAX_URL_LENGTH)
    return [{ pointer: "/url", code: "too_long", detail: `must have at most ${MAX_URL_LENGTH} characters when it is encoded` }];
  return [];
}

const typeFaults = (types: readonly unknown[]): Fault[] =>
  types.flatMap((type, index) =>
    typeof type === "string" && !TYPE_PATTERNS.includes(type)
      ? [{ pointer: `/event_types/${index}`, code: "unknown_value", detail: mustBeOneOf(type, TYPE_PATTERNS) }]
      : [],
  );

/** The URL as it is called, and so as it is stored and shown. */
export const normalizedUrl = (text: string): string => requireUrl(text).href;

const LOCAL_URL =
  "for a receiver on your machine run godwit listen --forward-to URL; the operator can allow private addresses with the setting GODWIT_WEBHOOK_ALLOW";

/** Refuses a URL that may never be called. This is a refusal and no fault, because the operator decides which addresses are allowed. */
export function refuseUrl(text: string, gate: AddressGate): Problem | undefined {
  const reason = gate.urlRefusal(requireUrl(text));
  return reason === undefined
    ? undefined
    : new Problem("endpoint_url_refused", { errors: [{ pointer: "/url", code: "not_allowed", detail: `${reason}; ${LOCAL_URL}` }] });
}
