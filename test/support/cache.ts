/** Files that make later test runs faster. The folder can be deleted; the next run creates it again. */
import { mkdirSync, renameSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const NAME = `godwit-test-${process.getuid?.() ?? "all"}`;

/** A folder inside node_modules, or in the temporary folder if node_modules belongs to another user. */
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

/** Moves a complete folder to its place, so that no other run finds an incomplete one. If another run was first, its folder stays. */
export function moveIntoPlace(made: string, place: string): void {
  try {
    renameSync(made, place);
  } catch (error) {
    rmSync(made, { recursive: true, force: true });
    const { code } = error as NodeJS.ErrnoException;
    if (code !== "ENOTEMPTY" && code !== "EEXIST") throw error;
  }
}
