/** An example problem for each error code, for the OpenAPI document. A code without an entry shows its title as the detail. */
import type { Page } from "../../src/api/page.ts";
import { ERRORS, type ErrorCode } from "../../src/http/codes.ts";
import { Problem, type Fault, type ProblemOptions } from "../../src/http/problem.ts";

const REQUEST_ID = "req_01m7mdf0hreef9w557a2vkhnsc";

const fault = (pointer: string, code: string, detail: string): Pick<ProblemOptions, "errors"> => ({ errors: [{ pointer, code, detail }] });

const FAULTS: readonly Fault[] = [
  { pointer: "/recipient", code: "required", detail: "is required" },
  { pointer: "/to", code: "unknown_field", detail: "is not a known field; did you mean recipient?" },
];

const OPTIONS: Partial<Record<ErrorCode, ProblemOptions>> = {
  invalid_request_payload: { errors: FAULTS },
  invalid_idempotency_key: {
    errors: [{ header: "Idempotency-Key", code: "invalid_format", detail: "must be exactly one version-4 UUID" }],
  },
  unauthorized_missing_token: { detail: "send Authorization: Bearer <api key or access token>" },
  unauthorized_invalid_token: {
    detail: "the credential is unknown, expired or revoked: use an API key of this installation; the command godwit keys create makes one",
  },
  forbidden_insufficient_scope: {
    detail: "this credential lacks the scope messages:send: use a key that has it, or create one",
    members: { required_scopes: ["messages:send"] },
  },
  forbidden_address: { detail: "this key cannot be used from 192.0.2.7" },
  key_outlives_credential: { detail: "the token expires at 2026-11-17T10:30:00.000Z" },
  not_found: { detail: "no such message in this environment" },
  method_not_allowed: { detail: "use GET, POST" },
  payload_too_large: { detail: "the body may have at most 65536 bytes" },
  unsupported_media_type: {
    errors: [{ header: "Content-Type", code: "invalid_value", detail: "must be application/json, in UTF-8" }],
  },
  idempotency_key_reused: { detail: "this key was first used with another method, path, query or body: use a new key for a new request" },
  no_route: {
    detail:
      "No link takes a message on sms to US. This environment has no links. Connect a carrier in the console under Carriers, with godwit links add, or with POST /v1/links: /docs/links shows how.",
  },
  message_not_cancelable: { detail: "the message is delivered; only scheduled and queued messages can be canceled" },
  message_not_editable: { detail: "the message is queued; only scheduled messages can be edited" },
  message_not_redactable: { detail: "the message is sent; only messages with a final status can be redacted" },
  template_not_found: fault("/template_id", "template_not_found", "no template of this environment has this id or name"),
  template_not_approved: {
    detail: "the template is draft: only an approved template can be sent",
    ...fault("/template_id", "template_not_approved", "the template is draft: only an approved template can be sent"),
  },
  template_channel_mismatch: {
    detail: "the template supports sms, not whatsapp",
    ...fault("/template_id", "template_channel_mismatch", "the template supports sms, not whatsapp"),
  },
  template_variables_mismatch: fault("/template_variables/order", "missing_variable", "is a variable of the template and is required"),
  template_text_too_long: fault("/template_variables", "too_long", "make the body 1712 characters long; on sms it may have 1600"),
  template_name_taken: fault("/name", "template_name_taken", "another template of this environment has this name"),
  template_not_editable: { detail: "the template is archived: create a new template" },
  too_many_templates: { detail: "an environment can have at most 500 templates besides archived ones" },
  recipient_opted_out: fault(
    "/recipient",
    "recipient_opted_out",
    "has opted out of messages from this sender: do not send again until they opt in; GET /v1/suppressions?recipient=… shows the entry",
  ),
  service_window_closed: fault("/recipient", "service_window_closed", "has not written within 24 hours: only a template may be sent"),
  verification_not_pending: { detail: "the verification is approved: start a new one with POST /v1/verifications" },
  max_segments_exceeded: fault("/body", "max_segments_exceeded", "the text needs 3 segments, max_segments allows 2"),
  endpoint_url_refused: fault("/url", "not_allowed", "must be https"),
  too_many_keys: { detail: "an environment can have at most 1000 active keys" },
  key_not_active: { detail: "the key is revoked or expired: create a new one" },
  link_address_refused: fault("/settings/host", "not_allowed", "must be on the public internet, unless the operator allows its network"),
  link_in_use: { detail: "the route rte_01m4d1tz8qe2h9vyzagerwadjc uses it: change or delete the route first" },
  already_exists: fault("/name", "taken", "another link of the account has this name"),
  limit_reached: { detail: "an account can have at most 500 senders" },
  too_many_endpoints: { detail: "an environment can have at most 250 endpoints" },
  rate_limit_exceeded: { detail: "the tier sandbox of the test environment allows 25 requests per second" },
  internal_server_error: { detail: "quote the request id when you report this" },
  service_unavailable: { detail: "the service is stopping" },
};

const ORIGIN = "https://godwit.example.com";
const problemOf = (code: ErrorCode): Problem => new Problem(code, OPTIONS[code] ?? { detail: ERRORS[code].title });

/** The body of the example, as a client receives it. */
export const problemExample = (code: ErrorCode): object => JSON.parse(problemOf(code).toBody(ORIGIN, REQUEST_ID)) as object;

/** The body of the example of a page that writes its errors as RFC 6749 does. */
export function oauthExample(code: ErrorCode, write: NonNullable<Page["writeProblem"]>): object {
  const isForm = code === "invalid_request_payload";
  const { status, detail } = problemOf(code);
  const problem = new Problem(code, {
    ...(isForm ? fault("/grant_type", "required", "must be client_credentials") : { detail }),
    ...(status === 401 ? { members: { error: "invalid_client" } } : {}),
  });
  return JSON.parse(write(problem, ORIGIN, REQUEST_ID)) as object;
}
