/** The HTTP routes of suppressions and of consent settings. */
import type { Credential } from "../access/authenticate.ts";
import { DEFAULT_LIMIT, idRange, pageOf, pageQuery, pageFrom, toPage } from "../api/paging.ts";
import { route, toResponse, type Route } from "../api/route.ts";
import { jsonResponse } from "../http/json-response.ts";
import { oneOf, optional, timeParameter, Type, type Static } from "../http/schema.ts";
import { decodeId } from "../model/id.ts";
import { recipientParameter, senderField } from "../links/address.ts";
import type { Database } from "../database/database.ts";
import { ImportRecord, noSuchSuppression, type SuppressionChanger } from "./suppression-changer.ts";
import { checkImport, checkSuppression, ImportBody, MAX_ENTRIES, NewSuppressionBody } from "./new-suppression.ts";
import { findSuppression, listChanges, listSuppressions } from "./queries.ts";
import {
  ChangeRecord,
  OptOutRecord,
  SUPPRESSION_STATUSES,
  SuppressionRecord,
  changeRecord,
  suppressionRecord,
  type Suppression,
} from "./suppression.ts";
import type { ConsentSettingsChanger } from "./change-settings.ts";
import { ConsentChangeBody, ConsentSettingsRecord, wordFaults } from "./consent-settings.ts";

const ListQuery = Type.Object(
  {
    ...pageQuery,
    recipient: optional(recipientParameter),
    sender: optional(
      Type.String({ ...senderField, description: "Only suppressions of exactly this sender, without those for all senders." }),
    ),
    status: optional(oneOf(SUPPRESSION_STATUSES, { description: "Only suppressions with this status. Default: `active`." })),
    created_after: timeParameter("Only suppressions whose first opt-out was after this time."),
    created_before: timeParameter("Only suppressions whose first opt-out was before this time."),
  },
  { additionalProperties: false },
);

const HistoryQuery = Type.Object({ ...pageQuery }, { additionalProperties: false });

const IdParams = Type.Object({ id: Type.String({ description: "The id of the suppression." }) });

// A thousand entries with notes.
const IMPORT_BODY_BYTES = 524_288;

const ENTRIES_PER_REQUEST = 50;

/** An import costs one request for every fifty entries, as a batch does. */
function costOfImport(body: unknown): number {
  const { entries } = (body ?? {}) as { entries?: unknown };
  return Array.isArray(entries) ? Math.ceil(Math.min(entries.length, MAX_ENTRIES) / ENTRIES_PER_REQUEST) : 1;
}

const READ = { tag: "Suppressions and consent", scope: "suppressions:read", isIdempotent: false } as const;
const WRITE = { tag: "Suppressions and consent", scope: "suppressions:write", isIdempotent: true } as const;

export const suppressionRoutes = (db: Database, changer: SuppressionChanger): Route[] => [
  route({
    ...WRITE,
    method: "POST",
    path: "/v1/suppressions",
    operationId: "createSuppression",
    summary: "Suppress a recipient",
    description:
      "Records an opt-out: from now on, no message is sent to the recipient from this sender, or from any sender, on any channel. The response is 201 if the suppression is new or active again, and 200 with the unchanged record if it was already active. `in_flight` is the number of messages that were `sending` and cannot be stopped. Send an `Idempotency-Key`, so that you can repeat the request safely. See [Consent](/docs/consent).",
    body: NewSuppressionBody,
    check: checkSuppression,
    reply: {
      status: 201,
      description: "The suppression is active from now on.",
      schema: OptOutRecord,
      hasLocation: true,
      already: { status: 200, description: "The suppression was already active and is unchanged." },
    },
    problems: [],
    handle: async (call) => toResponse(await changer.add(call, call.body)),
  }),
  route({
    ...READ,
    method: "GET",
    path: "/v1/suppressions",
    operationId: "listSuppressions",
    weight: "heavy",
    summary: "List suppressions",
    description:
      "Returns the suppressions of the environment, newest first by the time of the first opt-out. Without `status`, only active ones are listed. Filters can be combined. A filter that would have to read very many suppressions may return a short page with `has_more: true`: continue with `next_cursor`. See [Manage suppressions](/docs/consent#manage-suppressions).",
    query: ListQuery,
    reply: { status: 200, description: "A page of suppressions.", schema: pageOf("SuppressionPage", SuppressionRecord) },
    problems: [],
    handle: async ({ query, credential }) => jsonResponse(await listPage(db, credential, query)),
  }),
  route({
    ...WRITE,
    method: "POST",
    path: "/v1/suppressions/import",
    operationId: "importSuppressions",
    maxBodyBytes: IMPORT_BODY_BYTES,
    weight: "heavy",
    summary: "Import suppressions",
    description:
      "Records up to 1,000 opt-outs in one transaction: all of them, or none if an entry has a fault. Use it to bring opt-outs from another service. The faults of all entries are reported together, up to 100 of a kind. Of several entries for the same recipient and sender the first one counts. Every 50 entries cost one request of the quota. Send an `Idempotency-Key`, so that you can repeat the request safely. See [Manage suppressions](/docs/consent#manage-suppressions).",
    body: ImportBody,
    cost: costOfImport,
    check: checkImport,
    reply: { status: 200, description: "The result of the import.", schema: ImportRecord },
    problems: [],
    handle: async (call) => toResponse(await changer.import(call, call.body.entries)),
  }),
  route({
    ...READ,
    method: "GET",
    path: "/v1/suppressions/{id}",
    operationId: "getSuppression",
    summary: "Retrieve a suppression",
    description:
      "Returns a suppression with its current status and the reason of its last change. See [Manage suppressions](/docs/consent#manage-suppressions).",
    params: IdParams,
    reply: { status: 200, description: "The suppression.", schema: SuppressionRecord },
    problems: ["not_found"],
    handle: async ({ params, credential }) => jsonResponse(suppressionRecord(await findOwn(db, credential, params.id))),
  }),
  route({
    ...READ,
    method: "GET",
    path: "/v1/suppressions/{id}/history",
    operationId: "listSuppressionHistory",
    weight: "heavy",
    summary: "List the history of a suppression",
    description:
      "Returns every change of a suppression with its reason, newest first: when it became active, and when it was lifted. Use it as evidence of consent. See [Manage suppressions](/docs/consent#manage-suppressions).",
    params: IdParams,
    query: HistoryQuery,
    reply: { status: 200, description: "A page of changes.", schema: pageOf("SuppressionChangePage", ChangeRecord) },
    problems: ["not_found"],
    handle: async ({ params, query, credential }) => {
      const suppression = await findOwn(db, credential, params.id);
      return jsonResponse(await pageFrom(query, (before, limit) => listChanges(db, suppression, before, limit), changeRecord));
    },
  }),
  route({
    ...WRITE,
    isIdempotent: false,
    method: "DELETE",
    path: "/v1/suppressions/{id}",
    operationId: "liftSuppression",
    summary: "Lift a suppression",
    description:
      "Permits messages to the recipient again, unless another suppression applies. The record and its history are kept, and the same record becomes active again after another opt-out. Lifting it again changes nothing. Lift a suppression only if the person has agreed. See [Opt in again](/docs/consent#opt-in-again).",
    params: IdParams,
    reply: { status: 200, description: "The lifted suppression.", schema: SuppressionRecord },
    problems: ["not_found"],
    handle: async (call) => toResponse(await changer.lift(call, decodeId("sup", call.params.id))),
  }),
];

async function findOwn(db: Database, credential: Credential, text: string): Promise<Suppression> {
  const id = decodeId("sup", text);
  const suppression = id && (await findSuppression(db, credential, id));
  if (suppression === undefined) throw noSuchSuppression();
  return suppression;
}

async function listPage(db: Database, credential: Credential, query: Static<typeof ListQuery>): Promise<object> {
  const filter = {
    ...idRange(query),
    recipient: query.recipient ?? null,
    sender: query.sender ?? null,
    isActive: (query.status ?? "active") === "active",
  };
  const { items, next } = await listSuppressions(db, credential, filter, query.limit ?? DEFAULT_LIMIT);
  return toPage(items.map(suppressionRecord), next);
}

const TAG = { tag: "Suppressions and consent", path: "/v1/consent_settings" } as const;

export const consentSettingsRoutes = (changer: ConsentSettingsChanger): Route[] => [
  route({
    ...TAG,
    method: "GET",
    operationId: "getConsentSettings",
    scope: "suppressions:read",
    isIdempotent: false,
    summary: "Retrieve the consent settings",
    description:
      "Returns the opt-out words and the automatic replies of this environment. A setting that you have not changed comes from the configuration file of the operator, or is built in. See [Consent](/docs/consent).",
    reply: { status: 200, description: "The settings.", schema: ConsentSettingsRecord },
    problems: [],
    handle: async ({ credential }) => ({ status: 200, body: await changer.read(credential) }),
  }),
  route({
    ...TAG,
    method: "PATCH",
    operationId: "updateConsentSettings",
    scope: "suppressions:write",
    isIdempotent: true,
    summary: "Update the consent settings",
    description:
      "Replaces the given settings; settings that are absent or null stay unchanged. The English opt-out words cannot be removed, and a word can be in one list only. The new settings apply to inbound messages that arrive after the response. Send an `Idempotency-Key`, so that you can repeat the request safely. See [Automatic replies](/docs/inbound#automatic-replies).",
    body: ConsentChangeBody,
    check: wordFaults,
    reply: { status: 200, description: "The settings after the change.", schema: ConsentSettingsRecord },
    problems: [],
    handle: async (call) => toResponse(await changer.change(call, call.body)),
  }),
];
