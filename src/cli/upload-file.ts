/** Uploads a local file, or names a URL from which the service fetches it. */
import { open } from "node:fs/promises";
import { basename } from "node:path";
import { groupDigits } from "../lib/group-digits.ts";
import type { ClientConfig } from "./client-config.ts";
import { callRepeatedly, type ApiRequest, type RepeatOptions, type RequestResult, type SourceFile } from "./client.ts";
import { present, UsageError } from "./command.ts";
import { ProgressLine } from "./progress-line.ts";

export type Upload = { source: string; kind: string | undefined; fileName: string | undefined; idempotencyKey: string };

// The service itself fetches for up to 100 seconds.
export const FETCH_MS = 120_000;

export const isUrl = (source: string | undefined): boolean => source !== undefined && /^https?:\/\//i.test(source);

/** Throws a `UsageError` before anything is sent if there is no such file. */
export async function uploadFile(
  client: ClientConfig,
  { source, kind, fileName, idempotencyKey }: Upload,
  options: RepeatOptions,
): Promise<RequestResult> {
  const headers = { "idempotency-key": idempotencyKey };
  if (isUrl(source)) {
    const body = present({ url: source, kind, file_name: fileName });
    return callRepeatedly(client, { method: "POST", path: "/v1/media", body, headers, limitMs: FETCH_MS }, options);
  }
  const bytes = await sizeOf(source);
  const query = new URLSearchParams(present({ kind, file_name: fileName ?? basename(source) }) as Record<string, string>);
  const progress = new ProgressLine();
  const request: ApiRequest = {
    method: "POST",
    path: `/v1/media?${query.toString()}`,
    file: withProgress({ bytes, open: () => piecesOf(source) }, progress),
    headers,
  };
  try {
    return await callRepeatedly(client, request, options);
  } finally {
    progress.end();
  }
}

async function sizeOf(path: string): Promise<number> {
  const file = await open(path).catch((error: NodeJS.ErrnoException) => {
    throw new UsageError(error.code === "ENOENT" ? `there is no file ${path}` : `${path} cannot be read: ${error.message}`);
  });
  try {
    const found = await file.stat();
    if (!found.isFile()) throw new UsageError(`${path} is not a file`);
    return found.size;
  } finally {
    await file.close();
  }
}

/** An error to open the file is one of the iteration. A stream would emit it before it has a reader. */
async function* piecesOf(path: string): AsyncGenerator<Uint8Array> {
  const file = await open(path);
  yield* file.createReadStream() as AsyncIterable<Uint8Array>;
}

/** Reports the progress to a person at a terminal. */
function withProgress(file: SourceFile, progress: ProgressLine): SourceFile {
  if (!process.stderr.isTTY) return file;
  const { bytes } = file;
  return {
    bytes,
    async *open() {
      let sent = 0;
      for await (const piece of file.open()) {
        yield piece;
        sent += piece.length;
        progress.show(() => progressText("uploaded", sent, bytes));
      }
    },
  };
}

/** `bytes` is at least 1. */
export const progressText = (verb: string, done: number, bytes: number): string =>
  `${verb} ${groupDigits(Math.floor(done / 1_000))} of ${groupDigits(Math.ceil(bytes / 1_000))} kB (${Math.floor((100 * done) / bytes)} %)`;
