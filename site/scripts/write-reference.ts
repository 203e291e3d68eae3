/** Writes the API reference: Redocly renders the OpenAPI document once, and its library makes the page interactive. The page loads nothing from
 *  other hosts, and has no inline scripts. */
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { withCodeSamples } from "../../scripts/code-samples.ts";

const require = createRequire(import.meta.url);
// The program contains the library in the version that it renders with.
const CLI = dirname(require.resolve("@redocly/cli/package.json"));
const SITE = join(import.meta.dirname, "..");
const ROOT = join(SITE, "..");

/** `writeAsset` writes a file under a name with a hash of its content, and returns its path. */
export function writeReference(
  to: string,
  { icon, referenceStyle }: { icon: string; referenceStyle: string },
  writeAsset: (name: string, extension: string, text: string) => string,
): void {
  const library = writeAsset("redoc", ".js", ownLibrary(icon));
  const rendered = render();
  const [, definition] = /const __redoc_definition = (\{[^]*?\});\s*const __redoc_options/.exec(rendered) ?? [];
  const [, options] = /const __redoc_options = (\{[^]*?\});\s*hydrate/.exec(rendered) ?? [];
  const [, body] = /<body[^>]*>([^]*)<script type="module">/.exec(rendered) ?? [];
  const styles = Array.from(rendered.matchAll(/<style[^>]*>[^]*?<\/style>/g), ([whole]) => whole).join("");
  if (definition === undefined || options === undefined || body === undefined)
    throw new Error("the API reference has another form than expected");
  const script = writeAsset(
    "reference",
    ".js",
    `import { hydrate } from "${library}";\nhydrate(${definition}, ${options}, document.getElementById("redoc"));\n`,
  );
  const theme = writeAsset("reference-theme", ".js", readFileSync(join(SITE, "src", "reference-theme.js"), "utf8"));
  writeFileSync(
    join(to, "reference.html"),
    `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width,initial-scale=1">
<title>API reference · Godwit</title>
<link rel="icon" href="${icon}" type="image/svg+xml">
<link rel="stylesheet" href="${referenceStyle}">
${styles}
<script src="${theme}"></script>
<script type="module" src="${script}"></script>
</head>
<body>
<header class="bar"><a class="brand" href="/docs"><img src="${icon}" alt="" width="28" height="28">Godwit</a>
<nav class="places" aria-label="Places"><a href="/docs">Guides</a><a href="/docs/reference" aria-current="true">API reference</a><a href="/openapi.json">OpenAPI</a><a href="/console">Console</a></nav></header>
${body.replaceAll(/<script>[^]*?<\/script>/g, "<script></script>")}
</body>
</html>
`,
  );
}

/** The library without its logo, which it would load from another host. The policy of the page blocks such requests as well. */
const ownLibrary = (icon: string): string =>
  readFileSync(join(CLI, "lib", "chunks", "redoc.standalone.js"), "utf8").replaceAll(
    /https:\/\/cdn\.redoc\.ly\/redoc\/logo-mini(-full)?\.svg/g,
    icon,
  );

/** Renders the OpenAPI document with a sample of each operation in three languages. */
function render(): string {
  const folder = mkdtempSync(join(tmpdir(), "godwit-reference-"));
  try {
    const [document, page] = [join(folder, "openapi.json"), join(folder, "reference.html")];
    writeFileSync(document, JSON.stringify(withCodeSamples(JSON.parse(readFileSync(join(ROOT, "docs", "openapi.json"), "utf8")))));
    // In the root, where redocly.yaml switches telemetry off.
    execFileSync(process.execPath, [join(CLI, "bin", "cli.js"), "build-docs", document, "--output", page], { cwd: ROOT, stdio: "pipe" });
    return readFileSync(page, "utf8");
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
