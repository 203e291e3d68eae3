/** Deletes what the service has learnt about a link that no longer exists: the form of ids in its receipts, and its position in reports. */
import type { Tx } from "../database/database.ts";
import { deleteLearnt } from "./queries.ts";

export const forgetLink = (tx: Tx, link: string): Promise<void> => deleteLearnt(tx, link);
