/** Serves the documentation: the Markdown files of docs/, each with a list of all pages beside it. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { Problem } from "../http/problem.ts";
import { escapeHtml, page } from "./html.ts";
import { renderMarkdown, type ResolveLink } from "./markdown.ts";

const ROOT = join(import.meta.dirname, "..", "..");

/** Every page of docs/, in the order of reading. `test/tools/docs-pages.test.ts` compares the list with the folder. */
export const CONTENTS: readonly { group: string; pages: readonly (readonly [name: string, title: string, about: string])[] }[] = [
  {
    group: "Start",
    pages: [
      ["getting-started", "Getting started", "from nothing to a delivered message in ten minutes"],
      ["idempotency", "Idempotency", "repeating a request safely: what to do about each answer, with recipes"],
      ["errors", "Errors", "every code, what it means and what to do"],
      ["rate-limits", "Rate limits", "quotas, how they are told, how to keep within them"],
      ["limits", "Limits", "the bounds of every request and response"],
      ["http", "HTTP", "order of checks, problems, lists"],
      ["access", "Access", "keys, tokens, scopes, tiers"],
      ["audit", "Audit log", "every change, who made it, and how to verify the log"],
      ["console", "Console", "see, send and understand messages in the browser"],
    ],
  },
  {
    group: "Messages",
    pages: [
      ["states", "States", "what a message goes through"],
      ["delivery", "Delivery", "from the 202 to the carrier"],
      ["templates", "Templates", "texts with variables, checked once"],
      ["batches", "Batches", "a thousand messages in one request"],
      ["fallback", "Fallback", "another channel when the first does not get there"],
      ["verifications", "Verification codes", "codes that prove that someone reads a number"],
      ["consent", "Consent", "opt-outs, service windows, inbound messages"],
      ["recipients", "A person's data", "erase or export everything about one recipient"],
      ["webhooks", "Webhooks", "being told, and verifying it in six languages"],
      ["usage", "Usage", "exact counts"],
    ],
  },
  {
    group: "Running it",
    pages: [
      ["go-live", "Going live", "from an empty machine to real messages: TLS, a carrier, two nodes, backups, alerts"],
      ["production", "Going to production", "TLS, PostgreSQL, nodes, backup, upgrades"],
      ["packaging", "Installing", "npm, systemd, containers, dashboards"],
      ["operation", "Operation", "roles, starting, stopping, metrics, limits"],
      [
        "high-availability",
        "High availability",
        "the loss of the primary: synchronous replication, Patroni, what to see and what not to do",
      ],
      ["scale", "Capacity", "what a message costs, and what a rate needs"],
      ["backup", "Backup and restore", "save the database, bring it back, and decide about waiting messages"],
      ["upgrading", "Upgrading", "new versions beside running nodes, and a newer PostgreSQL"],
      ["tracing", "Tracing", "the caller's trace, and spans for a collector"],
      ["cli", "Command line", "every command"],
      ["links", "Links and routes", "carriers in the configuration file"],
      ["carriers", "HTTP carriers", "Telnyx, Sinch, Vonage, AWS, and how to define another one"],
      ["smpp", "SMPP links", "what such a link does"],
      ["retention", "Retention", "what goes away, and when"],
      ["providers", "Providers", "adding a carrier; the simulator"],
      ["threat-model", "Threat model", "whom the service trusts, and the budget of everybody else"],
      ["glossary", "Glossary", "the terms of the API and the documentation"],
    ],
  },
];

const TITLES: ReadonlyMap<string, string> = new Map(CONTENTS.flatMap(({ pages }) => pages.map(([name, title]) => [name, title] as const)));

/** `states.md#x` is a served page, and `https:` is another site. Any other target exists only in the repository, so it gets no link. */
export const resolveLink: ResolveLink = (href) => {
  if (/^https?:\/\//.test(href) || href.startsWith("#")) return href;
  const [, name = "", anchor = ""] = /^(?:\.\/)?([\w-]+)\.md(#.*)?$/.exec(href) ?? [];
  return TITLES.has(name) ? `/docs/${name}${anchor}` : undefined;
};

function navigation(current: string): string {
  const item = (path: string, title: string): string =>
    `<li><a href="${path}"${path === current ? ' aria-current="page"' : ""}>${escapeHtml(title)}</a>`;
  const groups = CONTENTS.map(
    ({ group, pages }) => `<h2>${group}</h2><ul>${pages.map(([name, title]) => item(`/docs/${name}`, title)).join("")}</ul>`,
  );
  return `<nav aria-label="Documentation"><ul>${item("/docs", "Godwit documentation")}${item("/docs/reference", "API reference")}</ul>${groups.join("")}</nav>`;
}

const pageFrame = (title: string, path: string, body: string): string =>
  page(
    `${title} · Godwit`,
    `<p class="top"><a href="/docs">Godwit documentation</a> · <a href="/docs/reference">API reference</a></p><div class="frame"><main>${body}</main>${navigation(path)}</div>`,
  );

export function docsIndex(): string {
  const groups = CONTENTS.map(
    ({ group, pages }) =>
      `<h2>${group}</h2><ul>${pages.map(([name, title, about]) => `<li><a href="/docs/${name}">${escapeHtml(title)}</a>: ${escapeHtml(about)}`).join("")}</ul>`,
  );
  const intro = `<h1>Godwit documentation</h1><p>One retry-safe <code>POST /v1/messages</code> in front of any carrier. Every route with its fields is in the <a href="/docs/reference">API reference</a>; to look and try, open the <a href="/console">console</a>.</p>`;
  return pageFrame("Documentation", "/docs", intro + groups.join(""));
}

/** Renders each page once, at its first request. Only names of the list are looked for. */
export class DocsPages {
  readonly #rendered = new Map<string, Promise<string>>();

  async render(name: string): Promise<string> {
    const title = TITLES.get(name);
    if (title === undefined) throw new Problem("not_found", { detail: "no such page; /docs lists them" });
    const known = this.#rendered.get(name) ?? renderPage(name, title);
    this.#rendered.set(name, known);
    try {
      return await known;
    } catch (error) {
      this.#rendered.delete(name);
      throw error;
    }
  }
}

async function renderPage(name: string, title: string): Promise<string> {
  const text = await readFile(join(ROOT, "docs", `${name}.md`), "utf8").catch(() => undefined);
  // The installation does not include the documentation.
  if (text === undefined) throw new Problem("not_found", { detail: "this installation came without this page" });
  return pageFrame(title, `/docs/${name}`, await renderMarkdown(text, resolveLink));
}
