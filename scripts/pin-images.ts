/** Pins the images of Dockerfile and compose.yaml: npm run pin-images. Each reference `name:tag` gets the digest that the tag has at the registry
 *  now, so that a later change of the tag changes no installation. The digest is computed from the manifest and not taken from a header. */
import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";

const ROOT = join(import.meta.dirname, "..");
const FILES = ["Dockerfile", "compose.yaml"] as const;
/** `FROM` in the one file and `image:` in the other. Our own image is built and not pulled. */
const REFERENCE = /^(FROM |\s+image: )((?!godwit:)[a-z0-9./-]+:[\w.-]+)(@sha256:[0-9a-f]{64})?(?=\s|$)/gm;
// A list of images for several machines, in both formats that registries use.
const ACCEPT = "application/vnd.oci.image.index.v1+json, application/vnd.docker.distribution.manifest.list.v2+json";

/** Returns the references without a digest. */
export const findUnpinned = (root = ROOT): string[] =>
  FILES.flatMap((file) =>
    Array.from(readFileSync(join(root, file), "utf8").matchAll(REFERENCE), ([, , image = "", digest]) =>
      digest === undefined ? [`${file}: ${image} has no digest: run npm run pin-images`] : [],
    ).flat(),
  );

async function fetchOk(url: string, headers: Record<string, string> = {}): Promise<Response> {
  const response = await fetch(url, { headers, signal: AbortSignal.timeout(30_000) });
  if (!response.ok) throw new Error(`${url} responds ${response.status}`);
  return response;
}

/** Only Docker's official images are used. */
async function digestOf(image: string, { registry, auth }: { registry: string; auth: string }): Promise<string> {
  const [name = "", tag = ""] = image.split(":");
  const repository = name.includes("/") ? name : `library/${name}`;
  const granted = await fetchOk(`${auth}/token?service=registry.docker.io&scope=repository:${repository}:pull`);
  const { token } = (await granted.json()) as { token: string };
  const manifest = await fetchOk(`${registry}/v2/${repository}/manifests/${tag}`, { authorization: `Bearer ${token}`, accept: ACCEPT });
  return createHash("sha256")
    .update(Buffer.from(await manifest.arrayBuffer()))
    .digest("hex");
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      registry: { type: "string", default: "https://registry-1.docker.io" },
      auth: { type: "string", default: "https://auth.docker.io" },
    },
  });
  const texts = new Map(FILES.map((file) => [file, readFileSync(join(ROOT, file), "utf8")]));
  const images = new Set(Array.from(texts.values(), (text) => Array.from(text.matchAll(REFERENCE), ([, , image = ""]) => image)).flat());
  const digests = new Map<string, string>();
  for (const image of images) digests.set(image, await digestOf(image, values));
  for (const [file, text] of texts)
    writeFileSync(
      join(ROOT, file),
      text.replaceAll(REFERENCE, (_, before: string, image: string) => `${before}${image}@sha256:${digests.get(image)}`),
    );
  for (const [image, digest] of digests) process.stdout.write(`${image}@sha256:${digest}\n`);
}

if (import.meta.main) await main();
