/** A page of the embedded database that the disk returns with other bytes: a request that needs the page gets an error and never a wrong
 *  response, and other requests work. */
import assert from "node:assert/strict";
import { chmodSync, closeSync, mkdtempSync, openSync, readSync, rmSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { clusterPath } from "../../src/embedded/data-directory.ts";
import { asEmbeddedAdmin, unlimitedKey } from "./embedded-database.ts";
import { assertProblem } from "../support/expect.ts";
import { startGodwit, type Godwit, type Reply } from "../support/harness.ts";
import { assertReplayOf } from "../support/replay.ts";
import { rowId } from "../support/tables.ts";

const PAGE_BYTES = 8_192;
const DAMAGED_BYTES = 64;
// Some twenty pages.
const MESSAGES = 400;
const SENDS_AT_ONCE = 16;

/** The place of a message in the files of the cluster. */
type Place = { id: string; file: string; page: number };

let folder: string;
before(() => {
  folder = mkdtempSync(join(tmpdir(), "godwit-corrupted-"));
  // The user of the database needs access.
  chmodSync(folder, 0o755);
});
after(() => rmSync(folder, { recursive: true, force: true }));

async function sendMany(godwit: Godwit, apiKey: string): Promise<Reply[]> {
  const replies: Reply[] = [];
  const work = async (): Promise<void> => {
    while (replies.length < MESSAGES) replies.push(await godwit.send(apiKey));
  };
  await Promise.all(Array.from({ length: SENDS_AT_ONCE }, work));
  for (const reply of replies) assert.equal(reply.status, 202, reply.text);
  return replies;
}

const placesOf = (dataDir: string): Promise<Map<string, Place>> =>
  asEmbeddedAdmin(dataDir, async (admin) => {
    const { rows } = await admin.query<Place>(
      `select id::text, pg_relation_filepath(tableoid) as file, (ctid::text::point)[0]::integer as page
         from messages`,
    );
    return new Map(rows.map((place) => [place.id, place]));
  });

/** Inverts bytes in the middle of the page, where the rows are. */
function damage(dataDir: string, { file, page }: Place): void {
  const position = page * PAGE_BYTES + PAGE_BYTES / 2;
  const bytes = Buffer.alloc(DAMAGED_BYTES);
  const opened = openSync(join(clusterPath(dataDir), file), "r+");
  try {
    assert.equal(readSync(opened, bytes, 0, bytes.length, position), bytes.length);
    writeSync(
      opened,
      bytes.map((byte) => byte ^ 0xff),
      0,
      bytes.length,
      position,
    );
  } finally {
    closeSync(opened);
  }
}

test("messages on a corrupted page cannot be read, and all others can", async (context) => {
  const dataDir = join(folder, "data");
  const start = (): Promise<Godwit> => startGodwit({ asProcess: true, env: { GODWIT_DATA_DIR: dataDir } });
  const read = (godwit: Godwit, id: string): Promise<Reply> => godwit.request("GET", `/v1/messages/${id}`, { key: apiKey });
  const healthy = await start();
  const apiKey = await unlimitedKey(dataDir);
  const ids = (await sendMany(healthy, apiKey)).map(({ json }) => String(json["id"]));
  const firstReads = new Map<string, Reply>();
  for (const id of ids) firstReads.set(id, await read(healthy, id));
  const places = await placesOf(dataDir);
  assert.equal(await healthy.stop(), 0);

  const placeOf = (id: string): Place => places.get(rowId(id)) ?? assert.fail(`no row for ${id}`);
  const target = placeOf(ids[MESSAGES / 2] ?? "");
  damage(dataDir, target);

  await using godwit = await start();
  let damaged = 0;
  for (const id of ids) {
    const { file, page } = placeOf(id);
    const reply = await read(godwit, id);
    if (file === target.file && page === target.page) {
      damaged += 1;
      assertProblem(reply, "internal_server_error");
    } else {
      assert.deepEqual([reply.status, reply.text], [200, firstReads.get(id)?.text]);
    }
  }
  assert.ok(damaged > 0 && damaged < ids.length / 2, `${damaged} messages on the page`);
  context.diagnostic(`${damaged} of ${ids.length} messages are on the corrupted page`);

  const idempotencyKey = "6f1e1bb6-5b1c-4b58-9c39-5a3f2f3c7d10";
  const sent = await godwit.send(apiKey, {}, { idempotencyKey });
  assert.equal(sent.status, 202, sent.text);
  assertReplayOf(sent, await godwit.send(apiKey, {}, { idempotencyKey }));
  assert.equal((await godwit.request("GET", "/readyz")).status, 200);
});
