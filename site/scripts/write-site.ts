/** Writes the documentation: Eleventy renders the pages, and Vite the style and the script. */
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import Eleventy from "@11ty/eleventy";
import highlight from "@11ty/eleventy-plugin-syntaxhighlight";
import { renderMermaidSVG } from "beautiful-mermaid";
import { build } from "vite";
import { ERRORS, type ErrorCode } from "../../src/http/codes.ts";
import { CONTENTS, PAGES, REFERENCE, type Entry } from "../contents.ts";
import { SAMPLE_ORIGIN } from "../src/sample-origin.ts";
import { writeIndex, type Section } from "../src/search-index.ts";
import { errorText } from "./error-page.ts";
import { extendMarkdown, type ResolveLink } from "./markdown.ts";
import type { MarkdownIt } from "./markdown-it-types.ts";
import type { OpenApiDocument } from "./openapi-types.ts";
import { referencePage, referenceSections } from "./reference-pages.ts";

const SITE = join(import.meta.dirname, "..");
const ROOT = join(SITE, "..");
const BASE = "/docs/";
const START = "index.html";

// The pages of docs/, and then those that are made from the OpenAPI document.
const MENU = [...CONTENTS.slice(0, -1), ...CONTENTS.slice(-1).map(({ group, pages }) => ({ group, pages: [...pages, REFERENCE] }))];
const REFERENCE_PAGES: readonly Entry[] = [REFERENCE, ...REFERENCE.children];
const ALL_PAGES: readonly Entry[] = [...PAGES, ...REFERENCE_PAGES];

type Assets = { style: string; script: string; icon: string };
/** The name of a page, and its HTML. */
type Rendered = { name: string; html: string };

export async function writeSite(to: string): Promise<void> {
  const assets = await buildAssets(to);
  const openapi = JSON.parse(readFileSync(join(ROOT, "docs", "openapi.json"), "utf8")) as OpenApiDocument;
  const pages = await renderPages(to, assets, openapi);
  writeFileSync(join(to, "assets", "search.json"), searchIndex(pages, openapi));
  writeFileSync(join(to, "llms.txt"), llmsText());
}

/** Builds the script and the style under names with a hash of their content. */
async function buildAssets(to: string): Promise<Assets> {
  const result = await build({
    root: SITE,
    base: BASE,
    configFile: false,
    logLevel: "warn",
    build: {
      target: "es2024",
      outDir: to,
      assetsInlineLimit: 0,
      modulePreload: { polyfill: false },
      reportCompressedSize: false,
      rolldownOptions: { input: ["docs.ts", "docs.css"].map((name) => join(SITE, "src", name)) },
    },
  });
  const names = [result].flat().flatMap((each) => ("output" in each ? each.output.map(({ fileName }) => fileName) : []));
  const named = (pattern: RegExp): string => {
    const name = names.find((each) => pattern.test(each));
    if (name === undefined) throw new Error(`the build has no file like ${pattern}`);
    return BASE + name;
  };
  return {
    style: named(/^assets\/docs-.*\.css$/),
    script: named(/^assets\/docs-.*\.js$/),
    icon: writeAsset(to, "icon", ".svg", readFileSync(join(ROOT, "console", "src", "icon.svg"), "utf8")),
  };
}

function writeAsset(to: string, name: string, extension: string, text: string): string {
  const hash = createHash("sha256").update(text).digest("hex").slice(0, 10);
  const file = join("assets", `${name}-${hash}${extension}`);
  mkdirSync(join(to, "assets"), { recursive: true });
  writeFileSync(join(to, file), text);
  return BASE + file;
}

/** `states.md#x` is a served page, the address of the samples is this service, and `https:` is another site. Any other target exists only in the repository, so it gets no link. */
const resolveLink: ResolveLink = (href) => {
  if (href.startsWith(`${SAMPLE_ORIGIN}/`)) return href.slice(SAMPLE_ORIGIN.length);
  if (/^https?:\/\//.test(href) || href.startsWith("#") || href.startsWith("/")) return href;
  const [, name = "", anchor = ""] = /^(?:\.\/)?([\w-]+)\.md(#.*)?$/.exec(href) ?? [];
  return PAGES.some((page) => page.name === name) ? `${BASE}${name}${anchor}` : undefined;
};

async function renderPages(to: string, assets: Assets, openapi: OpenApiDocument): Promise<Rendered[]> {
  const drawDiagram = (source: string): { light: string; dark: string } => {
    const draw = (theme: string, colors: { bg: string; fg: string; accent: string }): string =>
      writeAsset(to, `diagram-${theme}`, ".svg", renderMermaidSVG(source, { ...colors, transparent: true, font: "system-ui" }));
    return {
      light: draw("light", { bg: "#ffffff", fg: "#1f2422", accent: "#17605c" }),
      dark: draw("dark", { bg: "#1c201f", fg: "#e7ebe9", accent: "#6fc7bf" }),
    };
  };
  const rendered: Rendered[] = [];
  let markdown: MarkdownIt | undefined;
  const eleventy = new Eleventy(join(ROOT, "docs"), to, {
    quietMode: true,
    config(eleventyConfig) {
      eleventyConfig.setTemplateFormats("md,11ty.js");
      eleventyConfig.setIncludesDirectory("../site/src");
      eleventyConfig.setUseGitIgnore(false);
      // Eleventy reads patterns relative to the current folder.
      for (const folder of ["decisions", "internals"])
        eleventyConfig.ignores.add(join(relative(process.cwd(), ROOT), "docs", folder, "**"));
      eleventyConfig.addPlugin(highlight);
      eleventyConfig.amendLibrary("md", (md: MarkdownIt) => {
        extendMarkdown(md, { resolveLink, drawDiagram });
        markdown = md;
      });
      eleventyConfig.addFilter("outline", outline);
      // The pages contain braces, so no other template language reads them.
      eleventyConfig.addGlobalData("templateEngineOverride", "md");
      eleventyConfig.addGlobalData("layout", "layout.liquid");
      eleventyConfig.addGlobalData("assets", assets);
      eleventyConfig.addGlobalData("contents", MENU);
      eleventyConfig.addGlobalData("version", readVersion());
      eleventyConfig.addGlobalData("eleventyComputed", { permalink: pathOf, facts: factsOf });
      eleventyConfig.addTemplate("index.md", indexText(), {
        own: { path: START, title: "Documentation", about: "The documentation of Godwit" },
      });
      eleventyConfig.addTemplate("changelog.md", changelogText(), {
        own: { path: "changelog.html", title: "Changelog", about: "The changes of each version" },
      });
      eleventyConfig.addTemplate("not-found.md", NOT_FOUND, { own: { path: "404.html", title: "Not found", about: "" } });
      const errors = readFileSync(join(ROOT, "docs", "errors.md"), "utf8");
      for (const code of Object.keys(ERRORS) as ErrorCode[])
        eleventyConfig.addTemplate(`error-${code}.md`, errorText(code, errors, openapi.components.examples[code]?.value), {
          own: { path: `errors/${code}.html`, title: code, about: ERRORS[code].title },
        });
      for (const { name } of REFERENCE_PAGES)
        eleventyConfig.addTemplate(`${name}.11ty.js`, () => referencePage(name, openapi, markdown as MarkdownIt), {
          templateEngineOverride: "11ty.js",
        });
      eleventyConfig.addTransform("collect", function (this: { page: { fileSlug: string } }, content: string) {
        rendered.push({ name: this.page.fileSlug, html: content });
        return content;
      });
    },
  });
  // Its summary would be in the output of commands such as npm pack --json.
  eleventy.disableLogger();
  await eleventy.write();
  return rendered;
}

type PageData = { page: { fileSlug: string }; own?: { path: string; title: string; about: string } };

const pathOf = ({ page, own }: PageData): string => own?.path ?? `${page.fileSlug}.html`;

/** The facts about a page that the layout shows. */
function factsOf({ page: { fileSlug: name }, own }: PageData): object {
  const position = ALL_PAGES.findIndex((page) => page.name === name);
  const entry = ALL_PAGES[position];
  if (entry === undefined) return { title: own?.title ?? name, about: own?.about ?? "", isStart: own?.path === START };
  // The page whose children the menu shows: this one, or the one above it.
  const menu = ALL_PAGES.find(({ children = [] }) => children.some((child) => child.name === name))?.name ?? name;
  const isReference = REFERENCE_PAGES.includes(entry);
  const markdownPath = isReference ? undefined : `${BASE}${name}.md`;
  return { ...entry, menu, isReference, markdownPath, previous: ALL_PAGES[position - 1], next: ALL_PAGES[position + 1] };
}

const readVersion = (): string => (JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as { version: string }).version;

type Heading = { level: number; id: string; text: string };

const HEADING = /<h([1-3]) id="([^"]*)"[^>]*>([^]*?)<\/h\1>/g;
const DIAGRAM = /<figure class="diagram">[^]*?<\/figure>/g;
const plainText = (html: string): string => html.replaceAll(/<[^>]*>/g, "");

/** The headings of a page below its title. */
const outline = (html: string): Heading[] =>
  Array.from(html.matchAll(HEADING), ([, level, id = "", inner = ""]) => ({ level: Number(level), id, text: plainText(inner) })).filter(
    ({ level }) => level > 1,
  );

// The first words of a reader's question, each with the pages that answer it, in order.
const PATHS: readonly { title: string; about: string; pages: readonly string[] }[] = [
  {
    title: "Send a first message",
    about: "On your machine, in about two minutes, without a carrier.",
    pages: ["getting-started", "sending", "sdk", "webhooks"],
  },
  {
    title: "Build with an example",
    about: "A server that logs users in with a code, in one file.",
    pages: ["guide-login-codes", "guide-order-updates", "guide-two-way-support", "guide-campaign"],
  },
  {
    title: "Move an application",
    about: "Keep your numbers and your carrier, change a URL.",
    pages: ["migrate-from-twilio", "migrate-from-twilio", "migrate-from-kannel", "consent"],
  },
  {
    title: "Run it in production",
    about: "TLS, a carrier, two nodes, backups and alerts.",
    pages: ["go-live", "production", "backup", "alerts"],
  },
];

const SAMPLE = `\`\`\`sh
curl -sS http://127.0.0.1:8080/v1/messages \\
  -H "Authorization: Bearer $GODWIT_KEY" \\
  -H "Idempotency-Key: $(uuidgen)" \\
  -H "Content-Type: application/json" \\
  -d '{"recipient":"+14155550123","channel":"sms","body":"Hello from Godwit"}'
\`\`\`

\`\`\`ts
import { Godwit } from "godwit-sdk";

const godwit = new Godwit(); // reads GODWIT_KEY
const message = await godwit.messages.send({ recipient: "+14155550123", channel: "sms", body: "Hello from Godwit" });
\`\`\`

\`\`\`python
from godwit import Godwit

godwit = Godwit()  # reads GODWIT_KEY
message = godwit.messages.send(recipient="+14155550123", channel="sms", body="Hello from Godwit")
\`\`\``;

const PICTURE = `graph LR
  service[Your service] <-->|requests, webhooks| godwit[Godwit]
  godwit <-->|SMPP, HTTP| carriers[Carriers]
  carriers <--> phones[Phones]
  godwit <-->|one commit| database[(PostgreSQL)]`;

const linkTo = (name: string): string => `[${PAGES.find((page) => page.name === name)?.title ?? name}](${name}.md)`;
const listOf = (names: readonly string[]): string => names.map((name) => `  - ${linkTo(name)}`).join("\n");

function indexText(): string {
  const paths = PATHS.map(
    ({ title, about, pages: [first = "", ...others] }) => `- **[${title}](${first}.md)** ${about}\n${listOf(others)}`,
  );
  const groups = CONTENTS.map(({ group, pages }) => `- **${group}**\n${listOf(pages.map(({ name }) => name))}`);
  return `# Godwit documentation

Godwit sends and receives SMS and WhatsApp messages through any carrier, on your own servers. A message that it accepts is never lost, and a repeated request
sends nothing twice.

${paths.join("\n")}

${SAMPLE}

Every change of the message is an event, which Godwit delivers to your webhooks. The [API reference](${BASE}reference) has every operation.

\`\`\`mermaid
${PICTURE}
\`\`\`

## All pages

${groups.join("\n")}
`;
}

/** Its links are relative to the repository. */
const changelogText = (): string => readFileSync(join(ROOT, "CHANGELOG.md"), "utf8").replaceAll("](docs/", "](");

const NOT_FOUND = `# This page does not exist

The documentation has moved or the address is mistyped. Search for it, or begin at the [list of all pages](/docs).
`;

/** A section for each heading of each guide, and for each operation. */
function searchIndex(pages: readonly Rendered[], openapi: OpenApiDocument): string {
  const sections: Section[] = referenceSections(openapi);
  for (const { name, title } of PAGES) {
    const html = pages.find((page) => page.name === name)?.html ?? "";
    // The source of a diagram has no sentences.
    const article = (/<article>([^]*)<\/article>/.exec(html)?.[1] ?? "").replaceAll(DIAGRAM, " ");
    const headings = [...article.matchAll(HEADING)];
    headings.forEach((match, index) => {
      const [whole, level, id = "", heading = ""] = match;
      const text = decode(plainText(article.slice(match.index + whole.length, headings[index + 1]?.index)));
      sections.push({
        id: `${name}#${id}`,
        path: level === "1" ? `${BASE}${name}` : `${BASE}${name}#${id}`,
        page: title,
        heading: level === "1" ? title : decode(plainText(heading)),
        text: text.trim(),
      });
    });
  }
  return writeIndex(sections);
}

const decode = (text: string): string =>
  text
    .replaceAll("&lt;", "<")
    .replaceAll("&gt;", ">")
    .replaceAll("&quot;", '"')
    .replaceAll("&#39;", "'")
    .replaceAll("&amp;", "&")
    .replaceAll(/\s+/g, " ");

/** The list of pages for language models, by the proposal of llmstxt.org. */
const llmsText = (): string =>
  `# Godwit

> A self-hosted messaging service: one retry-safe POST /v1/messages in front of any carrier (SMS, WhatsApp), with scoped credentials, exact idempotency, honest delivery states and signed webhooks.

The API is described by [OpenAPI](/openapi.json).

${CONTENTS.map(
  ({ group, pages }) =>
    `## ${group}\n\n${pages
      .flatMap((page) => [page, ...(page.children ?? [])])
      .map(llmsLine)
      .join("\n")}\n`,
).join("\n")}`;

const llmsLine = ({ name, title, about }: Entry): string => `- [${title}](${BASE}${name}.md): ${about}`;
