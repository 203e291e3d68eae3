/** Uploads and downloads against a real service behind a faulty proxy, and the types of contents. */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { createReadStream, mkdtempSync, openAsBlob, rmSync, truncateSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { after, afterEach, before, beforeEach, describe, test } from "node:test";
import { startGodwit, type Godwit as Server } from "../../test/support/harness.ts";
import { pdf, picture } from "../../test/support/media.ts";
import {
  ConnectionError,
  Godwit,
  hasCode,
  StreamConsumedError,
  type Content,
  type GodwitEvent,
  type GodwitOptions,
  type NewContent,
  type UploadSource,
} from "../src/index.ts";
import { FaultyProxy, problem } from "./faulty-proxy.ts";

let server: Server;
let proxy: FaultyProxy;
let apiKey: string;
const folder = mkdtempSync(join(tmpdir(), "godwit-sdk-"));
before(async () => {
  server = await startGodwit({ roles: "api,dispatch", simulatorSpeed: 50 });
  await server.unlimited();
  apiKey = await server.key();
});
after(async () => {
  await server.stop();
  rmSync(folder, { recursive: true });
});
beforeEach(async () => {
  proxy = await FaultyProxy.to(server);
});
afterEach(() => proxy[Symbol.asyncDispose]());

const clientOf = (options: Partial<GodwitOptions> = {}): Godwit => new Godwit({ apiKey, baseUrl: proxy.url, ...options });

function fileOf(bytes: Buffer): string {
  const path = join(folder, randomUUID());
  writeFileSync(path, bytes);
  return path;
}

const rejection = (call: PromiseLike<unknown>): Promise<unknown> =>
  Promise.resolve(call).then(
    () => assert.fail("the call was not refused"),
    (error: unknown) => error,
  );

describe("an upload", () => {
  const sources: readonly (readonly [what: string, of: (bytes: Buffer<ArrayBuffer>) => UploadSource | Promise<UploadSource>])[] = [
    ["bytes", (bytes) => bytes],
    ["a Blob", (bytes) => new Blob([bytes])],
    ["a Blob of a file", (bytes) => openAsBlob(fileOf(bytes))],
    ["a stream of Node", (bytes) => createReadStream(fileOf(bytes))],
    ["a stream of the web", (bytes) => new Blob([bytes]).stream()],
    ["a function", (bytes) => () => createReadStream(fileOf(bytes))],
  ];
  for (const [what, sourceOf] of sources)
    test(`of ${what} is stored and can be downloaded byte for byte`, async () => {
      const client = clientOf();
      const bytes = Buffer.from(picture(200_000));
      const media = await client.media.upload(await sourceOf(bytes), { fileName: "Straße.jpg", kind: "document" });
      assert.deepEqual([media.kind, media.content_type, media.file_name, media.bytes], ["document", "image/jpeg", "Straße.jpg", 200_000]);
      assert.ok((await buffer(await client.media.download(media.id))).equals(bytes));
    });

  test("of a File has its name, and JSON is a file as well", async () => {
    const media = await clientOf().media.upload(new File(['{"url": "https://example.com"}'], "data.json", { type: "application/json" }));
    assert.deepEqual([media.file_name, media.source, media.bytes], ["data.json", "upload", 30]);
  });

  for (const [what, fault] of [
    ["whose response is lost", { kind: "lose" }],
    ["that is refused for a moment", problem(503, "service_unavailable", { "retry-after": "1" })],
  ] as const)
    test(`${what} is sent again from its start if it can be opened again, and stored once`, async () => {
      proxy.next.push(fault);
      const path = fileOf(pdf(300_000));
      const opened: object[] = [];
      const open = () => {
        const stream = createReadStream(path);
        opened.push(stream);
        return stream;
      };
      const fileName = `${randomUUID()}.pdf`;
      const { data, attempts, idempotencyKey } = await clientOf().media.upload(open, { fileName }).withResponse();
      assert.deepEqual([attempts, opened.length, data.bytes], [2, 2, 300_000]);
      assert.deepEqual(new Set(proxy.keys), new Set([idempotencyKey]));
      const listed = await Array.fromAsync(clientOf().media.list());
      assert.equal(listed.filter((each) => each.file_name === fileName).length, 1);
    });

  test("of a stream that was read is not sent again, and its key finds what was stored", async () => {
    proxy.next.push({ kind: "lose" });
    const bytes = Buffer.from(pdf(100_000));
    const error = await rejection(clientOf().media.upload(new Blob([bytes]).stream()));
    assert.ok(error instanceof StreamConsumedError && error.cause instanceof ConnectionError, String(error));
    assert.match(error.message, /the stream of the file was read and cannot be sent again: pass a function/);
    assert.equal(proxy.heard.length, 1);
    assert.ok(error.idempotencyKey !== null);
    const again = await clientOf().media.upload(bytes, { idempotencyKey: error.idempotencyKey }).withResponse();
    assert.deepEqual([again.isReplayed, again.data.bytes], [true, 100_000]);
  });

  test("of a stream is sent again if no connection was established", async () => {
    const broken: GodwitOptions["fetch"] = async (url, init) => {
      if (attempts++ === 0) return fetch("http://127.0.0.1:9/", init);
      return fetch(url, init);
    };
    let attempts = 0;
    const media = await clientOf({ fetch: broken }).media.upload(createReadStream(fileOf(pdf(50_000))));
    assert.deepEqual([attempts, media.bytes], [2, 50_000]);
  });

  test("whose source fails throws the error of the source, once", async () => {
    const error = await rejection(clientOf().media.upload(() => createReadStream(join(folder, "nowhere"))));
    assert.equal((error as NodeJS.ErrnoException).code, "ENOENT");
    assert.equal(proxy.heard.length, 0);
    const text = createReadStream(fileOf(pdf(100)), "latin1");
    assert.match(String(await rejection(clientOf().media.upload(text))), /TypeError: the stream of a file must yield bytes/);
  });

  test("of a path is refused with a hint", () => {
    assert.throws(() => clientOf().media.upload("offer.pdf" as unknown as UploadSource), /for the path of a file, open it/);
  });

  test("that the service refuses throws its reason", async () => {
    const error = await rejection(clientOf().media.upload(createReadStream(fileOf(Buffer.from("text"))), { kind: "image" }));
    assert.ok(hasCode(error, "media_kind_mismatch"), String(error));
  });

  test("is never whole in memory", async () => {
    const size = 160_000_000;
    let most = 0;
    const sink = createServer((request, response) => {
      request.on("data", () => (most = Math.max(most, process.memoryUsage().arrayBuffers)));
      request.on("end", () => response.writeHead(201).end("{}"));
    });
    sink.listen(0, "127.0.0.1");
    await once(sink, "listening");
    const path = fileOf(Buffer.alloc(0));
    truncateSync(path, size);
    await clientOf({ baseUrl: `http://127.0.0.1:${(sink.address() as AddressInfo).port}` }).media.upload(createReadStream(path));
    sink.close();
    assert.ok(most < (size * 3) / 4, String(most));
  });
});

describe("a download", () => {
  test("is requested again until its response begins, and then fails if the connection breaks", async () => {
    const client = clientOf();
    const bytes = Buffer.from(picture(100_000));
    const { id } = await client.media.upload(bytes);
    proxy.next.push(problem(503, "service_unavailable", { "retry-after": "1" }));
    const { data, attempts, headers } = await client.media.download(id).withResponse();
    assert.deepEqual([attempts, headers.get("content-type")], [2, "image/jpeg"]);
    assert.ok((await buffer(data)).equals(bytes));
    proxy.next.push({ kind: "tear" });
    assert.ok((await rejection(client.media.download(id).then((stream) => buffer(stream)))) instanceof ConnectionError);
  });

  test("ends with the reason of the signal, and can be left", async () => {
    const client = clientOf();
    const { id } = await client.media.upload(picture(1_000_000));
    const controller = new AbortController();
    const stream = await client.media.download(id, { signal: controller.signal });
    controller.abort(new Error("no longer needed"));
    assert.match(String(await rejection(buffer(stream))), /no longer needed/);
    await (await client.media.download(id)).cancel();
    assert.deepEqual(await client.media.delete(id), { id, object: "media", deleted: true });
    assert.ok(hasCode(await rejection(client.media.download(id)), "not_found"));
  });
});

/** The text of a content. It compiles only if `type` tells the contents apart, and each has its members. */
function textOf(content: Content): string | null {
  if (content.type === "media") return content.caption;
  if (content.type === "buttons") return content.header?.type === "media" ? content.header.media_id : content.text;
  if (content.type === "reply") return content.title;
  if (content.type === "location") return `${content.latitude} ${content.name}`;
  // @ts-expect-error -- not every content has a caption
  const caption: string | undefined = content.caption;
  return caption ?? content.type;
}

test("contents are typed in requests, in records and in events", async () => {
  const client = clientOf();
  const content: NewContent = {
    type: "buttons",
    text: "Is this right?",
    buttons: [
      { type: "reply", id: "yes", title: "Yes" },
      { type: "reply", id: "no", title: "No" },
    ],
  };
  // @ts-expect-error -- a button that replies has an id
  const wrong: NewContent = { type: "buttons", text: "Is this right?", buttons: [{ type: "reply", title: "Yes" }] };
  // @ts-expect-error -- there is no such content
  const unknown: NewContent = { type: "vide", url: "https://example.com" };
  for (const each of [wrong, unknown])
    assert.ok(
      hasCode(
        await rejection(client.messages.send({ recipient: "+14155550123", channel: "whatsapp", content: each })),
        "invalid_request_payload",
      ),
    );
  const sent = await client.messages.send({ recipient: "+15005550019", channel: "whatsapp", content });
  assert.ok(sent.content !== null && sent.content.type === "buttons");
  assert.equal(textOf(sent.content), "Is this right?");
  const { data } = await until(client, "media.ready");
  assert.ok(data.media.message_id !== null);
  const received = await client.messages.get(data.media.message_id);
  assert.ok(received.content?.type === "media" && received.content.media_id === data.media.id);
  assert.equal((await buffer(await client.media.download(received.content.media_id))).length, data.media.bytes);
});

type MediaEvent = Extract<GodwitEvent, { type: "media.ready" | "media.failed" }>;

/** Waits for the first event of the type. */
async function until(client: Godwit, type: MediaEvent["type"]): Promise<MediaEvent> {
  const [first] = (await client.events.list({ limit: 1 })).data;
  for await (const event of client.events.stream({ type: "media.*" }, { lastEventId: first?.id })) if (event.type === type) return event;
  return assert.fail("the stream has ended");
}
