/** The parts of markdown-it that the site uses. The package that Eleventy brings has no types. */
export type Token = {
  type: string;
  tag: string;
  info: string;
  content: string;
  nesting: number;
  children: Token[] | null;
  meta: { tab?: string } | null;
  attrGet(name: string): string | null;
  attrSet(name: string, value: string): void;
};

type Renderer = { renderToken(tokens: Token[], index: number, options: unknown): string };
type Rule = (tokens: Token[], index: number, options: unknown, env: unknown, self: Renderer) => string;

export type MarkdownIt = {
  render(text: string): string;
  renderInline(text: string): string;
  set(options: Record<string, boolean>): void;
  core: { ruler: { push(name: string, rule: (state: { tokens: Token[] }) => void): void } };
  renderer: { rules: Record<string, Rule | undefined> & { fence?: Rule; table_open?: Rule; table_close?: Rule } };
};
