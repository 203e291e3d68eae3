/** The package matches the OpenAPI document: the generated types are current, and every operation has a method. The version is that of the manifest. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { basename } from "node:path";
import { test } from "node:test";
import { generated, readDocument } from "../scripts/generate.ts";
import { Call, EventStream, Godwit, Pages, RecipientExport } from "../src/index.ts";
import { VERSION } from "../src/version.ts";

test("the generated files are up to date: otherwise run npm run generate -w sdk", async () => {
  for (const [path, text] of await generated()) assert.equal(readFileSync(path, "utf8"), text, basename(path));
});

test("the version is that of package.json", () => {
  const manifest = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8")) as { version: string };
  assert.equal(VERSION, manifest.version);
});

/** Lists every method of every resource of the client. `webhooks` calls no operation. */
function methodsOf(client: Godwit): [name: string, call: (...input: unknown[]) => unknown][] {
  const resources = Object.entries(client).filter(([noun]) => noun !== "webhooks");
  return resources.flatMap(([noun, resource]: [string, object]) => {
    const prototype = Object.getPrototypeOf(resource) as Record<string, (...input: unknown[]) => unknown>;
    const names = Object.getOwnPropertyNames(prototype).filter((name) => name !== "constructor");
    return names.map((name) => [`${noun}.${name}`, (...input: unknown[]) => prototype[name]?.apply(resource, input)] as const);
  }) as [string, (...input: unknown[]) => unknown][];
}

/** Awaits the result of a method, so that its request is sent. */
async function settle(made: unknown): Promise<void> {
  if (made instanceof Call) await made;
  else if (made instanceof Pages) await made.page();
  else if (made instanceof EventStream) await made[Symbol.asyncIterator]().next();
  else if (made instanceof RecipientExport) assert.deepEqual(await Array.fromAsync(made), []);
  else assert.fail("a method gives a call, a list or a stream");
}

/** Calls the method with as many ids and a body as it takes: in the place of its options it refuses a text. The texts are invalid as a body or a
 *  query, which the server of this test accepts. */
async function callWithTexts(call: (...input: unknown[]) => unknown, first: unknown): Promise<void> {
  for (const input of [[first, "second"], [first]])
    try {
      return await settle(call(...input));
    } catch (error) {
      assert.ok(error instanceof TypeError, String(error));
    }
  await settle(call());
}

/** The shortest response of each streaming media type. */
const STREAMS: Readonly<Record<string, string>> = {
  "text/event-stream": "id: evt_1\nevent: webhook.test\ndata: {}\n\n",
  "application/x-ndjson": '{"object":"export_end","counts":{}}\n',
};

test("every operation of the document has a method, and every method calls an operation", async (context) => {
  const called: string[] = [];
  const server = createServer((request, response) => {
    called.push(`${request.method} ${new URL(request.url ?? "", "http://localhost").pathname}`);
    const { accept = "" } = request.headers;
    response.setHeader("content-type", accept);
    request.resume().on("end", () => response.end(STREAMS[accept] ?? "{}"));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  context.after(() => server.close());
  const client = new Godwit({ apiKey: "gw_test_x", baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}` });
  const byMethod = new Map<string, string>();
  for (const [name, call] of methodsOf(client)) {
    if (name === "events.stream" || name.endsWith(".list")) await settle(call());
    else await callWithTexts(call, name === "media.upload" ? new Blob(["text"]) : "first");
    byMethod.set(name, called.splice(0).join(", "));
  }
  const { paths } = readDocument();
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
  );
  const filled = operations.map((operation) => operation.replace("{id}", "first").replace(/\{\w+\}/, "second"));
  assert.ok(operations.length > 40);
  // An operation can have a second method with a conventional name, such as `create` for `send`.
  assert.deepEqual([...new Set(byMethod.values())].toSorted(), filled.toSorted());
});
