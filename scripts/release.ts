/** Makes a release: npm run release -- 0.2.0 [--dry-run | --pack-only]. Checks the preconditions, dates the changelog, sets the version, runs
 *  every check and test, compares the cost of messages with bench/guard.json, packs, writes the bill of materials and signed checksums, commits
 *  and tags. GODWIT_RELEASE_KEY names the signing key. Never pushes and never publishes; prints the commands for both. A failure leaves the
 *  checkout unchanged. With --pack-only it packs the tag of an earlier run again, without a signature: .github/workflows/release.yml publishes
 *  these files. */
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { cpSync, existsSync, globSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { findUnpinned } from "./pin-images.ts";
import { readCollection } from "./postman.ts";
import { findSbomFaults, makeSbom, type LockFile } from "./sbom.ts";

const ROOT = join(import.meta.dirname, "..");
const OUT = "release";
const VERSION = /^\d+\.\d+\.\d+(-[0-9a-z.-]+)?$/;
/** The heading of the newest section before its release. */
const UNRELEASED = /^## (?:(\S+) \(unreleased\)|Unreleased)$/im;

/** The signer and the purpose of a signature, which a verification names as well. */
const [SIGNER, NAMESPACE, SIGNERS] = ["releases@godwit", "godwit-release", "packaging/release-signers"];

class ReleaseFault extends Error {
  override name = "ReleaseFault";
}

const say = (text: string): void => void process.stdout.write(`${text}\n`);
const inRoot = (file: string): string => join(ROOT, file);
const read = (file: string): string => readFileSync(inRoot(file), "utf8");

/** Runs a program and returns its output. Throws with the output if the program fails. */
function readOutput(program: string, ...args: string[]): string {
  const { status, stdout, stderr, error } = spawnSync(program, args, { cwd: ROOT, encoding: "utf8" });
  if (status !== 0) throw new ReleaseFault(`${program} ${args.join(" ")}: ${error?.message ?? (stderr || stdout).trim()}`);
  return stdout.trim();
}

/** Runs a program with its output on the terminal. */
function run(program: string, ...args: string[]): void {
  say(`> ${program} ${args.join(" ")}`);
  const { status } = spawnSync(program, args, { cwd: ROOT, stdio: "inherit" });
  if (status !== 0) throw new ReleaseFault(`${program} ${args.join(" ")} failed`);
}

/** Returns all reasons against a release. */
function findFaults(version: string): string[] {
  const faults: string[] = [];
  if (!VERSION.test(version)) faults.push(`give the version, such as 0.2.0, not "${version}"`);
  const branch = readOutput("git", "branch", "--show-current");
  if (branch !== "main") faults.push(`releases are made on main, and this is ${branch === "" ? "no branch" : branch}`);
  if (readOutput("git", "status", "--porcelain") !== "") faults.push("the checkout has changes that are not committed");
  if (readOutput("git", "tag", "--list", `v${version}`) !== "") faults.push(`there is a tag v${version} already`);
  return [...faults, ...findChangelogFaults(version), ...findUnpinned(), ...findKeyFaults(), ...findToolFaults()];
}

/** Returns all reasons against packing a tag again. */
function findPackFaults(version: string): string[] {
  const faults: string[] = [];
  if (!readOutput("git", "tag", "--points-at", "HEAD").split("\n").includes(`v${version}`)) faults.push(`HEAD has no tag v${version}`);
  if (readOutput("git", "status", "--porcelain") !== "") faults.push("the checkout has changes that are not committed");
  const named = parseManifest(".").version;
  if (named !== version) faults.push(`package.json has the version ${named}, not ${version}`);
  return [...faults, ...findUnpinned(), ...findRepositoryFaults(), ...findToolFaults()];
}

type PackageManifest = { version: string; repository?: { url?: string } };
const parseManifest = (folder: string): PackageManifest => JSON.parse(read(join(folder, "package.json"))) as PackageManifest;

/** npm publishes a package with provenance only if its manifest names the repository that builds it. GITHUB_REPOSITORY is set in workflows. */
function findRepositoryFaults(): string[] {
  const repository = process.env["GITHUB_REPOSITORY"];
  if (repository === undefined) return [];
  const url = `git+https://github.com/${repository}.git`;
  return [".", "sdk"].flatMap((folder) =>
    parseManifest(folder).repository?.url === url ? [] : [`${join(folder, "package.json")}: repository.url must be ${url}`],
  );
}

/** Debian's Python, or another one that PYTHON_PATH names. */
const python = (): string => process.env["PYTHON_PATH"] ?? "/usr/bin/python3";

function findToolFaults(): string[] {
  const faults: string[] = [];
  if (spawnSync(python(), ["-c", "import setuptools, wheel"]).status !== 0)
    faults.push(
      `${python()} has no setuptools or no wheel, which pack the Python SDK (Debian: python3-setuptools, python3-wheel; PYTHON_PATH)`,
    );
  // Other programs of this name have no option that sorts the files.
  if (!spawnSync("tar", ["--version"], { encoding: "utf8" }).stdout?.includes("GNU tar")) faults.push("tar is not GNU tar");
  return faults;
}

/** The signing key: the file of a private key, or of a public key whose private half an agent has. */
const keyPath = (): string => process.env["GODWIT_RELEASE_KEY"] ?? "";

function findKeyFaults(): string[] {
  if (keyPath() === "") return ["GODWIT_RELEASE_KEY must name the key that signs the checksums: make one with ssh-keygen -t ed25519"];
  if (!existsSync(keyPath())) return [`there is no key ${keyPath()} (GODWIT_RELEASE_KEY)`];
  const isPublic = keyPath().endsWith(".pub");
  const publicKey = isPublic ? readFileSync(keyPath(), "utf8").trim() : readOutput("ssh-keygen", "-y", "-P", "", "-f", keyPath());
  const [, material = ""] = publicKey.split(" ");
  return read(SIGNERS).includes(material) ? [] : [`the key ${keyPath()} is not in ${SIGNERS}: users could not verify its signature`];
}

function findChangelogFaults(version: string): string[] {
  const text = read("CHANGELOG.md");
  const found = UNRELEASED.exec(text);
  if (found === null) return ["CHANGELOG.md has no section that is unreleased"];
  const [heading, named = version] = found;
  if (named !== version) return [`CHANGELOG.md speaks of ${named}, not of ${version}`];
  const section = text.slice(found.index + heading.length).split(/^## /m)[0] ?? "";
  return section.trim() === "" ? ["CHANGELOG.md says nothing of this version"] : [];
}

/** Replaces a text. Throws if there is none. */
function edit(file: string, pattern: RegExp, by: string): void {
  const text = read(file);
  if (text.search(pattern) < 0) throw new ReleaseFault(`${file} has nothing like ${pattern}`);
  writeFileSync(inRoot(file), text.replace(pattern, by));
}

/** Every place that contains the version; src/version.ts reads package.json. The SDKs have the same version, because there is one changelog. */
const VERSION_PLACES: readonly (readonly [files: string, pattern: RegExp])[] = [
  ["{.,sdk,console,site}/package.json", /(?<=^ {2}"version": ")[^"]+/m],
  ["package-lock.json", /(?<=^ {2}"version": ")[^"]+/m],
  ["package-lock.json", /(?<="(?:|sdk|console|site)": \{\s+"name": "[^"]+",\s+"version": ")[^"]+/g],
  ["sdk-python/pyproject.toml", /(?<=^version = ")[^"]+/m],
  ["sdk/src/version.ts", /(?<=VERSION = ")[^"]+/],
  ["sdk-python/src/godwit/_version.py", /(?<=__version__ = ")[^"]+/],
  ["compose.yaml", /(?<=image: godwit:)\S+/g],
  ["packaging/helm/godwit/Chart.yaml", /(?<=^(?:version|appVersion): )\S+/gm],
  [
    "{docs/go-live,docs/kubernetes,docs/packaging,docs/sdk,sdk/README}.md",
    /(?<=godwit(?:-sdk)?[-:])\d+\.\d+\.\d+[0-9a-z.-]*?(?=\.tgz|\s|$)/gm,
  ],
];

/** Sets the version everywhere, and dates the changelog. */
function setVersion(version: string, date: string): void {
  edit("CHANGELOG.md", UNRELEASED, `## ${version} (${date})`);
  for (const [files, pattern] of VERSION_PLACES) for (const file of globSync(files, { cwd: ROOT })) edit(file, pattern, version);
  run("npm", "run", "--silent", "openapi");
  const printed = (JSON.parse(readOutput(process.execPath, "src/main.ts", "version", "--json")) as { godwit: string }).godwit;
  if (printed !== version) throw new ReleaseFault(`the program calls itself ${printed}`);
}

/** Writes the bill of materials, which must agree with the lock file. */
function writeSbom(version: string): void {
  const lock = JSON.parse(read("package-lock.json")) as LockFile;
  const sbom = makeSbom(lock, version);
  const faults = findSbomFaults(sbom, lock);
  if (faults.length > 0) throw new ReleaseFault(`the bill of materials differs from the lock file: ${faults.join("; ")}`);
  writeFileSync(inRoot(join(OUT, `godwit-${version}.cdx.json`)), `${JSON.stringify(sbom, null, 2)}\n`);
}

/** Signs the checksums, and verifies the signature as users do. */
function sign(): void {
  const sums = join(OUT, "SHA256SUMS");
  readOutput("ssh-keygen", "-Y", "sign", "-n", NAMESPACE, "-f", keyPath(), inRoot(sums));
  const verify = ["-Y", "verify", "-f", SIGNERS, "-I", SIGNER, "-n", NAMESPACE, "-s", `${sums}.sig`];
  const { status, stdout, stderr } = spawnSync("ssh-keygen", verify, { cwd: ROOT, input: read(sums), encoding: "utf8" });
  if (status !== 0) throw new ReleaseFault(`the signature cannot be verified: ${(stdout + stderr).trim()}`);
}

/** Returns the date and the text of the section of a version in CHANGELOG.md. */
function readSection(version: string): { date: string; text: string } {
  const heading = `## ${version} (`;
  const section = read("CHANGELOG.md")
    .split(/^(?=## )/m)
    .find((text) => text.startsWith(heading));
  if (section === undefined) throw new ReleaseFault(`CHANGELOG.md has no section of ${version} with a date`);
  return { date: section.slice(heading.length, section.indexOf(")")), text: section.slice(section.indexOf("\n")).trim() };
}

/** Packs tracked files. The archive depends only on their content and the date, not on the machine. */
function packFiles(archive: string, folder: string, paths: readonly string[], date: string): void {
  const names = readOutput("git", "-C", folder, "ls-files", "-z", "--", ...paths);
  const options = ["--sort=name", `--mtime=${date}T00:00:00Z`, "--owner=0", "--group=0", "--numeric-owner", "--mode=a+rX,u+w,go-w"];
  const args = [
    "--create",
    "--gzip",
    "--file",
    inRoot(join(OUT, archive)),
    "--directory",
    inRoot(folder),
    ...options,
    "--null",
    "--files-from=-",
  ];
  const { status, stderr } = spawnSync("tar", args, { input: names, encoding: "utf8" });
  if (status !== 0) throw new ReleaseFault(`${archive} cannot be packed: ${stderr.trim()}`);
}

/** Packs the Dockerfile and the files that .dockerignore admits, for `docker build -`. Built pages are not tracked; tests are left out. */
function packImageContext(version: string, date: string): void {
  const admitted = Array.from(read(".dockerignore").matchAll(/^!(\S+)$/gm), ([, path = ""]) => path);
  packFiles(`godwit-image-context-${version}.tar.gz`, ".", ["Dockerfile", ...admitted, ":(exclude,glob)**/*.test.ts"], date);
}

/** Builds the wheel and the source archive of the Python SDK, in a copy, because setuptools writes beside the sources. */
function packPython(date: string): void {
  const copy = mkdtempSync(join(tmpdir(), "godwit-sdk-python-"));
  cpSync(inRoot("sdk-python"), copy, { recursive: true });
  // A build replaces the arguments of the process.
  const build = "import sys; from setuptools import build_meta as b; out = sys.argv[1]; b.build_sdist(out); b.build_wheel(out)";
  // The times of the files in the wheel.
  const env = { ...process.env, SOURCE_DATE_EPOCH: String(Date.parse(date) / 1_000) };
  const { status, stderr } = spawnSync(python(), ["-c", build, inRoot(OUT)], { cwd: copy, env, encoding: "utf8" });
  rmSync(copy, { recursive: true, force: true });
  if (status !== 0) throw new ReleaseFault(`the Python SDK cannot be packed: ${stderr.trim()}`);
}

/** Packs everything that is published into one folder: the packages of npm and of PyPI, the Helm chart, the context of the image, the OpenAPI
 *  document, the Postman collection, the bill of materials, the text for the page of the release, and the checksums of all. */
function pack(version: string): void {
  rmSync(inRoot(OUT), { recursive: true, force: true });
  mkdirSync(inRoot(OUT));
  const { date, text } = readSection(version);
  for (const folder of [".", "./sdk"]) readOutput("npm", "pack", folder, "--pack-destination", OUT);
  packPython(date);
  // Helm reads the name of a chart from the chart. The file cannot have the name of the npm package.
  packFiles(`godwit-chart-${version}.tgz`, "packaging/helm", ["godwit"], date);
  packImageContext(version, date);
  cpSync(inRoot("docs/openapi.json"), inRoot(join(OUT, `godwit-${version}.openapi.json`)));
  writeFileSync(inRoot(join(OUT, `godwit-${version}.postman_collection.json`)), `${JSON.stringify(readCollection(), null, 2)}\n`);
  writeFileSync(inRoot(join(OUT, "RELEASE-NOTES.md")), `${text}\n`);
  writeSbom(version);
  const sums = readdirSync(inRoot(OUT))
    .toSorted()
    .map((name) => `${sha256(readFileSync(inRoot(join(OUT, name))))}  ${name}\n`);
  writeFileSync(inRoot(join(OUT, "SHA256SUMS")), sums.join(""));
}

const sha256 = (bytes: Buffer): string => createHash("sha256").update(bytes).digest("hex");

function release(version: string): void {
  try {
    setVersion(version, new Date().toISOString().slice(0, 10));
    run("npm", "run", "--silent", "test:full");
    run("npm", "run", "--silent", "bench", "--", "guard");
    pack(version);
    sign();
    run("git", "commit", "--quiet", "--all", "--message", `Release ${version}`);
    run("git", "tag", "--annotate", `v${version}`, "--message", `Godwit ${version}`);
  } catch (error) {
    // The checkout was clean at the start, so this drops only our own changes.
    readOutput("git", "restore", "--staged", "--worktree", ".");
    throw error;
  }
}

const nextSteps = (version: string): string =>
  [
    "Nothing has been pushed or published. docs/internals/publishing.md describes the accounts that are needed once. The tag starts",
    ".github/workflows/release.yml, which packs these files again, attests and publishes them, and drafts the page of the release:",
    `  git push origin main v${version}`,
    `Add ${OUT}/SHA256SUMS.sig to that page, as the same page says. Without the workflow, publish by hand:`,
    `  npm publish ${OUT}/godwit-${version}.tgz`,
    `  npm publish ${OUT}/godwit-sdk-${version}.tgz`,
    `  twine upload ${OUT}/godwit-${version}-py3-none-any.whl ${OUT}/godwit-${version}.tar.gz`,
    `  docker build --tag godwit:${version} - < ${OUT}/godwit-image-context-${version}.tar.gz`,
    `  helm push ${OUT}/godwit-chart-${version}.tgz oci://REGISTRY/charts`,
  ].join("\n");

function main(): void {
  const options = { "dry-run": { type: "boolean" }, "pack-only": { type: "boolean" } } as const;
  const { values, positionals } = parseArgs({ options, allowPositionals: true });
  const version = positionals[0] ?? "";
  const isPackOnly = values["pack-only"] === true;
  const faults = isPackOnly ? findPackFaults(version) : findFaults(version);
  if (faults.length > 0) throw new ReleaseFault(`no release:\n${faults.map((fault) => `  - ${fault}`).join("\n")}`);
  if (values["dry-run"] === true) {
    say(`All is in order for ${version}: without --dry-run the changelog is dated, the version set, everything tested, packed and tagged.`);
    return;
  }
  if (isPackOnly) {
    pack(version);
    say(`${OUT}/ has the files of ${version}, without a signature.`);
    return;
  }
  release(version);
  say(nextSteps(version));
}

try {
  main();
} catch (error) {
  if (!(error instanceof ReleaseFault) && !(error instanceof TypeError && "code" in error)) throw error;
  process.stderr.write(`release: ${error.message}\n`);
  process.exitCode = 1;
}
