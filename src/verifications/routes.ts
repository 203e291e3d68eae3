/** The HTTP routes of verifications. */
import { route, toResponse, type Route } from "../api/route.ts";
import { Type } from "../http/schema.ts";
import { decodeId } from "../lib/id.ts";
import type { Database } from "../storage/database.ts";
import { CheckBody, checkNewVerification, NewVerificationBody } from "./new-verification.ts";
import { findVerification } from "./queries.ts";
import { CheckedVerification, verificationRecord, VerificationRecord } from "./verification.ts";
import { noSuchVerification, type Verifier } from "./verifier.ts";

const IdParams = Type.Object({ id: Type.String({ description: "The verification's id." }) });

const WRITE = { tag: "Verifications", scope: "verifications:write", isIdempotent: true } as const;

export const verificationRoutes = (db: Database, verifier: Verifier): Route[] => [
  route({
    ...WRITE,
    method: "POST",
    path: "/v1/verifications",
    summary: "Send a verification code",
    description:
      "Makes a code and sends it, by the first of the channels, and by the next when that does not get it delivered. The code is nowhere to be read: its message shows it hidden, and only a keyed hash of it is kept. A new code for a recipient takes the place of the one before. In `test` the code is always the first digits of 1234567890.",
    keepsTrace: true,
    body: NewVerificationBody,
    check: checkNewVerification,
    reply: { status: 201, description: "The code is on its way.", schema: VerificationRecord, hasLocation: true },
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
    summary: "Check a code",
    description:
      "`valid` tells whether it is the right one. The right one approves the verification, once; the fifth wrong one ends it. One that is over is refused.",
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
    summary: "Cancel a verification",
    description: "Its code is no longer taken, and no further channel is tried. A message that is on its way arrives all the same.",
    params: IdParams,
    reply: { status: 200, description: "The verification after the change.", schema: VerificationRecord },
    problems: ["not_found", "verification_not_pending"],
    handle: async (call) => toResponse(await verifier.cancel(call, decodeId("ver", call.params.id))),
  }),
  route({
    method: "GET",
    path: "/v1/verifications/{id}",
    summary: "Read a verification",
    description: "The verification as it is now.",
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
      return { status: 200, body: JSON.stringify(verificationRecord(found, verifier.now())) };
    },
  }),
];
