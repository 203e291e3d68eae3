/** How long the queue has been waiting, for those who watch it. */
import type { Uuid } from "../lib/uuid.ts";
import type { Queryable } from "../storage/database.ts";
import { findOldestDue, readLaneDepths, type LaneDepth } from "./queue.ts";
import type { Environment } from "../storage/owner.ts";

/** When the longest waiting of the messages that are due became due; null when none is. */
export async function oldestDue(db: Queryable, accountId: Uuid, environment: Environment): Promise<number | null> {
  const [oldest] = await findOldestDue(db, accountId, environment);
  return oldest?.due_at?.getTime() ?? null;
}

/** How much waits in every lane, and for how long. */
export const laneDepths = (db: Queryable): Promise<LaneDepth[]> => readLaneDepths(db);
