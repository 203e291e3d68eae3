/** The pages that need no credential: health, metrics, the OpenAPI document, the console and the documentation. */
import { join } from "node:path";
import { Registry } from "prom-client";
import { Problem, unavailable } from "../http/problem.ts";
import type { AddressSet } from "../lib/addresses.ts";
import { docsPages } from "./docs-pages.ts";
import { HTML_TYPE, type Page, type PageResponse } from "./page.ts";
import { openApiPage } from "./openapi-document.ts";
import { JSON_TYPE } from "./responses.ts";
import { CONSOLE_HEADERS, StaticFolder, staticResponse } from "./static-file.ts";

export type PagesOptions = {
  /** The service has the routes of the API. */
  isApi: boolean;
  readMetrics: () => Promise<string>;
  metricsAllow: AddressSet;
  /** The service is about to stop. */
  isDraining: () => boolean;
  isDatabaseUp: () => Promise<boolean>;
};

export function publicPages({ isApi, readMetrics, metricsAllow, isDraining, isDatabaseUp }: PagesOptions): Page[] {
  const get = (path: string, render: Page["render"]): Page => ({ method: "GET", path, render });
  return [
    get("/", async () => ({ status: 303, contentType: HTML_TYPE, body: "", headers: { location: "/docs" } })),
    get("/livez", async () => json({ status: "ok" })),
    get("/readyz", async () => {
      if (isDraining()) throw unavailable("the service is stopping");
      if (!(await isDatabaseUp())) throw unavailable("the database does not respond");
      return json({ status: "ok" });
    }),
    get("/metrics", async ({ peer, isLocal }) => {
      // To a client that may not read the metrics, the path looks like any unknown path.
      if (!isLocal && !metricsAllow.has(peer)) throw new Problem("not_found", { detail: "no such path" });
      return { status: 200, contentType: Registry.PROMETHEUS_CONTENT_TYPE, body: await readMetrics() };
    }),
    get("/openapi.json", openApiPage(isApi)),
    ...docsPages(),
    ...consolePages(),
  ];
}

const json = (value: object): PageResponse => ({ status: 200, contentType: JSON_TYPE, body: JSON.stringify(value) });

const CONSOLE = join(import.meta.dirname, "..", "..", "console", "dist");

// The paths of the application, and one level more, for which the application shows its own "not found" page.
const CONSOLE_PATHS = ["/console", "/console/", "/console/{section}", "/console/{section}/{id}", "/console/{section}/{id}/{more}"];

/** The console: one page for every path below /console, and the files that Vite built from console/ for it. */
export function consolePages(folder = CONSOLE): Page[] {
  const files = new StaticFolder(folder, "console");
  const app: Page["render"] = async ({ headers }) => staticResponse(await files.read("index.html"), HTML_TYPE, headers, CONSOLE_HEADERS);
  return [
    ...CONSOLE_PATHS.map((path): Page => ({ method: "GET", path, render: app })),
    { method: "GET", path: "/console/assets/{file}", render: files.renderAsset },
  ];
}
