/** The HTTP routes of batches. */
import { DEFAULT_LIMIT, idRange, pageOf, pageQuery, toPage } from "../api/paging.ts";
import { route, toResponse, type Route } from "../api/route.ts";
import { jsonResponse } from "../http/json-response.ts";
import { Problem } from "../http/problem.ts";
import { oneOf, optional, timeParameter, Type } from "../http/schema.ts";
import { decodeId } from "../model/id.ts";
import type { Database } from "../database/database.ts";
import type { BatchAcceptor } from "./accept-batch.ts";
import { AcceptedBatch, BATCH_STATUSES, BatchRecord, MAX_ITEMS, batchRecord } from "./batch.ts";
import { toCounts } from "./complete.ts";
import { checkNewBatch, DocumentedBatch, NewBatchBody } from "./new-batch.ts";
import { countStatuses, findBatch, listBatches } from "./queries.ts";

const ListQuery = Type.Object(
  {
    ...pageQuery,
    status: optional(oneOf(BATCH_STATUSES, { description: "Only batches with this status." })),
    created_after: timeParameter("Only batches that were accepted after this time."),
    created_before: timeParameter("Only batches that were accepted before this time."),
  },
  { additionalProperties: false },
);
const IdParams = Type.Object({ id: Type.String({ description: "The id of the batch." }) });

// Two kilobytes for each of a thousand items.
const MAX_BODY_BYTES = 2_097_152;
const ITEMS_PER_REQUEST = 50;

/** A batch costs one request for every fifty items. A body without a list of items is refused later, and costs one. */
function costOf(body: unknown): number {
  const { items } = (body ?? {}) as { items?: unknown };
  return Array.isArray(items) ? Math.max(1, Math.ceil(Math.min(items.length, MAX_ITEMS) / ITEMS_PER_REQUEST)) : 1;
}

export const batchRoutes = (db: Database, acceptor: BatchAcceptor): Route[] => [
  route({
    method: "POST",
    path: "/v1/batches",
    operationId: "sendBatch",
    weight: "heavy",
    summary: "Send a batch of messages",
    description:
      "Accepts up to 1,000 messages in one request, all in one transaction. `defaults` contains the fields that the messages share, and each item the fields of its own. An invalid item is refused without the others: `results` has one entry for each item. A fault in `defaults` refuses the whole request. One idempotency key covers the whole batch, and every 50 items cost one request of the quota. See [Batches](/docs/batches).",
    tag: "Batches",
    scope: "messages:send",
    isIdempotent: true,
    keepsTrace: true,
    body: NewBatchBody,
    check: checkNewBatch,
    documentedBody: DocumentedBatch,
    maxBodyBytes: MAX_BODY_BYTES,
    cost: costOf,
    reply: {
      status: 202,
      description: "The batch was accepted. `results` has the outcome of each item.",
      schema: AcceptedBatch,
      hasLocation: true,
    },
    problems: [],
    handle: async (call) => toResponse(await acceptor.accept(call.body, call)),
  }),
  route({
    method: "GET",
    path: "/v1/batches",
    operationId: "listBatches",
    weight: "heavy",
    mayLag: true,
    isCompressible: true,
    summary: "List batches",
    description:
      "Returns the batches of the environment, newest first, each with the number of its messages in each status. Filters can be combined. See [Follow a batch](/docs/batches#follow-a-batch).",
    tag: "Batches",
    scope: "messages:read",
    isIdempotent: false,
    query: ListQuery,
    reply: { status: 200, description: "A page of batches.", schema: pageOf("BatchPage", BatchRecord) },
    problems: [],
    handle: async ({ query, credential }) => {
      const filter = { ...idRange(query), status: query.status ?? null };
      const { items, next } = await listBatches(db, credential, filter, query.limit ?? DEFAULT_LIMIT);
      const records = items.map(({ batch, statuses }) => batchRecord(batch, statuses));
      return jsonResponse(toPage(records, next));
    },
  }),
  route({
    method: "GET",
    path: "/v1/batches/{id}",
    operationId: "getBatch",
    summary: "Retrieve a batch",
    description:
      "Returns a batch with the number of its messages in each status. The event `batch.completed` reports when all its messages have a final status. `GET /v1/messages?batch_id=…` lists the messages. See [Follow a batch](/docs/batches#follow-a-batch).",
    tag: "Batches",
    scope: "messages:read",
    isIdempotent: false,
    params: IdParams,
    reply: { status: 200, description: "The batch.", schema: BatchRecord },
    problems: ["not_found"],
    handle: async ({ params, credential }) => {
      const id = decodeId("batch", params.id);
      const batch = id && (await findBatch(db, credential, id));
      if (batch === undefined) throw new Problem("not_found", { detail: "no such batch in this environment" });
      return jsonResponse(batchRecord(batch, toCounts(await countStatuses(db, batch))));
    },
  }),
];
