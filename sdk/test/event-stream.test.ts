/** The event stream through a proxy that breaks the connection: no event is lost or duplicated, and the stream ends when it should. */
import assert from "node:assert/strict";
import { after, afterEach, before, beforeEach, test } from "node:test";
import { insertEvents, madeAgo, newOwner, type Owner } from "../../test/support/event-reader.ts";
import { until } from "../../test/support/expect.ts";
import { startGodwit, type Godwit as Server } from "../../test/support/harness.ts";
import { FrameReader } from "../src/event-frames.ts";
import { Godwit, GodwitError, hasCode, type EventStream, type GodwitEvent, type StreamState } from "../src/index.ts";
import { FaultyProxy, problem } from "./faulty-proxy.ts";

let server: Server;
let proxy: FaultyProxy;
let owner: Owner;
let accounts = 0;
before(async () => {
  server = await startGodwit({ roles: "api,dispatch", simulatorSpeed: 100 });
});
after(() => server.stop());
beforeEach(async () => {
  proxy = await FaultyProxy.to(server);
  owner = await newOwner(server, `stream ${(accounts += 1)}`);
});
afterEach(() => proxy[Symbol.asyncDispose]());

const clientOf = (): Godwit => new Godwit({ apiKey: owner.key, baseUrl: proxy.url });
const insert = (count: number): Promise<string[]> =>
  insertEvents(
    server,
    owner,
    Array.from({ length: count }, () => madeAgo(0)),
  );

/** Records all events until `leave`. */
class Follower {
  readonly events: GodwitEvent[] = [];
  readonly states: StreamState["kind"][] = [];
  readonly stream: EventStream;
  readonly #leaving = new AbortController();
  readonly ended: Promise<void>;

  constructor(options: { type?: "message.queued" | "*" | "message.*"; lastEventId?: string; silenceMs?: number } = {}) {
    const { type, ...rest } = options;
    const onState = ({ kind }: StreamState): number => this.states.push(kind);
    this.stream = clientOf().events.stream(type === undefined ? {} : { type }, { ...rest, onState, signal: this.#leaving.signal });
    this.ended = this.#follow();
  }

  async connected(times = 1): Promise<void> {
    await until(`${times} connections`, () => this.states.filter((kind) => kind === "connected").length >= times || undefined);
  }

  async has(ids: readonly string[]): Promise<void> {
    await until(`${ids.length} events`, () => new Set(ids).isSubsetOf(new Set(this.events.map(({ id }) => id))) || undefined);
    assert.equal(new Set(this.events.map(({ id }) => id)).size, this.events.length, "no event is duplicated");
  }

  async leave(): Promise<void> {
    this.#leaving.abort();
    await this.ended;
  }

  async #follow(): Promise<void> {
    for await (const event of this.stream) this.events.push(event);
  }
}

test("typed events arrive as they happen, and the signal ends the stream without an error", async () => {
  const follower = new Follower({ type: "message.*" });
  await follower.connected();
  const { id } = await clientOf().messages.send({ recipient: "+14155550123", channel: "sms", body: "Hello" });
  const last = await until("it is delivered", () => follower.events.find(({ type }) => type === "message.delivered"));
  assert.deepEqual([last.data.message?.id, last.data.message?.status, last.data.previous_status], [id, "delivered", "sent"]);
  assert.equal(follower.stream.lastEventId, last.id);
  await follower.leave();
  assert.deepEqual(follower.states, ["connected"]);
});

test("a cut connection is reopened after the last event: no event is lost or duplicated", async () => {
  const follower = new Follower();
  await follower.connected();
  const ids = await insert(5);
  await follower.has(ids);
  for (let round = 2; round <= 4; round += 1) {
    proxy.cutAll();
    // Events while the stream is disconnected, and after it has reconnected.
    ids.push(...(await insert(5)));
    await follower.connected(round);
    ids.push(...(await insert(5)));
    await follower.has(ids);
  }
  const resumed = proxy.heard.slice(1).map(({ headers }) => headers["last-event-id"]);
  assert.ok(resumed.length >= 3 && resumed.every((id) => id !== undefined));
  assert.equal(follower.events.length, ids.length);
  await follower.leave();
});

test("a stream continues after the last event of another process", async () => {
  const first = new Follower();
  await first.connected();
  const seen = await insert(3);
  await first.has(seen);
  await first.leave();
  const missed = await insert(3);
  const second = new Follower({ lastEventId: first.stream.lastEventId ?? "" });
  await second.has(missed);
  await second.leave();
});

test("an event whose processing fails does not count as processed", async () => {
  const [first, ...ids] = await insert(3);
  const stream = clientOf().events.stream({}, { lastEventId: first });
  let taken: string | undefined;
  const failing = (async () => {
    for await (const { id } of stream) {
      if (id === ids[1]) throw new Error("the processing fails");
      taken = id;
    }
  })();
  await assert.rejects(failing, /the processing fails/);
  assert.deepEqual([stream.lastEventId, taken], [ids[0], ids[0]]);
});

test("a silent connection is replaced", async () => {
  proxy.next.push({ kind: "hang" });
  const follower = new Follower({ silenceMs: 1_000 });
  await follower.connected();
  assert.deepEqual(follower.states.slice(0, 2), ["lost", "connected"]);
  await follower.has(await insert(1));
  await follower.leave();
});

test("a temporary refusal is retried, and a permanent one ends the stream", async () => {
  proxy.next.push(problem(429, "rate_limit_exceeded", { "retry-after": "1" }), problem(503, "service_unavailable"));
  const follower = new Follower();
  await follower.connected();
  assert.deepEqual(follower.states, ["lost", "lost", "connected"]);
  await follower.leave();
  proxy.next.push(problem(401, "unauthorized_invalid_token"));
  await assert.rejects(new Follower().ended, (error) => hasCode(error, "unauthorized_invalid_token"));
  proxy.next.push({ kind: "respond", status: 200, headers: { "content-type": "text/html" }, body: "<h1>Log in</h1>" });
  await assert.rejects(new Follower().ended, (error) => hasCode(error, "unexpected_response"));
});

test("leaving the loop closes the connection to the service", async () => {
  const [id = ""] = await insert(1);
  await insert(1);
  for await (const _ of clientOf().events.stream({}, { lastEventId: id })) break;
  await until(
    "no stream is open",
    async () => /^godwit_event_streams 0$/m.test(await (await fetch(`${server.url}/metrics`)).text()) || undefined,
  );
});

const text = (given: string): Uint8Array => new TextEncoder().encode(given);

test("frames are parsed with any line ending and any split of the bytes", () => {
  const whole = ": hello\n\nid: 1\ndata: a\ndata: b\n\nid:2\r\nevent: x\r\ndata: \u00e9\r\n\r\nid: 3\rdata\r\r:\n\n";
  const expected = [{}, { id: "1", data: "a\nb" }, { id: "2", event: "x", data: "\u00e9" }, { id: "3", data: "" }, {}];
  const bytes = text(whole);
  for (let size = 1; size <= bytes.length; size += 1) {
    const reader = new FrameReader();
    const frames = [];
    for (let at = 0; at < bytes.length; at += size) frames.push(...reader.take(bytes.subarray(at, at + size)));
    assert.deepEqual(frames, expected, `in pieces of ${size}`);
  }
});

test("a block that never ends is refused", () => {
  const reader = new FrameReader();
  const flood = (): void => {
    for (let count = 0; count < 100; count += 1) reader.take(text(`data: ${"x".repeat(50_000)}\n`));
  };
  assert.throws(flood, GodwitError);
});
