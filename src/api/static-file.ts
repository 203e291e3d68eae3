/** Responses whose bytes never change while the process runs: compressed once, and not sent again to a client that has them. */
import { hash } from "node:crypto";
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import type { PageResponse } from "./page.ts";

export type StaticFile = { plain: Buffer; zipped: Buffer; tag: string };

export const toStaticFile = async (plain: Buffer): Promise<StaticFile> => ({
  plain,
  zipped: await promisify(gzip)(plain, { level: 9 }),
  tag: hash("sha256", plain, "hex").slice(0, 32),
});

/** Responds with the compressed bytes where the client accepts them, and with 304 where it has them. */
export function staticResponse(
  { plain, zipped, tag }: StaticFile,
  contentType: string,
  requestHeaders: Readonly<Record<string, string>>,
  headers: Record<string, string>,
): PageResponse {
  const isZipped = /\bgzip\b(?!\s*;\s*q=0(?:\.0*)?\s*(?:,|$))/i.test(requestHeaders["accept-encoding"] ?? "");
  const etag = `"${tag}${isZipped ? "-gzip" : ""}"`;
  const always = { ...headers, etag, vary: "accept-encoding" };
  if ((requestHeaders["if-none-match"] ?? "").includes(etag)) return { status: 304, contentType, body: "", headers: always };
  return {
    status: 200,
    contentType,
    body: isZipped ? zipped : plain,
    headers: isZipped ? { ...always, "content-encoding": "gzip" } : always,
  };
}

/** Makes a file once, at its first request. */
export function staticPage(contentType: string, write: () => string, headers: Record<string, string> = {}) {
  let file: Promise<StaticFile> | undefined;
  return async (request: { headers: Readonly<Record<string, string>> }): Promise<PageResponse> => {
    file ??= toStaticFile(Buffer.from(write()));
    return staticResponse(await file, contentType, request.headers, headers);
  };
}
