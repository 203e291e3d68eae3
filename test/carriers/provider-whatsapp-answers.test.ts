import assert from "node:assert/strict";
import { test } from "node:test";
import type { LinkState, SendOutcome } from "../../src/providers/provider.ts";
import { graphError } from "../support/fakes/graph.ts";
import { ANOTHER, onLink, send, TO } from "../support/fakes/graph-link.ts";
import type { Play } from "../support/fakes/http-carrier.ts";
import type { OutgoingFields } from "../support/recording-host.ts";

/** What becomes of a message that is answered so, what the link makes of it, and how often the carrier saw the message. */
async function answered(play: Play, fields: OutgoingFields = {}): Promise<{ outcome: SendOutcome; state: LinkState; seen: number }> {
  let result: { outcome: SendOutcome; state: LinkState; seen: number } | undefined;
  await onLink(
    async ({ graph, connection }) => {
      graph.plays.set(TO, play);
      const outcome = await send(connection, fields);
      assert.ok(connection.state);
      result = { outcome, state: connection.state, seen: graph.server.seen.length };
    },
    // Long enough for the first call of a process on a busy machine.
    { timeoutMs: 1_500 },
  );
  assert.ok(result);
  return result;
}

type Row = readonly [codes: readonly number[], expected: string, status?: number];

/** The table of the errors, row by row. */
const ROWS: readonly Row[] = [
  [[4, 80007, 130429, 133016, 131057], "throttled link"],
  [[999_999], "throttled link", 429],
  [[131056], "throttled recipient"],
  [[131048, 131064, 368], "paused"],
  [[131000, 131016, 131053, 1, 2], "refused carrier_unavailable for now"],
  [[999_999], "refused carrier_unavailable for now", 500],
  [[999_999], "refused carrier_unavailable for now", 503],
  [[131047], "refused service_window_closed"],
  [[131026], "refused recipient_not_on_whatsapp"],
  [[131021], "refused invalid_destination"],
  [[131030], "refused destination_not_permitted"],
  [[131050], "refused recipient_opted_out"],
  [[131049, 130472], "refused blocked_by_carrier"],
  [[132000, 132001, 132005, 132007, 132008, 132012, 132015, 132016], "refused template_rejected_by_carrier"],
  [[100, 131008, 131009], "refused rejected_by_carrier"],
  [[999_999], "refused rejected_by_carrier", 400],
  [[999_999], "refused rejected_by_carrier", 404],
  [[0, 3, 10, 190, 200, 250, 299, 131005, 131031, 131042, 131045], "paused"],
  [[190], "paused", 401],
];

function inWords(outcome: SendOutcome, { kind }: LinkState): string {
  if (kind === "paused" && outcome.kind === "throttled") return "paused";
  if (outcome.kind === "throttled") return `throttled ${outcome.scope}`;
  if (outcome.kind === "refused") return `refused ${outcome.code}${outcome.isPermanent ? "" : " for now"}`;
  return outcome.kind;
}

for (const [codes, expected, status = 400] of ROWS)
  for (const code of codes)
    test(`code ${code} with HTTP ${status} is ${expected}`, async () => {
      const { outcome, state, seen } = await answered(graphError(code, status));
      assert.equal(inWords(outcome, state), expected);
      assert.equal(seen, 1);
      assert.ok((outcome.kind === "refused" || outcome.kind === "throttled") && outcome.providerCode === String(code));
      assert.ok(!JSON.stringify([outcome, state]).includes("as Meta says it"), "Meta's words may quote a secret");
    });

test("an unknown code that Meta calls transient is tried again", async () => {
  const { outcome, state } = await answered(graphError(999_999, 400, { is_transient: true }));
  assert.equal(inWords(outcome, state), "refused carrier_unavailable for now");
});

test("too much for one recipient keeps all of its messages back, however often they were tried, and holds up nobody else", () =>
  onLink(async ({ graph, connection }) => {
    graph.plays.set(TO, graphError(131056));
    const first = await send(connection, { attempt: 9 });
    assert.deepEqual(first, { kind: "throttled", scope: "recipient", retryAfterMs: 4_000, providerCode: "131056" });
    const second = await send(connection);
    assert.ok(second.kind === "throttled" && second.scope === "recipient" && (second.retryAfterMs ?? 0) > 3_000, JSON.stringify(second));
    assert.equal(graph.server.seen.length, 1, "it is not asked meanwhile");
    assert.equal(connection.state?.kind, "connected");
    assert.equal((await send(connection, { recipient: ANOTHER })).kind, "accepted");
  }));

test("too much for one recipient again and again waits 4^n seconds, an hour at most, until one is taken", (context) =>
  onLink(async ({ graph, connection }) => {
    const waits: unknown[] = [];
    let nowMs = performance.now();
    context.mock.method(performance, "now", () => nowMs);
    const next = async (): Promise<void> => {
      const outcome = await send(connection);
      waits.push(outcome.kind === "throttled" ? outcome.retryAfterMs : outcome.kind);
      nowMs += outcome.kind === "throttled" ? (outcome.retryAfterMs ?? 0) : 0;
    };
    graph.plays.set(TO, graphError(131056));
    for (let count = 0; count < 7; count += 1) await next();
    graph.plays.delete(TO);
    await next();
    graph.plays.set(TO, graphError(131056));
    await next();
    assert.deepEqual(waits, [4_000, 16_000, 64_000, 256_000, 1_024_000, 3_600_000, 3_600_000, "accepted", 4_000]);
  }));

test("what Retry-After says is how long the link waits, and until then nothing is sent", () =>
  onLink(async ({ graph, connection, host }) => {
    graph.plays.set(TO, { ...graphError(130429, 429), headers: { "retry-after": "7" } } as Play);
    assert.deepEqual(await send(connection), { kind: "throttled", scope: "link", retryAfterMs: 7_000, providerCode: "130429" });
    const next = await send(connection, { recipient: ANOTHER });
    assert.ok(next.kind === "throttled" && next.scope === "link" && (next.retryAfterMs ?? 0) > 6_000);
    assert.equal(graph.server.seen.length, 1);
    assert.deepEqual(connection.state, { kind: "throttled", reason: "the carrier asks for less: 130429" });
    assert.equal(host.changes, 1);
  }));

test("an account that is blocked pauses the link, says why, and lets one message at a time find out more", () =>
  onLink(async ({ graph, connection, host }) => {
    assert.equal(connection.window, 80);
    graph.plays.set(TO, { ...graphError(190, 401), afterMs: 50 } as Play);
    const outcomes = await Promise.all([send(connection), send(connection), send(connection)]);
    for (const outcome of outcomes)
      assert.deepEqual(outcome, { kind: "throttled", scope: "link", retryAfterMs: 180_000, providerCode: "190" });
    assert.deepEqual(connection.state, { kind: "paused", reason: "the access token has expired, or was revoked" });
    assert.equal(connection.window, 1);
    const next = await send(connection, { recipient: ANOTHER });
    assert.ok(next.kind === "throttled" && (next.retryAfterMs ?? 0) > 170_000);
    assert.equal(graph.server.seen.length, 3);
    assert.equal(host.changes, 1, "told once");
    assert.equal(host.lines.match(/"level":50/g)?.length, 1, "one alert");
  }));

test("a pause is over when a message is taken again, and not before its time", (context) =>
  onLink(async ({ graph, connection, host }) => {
    graph.plays.set(TO, graphError(131048));
    await send(connection);
    const now = performance.now.bind(performance);
    const clock = context.mock.method(performance, "now", () => now() + 181_000);
    assert.equal((await send(connection)).kind, "throttled", "asked again, and still not taken");
    assert.equal(graph.server.seen.length, 2);
    assert.equal(connection.window, 1);
    clock.mock.mockImplementation(() => now() + 362_000);
    assert.equal((await send(connection, { recipient: ANOTHER })).kind, "accepted");
    assert.deepEqual(connection.state, { kind: "connected", reason: null });
    assert.equal(connection.window, 80);
    assert.equal(host.changes, 2);
  }));

test("what was asked before a pause does not end it", () =>
  onLink(async ({ graph, connection }) => {
    graph.plays.set(ANOTHER, { kind: "answers", status: 200, body: '{"messages":[{"id":"wamid.1"}]}', afterMs: 200 });
    graph.plays.set(TO, graphError(190));
    const before = send(connection, { recipient: ANOTHER });
    await send(connection);
    assert.equal((await before).kind, "accepted");
    assert.equal(connection.state?.kind, "paused");
  }));

test("what waits for its turn when the carrier asks for less is not sent", () =>
  onLink(
    async ({ graph, connection }) => {
      graph.plays.set(TO, { ...graphError(130429), headers: { "retry-after": "9" } } as Play);
      const outcomes = await Promise.all([send(connection), send(connection, { recipient: ANOTHER })]);
      for (const { kind } of outcomes) assert.equal(kind, "throttled");
      assert.equal(graph.server.seen.length, 1);
    },
    { messagesPerSecond: 2 },
  ));

const UNKNOWN: readonly (readonly [what: string, play: Play])[] = [
  ["no answer in time", { kind: "is silent" }],
  ["an answer that is too slow", { kind: "answers", status: 200, body: "{}", afterMs: 4_000 }],
  ["a connection that ends after the request", { kind: "cuts" }],
  ["an answer that is not HTTP", { kind: "babbles" }],
  ["a yes that breaks off", { kind: "breaks off", status: 200, body: '{"messages":[' }],
  ["a yes without an id", { kind: "answers", status: 200, body: '{"messages":[{}]}' }],
  ["a yes that is not JSON", { kind: "answers", status: 200, body: "<html>" }],
  ["a yes without words", { kind: "answers", status: 200, body: "" }],
  ["a yes without end", { kind: "answers", status: 200, body: `${" ".repeat(1_000_000)}{"messages":[{"id":"wamid.1"}]}` }],
  ["a gateway's 502", { kind: "answers", status: 502, body: "<html>Bad gateway</html>" }],
  ["a 503 without words", { kind: "answers", status: 503, body: "" }],
  ["a 500 that breaks off", { kind: "breaks off", status: 500, body: '{"error":{"code":1' }],
  ["a 500 with JSON of somebody else", { kind: "answers", status: 500, body: '{"error":"upstream"}' }],
  ["a 408 of something in between", { kind: "answers", status: 408, body: "" }],
];

for (const [what, play] of UNKNOWN)
  test(`${what} is an unknown outcome, and nothing is sent twice`, async () => {
    const { outcome, seen } = await answered(play);
    assert.equal(outcome.kind, "unknown", JSON.stringify(outcome));
    assert.equal(seen, 1);
  });

test("a connection that ends before the request was read is an unknown outcome too: bytes may have left", () =>
  onLink(async ({ graph, connection }) => {
    graph.server.isHasty = true;
    assert.equal((await send(connection)).kind, "unknown");
  }));

test("a carrier that ends every connection at once gets nothing twice, and the send ends in its time", () =>
  onLink(
    async ({ graph, connection }) => {
      graph.server.isHostile = true;
      const outcome = await send(connection);
      assert.ok(outcome.kind === "unknown" || (outcome.kind === "refused" && !outcome.isPermanent), JSON.stringify(outcome));
      assert.deepEqual(graph.server.seen, []);
    },
    { timeoutMs: 500 },
  ));

test("a kept connection that the carrier ends in between is never a message sent twice", () =>
  onLink(async ({ graph, connection }) => {
    for (let round = 0; round < 20; round += 1) {
      graph.plays.set(TO, round % 2 === 0 ? { kind: "cuts" } : graphError(131026));
      await send(connection);
    }
    assert.equal(graph.server.seen.length, 20);
  }));

const WORDLESS: readonly (readonly [status: number, expected: string])[] = [
  [400, "refused rejected_by_carrier"],
  [413, "refused rejected_by_carrier"],
  [429, "throttled link"],
  [301, "paused"],
  [403, "paused"],
  [404, "paused"],
  [407, "paused"],
];

for (const [status, expected] of WORDLESS)
  test(`HTTP ${status} without Meta's words is ${expected}`, async () => {
    const { outcome, state } = await answered({ kind: "answers", status, body: "<html>", headers: { location: "http://127.0.0.1:1/" } });
    assert.equal(inWords(outcome, state), expected);
  });

for (const [what, baseUrl] of [
  ["nobody listens", "http://127.0.0.1:1"],
  ["the name is not known", "http://graph.invalid"],
] as const)
  test(`where ${what}, nothing has left: it is tried again`, () =>
    onLink(
      async ({ connection }) => {
        const outcome = await send(connection);
        assert.deepEqual(outcome, { kind: "throttled", scope: "link", retryAfterMs: 2_000, providerCode: "carrier_unreachable" });
        assert.equal(connection.state?.kind, "connecting");
      },
      { baseUrl },
    ));
