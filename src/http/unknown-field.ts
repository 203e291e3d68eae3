/** The field that was probably meant by an unknown one. */
import { didYouMean, suggest } from "../lib/nearest.ts";

/** Names of other messaging APIs, and the fields that they mean here: the first one that the object has. */
const SYNONYMS: Readonly<Record<string, readonly string[]>> = {
  to: ["recipient"],
  number: ["recipient"],
  phone: ["recipient"],
  phone_number: ["recipient"],
  destination: ["recipient"],
  msisdn: ["recipient"],
  from: ["sender"],
  text: ["body"],
  message: ["body"],
  template: ["template_id"],
  content_sid: ["template_id"],
  variables: ["template_variables"],
  content_variables: ["template_variables"],
  media_url: ["content"],
  scheduled_at: ["send_at"],
  ttl: ["ttl_seconds"],
  ttl_seconds: ["ttl"],
  validity_period: ["ttl_seconds", "ttl"],
  reference: ["client_reference"],
  messages: ["items", "entries"],
  recipients: ["items", "entries"],
  items: ["entries"],
  entries: ["items"],
  events: ["event_types"],
  enabled_events: ["event_types"],
  page: ["cursor"],
  offset: ["cursor"],
  starting_after: ["cursor"],
  page_size: ["limit"],
  per_page: ["limit"],
  since: ["created_after"],
  after: ["created_after"],
  until: ["created_before"],
  before: ["created_before"],
};

const HOOKS = "changes are sent to the endpoints of POST /v1/webhook_endpoints";
/** Names of other messaging APIs for something that is no field here. */
const ELSEWHERE: Readonly<Record<string, string>> = {
  idempotency_key: "send it as the header Idempotency-Key",
  callback: HOOKS,
  callback_url: HOOKS,
  status_callback: HOOKS,
  webhook_url: HOOKS,
  sort: "lists are in the order newest first",
  order: "lists are in the order newest first",
};
// Longer than any name of a field. A body may have thousands of names, of any length.
const MAX_NAME_LENGTH = 40;

/** `mayGuess`: the text may suggest the field that is nearest to a mistyped one. */
type UnknownField = { known: object; isParameter: boolean; mayGuess: boolean };

/** Suggests the field that was probably meant: the one with another API's name, with the same name in camelCase, or with a similar one. */
export function unknownField(name: string, { known, isParameter, mayGuess }: UnknownField): string {
  const text = `is not a known ${isParameter ? "parameter" : "field"}`;
  if (name.length > MAX_NAME_LENGTH) return text;
  const inSnakeCase = name.replaceAll(/(?<=[a-z])[A-Z]/g, (letter) => `_${letter}`).toLowerCase();
  const synonyms = Object.hasOwn(SYNONYMS, inSnakeCase) ? (SYNONYMS[inSnakeCase] ?? []) : [];
  const meant = [inSnakeCase, ...synonyms].find((each) => each !== name && Object.hasOwn(known, each));
  if (meant !== undefined) return text + suggest(meant);
  if (Object.hasOwn(ELSEWHERE, inSnakeCase)) return `${text}; ${ELSEWHERE[inSnakeCase]}`;
  return mayGuess ? text + didYouMean(inSnakeCase, Object.keys(known)) : text;
}
