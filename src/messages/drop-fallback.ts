/** Nothing else needs to be tried for a message. */
import { takeFallback } from "./fallback-queries.ts";
import type { Uuid } from "../lib/uuid.ts";
import type { Tx } from "../storage/database.ts";

export const dropFallback = async (tx: Tx, messageId: Uuid): Promise<void> => {
  await takeFallback(tx, messageId);
};
