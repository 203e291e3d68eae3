/** Adds to a message on its way to a carrier what its content names: the file, and the message that it quotes or reacts to. */
import type { Database } from "../database/database.ts";
import type { MediaLibrary } from "../media/library.ts";
import { quotedCarrierId } from "../messages/find-content.ts";
import type { Message } from "../messages/message.ts";
import { mediaOf, type SentContent, type StructuredContent } from "../model/content.ts";
import { decodeId } from "../model/id.ts";
import type { Outgoing } from "../providers/provider.ts";

type ContentParts = { db: Database; media: MediaLibrary };

/** The content of an outbound message, which only a request defines. */
export const sentContent = ({ content }: { content: StructuredContent | null }): SentContent | null => content as SentContent | null;

/** Undefined if the file was deleted. */
export async function withContent(
  { db, media }: ContentParts,
  outgoing: Outgoing,
  message: Message,
  content: SentContent | null,
): Promise<Outgoing | undefined> {
  const reference = mediaOf(content);
  const id = reference && decodeId("media", reference.media_id);
  const file = id && (await media.outgoing(message, id, message.recipient));
  if (reference !== undefined && file === undefined) return undefined;
  const named = reference === undefined || file === undefined ? undefined : { ...file, fileName: reference.file_name ?? file.fileName };
  return { ...outgoing, content, media: named, quotes: await quotedCarrierId(db, message) };
}
