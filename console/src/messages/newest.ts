/** Chooses between two records of one message. Responses and events can arrive in any order. */
import type { Message } from "godwit-sdk";

/** Returns the newer record. A redaction does not change the sequence, and is final. */
export function newest(known: Message | undefined, other: Message): Message {
  if (known === undefined || known.id !== other.id) return other;
  if (known.sequence !== other.sequence) return known.sequence > other.sequence ? known : other;
  return known.body === null ? known : other;
}
