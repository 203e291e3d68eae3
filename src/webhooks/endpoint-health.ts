/** How the endpoints of all accounts are doing, for the operator. */
import { encodeId } from "../lib/id.ts";
import type { Queryable } from "../storage/database.ts";
import { countHealth, listEnabled, type EndpointHealth } from "./endpoint-queries.ts";

export type { EndpointHealth };

export async function readEndpointHealth(db: Queryable): Promise<EndpointHealth> {
  const [health] = await countHealth(db);
  return health ?? { enabled: 0, failing: 0, gone: 0, given_up: 0 };
}

/** Where endpoints are, an origin once, with the id of one that is there. What comes after the origin may be a secret of its owner. */
export async function listOrigins(db: Queryable, most: number): Promise<{ id: string; origin: string }[]> {
  const origins = new Map<string, { id: string; origin: string }>();
  for (const { id, url } of await listEnabled(db, most)) {
    const { origin } = new URL(url);
    if (!origins.has(origin)) origins.set(origin, { id: encodeId("whe", id), origin });
  }
  return [...origins.values()];
}
