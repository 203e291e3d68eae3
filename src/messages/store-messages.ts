/** Stores many messages in the transaction of whoever makes them, in the statements that single ones share. */
import type { Tx } from "../storage/database.ts";
import type { MessageAcceptance } from "./acceptance.ts";
import type { ConsentRefusal } from "../consent/refusal.ts";
import { storeAcceptances } from "./accept-statement.ts";

// Past a few hundred rows a statement gets no cheaper per message, and its parameters grow.
const CHUNK = 250;

export type StoredMessages = { stored: MessageAcceptance[]; refused: Map<MessageAcceptance, ConsentRefusal> };

/** None of them has a key of its own. Those whose recipient may not be written to are left out. */
export async function storeMessages(tx: Tx, acceptances: readonly MessageAcceptance[]): Promise<StoredMessages> {
  const stored: MessageAcceptance[] = [];
  const refused = new Map<MessageAcceptance, ConsentRefusal>();
  for (let from = 0; from < acceptances.length; from += CHUNK) {
    const chunk = acceptances.slice(from, from + CHUNK);
    const outcome = await storeAcceptances(tx, chunk);
    chunk.forEach((acceptance, index) => {
      const code = outcome.refused.get(index);
      if (code === undefined) stored.push(acceptance);
      else refused.set(acceptance, code);
    });
  }
  return { stored, refused };
}
