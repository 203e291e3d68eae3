/** The OpenAPI document with the address that the client used, since tools need an absolute one. A stranger chooses that address: only the few bytes
 *  with it are made for a request, and everything else was serialized and compressed once. */
import { hash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { crc32, deflateRaw } from "node:zlib";
import type { Page } from "./page.ts";
import { JSON_TYPE } from "./responses.ts";
import { staticResponse } from "./static-file.ts";

// `npm run openapi` writes it from the routes, and a test compares the two.
const DOCUMENT = join(import.meta.dirname, "..", "..", "docs", "openapi.json");

type Rest = { plain: Buffer; deflated: Buffer; tag: string };

/** `isApi`: the service has the routes. Without them the document has no paths. */
export function openApiPage(isApi: boolean): Page["render"] {
  let rest: Promise<Rest> | undefined;
  return async ({ origin, headers }) => {
    rest ??= readRest(isApi);
    const { plain, deflated, tag } = await rest;
    const servers = Buffer.from(`{"servers":${JSON.stringify([{ url: origin || "/" }])},`);
    const document = Buffer.concat([servers, plain]);
    const file = { plain: document, zipped: gzipOf(servers, deflated, document), tag: hash("sha256", tag + origin, "hex").slice(0, 32) };
    return staticResponse(file, JSON_TYPE, headers, {});
  };
}

/** All members but `servers`, with the end of the object. */
async function readRest(isApi: boolean): Promise<Rest> {
  const { servers: _, ...document } = JSON.parse(readFileSync(DOCUMENT, "utf8")) as Record<string, unknown>;
  const plain = Buffer.from(JSON.stringify({ ...document, ...(isApi ? {} : { paths: {} }) }).slice(1));
  return { plain, deflated: await promisify(deflateRaw)(plain, { level: 9 }), tag: hash("sha256", plain, "hex") };
}

// The magic number, the method "deflate", no flags, no time, no further facts, an unknown system.
const GZIP_HEADER = Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff]);
const STORED_BLOCK = 0;

/** A gzip file of two parts: a block with the bytes of the first part as they are, and a stream that was compressed before (RFC 1951, 1952). */
function gzipOf(first: Buffer, deflated: Buffer, whole: Buffer): Buffer {
  const block = Buffer.from([STORED_BLOCK, 0, 0, 0, 0]);
  block.writeUInt16LE(first.length, 1);
  block.writeUInt16LE(~first.length & 0xffff, 3);
  const trailer = Buffer.alloc(8);
  trailer.writeUInt32LE(crc32(whole), 0);
  trailer.writeUInt32LE(whole.length, 4);
  return Buffer.concat([GZIP_HEADER, block, first, deflated, trailer]);
}
