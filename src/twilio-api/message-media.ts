/** Fetches the file of a message before the message is accepted, because the type of the file decides how it is sent. */
import { Problem } from "../http/problem.ts";
import type { MediaLibrary } from "../media/library.ts";
import type { NewMessage } from "../messages/new-message.ts";
import { encodeId } from "../model/id.ts";
import type { Owner } from "../model/owner.ts";
import { twilioProblem } from "./errors.ts";
import type { TwilioMessage } from "./new-message.ts";

// The limit of WhatsApp. An MMS has the limit of a text.
const MAX_CAPTION = 1_024;

/** Adds the file to a request. Undefined for a message without one. */
export function addingFile(
  media: MediaLibrary,
  owner: Owner,
  { mediaUrl }: TwilioMessage,
): ((request: NewMessage) => Promise<NewMessage>) | undefined {
  if (mediaUrl === undefined) return undefined;
  return async ({ body, ...request }) => {
    if (request.channel === "whatsapp" && (body?.length ?? 0) > MAX_CAPTION)
      throw twilioProblem(21617, `The text of a message with media exceeds the ${MAX_CAPTION} character limit`);
    const file = await media.fetch(owner, mediaUrl, null);
    if (file instanceof Problem) throw file;
    return { ...request, content: { type: "media", kind: file.kind, media_id: encodeId("media", file.id), caption: body ?? null } };
  };
}
