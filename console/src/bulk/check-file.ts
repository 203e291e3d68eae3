/** Checks every row of a file, and asks the service to validate a few messages. */
import type { Godwit, NewMessage } from "godwit-sdk";
import { MAX_GROUP_ROWS, sendIdOf } from "../../../src/bulk/groups.ts";
import { BulkPreview } from "../../../src/bulk/preview.ts";
import { readBulkRows } from "../../../src/bulk/read-rows.ts";
import type { BulkSettings } from "../../../src/bulk/rows.ts";
import { validateSamples, type Sample } from "../../../src/bulk/samples.ts";
import { fileBytes, FileHash } from "./file-bytes.ts";

export type Check = {
  preview: BulkPreview;
  samples: readonly Sample[];
  settings: BulkSettings;
  /** The rows that the quota permits in one batch. */
  batchRows: number;
};

type CheckRequest = {
  api: Godwit;
  file: File;
  settings: Omit<BulkSettings, "sendId">;
  sendId: string;
  signal: AbortSignal;
  onProgress: (rows: number, share: number) => void;
};

// A batch costs a request of the quota for every fifty items.
const ITEMS_PER_REQUEST = 50;
// A screen shows so many pictures in a second.
const SHOWN_MS = 100;

export async function checkFile({ api, file, settings: fields, sendId, signal, onProgress }: CheckRequest): Promise<Check> {
  const preview = new BulkPreview();
  const hash = new FileHash();
  let [readBytes, shownAt] = [0, 0];
  const bytes = fileBytes(file, async (part) => {
    signal.throwIfAborted();
    readBytes += part.length;
    await hash.add(part);
  });
  for await (const rows of readBulkRows(bytes, { ...fields, sendId: "" })) {
    for (const row of rows) preview.add(row);
    if (performance.now() - shownAt < SHOWN_MS) continue;
    shownAt = performance.now();
    onProgress(preview.rows, readBytes / file.size);
  }
  const settings = { ...fields, sendId: sendId.trim() === "" ? await sendIdOf(hash.hex, fields) : sendId.trim() };
  const samples = await validateSamples(preview, settings, (message) => api.messages.validate(message as NewMessage, { signal }));
  const { rateLimit } = await api.credential.get({ signal }).withResponse();
  const burst = rateLimit?.quota ?? null;
  return { preview, samples, settings, batchRows: burst === null ? MAX_GROUP_ROWS : Math.min(MAX_GROUP_ROWS, burst * ITEMS_PER_REQUEST) };
}
