/** The HTTP routes of delivery: the depth of the queue. */
import type { Credential } from "../access/authenticate.ts";
import { route, type Route } from "../api/route.ts";
import { nullable, openEnum, timestamp, Type, type Static } from "../http/schema.ts";
import { isoTime } from "../lib/time.ts";
import type { Clock } from "../storage/database-clock.ts";
import type { Database } from "../storage/database.ts";
import { readDepth } from "../usage/queries.ts";
import { oldestDue } from "./queue.ts";

const Queue = Type.Object(
  {
    object: Type.Literal("queue"),
    environment: openEnum(["test", "live"]),
    scheduled: Type.Integer({ description: "Messages that wait for their `send_at`." }),
    queued: Type.Integer({ description: "Messages that wait to be handed to a carrier." }),
    sending: Type.Integer({ description: "Messages that are being handed to a carrier." }),
    oldest_due_at: nullable(timestamp("Since when the longest waiting queued message could have been sent. Null when none waits.")),
    oldest_due_seconds: Type.Integer({ minimum: 0, description: "The same in seconds until now; 0 when none waits." }),
  },
  { title: "Queue", description: "What is under way." },
);

export const queueRoutes = (db: Database, clock: Clock): Route[] => [
  route({
    method: "GET",
    path: "/v1/queue",
    weight: "heavy",
    summary: "Read the queue's depth",
    description: "How many messages of this environment are under way, and how long the oldest that is due has been waiting.",
    tag: "Usage",
    scope: "usage:read",
    isIdempotent: false,
    reply: { status: 200, description: "The depth.", schema: Queue },
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
