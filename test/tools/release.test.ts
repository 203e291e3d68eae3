/** The release script, in a separate checkout. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { appendFileSync, cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { findSbomFaults, type LockFile, type Sbom } from "../../scripts/sbom.ts";
import { VERSION } from "../../src/version.ts";
import { missingProgram, findPython } from "../support/debian-package.ts";
import { findKubernetesTools } from "../support/kubernetes-tools.ts";

const ROOT = join(import.meta.dirname, "..", "..");
const NEXT = "9.8.7";
const DIST_PACKAGES = "/usr/lib/python3/dist-packages";
const program = ["git", "ssh-keygen"].find((each) => spawnSync(each, ["--version"]).error !== undefined);
const missing =
  program === undefined
    ? (missingProgram("python3-setuptools", `${DIST_PACKAGES}/setuptools/__init__.py`) ??
      missingProgram("python3-wheel", `${DIST_PACKAGES}/wheel/__init__.py`))
    : `${program} is not installed`;

describe("a release", { skip: missing ?? false, timeout: 1_200_000 }, () => {
  let checkout: string;
  let keys: string;
  const path = (...names: string[]): string => join(checkout, ...names);
  const read = (...names: string[]): string => readFileSync(path(...names), "utf8");

  /** With its own git identity, and without the variables that npm sets for its scripts, or a workflow for its steps. */
  const env: NodeJS.ProcessEnv = {
    ...Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^(npm_|GIT_|GITHUB_)/i.test(name))),
    GIT_AUTHOR_NAME: "tester",
    GIT_AUTHOR_EMAIL: "tester@example.com",
    GIT_COMMITTER_NAME: "tester",
    GIT_COMMITTER_EMAIL: "tester@example.com",
  };
  const DIGEST = "a".repeat(64);
  const git = (...args: string[]): string => {
    const { status, stdout, stderr } = spawnSync("git", args, { cwd: checkout, env, encoding: "utf8" });
    assert.equal(status, 0, stderr);
    return stdout.trim();
  };
  const release = (...args: string[]) =>
    spawnSync(process.execPath, ["scripts/release.ts", ...args], { cwd: checkout, env, encoding: "utf8", timeout: 600_000 });

  /** Replaces `npm run test:full` there, because the whole suite would include this test, and the benchmark, which takes minutes. */
  function setTests(command: string): void {
    const manifest = JSON.parse(read("package.json")) as { scripts: Record<string, string> };
    manifest.scripts["test:full"] = command;
    manifest.scripts["bench"] = "node --version";
    writeFileSync(path("package.json"), `${JSON.stringify(manifest, null, 2)}\n`);
    git("commit", "--quiet", "--all", "--allow-empty", "--message", `tests: ${command}`);
  }

  before(() => {
    checkout = mkdtempSync(join(tmpdir(), "godwit-release-"));
    const left = new Set([".git", "node_modules", "data", "dist", "release", "test", "bench", "chaos", "fuzz"]);
    for (const name of readdirSync(ROOT))
      if (!left.has(name) && !name.endsWith(".tgz")) cpSync(join(ROOT, name), path(name), { recursive: true });
    symlinkSync(join(ROOT, "node_modules"), path("node_modules"));
    writeFileSync(path("CHANGELOG.md"), `# Changelog\n\n## ${NEXT} (unreleased)\n\n- A thing.\n\n## 0.1.0 (2020-01-01)\n\n- The first.\n`);
    for (const file of ["Dockerfile", "compose.yaml"])
      writeFileSync(path(file), read(file).replaceAll(/(node:24-slim|postgres:18|caddy:2)(@sha256:\w+)?/g, `$1@sha256:${DIGEST}`));
    keys = mkdtempSync(join(tmpdir(), "godwit-release-key-"));
    for (const name of ["release", "other"]) spawnSync("ssh-keygen", ["-q", "-t", "ed25519", "-N", "", "-f", join(keys, name)]);
    appendFileSync(path("packaging", "release-signers"), `releases@godwit ${readFileSync(join(keys, "release.pub"), "utf8")}`);
    env["GODWIT_RELEASE_KEY"] = join(keys, "release");
    git("init", "--quiet", "--initial-branch=main");
    git("add", "--all");
    git("commit", "--quiet", "--message", "all of it");
    setTests("exit 0");
  });
  after(() => {
    for (const folder of [checkout, keys]) rmSync(folder, { recursive: true, force: true });
  });

  test("is refused with all reasons together, and changes nothing", () => {
    git("switch", "--quiet", "--create", "aside");
    writeFileSync(path("stray.txt"), "not committed");
    const { status, stderr } = release("next");
    rmSync(path("stray.txt"));
    git("switch", "--quiet", "main");
    assert.equal(status, 1);
    for (const reason of [/such as 0\.2\.0, not "next"/, /this is aside/, /not committed/, /CHANGELOG\.md speaks of 9\.8\.7, not of next/])
      assert.match(stderr, reason);
    assert.equal(git("tag"), "");
    assert.match(release().stderr, /give the version/);
  });

  test("is refused without a signing key that users can verify, and with an image without a digest", () => {
    const refusal = (key: string | undefined): string =>
      spawnSync(process.execPath, ["scripts/release.ts", NEXT, "--dry-run"], {
        cwd: checkout,
        env: { ...env, GODWIT_RELEASE_KEY: key },
        encoding: "utf8",
      }).stderr;
    assert.match(refusal(undefined), /GODWIT_RELEASE_KEY must name the key/);
    assert.match(refusal(join(keys, "none")), /there is no key/);
    assert.match(refusal(join(keys, "other")), /is not in packaging\/release-signers/);
    assert.equal(refusal(join(keys, "release")), "");
    writeFileSync(path("Dockerfile"), read("Dockerfile").replace(`@sha256:${DIGEST}`, ""));
    assert.match(refusal(join(keys, "release")), /Dockerfile: node:24-slim has no digest/);
    git("restore", "Dockerfile");
  });

  test("takes no unknown flag", () => {
    assert.match(release(NEXT, "--fast").stderr, /--fast/);
  });

  test("is only described in a dry run", () => {
    const head = git("rev-parse", "HEAD");
    const { status, stdout, stderr } = release(NEXT, "--dry-run");
    assert.equal(status, 0, stderr);
    assert.match(stdout, /All is in order for 9\.8\.7/);
    assert.deepEqual([git("rev-parse", "HEAD"), git("status", "--porcelain"), git("tag")], [head, "", ""]);
    assert.equal(existsSync(path("release")), false);
  });

  test("is not made when a test fails, and the checkout is unchanged", () => {
    setTests("exit 1");
    const { status, stderr } = release(NEXT);
    assert.equal(status, 1);
    assert.match(stderr, /release: npm run --silent test:full failed/);
    assert.deepEqual([git("status", "--porcelain"), git("tag")], ["", ""]);
    assert.match(read("CHANGELOG.md"), /## 9\.8\.7 \(unreleased\)/);
    setTests("exit 0");
  });

  test("dates the changelog, sets the version everywhere, packs, sums, commits and tags, and publishes nothing", () => {
    const { status, stdout, stderr } = release(NEXT);
    assert.equal(status, 0, stderr);
    assert.equal(git("status", "--porcelain"), "");
    assert.equal(git("rev-parse", `v${NEXT}^{commit}`), git("rev-parse", "HEAD"));
    assert.equal(git("log", "-1", "--format=%s"), `Release ${NEXT}`);
    assert.match(read("CHANGELOG.md"), /^## 9\.8\.7 \(\d{4}-\d{2}-\d{2}\)\n\n- A thing\.\n\n## 0\.1\.0 \(2020-01-01\)$/m);
    const lock = JSON.parse(read("package-lock.json")) as { version: string; packages: Record<string, { version: string }> };
    assert.equal(lock.version, NEXT);
    for (const name of ["", "sdk", "console", "site"]) assert.equal(lock.packages[name]?.version, NEXT, name);
    assert.equal((JSON.parse(read("docs", "openapi.json")) as { info: { version: string } }).info.version, NEXT);
    assert.match(read("sdk-python", "pyproject.toml"), /^version = "9\.8\.7"$/m);
    assert.match(read("sdk-python", "src", "godwit", "_version.py"), /^__version__ = "9\.8\.7"$/m);
    assert.match(read("sdk", "src", "version.ts"), /^export const VERSION = "9\.8\.7";$/m);
    assert.match(read("compose.yaml"), /image: godwit:9\.8\.7$/m);
    assert.match(read("packaging", "helm", "godwit", "Chart.yaml"), /^version: 9\.8\.7\nappVersion: 9\.8\.7$/m);
    for (const page of ["docs/go-live.md", "docs/packaging.md", "docs/sdk.md", "sdk/README.md"]) {
      assert.doesNotMatch(read(page), new RegExp(`godwit(-sdk)?[-:]${VERSION.replaceAll(".", "\\.")}`), page);
      assert.match(read(page), /godwit(-sdk)?-9\.8\.7\.tgz/, page);
    }

    const files = [
      "RELEASE-NOTES.md",
      "SHA256SUMS",
      "SHA256SUMS.sig",
      `godwit-${NEXT}-py3-none-any.whl`,
      `godwit-${NEXT}.cdx.json`,
      `godwit-${NEXT}.openapi.json`,
      `godwit-${NEXT}.postman_collection.json`,
      `godwit-${NEXT}.tar.gz`,
      `godwit-${NEXT}.tgz`,
      `godwit-chart-${NEXT}.tgz`,
      `godwit-image-context-${NEXT}.tar.gz`,
      `godwit-sdk-${NEXT}.tgz`,
    ];
    assert.deepEqual(readdirSync(path("release")).toSorted(), files);
    const sums = spawnSync("sha256sum", ["--check", "--strict", "SHA256SUMS"], { cwd: path("release"), encoding: "utf8" });
    if (sums.error === undefined) assert.equal(sums.status, 0, sums.stdout + sums.stderr);
    assert.equal(read("release", "SHA256SUMS").trim().split("\n").length, files.length - 2);
    assert.equal(read("release", "RELEASE-NOTES.md"), "- A thing.\n");
    assert.equal(read("release", `godwit-${NEXT}.openapi.json`), read("docs", "openapi.json"));
    const sbom = JSON.parse(read("release", `godwit-${NEXT}.cdx.json`)) as Sbom;
    assert.deepEqual([sbom.bomFormat, sbom.metadata.component.version], ["CycloneDX", NEXT]);
    assert.deepEqual(findSbomFaults(sbom, JSON.parse(read("package-lock.json")) as LockFile), []);
    for (const step of [`git push origin main v${NEXT}`, `npm publish release/godwit-${NEXT}.tgz`]) assert.ok(stdout.includes(step), step);
    assert.match(release(NEXT).stderr, /there is a tag v9\.8\.7 already/);
  });

  /** The names of the files in an archive, without folders. */
  const list = (archive: string): string[] => {
    const { status, stdout, stderr } = spawnSync("tar", ["--list", "--file", path("release", archive)], { encoding: "utf8" });
    assert.equal(status, 0, stderr);
    return stdout.trim().split("\n");
  };

  test("has an archive with what the image is built from, without tests and built files", () => {
    const names = list(`godwit-image-context-${NEXT}.tar.gz`);
    const admitted = Array.from(read(".dockerignore").matchAll(/^!(.+)$/gm), ([, name = ""]) => name);
    assert.ok(admitted.length > 10);
    for (const each of ["Dockerfile", "src/main.ts", "console/scripts/build.ts", ...admitted])
      assert.ok(
        names.some((name) => name === each || name.startsWith(`${each}/`)),
        each,
      );
    assert.deepEqual(
      names.filter((name) => /\.test\.ts$|^(console|site)\/dist\/|^(test|release|node_modules)\//.test(name)),
      [],
    );
  });

  test("has a chart that Helm renders with the image of the release", (context) => {
    const tools = findKubernetesTools();
    if ("missing" in tools) return context.skip(tools.missing);
    const chart = path("release", `godwit-chart-${NEXT}.tgz`);
    const shown = spawnSync(tools.helm, ["show", "chart", chart], { encoding: "utf8" });
    assert.match(shown.stdout, /^version: 9\.8\.7$/m, shown.stderr);
    const { stdout, stderr } = spawnSync(tools.helm, ["template", "godwit", chart], { encoding: "utf8" });
    assert.match(stdout, /image: "?godwit:9\.8\.7"?$/m, stderr);
  });

  test("is packed again from its tag, for a workflow, with the same packages and no signature", () => {
    const sums = (): string[] =>
      read("release", "SHA256SUMS")
        .trim()
        .split("\n")
        // setuptools writes the time of the build into the source archive.
        .filter((line) => !line.endsWith(`  godwit-${NEXT}.tar.gz`));
    const signed = sums();
    const kept = join(keys, "kept");
    cpSync(path("release"), kept, { recursive: true });
    rmSync(path("release"), { recursive: true });
    const { status, stderr } = release(NEXT, "--pack-only");
    assert.equal(status, 0, stderr);
    assert.deepEqual(sums(), signed);
    assert.equal(existsSync(path("release", "SHA256SUMS.sig")), false);
    rmSync(path("release"), { recursive: true });
    cpSync(kept, path("release"), { recursive: true });
  });

  test("is not packed again from another commit, and in a workflow only if the packages name its repository", () => {
    assert.match(release("9.8.6", "--pack-only").stderr, /HEAD has no tag v9\.8\.6\n.*package\.json has the version 9\.8\.7, not 9\.8\.6/s);
    env["GITHUB_REPOSITORY"] = "example/godwit";
    const { stderr } = release(NEXT, "--pack-only");
    delete env["GITHUB_REPOSITORY"];
    for (const file of ["package.json", "sdk/package.json"])
      assert.ok(stderr.includes(`- ${file}: repository.url must be git+https://github.com/example/godwit.git`), stderr);
  });

  test("has a wheel that Python can import", (context) => {
    const found = findPython();
    if ("missing" in found) return context.skip(found.missing);
    const code = "import godwit, importlib.metadata as m; print(godwit.__version__, m.version('godwit'), *m.requires('godwit'))";
    const wheel = path("release", `godwit-${NEXT}-py3-none-any.whl`);
    const { stdout, stderr } = spawnSync(found.path, ["-c", code], { cwd: keys, env: { ...env, PYTHONPATH: wheel }, encoding: "utf8" });
    assert.match(stdout, /^9\.8\.7 9\.8\.7 httpx\b/, stderr);
  });

  test("has a signature that the command of the documentation verifies, and that fails for changed checksums", () => {
    const command = /ssh-keygen -Y verify .+/.exec(readFileSync(join(ROOT, "docs", "packaging.md"), "utf8"))?.[0] ?? "";
    const verify = (): number | null =>
      spawnSync("sh", ["-c", command.replaceAll("release-signers", "../packaging/release-signers")], { cwd: path("release") }).status;
    assert.equal(verify(), 0, command);
    const sums = read("release", "SHA256SUMS");
    writeFileSync(
      path("release", "SHA256SUMS"),
      sums.replace(/^./, (digit) => (digit === "0" ? "1" : "0")),
    );
    assert.notEqual(verify(), 0);
    writeFileSync(path("release", "SHA256SUMS"), sums);
    spawnSync("ssh-keygen", ["-Y", "sign", "-n", "godwit-release", "-f", join(keys, "other"), path("release", "SHA256SUMS")], {
      input: "y\n",
    });
    assert.notEqual(verify(), 0, "a signature of another key");
  });
});
