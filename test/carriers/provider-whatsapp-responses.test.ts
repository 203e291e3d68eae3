import assert from "node:assert/strict";
import { test } from "node:test";
import type { LinkState, SendOutcome } from "../../src/providers/provider.ts";
import { WHATSAPP_DEFAULTS } from "../../src/providers/whatsapp/whatsapp.ts";
import { LIMIT_MS } from "../support/expect.ts";
import { graphError } from "../support/fakes/graph-templates.ts";
import { ANOTHER, onLink, send, TO } from "../support/fakes/graph-link.ts";
import type { CarrierBehavior } from "../support/fakes/http-carrier.ts";
import type { OutgoingFields } from "../support/recording-host.ts";

// Long enough for the request to leave on a busy machine, and shorter than the wait of a carrier that responds too late.
const LATE_MS = 1_500;

const isLate = (behavior: CarrierBehavior): boolean =>
  behavior.kind === "is silent" || (behavior.kind === "responds" && behavior.afterMs !== undefined);

/** Sends a message to a carrier that responds as given. Returns the outcome, the state of the link, and the number of requests. */
async function sendTo(
  behavior: CarrierBehavior,
  fields: OutgoingFields = {},
): Promise<{ outcome: SendOutcome; state: LinkState; seen: number }> {
  let result: { outcome: SendOutcome; state: LinkState; seen: number } | undefined;
  await onLink(
    async ({ graph, connection }) => {
      graph.behaviors.set(TO, behavior);
      const outcome = await send(connection, fields);
      assert.ok(connection.state);
      result = { outcome, state: connection.state, seen: graph.seen.length };
    },
    { timeoutMs: isLate(behavior) ? LATE_MS : LIMIT_MS },
  );
  assert.ok(result);
  return result;
}

type Row = readonly [codes: readonly number[], expected: string, status?: number];

/** The error codes with their outcomes. */
const ROWS: readonly Row[] = [
  [[4, 80007, 130429, 133016, 131057], "throttled link"],
  [[999_999], "throttled link", 429],
  [[131056], "throttled recipient"],
  [[131048, 131064, 368], "paused"],
  [[131000, 131016, 131053, 1, 2], "refused carrier_unavailable temporarily"],
  [[131047], "refused service_window_closed"],
  [[131026], "refused recipient_not_on_whatsapp"],
  [[131021], "refused invalid_destination"],
  [[131030, 130497], "refused destination_not_permitted"],
  [[131050], "refused recipient_opted_out"],
  [[131049, 130472], "refused blocked_by_carrier"],
  [[132000, 132001, 132005, 132007, 132008, 132012, 132015, 132016, 132018, 132068, 132069], "refused template_rejected_by_carrier"],
  [[100, 131008, 131009], "refused rejected_by_carrier"],
  [[999_999], "refused rejected_by_carrier", 400],
  [[999_999], "refused rejected_by_carrier", 404],
  [[0, 3, 10, 190, 200, 250, 299, 131005, 131031, 131042, 131045], "paused"],
  [[33, 131037, 131055, 133005, 133006, 133008, 133009, 133010, 133015, 134011], "paused"],
  [[190], "paused", 401],
];

function summary(outcome: SendOutcome, { kind }: LinkState): string {
  if (kind === "paused" && outcome.kind === "throttled") return "paused";
  if (outcome.kind === "throttled") return `throttled ${outcome.scope}`;
  if (outcome.kind === "refused") return `refused ${outcome.code}${outcome.isPermanent ? "" : " temporarily"}`;
  return outcome.kind;
}

for (const [codes, expected, status = 400] of ROWS)
  for (const code of codes)
    test(`code ${code} with HTTP ${status} is ${expected}`, async () => {
      const { outcome, state, seen } = await sendTo(graphError(code, status));
      assert.equal(summary(outcome, state), expected);
      assert.equal(seen, 1);
      assert.ok((outcome.kind === "refused" || outcome.kind === "throttled") && outcome.providerCode === String(code));
      assert.ok(!JSON.stringify([outcome, state]).includes("as Meta says it"), "Meta's error text may quote a secret");
    });

test("an unknown code that Meta marks as transient is a temporary refusal", async () => {
  const { outcome, state } = await sendTo(graphError(999_999, 400, { is_transient: true }));
  assert.equal(summary(outcome, state), "refused carrier_unavailable temporarily");
});

test("throttling for one recipient stops all messages to that recipient, whatever their attempts, and no others", () =>
  onLink(async ({ graph, connection }) => {
    graph.behaviors.set(TO, graphError(131056));
    const first = await send(connection, { attempt: 9 });
    assert.deepEqual(first, { kind: "throttled", scope: "recipient", retryAfterMs: 4_000, providerCode: "131056" });
    const second = await send(connection);
    assert.ok(second.kind === "throttled" && second.scope === "recipient" && (second.retryAfterMs ?? 0) > 3_000, JSON.stringify(second));
    assert.equal(graph.seen.length, 1, "the carrier receives no request meanwhile");
    assert.equal(connection.state?.kind, "connected");
    assert.equal((await send(connection, { recipient: ANOTHER })).kind, "accepted");
  }));

test("repeated throttling for one recipient waits 4^n seconds, at most an hour, until a message is accepted", (context) =>
  onLink(async ({ graph, connection }) => {
    const waits: unknown[] = [];
    let nowMs = performance.now();
    context.mock.method(performance, "now", () => nowMs);
    const next = async (): Promise<void> => {
      const outcome = await send(connection);
      waits.push(outcome.kind === "throttled" ? outcome.retryAfterMs : outcome.kind);
      nowMs += outcome.kind === "throttled" ? (outcome.retryAfterMs ?? 0) : 0;
    };
    graph.behaviors.set(TO, graphError(131056));
    for (let count = 0; count < 7; count += 1) await next();
    graph.behaviors.delete(TO);
    await next();
    graph.behaviors.set(TO, graphError(131056));
    await next();
    assert.deepEqual(waits, [4_000, 16_000, 64_000, 256_000, 1_024_000, 3_600_000, 3_600_000, "accepted", 4_000]);
  }));

test("the link waits for the time in Retry-After and sends nothing until then", () =>
  onLink(async ({ graph, connection, host }) => {
    graph.behaviors.set(TO, { ...graphError(130429, 429), headers: { "retry-after": "7" } } as CarrierBehavior);
    assert.deepEqual(await send(connection), { kind: "throttled", scope: "link", retryAfterMs: 7_000, providerCode: "130429" });
    const next = await send(connection, { recipient: ANOTHER });
    assert.ok(next.kind === "throttled" && next.scope === "link" && (next.retryAfterMs ?? 0) > 6_000);
    assert.equal(graph.seen.length, 1);
    assert.deepEqual(connection.state, { kind: "throttled", reason: "the carrier asks for less: 130429" });
    assert.equal(host.changes, 1);
  }));

test("a blocked account pauses the link, reports the reason, and allows one message at a time as a probe", () =>
  onLink(async ({ graph, connection, host }) => {
    assert.equal(connection.window, WHATSAPP_DEFAULTS.window);
    graph.behaviors.set(TO, { ...graphError(190, 401), afterMs: 50 } as CarrierBehavior);
    const outcomes = await Promise.all([send(connection), send(connection), send(connection)]);
    for (const outcome of outcomes)
      assert.deepEqual(outcome, { kind: "throttled", scope: "link", retryAfterMs: 180_000, providerCode: "190" });
    assert.deepEqual(connection.state, { kind: "paused", reason: "the access token has expired, or was revoked" });
    assert.equal(connection.window, 1);
    const next = await send(connection, { recipient: ANOTHER });
    assert.ok(next.kind === "throttled" && (next.retryAfterMs ?? 0) > 170_000);
    assert.equal(graph.seen.length, 3);
    assert.equal(host.changes, 1, "the change is reported once");
    assert.equal(host.lines.match(/"level":50/g)?.length, 1, "one alert");
  }));

test("a pause ends when a message is accepted again, and not before its time", (context) =>
  onLink(async ({ graph, connection, host }) => {
    graph.behaviors.set(TO, graphError(131048));
    await send(connection);
    const now = performance.now.bind(performance);
    const clock = context.mock.method(performance, "now", () => now() + 181_000);
    assert.equal((await send(connection)).kind, "throttled", "requested again and still refused");
    assert.equal(graph.seen.length, 2);
    assert.equal(connection.window, 1);
    clock.mock.mockImplementation(() => now() + 362_000);
    assert.equal((await send(connection, { recipient: ANOTHER })).kind, "accepted");
    assert.deepEqual(connection.state, { kind: "connected", reason: null });
    assert.equal(connection.window, WHATSAPP_DEFAULTS.window);
    assert.equal(host.changes, 2);
  }));

test("the response to a request from before a pause does not end the pause", () =>
  onLink(async ({ graph, connection }) => {
    graph.behaviors.set(ANOTHER, { kind: "responds", status: 200, body: '{"messages":[{"id":"wamid.1"}]}', afterMs: 200 });
    graph.behaviors.set(TO, graphError(190));
    const before = send(connection, { recipient: ANOTHER });
    await send(connection);
    assert.equal((await before).kind, "accepted");
    assert.equal(connection.state?.kind, "paused");
  }));

test("a message that waits for the rate is not sent when the carrier throttles", () =>
  onLink(
    async ({ graph, connection }) => {
      graph.behaviors.set(TO, { ...graphError(130429), headers: { "retry-after": "9" } } as CarrierBehavior);
      const outcomes = await Promise.all([send(connection), send(connection, { recipient: ANOTHER })]);
      for (const { kind } of outcomes) assert.equal(kind, "throttled");
      assert.equal(graph.seen.length, 1);
    },
    { messagesPerSecond: 2 },
  ));

const UNKNOWN: readonly (readonly [what: string, behavior: CarrierBehavior])[] = [
  ["no response in time", { kind: "is silent" }],
  ["a response that is too slow", { kind: "responds", status: 200, body: "{}", afterMs: 4_000 }],
  ["a connection that ends after the request", { kind: "disconnects" }],
  ["a response that is not HTTP", { kind: "sends garbage" }],
  ["a truncated success response", { kind: "truncates", status: 200, body: '{"messages":[' }],
  ["a success response without an id", { kind: "responds", status: 200, body: '{"messages":[{}]}' }],
  ["a success response that is not JSON", { kind: "responds", status: 200, body: "<html>" }],
  ["an empty success response", { kind: "responds", status: 200, body: "" }],
  ["an oversized success response", { kind: "responds", status: 200, body: `${" ".repeat(1_000_000)}{"messages":[{"id":"wamid.1"}]}` }],
  ["a gateway's 502", { kind: "responds", status: 502, body: "<html>Bad gateway</html>" }],
  ["an empty 503", { kind: "responds", status: 503, body: "" }],
  ["a truncated 500", { kind: "truncates", status: 500, body: '{"error":{"code":1' }],
  ["a 500 with JSON that is not Meta's", { kind: "responds", status: 500, body: '{"error":"upstream"}' }],
  // A server that failed may have created the message before.
  ["a 500 with a known code", graphError(131000, 500)],
  ["a 500 with an unknown code", graphError(999_999, 500)],
  ["a 503 with a known code", graphError(131016, 503)],
  ["a 408 of a proxy", { kind: "responds", status: 408, body: "" }],
];

for (const [what, behavior] of UNKNOWN)
  test(`${what} is an unknown outcome, and nothing is sent twice`, async () => {
    const { outcome, seen } = await sendTo(behavior);
    assert.equal(outcome.kind, "unknown", JSON.stringify(outcome));
    assert.equal(seen, 1);
  });

test("a connection that ends before the request is read is an unknown outcome too, because bytes may have left", () =>
  onLink(async ({ graph, connection }) => {
    graph.closesEarly = true;
    assert.equal((await send(connection)).kind, "unknown");
  }));

test("a carrier that ends every connection immediately gets nothing twice, and the attempt ends in time", () =>
  onLink(
    async ({ graph, connection }) => {
      graph.refusesConnections = true;
      const outcome = await send(connection);
      assert.ok(outcome.kind === "unknown" || (outcome.kind === "refused" && !outcome.isPermanent), JSON.stringify(outcome));
      assert.deepEqual(graph.seen, []);
    },
    { timeoutMs: 500 },
  ));

test("a kept-alive connection that the carrier ends never causes a message to be sent twice", () =>
  onLink(async ({ graph, connection }) => {
    for (let round = 0; round < 20; round += 1) {
      graph.behaviors.set(TO, round % 2 === 0 ? { kind: "disconnects" } : graphError(131026));
      await send(connection);
    }
    assert.equal(graph.seen.length, 20);
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
  test(`HTTP ${status} without Meta's error is ${expected}`, async () => {
    const { outcome, state } = await sendTo({ kind: "responds", status, body: "<html>", headers: { location: "http://127.0.0.1:1/" } });
    assert.equal(summary(outcome, state), expected);
  });

for (const [what, baseUrl] of [
  ["the port is closed", "http://127.0.0.1:1"],
  ["the host name is unknown", "http://graph.invalid"],
] as const)
  test(`when ${what}, nothing has left and the refusal is temporary`, () =>
    onLink(
      async ({ connection }) => {
        const outcome = await send(connection);
        assert.deepEqual(outcome, { kind: "throttled", scope: "link", retryAfterMs: 1_000, providerCode: "carrier_unreachable" });
        assert.equal(connection.state?.kind, "connecting");
      },
      { baseUrl },
    ));
