/** Twilio's Media: the files of a message. */
import type { RouteResponse, StreamResponse } from "../api/route.ts";
import type { Database } from "../database/database.ts";
import type { Media } from "../media/media.ts";
import { findMedia } from "../media/queries.ts";
import type { FileServer } from "../media/serve-file.ts";
import type { MediaStore } from "../media/store.ts";
import { messageRecord, type Message } from "../messages/message.ts";
import { decodeId } from "../model/id.ts";
import { uuidTimeMs } from "../lib/uuid.ts";
import { isoTime } from "../lib/time.ts";
import { PAGING, requireKnown } from "./forms.ts";
import { findOwnMessage } from "./message-routes.ts";
import { filesOfRecord, rfc2822, sidOfRecord } from "./message-resource.ts";
import { readFiles } from "./queries.ts";
import { mediaOfSid, mediaSid } from "./sids.ts";
import { jsonReply, notFound, type TwilioRequest, type TwilioRow } from "./twilio-route.ts";

type MediaParts = { db: Database; media: { store: MediaStore; files: FileServer } };

const MEDIA = "/2010-04-01/Accounts/{AccountSid}/Messages/{MessageSid}/Media";

export const mediaRows = ({ db, media: parts }: MediaParts): TwilioRow[] => [
  {
    method: "GET",
    path: `${MEDIA}.json`,
    operationId: "twilioListMedia",
    scope: "messages:read",
    handle: (request) => listMedia(db, request),
  },
  {
    method: "GET",
    path: `${MEDIA}/{Sid}.json`,
    operationId: "twilioFetchMedia",
    scope: "messages:read",
    handle: async (request) => {
      requireKnown(request.parameters);
      const { message, media } = await findOwnMedia(db, request);
      return jsonReply(mediaResource(media, message, request.accountSid));
    },
  },
  {
    method: "GET",
    path: `${MEDIA}/{Sid}`,
    operationId: "twilioDownloadMedia",
    scope: "media:read",
    handle: async (request): Promise<RouteResponse | StreamResponse> => {
      requireKnown(request.parameters);
      return parts.files.serve((await findOwnMedia(db, request)).media, false);
    },
  },
  {
    method: "DELETE",
    path: `${MEDIA}/{Sid}.json`,
    operationId: "twilioDeleteMedia",
    scope: "media:write",
    handle: async (request) => {
      requireKnown(request.parameters);
      const { media } = await findOwnMedia(db, request);
      if (!(await parts.store.remove(request.write, media.id))) throw notFound(request.path);
      return { status: 204, body: "" };
    },
  },
];

/** A message has at most ten files, so there is one page. */
async function listMedia(db: Database, request: TwilioRequest): Promise<RouteResponse> {
  const { credential, accountSid, parameters, path } = request;
  requireKnown(parameters, PAGING);
  const message = await findOwnMessage(db, request, "MessageSid");
  const media = await readFiles(db, credential, messageRecord(message));
  return jsonReply({
    end: Math.max(0, media.length - 1),
    first_page_uri: `${path}?PageSize=50&Page=0`,
    media_list: media.map((each) => mediaResource(each, message, accountSid)),
    next_page_uri: null,
    page: 0,
    page_size: 50,
    previous_page_uri: null,
    start: 0,
    uri: `${path}?PageSize=50&Page=0`,
  });
}

/** The file of a message. A file that was deleted, or belongs to another message, is unknown. */
async function findOwnMedia(db: Database, request: TwilioRequest): Promise<{ message: Message; media: Media }> {
  const { credential, params, path } = request;
  const message = await findOwnMessage(db, request, "MessageSid");
  const id = mediaOfSid(params["Sid"] ?? "");
  const isOfMessage = filesOfRecord(messageRecord(message)).some(
    ({ media_id: text }) => id !== undefined && decodeId("media", text)?.equals(id) === true,
  );
  const media = id !== undefined && isOfMessage ? await findMedia(db, credential, id) : undefined;
  if (media === undefined) throw notFound(path);
  return { message, media };
}

function mediaResource(media: Media, message: Message, accountSid: string) {
  const parent = sidOfRecord(messageRecord(message));
  const sid = mediaSid(media.id);
  const createdAt = rfc2822(isoTime(uuidTimeMs(media.id)));
  return {
    account_sid: accountSid,
    content_type: media.contentType,
    date_created: createdAt,
    date_updated: createdAt,
    parent_sid: parent,
    sid,
    uri: `/2010-04-01/Accounts/${accountSid}/Messages/${parent}/Media/${sid}.json`,
  };
}
