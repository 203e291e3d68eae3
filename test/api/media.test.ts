/** The media store over the API: uploads, records, downloads, isolation of accounts, quota and signed URLs. */
import assert from "node:assert/strict";
import { createHash, randomBytes, randomUUID } from "node:crypto";
import { after, before, test } from "node:test";
import { crc32, deflateSync, gzipSync } from "node:zlib";
import { SecretBox } from "../../src/lib/secret-box.ts";
import { mediaUrls } from "../../src/media/signed-url.ts";
import { decodeId, encodeId } from "../../src/model/id.ts";
import { assertProblem } from "../support/expect.ts";
import { SECRET_KEY, startGodwit, type Godwit } from "../support/harness.ts";
import { content, JPEG, pdf, picture, PNG, storedBytes, upload } from "../support/media.ts";

let godwit: Godwit;
let key: string;
let other: string;
before(async () => {
  godwit = await startGodwit({ env: { GODWIT_MEDIA_QUOTA: "1" } });
  key = await godwit.key();
  other = await godwit.key({ account: "other" });
  await godwit.unlimited();
});
after(() => godwit.stop());

const sha256 = (bytes: Buffer): string => createHash("sha256").update(bytes).digest("hex");
const made = async (bytes: Buffer, query: Record<string, string> = {}, by = key): Promise<string> => {
  const { status, json, text } = await upload(godwit, bytes, { key: by, query });
  assert.equal(status, 201, text);
  return String(json["id"]);
};

test("an uploaded file is recorded by its content, and can be read byte for byte", async () => {
  const file = picture(700_000);
  const { status, json, headers } = await upload(godwit, file, {
    key,
    query: { file_name: "Straße 1.jpg" },
    headers: { "content-type": "text/html" },
  });
  assert.equal(status, 201);
  assert.equal(headers.get("location"), `/v1/media/${String(json["id"])}`);
  const { id, created_at: createdAt, expires_at: expiresAt, created_by: createdBy, ...rest } = json;
  assert.deepEqual(rest, {
    object: "media",
    environment: "test",
    status: "ready",
    kind: "image",
    content_type: "image/jpeg",
    bytes: 700_000,
    sha256: sha256(file),
    file_name: "Straße 1.jpg",
    source: "upload",
    message_id: null,
    error: null,
  });
  assert.match(String(createdBy), /^key_/);
  assert.ok(Date.parse(String(expiresAt)) - Date.parse(String(createdAt)) >= 30 * 86_400_000);
  const read = await content(godwit, String(id), key);
  assert.equal(read.status, 200);
  assert.ok(read.bytes.equals(file));
  assert.deepEqual((await godwit.request("GET", `/v1/media/${String(id)}`, { key })).json, json);
});

test("a picture is shown, and a document is a download, both in a sandbox", async () => {
  const shown = await content(godwit, await made(picture()), key);
  assert.equal(shown.headers.get("content-type"), "image/jpeg");
  assert.equal(shown.headers.get("content-disposition"), "inline");
  const document = pdf(1_000);
  const kept = await content(godwit, await made(document, { file_name: "Angebot 'ä'.pdf" }), key);
  assert.equal(kept.headers.get("content-type"), "application/pdf");
  assert.equal(kept.headers.get("content-disposition"), "attachment; filename*=UTF-8''Angebot%20%27%C3%A4%27.pdf");
  for (const { headers } of [shown, kept]) {
    assert.equal(headers.get("x-content-type-options"), "nosniff");
    assert.equal(headers.get("content-security-policy"), "sandbox; default-src 'none'");
    assert.match(headers.get("etag") ?? "", /^"[0-9a-f]{64}"$/);
  }
  assert.equal(kept.headers.get("etag"), `"${sha256(document)}"`);
});

const ACTIVE: readonly (readonly [what: string, file: Buffer, contentType: string, disposition: string])[] = [
  ["HTML", Buffer.from("<!doctype html><script>alert(1)</script>"), "text/plain; charset=utf-8", "attachment"],
  ["SVG", Buffer.from('<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>'), "text/plain; charset=utf-8", "attachment"],
  ["XML", Buffer.from('<?xml version="1.0"?><a/>'), "text/plain; charset=utf-8", "attachment"],
  ["a GIF that is also HTML", Buffer.from("GIF89a/*<html><script>alert(1)</script>*/=1;"), "image/gif", "inline"],
  ["HTML after a picture", Buffer.concat([PNG, Buffer.from("<html><script>alert(1)</script>")]), "image/png", "inline"],
  ["a PDF in HTML", Buffer.from("<html>%PDF-1.7"), "text/plain; charset=utf-8", "attachment"],
  ["a program", Buffer.concat([Buffer.from("\x7fELF\x02\x01\x01\0", "latin1"), randomBytes(50)]), "application/octet-stream", "attachment"],
];

for (const [what, file, contentType, disposition] of ACTIVE)
  test(`${what} is served as ${contentType}, whatever its upload declares`, async () => {
    for (const declared of ["text/html", "image/svg+xml", "application/xhtml+xml"]) {
      const { json } = await upload(godwit, file, { key, query: { file_name: "a.html" }, headers: { "content-type": declared } });
      const { headers, bytes } = await content(godwit, String(json["id"]), key);
      assert.equal(headers.get("content-type"), contentType);
      assert.ok(headers.get("content-disposition")?.startsWith(disposition));
      assert.equal(headers.get("x-content-type-options"), "nosniff");
      assert.ok(bytes.equals(file));
    }
  });

test("an archive stays packed", async () => {
  // The sizes of this entry promise four gigabytes.
  const bomb = Buffer.concat([Buffer.from("PK\x03\x04", "latin1"), Buffer.alloc(14), Buffer.alloc(8, 0xff), randomBytes(100)]);
  const { json } = await upload(godwit, bomb, { key, query: { file_name: "a.zip" }, headers: { "content-type": "application/zip" } });
  assert.deepEqual([json["content_type"], json["kind"], json["bytes"]], ["application/octet-stream", "document", bomb.length]);
});

test("a picture that unpacks to many times its size is stored and served as it is", async () => {
  const chunk = (type: string, data: Buffer): Buffer => {
    const named = Buffer.concat([Buffer.from(type, "latin1"), data]);
    const [length, check] = [Buffer.alloc(4), Buffer.alloc(4)];
    length.writeUInt32BE(data.length);
    check.writeUInt32BE(crc32(named));
    return Buffer.concat([length, named, check]);
  };
  const header = Buffer.alloc(13);
  header.writeUInt32BE(60_000, 0);
  header.writeUInt32BE(60_000, 4);
  header.writeUInt8(8, 8);
  const parts = [chunk("IHDR", header), chunk("IDAT", deflateSync(Buffer.alloc(8_000_000))), chunk("IEND", Buffer.alloc(0))];
  const bomb = Buffer.concat([PNG.subarray(0, 8), ...parts]);
  for (const [file, type] of [
    [bomb, "image/png"],
    [gzipSync(Buffer.alloc(8_000_000)), "application/octet-stream"],
  ] as const) {
    const read = await content(godwit, await made(file), key);
    assert.deepEqual([read.headers.get("content-type"), read.headers.get("content-encoding")], [type, null]);
    assert.ok(read.bytes.equals(file));
  }
});

test("a file is of a kind that its content permits", async () => {
  assertProblem(await upload(godwit, Buffer.from("text"), { key, query: { kind: "image" } }), "media_kind_mismatch");
  assertProblem(await upload(godwit, picture(10_000), { key, query: { kind: "audio" } }), "media_kind_mismatch");
  assertProblem(await upload(godwit, picture(), { key, query: { kind: "sticker" } }), "media_kind_mismatch");
  const { json } = await upload(godwit, picture(), { key, query: { kind: "document" } });
  assert.deepEqual([json["kind"], json["content_type"]], ["document", "image/jpeg"]);
});

test("a file name has no path and no control characters", async () => {
  for (const name of ["../a.jpg", "a\\b.jpg", "a\nb.jpg", "a\0.jpg", "a".repeat(241)])
    assertProblem(await upload(godwit, picture(), { key, query: { file_name: name } }), "invalid_request_payload");
});

test("a repeated upload with its key returns the first response, and stores nothing", async () => {
  const file = picture(300_000);
  const idempotencyKey = randomUUID();
  const first = await upload(godwit, file, { key, idempotencyKey });
  const again = await upload(godwit, file, { key, idempotencyKey });
  assert.equal(again.headers.get("idempotent-replayed"), "true");
  assert.deepEqual([again.status, again.text], [201, first.text]);
  assertProblem(await upload(godwit, picture(300_000), { key, idempotencyKey }), "idempotency_key_reused");
  assertProblem(await upload(godwit, file, { key, idempotencyKey, query: { kind: "document" } }), "idempotency_key_reused");
});

test("uploads of one key at the same time store one file", async () => {
  const file = picture(300_000);
  const idempotencyKey = randomUUID();
  const replies = await Promise.all(Array.from({ length: 4 }, () => upload(godwit, file, { key, idempotencyKey })));
  const ids = new Set(replies.filter(({ status }) => status === 201).map(({ json }) => json["id"]));
  assert.equal(ids.size, 1);
  assert.deepEqual(
    replies.filter(({ status, json }) => status !== 201 && json["code"] !== "idempotency_conflict").map(({ text }) => text),
    [],
  );
});

test("the same bytes are stored once for an environment, and counted once", async () => {
  const file = pdf(600_000);
  const used = await storedBytes(godwit);
  const ids = await Promise.all(Array.from({ length: 6 }, () => made(file)));
  assert.equal(new Set(ids).size, 6);
  assert.equal((await storedBytes(godwit)) - used, 600_000);
  for (const id of ids.slice(1)) assert.equal((await godwit.request("DELETE", `/v1/media/${id}`, { key })).status, 200);
  assert.ok((await content(godwit, ids[0] ?? "", key)).bytes.equals(file));
  await godwit.request("DELETE", `/v1/media/${ids[0] ?? ""}`, { key });
  assert.equal((await godwit.request("GET", `/v1/media/${ids[0] ?? ""}`, { key })).status, 404);
  assert.equal(await storedBytes(godwit), used);
});

test("the same bytes of another account are another file, and nothing shows that they exist", async () => {
  const file = picture(50_000);
  const mine = await upload(godwit, file, { key });
  const theirs = await upload(godwit, file, { key: other });
  const live = await upload(godwit, file, { key: await godwit.key({ environment: "live" }) });
  assert.deepEqual([mine.status, theirs.status, live.status], [201, 201, 201]);
  const shape = ({ headers }: typeof mine): string[] => [...headers.keys()].toSorted();
  assert.deepEqual(shape(mine), shape(theirs));
  const [row] = await godwit.rows<{ files: number }>(
    "select count(*)::integer as files from media_files where state = 'stored' and sha256 = $1",
    [createHash("sha256").update(file).digest()],
  );
  assert.equal(row?.files, 3);
  // Deleting one leaves the others.
  await godwit.request("DELETE", `/v1/media/${String(mine.json["id"])}`, { key });
  assert.ok((await content(godwit, String(theirs.json["id"]), other)).bytes.equals(file));
});

test("media of another account or environment do not exist", async () => {
  const id = await made(picture());
  for (const stranger of [other, await godwit.key({ environment: "live" })]) {
    const unknown = `media_${"0".repeat(26)}`;
    for (const suffix of ["", "/content"]) {
      const theirs = await godwit.request("GET", `/v1/media/${id}${suffix}`, { key: stranger });
      const none = await godwit.request("GET", `/v1/media/${unknown}${suffix}`, { key: stranger });
      assertProblem(theirs, "not_found");
      assert.equal(theirs.json["detail"], none.json["detail"]);
    }
    assertProblem(await godwit.request("DELETE", `/v1/media/${id}`, { key: stranger }), "not_found");
  }
  assert.equal((await content(godwit, id, key)).status, 200);
});

test("a file is always sent completely, and its hash confirms nothing to another account", async () => {
  const file = picture(2_000);
  const id = await made(file);
  const get = (by: string, headers: Record<string, string>, method = "GET") =>
    fetch(`${godwit.url}/v1/media/${id}/content`, { method, headers: { authorization: `Bearer ${by}`, ...headers } });
  const etag = `"${sha256(file)}"`;
  for (const headers of [{ range: "bytes=0-9" }, { "if-none-match": etag }, { "if-none-match": "*" }]) {
    const response = await get(key, headers);
    assert.deepEqual([response.status, response.headers.get("content-range")], [200, null]);
    assert.ok(Buffer.from(await response.arrayBuffer()).equals(file));
    const refused = await get(other, headers);
    assert.deepEqual([refused.status, refused.headers.get("etag")], [404, null]);
  }
  const head = await get(key, {}, "HEAD");
  assert.deepEqual([head.status, head.headers.get("content-length"), head.headers.get("etag")], [200, "2000", etag]);
  assert.equal((await get(other, {}, "HEAD")).status, 404);
});

test("usage has the bytes of the files and the quota, without files that are stored already", async () => {
  const counter = await godwit.key({ account: "counter" });
  await godwit.unlimited();
  const used = async () => (await godwit.request("GET", "/v1/usage", { key: counter })).json["media"];
  assert.deepEqual(await used(), { bytes: 0, quota_bytes: 1_000_000_000 });
  const file = picture(3_000);
  const [one, two] = [await made(file, {}, counter), await made(file, {}, counter)];
  await made(picture(500), {}, counter);
  assert.deepEqual(await used(), { bytes: 3_500, quota_bytes: 1_000_000_000 });
  for (const id of [one, two]) await godwit.request("DELETE", `/v1/media/${id}`, { key: counter });
  assert.deepEqual(await used(), { bytes: 500, quota_bytes: 1_000_000_000 });
});

test("media are listed, newest first, with filters and pages", async () => {
  const lister = await godwit.key({ account: "lister" });
  await godwit.unlimited();
  const ids: string[] = [];
  for (const file of [picture(), pdf(100), picture(), pdf(100), picture()]) ids.unshift(await made(file, {}, lister));
  const list = async (query: string) => {
    const { json } = await godwit.request("GET", `/v1/media${query}`, { key: lister });
    return { ids: (json["data"] as { id: string }[]).map(({ id }) => id), next: json["next_cursor"] };
  };
  assert.deepEqual(await list(""), { ids, next: null });
  assert.deepEqual((await list("?kind=document")).ids, [ids[1], ids[3]]);
  assert.deepEqual((await list("?source=inbound")).ids, []);
  assert.deepEqual((await list("?status=ready")).ids, ids);
  const first = await list("?limit=2");
  assert.deepEqual(first.ids, ids.slice(0, 2));
  assert.deepEqual((await list(`?limit=2&cursor=${String(first.next)}`)).ids, ids.slice(2, 4));
});

test("an environment cannot have more bytes than its quota", async () => {
  const full = await godwit.key({ account: "full" });
  await godwit.unlimited();
  const kept = await made(picture(2_000), {}, full);
  await godwit.rows("update media_usage set bytes = 999999000 where account_id = (select id from accounts where name = 'full')");
  const refused = await upload(godwit, picture(2_000), { key: full });
  assertProblem(refused, "media_quota_exceeded");
  assert.match(String(refused.json["detail"]), /1,000,000,000 bytes/);
  assert.equal((await upload(godwit, (await content(godwit, kept, full)).bytes, { key: full })).status, 201);
  assert.equal((await upload(godwit, picture(900), { key: full })).status, 201);
  const [row] = await godwit.rows<{ unstored: number }>(
    "select count(*)::integer as unstored from media_files where state <> 'stored' and account_id = (select id from accounts where name = 'full')",
  );
  assert.equal(row?.unstored, 0);
});

test("an empty file is refused", async () => {
  assertProblem(await upload(godwit, Buffer.alloc(0), { key, isChunked: true }), "invalid_request_payload");
  assertProblem(await upload(godwit, Buffer.alloc(0), { key }), "invalid_request_payload");
});

test("a file that is not there yet cannot be read", async () => {
  const id = await made(picture());
  await godwit.rows("update media set status = 'pending', file_id = null where id = $1", [decodeId("media", id)]);
  assertProblem(await godwit.request("GET", `/v1/media/${id}/content`, { key }), "media_not_ready");
});

const urls = mediaUrls(new SecretBox(Buffer.from(SECRET_KEY, "base64")));

test("a signed URL shows one file without a credential, until it expires", async () => {
  const file = picture(400_000);
  const id = decodeId("media", await made(file)) ?? assert.fail();
  const url = urls.urlBelow(godwit.url, id, Date.now());
  const response = await fetch(url);
  assert.equal(response.status, 200);
  assert.ok(Buffer.from(await response.arrayBuffer()).equals(file));
  const { headers } = response;
  assert.deepEqual(
    ["content-type", "content-length", "x-content-type-options", "content-security-policy", "etag"].map((name) => headers.get(name)),
    ["image/jpeg", "400000", "nosniff", "sandbox; default-src 'none'", null],
  );
  assert.equal((await fetch(url, { method: "HEAD" })).headers.get("content-length"), "400000");
  assert.equal((await fetch(urls.urlBelow(godwit.url, id, Date.now() - 86_400_001))).status, 404);
  assert.equal((await fetch(urls.urlBelow(godwit.url, id, Date.now() - 86_340_000))).status, 200);
});

test("a changed signed URL shows nothing, and looks like any unknown path", async () => {
  const [one, two] = [decodeId("media", await made(picture())), decodeId("media", await made(picture()))];
  assert.ok(one !== undefined && two !== undefined);
  const token = urls.urlBelow("", one, Date.now()).slice("/media/".length);
  const bytes = Buffer.from(token, "base64url");
  const changed = Array.from({ length: bytes.length }, (_, at) => {
    const copy = Buffer.from(bytes);
    copy.writeUInt8(copy.readUInt8(at) ^ 1, at);
    return copy.toString("base64url");
  });
  const foreign = mediaUrls(new SecretBox(Buffer.alloc(32, 9)))
    .urlBelow("", one, Date.now())
    .slice("/media/".length);
  const moved = Buffer.concat([two, bytes.subarray(16)]).toString("base64url");
  for (const each of [...changed, foreign, moved, `${token}A`, token.slice(1), "x"]) {
    const response = await fetch(`${godwit.url}/media/${each}`);
    assert.equal(response.status, 404);
    assert.equal(((await response.json()) as { detail: string }).detail, "No such path.");
  }
  await godwit.request("DELETE", `/v1/media/${encoded(one)}`, { key });
  assert.equal((await fetch(`${godwit.url}/media/${token}`)).status, 404);
});

const encoded = (id: NonNullable<ReturnType<typeof decodeId<"media">>>): string => encodeId("media", id);

test("a JPEG of a few bytes is a file", async () => {
  const { bytes } = await content(godwit, await made(JPEG), key);
  assert.ok(bytes.equals(JPEG));
});
