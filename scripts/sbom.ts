/** The software bill of materials of a release, in CycloneDX: every npm package that the service installs or has in its console and its documentation, with version and
 *  integrity. `npm sbom --omit dev` cannot be used: it leaves out packages that a development dependency needs as well. */
import { createHash } from "node:crypto";

type LockEntry = {
  version?: string;
  integrity?: string;
  resolved?: string;
  license?: string;
  dev?: boolean;
  link?: boolean;
  dependencies?: Record<string, string>;
  optionalDependencies?: Record<string, string>;
  peerDependencies?: Record<string, string>;
};

export type LockFile = { packages: Readonly<Record<string, LockEntry>> };

type Component = {
  type: "library";
  "bom-ref": string;
  name: string;
  version: string;
  purl: string;
  hashes: { alg: string; content: string }[];
  licenses?: { expression: string }[];
  externalReferences?: { type: "distribution"; url: string }[];
};

export type Sbom = {
  bomFormat: "CycloneDX";
  specVersion: "1.6";
  serialNumber: string;
  version: 1;
  metadata: { component: { type: "application"; "bom-ref": string; name: string; version: string; purl: string } };
  components: Component[];
};

/** The packages whose code is in the built console and in the built documentation, by folder. The lock file has them as development dependencies. */
export const BUNDLED: Readonly<Record<string, readonly string[]>> = { console: ["preact"], site: ["minisearch"] };

const isBundled = (name: string): boolean => Object.values(BUNDLED).some((names) => names.includes(name));

const ALGORITHMS: Readonly<Record<string, string>> = { sha512: "SHA-512", sha384: "SHA-384", sha256: "SHA-256", sha1: "SHA-1" };

const nameOf = (path: string): string => path.slice(path.lastIndexOf("node_modules/") + "node_modules/".length);
const purlOf = (name: string, version: string): string => `pkg:npm/${name.replace(/^@/, "%40")}@${version}`;

export function makeSbom(lock: LockFile, version: string): Sbom {
  const shipped = Object.entries(lock.packages).filter(
    ([path, { dev, link }]) => path.includes("node_modules/") && link !== true && (dev !== true || isBundled(nameOf(path))),
  );
  const components = shipped.map(([path, entry]) => toComponent(nameOf(path), entry)).toSorted((a, b) => a.purl.localeCompare(b.purl));
  const purl = purlOf("godwit", version);
  return {
    bomFormat: "CycloneDX",
    specVersion: "1.6",
    serialNumber: `urn:uuid:${uuidOf(JSON.stringify([version, components]))}`,
    version: 1,
    metadata: { component: { type: "application", "bom-ref": purl, name: "godwit", version, purl } },
    components: components.filter(({ purl: own }, index) => components.findIndex((other) => other.purl === own) === index),
  };
}

function toComponent(name: string, { version = "", integrity = "", license, resolved }: LockEntry): Component {
  const purl = purlOf(name, version);
  return {
    type: "library",
    "bom-ref": purl,
    name,
    version,
    purl,
    hashes: hashesOf(integrity),
    ...(license === undefined ? {} : { licenses: [{ expression: license }] }),
    ...(resolved === undefined ? {} : { externalReferences: [{ type: "distribution", url: resolved }] }),
  };
}

const hashesOf = (integrity: string): Component["hashes"] =>
  integrity.split(/\s+/).flatMap((each) => {
    const [algorithm = "", digest = ""] = each.split(/-(.*)/s);
    const alg = ALGORITHMS[algorithm];
    return alg === undefined ? [] : [{ alg, content: Buffer.from(digest, "base64").toString("hex") }];
  });

/** A UUID of the content, so that the same release has the same document. */
function uuidOf(text: string): string {
  const bytes = createHash("sha256").update(text).digest();
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x80;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  return bytes.toString("hex", 0, 16).replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}

/** Compares the document with the lock file, and returns the differences. The packages are found by following the dependencies from the root,
 *  as Node resolves them, and not by the marks that `makeSbom` reads. */
export function findSbomFaults({ components }: Sbom, lock: LockFile): string[] {
  const expected = new Map<string, string>();
  for (const path of reachable(lock)) {
    const { version = "", integrity = "" } = lock.packages[path] ?? {};
    if (hashesOf(integrity).length === 0) return [`${path} has no integrity in the lock file`];
    expected.set(purlOf(nameOf(path), version), JSON.stringify(hashesOf(integrity)));
  }
  const listed = new Map(components.map(({ purl, hashes }) => [purl, JSON.stringify(hashes)]));
  return [
    ...[...expected].filter(([purl]) => !listed.has(purl)).map(([purl]) => `${purl} is shipped and not listed`),
    ...[...listed].filter(([purl]) => !expected.has(purl)).map(([purl]) => `${purl} is listed and not shipped`),
    ...[...expected].filter(([purl, hashes]) => (listed.get(purl) ?? hashes) !== hashes).map(([purl]) => `${purl} has another integrity`),
    ...(listed.size === components.length ? [] : ["a package is listed twice"]),
  ];
}

function reachable({ packages }: LockFile): Set<string> {
  const found = new Set<string>();
  const visit = (from: string, names: readonly string[]): void => {
    for (const name of names) {
      const path = resolveFrom(from, name, packages);
      // An optional or a peer dependency may be absent.
      if (path === undefined || found.has(path)) continue;
      found.add(path);
      visit(path, dependenciesOf(packages[path]));
    }
  };
  visit("", dependenciesOf(packages[""]));
  for (const [folder, names] of Object.entries(BUNDLED)) visit(folder, names);
  return found;
}

const dependenciesOf = ({ dependencies, optionalDependencies, peerDependencies }: LockEntry = {}): string[] =>
  Object.keys({ ...dependencies, ...optionalDependencies, ...peerDependencies });

/** The nearest `node_modules` that has the package, from the folder of the one that needs it upwards. */
function resolveFrom(from: string, name: string, packages: LockFile["packages"]): string | undefined {
  for (let folder = from; ; folder = folder.slice(0, Math.max(0, folder.lastIndexOf("/node_modules/")))) {
    const path = `${folder === "" ? "" : `${folder}/`}node_modules/${name}`;
    if (packages[path] !== undefined) return path;
    if (folder === "") return undefined;
  }
}
