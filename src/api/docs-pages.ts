/** Serves the documentation that site/ builds from docs/: the guides, the API reference, a page for each error code, and the Markdown of each guide. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { isErrorCode } from "../http/codes.ts";
import { Problem } from "../http/problem.ts";
import { HTML_TYPE, type Page, type PageResponse } from "./page.ts";
import { StaticFolder, staticResponse, STRICT_HEADERS } from "./static-file.ts";

const ROOT = join(import.meta.dirname, "..", "..");
const MARKDOWN_TYPE = "text/markdown; charset=utf-8";
const TEXT_TYPE = "text/plain; charset=utf-8";

// The samples are written for a service on the own machine at the default port.
const SAMPLE_ORIGIN = "http://127.0.0.1:8080";

// Files of the site that have paths of their own.
const OTHER_FILES = new Set(["index", "404"]);

/** The name of a page without a folder. */
const isPage = (text: string): boolean => /^[a-z0-9-]+$/.test(text) && !OTHER_FILES.has(text);

export function docsPages(folder = join(ROOT, "site", "dist"), sources = join(ROOT, "docs")): Page[] {
  const files = new StaticFolder(folder, "documentation");
  const get = (path: string, render: Page["render"]): Page => ({ method: "GET", path, render });
  const respond = async (name: string, { headers }: { headers: Record<string, string> }): Promise<PageResponse> =>
    staticResponse(await files.read(`${name}.html`), HTML_TYPE, headers, STRICT_HEADERS);
  /** A browser gets a page, and a program the usual problem. */
  const orNotFound =
    (render: Page["render"]): Page["render"] =>
    async (request) => {
      try {
        return await render(request);
      } catch (error) {
        if (!(error instanceof Problem) || !(request.headers["accept"] ?? "").includes("text/html")) throw error;
        return { ...(await respond("404", request)), status: 404 };
      }
    };
  return [
    get("/docs", (request) => respond("index", request)),
    get("/docs/assets/{file}", files.renderAsset),
    get(
      "/docs/{page}",
      orNotFound(async (request) => {
        const { page = "" } = request.params;
        const name = page.replace(/\.md$/, "");
        if (!isPage(name)) throw noPage();
        return name === page ? respond(name, request) : markdownOf(join(sources, page), request.origin);
      }),
    ),
    get("/errors", async () => ({ status: 303, contentType: HTML_TYPE, body: "", headers: { location: "/docs/errors" } })),
    get(
      "/errors/{code}",
      orNotFound(async (request) => {
        const { code = "" } = request.params;
        if (!isErrorCode(code)) throw new Problem("not_found", { detail: "no such error code; /docs/errors lists them" });
        return respond(join("errors", code), request);
      }),
    ),
    get("/llms.txt", async ({ headers }) => staticResponse(await files.read("llms.txt"), TEXT_TYPE, headers, {})),
  ];
}

const noPage = (): Problem => new Problem("not_found", { detail: "no such page; /docs lists them" });

/** The source of a page, with the URL of this service in its samples and links. Elsewhere the text names the default of a setting. */
async function markdownOf(path: string, origin: string): Promise<PageResponse> {
  const text = await readFile(path, "utf8").catch(() => undefined);
  if (text === undefined) throw noPage();
  return { status: 200, contentType: MARKDOWN_TYPE, body: origin === "" ? text : withOrigin(text, origin) };
}

const FENCED_CODE = /^(```[^]*?^```$)/m;

const withOrigin = (text: string, origin: string): string =>
  text
    .split(FENCED_CODE)
    .map((part) => (part.startsWith("```") ? part.replaceAll(SAMPLE_ORIGIN, origin) : part.replaceAll(`${SAMPLE_ORIGIN}/`, `${origin}/`)))
    .join("");
