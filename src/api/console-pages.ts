/** The console as it is served: what Vite made of console/, one page for every address below /console, and nothing from elsewhere. */
import { readFile } from "node:fs/promises";
import { extname, join } from "node:path";
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import { Problem } from "../http/problem.ts";
import { HTML_TYPE } from "./html.ts";
import type { Page } from "./page.ts";

const FOLDER = join(import.meta.dirname, "..", "..", "console", "dist");

/** No script or style but our own files, no connection but to this service, nothing that turns a text into markup. */
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

// Named by what is in them: another content has another name.
const FOREVER = "public, max-age=31536000, immutable";

type Asset = { plain: Buffer; zipped: Buffer };

// The pages of the application, and one step further, where it says itself that there is nothing.
const PATHS = ["/console", "/console/", "/console/{section}", "/console/{section}/{id}", "/console/{section}/{id}/{more}"];

export function consolePages(folder = FOLDER): Page[] {
  const assets = new Assets(folder);
  const app: Page["render"] = async ({ headers }) => answer(await assets.read("index.html"), HTML_TYPE, headers, HEADERS);
  const asset: Page["render"] = async ({ params: { file = "" }, headers }) => {
    const type = TYPES[extname(file)];
    // A name alone, whatever was in the address: never a path.
    if (type === undefined || !/^[\w.-]+$/.test(file)) throw notHere();
    return answer(await assets.read(join("assets", file)), type, headers, { "cache-control": FOREVER });
  };
  return [
    ...PATHS.map((path): Page => ({ method: "GET", path, render: app })),
    { method: "GET", path: "/console/assets/{file}", render: asset },
  ];
}

const notHere = (): Problem => new Problem("not_found", { detail: "no such file of the console, or this installation came without it" });

/** Read and compressed once, when they are first asked for: a handful of files. */
class Assets {
  readonly #folder: string;
  readonly #known = new Map<string, Promise<Asset>>();

  constructor(folder: string) {
    this.#folder = folder;
  }

  async read(name: string): Promise<Asset> {
    const known = this.#known.get(name) ?? load(join(this.#folder, name));
    this.#known.set(name, known);
    try {
      return await known;
    } catch {
      // Nobody fills the memory with names of what is not there.
      this.#known.delete(name);
      throw notHere();
    }
  }
}

async function load(path: string): Promise<Asset> {
  const plain = await readFile(path);
  return { plain, zipped: await promisify(gzip)(plain, { level: 9 }) };
}

function answer({ plain, zipped }: Asset, contentType: string, asked: Readonly<Record<string, string>>, headers: Record<string, string>) {
  const isZipped = /\bgzip\b(?!\s*;\s*q=0(?:\.0*)?\s*(?:,|$))/i.test(asked["accept-encoding"] ?? "");
  const encoding: Record<string, string> = isZipped ? { "content-encoding": "gzip" } : {};
  return { status: 200, contentType, body: isZipped ? zipped : plain, headers: { ...headers, ...encoding, vary: "accept-encoding" } };
}
