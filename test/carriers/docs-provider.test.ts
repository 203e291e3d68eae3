/** Follows "Add a provider" of docs/internals/providers.md step by step in a copy of the source. The provider compiles and conforms. */
import assert from "node:assert/strict";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { ROOT, samplesOf } from "../support/doc-samples.ts";
import { execute } from "../support/shell-session.ts";

const [provider, row, suite] = samplesOf("docs/internals/providers.md")
  .filter(({ language }) => language === "ts")
  .map(({ text }) => text);

/** Acme as the page describes it: responses by recipient, and receipts that are kept until they are confirmed. */
const CARRIER = `
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { json } from "node:stream/consumers";
import { after } from "node:test";
import { acme } from "../../src/providers/acme/acme.ts";
import { describeProvider } from "../support/provider-conformance.ts";

const servers: Server[] = [];
after(() => {
  for (const server of servers) {
    server.closeAllConnections();
    server.close();
  }
});

async function startCarrier(mode: "answers" | "is silent"): Promise<string> {
  const receipts = new Map<string, object>();
  let count = 0;
  const taken = (reference: string, state: string): string => {
    const number = String(++count);
    receipts.set(number, { number, id: "acme-" + number, reference, state, code: state === "FAILED" ? "E40" : null });
    return "acme-" + number;
  };
  const server = createServer((request, response) => {
    void (async () => {
      const body = (await json(request)) as { reference: string; to: string; max: number; numbers: string[] };
      const answer = (status: number, value: object): void => {
        response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(value));
      };
      if (request.url === "/receipts") return answer(200, [...receipts.values()].slice(0, body.max));
      if (request.url === "/receipts/confirm") {
        for (const number of body.numbers) receipts.delete(number);
        return answer(200, {});
      }
      if (mode === "is silent") return;
      if (body.to === "+15005550002") return answer(422, { code: "E17", message: "no such number" });
      if (body.to === "+15005550012") return answer(429, {});
      const id = taken(body.reference, body.to === "+15005550005" ? "FAILED" : "DELIVERED");
      return body.to === "+15005550013" ? answer(502, {}) : answer(201, { id });
    })().catch(() => response.destroy());
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  servers.push(server);
  return "http://127.0.0.1:" + String((server.address() as AddressInfo).port);
}
`;

test("the provider of docs/internals/providers.md compiles, can be configured and passes the conformance suite", async () => {
  const folder = mkdtempSync(join(tmpdir(), "godwit-provider-"));
  try {
    for (const name of ["src", "test", "scripts", "docs", "package.json", "tsconfig.json"])
      cpSync(join(ROOT, name), join(folder, name), { recursive: true });
    symlinkSync(join(ROOT, "node_modules"), join(folder, "node_modules"));
    follow(folder);
    const env = { PATH: process.env["PATH"] ?? "" };
    const config = { extends: "./tsconfig.json", include: ["src", "test/carriers/provider-acme.test.ts"], exclude: ["src/**/*.test.ts"] };
    writeFileSync(join(folder, "tsconfig.acme.json"), JSON.stringify(config));
    const tsc = join(ROOT, "node_modules", "typescript", "bin", "tsc");
    const compiled = await execute(process.execPath, [tsc, "-p", "tsconfig.acme.json"], { cwd: folder, env });
    assert.equal(compiled.code, 0, compiled.output);
    const ran = await execute(process.execPath, ["--test", "test/carriers/provider-acme.test.ts"], { cwd: folder, env });
    assert.equal(ran.code, 0, ran.output);
    assert.match(ran.output, /pass [1-9]\d/);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

function follow(folder: string): void {
  mkdirSync(join(folder, "src", "providers", "acme"));
  writeFileSync(join(folder, "src", "providers", "acme", "acme.ts"), provider ?? "");
  edit(join(folder, "src", "providers", "providers.ts"), [
    ["import { simulator }", 'import { acme } from "./acme/acme.ts";\nimport { simulator }'],
    ["PROVIDERS = { ", "PROVIDERS = { acme, "],
  ]);
  const kinds = "export const LINK_KINDS: Readonly<Record<ProviderName, LinkKind>> = {\n";
  edit(join(folder, "src", "links", "link-settings.ts"), [[kinds, `${kinds}${row ?? ""}\n`]]);
  const toml = `[[link]]\\nname = "acme"\\nprovider = "acme"\\nurl = "https://acme.example"\\ntoken_env = "ACME_TOKEN"`;
  const configured = `
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { test } from "node:test";
import { readConfig } from "../../src/config.ts";
test("its link is read from the configuration file", () => {
  writeFileSync("acme.toml", '${toml}');
  const { plan } = readConfig({ config: "acme.toml" }, "serve", { ACME_TOKEN: "t" });
  const [link] = plan.links;
  const settings = link?.settings as { url: string; token: string };
  assert.deepEqual([link?.provider, settings.url, settings.token], ["acme", "https://acme.example", "t"]);
});
`;
  writeFileSync(join(folder, "test", "carriers", "provider-acme.test.ts"), `${CARRIER}\n${suite ?? ""}\n${configured}`);
}

function edit(path: string, changes: readonly (readonly [string, string])[]): void {
  const text = readFileSync(path, "utf8");
  for (const [from] of changes) assert.ok(text.includes(from), `${path} has no ${from}`);
  writeFileSync(
    path,
    changes.reduce((changed, [from, to]) => changed.replace(from, to), text),
  );
}
