/** The table of all error codes, for problem responses, the pages at /errors/{code}, the OpenAPI document and the documentation. */

export type ErrorSpec = { status: number; title: string; meaning: string };

export const ERRORS = {
  invalid_request_payload: {
    status: 400,
    title: "The request is not valid",
    meaning:
      "The body is not JSON, does not fit the schema, lacks a required field, or a query parameter is wrong. `errors` lists every fault with its place. Correct the request; the same idempotency key may be used again.",
  },
  invalid_idempotency_key: {
    status: 400,
    title: "The Idempotency-Key header is not a version-4 UUID",
    meaning:
      "Send exactly one Idempotency-Key with a version-4 UUID such as 3f2a1c64-9b1e-4d7a-8c55-0e6b7f3a9d21, bare or in double quotes.",
  },
  unauthorized_missing_token: {
    status: 401,
    title: "The Authorization header is missing or malformed",
    meaning: "Every request carries `Authorization: Bearer` and an API key or an access token.",
  },
  unauthorized_invalid_token: {
    status: 401,
    title: "The credential is not valid",
    meaning: "The header has the right form, but the credential is unknown, mistyped, expired or revoked.",
  },
  forbidden_insufficient_scope: {
    status: 403,
    title: "The credential lacks a scope",
    meaning: "`required_scopes` names what is missing. Use a credential that holds it, or create one that does.",
  },
  forbidden_address: {
    status: 403,
    title: "The key cannot be used from this address",
    meaning: "The key has `allowed_ips`, and the request came from another address. `detail` has the address that the service sees.",
  },
  key_outlives_credential: {
    status: 403,
    title: "The key outlives the credential",
    meaning:
      "An access token cannot rotate a key that is valid for longer than the token, and a repeated request does not show a key that outlives the credential of the repetition. Use an API key without an earlier end.",
  },
  not_found: {
    status: 404,
    title: "There is nothing here",
    meaning: "The path is unknown, or the resource does not exist in the environment of this credential.",
  },
  method_not_allowed: {
    status: 405,
    title: "The method is not allowed here",
    meaning: "The path exists, with other methods: the Allow header lists them.",
  },
  request_timeout: {
    status: 408,
    title: "The request took too long to arrive",
    meaning: "Headers or body came too slowly, and nothing was done. Send the request again.",
  },
  idempotency_conflict: {
    status: 409,
    title: "A request with this idempotency key is being executed",
    meaning:
      "The first request with this key has not finished. Wait as long as Retry-After says and send the same request again: it then gets the first one's answer.",
  },
  payload_too_large: {
    status: 413,
    title: "The body is too large",
    meaning: "The body exceeds the limit named in `detail`.",
  },
  unsupported_media_type: {
    status: 415,
    title: "The body is not declared as JSON",
    meaning: "Send `Content-Type: application/json`, in UTF-8 and without a content encoding.",
  },
  idempotency_key_reused: {
    status: 422,
    title: "The idempotency key was used for another request",
    meaning: "Within 24 hours a key stands for one method, path and body. Use a new key for a new request.",
  },
  no_route: {
    status: 422,
    title: "No link takes this message",
    meaning:
      "No configured link carries messages of this channel to this recipient in this environment. In `test` the simulator takes every message.",
  },
  destination_not_permitted: {
    status: 422,
    title: "Messages to this country are not allowed",
    meaning: "The operator of this service lists the countries that this environment may write to, and the recipient's is not among them.",
  },
  sender_not_allowed: {
    status: 422,
    title: "The sender is not yours to use",
    meaning:
      "The number or name belongs to another account or environment, or is not for the country of the recipient. Leave sender out, or name another one of your own.",
  },
  message_not_cancelable: {
    status: 422,
    title: "The message can no longer be canceled",
    meaning: "Only a message that is scheduled or queued can be canceled. This one is on its way, or at its end: `detail` has its status.",
  },
  message_not_editable: {
    status: 422,
    title: "The message can no longer be edited",
    meaning: "Only a message that is scheduled can be edited. `detail` has its status.",
  },
  message_not_redactable: {
    status: 422,
    title: "The message cannot be redacted yet",
    meaning: "Only a message that has come to its end can be redacted: before that its text is still needed. `detail` has its status.",
  },
  template_not_found: {
    status: 422,
    title: "There is no such template",
    meaning: "template_id names neither the id nor the name of a template of this environment.",
  },
  template_not_approved: {
    status: 422,
    title: "The template may not be used",
    meaning: "Only an approved template can be sent. `detail` has its status; a draft is submitted by a PATCH with `status: pending`.",
  },
  template_channel_mismatch: {
    status: 422,
    title: "The template is not for this channel",
    meaning: "A template is sent on the channels it lists. Add the channel to it, or use another template.",
  },
  template_variables_mismatch: {
    status: 422,
    title: "The variables do not fit the template",
    meaning:
      "template_variables must have exactly the template's variables, none of them empty. `errors` names each that is missing, extra or empty.",
  },
  template_text_too_long: {
    status: 422,
    title: "The text is too long with these variables",
    meaning:
      "Nothing is cut off: the template's text with its variables filled in must keep to the limit of the channel, which `errors` names.",
  },
  template_name_taken: {
    status: 422,
    title: "Another template has this name",
    meaning: "A name stands for one template of an environment. Archive the other one, or choose another name.",
  },
  template_not_editable: {
    status: 422,
    title: "The template can no longer be changed",
    meaning: "An archived template stays as it is. Create a new one, which may have its name.",
  },
  too_many_templates: {
    status: 422,
    title: "The environment has as many templates as it may have",
    meaning: "Archive one that is no longer used.",
  },
  recipient_opted_out: {
    status: 422,
    title: "The recipient does not want messages",
    meaning:
      "The recipient has opted out of messages from this sender, or was put on the list of suppressions. GET /v1/suppressions shows since when. A message that was accepted before the opt-out fails with the same code.",
  },
  service_window_closed: {
    status: 422,
    title: "Free text is not allowed at this time",
    meaning: "On WhatsApp free text may be sent for 24 hours after the recipient last wrote, and that was longer ago. Send a template.",
  },
  verification_too_soon: {
    status: 422,
    title: "A code was sent to this recipient a moment ago",
    meaning: "Wait as long as `detail` says before another code is sent, with a new idempotency key.",
  },
  verification_limit_reached: {
    status: 422,
    title: "Too many codes were sent",
    meaning:
      "So many codes were sent to this recipient, or to numbers beside it, that more would look like fraud. `detail` says which limit, and `errors` the place.",
  },
  verification_not_pending: {
    status: 422,
    title: "The verification is over",
    meaning: "It is approved, canceled, expired, or had too many wrong tries: `detail` says which. Start a new one.",
  },
  max_segments_exceeded: {
    status: 422,
    title: "The text needs more parts than allowed",
    meaning: "The request set max_segments, and the text would be sent in more parts than that.",
  },
  endpoint_url_refused: {
    status: 422,
    title: "This service may not call the URL",
    meaning:
      "Endpoints are called over https and on the public internet alone. The operator can allow further addresses, also over http, with GODWIT_WEBHOOK_ALLOW.",
  },
  endpoint_disabled: {
    status: 422,
    title: "The endpoint is disabled",
    meaning: "Nothing is delivered to it. Enable it first: PATCH it with `status: enabled`.",
  },
  too_many_keys: {
    status: 422,
    title: "The environment has too many keys",
    meaning: "The number of keys that work is limited. Revoke those that nobody uses: `last_used_at` tells.",
  },
  key_not_active: {
    status: 422,
    title: "The key works no more",
    meaning: "A key that is revoked or has expired cannot be rotated. Create a new one.",
  },
  link_address_refused: {
    status: 422,
    title: "The link may not connect to this host",
    meaning:
      "Links that accounts create connect to the public internet with TLS, and to the networks that the operator allows. `errors` names the setting.",
  },
  link_in_use: {
    status: 422,
    title: "The link is still in use",
    meaning: "A route names the link. `detail` has the route: change or delete it first.",
  },
  paused_by_operator: {
    status: 422,
    title: "The operator paused the link",
    meaning: "Only the operator can resume it.",
  },
  already_exists: {
    status: 422,
    title: "There is one already",
    meaning: "Another link has this name, or the link has this sender already. `errors` names the field.",
  },
  limit_reached: {
    status: 422,
    title: "The account has as many of them as it may have",
    meaning: "Delete one that is no longer used. `detail` has the limit.",
  },
  live_only: {
    status: 422,
    title: "Links belong to live",
    meaning: "`test` uses the simulator for every message, and no carrier. Use a key of the live environment.",
  },
  defined_in_file: {
    status: 422,
    title: "The operator configured this in a file",
    meaning: "Links, senders and routes of the configuration file cannot be changed through the API. Ask the operator of this service.",
  },
  too_many_endpoints: {
    status: 422,
    title: "The environment has as many endpoints as it may have",
    meaning: "Delete one that is no longer used, or let one URL take several types of events.",
  },
  rate_limit_exceeded: {
    status: 429,
    title: "Too many requests",
    meaning:
      "The quota of the environment's tier is used up, and the request was not processed. Wait as long as Retry-After says; the RateLimit headers show the quota.",
  },
  request_header_fields_too_large: {
    status: 431,
    title: "The header is too large",
    meaning: "The request's header fields together exceed 16 kB.",
  },
  internal_server_error: {
    status: 500,
    title: "Something went wrong on our side",
    meaning: "The log has the cause under the request id. A request with an idempotency key can safely be sent again.",
  },
  service_unavailable: {
    status: 503,
    title: "The service cannot take requests right now",
    meaning:
      "It is stopping, overloaded, or its database is away. Nothing was done. Wait as long as Retry-After says and send the request again.",
  },
} as const satisfies Record<string, ErrorSpec>;

export type ErrorCode = keyof typeof ERRORS;
export const isErrorCode = (text: string): text is ErrorCode => Object.hasOwn(ERRORS, text);
