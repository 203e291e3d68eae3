/** godwit media: uploads, lists, downloads and deletes files of the media store. */
import { randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import { MEDIA_KINDS } from "../model/content.ts";
import { MEDIA_SOURCES, MEDIA_STATUSES, type MediaRecord } from "../media/media.ts";
import { StartupError } from "../database/startup-error.ts";
import { readClientConfig } from "./client-config.ts";
import { callRepeatedly, expectSuccess, type ApiRequest, type Caller } from "./client.ts";
import { interruption, readDuration, textFlag, UsageError, type Command, type Input } from "./command.ts";
import { downloadFile, downloadToOutput } from "./download-file.ts";
import { listQuery, MAX_LIMIT, printPage, type PrintedPage } from "./list-page.ts";
import { print } from "./output.ts";
import { uploadFile } from "./upload-file.ts";

const DEFAULT_LIMIT_SECONDS = 900;
const MEDIA_ID = /^media_[0-9a-z]{26}$/;

export const media: Command = {
  name: "media",
  about: [
    "Uploads files for messages, and downloads those that people send. Needs the scopes media:read and media:write.",
    "download writes to the current folder, under the name of the file, and does not overwrite a file.",
  ],
  usage: [
    "media upload FILE|URL [--kind KIND] [--file-name NAME] [--idempotency-key UUID] [--timeout TIME]",
    "media list [--kind KIND] [--source SOURCE] [--status STATUS] [--since TIME] [--limit NUMBER]",
    "media get ID",
    "media download ID [--output FILE] [--timeout TIME]",
    "media delete ID",
  ],
  flags: {
    kind: { value: "KIND", choices: MEDIA_KINDS, help: "how the file is sent; of list: only this kind" },
    "file-name": { value: "NAME", help: "name of a document for its recipient; without it, that of the file" },
    "idempotency-key": { value: "UUID", help: "the same file with the same key is stored once" },
    source: { value: "SOURCE", choices: MEDIA_SOURCES, help: "only from this source" },
    status: { value: "STATUS", choices: MEDIA_STATUSES, help: "only with this status" },
    since: { value: "TIME", help: "newer than this, such as 24h" },
    limit: { value: "NUMBER", fallback: "25", help: `how many; at most ${MAX_LIMIT}` },
    output: { value: "FILE", help: "file to write; - is standard output" },
    timeout: { value: "TIME", fallback: "15m", help: "time limit" },
  },
  settings: "client",
  hasTables: true,
  examples: [
    ["Upload a document, and print its id:", "godwit media upload offer.pdf --json | jq -r .id"],
    ["The files that people have sent today:", "godwit media list --source inbound --since 24h"],
    ["Download one:", "godwit media download media_01k9zs3v8mf4tb2xg1qj6n0d5c --output photo.jpg"],
  ],
  async run(input) {
    const [verb = ""] = input.words;
    return VERBS[verb]?.(input);
  },
};

type Verb = (input: Input) => Promise<void>;

function caller(input: Input): Caller {
  const client = readClientConfig(input.flags);
  const limitMs = (readDuration(input, "timeout") ?? DEFAULT_LIMIT_SECONDS) * 1_000;
  const signal = AbortSignal.any([interruption(), AbortSignal.timeout(limitMs)]);
  const deadline = performance.now() + limitMs;
  return { client, repeat: () => ({ signal, deadline }) };
}

async function call({ flags }: Input, { client, repeat }: Caller, request: ApiRequest): Promise<unknown> {
  return expectSuccess(await callRepeatedly(client, request, repeat()), client, flags).json;
}

const read = async (input: Input, by: Caller): Promise<MediaRecord> =>
  (await call(input, by, { method: "GET", path: `/v1/media/${idOf(input)}` })) as MediaRecord;

const idOf = ({ words: [, id = ""] }: Input): string => {
  if (!MEDIA_ID.test(id)) throw new UsageError("name the media by their complete id, media_…, as godwit media list shows it");
  return id;
};

const upload: Verb = async (input) => {
  const { flags, words } = input;
  const [, source = ""] = words;
  if (source === "") throw new UsageError("name the file, or its URL");
  const { client, repeat } = caller(input);
  const idempotencyKey = textFlag(flags, "idempotency-key") ?? randomUUID();
  const named = { source, kind: textFlag(flags, "kind"), fileName: textFlag(flags, "file-name"), idempotencyKey };
  print(flags, expectSuccess(await uploadFile(client, named, repeat()), client, flags).json ?? {});
};

const list: Verb = async (input) => {
  const { flags } = input;
  const query = listQuery(input, { kind: "kind", source: "source", status: "status" });
  const page = (await call(input, caller(input), { method: "GET", path: `/v1/media?${query.toString()}` })) as PrintedPage<MediaRecord>;
  printPage(flags, page, toLine);
};

const toLine = ({ created_at, id, status, kind, content_type, bytes, file_name, source, message_id, error }: MediaRecord) => ({
  created_at,
  id,
  status,
  kind,
  content_type,
  bytes,
  file_name,
  source,
  message_id,
  error,
});

const get: Verb = async (input) => print(input.flags, await read(input, caller(input)));

const download: Verb = async (input) => {
  const { flags } = input;
  const { client, repeat } = caller(input);
  const record = await read(input, { client, repeat });
  const { id, status, content_type: contentType, bytes } = record;
  if (status !== "ready") throw new StartupError(`the file is ${status}${record.error === null ? "" : `: ${record.error}`}`);
  const path = textFlag(flags, "output") ?? localName(record);
  if (path === "-") {
    expectSuccess(await downloadToOutput(client, record, repeat()), client, flags);
    return;
  }
  if (existsSync(path)) throw new UsageError(`${path} exists: --output names another file`);
  expectSuccess(await downloadFile(client, record, path, repeat()), client, flags);
  print(flags, { id, file: path, content_type: contentType, bytes });
};

// A person may have chosen the name: it must name no other folder and no hidden file, and be the same on every system.
const UNSAFE = /[^\p{L}\p{N}._ -]/gu;

const localName = ({ id, file_name: name }: MediaRecord): string => (name ?? "").replaceAll(UNSAFE, "_").replace(/^[. ]+/, "") || id;

const remove: Verb = async (input) => {
  const id = idOf(input);
  print(input.flags, (await call(input, caller(input), { method: "DELETE", path: `/v1/media/${id}` })) as object);
};

const VERBS: Readonly<Record<string, Verb>> = { upload, list, get, download, delete: remove };
