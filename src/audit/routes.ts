/** The HTTP route of the audit log. */
import { DEFAULT_LIMIT, idRange, pageOf, pageQuery, toPage } from "../api/paging.ts";
import { route, type Route } from "../api/route.ts";
import { jsonResponse } from "../http/json-response.ts";
import { optional, timeParameter, Type } from "../http/schema.ts";
import type { Database } from "../database/database.ts";
import { AuditEventRecord, auditEventRecord } from "./audit-event.ts";
import { listAuditEvents } from "./queries.ts";

const text = (description: string) => optional(Type.String({ minLength: 1, maxLength: 100, description }));

const AuditQuery = Type.Object(
  {
    ...pageQuery,
    actor: text("Only changes by this actor: the id of a key, or a type such as `cli`."),
    action: text("Only this action, such as `key.created`, or all of a kind with `key.*`."),
    target: text("Only changes of this target: its id, or a type such as `link`."),
    created_after: timeParameter("Only changes after this time."),
    created_before: timeParameter("Only changes before this time."),
  },
  { additionalProperties: false },
);

export const auditRoutes = (db: Database): Route[] => [
  route({
    method: "GET",
    path: "/v1/audit_events",
    operationId: "listAuditEvents",
    weight: "heavy",
    mayLag: true,
    isCompressible: true,
    summary: "List audit events",
    description:
      "Returns the changes in this environment and in the account as a whole, newest first, each with the actor, the action and the target. An entry is written in the transaction of its change and cannot be altered. Filters can be combined. See [Audit log](/docs/audit).",
    tag: "Audit log",
    scope: "audit:read",
    isIdempotent: false,
    query: AuditQuery,
    reply: { status: 200, description: "A page of audit events.", schema: pageOf("AuditEventPage", AuditEventRecord) },
    problems: [],
    handle: async ({ query, credential }) => {
      const { actor = null, action = null, target = null, limit } = query;
      const filter = { ...idRange(query), actor, action, target };
      const { items, next } = await listAuditEvents(db, credential, filter, limit ?? DEFAULT_LIMIT);
      const records = items.map((row) => auditEventRecord(row, row.hash));
      return jsonResponse(toPage(records, next));
    },
  }),
];
