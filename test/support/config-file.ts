/** Configuration files for services of tests, in a folder that is deleted when the process ends. */
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

let folder: string | undefined;
let files = 0;

/** Writes a new configuration file, or replaces the given one, and returns its path. */
export function writeConfig(text: string, path = newPath()): string {
  writeFileSync(path, text);
  return path;
}

function newPath(): string {
  if (folder === undefined) {
    const created = (folder = mkdtempSync(join(tmpdir(), "godwit-config-")));
    // A service that root starts reads the file again as another user.
    chmodSync(created, 0o755);
    process.once("exit", () => rmSync(created, { recursive: true, force: true }));
  }
  return join(folder, `config-${(files += 1)}.toml`);
}
