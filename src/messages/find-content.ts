/** Finds what the content of a request names: the files of the media store, and the earlier message that the message quotes or reacts to. */
import { Problem, type Fault } from "../http/problem.ts";
import { fileFault } from "../links/content-support.ts";
import type { Channel } from "../links/channel.ts";
import type { MediaLibrary } from "../media/library.ts";
import type { MediaReference } from "../model/content.ts";
import { decodeId, encodeId } from "../model/id.ts";
import type { Owner } from "../model/owner.ts";
import type { Recipient } from "../model/phone-number.ts";
import type { Database } from "../database/database.ts";
import type { Message } from "./message.ts";
import type { NewContent, NewFile } from "./new-content.ts";
import { findMessage } from "./queries.ts";
import { filesOf } from "./stored-content.ts";

/** A file of a request. `stored` is undefined for a file behind a URL that has not been fetched. */
export type FoundFile = { reference: MediaReference; stored: { contentType: string; bytes: number } | undefined };
export type Files = ReadonlyMap<NewFile, FoundFile | Fault>;

type ContentStep = { channel: Channel; content?: NewContent | null; fallback?: readonly ContentStep[] | null };

type Sought = { file: NewFile; channel: Channel; pointer: string };

function soughtIn(request: ContentStep, pointer = ""): Sought[] {
  const own = request.content ? filesOf(request.content) : [];
  const { channel } = request;
  return [
    ...own.map(({ file, pointer: place }) => ({ file, channel, pointer: `${pointer}/content${place}` })),
    ...(request.fallback ?? []).flatMap((step, index) => soughtIn(step, `/fallback/${index}`)),
  ];
}

export const NO_FILES: Files = new Map();
// The reference of a file that is not fetched. No message is stored with it.
const NOT_FETCHED = "";

/** Finds the files of a request and of its fallback steps. `mayFetch`: files behind URLs are fetched. */
export async function findFiles(
  library: MediaLibrary,
  owner: Owner,
  { request, mayFetch }: { request: ContentStep; mayFetch: boolean },
): Promise<Files> {
  const sought = soughtIn(request);
  if (sought.length === 0) return NO_FILES;
  // The same URL in several steps is fetched once.
  const fetched = new Map<string, ReturnType<MediaLibrary["fetch"]>>();
  const find = async ({ file, channel, pointer }: Sought): Promise<FoundFile | Fault> => {
    const { kind, media_id: id, url, file_name: name = null } = file;
    const reference = (mediaId: string, fileName: string | null): MediaReference => ({
      kind,
      media_id: mediaId,
      file_name: name ?? fileName,
    });
    if (typeof url === "string" && !mayFetch) return { reference: reference(NOT_FETCHED, null), stored: undefined };
    if (typeof url === "string" && !fetched.has(url)) fetched.set(url, library.fetch(owner, url, name));
    const found = typeof url === "string" ? await fetched.get(url) : await findById(library, owner, id);
    const place = `${pointer}/${typeof url === "string" ? "url" : "media_id"}`;
    if (found === undefined) return { pointer: place, code: "not_found", detail: "is no ready file of this environment" };
    if (found instanceof Problem) return { pointer: place, code: found.code, detail: found.detail };
    const refused = fileFault(channel, kind, found);
    if (refused !== undefined)
      return { pointer: place, code: "not_supported", detail: `cannot be sent on ${channel}: the file ${refused}` };
    return { reference: reference(encodeId("media", found.id), found.fileName), stored: found };
  };
  return new Map(await Promise.all(sought.map(async (each) => [each.file, await find(each)] as const)));
}

/** The faults of URLs that are never fetched. */
export const refusedUrls = (library: MediaLibrary, request: ContentStep): Fault[] =>
  soughtIn(request).flatMap(({ file: { url }, pointer }) => {
    const refused = typeof url === "string" ? library.fetchRefusal(url) : undefined;
    return refused === undefined ? [] : [{ pointer: `${pointer}/url`, code: refused.code, detail: refused.detail }];
  });

function findById(library: MediaLibrary, owner: Owner, text: string | null | undefined) {
  const id = typeof text === "string" ? decodeId("media", text) : undefined;
  return id && library.find(owner, id);
}

/** Keeps the files of a message until it can no longer be sent. Returns a fault if one was deleted since it was found. */
export async function keepFiles(library: MediaLibrary, owner: Owner, files: Files, lastMs: number): Promise<Fault | undefined> {
  for (const file of files.values()) {
    const id = "reference" in file ? decodeId("media", file.reference.media_id) : undefined;
    if (id !== undefined && !(await library.keep(owner, id, lastMs)))
      return { pointer: "/content", code: "not_found", detail: "names a file that was deleted at the same time" };
  }
  return undefined;
}

/** Whether a file of the request was not fetched yet. */
export const hasUnfetched = (files: Files): boolean =>
  files.size > 0 && [...files.values()].some((file) => "reference" in file && file.stored === undefined);

/** An earlier message of the conversation, by which a message finds its number and its place. */
export type Quoted = { message: Message; number: string | null };

type Quoting = { recipient: Recipient; channel: Channel; sender?: string | null; reply_to?: string | null; content?: NewContent | null };

const quotedId = ({ reply_to: replyTo, content }: Quoting): { text: string; pointer: string } | undefined => {
  if (content?.type === "reaction") return { text: content.message_id, pointer: "/content/message_id" };
  return typeof replyTo === "string" ? { text: replyTo, pointer: "/reply_to" } : undefined;
};

/** The carrier's id of the message that a message quotes, reacts to, or replies to automatically. */
export async function quotedCarrierId(db: Database, { accountId, environment, inReplyTo }: Message): Promise<string | undefined> {
  if (inReplyTo === null) return undefined;
  return (await findMessage(db, accountId, environment, inReplyTo))?.provider?.messageId ?? undefined;
}

/** The message that a request quotes or reacts to; a fault if that is not possible. */
export async function findQuoted(db: Database, { accountId, environment }: Owner, request: Quoting): Promise<Quoted | Fault | undefined> {
  const quoting = quotedId(request);
  if (quoting === undefined) return undefined;
  const { text, pointer } = quoting;
  const id = decodeId("msg", text);
  const message = id && (await findMessage(db, accountId, environment, id));
  if (message === undefined) return { pointer, code: "not_found", detail: "is no message of this environment" };
  const isInbound = message.direction === "inbound";
  const person = isInbound ? message.sender : message.recipient;
  if (person !== request.recipient || message.channel !== request.channel)
    return { pointer, code: "conflict", detail: "is a message of another conversation" };
  if ((message.provider?.messageId ?? null) === null)
    return { pointer, code: "conflict", detail: "has not been accepted by its carrier yet" };
  const number = isInbound ? message.recipient : message.sender;
  if (typeof request.sender === "string" && number !== null && request.sender !== number)
    return { pointer: "/sender", code: "conflict", detail: `must be ${number}, the number of the conversation with the quoted message` };
  return { message, number };
}
