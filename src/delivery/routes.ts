/** The HTTP routes of delivery: the depth of the queue. */
import type { Credential } from "../access/authenticate.ts";
import { route, type Route } from "../api/route.ts";
import { environmentField, nullable, timestamp, Type, type Static } from "../http/schema.ts";
import { isoTime } from "../lib/time.ts";
import type { Clock } from "../database/database-clock.ts";
import type { Database } from "../database/database.ts";
import { readDepth } from "../usage/queries.ts";
import { oldestDue } from "./queue.ts";

const Queue = Type.Object(
  {
    object: Type.Literal("queue"),
    environment: environmentField,
    scheduled: Type.Integer({ description: "Messages that wait for their `send_at`." }),
    queued: Type.Integer({ description: "Messages that wait to be submitted to a carrier." }),
    sending: Type.Integer({ description: "Messages that are being submitted to a carrier." }),
    oldest_due_at: nullable(timestamp("The time at which the oldest queued message became due. Null when none is due.")),
    oldest_due_seconds: Type.Integer({ minimum: 0, description: "The seconds since `oldest_due_at`; 0 when no message is due." }),
  },
  { title: "Queue", description: "The messages that wait or are being sent." },
);

export const queueRoutes = (db: Database, clock: Clock): Route[] => [
  route({
    method: "GET",
    path: "/v1/queue",
    operationId: "getQueue",
    weight: "heavy",
    summary: "Retrieve the depth of the queue",
    description:
      "Returns how many messages of this environment are waiting or being sent, and how long the oldest one has been due. Use it to see whether messages are delayed. See [Usage](/docs/usage#get-v1queue).",
    tag: "Usage",
    scope: "usage:read",
    isIdempotent: false,
    reply: { status: 200, description: "The depth of the queue.", schema: Queue },
    problems: [],
    handle: async ({ credential }) => ({ status: 200, body: JSON.stringify(await depth(db, credential, clock)) }),
  }),
];

async function depth(db: Database, { accountId, environment }: Credential, clock: Clock): Promise<Static<typeof Queue>> {
  const [counts, dueAtMs] = await Promise.all([readDepth(db, accountId, environment), oldestDue(db, accountId, environment)]);
  return {
    object: "queue",
    environment,
    scheduled: counts.scheduled,
    queued: counts.queued,
    sending: counts.sending,
    oldest_due_at: dueAtMs === null ? null : isoTime(dueAtMs),
    oldest_due_seconds: dueAtMs === null ? 0 : Math.max(0, Math.floor((clock.now() - dueAtMs) / 1_000)),
  };
}
