/** The HTTP routes of verifications. */
import { DEFAULT_LIMIT, idRange, pageOf, pageQuery, toPage } from "../api/paging.ts";
import { route, toResponse, type Route } from "../api/route.ts";
import { jsonResponse } from "../http/json-response.ts";
import { oneOf, optional, timeParameter, Type } from "../http/schema.ts";
import { recipientParameter } from "../links/address.ts";
import { decodeId } from "../model/id.ts";
import type { Recipient } from "../model/phone-number.ts";
import type { Database } from "../database/database.ts";
import { CheckBody, checkNewVerification, NewVerificationBody } from "./new-verification.ts";
import { findVerification, listPage } from "./queries.ts";
import { CheckedVerification, VERIFICATION_STATUSES, verificationRecord, VerificationRecord } from "./verification.ts";
import { noSuchVerification, type Verifier } from "./verifier.ts";

const ListQuery = Type.Object(
  {
    ...pageQuery,
    status: optional(oneOf(VERIFICATION_STATUSES, { description: "Only verifications with this status." })),
    recipient: optional(recipientParameter),
    created_after: timeParameter("Only verifications that were created after this time."),
    created_before: timeParameter("Only verifications that were created before this time."),
  },
  { additionalProperties: false },
);
const IdParams = Type.Object({ id: Type.String({ description: "The id of the verification." }) });

const WRITE = { tag: "Verifications", scope: "verifications:write", isIdempotent: true } as const;

export const verificationRoutes = (db: Database, verifier: Verifier): Route[] => [
  route({
    ...WRITE,
    method: "POST",
    path: "/v1/verifications",
    operationId: "sendVerification",
    summary: "Send a verification code",
    description:
      "Creates a one-time code and sends it to a recipient, on the first channel and, if it is not delivered in time, on the next one. The code is never shown: the record of its message masks it, and only a keyed hash is stored. A new verification replaces the pending one of the same recipient. In `test` the code is always the first digits of 1234567890. Send an `Idempotency-Key`, so that a repeated request sends no second code. See [Verifications](/docs/verifications).",
    keepsTrace: true,
    body: NewVerificationBody,
    check: checkNewVerification,
    reply: {
      status: 201,
      description: "The verification was created, and its code is being sent.",
      schema: VerificationRecord,
      hasLocation: true,
    },
    problems: [
      "verification_too_soon",
      "verification_limit_reached",
      "no_route",
      "destination_not_permitted",
      "sender_not_allowed",
      "recipient_opted_out",
      "template_not_found",
      "template_not_approved",
      "template_channel_mismatch",
      "template_variables_mismatch",
      "template_text_too_long",
    ],
    handle: async (call) => toResponse(await verifier.start(call, call.body)),
  }),
  route({
    ...WRITE,
    method: "POST",
    path: "/v1/verifications/{id}/check",
    operationId: "checkVerification",
    summary: "Check a verification code",
    description:
      "Compares the code that a person entered with the one that was sent. `valid` is the result. The right code approves the verification, which can happen once; the fifth wrong code ends it with `failed`. A verification that is not pending is refused with `verification_not_pending`. Send an `Idempotency-Key`, so that a repeated request is not counted as another attempt. See [Check a code](/docs/verifications#check-a-code).",
    params: IdParams,
    body: CheckBody,
    reply: { status: 200, description: "The verification after the check.", schema: CheckedVerification },
    problems: ["not_found", "verification_not_pending"],
    handle: async (call) => toResponse(await verifier.check(call, decodeId("ver", call.params.id), call.body.code)),
  }),
  route({
    ...WRITE,
    method: "POST",
    path: "/v1/verifications/{id}/cancel",
    operationId: "cancelVerification",
    summary: "Cancel a verification",
    description:
      "Ends a pending verification: its code is no longer valid, and no further channel is used. A message that was already submitted may still arrive. Send an `Idempotency-Key`, so that you can repeat the request safely. See [Verifications](/docs/verifications).",
    params: IdParams,
    reply: { status: 200, description: "The canceled verification.", schema: VerificationRecord },
    problems: ["not_found", "verification_not_pending"],
    handle: async (call) => toResponse(await verifier.cancel(call, decodeId("ver", call.params.id))),
  }),
  route({
    method: "GET",
    path: "/v1/verifications",
    operationId: "listVerifications",
    weight: "heavy",
    mayLag: true,
    summary: "List verifications",
    description:
      "Returns the verifications of the environment, newest first. Filters can be combined. A filter that would have to read very many verifications may return a short page with `has_more: true`: continue with `next_cursor`. See [Verifications](/docs/verifications).",
    tag: "Verifications",
    scope: "verifications:read",
    isIdempotent: false,
    query: ListQuery,
    reply: { status: 200, description: "A page of verifications.", schema: pageOf("VerificationPage", VerificationRecord) },
    problems: [],
    handle: async ({ query, credential }) => {
      const recipient = typeof query.recipient === "string" ? (query.recipient as Recipient) : null;
      const filter = { ...idRange(query), status: query.status ?? null, recipient };
      const nowMs = verifier.now();
      const { items, next } = await listPage(db, credential, filter, { limit: query.limit ?? DEFAULT_LIMIT, nowMs });
      const records = items.map((found) => verificationRecord(found, nowMs));
      return jsonResponse(toPage(records, next));
    },
  }),
  route({
    method: "GET",
    path: "/v1/verifications/{id}",
    operationId: "getVerification",
    summary: "Retrieve a verification",
    description:
      "Returns a verification with its current status. Use it to show how many attempts are left; a code is checked with `POST /v1/verifications/{id}/check`. See [Verifications](/docs/verifications).",
    tag: "Verifications",
    scope: "verifications:read",
    isIdempotent: false,
    params: IdParams,
    reply: { status: 200, description: "The verification.", schema: VerificationRecord },
    problems: ["not_found"],
    handle: async ({ params, credential }) => {
      const id = decodeId("ver", params.id);
      const found = id && (await findVerification(db, credential, id));
      if (found === undefined) throw noSuchVerification();
      return jsonResponse(verificationRecord(found, verifier.now()));
    },
  }),
];
