/** The pages that need no credential: health, metrics, the OpenAPI document, the console and the documentation. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Registry } from "prom-client";
import { Problem, unavailable } from "../http/problem.ts";
import type { AddressSet } from "../lib/addresses.ts";
import { consolePages } from "./console-pages.ts";
import { docsPages } from "./docs-pages.ts";
import { HTML_TYPE, type Page, type PageResponse } from "./page.ts";
import { JSON_TYPE } from "./responses.ts";
import { staticPage } from "./static-file.ts";

export type PagesOptions = {
  /** The service has the routes of the API. */
  isApi: boolean;
  readMetrics: () => Promise<string>;
  metricsAllow: AddressSet;
  isReady: () => Promise<boolean>;
};

export function publicPages({ isApi, readMetrics, metricsAllow, isReady }: PagesOptions): Page[] {
  const get = (path: string, render: Page["render"]): Page => ({ method: "GET", path, render });
  return [
    get("/", async () => ({ status: 303, contentType: HTML_TYPE, body: "", headers: { location: "/docs" } })),
    get("/livez", async () => json({ status: "ok" })),
    get("/readyz", async () => {
      if (!(await isReady())) throw unavailable("the database does not respond");
      return json({ status: "ok" });
    }),
    get("/metrics", async ({ peer, isLocal }) => {
      // To a client that may not read the metrics, the path looks like any unknown path.
      if (!isLocal && !metricsAllow.has(peer)) throw new Problem("not_found", { detail: "no such path" });
      return { status: 200, contentType: Registry.PROMETHEUS_CONTENT_TYPE, body: await readMetrics() };
    }),
    get(
      "/openapi.json",
      staticPage(JSON_TYPE, () => writeDocument(isApi)),
    ),
    ...docsPages(),
    ...consolePages(),
  ];
}

// `npm run openapi` writes it from the routes, and a test compares the two.
const DOCUMENT = join(import.meta.dirname, "..", "..", "docs", "openapi.json");

/** The OpenAPI document, without paths if this service has none of them. */
function writeDocument(isApi: boolean): string {
  const document = JSON.parse(readFileSync(DOCUMENT, "utf8")) as object;
  return JSON.stringify(isApi ? document : { ...document, paths: {} });
}

const json = (value: object): PageResponse => ({ status: 200, contentType: JSON_TYPE, body: JSON.stringify(value) });
