/** Converts the Markdown of the documentation to HTML. Headings have anchors like on GitHub, HTML is escaped, and links are resolved. */
import type { Marked } from "marked";
import { escapeHtml } from "./html.ts";

/** Returns the target of a link on the served page, or undefined, which leaves only the text of the link. */
export type ResolveLink = (href: string) => string | undefined;

/** The anchor of a heading like on GitHub, so that one link works in both places: lower case, no punctuation, spaces as hyphens. */
export const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, "")
    .replaceAll(/\s/g, "-");

/** Removes comments, which are for the authors of a page. Only a whole line outside of a code block counts as a comment. */
function withoutComments(text: string): string {
  let isBlock = false;
  const isKept = (line: string): boolean => {
    if (line.startsWith("```")) isBlock = !isBlock;
    return isBlock || !/^<!--.*-->$/.test(line);
  };
  return text.split("\n").filter(isKept).join("\n");
}

export async function renderMarkdown(text: string, resolve: ResolveLink): Promise<string> {
  // Loaded at the first request for a page, since most processes never serve one.
  const { Marked } = await import("marked");
  return converter(new Marked(), resolve).parse(withoutComments(text), { async: false });
}

/** Creates a converter for one page, since repeated anchors are numbered by page. */
function converter(marked: Marked, resolve: ResolveLink): Marked {
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
    // A wide table scrolls inside the page.
    hooks: { postprocess: (html) => html.replaceAll("<table>", '<div class="wide"><table>').replaceAll("</table>", "</table></div>") },
  });
}

type Token = { raw: string; text?: string; tokens?: Token[] };
const plainText = (tokens: readonly Token[]): string =>
  tokens.map(({ raw, text, tokens: inner }) => (inner === undefined ? (text ?? raw) : plainText(inner))).join("");
