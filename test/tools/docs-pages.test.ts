/** The documentation as it is served: every page of docs/, and every link and anchor in it. */
import assert from "node:assert/strict";
import { existsSync, globSync, readFileSync } from "node:fs";
import { basename, dirname, join, normalize } from "node:path";
import { after, before, describe, test } from "node:test";
import { CONTENTS, resolveLink } from "../../src/api/docs-pages.ts";
import { anchorOf, renderMarkdown } from "../../src/api/markdown.ts";
import { pages, ROOT } from "../support/doc-samples.ts";
import { assertProblem } from "../support/expect.ts";
import { startGodwit, type Godwit } from "../support/harness.ts";

const NAMES = CONTENTS.flatMap(({ pages: listed }) => listed.map(([name]) => name));

let godwit: Godwit;
before(async () => {
  godwit = await startGodwit();
});
after(() => godwit.stop());

const served = async (path: string): Promise<string> => {
  const { status, headers, text } = await godwit.request("GET", path);
  assert.deepEqual([status, headers.get("content-type")], [200, "text/html; charset=utf-8"], path);
  const policy = headers.get("content-security-policy") ?? "";
  assert.match(policy, /^default-src 'none'; style-src 'sha256-[^']+';/);
  assert.doesNotMatch(policy, /unsafe/);
  assert.doesNotMatch(text, /<script|\sstyle=|javascript:/i, path);
  return text;
};

describe("the documentation", () => {
  test("lists every page of docs/, and no other", () => {
    assert.deepEqual(
      NAMES.toSorted(),
      globSync("docs/*.md", { cwd: ROOT })
        .map((path) => basename(path, ".md"))
        .toSorted(),
    );
  });

  test("is served, each page with its title, a list of all pages and no comments", async () => {
    const index = await served("/docs");
    for (const name of NAMES) {
      assert.ok(index.includes(`href="/docs/${name}"`), name);
      const html = await served(`/docs/${name}`);
      assert.match(html, /<h1 id="[^"]+">/, name);
      assert.ok(html.includes(`<a href="/docs/${name}" aria-current="page">`), name);
      assert.doesNotMatch(html, /not run:|&lt;!--/, name);
    }
  });

  test("has valid links when served", async () => {
    const texts = new Map<string, string>();
    const at = async (path: string): Promise<string> => texts.get(path) ?? (texts.set(path, await served(path)).get(path) as string);
    for (const path of ["/docs", "/docs/reference", ...NAMES.map((name) => `/docs/${name}`)]) {
      for (const [, href = ""] of (await at(path)).matchAll(/href="([^"]+)"/g)) {
        if (/^https?:|^\/(openapi\.json|errors\/\w+|console)$/.test(href)) continue;
        const [target = "", anchor] = href.split("#");
        const text = await at(target === "" ? path : target);
        if (anchor !== undefined) assert.ok(text.includes(`id="${anchor}"`), `${path}: ${href}`);
      }
    }
  });

  test("has valid links in the repository", () => {
    for (const page of [...pages(), "sdk/README.md", "ARCHITECTURE.md", "CONTRIBUTING.md"]) {
      const text = readFileSync(join(ROOT, page), "utf8");
      for (const [, href = ""] of text.matchAll(/\]\(([^)\s]+)\)/g)) {
        if (/^https?:/.test(href)) continue;
        const [target = "", anchor] = href.split("#");
        const path = target === "" ? page : normalize(join(dirname(page), target));
        assert.ok(existsSync(join(ROOT, path)), `${page}: ${href}`);
        if (anchor === undefined || !path.endsWith(".md")) continue;
        const headings = Array.from(readFileSync(join(ROOT, path), "utf8").matchAll(/^#+ (.*)$/gm), ([, heading = ""]) =>
          anchorOf(heading.replaceAll("`", "")),
        );
        assert.ok(headings.includes(anchor), `${page}: ${href}`);
      }
    }
  });

  test("names source files that exist", () => {
    const files = globSync(["{src,test,scripts,bench,chaos,fuzz}/**/*.ts", "{sdk,console}/{src,test,scripts}/**/*.{ts,tsx}"], {
      cwd: ROOT,
    });
    for (const page of [...pages(), "ARCHITECTURE.md", "CONTRIBUTING.md", "docs/internals/tables.md", "docs/internals/contract-notes.md"]) {
      const text = readFileSync(join(ROOT, page), "utf8");
      for (const [, name = ""] of text.matchAll(/`([\w./-]+\.tsx?)`/g))
        assert.ok(
          files.some((file) => `/${file}`.endsWith(`/${name}`)),
          `${page}: ${name}`,
        );
    }
  });

  test("has no other pages, and other paths return the usual problem", async () => {
    for (const path of ["/docs/unknown", "/docs/openapi", "/docs/..%2fREADME", "/docs/decisions", "/docs/states.md", "/docs/__proto__"])
      assertProblem(await godwit.request("GET", path), "not_found");
  });

  test("shows HTML in Markdown as text, and has no links to scripts", async () => {
    const text = '# A `b` & c\n\n<script>alert(1)</script> <b onclick="x">\n\n[x](javascript:alert(1)) ![y](z)\n\n# A b & c';
    const html = await renderMarkdown(text, resolveLink);
    assert.doesNotMatch(html, /<script|<b |<img|javascript/);
    assert.match(html, /<h1 id="a-b--c">/);
    assert.match(html, /<h1 id="a-b--c-1">/);
  });
});
