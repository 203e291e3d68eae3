/** The HTTP routes of suppressions. */
import type { Credential } from "../access/authenticate.ts";
import { DEFAULT_LIMIT, idRange, pageOf, pageQuery, toPage } from "../api/paging.ts";
import { route, toResponse, type Route } from "../api/route.ts";
import { oneOf, optional, Type, type Static } from "../http/schema.ts";
import { decodeId } from "../lib/id.ts";
import { recipientParameter, senderField } from "../links/address.ts";
import type { Database } from "../storage/database.ts";
import { ImportRecord } from "./import-suppressions.ts";
import { checkImport, checkSuppression, ImportBody, MAX_ENTRIES, NewSuppressionBody } from "./new-suppression.ts";
import { findSuppression, listChanges, listSuppressions } from "./queries.ts";
import { noSuchSuppression, type SuppressionChanger } from "./suppression-changer.ts";
import {
  ChangeRecord,
  OptOutRecord,
  SUPPRESSION_STATUSES,
  SuppressionRecord,
  changeRecord,
  suppressionRecord,
  type Suppression,
} from "./suppression.ts";

const ListQuery = Type.Object(
  {
    ...pageQuery,
    recipient: optional(recipientParameter),
    sender: optional(Type.String({ ...senderField, description: "Only those of this very sender, not those for all." })),
    status: optional(oneOf(SUPPRESSION_STATUSES, { description: "Default: active." })),
  },
  { additionalProperties: false },
);

const HistoryQuery = Type.Object({ ...pageQuery }, { additionalProperties: false });

const IdParams = Type.Object({ id: Type.String({ description: "The suppression's id." }) });

// A thousand entries with notes.
const IMPORT_BODY_BYTES = 524_288;

const ENTRIES_PER_REQUEST = 50;

/** An import costs one request for every fifty entries, as a batch does. */
function costOfImport(body: unknown): number {
  const { entries } = (body ?? {}) as { entries?: unknown };
  return Array.isArray(entries) ? Math.ceil(Math.min(entries.length, MAX_ENTRIES) / ENTRIES_PER_REQUEST) : 1;
}

const READ = { tag: "Suppressions", scope: "suppressions:read", isIdempotent: false } as const;
const WRITE = { tag: "Suppressions", scope: "suppressions:write", isIdempotent: true } as const;

export const suppressionRoutes = (db: Database, changer: SuppressionChanger): Route[] => [
  route({
    ...WRITE,
    method: "POST",
    path: "/v1/suppressions",
    summary: "Suppress a recipient",
    description:
      "From now on no message is sent to the recipient by this sender, or by anybody, on any channel. 201 when that is news; 200 with the record as it is, note and all, when it was so already. `in_flight` counts the messages that were already `sending`; no further message becomes `sending`.",
    body: NewSuppressionBody,
    check: checkSuppression,
    reply: {
      status: 201,
      description: "Active from now on.",
      schema: OptOutRecord,
      hasLocation: true,
      already: { status: 200, description: "It was active already: the record as it is." },
    },
    problems: [],
    handle: async (call) => toResponse(await changer.add(call, call.body)),
  }),
  route({
    ...READ,
    method: "GET",
    path: "/v1/suppressions",
    weight: "heavy",
    summary: "List suppressions",
    description:
      "Newest first, by when the recipient was first suppressed. Filters combine. Where very many would have to be looked at, a page may be short with `has_more: true`: go on with `next_cursor`.",
    query: ListQuery,
    reply: { status: 200, description: "A page of suppressions.", schema: pageOf("SuppressionPage", SuppressionRecord) },
    problems: [],
    handle: async ({ query, credential }) => ({ status: 200, body: JSON.stringify(await listPage(db, credential, query)) }),
  }),
  route({
    ...WRITE,
    method: "POST",
    path: "/v1/suppressions/import",
    maxBodyBytes: IMPORT_BODY_BYTES,
    weight: "heavy",
    summary: "Import suppressions",
    description:
      "Up to 1,000 at once: all of them, or none when an entry is at fault. The faults of all entries are told at once, up to 100 of a kind. Of entries for the same recipient and sender the first one counts. Each that becomes active is an event. Costs one request of the quota for every 50 entries.",
    body: ImportBody,
    cost: costOfImport,
    check: checkImport,
    reply: { status: 200, description: "What was done.", schema: ImportRecord },
    problems: [],
    handle: async (call) => toResponse(await changer.import(call, call.body.entries)),
  }),
  route({
    ...READ,
    method: "GET",
    path: "/v1/suppressions/{id}",
    summary: "Read a suppression",
    description: "The suppression as it is now.",
    params: IdParams,
    reply: { status: 200, description: "The suppression.", schema: SuppressionRecord },
    problems: ["not_found"],
    handle: async ({ params, credential }) => ({
      status: 200,
      body: JSON.stringify(suppressionRecord(await findOwn(db, credential, params.id))),
    }),
  }),
  route({
    ...READ,
    method: "GET",
    path: "/v1/suppressions/{id}/history",
    weight: "heavy",
    summary: "Read a suppression's history",
    description: "Newest first: each time it became active or was lifted, and why.",
    params: IdParams,
    query: HistoryQuery,
    reply: { status: 200, description: "A page of changes.", schema: pageOf("SuppressionChangePage", ChangeRecord) },
    problems: ["not_found"],
    handle: async ({ params, query, credential }) => {
      const limit = query.limit ?? DEFAULT_LIMIT;
      const { before } = idRange(query);
      const found = await listChanges(db, await findOwn(db, credential, params.id), before, limit + 1);
      const page = found.slice(0, limit);
      const next = found.length > limit ? (page.at(-1)?.id ?? null) : null;
      return { status: 200, body: JSON.stringify(toPage(page.map(changeRecord), next)) };
    },
  }),
  route({
    ...WRITE,
    isIdempotent: false,
    method: "DELETE",
    path: "/v1/suppressions/{id}",
    summary: "Lift a suppression",
    description:
      "The recipient may be written to again, unless another suppression stands against it. The record stays, with its history, and is the same when the recipient opts out anew. Lifting what is lifted changes nothing.",
    params: IdParams,
    reply: { status: 200, description: "The suppression, lifted.", schema: SuppressionRecord },
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
    before: idRange(query).before,
    recipient: query.recipient ?? null,
    sender: query.sender ?? null,
    isActive: (query.status ?? "active") === "active",
  };
  const { items, next } = await listSuppressions(db, credential, filter, query.limit ?? DEFAULT_LIMIT);
  return toPage(items.map(suppressionRecord), next);
}
