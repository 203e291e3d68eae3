/** Files for tests of media, and uploads as a client makes them. */
import assert from "node:assert/strict";
import { randomBytes, randomUUID } from "node:crypto";
import { Readable } from "node:stream";
import { request } from "undici";
import { assertDeclared } from "./contract.ts";
import { replyOf, type Godwit, type Reply } from "./harness.ts";

export const JPEG = Buffer.from("\xff\xd8\xff\xe0\x00\x10JFIF\x00\x01", "latin1");
export const PNG = Buffer.from("\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR", "latin1");
const PDF = Buffer.from("%PDF-1.7\n%\xe2\xe3\xcf\xd3\n", "latin1");

/** A picture with this many bytes, unlike any other. */
export const picture = (bytes = 1_000): Buffer => Buffer.concat([JPEG, randomBytes(bytes - JPEG.length)]);
/** A document with this many bytes, unlike any other. */
export const pdf = (bytes: number): Buffer => Buffer.concat([PDF, randomBytes(bytes - PDF.length)]);

export type UploadOptions = {
  key: string | undefined;
  query?: Record<string, string>;
  headers?: Record<string, string>;
  idempotencyKey?: string;
  /** Without a declared length. */
  isChunked?: boolean;
};

export async function upload(
  { url }: Pick<Godwit, "url">,
  bytes: Buffer,
  { key, query = {}, headers = {}, idempotencyKey = randomUUID(), isChunked = false }: UploadOptions,
): Promise<Reply> {
  const path = `/v1/media${Object.keys(query).length === 0 ? "" : `?${new URLSearchParams(query).toString()}`}`;
  const all = {
    ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
    "idempotency-key": idempotencyKey,
    "content-type": "application/octet-stream",
    ...headers,
  };
  const body = isChunked ? Readable.from(chunksOf(bytes)) : bytes;
  const response = await request(`${url}${path}`, { method: "POST", headers: all, body });
  const received = new Headers(Object.entries(response.headers).map(([name, value]): [string, string] => [name, String(value)]));
  const reply = replyOf(response.statusCode, received, await response.body.text());
  assertDeclared({ method: "POST", path, headers: all }, reply);
  return reply;
}

async function* chunksOf(bytes: Buffer): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += 65_536) yield bytes.subarray(at, at + 65_536);
}

/** Downloads the bytes of media. */
export async function content(
  { url }: Pick<Godwit, "url">,
  id: string,
  key: string,
): Promise<{ status: number; headers: Headers; bytes: Buffer }> {
  const response = await fetch(`${url}/v1/media/${id}/content`, { headers: { authorization: `Bearer ${key}` } });
  return { status: response.status, headers: response.headers, bytes: Buffer.from(await response.arrayBuffer()) };
}

/** The bytes that count against quotas. Chunks of stored files have as many. */
export async function storedBytes(godwit: Godwit): Promise<number> {
  const [row] = await godwit.rows<{ used: number; stored: number; chunks: number }>(
    `select (select coalesce(sum(bytes), 0)::bigint from media_usage) as used,
            (select coalesce(sum(bytes), 0)::bigint from media_files where state = 'stored') as stored,
            (select coalesce(sum(octet_length(c.bytes)), 0)::bigint
               from media_chunks c join media_files f on f.id = c.file_id where f.state = 'stored') as chunks`,
  );
  assert.equal(row?.used, row?.stored);
  assert.equal(row?.used, row?.chunks);
  return row?.used ?? 0;
}
