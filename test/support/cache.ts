/** Files that make later test runs faster. Deleting the folder costs time and nothing else. */
import { mkdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const NAME = `godwit-test-${process.getuid?.() ?? "all"}`;

/** Inside node_modules, or in the temporary folder where the checkout belongs to somebody else. */
export function cachedFolder(name: string): string {
  const [folder, other] = [join(import.meta.dirname, "..", "..", "node_modules", ".cache", NAME, name), join(tmpdir(), NAME, name)];
  try {
    mkdirSync(folder, { recursive: true });
    return folder;
  } catch {
    mkdirSync(other, { recursive: true });
    return other;
  }
}
