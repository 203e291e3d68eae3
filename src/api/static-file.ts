/** Responses whose bytes never change while the process runs: compressed once, and not sent again to a client that has them. */
import { hash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { extname, join } from "node:path";
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import { Problem } from "../http/problem.ts";
import { acceptsGzip } from "./compression.ts";
import type { Page, PageResponse } from "./page.ts";

export type StaticFile = { plain: Buffer; zipped: Buffer; tag: string };

const toStaticFile = async (plain: Buffer): Promise<StaticFile> => ({
  plain,
  zipped: await promisify(gzip)(plain, { level: 9 }),
  tag: hash("sha256", plain, "hex").slice(0, 32),
});

/** The headers of a page: scripts and styles only from files of this service, connections only to this service, and no conversion of text into
 *  markup. */
export const STRICT_HEADERS = headersOf("img-src 'self'");

/** The headers of the console: its pages fetch files with an access token, which no element can send, and show pictures, recordings and
 *  videos from their memory at blob: addresses. Only scripts of this origin can make such an address, and script-src does not permit them. */
export const CONSOLE_HEADERS = headersOf("img-src 'self' blob:; media-src blob:");

function headersOf(sources: string): Record<string, string> {
  return {
    "content-security-policy": [
      "default-src 'none'; script-src 'self'; style-src 'self'",
      `${sources}; connect-src 'self'`,
      "require-trusted-types-for 'script'; trusted-types 'none'",
      "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    ].join("; "),
    "cross-origin-opener-policy": "same-origin",
    "referrer-policy": "no-referrer",
  };
}

/** Responds with the compressed bytes if the client accepts them, and with 304 if it has them. */
export function staticResponse(
  { plain, zipped, tag }: StaticFile,
  contentType: string,
  requestHeaders: Readonly<Record<string, string>>,
  headers: Record<string, string>,
): PageResponse {
  const isZipped = acceptsGzip(requestHeaders["accept-encoding"]);
  const etag = `"${tag}${isZipped ? "-gzip" : ""}"`;
  const always = { ...headers, etag, vary: "accept-encoding" };
  const known = requestHeaders["if-none-match"] ?? "";
  if (known.trim() === "*" || known.includes(etag)) return { status: 304, contentType, body: "", headers: always };
  return {
    status: 200,
    contentType,
    body: isZipped ? zipped : plain,
    headers: isZipped ? { ...always, "content-encoding": "gzip" } : always,
  };
}

const ASSET_TYPES: Readonly<Record<string, string>> = {
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".json": "application/json",
  ".svg": "image/svg+xml",
};

// The name of an asset contains a hash of its content, so the content under a name never changes.
const FOREVER = "public, max-age=31536000, immutable";
const HASHED = /-[\w-]{8,99}\.\w{1,9}$/;

/** A folder of files that a build wrote. Reads and compresses each file once, at its first request. There are few files. */
export class StaticFolder {
  readonly #folder: string;
  readonly #what: string;
  readonly #loaded = new Map<string, Promise<StaticFile>>();

  /** `what`: the name of the part of the service, for the error if a file is missing. */
  constructor(folder: string, what: string) {
    this.#folder = folder;
    this.#what = what;
  }

  async read(name: string): Promise<StaticFile> {
    const loading = this.#loaded.get(name) ?? readFile(join(this.#folder, name)).then(toStaticFile);
    this.#loaded.set(name, loading);
    try {
      return await loading;
    } catch {
      // Missing files are not cached, so that requests for them cannot fill the memory.
      this.#loaded.delete(name);
      throw new Problem("not_found", { detail: `no such file of the ${this.#what}, or this installation came without it` });
    }
  }

  /** Responds with a file of the folder `assets`. Only a plain file name is allowed, never a path. */
  readonly renderAsset: Page["render"] = async ({ params: { file = "" }, headers }) => {
    const type = ASSET_TYPES[extname(file)];
    if (type === undefined || !/^[\w.-]+$/.test(file)) throw new Problem("not_found", { detail: `no such file of the ${this.#what}` });
    return staticResponse(await this.read(join("assets", file)), type, headers, HASHED.test(file) ? { "cache-control": FOREVER } : {});
  };
}
