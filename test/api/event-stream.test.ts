/** The event stream over HTTP: no event is lost, none is duplicated on one connection, and no client delays the server. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer, type ServerResponse } from "node:http";
import { connect, type AddressInfo, type Socket } from "node:net";
import { after, before, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import type { Credential } from "../../src/access/authenticate.ts";
import type { QuotaDecision } from "../../src/access/limiter.ts";
import { pumpFrames } from "../../src/api/stream.ts";
import { EventPositions } from "../../src/events/positions.ts";
import { EventStreams } from "../../src/events/stream.ts";
import { decodeId, newId, toId, type EventId } from "../../src/model/id.ts";
import { NIL_UUID, uuidFromBytes, uuidToText } from "../../src/lib/uuid.ts";
import { within } from "../../src/lib/wait.ts";
import { DatabaseWire } from "../support/database-wire.ts";
import { eventId, EventReader, insertEvents, insertion, madeAgo, newOwner, type Owner } from "../support/event-reader.ts";
import { assertCommonHeaders, assertProblem, faultsOf, LIMIT_MS, NEVER_MS, until, Wire } from "../support/expect.ts";
import { startGodwit, type Godwit } from "../support/harness.ts";
import { Lock } from "../support/locks.ts";
import { readMetrics } from "../support/metrics-text.ts";
import { seeded } from "../support/seed.ts";

const STREAM = "/v1/events/stream";
const DELIVERED = ["message.queued", "message.sending", "message.sent", "message.delivered"];

const streamCount = async (godwit: Godwit): Promise<number> => (await readMetrics(godwit)).get("godwit_event_streams") ?? Number.NaN;

const untilStreams = (godwit: Godwit, count: number, timeoutMs?: number): Promise<true> =>
  until(`${count} streams are open`, async () => (await streamCount(godwit)) === count || undefined, timeoutMs);

const idsNow = (count: number): EventId[] => Array.from({ length: count }, () => newId("evt", Date.now()));

/** Opens a client that requests the stream and never reads. */
async function stalledClient({ url }: Godwit, { key }: Owner, lastEventId: string): Promise<Socket> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  socket.on("error", () => undefined);
  await once(socket, "connect");
  socket.pause();
  socket.write(`GET ${STREAM} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\nLast-Event-ID: ${lastEventId}\r\n\r\n`);
  return socket;
}

// The rows compress well in the database. As frames they are 100 MB, more than the buffers of a socket hold.
const BULK = { count: 5_000, record: { text: "x".repeat(20_000) } };

async function insertBulk(godwit: Godwit, owner: Owner): Promise<string> {
  const [first = ""] = await insertEvents(godwit, owner, [madeAgo(60_000)]);
  for (let at = 0; at < BULK.count; at += 1_000) await insertEvents(godwit, owner, idsNow(1_000), { record: BULK.record });
  return first;
}

/** The start of a reader whose environment has no event. */
const NO_EVENT = eventId(toId("evt", NIL_UUID));

/** The start of a reader as 0.2 wrote it: a position in the form of an id. */
function placeOf020(position: number): string {
  const bytes = Buffer.alloc(16);
  bytes.writeBigUInt64BE(BigInt(position), 8);
  return eventId(toId("evt", uuidFromBytes(bytes)));
}

describe("the event stream", { concurrency: true }, () => {
  let godwit: Godwit;
  before(async () => {
    godwit = await startGodwit({ roles: "api,dispatch", simulatorSpeed: 100 });
  });
  after(() => godwit.stop());

  test("starts at once, as an event stream with the common headers", async () => {
    const { key } = await newOwner(godwit, "begins");
    const startedAt = performance.now();
    using reader = await EventReader.open(godwit, key);
    assert.ok(performance.now() - startedAt < LIMIT_MS, "the first frame does not wait for an event");
    assert.equal(reader.headers.get("content-type"), "text/event-stream; charset=utf-8");
    assertCommonHeaders(reader);
    assert.match(reader.blocks[0] ?? "", /^retry: 2000$/m);
    assert.deepEqual(reader.events, []);
  });

  test("delivers the events of a message in order, in the form of the API", async () => {
    const { key } = await newOwner(godwit, "life");
    using reader = await EventReader.open(godwit, key);
    const { json: message } = await godwit.send(key);
    await until("four events arrive", () => reader.events.length >= 4 || undefined);
    assert.deepEqual(
      reader.events.map(({ type }) => type),
      DELIVERED,
    );
    for (const { id, type, data } of reader.events) {
      assert.equal((await godwit.request("GET", `/v1/events/${id}`, { key })).text, data);
      const event = JSON.parse(data) as { id: string; type: string; data: { message: { id: string } } };
      assert.deepEqual([event.id, event.type, event.data.message.id], [id, type, message["id"]]);
    }
  });

  test("can be limited to one type or to all types of a kind", async () => {
    const { key } = await newOwner(godwit, "types");
    using delivered = await EventReader.open(godwit, key, { type: "message.delivered" });
    using ofKind = await EventReader.open(godwit, key, { type: "message.*" });
    using others = await EventReader.open(godwit, key, { type: "endpoint.*" });
    await godwit.send(key);
    await until("the last event arrives", () => ofKind.events.length >= 4 || undefined);
    await until("the one event arrives", () => delivered.events[0]);
    const typesOf = ({ events }: EventReader): string[] => events.map(({ type }) => type);
    assert.deepEqual([typesOf(delivered), typesOf(ofKind), typesOf(others)], [["message.delivered"], DELIVERED, []]);
    const wrong = await godwit.request("GET", `${STREAM}?type=sent`, { key });
    assertProblem(wrong, "invalid_request_payload");
    assert.equal(faultsOf(wrong)[0]?.parameter, "type");
  });

  test("continues after the last event that the client saw, including events committed in between", async () => {
    const owner = await newOwner(godwit, "resumes");
    const first = await EventReader.open(godwit, owner.key);
    const already = await insertEvents(godwit, owner, idsNow(3));
    await first.has(already);
    first.leave();
    const meanwhile = await insertEvents(godwit, owner, idsNow(3));
    using second = await EventReader.open(godwit, owner.key, { after: first.lastId ?? "" });
    const later = await insertEvents(godwit, owner, idsNow(1));
    await second.has([...meanwhile, ...later]);
    assert.deepEqual(second.ids, [...meanwhile, ...later], "no event is sent again");
  });

  test("continues from its start for a client that saw no event", async () => {
    const owner = await newOwner(godwit, "saw nothing");
    const first = await EventReader.open(godwit, owner.key);
    const { lastId } = first;
    assert.ok(lastId !== undefined, "the first frame has the start position");
    first.leave();
    const meanwhile = await insertEvents(godwit, owner, idsNow(2));
    using second = await EventReader.open(godwit, owner.key, { after: lastId });
    await second.has(meanwhile);
  });

  test("shows no position of the installation, and continues from an id that 0.2 has given to a client", async () => {
    const [owner, busy] = [await newOwner(godwit, "quiet"), await newOwner(godwit, "crowd")];
    const startOf = async (): Promise<string> => {
      using reader = await EventReader.open(godwit, owner.key);
      return reader.lastId ?? "";
    };
    const ids = [await startOf()];
    await insertEvents(godwit, busy, idsNow(5));
    ids.push(await startOf());
    assert.deepEqual(ids, [NO_EVENT, NO_EVENT]);
    const [row] = await godwit.rows<{ position: number }>("select last_value::integer as position from event_positions");
    const [first = ""] = await insertEvents(godwit, owner, idsNow(1));
    await insertEvents(godwit, busy, idsNow(5));
    // An open transaction of another test may still hold back the present position.
    const place = await until("an event to be behind the present", async () => [await startOf()].find((each) => each !== NO_EVENT));
    assert.equal(place, first, "the last event of the reader itself");
    using old = await EventReader.open(godwit, owner.key, { after: placeOf020(row?.position ?? 0) });
    await old.has([first]);
  });

  test("sends what was committed after the last event, however old its id is, and nothing before it", async () => {
    const owner = await newOwner(godwit, "any age");
    const [, , last = ""] = await insertEvents(godwit, owner, [madeAgo(300_000), madeAgo(60_000), madeAgo(100_000)]);
    const meanwhile = await insertEvents(godwit, owner, [madeAgo(3_600_000), madeAgo(200_000)]);
    using reader = await EventReader.open(godwit, owner.key, { after: last });
    const next = await insertEvents(godwit, owner, [madeAgo(7_200_000), ...idsNow(1)]);
    await reader.has([...meanwhile, ...next]);
    assert.deepEqual(reader.ids, [...meanwhile, ...next]);
  });

  test("continues after the last earlier event for an id that is not stored", async () => {
    const owner = await newOwner(godwit, "removed");
    const [first = "", second = ""] = await insertEvents(godwit, owner, [madeAgo(300_000), madeAgo(100_000)]);
    using reader = await EventReader.open(godwit, owner.key, { after: eventId(madeAgo(200_000)) });
    await reader.has([second]);
    using whole = await EventReader.open(godwit, owner.key, { after: eventId(madeAgo(400_000)) });
    await whole.has([first, second]);
    assert.deepEqual([reader.ids, whole.ids], [[second], [first, second]]);
  });

  test("accepts a place far in the future as the present", async () => {
    const owner = await newOwner(godwit, "far ahead");
    using reader = await EventReader.open(godwit, owner.key, { after: "evt_0000000000000zzzzzzzzzzzzz" });
    const next = await insertEvents(godwit, owner, idsNow(1));
    await reader.has(next);
  });

  test("waits for a transaction that commits late, and sends its events and the later ones once", async () => {
    const owner = await newOwner(godwit, "late");
    using reader = await EventReader.open(godwit, owner.key);
    const late = madeAgo(3_600_000);
    const client = new pg.Client(godwit.databaseUrl);
    await client.connect();
    await client.query("begin");
    await client.query(insertion(owner, [late]));
    const early = await insertEvents(godwit, owner, idsNow(2));
    await until(
      "the metric shows the stall",
      async () => ((await readMetrics(godwit)).get("godwit_event_stream_stalled_seconds") ?? 0) > 0.5 || undefined,
    );
    assert.deepEqual(reader.ids, [], "an event is not sent before those with earlier positions are settled");
    await client.query("commit");
    await client.end();
    await reader.has([eventId(late), ...early]);
    assert.deepEqual(reader.ids, [eventId(late), ...early]);
  });

  test("sends an event that commits late while the client is disconnected after it reconnects", async () => {
    const owner = await newOwner(godwit, "late and away");
    const first = await EventReader.open(godwit, owner.key);
    const seen = await insertEvents(godwit, owner, idsNow(1));
    await first.has(seen);
    const late = madeAgo(3_600_000);
    const client = new pg.Client(godwit.databaseUrl);
    await client.connect();
    await client.query("begin");
    await client.query(insertion(owner, [late]));
    const early = await insertEvents(godwit, owner, idsNow(1));
    first.leave();
    using second = await EventReader.open(godwit, owner.key, { after: first.lastId ?? "" });
    await client.query("commit");
    await client.end();
    await second.has([eventId(late), ...early]);
    assert.deepEqual(second.ids, [eventId(late), ...early]);
  });

  test("is not delayed by other transactions that are open", async () => {
    const owner = await newOwner(godwit, "undisturbed");
    using reader = await EventReader.open(godwit, owner.key);
    await using writing = await Lock.take(godwit.databaseUrl, "update installation set only_row = true");
    await using reading = await Lock.take(godwit.databaseUrl, "select count(*) from events");
    const events = await insertEvents(godwit, owner, idsNow(2));
    await reader.has(events);
    await Promise.all([writing.release(), reading.release()]);
  });

  test("sends missed events of several pages in order", async () => {
    const owner = await newOwner(godwit, "pages");
    const [anchor = ""] = await insertEvents(godwit, owner, [madeAgo(60_000)]);
    const missed = await insertEvents(
      godwit,
      owner,
      Array.from({ length: 1_700 }, (_, index) => madeAgo(50_000 - index * 20)),
    );
    using reader = await EventReader.open(godwit, owner.key, { after: anchor });
    await reader.has(missed);
    assert.deepEqual(reader.ids, missed);
  });

  test("sends each of thousands of events once that commit in any order", async (context) => {
    const random = seeded(context);
    const owner = await newOwner(godwit, "busy");
    using reader = await EventReader.open(godwit, owner.key);
    const write = async (): Promise<string[]> => {
      const ids: string[] = [];
      for (let round = 0; round < 15; round += 1) {
        const made = idsNow(1 + Math.floor(random() * 80));
        await sleep(random() * 200);
        ids.push(...(await insertEvents(godwit, owner, made)));
      }
      return ids;
    };
    const written = (await Promise.all(Array.from({ length: 6 }, write))).flat();
    await reader.has(written);
    assert.deepEqual(reader.ids.toSorted(), written.toSorted());
  });

  const BAD_IDS = ["x", "evt_", "msg_01k9zs3v8mf4tb2xg1qj6n0d5c", "evt_01k9zs3v8mf4tb2xg1qj6n0d5c0", "evt_01K9ZS3V8MF4TB2XG1QJ6N0D5C"];
  test("refuses an invalid Last-Event-ID as a fault of its header", async () => {
    const { key } = await newOwner(godwit, "bad ids");
    for (const id of BAD_IDS) {
      const reply = await godwit.request("GET", STREAM, { key, headers: { "last-event-id": id } });
      assertProblem(reply, "invalid_request_payload");
      assert.deepEqual(
        faultsOf(reply).map(({ header, code }) => [header, code]),
        [["Last-Event-ID", "invalid_format"]],
      );
    }
  });

  test("returns 401 without a key and 403 without the scope", async () => {
    assertProblem(await godwit.request("GET", STREAM), "unauthorized_missing_token");
    const reply = await godwit.request("GET", STREAM, { key: await godwit.key({ scopes: ["messages:read", "messages:send"] }) });
    assertProblem(reply, "forbidden_insufficient_scope");
    assert.deepEqual(reply.json["required_scopes"], ["events:read"]);
  });

  test("contains only events of its own account and environment", async () => {
    const owner = await newOwner(godwit, "own");
    const strangers = [await newOwner(godwit, "own", "live"), await newOwner(godwit, "stranger")];
    const [anchor = ""] = await insertEvents(godwit, owner, [madeAgo(10_000)]);
    using live = await EventReader.open(godwit, owner.key);
    using resumed = await EventReader.open(godwit, owner.key, { after: anchor });
    const theirs = await Promise.all(strangers.map((stranger) => insertEvents(godwit, stranger, idsNow(3))));
    const own = await insertEvents(godwit, owner, idsNow(1));
    await Promise.all([live.has(own), resumed.has(own)]);
    // A transaction that is open elsewhere can delay the position of the anchor beyond the start of the live stream.
    assert.deepEqual([live.ids.filter((id) => id !== anchor), resumed.ids], [own, own]);
    // The id of an event of another account counts only as a time.
    using borrowed = await EventReader.open(godwit, owner.key, { after: theirs[1]?.[0] ?? "" });
    await borrowed.has(own);
    assert.deepEqual(borrowed.ids, own);
  });

  test("ends when its key is revoked", async () => {
    const owner = await newOwner(godwit, "revoked");
    using reader = await EventReader.open(godwit, owner.key);
    await godwit.rows("update api_keys set revoked_at = now() where account_id = $1", [uuidToText(owner.accountId)]);
    const startedAt = performance.now();
    assert.equal(await reader.ended(), "closed");
    assert.ok(performance.now() - startedAt < LIMIT_MS);
    assertProblem(await godwit.request("GET", STREAM, { key: owner.key }), "unauthorized_invalid_token");
  });
});

describe("the limit of streams", () => {
  let godwit: Godwit;
  before(async () => {
    godwit = await startGodwit({ asProcess: true, isOneProcess: true });
  });
  after(() => godwit.stop());

  test("is freed by a client that leaves, even before the response", async () => {
    const { key } = await newOwner(godwit, "leaves");
    const reader = await EventReader.open(godwit, key);
    await untilStreams(godwit, 1);
    reader.leave();
    await untilStreams(godwit, 0);
    for (let count = 0; count < 30; count += 1) {
      const wire = await Wire.open(godwit.url);
      wire.request(`GET ${STREAM}`, { authorization: `Bearer ${key}` });
      wire.close();
    }
    // The service may still be reading the requests of the clients that left.
    using last = await until("a stream is permitted", () =>
      EventReader.open(godwit, key).catch((error: Error) => {
        if (!error.message.includes("rate_limit_exceeded")) throw error;
        return undefined;
      }),
    );
    await untilStreams(godwit, 1);
    last.leave();
    await untilStreams(godwit, 0);
  });

  test("is not used by a HEAD, which has the headers of the stream and ends", async () => {
    const { key } = await newOwner(godwit, "head");
    const wire = await Wire.open(godwit.url);
    wire.request(`HEAD ${STREAM}`, { authorization: `Bearer ${key}` });
    const reply = await wire.reply({ isHead: true });
    wire.close();
    assert.equal(reply.status, 200);
    assert.equal(reply.headers.get("content-type"), "text/event-stream; charset=utf-8");
    assertCommonHeaders(reply);
    await untilStreams(godwit, 0);
  });

  test("is twenty for each account; a further request gets Retry-After", async () => {
    const { key } = await newOwner(godwit, "many");
    const live = await newOwner(godwit, "many", "live");
    const other = await newOwner(godwit, "another");
    const readers = await Promise.all(Array.from({ length: 20 }, (_, index) => EventReader.open(godwit, index < 15 ? key : live.key)));
    const refused = await godwit.request("GET", STREAM, { key });
    assertProblem(refused, "rate_limit_exceeded");
    assert.match(refused.headers.get("retry-after") ?? "", /^[1-9]\d*$/);
    readers.push(await EventReader.open(godwit, other.key));
    await untilStreams(godwit, 21);
    readers[0]?.leave();
    await untilStreams(godwit, 20);
    readers.push(await EventReader.open(godwit, key));
    for (const reader of readers) reader.leave();
    await untilStreams(godwit, 0);
  });

  test("bounds memory: for a client that does not read, no more is fetched than its connection holds", async () => {
    const owner = await newOwner(godwit, "stalled");
    const first = await insertBulk(godwit, owner);
    const readAll = async (): Promise<void> => {
      using reader = await EventReader.open(godwit, owner.key, { after: first });
      await until("all events arrive", () => reader.events.length >= BULK.count || undefined);
    };
    const memoryMb = (): number =>
      Number(/^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${godwit.child.pid}/status`, "utf8"))?.[1]) / 1_024;
    // Warms up the memory that sending to a reading client needs.
    for (let count = 0; count < 2; count += 1) await readAll();
    const beforeMb = memoryMb();
    const socket = await stalledClient(godwit, owner, first);
    await until("the stalled stream is open", async () => (await streamCount(godwit)) >= 1 || undefined);
    // Another client receives all events meanwhile, so that the stalled one had the time.
    await readAll();
    await untilStreams(godwit, 1);
    assert.ok(memoryMb() - beforeMb < 60, `${beforeMb} MB became ${memoryMb()} MB`);
    socket.destroy();
    await untilStreams(godwit, 0);
  });
});

describe("frames to a client", () => {
  type Pumped = { result: Promise<void>; pulled: () => number; isOver: () => boolean; response: ServerResponse };

  /** Starts a server that responds with endless frames of 64 kB. */
  async function pump(
    stallMs: number,
    signal = new AbortController().signal,
  ): Promise<{ socket: Socket; pumped: Pumped; close: () => void }> {
    const { promise, resolve } = Promise.withResolvers<Pumped>();
    const server = createServer((_request, response) => {
      let [pulled, isEnded] = [0, false];
      const frames = async function* (): AsyncGenerator<string> {
        try {
          for (;;) {
            pulled += 1;
            yield `data: ${"x".repeat(65_536)}\n\n`;
          }
        } finally {
          isEnded = true;
        }
      };
      const result = pumpFrames(response, frames(), { signal, stallMs });
      resolve({ result, pulled: () => pulled, isOver: () => isEnded, response });
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const socket = connect((server.address() as AddressInfo).port, "127.0.0.1");
    socket.pause();
    socket.on("error", () => undefined);
    socket.write("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    return { socket, pumped: await promise, close: () => server.close() };
  }

  test("end when a client does not read within the time limit", async () => {
    const { socket, pumped, close } = await pump(300);
    const result = await within(
      pumped.result.then(() => "done"),
      LIMIT_MS,
    );
    assert.equal(result, "done");
    assert.ok(pumped.isOver(), "no more frames are produced");
    assert.ok(pumped.response.destroyed, "the connection is closed");
    assert.ok(pumped.pulled() < 1_000, `${pumped.pulled()} frames of 64 kB were produced`);
    socket.destroy();
    close();
  });

  test("continue when a client reads again in time", async () => {
    const { socket, pumped, close } = await pump(NEVER_MS);
    await until("the client stalls", () => pumped.response.writableNeedDrain || undefined);
    const stalledAt = pumped.pulled();
    socket.resume();
    await until("the frames continue", () => pumped.pulled() > stalledAt + 500 || undefined);
    socket.destroy();
    assert.equal(
      await within(
        pumped.result.then(() => "done"),
        LIMIT_MS,
      ),
      "done",
      "a client that leaves ends the frames at once",
    );
    assert.ok(pumped.isOver());
    close();
  });

  test("end at a stop without waiting for a client that does not read", async () => {
    const stopping = new AbortController();
    const { socket, pumped, close } = await pump(NEVER_MS, stopping.signal);
    await until("the client stalls", () => pumped.response.writableNeedDrain || undefined);
    stopping.abort();
    assert.equal(
      await within(
        pumped.result.then(() => "done"),
        LIMIT_MS,
      ),
      "done",
    );
    assert.ok(pumped.isOver() && pumped.response.destroyed);
    socket.destroy();
    close();
  });
});

describe("a stream in the process of the test", () => {
  let godwit: Godwit;
  before(async () => {
    godwit = await startGodwit({ isOneProcess: true });
  });
  after(() => godwit.stop());

  /** A quota that counts, and refuses as often as the test says. */
  const quotaOf = (refusals = 0) => {
    const quota = { taken: 0, refused: 0, take: (): QuotaDecision => decide() };
    const decide = (): QuotaDecision => {
      const isAdmitted = quota.refused >= refusals;
      if (isAdmitted) quota.taken += 1;
      else quota.refused += 1;
      return { isAdmitted, remaining: 0, resetSeconds: 1, retryAfterSeconds: 1 };
    };
    return quota;
  };

  type Streaming = { heartbeatMs?: number; maxStreams?: number; limiter?: ReturnType<typeof quotaOf> };

  function streamsWith({ limiter = quotaOf(), ...options }: Streaming = {}): EventStreams {
    assert.ok(godwit.db !== undefined);
    return new EventStreams({
      db: godwit.db,
      positions: new EventPositions(godwit.db),
      limiter,
      readInTurn: (_, work) => work(),
      ...options,
    });
  }

  function open(owner: Owner, after_: string | undefined, streams = streamsWith()) {
    const leaving = new AbortController();
    const frames = streams.open({
      owner: { accountId: owner.accountId, environment: owner.environment } as Credential,
      after: decodeId("evt", after_ ?? ""),
      type: "*",
      isAdmitted: async () => true,
      signal: leaving.signal,
    });
    return { streams, frames, leaving };
  }

  const idOf = (frame: string | undefined): string | undefined => /^id: (.*)$/m.exec(frame ?? "")?.[1];

  test("sends heartbeats when there are no events", async () => {
    const { streams, frames, leaving } = open(await newOwner(godwit, "quiet"), undefined, streamsWith({ heartbeatMs: 150 }));
    assert.equal(streams.count, 1);
    await frames.next();
    for (let count = 0; count < 3; count += 1) assert.deepEqual(await frames.next(), { value: ":\n\n", done: false });
    leaving.abort();
    assert.equal((await frames.next()).done, true);
    assert.equal(streams.count, 0);
  });

  test("sends a slow reader each event once, in the order of commits", async () => {
    const owner = await newOwner(godwit, "slow");
    const [anchor = ""] = await insertEvents(godwit, owner, [madeAgo(60_000)]);
    const all = await insertEvents(
      godwit,
      owner,
      Array.from({ length: 1_500 }, (_, index) => madeAgo(50_000 - index)),
    );
    const { frames, leaving } = open(owner, anchor);
    const received: (string | undefined)[] = [];
    const take = async (count: number): Promise<void> => {
      for (let taken = 0; taken < count; taken += 1) received.push(idOf((await frames.next()).value as string));
    };
    await frames.next();
    await take(600);
    const late = await insertEvents(godwit, owner, [madeAgo(49_000)]);
    await take(901);
    const next = await insertEvents(godwit, owner, idsNow(1));
    await take(1);
    assert.deepEqual(received, [...all, ...late, ...next]);
    leaving.abort();
    await frames.next();
  });

  test("charges pages of history after the first to the quota, waits for it, and follows new events for nothing", async () => {
    const owner = await newOwner(godwit, "charged");
    const [anchor = ""] = await insertEvents(godwit, owner, [madeAgo(60_000)]);
    const missed = await insertEvents(
      godwit,
      owner,
      Array.from({ length: 450 }, (_, index) => madeAgo(50_000 - index)),
    );
    // An older transaction of another test would make them new events of the stream.
    const [last] = await godwit.rows<{ id: string }>("select pg_current_xact_id()::text as id");
    await until("older transactions to end", async () => {
      const [row] = await godwit.rows<{ is_over: boolean }>(
        `select pg_snapshot_xmin(pg_current_snapshot()) >= '${last?.id ?? "0"}'::xid8 as is_over`,
      );
      return row?.is_over;
    });
    const limiter = quotaOf(2);
    const { frames, leaving } = open(owner, anchor, streamsWith({ limiter }));
    const received: (string | undefined)[] = [];
    const take = async (count: number): Promise<void> => {
      for (let taken = 0; taken < count; taken += 1) received.push(idOf((await frames.next()).value as string));
    };
    await frames.next();
    await take(450);
    assert.deepEqual(received, missed, "a reader without quota waits, and misses nothing");
    assert.deepEqual([limiter.taken, limiter.refused], [4, 2], "five pages of a hundred events, of which the first is free");
    const next = await insertEvents(godwit, owner, idsNow(1_200));
    await take(1_200);
    assert.deepEqual(received.slice(450), next);
    assert.equal(limiter.taken, 4);
    leaving.abort();
    await frames.next();
  });

  test("gives way to another account when the process has no room, and not to its own", async () => {
    const streams = streamsWith({ maxStreams: 4 });
    const [many, few] = [await newOwner(godwit, "has many"), await newOwner(godwit, "has few")];
    const first = Array.from({ length: 4 }, () => open(many, undefined, streams));
    for (const { frames } of first) await frames.next();
    assert.throws(() => open(many, undefined, streams), /this server has reached its limit/);
    const second = [open(few, undefined, streams), open(few, undefined, streams)];
    for (const { frames } of second) await frames.next();
    for (const { frames } of first.slice(0, 2)) assert.equal((await frames.next()).done, true, "the oldest streams end");
    assert.equal(streams.count, 4);
    assert.throws(() => open(few, undefined, streams), /this server has reached its limit/, "each account has its part");
    for (const { leaving, frames } of [...first, ...second]) {
      leaving.abort();
      await frames.next();
    }
    assert.equal(streams.count, 0);
  });

  test("ends when the database is at an earlier position than before, so that its client looks up its place", async () => {
    const owner = await newOwner(godwit, "restored");
    const { frames, leaving } = open(owner, undefined);
    const first = idOf((await frames.next()).value as string);
    const ended = frames.next();
    await godwit.rows("select setval('event_positions', last_value - 1) from event_positions");
    assert.equal((await ended).done, true);
    assert.equal(first, NO_EVENT);
    const again = open(owner, placeOf020(Number.MAX_SAFE_INTEGER));
    assert.equal(idOf((await again.frames.next()).value as string), NO_EVENT, "a place beyond the present is replaced");
    const [event] = await insertEvents(godwit, owner, idsNow(1));
    assert.equal(idOf((await again.frames.next()).value as string), event);
    for (const each of [leaving, again.leaving]) each.abort();
  });
});

// The limit for which a stop waits for running requests.
const DRAIN_MS = 12_000;

describe("a stopping service", () => {
  test("ends its streams at once, also for clients that do not read, without losing events", async () => {
    const godwit = await startGodwit({ isOneProcess: true });
    const owner = await newOwner(godwit, "stops");
    using reader = await EventReader.open(godwit, owner.key);
    const seen = await insertEvents(godwit, owner, idsNow(3));
    await reader.has(seen);
    const first = await insertBulk(godwit, owner);
    const socket = await stalledClient(godwit, owner, first);
    await untilStreams(godwit, 2);
    await reader.has([await newest(godwit, owner)]);
    const startedAt = performance.now();
    assert.equal(await godwit.stop(), 0, godwit.output.join("\n"));
    assert.ok(performance.now() - startedAt < DRAIN_MS, `the stop took ${performance.now() - startedAt} ms`);
    assert.equal(await reader.ended(), "closed");
    socket.destroy();
  });

  const newest = async (godwit: Godwit, { key }: Owner): Promise<string> => {
    const { json } = await godwit.request("GET", "/v1/events?limit=1", { key, isDeclared: false });
    return (json["data"] as { id: string }[])[0]?.id ?? "";
  };
});

describe("an unavailable database", () => {
  test("ends the stream with only a log entry, and a client that reconnects has lost no event", async () => {
    await using direct = await startGodwit();
    const wire = await DatabaseWire.to(direct.databaseUrl ?? "");
    const godwit = await startGodwit({ databaseUrl: wire.url, isOneProcess: true });
    try {
      const owner = await newOwner(direct, "cut");
      const reader = await EventReader.open(godwit, owner.key);
      const already = await insertEvents(direct, owner, idsNow(2), { record: { secret: "Your code is 123456" } });
      await reader.has(already);
      const cutting = setInterval(() => wire.cutAll(), 5);
      assert.equal(await reader.ended(), "cut", "the response is not ended as complete");
      const meanwhile = await insertEvents(direct, owner, idsNow(3));
      clearInterval(cutting);
      const again = await until("the stream is open again", async () =>
        EventReader.open(godwit, owner.key, { after: reader.lastId ?? "" }).catch(() => undefined),
      );
      await again.has(meanwhile);
      assert.deepEqual(again.ids, meanwhile);
      again.leave();
      const line = await until("the error is logged", () => godwit.logs.find(({ event }) => event === "http.stream_failed"));
      assert.equal(line["request_id"], reader.headers.get("x-request-id"));
      const log = JSON.stringify(godwit.logs);
      for (const secret of ["123456", owner.key, ...already]) assert.ok(!log.includes(secret), secret);
      await untilStreams(godwit, 0);
      assert.equal(decodeId("evt", reader.lastId ?? "")?.length, 16);
    } finally {
      await godwit.stop();
      await wire.close();
    }
  });

  test("refuses a stream that cannot begin, with a status, also for a credential that is known", async () => {
    await using godwit = await startGodwit({ roles: "api" });
    const { key } = await newOwner(godwit, "unavailable");
    (await EventReader.open(godwit, key)).leave();
    await untilStreams(godwit, 0);
    await godwit.rows("alter sequence event_positions rename to elsewhere");
    assertProblem(await godwit.request("GET", STREAM, { key }), "internal_server_error");
    assert.ok(godwit.logs.every(({ event }) => event !== "http.stream_failed"));
    await untilStreams(godwit, 0);
  });
});
