/** The files of an inbound message, in the transaction of the message. They are downloaded after its commit. */
import type { Tx } from "../database/database.ts";
import type { CarriedFile, MediaReference } from "../model/content.ts";
import { encodeId, newId, type MediaId, type MessageId } from "../model/id.ts";
import type { Owner } from "../model/owner.ts";
import type { Announcer } from "../queue/announcer.ts";
import { insertPending } from "./download-queries.ts";

/** A file of an inbound message with its id. */
export type InboundFile = CarriedFile & { id: MediaId };

export const withId = (file: CarriedFile, nowMs: number): InboundFile => ({ ...file, id: newId("media", nowMs) });

export const referenceTo = ({ id, kind, fileName }: InboundFile): MediaReference => ({
  kind,
  media_id: encodeId("media", id),
  file_name: fileName,
});

type Source = { messageId: MessageId; link: string; person: string | null; nowMs: number; keepUntilMs: number };

/** Stores that the files are to be downloaded. */
export async function addPendingMedia(tx: Tx, owner: Owner, files: readonly InboundFile[], source: Source): Promise<void> {
  if (files.length === 0) return;
  const { accountId, environment } = owner;
  const { messageId, link, person, nowMs: dueAtMs, keepUntilMs } = source;
  await insertPending(
    tx,
    files.map(({ id, kind, fileName, carrierFile }) => ({
      accountId,
      environment,
      id,
      kind,
      fileName,
      carrierFile,
      messageId,
      link,
      person,
      dueAtMs,
      keepUntilMs,
    })),
  );
}

/** The lane of announcements of files to download. The group is the account. */
export const MEDIA_LANE = "media-downloads";

/** Wakes the downloads of all nodes. */
export const announceFiles = (announcer: Announcer, { accountId }: Owner, nowMs: number): void =>
  announcer.announceToAll(MEDIA_LANE, { group: accountId.toString("hex"), dueAtMs: nowMs });
