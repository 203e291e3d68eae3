/** The symbolic links of the PostgreSQL package, which `npm ci --ignore-scripts` does not create. */
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, readlinkSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { createLinks } from "./postgres-binaries.ts";

test("missing links are created beside their files, and a second run changes nothing", () => {
  const folder = mkdtempSync(join(tmpdir(), "godwit-links-"));
  try {
    const native = join(folder, "native");
    mkdirSync(join(native, "lib"), { recursive: true });
    writeFileSync(join(native, "lib", "libpq.so.5.18"), "");
    writeFileSync(
      join(native, "pg-symlinks.json"),
      JSON.stringify([{ source: "native/lib/libpq.so.5.18", target: "native/lib/libpq.so.5" }]),
    );
    for (let run = 0; run < 2; run += 1) {
      createLinks(native);
      assert.equal(readlinkSync(join(native, "lib", "libpq.so.5")), "libpq.so.5.18");
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
