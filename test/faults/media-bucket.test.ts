/** Files in a bucket, on a real server: uploads of all sizes, a change of the settings, a bucket that is down, and the end of files. */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { after, before, describe, test } from "node:test";
import { AbortMultipartUploadCommand, CreateMultipartUploadCommand, UploadPartCommand } from "@aws-sdk/client-s3";
import { newUuid, uuidToText } from "../../src/lib/uuid.ts";
import { insertFile } from "../../src/media/queries.ts";
import { deleteUnusedFiles } from "../../src/media/upkeep.ts";
import { newId } from "../../src/model/id.ts";
import { createDatabase } from "../support/database.ts";
import { closeStorage, mediaOf, openStorage } from "../support/engine.ts";
import { assertProblem, until } from "../support/expect.ts";
import { runGodwit, startGodwit, type Godwit } from "../support/harness.ts";
import { content, pdf, picture, upload } from "../support/media.ts";
import { BUCKET, Swift, whyNoSwift } from "../support/swift.ts";

const MB = 1_048_576;
const HOUR_MS = 3_600_000;

const skip = whyNoSwift();

describe("files in a bucket", { skip }, () => {
  let swift: Swift;
  let godwit: Godwit;
  let key: string;
  before(async () => {
    swift = await Swift.start();
    godwit = await startGodwit({ env: swift.settings, databaseUrl: await createDatabase() });
    key = await godwit.key();
    await godwit.unlimited();
  });
  after(async () => {
    await godwit.stop();
    await swift.stop();
  });

  const made = async (bytes: Buffer, on = godwit): Promise<string> => {
    const { status, json, text } = await upload(on, bytes, { key });
    assert.equal(status, 201, text);
    return String(json["id"]);
  };

  /** Runs upkeep with its clock later, until nothing is left to do. */
  async function clean(laterMs: number): Promise<void> {
    const storage = await openStorage({ url: godwit.databaseUrl ?? "" }, "upkeep");
    const { places } = mediaOf(storage, swift.bucket);
    const clock = { now: () => storage.clock.now() + laterMs };
    while (await deleteUnusedFiles({ db: storage.db, clock, places })) continue;
    await closeStorage(storage);
  }

  test("of every size are stored under their ids, and are readable byte for byte", async () => {
    for (const size of [1, 262_144, 262_145, 5 * MB, 5 * MB + 1, 12_345_678]) {
      const bytes = pdf(Math.max(size, 20)).subarray(0, size);
      const id = await made(bytes);
      const read = await content(godwit, id, key);
      assert.equal(read.status, 200);
      assert.ok(read.bytes.equals(bytes));
    }
    const files = await godwit.rows<{ id: Buffer; bytes: number; place: string }>("select id, bytes, place from media_files order by id");
    assert.ok(files.every(({ place }) => place === "bucket"));
    const expected = files.map(({ id, bytes }) => ({ key: uuidToText(id as never), bytes }));
    assert.deepEqual(await swift.objects(), expected);
    assert.deepEqual(await godwit.rows("select from media_chunks"), []);
    assert.deepEqual(await swift.uploads(), []);
  });

  test("that are uploaded again, or refused at the end, leave no object", async () => {
    const bytes = pdf(6 * MB);
    const [one, two] = [await made(bytes), await made(bytes)];
    assert.notEqual(one, two);
    assertProblem(await upload(godwit, pdf(5 * MB + 300_000), { key, query: { kind: "sticker" } }), "media_kind_mismatch");
    assertProblem(await upload(godwit, picture(5 * MB + 1), { key, isChunked: true }), "payload_too_large");
    const [row] = await godwit.rows<{ files: number }>("select count(*)::integer as files from media_files");
    assert.equal((await swift.objects()).length, row?.files);
    assert.deepEqual(await swift.uploads(), []);
  });

  test("that are deleted end with their objects within an hour", async () => {
    const id = await made(pdf(7 * MB));
    const earlier = await swift.objects();
    await godwit.request("DELETE", `/v1/media/${id}`, { key });
    await clean(0);
    assert.equal((await swift.objects()).length, earlier.length);
    await clean(HOUR_MS + 60_000);
    assert.equal((await swift.objects()).length, earlier.length - 1);
    assert.deepEqual(await godwit.rows("select from media_files where state <> 'stored'"), []);
  });

  test("of which a dead process has stored parts end with these", async () => {
    const storage = await openStorage({ url: godwit.databaseUrl ?? "" }, "dead");
    const owner = { accountId: newId("acct", Date.now()), environment: "live" } as const;
    const id = newUuid(storage.clock.now());
    await insertFile(storage.db, owner, { id, place: "bucket", nowMs: storage.clock.now() });
    await closeStorage(storage);
    const object = { Bucket: BUCKET, Key: uuidToText(id) };
    const others = { Bucket: BUCKET, Key: `${uuidToText(id)}-of-another-program` };
    const { UploadId: part } = await swift.client.send(new CreateMultipartUploadCommand(object));
    await swift.client.send(new UploadPartCommand({ ...object, UploadId: part, PartNumber: 1, Body: randomBytes(5 * MB) }));
    const { UploadId: foreign } = await swift.client.send(new CreateMultipartUploadCommand(others));
    await clean(HOUR_MS - 60_000);
    assert.equal((await swift.uploads()).length, 2);
    await clean(HOUR_MS + 60_000);
    assert.deepEqual(await swift.uploads(), [others.Key]);
    assert.deepEqual(await godwit.rows("select from media_files where id = $1", [id]), []);
    await swift.client.send(new AbortMultipartUploadCommand({ ...others, UploadId: foreign }));
  });

  test("stay readable when new files are stored in the database, and the other way round", async () => {
    const [inBucket, other] = [pdf(6 * MB), picture(400_000)];
    const first = await made(inBucket);
    await using without = await startGodwit({ databaseUrl: godwit.databaseUrl });
    const second = await made(other, without);
    assert.ok((await content(godwit, second, key)).bytes.equals(other));
    const unknown = await content(without, first, key);
    assert.equal(unknown.status, 503);
    assert.match(unknown.bytes.toString(), /"code":"service_unavailable".*does not know the store/);
    assert.ok((await content(godwit, first, key)).bytes.equals(inBucket));
  });

  test("are refused clearly while the bucket does not respond, and nothing of them stays", async () => {
    const bytes = pdf(300_000);
    const kept = await made(bytes);
    const files = async () => godwit.rows("select id, state from media_files where state = 'stored' order by id");
    const stored = await files();
    swift.pause();
    try {
      const [refused, unread] = await Promise.all([upload(godwit, pdf(6 * MB), { key }), content(godwit, kept, key)]);
      assertProblem(refused, "service_unavailable");
      assert.match(String(refused.json["detail"]), /the store of files does not respond/i);
      assert.ok(refused.headers.get("retry-after") !== null);
      assert.equal(unread.status, 503);
      assert.ok(godwit.logs.some(({ event }) => event === "media.bucket_failed"));
      assert.equal((await godwit.request("GET", "/v1/media?limit=1", { key })).status, 200);
    } finally {
      swift.resume();
    }
    assert.deepEqual(await files(), stored);
    await until("the bucket to respond", async () => (await content(godwit, kept, key)).status === 200);
    await clean(HOUR_MS + 60_000);
    const ids = (await godwit.rows<{ id: Buffer }>("select id from media_files where place = 'bucket' order by id")).map(({ id }) =>
      uuidToText(id as never),
    );
    assert.deepEqual(
      (await swift.objects()).map(({ key: each }) => each),
      ids,
    );
    assert.deepEqual(await swift.uploads(), []);
    assert.ok((await content(godwit, kept, key)).bytes.equals(bytes));
  });

  test("are checked by doctor", async () => {
    const check = async (env: Record<string, string>) => {
      const { stdout } = await runGodwit(["doctor", "--json"], { DATABASE_URL: godwit.databaseUrl ?? "", ...swift.settings, ...env });
      const { checks } = JSON.parse(stdout) as { checks: { name: string; status: string; detail: string }[] };
      return checks.find(({ name }) => name === "bucket");
    };
    assert.equal((await check({}))?.status, "ok");
    const wrongKey = await check({ GODWIT_MEDIA_BUCKET_SECRET: "another" });
    assert.equal(wrongKey?.status, "fail");
    assert.match(wrongKey.detail, /signature/);
    const wrongName = await check({ GODWIT_MEDIA_BUCKET: `${swift.url}/missing` });
    assert.match(wrongName?.detail ?? "", /does not exist/);
    assert.equal(await check({ GODWIT_MEDIA_BUCKET: "" }), undefined);
  });
});
