/** Serves the console: one page for every path below /console, and the files that Vite built from console/ for it. */
import { join } from "node:path";
import { HTML_TYPE, type Page } from "./page.ts";
import { StaticFolder, staticResponse } from "./static-file.ts";

const FOLDER = join(import.meta.dirname, "..", "..", "console", "dist");

/** Scripts and styles only from files of this service, connections only to this service, and no conversion of text into markup. */
const HEADERS = {
  "content-security-policy":
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
  "cross-origin-opener-policy": "same-origin",
  "referrer-policy": "no-referrer",
};

// The paths of the application, and one level more, for which the application shows its own "not found" page.
const PATHS = ["/console", "/console/", "/console/{section}", "/console/{section}/{id}", "/console/{section}/{id}/{more}"];

export function consolePages(folder = FOLDER): Page[] {
  const files = new StaticFolder(folder, "console");
  const app: Page["render"] = async ({ headers }) => staticResponse(await files.read("index.html"), HTML_TYPE, headers, HEADERS);
  return [
    ...PATHS.map((path): Page => ({ method: "GET", path, render: app })),
    { method: "GET", path: "/console/assets/{file}", render: files.renderAsset },
  ];
}
