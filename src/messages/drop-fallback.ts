/** Nothing else needs to be tried for a message. */
import type { MessageId } from "../lib/id.ts";
import { takeFallback } from "./fallback-queries.ts";
import type { Tx } from "../storage/database.ts";

export const dropFallback = async (tx: Tx, messageId: MessageId): Promise<void> => {
  await takeFallback(tx, messageId);
};
