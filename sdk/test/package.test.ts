/** The published package: packed, installed in an empty project, compiled, and run against a live service. */
import assert from "node:assert/strict";
import { existsSync, globSync, readFileSync } from "node:fs";
import { basename, delimiter, join } from "node:path";
import { after, before, describe, test } from "node:test";
import { publint } from "publint";
import { formatMessage } from "publint/utils";
import { startGodwit, type Godwit as Server } from "../../test/support/harness.ts";
import { PackedProject, run } from "./packed-project.ts";

const SDK = join(import.meta.dirname, "..");

/** The first calls of a typical program in plain JavaScript. Prints one line. */
const CONSUMER = `
import { ApiError, Godwit, hasCode, verifyWebhook } from "godwit-sdk";
const godwit = new Godwit({ apiKey: KEY, baseUrl: URL });
const sent = await godwit.messages.send({ recipient: "+14155550123", channel: "sms", body: "Hello" }).withResponse();
const ids = [];
for await (const message of godwit.messages.list({ limit: 1 })) if (ids.push(message.id) > 2) break;
const refusal = await godwit.messages.send({ recipient: "+15005550004", channel: "sms", body: "Hello" }).catch((error) => error);
const forged = await verifyWebhook("{}", { "webhook-id": "a", "webhook-timestamp": "1", "webhook-signature": "v1,AAAA" }, "whsec_AAAA").catch((error) => error.reason);
const file = await godwit.media.upload(new Blob(["a file"]).stream(), { fileName: "a.txt" });
const text = await new Response(await godwit.media.download(file.id)).text();
let streamed;
for await (const event of godwit.events.stream({}, { lastEventId: (await godwit.events.list().page()).data.at(-1).id })) { streamed = event.id; break; }
console.log([sent.status, ids.includes(sent.data.id), hasCode(refusal, "recipient_opted_out"), refusal instanceof ApiError, forged, /^evt_/.test(streamed), text].join(" "));
`;
const EXPECTED = "202 true true true timestamp_too_old true a file";

const TYPED = `
declare const process: { env: Record<string, string | undefined> };
import { Godwit, hasCode, verifyWebhook, type GodwitEvent, type Message, type NewMessage } from "godwit-sdk";
const godwit = new Godwit({ apiKey: process.env["KEY"], baseUrl: process.env["URL"] });
const message: NewMessage = { recipient: "+14155550123", channel: "sms", body: "Hello" };
export async function use(): Promise<string[]> {
  const sent: Message = await godwit.messages.send(message, { signal: new AbortController().signal });
  // @ts-expect-error -- the channel is one of two
  await godwit.messages.send({ recipient: "+14155550123", channel: "fax" });
  // @ts-expect-error -- a message has no such field
  const wrong: unknown = sent.no_such_field;
  // @ts-expect-error -- a code that the service does not know of is a slip of the pen, but codes may grow: only its type is held
  hasCode(wrong, 7);
  const event: GodwitEvent = await verifyWebhook("{}", new Headers(), ["whsec_AAAA"]);
  if (event.type === "message.delivered") return [event.data.message.status];
  if (event.type === "media.ready") return [event.data.media.id];
  if (event.type === "message.received" && event.data.message.content?.type === "reply") return [event.data.message.content.kind];
  await godwit.messages.send({ ...message, body: null, content: { type: "media", kind: "image", url: "https://example.com/a.jpg" } });
  // @ts-expect-error -- a place has two coordinates
  await godwit.messages.send({ ...message, content: { type: "location", latitude: 1 } });
  if (event.type === "template.approved") return [event.data.template.name];
  const status: string | undefined = event.data.message?.status;
  // @ts-expect-error -- the status is not known before the type is
  const known: string = event.data.message.status;
  // @ts-expect-error -- there is no such type of event
  if (event.type === "message.deliverd") return [status ?? known];
  const ids: string[] = [];
  for await (const { id, error } of godwit.messages.list({ status: "failed" })) ids.push(id, error?.code ?? "");
  const page = await godwit.messages.list({ limit: 2 });
  const next = page.has_more ? await page.nextPage() : null;
  for (const each of [...page.data, ...(next?.data ?? [])]) ids.push(each.id);
  return ids;
}
`;

let server: Server;
let project: PackedProject;
let key: string;
before(async () => {
  server = await startGodwit({ roles: "api,dispatch", simulatorSpeed: 100 });
  await server.unlimited();
  key = await server.key();
  for (let count = 0; count < 3; count += 1) await server.send(key);
  project = await PackedProject.make();
  project.write("consumer.mjs", CONSUMER.replace("KEY", JSON.stringify(key)).replace("URL", JSON.stringify(server.url)));
});
after(async () => {
  project[Symbol.dispose]();
  await server.stop();
});

test("publint reports no problem", async () => {
  const { messages, pkg } = await publint({ pkgDir: SDK, strict: true, pack: "npm" });
  assert.deepEqual(
    messages.map((message) => formatMessage(message, pkg)),
    [],
  );
});

test("the package contains compiled files and its README, and has no dependencies", () => {
  const installed = join(project.folder, "node_modules");
  assert.deepEqual(globSync("*", { cwd: installed }), ["godwit-sdk"]);
  const files = globSync("**/*.*", { cwd: join(installed, "godwit-sdk") });
  assert.ok(files.includes("README.md") && files.includes(join("dist", "index.js")));
  assert.deepEqual(
    files.filter((name) => name.endsWith(".ts") && !name.endsWith(".d.ts")),
    [],
  );
  const { dependencies } = JSON.parse(readFileSync(join(installed, "godwit-sdk", "package.json"), "utf8")) as { dependencies?: object };
  assert.equal(dependencies, undefined);
});

test("files import only files of the package, and use no global of a single runtime", () => {
  const modules = globSync(join(project.folder, "node_modules", "godwit-sdk", "dist", "*.js"));
  assert.ok(modules.length > 20);
  for (const path of modules) {
    const text = readFileSync(path, "utf8");
    const imports = Array.from(
      text.matchAll(/^(?:import|export)\b[^;]*?\bfrom\s*"([^"]+)"|(?:^import\s*|\bimport\s*\(\s*)["'`]([^"'`]*)/gm),
      ([, a, b]) => a ?? b ?? "",
    );
    assert.deepEqual(
      imports.filter((name) => !/^\.\/[\w-]+\.js$/.test(name)),
      [],
      path,
    );
    const code = text.replaceAll(/\/\*[\s\S]*?\*\/|\/\/.*/g, "");
    // This file reads the variables of the runtime, and works without any.
    const portable = code.replaceAll("window: null", "");
    const allowed = basename(path) === "environment.js" ? portable.replaceAll(/globalThis\.process\b/g, "") : portable;
    assert.doesNotMatch(allowed, /\b(?:process|Buffer|require|__dirname|Deno|Bun|setImmediate|window)\b/, path);
  }
});

describe("a strict consumer compiles", () => {
  for (const compiler of ["root", "sdk"] as const) {
    for (const [module, moduleResolution] of [
      ["nodenext", "nodenext"],
      ["esnext", "bundler"],
    ] as const) {
      test(`with the ${compiler === "root" ? "latest TypeScript" : "previous TypeScript"} and ${moduleResolution} resolution`, async () => {
        const file = project.write("typed.ts", TYPED);
        const { code, output } = await project.compile(compiler, { module, moduleResolution, lib: ["es2022", "dom"] }, [file]);
        assert.equal(code, 0, output);
      });
    }
  }
});

/** Finds the program on the PATH, but not the Node of this checkout. */
function otherOnPath(name: string): string | undefined {
  const folders = (process.env["PATH"] ?? "").split(delimiter).filter((folder) => !folder.includes("node_modules"));
  return folders.map((folder) => join(folder, name)).find((path) => existsSync(path));
}

describe("the package works against a live service", () => {
  test("in this Node", async () => {
    assert.equal((await run(process.execPath, ["consumer.mjs"], project.folder)).output.trim(), EXPECTED);
  });

  test("without the globals of Node, as in a browser", async () => {
    // Node loads its fetch at the first use. After that it needs only Buffer and setImmediate of Node's globals.
    const first = `await fetch(${JSON.stringify(`${server.url}/livez`)});`;
    const bare = "for (const name of ['process', 'global']) delete globalThis[name];";
    project.write("bare.mjs", `${first}\n${bare}\nawait import("./consumer.mjs");`);
    assert.equal((await run(process.execPath, ["bare.mjs"], project.folder)).output.trim(), EXPECTED);
  });

  const runtimes = { node: ["consumer.mjs"], deno: ["run", "--allow-all", "consumer.mjs"], bun: ["run", "consumer.mjs"] };
  for (const [name, args] of Object.entries(runtimes)) {
    const path = otherOnPath(name);
    const skip = path === undefined ? `there is no ${name} on the path: install it to run this test` : false;
    test(`in the ${name} of this machine`, { skip }, async (context) => {
      const { output: version } = await run(path ?? "", ["--version"], project.folder);
      if (name === "node" && Number(/^v(\d+)/.exec(version)?.[1]) < 20) return context.skip(`it is ${version.trim()}: 20 is needed`);
      context.diagnostic(version.trim());
      assert.equal((await run(path ?? "", args, project.folder)).output.trim(), EXPECTED);
    });
  }
});

describe("the README", () => {
  const blocks = Array.from(
    readFileSync(join(SDK, "README.md"), "utf8").matchAll(/^```ts( run)?\n([\s\S]*?)^```$/gm),
    ([, isRun, text = ""], at) => ({
      name: `recipe-${at + 1}.ts`,
      isRun: isRun !== undefined,
      text,
    }),
  );

  test("has samples, and every sample compiles", async () => {
    assert.ok(blocks.length >= 10);
    project.link("@types/node");
    project.link("undici-types");
    const files = blocks.map(({ name, text }) => project.write(name, text));
    const { code, output } = await project.compile("root", { lib: ["es2022", "dom"], types: ["node"], skipLibCheck: true }, files);
    assert.equal(code, 0, output);
  });

  for (const { name, isRun, text } of blocks) {
    if (!isRun) continue;
    test(`${name} runs: ${text.split("\n").find((line) => line.includes("godwit.")) ?? ""}`, async () => {
      project.write(name, text);
      const { code, output } = await run(process.execPath, [name], project.folder, { GODWIT_KEY: key, GODWIT_URL: server.url });
      assert.equal(code, 0, output);
    });
  }
});
