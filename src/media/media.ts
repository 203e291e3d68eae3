/** Media: a file as an account sees it. Its record in the API, and the schema of the record. The bytes belong to a stored file, which several media of an
 *  account share. */
import { createdByField, environmentField, nullable, openEnum, timestamp, Type, type Static } from "../http/schema.ts";
import { isoTime } from "../lib/time.ts";
import { uuidTimeMs, type Uuid } from "../lib/uuid.ts";
import { MEDIA_KINDS, type MediaKind } from "../model/content.ts";
import { encodeId, type MediaId, type MessageId } from "../model/id.ts";
import type { Owner } from "../model/owner.ts";

export const MEDIA_STATUSES = ["pending", "ready", "failed"] as const;
export const MEDIA_SOURCES = ["upload", "url", "inbound"] as const;

export type Media = Owner & {
  id: MediaId;
  status: (typeof MEDIA_STATUSES)[number];
  /** The stored file. Null until an inbound file is downloaded. */
  fileId: Uuid | null;
  kind: MediaKind;
  contentType: string | null;
  bytes: number | null;
  sha256: Buffer | null;
  fileName: string | null;
  source: (typeof MEDIA_SOURCES)[number];
  /** The message that brought an inbound file. */
  messageId: MessageId | null;
  /** Why an inbound file could not be downloaded. */
  error: string | null;
  keepUntilMs: number;
  createdBy: string | null;
};

/** Media whose file is stored. */
export type ReadyMedia = Media & { status: "ready"; fileId: Uuid; contentType: string; bytes: number; sha256: Buffer };

export const isReady = (media: Media): media is ReadyMedia => media.status === "ready";

export const MediaRecord = Type.Object(
  {
    id: Type.String({ examples: ["media_01k9zs3v8mf4tb2xg1qj6n0d5c"], description: "The id of the media." }),
    object: Type.Literal("media"),
    environment: environmentField,
    status: openEnum(
      MEDIA_STATUSES,
      "`ready`: the file can be read and sent. An inbound file is `pending` until it is downloaded from the carrier.",
    ),
    kind: openEnum(MEDIA_KINDS, "What the file is, by its content."),
    content_type: nullable(Type.String({ examples: ["image/jpeg"], description: "The media type, by the content of the file." })),
    bytes: nullable(Type.Integer({ description: "The size in bytes." })),
    sha256: nullable(Type.String({ description: "The SHA-256 of the file in hexadecimal digits." })),
    file_name: nullable(Type.String({ description: "The name of the file, if it has one." })),
    source: openEnum(MEDIA_SOURCES, "Where the file comes from."),
    message_id: nullable(Type.String({ description: "The message that brought an inbound file." })),
    error: nullable(Type.String({ description: "Why an inbound file could not be downloaded." })),
    created_at: timestamp("The time at which the media were created."),
    expires_at: timestamp("The time at which the file is deleted. Each use of the media moves it."),
    created_by: createdByField,
  },
  { title: "Media", description: "A picture, recording, video, document or sticker, to send or received." },
);
export type MediaRecord = Static<typeof MediaRecord>;

export const mediaRecord = (media: Media): MediaRecord => ({
  id: encodeId("media", media.id),
  object: "media",
  environment: media.environment,
  status: media.status,
  kind: media.kind,
  content_type: media.contentType,
  bytes: media.bytes,
  sha256: media.sha256 && media.sha256.toString("hex"),
  file_name: media.fileName,
  source: media.source,
  message_id: media.messageId && encodeId("msg", media.messageId),
  error: media.error,
  created_at: isoTime(uuidTimeMs(media.id)),
  expires_at: isoTime(media.keepUntilMs),
  created_by: media.createdBy,
});
