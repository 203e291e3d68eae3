/** Responses whose bytes never change while the process runs: compressed once, and not sent again to a client that has them. */
import { hash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { extname, join } from "node:path";
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import { Problem } from "../http/problem.ts";
import type { Page, PageResponse } from "./page.ts";

export type StaticFile = { plain: Buffer; zipped: Buffer; tag: string };

const toStaticFile = async (plain: Buffer): Promise<StaticFile> => ({
  plain,
  zipped: await promisify(gzip)(plain, { level: 9 }),
  tag: hash("sha256", plain, "hex").slice(0, 32),
});

/** Responds with the compressed bytes if the client accepts them, and with 304 if it has them. */
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

const ASSET_TYPES: Readonly<Record<string, string>> = {
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".json": "application/json",
  ".svg": "image/svg+xml",
};

// The name of an asset contains a hash of its content, so the content under a name never changes.
const FOREVER = "public, max-age=31536000, immutable";
const HASHED = /-[\w-]{8,}\.\w+$/;

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
    const loading = this.#loaded.get(name) ?? load(join(this.#folder, name));
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

const load = async (path: string): Promise<StaticFile> => toStaticFile(await readFile(path));
