/** The table of all error codes, for problem responses, the pages at /errors/{code}, the OpenAPI document and the documentation. */

/** `meaning` explains the error and its remedy, in Markdown with `code` and links to pages of the documentation. */
export type ErrorSpec = { status: number; title: string; meaning: string };

export const ERRORS = {
  invalid_request_payload: {
    status: 400,
    title: "The request is not valid",
    meaning:
      "The body is not JSON or does not match the schema, or a query parameter is not valid. `errors` lists every fault with its location.",
  },
  invalid_idempotency_key: {
    status: 400,
    title: "The Idempotency-Key header is not a version-4 UUID",
    meaning:
      "Send exactly one `Idempotency-Key` header with a version-4 UUID such as `3f2a1c64-9b1e-4d7a-8c55-0e6b7f3a9d21`, with or without double quotes. Every SDK creates one for you. See [Idempotency](/docs/idempotency).",
  },
  unauthorized_missing_token: {
    status: 401,
    title: "The Authorization header is missing or malformed",
    meaning:
      "Send `Authorization: Bearer` followed by an API key or an access token with every request. See [Authentication and API keys](/docs/access).",
  },
  unauthorized_invalid_token: {
    status: 401,
    title: "The credential is not valid",
    meaning:
      "The header has the right form, but the API key or access token is unknown, expired or revoked. Check that the key was copied completely and belongs to this installation, or create a new one. See [Authentication and API keys](/docs/access).",
  },
  forbidden_insufficient_scope: {
    status: 403,
    title: "The credential lacks a scope",
    meaning:
      "`required_scopes` lists the missing scopes. Use a credential that has them, or create a key with them. [Scopes](/docs/access#scopes) lists all scopes.",
  },
  forbidden_address: {
    status: 403,
    title: "The key cannot be used from this address",
    meaning:
      "The key has `allowed_ips`, and the request came from another address. `detail` contains the address that the service sees. Send the request from an allowed address, or create a key that allows this one.",
  },
  key_outlives_credential: {
    status: 403,
    title: "The key would outlive the credential",
    meaning:
      "An access token cannot create or rotate a key that is valid for longer than the token itself, and a repeated request does not show such a key. Use an API key for this request.",
  },
  not_found: {
    status: 404,
    title: "The resource does not exist",
    meaning:
      "The path is unknown, or the environment of this credential has no such record. Check the id, and whether the record belongs to `test` or to `live`.",
  },
  method_not_allowed: {
    status: 405,
    title: "The path does not support this method",
    meaning: "The path exists with other methods. The `Allow` header lists them.",
  },
  request_timeout: {
    status: 408,
    title: "The request took too long to arrive",
    meaning: "The headers or the body arrived too slowly, and the service did nothing.",
  },
  idempotency_conflict: {
    status: 409,
    title: "The first request with this idempotency key is still running",
    meaning: "When the first request has ended, a repeated request returns its response. See [Idempotency](/docs/idempotency).",
  },
  payload_too_large: {
    status: 413,
    title: "The request body is too large",
    meaning: "The body is larger than the limit in `detail`. Send less in one request, for example fewer items in each batch.",
  },
  unsupported_media_type: {
    status: 415,
    title: "The request body is not declared as JSON",
    meaning: "Send `Content-Type: application/json`, with a body in UTF-8 and without a content encoding.",
  },
  idempotency_key_reused: {
    status: 422,
    title: "The idempotency key was used for a different request",
    meaning:
      "For 24 hours, an idempotency key belongs to one method, path, query and body. A response with a secret is also bound to the API key of the first request. Repeat a key only with an identical request. See [Idempotency](/docs/idempotency).",
  },
  no_route: {
    status: 422,
    title: "No route for this message",
    meaning:
      "No link of this environment carries this channel to this recipient. A new installation has no links in `live`. Create one in the console under Carriers, with `godwit links add` or with `POST /v1/links`: [Connect carriers](/docs/links) shows how, and [Go live](/docs/go-live) leads to the first real SMS. If there is a link, `detail` explains why it does not carry the message. To try the API without a carrier, use a key of `test`: its simulator carries every message.",
  },
  destination_not_permitted: {
    status: 422,
    title: "Messages to this country are not permitted",
    meaning:
      "The operator of this service lists the countries to which this environment may send, and the country of the recipient is not one of them. Ask the operator to add it: see [Connect carriers](/docs/links).",
  },
  sender_not_allowed: {
    status: 422,
    title: "The sender cannot be used for this message",
    meaning:
      "The sender belongs to another account or environment, or cannot be used in the country of the recipient. Omit `sender` to let the route choose one, or use one of your own: `GET /v1/senders` lists them.",
  },
  message_not_cancelable: {
    status: 422,
    title: "The message can no longer be canceled",
    meaning:
      "Only a message that is `scheduled` or `queued` can be canceled. This one has been submitted to a carrier or has a final status: `detail` contains its status.",
  },
  message_not_editable: {
    status: 422,
    title: "The message can no longer be edited",
    meaning: "Only a message that is `scheduled` can be edited. `detail` contains its status. Send a new message instead.",
  },
  message_not_redactable: {
    status: 422,
    title: "The message cannot be redacted yet",
    meaning:
      "Only a message with a final status can be redacted, because its text is still needed before. `detail` contains its status. Cancel it, or wait until it has a final status.",
  },
  template_not_found: {
    status: 422,
    title: "The template does not exist",
    meaning:
      "`template_id` is neither the id nor the name of a template in this environment. `GET /v1/templates` lists them. Templates of `test` and `live` are separate.",
  },
  template_not_approved: {
    status: 422,
    title: "The template is not approved",
    meaning:
      "Only an approved template can be sent. `detail` contains its status. Submit a draft with `PATCH /v1/templates/{id}` and `status: pending`. See [Templates](/docs/templates).",
  },
  template_channel_mismatch: {
    status: 422,
    title: "The template does not support this channel",
    meaning: "A template can be sent on the channels that it lists. Add the channel to the template, or use another template.",
  },
  template_variables_mismatch: {
    status: 422,
    title: "The variables do not match the template",
    meaning:
      "`template_variables` must contain exactly the variables of the template, and none of them may be empty. `errors` lists each variable that is missing, unknown or empty.",
  },
  template_text_too_long: {
    status: 422,
    title: "The text is too long with these variables",
    meaning:
      "With these variables, the text of the template exceeds the limit of the channel, and the service never truncates a text. `errors` contains the limit. Use shorter values.",
  },
  template_name_taken: {
    status: 422,
    title: "Another template has this name",
    meaning:
      "The name of a template is unique in its environment. Choose another name, or archive the other template, which frees its name.",
  },
  template_not_editable: {
    status: 422,
    title: "The template can no longer be changed",
    meaning: "An archived template cannot be changed. Create a new one; it may have the same name.",
  },
  too_many_templates: {
    status: 422,
    title: "The environment has too many templates",
    meaning: "`detail` contains the limit. Archive templates that you no longer use.",
  },
  recipient_opted_out: {
    status: 422,
    title: "The recipient has opted out",
    meaning:
      "The recipient has opted out of messages from this sender, or is on the list of suppressions. `GET /v1/suppressions?recipient=…` shows since when and why. Do not send to this person until they opt in again. A message that was accepted before the opt-out fails with the same code. See [Consent](/docs/consent).",
  },
  service_window_closed: {
    status: 422,
    title: "The WhatsApp service window is closed",
    meaning:
      "On WhatsApp, free text is permitted for 24 hours after the last message of the recipient. Send an approved template instead. See [WhatsApp](/docs/whatsapp).",
  },
  verification_too_soon: {
    status: 422,
    title: "A code was sent to this recipient moments ago",
    meaning: "Wait as long as `detail` says, then request another code with a new idempotency key.",
  },
  verification_limit_reached: {
    status: 422,
    title: "Too many codes were sent",
    meaning:
      "So many codes were sent to this recipient, or to similar numbers, that more would look like fraud. `detail` contains the limit that was reached. Wait before you request another code. See [Verification codes](/docs/verifications).",
  },
  verification_not_pending: {
    status: 422,
    title: "The verification is no longer pending",
    meaning: "The verification is approved, canceled, expired, or had too many wrong codes: `detail` contains its status. Start a new one.",
  },
  max_segments_exceeded: {
    status: 422,
    title: "The text needs more segments than allowed",
    meaning:
      "The request sets `max_segments`, and the text needs more segments. Shorten the text, or replace the characters that force UCS-2: `POST /v1/messages/validate` lists them.",
  },
  endpoint_url_refused: {
    status: 422,
    title: "The service may not call this URL",
    meaning:
      "An endpoint must use https and be reachable on the public internet. To receive events on your own machine, use [`godwit listen`](/docs/local-webhooks). The operator can allow further addresses, also with http, with `GODWIT_WEBHOOK_ALLOW`.",
  },
  endpoint_disabled: {
    status: 422,
    title: "The endpoint is disabled",
    meaning: "A disabled endpoint receives nothing. Enable it first with `PATCH /v1/webhook_endpoints/{id}` and `status: enabled`.",
  },
  too_many_keys: {
    status: 422,
    title: "The environment has too many keys",
    meaning: "`detail` contains the limit of active keys. Revoke keys that are no longer used: `last_used_at` shows which.",
  },
  key_not_active: {
    status: 422,
    title: "The key is no longer active",
    meaning: "A key that is revoked or expired cannot be rotated. Create a new one.",
  },
  link_address_refused: {
    status: 422,
    title: "The link may not connect to this host",
    meaning:
      "A link that an account creates must use TLS and connect to the public internet, or to a network that the operator allows. `errors` contains the setting. See [Connect carriers](/docs/links).",
  },
  link_in_use: {
    status: 422,
    title: "The link is still in use",
    meaning: "A route uses the link. `detail` contains the route. Change or delete the route first.",
  },
  paused_by_operator: {
    status: 422,
    title: "The operator paused the link",
    meaning: "Only the operator of this service can resume the link. Ask the operator.",
  },
  already_exists: {
    status: 422,
    title: "The record already exists",
    meaning: "Another link has this name, or the link already has this sender. `errors` contains the field.",
  },
  limit_reached: {
    status: 422,
    title: "The account has reached a limit",
    meaning: "`detail` contains the limit. Delete records that are no longer used.",
  },
  live_only: {
    status: 422,
    title: "Links exist only in live",
    meaning: "The `test` environment sends every message to the simulator and has no carriers. Use a key of the `live` environment.",
  },
  defined_in_file: {
    status: 422,
    title: "The record is defined in the configuration file",
    meaning:
      "Links, senders and routes of the configuration file cannot be changed with the API. Ask the operator of this service to change the file.",
  },
  too_many_endpoints: {
    status: 422,
    title: "The environment has too many endpoints",
    meaning: "`detail` contains the limit. Delete endpoints that are no longer used, or let one endpoint receive several types of events.",
  },
  rate_limit_exceeded: {
    status: 429,
    title: "Too many requests",
    meaning:
      "The environment has used its quota, or the account has too many requests at the same time: `detail` contains the limit. The request was not processed. The `RateLimit` headers show the quota. See [Rate limits](/docs/rate-limits).",
  },
  request_header_fields_too_large: {
    status: 431,
    title: "The request headers are too large",
    meaning: "The headers of the request exceed 16 kB together. Send fewer or shorter headers.",
  },
  internal_server_error: {
    status: 500,
    title: "An unexpected error occurred in the service",
    meaning:
      "The log of the service contains the cause under the request id: give the id to the operator. A request with an idempotency key can safely be sent again.",
  },
  service_unavailable: {
    status: 503,
    title: "The service is temporarily unavailable",
    meaning: "The service is stopping or overloaded, or its database is unavailable. The request had no effect.",
  },
} as const satisfies Record<string, ErrorSpec>;

export type ErrorCode = keyof typeof ERRORS;
export const isErrorCode = (text: string): text is ErrorCode => Object.hasOwn(ERRORS, text);
