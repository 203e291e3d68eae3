/** The rules by which the documentation differs from plain Markdown: anchors like on GitHub, links between served pages, languages as tabs, and
 *  diagrams as pictures. */
import type { MarkdownIt, Token } from "./markdown-it-types.ts";

/** Returns the target of a link on the served page, or undefined, which leaves only the text of the link. */
export type ResolveLink = (href: string) => string | undefined;

export type MarkdownOptions = {
  resolveLink: ResolveLink;
  /** Draws a diagram, and returns the paths of its picture for a light and for a dark page. */
  drawDiagram: (source: string) => { light: string; dark: string };
};

/** The anchor of a heading like on GitHub, so that one link works in both places: lower case, no punctuation, spaces as hyphens. */
export const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, "")
    .replaceAll(/\s/g, "-");

/** The languages of samples that can be shown as tabs, in their order, with their names. */
const LANGUAGES: ReadonlyMap<string, string> = new Map([
  ["sh", "curl"],
  ["ts", "TypeScript"],
  ["python", "Python"],
]);

/** For texts and for attributes in double quotes. */
export const escapeHtml = (text: string): string => text.replaceAll("&", "&amp;").replaceAll('"', "&quot;").replaceAll("<", "&lt;");

export function extendMarkdown(md: MarkdownIt, { resolveLink, drawDiagram }: MarkdownOptions): void {
  md.set({ html: false, linkify: false, typographer: false });
  md.core.ruler.push("godwit_comments", ({ tokens }) => dropComments(tokens));
  md.core.ruler.push("godwit_headings", ({ tokens }) => addAnchors(tokens));
  md.core.ruler.push("godwit_links", ({ tokens }) => resolveLinks(tokens, resolveLink));
  md.core.ruler.push("godwit_tables", ({ tokens }) => replaceEmptyHeaders(tokens));
  md.core.ruler.push("godwit_tabs", ({ tokens }) => markTabs(tokens));
  const { fence, table_open: tableOpen, table_close: tableClose } = md.renderer.rules;
  md.renderer.rules.fence = (tokens, index, ...rest) => {
    const token = tokens[index] as Token;
    const language = token.info.trim();
    if (language === "mermaid") return picture(token.content, drawDiagram(token.content));
    const code = (fence as NonNullable<typeof fence>)(tokens, index, ...rest).replace("<pre", '<pre tabindex="0"');
    const { tab } = token.meta ?? {};
    const name = LANGUAGES.get(language) ?? language;
    const block = `<div class="sample" data-language="${escapeHtml(language)}"${tab === undefined ? "" : ` data-tab="${name}"`}>${code}</div>\n`;
    return `${tab === "first" ? '<div class="tabs">\n' : ""}${block}${tab === "last" ? "</div>\n" : ""}`;
  };
  // A wide table scrolls inside the page.
  const plain: NonNullable<typeof tableOpen> = (tokens, index, options, _env, self) => self.renderToken(tokens, index, options);
  md.renderer.rules.table_open = (...args) => `<div class="wide" tabindex="0">${(tableOpen ?? plain)(...args)}`;
  md.renderer.rules.table_close = (...args) => `${(tableClose ?? plain)(...args)}</div>`;
}

const picture = (source: string, { light, dark }: { light: string; dark: string }): string =>
  `<figure class="diagram"><img class="on-light" src="${light}" alt="Diagram; its text is below"><img class="on-dark" src="${dark}" alt="">` +
  `<details><summary>The diagram as text</summary><pre tabindex="0"><code>${escapeHtml(source)}</code></pre></details></figure>\n`;

/** Comments are for the authors of a page. With HTML switched off, they would be paragraphs. */
function dropComments(tokens: Token[]): void {
  for (let index = tokens.length - 3; index >= 0; index -= 1)
    if (tokens[index]?.type === "paragraph_open" && /^<!--[^]*-->$/.test(tokens[index + 1]?.content ?? "")) tokens.splice(index, 3);
}

function addAnchors(tokens: readonly Token[]): void {
  const seen = new Map<string, number>();
  tokens.forEach((token, index) => {
    if (token.type !== "heading_open") return;
    const text = (tokens[index + 1]?.children ?? []).map(({ content }) => content).join("");
    const anchor = anchorOf(text);
    const before = seen.get(anchor) ?? 0;
    seen.set(anchor, before + 1);
    token.attrSet("id", before === 0 ? anchor : `${anchor}-${before}`);
  });
}

function resolveLinks(tokens: readonly Token[], resolve: ResolveLink): void {
  for (const { children } of tokens) {
    const open: boolean[] = [];
    for (const child of children ?? []) {
      if (child.type === "link_open") {
        const target = resolve(child.attrGet("href") ?? "");
        open.push(target !== undefined);
        if (target === undefined) hide(child);
        else child.attrSet("href", target);
      } else if (child.type === "link_close" && open.pop() === false) hide(child);
    }
  }
}

/** A link without a target on the site is shown as its text. */
function hide(token: Token): void {
  token.type = "text";
  token.tag = "";
  token.content = "";
  token.nesting = 0;
}

/** A header cell without a text is no header, which a screen reader would announce. */
function replaceEmptyHeaders(tokens: readonly Token[]): void {
  tokens.forEach((token, index) => {
    if (token.type !== "th_open" || tokens[index + 1]?.content !== "") return;
    for (const cell of [token, tokens[index + 2]]) if (cell !== undefined) cell.tag = "td";
  });
}

/** Code blocks of different languages that follow each other are tabs of one sample. */
function markTabs(tokens: readonly Token[]): void {
  const isSample = (token: Token | undefined): boolean => token?.type === "fence" && LANGUAGES.has(token.info.trim());
  for (let from = 0; from < tokens.length; from += 1) {
    if (!isSample(tokens[from])) continue;
    let to = from;
    const languages = new Set<string>();
    while (isSample(tokens[to]) && !languages.has(tokens[to]?.info ?? "")) {
      languages.add(tokens[to]?.info ?? "");
      to += 1;
    }
    const samples = tokens.slice(from, to);
    if (samples.length > 1) samples.forEach((sample, index) => (sample.meta = { tab: tabAt(index, samples.length) }));
    from = to - 1;
  }
}

const tabAt = (index: number, count: number): string => (index === 0 ? "first" : index === count - 1 ? "last" : "between");
