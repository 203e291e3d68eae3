/** Serves the console: one page for every path below /console, and the files that Vite built from console/ for it. */
import { readFile } from "node:fs/promises";
import { extname, join } from "node:path";
import { Problem } from "../http/problem.ts";
import { HTML_TYPE } from "./html.ts";
import type { Page } from "./page.ts";
import { staticResponse, toStaticFile, type StaticFile } from "./static-file.ts";

const FOLDER = join(import.meta.dirname, "..", "..", "console", "dist");

/** Scripts and styles only from files of this service, connections only to this service, and no conversion of text into markup. */
const HEADERS = {
  "content-security-policy":
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
  "cross-origin-opener-policy": "same-origin",
  "referrer-policy": "no-referrer",
};

const TYPES: Readonly<Record<string, string>> = {
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
};

// The name of an asset contains a hash of its content, so the content under a name never changes.
const FOREVER = "public, max-age=31536000, immutable";

// The paths of the application, and one level more, for which the application shows its own "not found" page.
const PATHS = ["/console", "/console/", "/console/{section}", "/console/{section}/{id}", "/console/{section}/{id}/{more}"];

export function consolePages(folder = FOLDER): Page[] {
  const assets = new Assets(folder);
  const app: Page["render"] = async ({ headers }) => staticResponse(await assets.read("index.html"), HTML_TYPE, headers, HEADERS);
  const asset: Page["render"] = async ({ params: { file = "" }, headers }) => {
    const type = TYPES[extname(file)];
    // Only a plain file name is allowed, never a path.
    if (type === undefined || !/^[\w.-]+$/.test(file)) throw notFound();
    return staticResponse(await assets.read(join("assets", file)), type, headers, { "cache-control": FOREVER });
  };
  return [
    ...PATHS.map((path): Page => ({ method: "GET", path, render: app })),
    { method: "GET", path: "/console/assets/{file}", render: asset },
  ];
}

const notFound = (): Problem => new Problem("not_found", { detail: "no such file of the console, or this installation came without it" });

/** Reads and compresses each file once, at its first request. There are few files. */
class Assets {
  readonly #folder: string;
  readonly #loaded = new Map<string, Promise<StaticFile>>();

  constructor(folder: string) {
    this.#folder = folder;
  }

  async read(name: string): Promise<StaticFile> {
    const loading = this.#loaded.get(name) ?? load(join(this.#folder, name));
    this.#loaded.set(name, loading);
    try {
      return await loading;
    } catch {
      // Missing files are not cached, so that requests for them cannot fill the memory.
      this.#loaded.delete(name);
      throw notFound();
    }
  }
}

const load = async (path: string): Promise<StaticFile> => toStaticFile(await readFile(path));
