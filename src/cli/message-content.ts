/** The content of a message from the flags of godwit send. A file of this machine is uploaded first. */
import { readFile } from "node:fs/promises";
import { keyFrom } from "../bulk/groups.ts";
import type { Flags } from "../config.ts";
import type { MediaRecord } from "../media/media.ts";
import type { ClientConfig } from "./client-config.ts";
import { callRepeatedly, type RepeatOptions, type RequestResult } from "./client.ts";
import { present, textFlag, UsageError } from "./command.ts";
import { isUrl, uploadFile } from "./upload-file.ts";

const CONTENT_FLAGS = ["body", "template", "media", "content"];
/** The flags that only a file can have. */
const MEDIA_FLAGS = ["caption", "kind", "file-name"];

export const isMediaFlag = (flag: string): boolean => MEDIA_FLAGS.includes(flag);

/** The flags of one message that have no meaning for the rows of a file. */
export const NOT_FOR_ROWS: readonly string[] = ["media", "content", ...MEDIA_FLAGS, "reply-to"];

const MEDIA_ID = /^media_[0-9a-z]{26}$/;
const MAX_CONTENT_BYTES = 65_536;

export function checkContentFlags(flags: Flags): void {
  const given = CONTENT_FLAGS.filter((flag) => flags[flag] !== undefined);
  if (given.length === 0) throw new UsageError("--body, --template, --media or --content is required");
  const hint = given.includes("body") && given.includes("media") ? "; the text of a file is its --caption" : "";
  if (given.length > 1) throw new UsageError(`${given.map((flag) => `--${flag}`).join(" and ")} exclude each other${hint}`);
  const alone = MEDIA_FLAGS.find((flag) => flags[flag] !== undefined);
  const media = textFlag(flags, "media");
  if (alone !== undefined && media === undefined) throw new UsageError(`--${alone} needs --media`);
  if (media !== undefined && isUrl(media) && flags["kind"] === undefined)
    throw new UsageError("--kind is required with a URL: it decides how the file is shown");
}

/** The content; undefined if the flags have none. `failed`: the request for its file was refused, or had no response. */
type ReadContent = { content: object | undefined } | { failed: RequestResult };

type Sending = { client: ClientConfig; idempotencyKey: string; options: RepeatOptions };

export async function readContent(flags: Flags, sending: Sending): Promise<ReadContent> {
  const [media, content] = [textFlag(flags, "media"), textFlag(flags, "content")];
  if (media !== undefined) return readMedia(media, flags, sending);
  return { content: content === undefined ? undefined : await parseContent(content) };
}

async function parseContent(text: string): Promise<object> {
  const path = text.startsWith("@") ? text.slice(1) : undefined;
  const json = path === undefined ? text : await readShort(path);
  try {
    const value: unknown = JSON.parse(json);
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return value;
  } catch (error) {
    throw new UsageError(`--content is not JSON: ${(error as Error).message}`);
  }
  throw new UsageError('--content must be an object, such as {"type": "location", "latitude": 47.37, "longitude": 8.54}');
}

async function readShort(path: string): Promise<string> {
  const text = await readFile(path, "utf8").catch((error: Error) => {
    throw new UsageError(`--content: ${error.message}`);
  });
  if (text.length > MAX_CONTENT_BYTES) throw new UsageError(`--content: ${path} is longer than any content`);
  return text;
}

async function readMedia(source: string, flags: Flags, { client, idempotencyKey, options }: Sending): Promise<ReadContent> {
  const [kind, fileName, caption] = [textFlag(flags, "kind"), textFlag(flags, "file-name"), textFlag(flags, "caption")];
  const content = (fields: object): ReadContent => ({ content: present({ type: "media", caption, ...fields }) });
  if (isUrl(source)) return content({ kind, url: source, file_name: fileName });
  const isUpload = !MEDIA_ID.test(source);
  if (!isUpload && kind !== undefined) return content({ kind, media_id: source, file_name: fileName });
  const outcome = isUpload
    ? // The same for a repeated command, so that its message names the same file.
      await uploadFile(client, { source, kind, fileName, idempotencyKey: await keyFrom(["godwit send --media", idempotencyKey]) }, options)
    : await callRepeatedly(client, { method: "GET", path: `/v1/media/${source}` }, options);
  if (outcome.kind === "unknown") return { failed: { kind: "unreachable", reason: outcome.reason } };
  if (outcome.kind !== "response" || outcome.status !== (isUpload ? 201 : 200)) return { failed: outcome };
  const media = outcome.json as MediaRecord;
  return content({ kind: media.kind, media_id: media.id, file_name: isUpload ? undefined : fileName });
}
