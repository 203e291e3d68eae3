/** The documentation as it is served: every page of docs/, and every link and anchor in it. */
import assert from "node:assert/strict";
import { existsSync, globSync, readFileSync } from "node:fs";
import { get } from "node:http";
import { basename, dirname, join, normalize } from "node:path";
import { after, before, describe, test } from "node:test";
import { parse as parseYaml } from "yaml";
import { ERRORS } from "../../src/http/codes.ts";
import { CONTENTS, PAGES, REFERENCE } from "../../site/contents.ts";
import { anchorOf } from "../../site/scripts/markdown.ts";
import { findSections, readIndex } from "../../site/src/search-index.ts";
import { pages, ROOT } from "../support/doc-samples.ts";
import { assertProblem } from "../support/expect.ts";
import { startGodwit, type Godwit, type Reply } from "../support/harness.ts";

const NAMES = PAGES.map(({ name }) => name);
const REFERENCE_NAMES = [REFERENCE, ...REFERENCE.children].map(({ name }) => name);
const BROWSER = { accept: "text/html,*/*;q=0.8" };

let godwit: Godwit;
before(async () => {
  godwit = await startGodwit();
});
after(() => godwit.stop());

/** Gets a page, and asserts that its policy and its markup permit no other script than ours. */
async function served(path: string): Promise<string> {
  const { status, headers, text } = await godwit.request("GET", path);
  assert.deepEqual([status, headers.get("content-type")], [200, "text/html; charset=utf-8"], path);
  const policy = headers.get("content-security-policy") ?? "";
  assert.match(policy, /^default-src 'none'; script-src 'self'; /);
  assert.doesNotMatch(text, /<script>[^<]|<script[^>]*src="(?!\/docs\/assets\/)|\son\w+="|javascript:/i, path);
  assert.doesNotMatch(policy, /unsafe/);
  assert.doesNotMatch(text, /\sstyle=|<style/i, path);
  return text;
}

describe("the documentation", () => {
  test("lists every page of docs/, and no other", () => {
    assert.deepEqual(
      NAMES.toSorted(),
      globSync("docs/*.md", { cwd: ROOT })
        .map((path) => basename(path, ".md"))
        .toSorted(),
    );
  });

  test("is served, each page with its title, the list of all pages, its neighbors and no comments", async () => {
    const index = await served("/docs");
    for (const { name, children = [] } of CONTENTS.flatMap(({ pages: listed }) => listed)) {
      assert.ok(index.includes(`href="/docs/${name}"`), name);
      // The menu has them only where they are wanted.
      const html = children.length === 0 ? "" : await served(`/docs/${name}`);
      for (const child of children) {
        assert.ok(html.includes(`href="/docs/${child.name}"`), child.name);
        assert.ok(!index.includes(`href="/docs/${child.name}"`), child.name);
      }
    }
    for (const [position, { name, title }] of PAGES.entries()) {
      const html = await served(`/docs/${name}`);
      assert.match(html, /<h1 id="[^"]+">/, name);
      assert.ok(html.includes(`<title>${title} · Godwit</title>`), name);
      assert.ok(html.includes(`<a href="/docs/${name}" aria-current="page">`), name);
      for (const [rel, other] of [
        ["prev", PAGES[position - 1]],
        ["next", PAGES[position + 1]],
      ] as const)
        if (other !== undefined) assert.ok(html.includes(`<a rel="${rel}" href="/docs/${other.name}">`), name);
      assert.doesNotMatch(html, /not run:|&lt;!--/, name);
    }
  });

  test("has valid links when served", async () => {
    const texts = new Map<string, string>();
    const at = async (path: string): Promise<string> => texts.get(path) ?? (texts.set(path, await served(path)).get(path) as string);
    for (const path of [
      "/docs",
      "/docs/changelog",
      ...[...NAMES, ...REFERENCE_NAMES].map((name) => `/docs/${name}`),
      ...Object.keys(ERRORS).map((code) => `/errors/${code}`),
    ]) {
      for (const [, href = ""] of (await at(path)).matchAll(/href="([^"]+)"/g)) {
        if (/^https?:|^\/(openapi\.json|console|llms\.txt)$|^\/docs\/assets\/|\.md$/.test(href)) continue;
        const [target = "", anchor] = href.split("#");
        const text = await at(target === "" ? path : target);
        if (anchor !== undefined) assert.ok(text.includes(`id="${anchor}"`), `${path}: ${href}`);
      }
    }
  });

  test("has a section for each alert, to which the alert leads", async () => {
    type Alert = { alert: string; annotations: { runbook_url?: string } };
    const { groups } = parseYaml(readFileSync(join(ROOT, "packaging", "prometheus-alerts.yml"), "utf8")) as {
      groups: { rules: Alert[] }[];
    };
    const alerts = groups.flatMap(({ rules }) => rules);
    const html = await served("/docs/alerts");
    const sections = Array.from(html.matchAll(/<h3 id="([^"]+)"/g), ([, id = ""]) => id);
    for (const { alert, annotations } of alerts)
      assert.equal(annotations.runbook_url, `{{ $externalLabels.godwit_url }}/docs/alerts#${anchorOf(alert)}`, alert);
    assert.ok(alerts.length > 20);
    assert.deepEqual(sections.toSorted(), alerts.map(({ alert }) => anchorOf(alert)).toSorted());
  });

  test("has each page as Markdown, with the URL of this service, and lists them in llms.txt", async () => {
    const list = await godwit.request("GET", "/llms.txt");
    assert.equal(list.headers.get("content-type"), "text/plain; charset=utf-8");
    for (const name of NAMES) {
      const { status, headers, text } = await godwit.request("GET", `/docs/${name}.md`);
      assert.deepEqual([status, headers.get("content-type")], [200, "text/markdown; charset=utf-8"], name);
      assert.match(text, /^# /);
      assert.ok(list.text.includes(`(/docs/${name}.md)`), name);
    }
    const { text } = await godwit.request("GET", "/docs/getting-started.md");
    assert.ok(text.includes(`curl -sS ${godwit.url}/v1/messages`));
    assert.ok(text.includes(`(${godwit.url}/console)`));
    const { text: sdk } = await godwit.request("GET", "/docs/sdk.md");
    assert.ok(sdk.includes("| `base_url` | `http://127.0.0.1:8080` |"), "the default of a setting stays");
  });

  test("loads less than 100 kB for a page", async () => {
    for (const path of ["/docs", "/docs/changelog", "/docs/cli", ...REFERENCE_NAMES.map((name) => `/docs/${name}`)]) {
      const html = await served(path);
      const files = new Set(Array.from(html.matchAll(/(?:src|href)="(\/docs\/assets\/[^"]+)"/g), ([, file = ""]) => file));
      let size = 0;
      for (const file of [path, ...files]) size += await compressedSize(file);
      assert.ok(size < 100_000, `${path}: ${size} bytes with ${files.size} files`);
    }
  });

  test("finds the answer to a question, also with words that the pages do not have", async () => {
    const index = await readIndex((await godwit.request("GET", "/docs/assets/search.json")).text);
    for (const [question, path] of [
      ["how long are messages kept", "retention#deletion-times"],
      ["why was my message not delivered", "troubleshooting#message-is-failed-undelivered-or-expired"],
      ["delete customer data", "recipients#erasure"],
      ["GDPR", "recipients#erasure"],
      ["privacy", "recipients#erasure"],
      ["STOP", "inbound#opt-out-words"],
      ["stopping the service", "operation#stop"],
      ["duplicates", "idempotency"],
      ["cost of a message", "usage"],
      ["2FA", "verifications"],
      ["otp", "verifications"],
      ["webhok signatures", "webhooks#verify-signatures"],
      ["how", "limits#how-requests-are-counted"],
    ] as const) {
      const found = findSections(index, question).map((each) => each.path);
      assert.ok(found.slice(0, 6).includes(`/docs/${path}`), `${question}: ${found.join(" ")}`);
    }
    assert.deepEqual(findSections(index, "zzzzqqqq"), []);
  });

  test("finds the page of a common term among the first three", async () => {
    const index = await readIndex((await godwit.request("GET", "/docs/assets/search.json")).text);
    for (const [term, path] of [
      ["pagination", "http#lists"],
      ["environment variables", "settings#set-a-value"],
      ["country not allowed", "errors#destination_not_permitted"],
      ["short code", "routing#senders"],
      ["character limit", "sending#segments-of-an-sms"],
      ["message length", "sending#segments-of-an-sms"],
      ["unicode", "sending#segments-of-an-sms"],
      ["delivery report", "states#receipts"],
      ["blocked", "states#error-codes-of-messages"],
      ["api key", "access"],
    ] as const) {
      const found = findSections(index, term).map((each) => each.path);
      assert.ok(found.slice(0, 3).includes(`/docs/${path}`), `${term}: ${found.join(" ")}`);
    }
  });

  test("has no source of a diagram in an excerpt", async () => {
    const index = await readIndex((await godwit.request("GET", "/docs/assets/search.json")).text);
    const excerpts = findSections(index, "scheduled canceled").map(({ excerpt }) => excerpt.map(({ text }) => text).join(""));
    assert.ok(excerpts.length > 0);
    for (const excerpt of excerpts) assert.doesNotMatch(excerpt, /-->|stateDiagram/);
  });

  test("shows the part with the most words that were found", async () => {
    const index = await readIndex((await godwit.request("GET", "/docs/assets/search.json")).text);
    const found = findSections(index, "messages deleted by retention").find(({ path }) => path === "/docs/retention");
    const excerpt = found?.excerpt ?? [];
    assert.ok(excerpt.some(({ text, isMatch }) => isMatch && text === "deleted"));
    assert.ok(excerpt.map(({ text }) => text).join("").length < 180);
  });

  test("keeps files with a hash in the name for ever, and asks again for others", async () => {
    const html = await served("/docs");
    const [style = ""] = /\/docs\/assets\/docs-[^"]+\.css/.exec(html) ?? [];
    assert.match((await godwit.request("GET", style)).headers.get("cache-control") ?? "", /immutable/);
    const index = await godwit.request("GET", "/docs/assets/search.json");
    assert.equal(index.status, 200);
    assert.doesNotMatch(index.headers.get("cache-control") ?? "", /immutable/);
  });

  test("has a page for each error code with a response, and a list", async () => {
    const { status, headers } = await godwit.request("GET", "/errors");
    assert.deepEqual([status, headers.get("location")], [303, "/docs/errors"]);
    const html = await served("/errors/no_route");
    assert.match(html, /<h1 id="no_route">/);
    assert.match(html, /"request_id"/);
  });

  test("has valid links in the repository", () => {
    const internals = ["providers", "publishing", "terms", "threat-model"].map((name) => `docs/internals/${name}.md`);
    const others = [...internals, "sdk/README.md", "ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md"];
    for (const page of [...pages(), ...others]) {
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
    const files = globSync(
      ["{src,test,scripts,bench,chaos,fuzz}/**/*.ts", "{sdk,sdk-python,console,site}/{src,test,scripts}/**/*.{ts,tsx}", "site/*.ts"],
      {
        cwd: ROOT,
      },
    );
    for (const page of [
      ...pages(),
      "ARCHITECTURE.md",
      "CONTRIBUTING.md",
      "docs/internals/tables.md",
      "docs/internals/contract-notes.md",
      "docs/internals/words.md",
      "docs/internals/providers.md",
      "docs/internals/publishing.md",
    ]) {
      const text = readFileSync(join(ROOT, page), "utf8");
      for (const [, name = ""] of text.matchAll(/`([\w./-]+\.tsx?)`/g))
        assert.ok(
          files.some((file) => `/${file}`.endsWith(`/${name}`)),
          `${page}: ${name}`,
        );
    }
  });

  test("has no other pages: a program gets the usual problem, and a browser a page", async () => {
    const paths = [
      "/docs/unknown",
      "/docs/openapi",
      "/docs/..%2fREADME",
      "/docs/decisions",
      "/docs/index",
      "/docs/404",
      "/docs/unknown.md",
      "/docs/reference.md",
      "/docs/reference-unknown",
      "/docs/__proto__",
      "/errors/unknown",
    ];
    for (const path of [...paths, "/docs/assets/unknown.js", "/docs/assets/..%2f..%2fpackage.json"])
      assertProblem(await godwit.request("GET", path), "not_found");
    for (const path of paths) {
      const { status, text }: Reply = await godwit.request("GET", path, { headers: BROWSER });
      assert.equal(status, 404);
      assert.match(text, /This page does not exist/);
    }
  });

  test("shows the groups of tasks in their order", () => {
    assert.deepEqual(
      CONTENTS.map(({ group }) => group),
      ["Get started", "Guides", "Send", "Receive", "Go live", "Operate", "Reference"],
    );
  });
});

describe("the API reference", () => {
  type Documented = { operationId: string; summary: string; parameters: { name: string }[]; responses: object };
  const openapi = JSON.parse(readFileSync(join(ROOT, "docs", "openapi.json"), "utf8")) as {
    paths: Record<string, Record<string, Documented>>;
    components: { schemas: Record<string, { properties?: object }> };
  };
  const operations = Object.entries(openapi.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ ...operation, path, call: `${method.toUpperCase()} ${path}` })),
  );

  /** The operations of a page as HTML, by id. */
  async function sectionsOf(name: string): Promise<[id: string, html: string][]> {
    const html = await served(`/docs/${name}`);
    return html
      .split('<section class="operation">')
      .slice(1)
      .map((section) => [/^<h2 id="([^"]+)">/.exec(section)?.[1] ?? "", section]);
  }

  test("has a page for each tag with its operations: parameters, fields, samples, statuses and a form", async () => {
    const sections = new Map((await Promise.all(REFERENCE_NAMES.map(sectionsOf))).flat());
    assert.deepEqual([...sections.keys()].toSorted(), [...operations.map(({ operationId }) => operationId), "receiveEvent"].toSorted());
    for (const { operationId, summary, path, parameters, responses } of operations) {
      const html = sections.get(operationId) ?? "";
      assert.ok(html.includes(`>${summary}</h2>`) && html.includes(`<code>${path}</code>`), operationId);
      for (const { name } of parameters) assert.ok(html.includes(`<dt><code>${name}</code>`), `${operationId}: ${name}`);
      for (const status of Object.keys(responses))
        assert.ok(html.includes(`<h3>Response ${status}</h3>`) || html.includes(`<td>${status}</td>`), `${operationId}: ${status}`);
      for (const language of ["curl", "TypeScript", "Python"])
        assert.ok(html.includes(`data-tab="${language}"`), `${operationId}: ${language}`);
      // A stream does not end, so no form can show its response.
      assert.equal(html.includes('<details class="try" hidden'), operationId !== "streamEvents", operationId);
    }
    for (const field of Object.keys(openapi.components.schemas["NewMessage"]?.properties ?? {}))
      assert.ok(sections.get("sendMessage")?.includes(`<dt><code>${field}</code>`), field);
    const [own = "", shared = ""] =
      (sections.get("sendMessage") ?? "").split("<h3>Errors</h3>")[1]?.split("codes that many operations have") ?? [];
    assert.match(own, /<td>422<\/td><td><a href="\/errors\/no_route">/);
    assert.match(shared, /<td>401<\/td>/);
    assert.doesNotMatch(own, /<td>401<\/td>/);
    assert.ok(sections.get("sendMessage")?.includes("<summary>Fields of <code>content</code></summary>"));
  });

  test("has an overview of all operations, with the anchors of the page that had all of them", async () => {
    const html = await served("/docs/reference");
    for (const { operationId } of operations) {
      assert.ok(html.includes(`id="operation/${operationId}"`), operationId);
      assert.match(html, new RegExp(`href="/docs/reference-[a-z-]+#${operationId}"`));
    }
  });

  test("is found by the search, by id, path and summary of an operation", async () => {
    const index = await readIndex((await godwit.request("GET", "/docs/assets/search.json")).text);
    for (const { operationId, summary, call } of operations)
      for (const text of [operationId, call, summary]) {
        const found = findSections(index, text).map(({ path }) => path);
        assert.ok(
          found.some((path) => path.endsWith(`#${operationId}`)),
          `${operationId} by ${text}: ${found.join(" ")}`,
        );
      }
  });
});

/** Counts the bytes on the wire, which `fetch` does not show. */
const compressedSize = (path: string): Promise<number> =>
  new Promise((resolve, reject) => {
    get(godwit.url + path, { headers: { "accept-encoding": "gzip" } }, (response) => {
      let size = 0;
      response.on("data", (chunk: Buffer) => (size += chunk.length)).on("end", () => resolve(size));
    }).on("error", reject);
  });
