/** Builds the documentation into dist/: the pages of docs/, a page for each error code, the search index and llms.txt. Runs after `npm ci`, before
 *  the tests, and before `npm start`. */
import { join } from "node:path";
import { buildOnce } from "../../scripts/build-once.ts";

await buildOnce(
  {
    name: "documentation",
    folder: join(import.meta.dirname, ".."),
    sources: [
      "docs/{*.md,openapi.json}",
      "site/{package.json,contents.ts}",
      "site/{src,scripts}/*",
      "console/src/{icon.svg,style/tokens.css}",
      "scripts/{code-samples,sample-literals}.ts",
      "src/cli/commands.ts",
      "src/http/codes.ts",
      "sdk/src/uuid.ts",
      "package-lock.json",
      "package.json",
      "CHANGELOG.md",
    ],
    write: async (to) => (await import("./write-site.ts")).writeSite(to),
  },
  { isOptional: process.argv[2] === "if-possible" },
);
