/** The media store below the API: files of messages, uploads at carriers, retention, erasure, and the end of files that nothing uses. */
import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { after, before, beforeEach, test } from "node:test";
import { Problem } from "../../src/http/problem.ts";
import { newUuid } from "../../src/lib/uuid.ts";
import { insertChunk } from "../../src/media/chunk-queries.ts";
import { eraseMediaOf } from "../../src/media/delete-media.ts";
import { claimDownloads } from "../../src/media/download-queries.ts";
import { addPendingMedia, withId } from "../../src/media/inbound-media.ts";
import type { ReadyMedia } from "../../src/media/media.ts";
import type { OpenMedia } from "../../src/media/open-media.ts";
import { CHUNK_BYTES, PlaceFailed } from "../../src/media/places.ts";
import { insertFile } from "../../src/media/queries.ts";
import { deleteOldBatch, deleteUnusedFiles } from "../../src/media/upkeep.ts";
import { newId, type MediaId } from "../../src/model/id.ts";
import type { Owner } from "../../src/model/owner.ts";
import { migrate } from "../../src/database/migrate.ts";
import { createDatabase } from "../support/database.ts";
import { closeStorage, mediaOf, openStorage, type Storage } from "../support/engine.ts";
import { pdf } from "../support/media.ts";

const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;
const PERSON = "+14155550123";
const OTHER = "+14155550124";

let storage: Storage;
let media: OpenMedia;
/** The clock of upkeep. */
let laterMs = 0;
before(async () => {
  storage = await openStorage({ url: await createDatabase() }, "test");
  await migrate(storage.db);
  media = mediaOf(storage);
});
after(() => closeStorage(storage));
beforeEach(async () => {
  laterMs = 0;
  await storage.db.script("truncate media, media_files, media_chunks, media_uploads, media_usage");
});

const newOwner = (): Owner => ({ accountId: newId("acct", Date.now()), environment: "live" });
let statements = 0;
const rows = <T>(text: string, values: readonly unknown[] = []): Promise<T[]> =>
  storage.db.rows<T>({ name: `media_test_${(statements += 1)}`, text, values });
const now = (): number => storage.clock.now();
const upkeep = () => ({ db: storage.db, clock: { now: () => now() + laterMs }, places: media.places });

/** Runs upkeep until nothing is left to do. */
async function clean(): Promise<void> {
  while (await deleteOldBatch(upkeep())) continue;
  while (await deleteUnusedFiles(upkeep())) continue;
}

async function* inPieces(bytes: Buffer): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += 50_000) yield bytes.subarray(at, at + 50_000);
}

/** Uploads a file, and returns the media. */
async function stored(owner: Owner, bytes: Buffer): Promise<MediaId> {
  const call = {
    credential: owner,
    claim: undefined,
    claimOf: () => undefined,
    origin: () => ({ actor: { type: "system", id: null, name: null }, peer: null, requestId: null }) as const,
    writeProblem: (problem: Problem) => problem.toBody("", ""),
  };
  await media.store.upload(call, inPieces(bytes), { fileName: "a.pdf", kind: undefined, contentType: "" });
  const [row] = await rows<{ id: MediaId }>("select id from media where account_id = $1 and sha256 = $2 order by id desc limit 1", [
    owner.accountId,
    createHash("sha256").update(bytes).digest(),
  ]);
  return row?.id ?? assert.fail();
}

const counts = async () =>
  (
    await rows<{ media: number; files: number; chunks: number; used: number }>(
      `select (select count(*) from media)::integer as media, (select count(*) from media_files)::integer as files,
              (select count(*) from media_chunks)::integer as chunks, (select coalesce(sum(bytes), 0) from media_usage)::integer as used`,
    )
  )[0];
const NOTHING = { media: 0, files: 0, chunks: 0, used: 0 };

async function bytesOf(pieces: AsyncIterable<Buffer>): Promise<Buffer> {
  const all: Buffer[] = [];
  for await (const piece of pieces) all.push(piece);
  return Buffer.concat(all);
}

/** Keeps media for a message, and takes them for its recipient. */
async function use(owner: Owner, id: MediaId, { recipient, atMs }: { recipient: string; atMs: number }): Promise<ReadyMedia | undefined> {
  if (!(await media.store.keep(owner, id, atMs))) return undefined;
  return (await media.store.outgoing(owner, id, recipient)) && media.store.find(owner, id);
}

const outgoing = (owner: Owner, id: MediaId) => media.store.outgoing(owner, id, PERSON);

test("a message reads the file that was uploaded", async () => {
  const owner = newOwner();
  for (const size of [1, CHUNK_BYTES - 1, CHUNK_BYTES, CHUNK_BYTES + 1, 3 * CHUNK_BYTES + 7]) {
    const bytes = randomBytes(size);
    const id = await stored(owner, bytes);
    const file = await outgoing(owner, id);
    assert.ok(file !== undefined);
    assert.deepEqual([file.bytes, file.fileName], [size, "a.pdf"]);
    assert.ok((await bytesOf(file.read())).equals(bytes));
  }
  assert.equal(await outgoing(newOwner(), await stored(owner, pdf(100))), undefined);
});

test("each use keeps media for the retention after its message, and knows its person", async () => {
  const owner = newOwner();
  const id = await stored(owner, pdf(100));
  const used = async (recipient: string, atMs: number): Promise<ReadyMedia> => (await use(owner, id, { recipient, atMs })) ?? assert.fail();
  const persons = async () =>
    (await rows<{ person: string | null; is_shared: boolean }>("select person, is_shared from media where id = $1", [id]))[0];
  const first = await used(PERSON, now());
  assert.deepEqual(await persons(), { person: PERSON, is_shared: false });
  const later = await used(PERSON, now() + 10 * DAY_MS);
  assert.ok(later.keepUntilMs >= first.keepUntilMs + 9 * DAY_MS);
  assert.equal((await used(PERSON, now())).keepUntilMs, later.keepUntilMs);
  await used(OTHER, now());
  assert.deepEqual(await persons(), { person: null, is_shared: true });
  await used(PERSON, now());
  assert.deepEqual(await persons(), { person: null, is_shared: true });
  assert.equal(await use(newOwner(), id, { recipient: PERSON, atMs: now() }), undefined);
});

test("a use that changes nothing writes nothing", async () => {
  const owner = newOwner();
  const id = await stored(owner, pdf(100));
  const version = async () => (await rows<{ xmin: string }>("select xmin::text from media where id = $1", [id]))[0]?.xmin;
  await use(owner, id, { recipient: PERSON, atMs: now() });
  const earlier = await version();
  for (let each = 0; each < 3; each += 1) await use(owner, id, { recipient: PERSON, atMs: now() });
  assert.equal(await version(), earlier);
});

test("media are deleted with their bytes after their retention, and not before", async () => {
  const owner = newOwner();
  const [kept, old] = [await stored(owner, pdf(600_000)), await stored(owner, pdf(300_000))];
  await use(owner, kept, { recipient: PERSON, atMs: now() + 20 * DAY_MS });
  laterMs = 29 * DAY_MS;
  await clean();
  assert.deepEqual(await counts(), { media: 2, files: 2, chunks: 5, used: 900_000 });
  laterMs = 40 * DAY_MS;
  await clean();
  assert.deepEqual(await counts(), { media: 1, files: 1, chunks: 3, used: 600_000 });
  assert.equal(await use(owner, old, { recipient: PERSON, atMs: now() }), undefined);
  laterMs = 60 * DAY_MS;
  await clean();
  assert.deepEqual(await counts(), NOTHING);
});

test("a file with several media ends with the last of them", async () => {
  const owner = newOwner();
  const bytes = pdf(1_000);
  const [one, two] = [await stored(owner, bytes), await stored(owner, bytes)];
  await use(owner, two, { recipient: PERSON, atMs: now() + 50 * DAY_MS });
  laterMs = 40 * DAY_MS;
  await clean();
  assert.deepEqual(await counts(), { media: 1, files: 1, chunks: 1, used: 1_000 });
  assert.equal(await outgoing(owner, one), undefined);
  assert.ok((await bytesOf((await outgoing(owner, two))?.read() ?? assert.fail())).equals(bytes));
});

test("bytes that are uploaded while the last media with them are deleted stay readable", async () => {
  for (let each = 0; each < 30; each += 1) {
    const owner = newOwner();
    const bytes = randomBytes(300_000);
    const old = await stored(owner, bytes);
    await rows("update media set keep_until = now() - interval '1 day' where id = $1", [old]);
    const [id] = await Promise.all([stored(owner, bytes), clean()]);
    await clean();
    const file = await outgoing(owner, id);
    assert.ok((await bytesOf(file?.read() ?? assert.fail())).equals(bytes));
  }
});

test("media that are used while they expire either stay, or are not usable", async () => {
  for (let each = 0; each < 30; each += 1) {
    const owner = newOwner();
    const id = await stored(owner, randomBytes(1_000));
    await rows("update media set keep_until = now() - interval '1 day' where id = $1", [id]);
    const [used] = await Promise.all([use(owner, id, { recipient: PERSON, atMs: now() }), clean()]);
    assert.equal((await outgoing(owner, id)) !== undefined, used !== undefined);
  }
});

test("an upload that has stored nothing for an hour ends, with its chunks", async () => {
  const owner = newOwner();
  const [stuck, running] = [newUuid(now()), newUuid(now())];
  for (const id of [stuck, running]) {
    await insertFile(storage.db, owner, { id, place: "database", nowMs: now() });
    await insertChunk(storage.db, { fileId: id, number: 0, bytes: randomBytes(100), nowMs: now() });
  }
  laterMs = HOUR_MS - 60_000;
  await clean();
  assert.equal((await counts())?.chunks, 2);
  laterMs = HOUR_MS + 60_000;
  await insertChunk(storage.db, { fileId: running, number: 1, bytes: randomBytes(100), nowMs: now() + laterMs });
  await clean();
  assert.deepEqual(await counts(), { media: 0, files: 1, chunks: 2, used: 0 });
  assert.deepEqual(await insertChunk(storage.db, { fileId: stuck, number: 1, bytes: randomBytes(100), nowMs: now() }), []);
});

test("an upload that was given up while it was slow is refused, and can be repeated", async () => {
  const owner = newOwner();
  const bytes = pdf(2 * CHUNK_BYTES);
  async function* slow(): AsyncGenerator<Buffer> {
    yield bytes.subarray(0, CHUNK_BYTES + 1);
    laterMs = 2 * HOUR_MS;
    await clean();
    yield bytes.subarray(CHUNK_BYTES + 1);
  }
  const receiving = media.receiver.receive(owner, slow(), { kind: undefined, hint: "" });
  await assert.rejects(receiving, (error) => error instanceof Problem && error.code === "service_unavailable");
  await clean();
  assert.deepEqual(await counts(), NOTHING);
  assert.ok(await stored(owner, bytes));
});

test("an upload at a carrier is reused until it expires, and ends with its file", async () => {
  const owner = newOwner();
  const bytes = pdf(1_000);
  const file = (await outgoing(owner, await stored(owner, bytes))) ?? assert.fail();
  assert.equal(await file.uploadedTo("meta:1"), undefined);
  await file.uploaded("meta:1", "first", now() + DAY_MS);
  await file.uploaded("meta:1", "second", now() + DAY_MS);
  await file.uploaded("meta:2", "expired", now() - 1);
  const same = (await outgoing(owner, await stored(owner, bytes))) ?? assert.fail();
  assert.equal(same.file, file.file);
  assert.deepEqual([await same.uploadedTo("meta:1"), await same.uploadedTo("meta:2")], ["second", undefined]);
  laterMs = 40 * DAY_MS;
  await clean();
  await file.uploaded("meta:1", "third", now() + DAY_MS);
  assert.deepEqual(await counts(), NOTHING);
  assert.deepEqual(await rows("select from media_uploads"), []);
});

test("a claim takes one file of each account, and none of accounts and links without room", async () => {
  const [busy, free, other] = [newOwner(), newOwner(), newOwner()];
  for (const [owner, link] of [
    [busy, "a"],
    [free, "a"],
    [other, "b"],
  ] as const) {
    const files = [1, 2].map((file) => withId({ kind: "image", fileName: null, carrierFile: String(file) }, now()));
    const source = { messageId: newId("msg", now()), link, person: null, nowMs: now(), keepUntilMs: now() + DAY_MS };
    await storage.db.transaction((tx) => addPendingMedia(tx, owner, files, source));
  }
  const nowMs = now() + 1;
  const claim = async (range: object): Promise<string[]> => {
    const claimed = await claimDownloads(storage.db, {
      nowMs,
      leasedUntilMs: nowMs + 60_000,
      busyAccounts: [],
      busyLinks: [],
      most: 8,
      ...range,
    });
    return claimed.map(({ account_id: account }) => account.toString("hex")).toSorted();
  };
  const ids = (...owners: Owner[]): string[] => owners.map(({ accountId }) => accountId.toString("hex")).toSorted();
  assert.deepEqual(await claim({ busyAccounts: [busy.accountId], busyLinks: ["b"] }), ids(free));
  assert.deepEqual(await claim({}), ids(busy, free, other));
  assert.deepEqual(await claim({}), ids(busy, other));
  assert.deepEqual(await claim({}), []);
});

test("an erasure deletes the media of one person, and leaves those of several", async () => {
  const owner = newOwner();
  const [theirs, shared, unused] = [await stored(owner, pdf(100)), await stored(owner, pdf(200)), await stored(owner, pdf(300))];
  await use(owner, theirs, { recipient: PERSON, atMs: now() });
  for (const recipient of [PERSON, OTHER]) await use(owner, shared, { recipient, atMs: now() });
  assert.equal(await storage.db.transaction((tx) => eraseMediaOf(tx, newOwner(), PERSON, 100)), 0);
  assert.equal(await storage.db.transaction((tx) => eraseMediaOf(tx, owner, PERSON, 100)), 1);
  await clean();
  assert.equal(await outgoing(owner, theirs), undefined);
  assert.ok((await outgoing(owner, shared)) !== undefined && (await outgoing(owner, unused)) !== undefined);
  assert.deepEqual(await counts(), { media: 2, files: 2, chunks: 2, used: 500 });
});

test("a bucket that cannot be reached refuses files, and keeps nothing of them", async () => {
  const owner = newOwner();
  const inDatabase = await stored(owner, pdf(100));
  const settings = { endpoint: "http://127.0.0.1:1", name: "media", region: "a", credentials: { accessKeyId: "a", secretAccessKey: "b" } };
  const { receiver, store, places } = mediaOf(storage, settings);
  await assert.rejects(receiver.receive(owner, inPieces(pdf(300_000)), { kind: undefined, hint: "" }), (error) => {
    assert.ok(error instanceof Problem);
    return error.code === "service_unavailable" && /does not respond/.test(error.detail);
  });
  assert.deepEqual(await rows("select state, place from media_files order by state"), [
    { state: "deleted", place: "bucket" },
    { state: "stored", place: "database" },
  ]);
  const file = (await store.outgoing(owner, inDatabase, PERSON)) ?? assert.fail();
  assert.equal((await bytesOf(file.read())).length, 100);
  // The bytes of the request could still arrive in the bucket: its row stays until they are deleted there.
  laterMs = 2 * HOUR_MS;
  await assert.rejects(deleteUnusedFiles({ ...upkeep(), places }), PlaceFailed);
  assert.equal((await counts())?.files, 2);
});

test("a file in a bucket that this node does not know is refused", async () => {
  const owner = newOwner();
  const id = await stored(owner, pdf(100));
  await rows("update media_files set place = 'bucket'");
  const file = (await outgoing(owner, id)) ?? assert.fail();
  await assert.rejects(bytesOf(file.read()), (error) => error instanceof Problem && error.code === "service_unavailable");
});
