/** `kill -9` of a node during uploads, fetches by URL and downloads of inbound files, with files in the database and in a bucket by turns. Each file
 *  with a 201, and each file of an inbound message, can be read byte for byte, and after an hour's upkeep nothing else is left. */
import assert from "node:assert/strict";
import { createHash, randomUUID } from "node:crypto";
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { uuidToText, type Uuid } from "../../src/lib/uuid.ts";
import { deleteOldBatch, deleteUnusedFiles } from "../../src/media/upkeep.ts";
import { encodeId, type MediaId } from "../../src/model/id.ts";
import { createDatabase } from "../support/database.ts";
import { closeStorage, mediaOf, openStorage } from "../support/engine.ts";
import { until } from "../support/expect.ts";
import { FakeGraph, graphCall, GRAPH_SECRETS, graphSignature, OUR_NUMBER, PHONE_NUMBER_ID } from "../support/fakes/graph.ts";
import { startGodwit, type Godwit } from "../support/harness.ts";
import { ALLOW_LOOPBACK } from "../support/hook-server.ts";
import { content, pdf, picture, upload } from "../support/media.ts";
import { seeded } from "../support/seed.ts";
import { Swift, whyNoSwift } from "../support/swift.ts";

const GROUPS = 4;
const KILLS_OF_GROUP = 5;
const CLIENTS = 4;
const MB = 1_048_576;
const HOUR_MS = 3_600_000;

const hashOf = (bytes: Buffer): string => createHash("sha256").update(bytes).digest("hex");

/** A request, and its response unless the node was killed before it. */
type Sent = { hash: string; repeat: (node: Godwit) => Promise<{ status: number; json: Record<string, unknown> }>; id: string | undefined };

let graph: FakeGraph;
let files: Server;
/** The files that the node fetches, by their paths. */
const fetched = new Map<string, Buffer>();
before(async () => {
  graph = await new FakeGraph().listen();
  files = createServer(({ url = "" }, response) => response.end(fetched.get(url))).listen(0, "127.0.0.1");
  await once(files, "listening");
});
after(async () => {
  await graph.close();
  files.closeAllConnections();
  files.close();
});

const config = (): string => `
[[link]]
name = "wa"
provider = "whatsapp"
base_url = "${graph.url}"
phone_number_id = "${PHONE_NUMBER_ID}"
access_token_env = "TOKEN"
app_secret_env = "APP"
verify_token_env = "VERIFY"
[[sender]]
number = "${OUR_NUMBER}"
link = "wa"
account = "default"
environment = "live"
`;

const SECRETS = { TOKEN: GRAPH_SECRETS.accessToken, APP: GRAPH_SECRETS.appSecret, VERIFY: GRAPH_SECRETS.verifyToken };

let swift: Swift | undefined;
let databaseUrl: string;
/** A node that is not killed. It knows both places. */
let reader: Godwit;
let key: string;
before(async () => {
  if (whyNoSwift() === false) swift = await Swift.start();
  databaseUrl = await createDatabase();
  reader = await start(swift?.settings, { asProcess: false, roles: "api" });
  await reader.unlimited();
  key = await reader.key({ environment: "live" });
});
after(async () => {
  await reader.stop();
  await swift?.stop();
});

const start = (env: Record<string, string> = {}, { asProcess = true, roles = "api,dispatch,webhooks" } = {}): Promise<Godwit> =>
  startGodwit({
    asProcess,
    databaseUrl,
    roles,
    config: config(),
    env: { ...ALLOW_LOOPBACK, ...SECRETS, ...env },
    // Another node downloads the files of a dead one when its lease has ended.
    timings: { queueLeaseMs: 2_000, deliveryPollMs: 500 },
  });

const sent: Sent[] = [];
/** The files of inbound messages by their ids at the carrier. */
const inbound = new Map<string, string>();
/** Those whose notification had a response. The node stores others as well, and the carrier would send them again. */
const taken: string[] = [];
let brokenOff = 0;
let repeated = 0;
let kills = 0;

// Most are small.
const sizeOf = (random: () => number, most: number): number => Math.round(1_000 + random() ** 4 * most);

function uploading(random: () => number): Sent {
  const [bytes, idempotencyKey] = [pdf(sizeOf(random, 12 * MB)), randomUUID()];
  return { hash: hashOf(bytes), id: undefined, repeat: (node) => upload(node, bytes, { key, idempotencyKey }) };
}

function fetching(random: () => number): Sent {
  const [bytes, idempotencyKey] = [pdf(sizeOf(random, 8 * MB)), randomUUID()];
  const path = `/${idempotencyKey}`;
  fetched.set(path, bytes);
  const body = { url: `http://127.0.0.1:${(files.address() as AddressInfo).port}${path}` };
  return { hash: hashOf(bytes), id: undefined, repeat: (node) => node.request("POST", "/v1/media", { key, body, idempotencyKey }) };
}

/** Makes a request. Returns false if the node was killed meanwhile. */
async function send(one: Sent, node: Godwit): Promise<boolean> {
  const reply = await one.repeat(node).catch(() => undefined);
  if (reply === undefined) return false;
  assert.equal(reply.status, 201, JSON.stringify(reply.json));
  one.id = String(reply.json["id"]);
  return true;
}

/** Brings a picture of a person. Returns false if the node was killed meanwhile. */
async function receive(random: () => number, node: Godwit): Promise<boolean> {
  const bytes = picture(sizeOf(random, 4 * MB));
  const id = String(2_621_233_374_800_000 + inbound.size);
  graph.files.set(id, { bytes, mimeType: "image/jpeg" });
  inbound.set(id, hashOf(bytes));
  const message = {
    from: "15551234567",
    id: `wamid.${id}`,
    timestamp: String(Math.floor(Date.now() / 1_000)),
    type: "image",
    image: { id },
  };
  const body = graphCall({ contacts: [{ wa_id: "15551234567", profile: { name: "A" } }], messages: [message] });
  const headers = { "content-type": "application/json", "x-hub-signature-256": graphSignature(body) };
  const response = await fetch(`${node.url}/providers/whatsapp/wa`, { method: "POST", headers, body }).catch(() => undefined);
  if (response === undefined) return false;
  assert.equal(response.status, 200);
  taken.push(id);
  return true;
}

const withId = (some: readonly Sent[]) => some.flatMap(({ id, hash }) => (id === undefined ? [] : [[id, hash] as const]));

async function assertReadable(expected: readonly (readonly [id: string, hash: string])[]): Promise<void> {
  for (const [id, hash] of expected) {
    const { status, bytes } = await content(reader, id, key);
    assert.equal(status, 200, id);
    assert.equal(hashOf(bytes), hash, id);
  }
}

/** Kills a node at a random moment of its work. Then each of its files with a 201 can be read, and the other requests can be repeated. */
async function killOnce(random: () => number, env: Record<string, string> | undefined): Promise<void> {
  const node = await start(env);
  const earlier = sent.length;
  let stored = 0;
  const killed = new AbortController();
  const clients = Array.from({ length: CLIENTS }, async (_, client) => {
    while (!killed.signal.aborted) {
      if (client === 0) {
        if (!(await receive(random, node))) return;
        continue;
      }
      const one = client === 1 ? fetching(random) : uploading(random);
      sent.push(one);
      if (!(await send(one, node))) return;
      stored += 1;
    }
  });
  const ended = Promise.all(clients);
  const moment = until("files to be stored", () => stored > 2).then(() => sleep(random() * 600));
  // A client fails where the node refuses a file.
  await Promise.race([moment, ended]);
  killed.abort();
  await node.stop("SIGKILL");
  await ended;
  kills += 1;
  const [writing] = await reader.rows<{ files: number }>("select count(*)::integer as files from media_files where state = 'writing'");
  brokenOff = Math.max(brokenOff, writing?.files ?? 0);
  const mine = sent.slice(earlier);
  await assertReadable(withId(mine));
  const unanswered = mine.filter(({ id }) => id === undefined);
  for (const one of unanswered) assert.ok(await send(one, reader));
  repeated += unanswered.length;
  await assertReadable(withId(unanswered));
  fetched.clear();
}

// A test has five minutes.
for (let group = 1; group <= GROUPS; group += 1)
  test(`a node that is killed loses no file: group ${group} of ${GROUPS}`, async (context) => {
    const random = seeded(context);
    for (let kill = 0; kill < KILLS_OF_GROUP; kill += 1) await killOnce(random, kill % 2 === 0 ? {} : swift?.settings);
  });

test("after all kills, the files of inbound messages are downloaded, and upkeep leaves nothing that no media have", async (context) => {
  assert.equal(kills, GROUPS * KILLS_OF_GROUP);
  assert.ok(brokenOff > 0, "no kill interrupted a file");
  const why = whyNoSwift();
  if (why !== false) context.diagnostic(`all files are in the database: ${why}`);
  await using godwit = await start(swift?.settings);
  const pending = "select from media where status <> 'ready' limit 1";
  await until("the files of inbound messages to be downloaded", async () => (await reader.rows(pending)).length === 0);
  assert.equal(await godwit.stop(), 0);
  const received = await reader.rows<{ id: MediaId; carrier_file: string }>("select id, carrier_file from media where source = 'inbound'");
  const carrierFiles = new Set(received.map(({ carrier_file: file }) => file));
  assert.equal(carrierFiles.size, received.length);
  assert.deepEqual(
    taken.filter((id) => !carrierFiles.has(id)),
    [],
  );
  const inboundFiles = received.map(({ id, carrier_file: file }) => [encodeId("media", id), inbound.get(file) ?? ""] as const);

  const storage = await openStorage({ url: databaseUrl }, "upkeep");
  const { places } = mediaOf(storage, swift?.bucket);
  const upkeep = { db: storage.db, clock: { now: () => storage.clock.now() + HOUR_MS + 60_000 }, places };
  while (await deleteOldBatch(upkeep)) continue;
  while (await deleteUnusedFiles(upkeep)) continue;
  await closeStorage(storage);
  const left = await reader.rows<{ id: Uuid; place: string; bytes: number; chunk_bytes: number; media: number }>(
    `select f.id, f.place, f.bytes,
            (select coalesce(sum(octet_length(c.bytes)), 0)::bigint from media_chunks c where c.file_id = f.id) as chunk_bytes,
            (select count(*)::integer from media m where m.file_id = f.id) as media
       from media_files f
      order by f.id`,
  );
  assert.ok(left.every(({ media }) => media > 0));
  assert.ok(left.every(({ place, bytes, chunk_bytes: chunkBytes }) => chunkBytes === (place === "database" ? bytes : 0)));
  assert.deepEqual(await reader.rows("select from media_files where state <> 'stored'"), []);
  assert.deepEqual(await reader.rows("select from media_chunks c where not exists (select from media_files f where f.id = c.file_id)"), []);
  const [used] = await reader.rows<{ bytes: number }>("select sum(bytes)::bigint as bytes from media_usage");
  const sum = left.reduce((total, { bytes }) => total + bytes, 0);
  assert.equal(used?.bytes, sum);
  if (swift !== undefined) {
    const inBucket = left.filter(({ place }) => place === "bucket").map(({ id, bytes }) => ({ key: uuidToText(id), bytes }));
    assert.deepEqual(await swift.objects(), inBucket);
    assert.deepEqual(await swift.uploads(), []);
  }
  await assertReadable([...withId(sent), ...inboundFiles]);
  context.diagnostic(
    `${kills} kills: ${sent.length} uploads and fetches, of which ${repeated} had no response and were repeated; ${inboundFiles.length} inbound files; ` +
      `${brokenOff} files were broken off; ${left.length} files with ${Math.round(sum / 1e6)} MB are left`,
  );
});
