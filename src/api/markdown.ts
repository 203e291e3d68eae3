/** Our Markdown as HTML: headings with anchors as on GitHub, HTML in it shown and never obeyed, links led to where pages are served. */
import type { Marked } from "marked";
import { escapeHtml } from "./html.ts";

/** Where a link leads when served; undefined: nowhere, and its words stand alone. */
export type Resolve = (href: string) => string | undefined;

/** As GitHub makes them, so that one link serves both: lower case, no punctuation, blanks as hyphens. */
export const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, "")
    .replaceAll(/\s/g, "-");

/** Comments are for those who write the page. Only whole lines outside of blocks are taken for one. */
function withoutComments(text: string): string {
  let isBlock = false;
  const isKept = (line: string): boolean => {
    if (line.startsWith("```")) isBlock = !isBlock;
    return isBlock || !/^<!--.*-->$/.test(line);
  };
  return text.split("\n").filter(isKept).join("\n");
}

export async function renderMarkdown(text: string, resolve: Resolve): Promise<string> {
  // Loaded when the first page is asked for: most processes never show one.
  const { Marked } = await import("marked");
  return converter(new Marked(), resolve).parse(withoutComments(text), { async: false });
}

/** A converter for one page, since anchors are counted by page. */
function converter(marked: Marked, resolve: Resolve): Marked {
  const anchors = new Map<string, number>();
  const unique = (anchor: string): string => {
    const before = anchors.get(anchor) ?? 0;
    anchors.set(anchor, before + 1);
    return before === 0 ? anchor : `${anchor}-${before}`;
  };
  return marked.use({
    gfm: true,
    renderer: {
      html: ({ text }) => escapeHtml(text),
      image: ({ text }) => escapeHtml(text),
      code: ({ text }) => `<pre tabindex="0"><code>${escapeHtml(text)}</code></pre>`,
      heading({ tokens, depth }) {
        const id = escapeHtml(unique(anchorOf(plainText(tokens))));
        return `<h${depth} id="${id}"><a class="anchor" href="#${id}">${this.parser.parseInline(tokens)}</a></h${depth}>`;
      },
      link({ href, tokens }) {
        const words = this.parser.parseInline(tokens);
        const target = resolve(href);
        return target === undefined ? words : `<a href="${escapeHtml(target)}">${words}</a>`;
      },
    },
    // A wide table scrolls by itself, and the page does not.
    hooks: { postprocess: (html) => html.replaceAll("<table>", '<div class="wide"><table>').replaceAll("</table>", "</table></div>") },
  });
}

type Token = { raw: string; text?: string; tokens?: Token[] };
const plainText = (tokens: readonly Token[]): string =>
  tokens.map(({ raw, text, tokens: inner }) => (inner === undefined ? (text ?? raw) : plainText(inner))).join("");
