/** The HTTP routes of media. */
import { DEFAULT_LIMIT, idRange, pageOf, pageQuery, toPage } from "../api/paging.ts";
import { route, toResponse, type Route } from "../api/route.ts";
import type { Credential } from "../access/authenticate.ts";
import type { Database } from "../database/database.ts";
import { jsonResponse } from "../http/json-response.ts";
import { Problem } from "../http/problem.ts";
import { HINT, oneOf, optional, timeParameter, Type } from "../http/schema.ts";
import { MEDIA_KINDS } from "../model/content.ts";
import { decodeId } from "../model/id.ts";
import { FILE_NAME } from "./file-name.ts";
import { MEDIA_SOURCES, MEDIA_STATUSES, MediaRecord, mediaRecord, type Media } from "./media.ts";
import { findMedia, listMedia } from "./queries.ts";
import { MAX_FILE_BYTES } from "./receive-file.ts";
import type { FileServer } from "./serve-file.ts";
import type { MediaStore } from "./store.ts";

const kindField = optional(
  oneOf(MEDIA_KINDS, {
    description: "The kind as which the file is sent. Without it, the usual kind of its type. A file of any type can be a `document`.",
  }),
);
const fileNameField = optional(
  Type.String({
    ...FILE_NAME,
    description: "The name of the file, which the recipient of a document sees.",
    examples: ["offer.pdf"],
  }),
);
const UploadQuery = Type.Object({ kind: kindField, file_name: fileNameField }, { additionalProperties: false });
const FetchBody = Type.Object(
  {
    url: Type.String({
      minLength: 1,
      maxLength: 2_048,
      pattern: "^https?://",
      [HINT]: "must be an https URL",
      examples: ["https://www.example.com/offer.pdf"],
      description: "The URL of the file, which the service fetches.",
    }),
    kind: kindField,
    file_name: fileNameField,
  },
  { additionalProperties: false, title: "FetchedMedia", description: "A file that the service fetches." },
);
const ListQuery = Type.Object(
  {
    ...pageQuery,
    kind: optional(oneOf(MEDIA_KINDS, { description: "Only media of this kind." })),
    source: optional(oneOf(MEDIA_SOURCES, { description: "Only media from this source." })),
    status: optional(oneOf(MEDIA_STATUSES, { description: "Only media with this status." })),
    created_after: timeParameter("Only media that were created after this time."),
    created_before: timeParameter("Only media that were created before this time."),
  },
  { additionalProperties: false },
);
const IdParams = Type.Object({
  id: Type.String({ maxLength: 64, description: "The id of the media.", examples: ["media_01k9zs3v8mf4tb2xg1qj6n0d5c"] }),
});
const Deleted = Type.Object(
  { id: Type.String({ description: "The id of the deleted media." }), object: Type.Literal("media"), deleted: Type.Literal(true) },
  { title: "DeletedMedia", description: "The media were deleted." },
);

const READ = { tag: "Media", scope: "media:read", isIdempotent: false } as const;
const WRITE = { tag: "Media", scope: "media:write" } as const;

const noSuchMedia = (): Problem => new Problem("not_found", { detail: "no such media in this environment" });

async function findOwn(db: Database, credential: Credential, text: string): Promise<Media> {
  const id = decodeId("media", text);
  const media = id && (await findMedia(db, credential, id));
  if (media === undefined) throw noSuchMedia();
  return media;
}

export type MediaRouteParts = { db: Database; store: MediaStore; files: FileServer };

export const mediaRoutes = ({ db, store, files }: MediaRouteParts): Route[] => [
  route({
    ...WRITE,
    method: "POST",
    path: "/v1/media",
    operationId: "createMedia",
    isIdempotent: true,
    summary: "Upload a file",
    description:
      "Stores a file, to send it with messages. The body is the file itself, and its type is found by its content: `Content-Type` is only a hint. A JSON body names a URL instead, from which the service fetches the file. Send an `Idempotency-Key`, so that you can repeat the request safely. See [Media](/docs/media).",
    query: UploadQuery,
    body: FetchBody,
    upload: { maxBytes: MAX_FILE_BYTES },
    reply: { status: 201, description: "The file was stored.", schema: MediaRecord, hasLocation: true },
    problems: ["media_kind_mismatch", "media_fetch_failed", "media_quota_exceeded"],
    handle: async (call) => {
      const { query, upload, body } = call;
      const named = { fileName: query.file_name ?? null, kind: query.kind ?? undefined };
      if (upload !== undefined) {
        const { pieces, contentType = "" } = upload;
        return toResponse(await store.upload(call, pieces, { ...named, contentType }));
      }
      const { url, kind, file_name: fileName } = body;
      return toResponse(await store.uploadFrom(call, url, { kind: kind ?? named.kind, fileName: fileName ?? named.fileName }));
    },
  }),
  route({
    ...READ,
    method: "GET",
    path: "/v1/media",
    operationId: "listMedia",
    weight: "heavy",
    summary: "List media",
    description:
      "Returns the files of the environment, uploaded, fetched and received, newest first. Filters can be combined. See [Media](/docs/media).",
    query: ListQuery,
    reply: { status: 200, description: "A page of media.", schema: pageOf("MediaPage", MediaRecord) },
    problems: [],
    handle: async ({ query, credential }) => {
      const { kind = null, source = null, status = null } = query;
      const { items, next } = await listMedia(db, credential, { ...idRange(query), kind, source, status }, query.limit ?? DEFAULT_LIMIT);
      return jsonResponse(toPage(items.map(mediaRecord), next));
    },
  }),
  route({
    ...READ,
    method: "GET",
    path: "/v1/media/{id}",
    operationId: "getMedia",
    summary: "Retrieve media",
    description: "Returns what is known of a file: its type, its size and its source. See [Media](/docs/media).",
    params: IdParams,
    reply: { status: 200, description: "The media.", schema: MediaRecord },
    problems: ["not_found"],
    handle: async ({ params, credential }) => jsonResponse(mediaRecord(await findOwn(db, credential, params.id))),
  }),
  route({
    ...READ,
    method: "GET",
    path: "/v1/media/{id}/content",
    operationId: "getMediaContent",
    summary: "Download a file",
    description:
      "Returns the bytes of a file. A picture, recording or video has its type; documents come as a download. Texts of any kind, such as HTML and SVG, come as plain text. See [Media](/docs/media).",
    params: IdParams,
    reply: { status: 200, description: "The bytes of the file.", schema: Type.String({ format: "binary" }), contentType: "*/*" },
    problems: ["not_found", "media_not_ready"],
    handle: async ({ params, credential }) => files.serve(await findOwn(db, credential, params.id), true),
  }),
  route({
    ...WRITE,
    method: "DELETE",
    path: "/v1/media/{id}",
    operationId: "deleteMedia",
    isIdempotent: false,
    summary: "Delete media",
    description:
      "Deletes a file. Messages that were sent with it keep its id, and messages that are still to be sent with it fail. See [Media](/docs/media).",
    params: IdParams,
    reply: { status: 200, description: "The media were deleted.", schema: Deleted },
    problems: ["not_found"],
    handle: async (call) => {
      const id = decodeId("media", call.params.id);
      if (id === undefined || !(await store.remove(call, id))) throw noSuchMedia();
      return jsonResponse({ id: call.params.id, object: "media", deleted: true });
    },
  }),
];
