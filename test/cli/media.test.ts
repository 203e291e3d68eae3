/** `godwit media`, and the contents of `godwit send`: files that are uploaded and downloaded, and contents of other types. */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { createServer, request as forward, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import type { Json } from "../support/client.ts";
import { runGodwit, startGodwit, type Godwit } from "../support/harness.ts";
import { pdf, picture } from "../support/media.ts";

let godwit: Godwit;
let key: string;
const folder = mkdtempSync(join(tmpdir(), "godwit-media-"));
before(async () => {
  godwit = await startGodwit({ roles: "api,dispatch", simulatorSpeed: 50 });
  key = await godwit.key();
  await godwit.unlimited();
});
after(async () => {
  await godwit.stop();
  rmSync(folder, { recursive: true });
});

type Result = Awaited<ReturnType<typeof runGodwit>>;

const run = (args: readonly string[], url = godwit.url): Promise<Result> => runGodwit(args, { GODWIT_URL: url, GODWIT_KEY: key });

/** Runs a command that succeeds, and returns its output with --json. */
async function json<T = Json>(...args: readonly string[]): Promise<T> {
  const { code, stdout, stderr } = await run([...args, "--json"]);
  assert.equal(code, 0, stderr);
  return JSON.parse(stdout) as T;
}

function fileOf(name: string, bytes: Buffer): string {
  const path = join(folder, name);
  writeFileSync(path, bytes);
  return path;
}

async function listening(server: Server): Promise<string> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

test("a file is uploaded, listed, shown, downloaded byte for byte and deleted", async () => {
  const bytes = pdf(700_000);
  const { id, ...uploaded } = await json("media", "upload", fileOf("offer.pdf", bytes));
  assert.deepEqual(
    [uploaded["kind"], uploaded["content_type"], uploaded["file_name"], uploaded["bytes"]],
    ["document", "application/pdf", "offer.pdf", 700_000],
  );
  const listed = await json<Json[]>("media", "list", "--kind", "document", "--source", "upload", "--since", "1h");
  assert.deepEqual(
    listed.map((each) => each["id"]),
    [id],
  );
  assert.deepEqual(await json("media", "get", String(id)), { id, ...uploaded });
  const path = join(folder, "copy.pdf");
  const { code, stdout, stderr } = await run(["media", "download", String(id), "--output", path]);
  assert.equal(code, 0, stderr);
  assert.match(stdout, /^bytes +700000$/m);
  assert.ok(readFileSync(path).equals(bytes));
  const again = await run(["media", "download", String(id), "--output", path]);
  assert.deepEqual([again.code, /exists/.test(again.stderr)], [2, true]);
  assert.deepEqual(await json("media", "delete", String(id)), { id, object: "media", deleted: true });
  const gone = await run(["media", "download", String(id), "--output", join(folder, "gone.pdf")]);
  assert.deepEqual([gone.code, /404 not_found/.test(gone.stderr), existsSync(join(folder, "gone.pdf"))], [1, true, false]);
});

test("a file of another kind is refused with the reason, and no file is left of a broken download", async () => {
  const refused = await run(["media", "upload", fileOf("note.txt", Buffer.from("Hello")), "--kind", "image"]);
  assert.equal(refused.code, 1);
  assert.match(refused.stderr, /media_kind_mismatch/);
  const { id } = await json("media", "upload", fileOf("photo.jpg", picture()), "--file-name", "..photo.jpg");
  const broken = createServer((request, response) => {
    if (request.url?.endsWith("/content") !== true) {
      request.pipe(forward(`${godwit.url}${request.url}`, { headers: request.headers }, (reply) => reply.pipe(response)));
      return;
    }
    response.writeHead(200, { "content-length": "1000" }).write("x".repeat(500), () => response.destroy());
  });
  const url = await listening(broken);
  const path = join(folder, "broken.jpg");
  const { code, stderr } = await run(["media", "download", String(id), "--output", path, "--timeout", "1s"], url);
  broken.close();
  assert.equal(code, 1);
  assert.match(stderr, /the next attempt follows/);
  assert.deepEqual(
    readdirSync(folder).filter((name) => name.startsWith("broken")),
    [],
  );
});

test("an upload whose response is lost is repeated from the start of the file, and stored once", async () => {
  let attempts = 0;
  const proxy = createServer((request, response) => {
    attempts += 1;
    const isLost = attempts === 1;
    const passed = forward(`${godwit.url}${request.url}`, { method: "POST", headers: request.headers }, (reply) =>
      isLost ? reply.resume().on("end", () => response.destroy()) : reply.pipe(response.writeHead(reply.statusCode ?? 0, reply.headers)),
    );
    request.pipe(passed);
  });
  const { code, stdout, stderr } = await run(["media", "upload", fileOf("lost.jpg", picture(300_000)), "--json"], await listening(proxy));
  proxy.close();
  assert.equal(code, 0, stderr);
  assert.equal(attempts, 2);
  assert.equal((JSON.parse(stdout) as Json)["file_name"], "lost.jpg");
  const listed = await json<Json[]>("media", "list");
  assert.equal(listed.filter((each) => each["file_name"] === "lost.jpg").length, 1);
});

test("a terminal shows the progress of a long upload", async () => {
  const slow = createServer((request, response) => {
    request.once("data", () => {
      request.pause();
      setTimeout(() => request.resume(), 400);
    });
    request.on("end", () => response.writeHead(201).end(JSON.stringify({ object: "media" })));
  });
  const url = await listening(slow);
  const { isTTY } = process.stderr;
  process.stderr.isTTY = true;
  const { code, stderr } = await run(["media", "upload", fileOf("long.pdf", pdf(12_000_000))], url);
  process.stderr.isTTY = isTTY;
  slow.close();
  assert.equal(code, 0, stderr);
  assert.match(stderr, /\ruploaded|uploaded [\d,]+ of 12,000 kB \(\d+ %\)/);
});

test("a large file is never whole in memory", async () => {
  const size = 200_000_000;
  let most = 0;
  const sink = createServer((request, response) => {
    request.on("data", () => (most = Math.max(most, process.memoryUsage().arrayBuffers)));
    request.on("end", () => response.writeHead(201).end(JSON.stringify({ object: "media" })));
  });
  const path = fileOf("large.bin", Buffer.alloc(0));
  truncateSync(path, size);
  const { code, stderr } = await run(["media", "upload", path], await listening(sink));
  sink.close();
  assert.equal(code, 0, stderr);
  assert.ok(most < (size * 3) / 4, String(most));
});

describe("godwit send", () => {
  const to = ["send", "--to", "+14155550123", "--channel", "whatsapp"] as const;
  const contentOf = (record: Json): Json => record["content"] as Json;

  test("--media uploads a file once, also when the command is repeated with its key", async () => {
    const path = fileOf("shop.jpg", picture(50_000));
    const args = [...to, "--media", path, "--caption", "Our shop", "--idempotency-key", randomUUID()];
    const first = await json(...args);
    assert.deepEqual([contentOf(first)["kind"], contentOf(first)["caption"], first["body"]], ["image", "Our shop", "Our shop"]);
    const repeated = await run(args);
    assert.match(repeated.stdout, /accepted before under this idempotency key/);
    const line = `media image ${String(contentOf(first)["media_id"])} (shop.jpg) "Our shop"`;
    assert.ok(repeated.stdout.includes(line), repeated.stdout);
    const listed = await json<Json[]>("media", "list");
    assert.equal(listed.filter((each) => each["file_name"] === "shop.jpg").length, 1);
  });

  test("--media takes the id of media, with or without a kind", async () => {
    const { id } = await json("media", "upload", fileOf("id.jpg", picture()));
    assert.equal(contentOf(await json(...to, "--media", String(id)))["kind"], "image");
    const sent = await json(...to, "--media", String(id), "--kind", "document", "--file-name", "shop.jpg");
    assert.deepEqual(contentOf(sent), {
      type: "media",
      kind: "document",
      media_id: id,
      file_name: "shop.jpg",
      caption: null,
      is_voice: false,
    });
  });

  test("--content takes JSON or a file with it", async () => {
    const place = { type: "location", latitude: 47.37, longitude: 8.54, name: "Shop" };
    assert.deepEqual(contentOf(await json(...to, "--content", JSON.stringify(place))), { ...place, address: null });
    const path = fileOf("place.json", Buffer.from(JSON.stringify(place)));
    const { stdout } = await run([...to, "--content", `@${path}`]);
    assert.match(stdout, /^content {2}location 47\.37,8\.54 Shop$/m);
  });

  test("names the flag of each fault", async () => {
    const { code, stderr } = await run([
      ...to,
      "--media",
      "https://example.com/a.jpg",
      "--kind",
      "image",
      "--file-name",
      "a.jpg",
      "--reply-to",
      "x",
    ]);
    assert.equal(code, 1);
    assert.match(stderr, /^ {2}content\.file_name \(--file-name\): is for documents/m);
    const quoted = await run([...to, "--body", "Hello", "--reply-to", "x"]);
    assert.match(quoted.stderr, /^ {2}reply_to \(--reply-to\): is no message/m);
    const sms = await run(["send", "--to", "+14155550123", "--content", '{"type": "location", "latitude": 1, "longitude": 2}']);
    assert.match(sms.stderr, /^ {2}content \(--content\): cannot be sent on sms/m);
  });
});
