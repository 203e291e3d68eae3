/** Whether a message may be sent to its recipient now. */
import type { Queryable } from "../storage/database.ts";
import { lookForRefusal } from "./queries.ts";
import type { Pair } from "./suppression.ts";

export type Refusal = "recipient_opted_out" | "service_window_closed";

/** Free text on whatsapp needs a window that is open, or of which nothing is known; the recipient's own word comes first. */
export async function findRefusal(db: Queryable, message: Pair & { isFreeWhatsApp: boolean }): Promise<Refusal | undefined> {
  const [found] = await lookForRefusal(db, message, message.isFreeWhatsApp);
  if (found?.is_suppressed === true) return "recipient_opted_out";
  return found?.is_closed === true ? "service_window_closed" : undefined;
}
