/** A cluster of Patroni under load: the primary is lost, frozen or switched, and the standby is lost. Every 202 is there, no request has two
 *  effects, and the service continues without a restart. The service reaches the cluster by the addresses of both servers, and through HAProxy.
 *  GODWIT_TEST_FAILOVERS is the number of lost primaries for each of the two. */
import assert from "node:assert/strict";
import { before, describe, test, type TestContext } from "node:test";
import { until } from "../support/expect.ts";
import { startGodwit, type Godwit } from "../support/harness.ts";
import { missingPatroni, PatroniCluster, type PatroniNode } from "../support/patroni.ts";
import { assertEachOnce, assertNothingHalfDone, retryUnanswered, sendUntil, type Sent } from "../support/sending.ts";

// The second one is in the other direction.
const FAILOVERS = Number(process.env["GODWIT_TEST_FAILOVERS"] ?? "2");
const ACCEPTED_AGAIN_MS = 5_000;
// A lost primary takes about 20 s to be replaced, in which every connection gets a 503 again and again. Each of them is repeated later.
const CONNECTIONS = 8;
const MANY = 100;

let missing: string | undefined;
before(() => {
  missing = missingPatroni();
});

/** The service on a cluster, and every request so far. */
type Scene = { cluster: PatroniCluster; godwit: Godwit; apiKey: string; settled: Sent[] };

/** A change of the cluster during the load. It resolves with the server that is the primary from then on. */
type Change = (scene: Scene) => Promise<PatroniNode>;

const killPrimary: Change = async ({ cluster, godwit }) => {
  const { primary, standby } = await cluster.roles();
  await primary.kill();
  await until("the service not to be ready", async () => (await godwit.request("GET", "/readyz")).status === 503 || undefined);
  return standby;
};

/** The machine stops to respond, and its connections stay open. */
const freezePrimary: Change = async ({ cluster }) => {
  const { primary, standby } = await cluster.roles();
  primary.signal("SIGSTOP");
  return standby;
};

const switchOver: Change = async ({ cluster }) => {
  const { standby } = await cluster.roles();
  await cluster.switchover();
  return standby;
};

const killStandby: Change = async ({ cluster }) => {
  const { primary, standby } = await cluster.roles();
  await standby.kill();
  return primary;
};

/** The requests during a change, and the figures for the output. */
type Observed = { all: Sent[]; gapMs: number; pauseMs: number; replacedMs: number };

/** Sends while the cluster changes, and until many messages were accepted on the new primary. */
async function sendDuring(change: Change, scene: Scene): Promise<Observed> {
  const { godwit, apiKey } = scene;
  const stop = new AbortController();
  const acceptedAt: number[] = [];
  const load = sendUntil(stop.signal, { godwit, apiKey, connections: CONNECTIONS }, ({ status }) => {
    if (status === 202) acceptedAt.push(performance.now());
  });
  try {
    await until("messages to be accepted", () => acceptedAt.length >= MANY || undefined);
    const beginAt = performance.now();
    const primary = await change(scene);
    await until(`Patroni to report ${primary.name} as the primary`, () => primary.is("primary"));
    const primaryAt = performance.now();
    const later = (): number[] => acceptedAt.filter((at) => at > primaryAt);
    await until("many messages to be accepted again", () => later().length >= MANY || undefined);
    const pauses = acceptedAt.map((at, index) => at - (acceptedAt[index - 1] ?? at));
    return {
      all: await finish(),
      gapMs: (later()[0] ?? NaN) - primaryAt,
      pauseMs: Math.max(...pauses),
      replacedMs: primaryAt - beginAt,
    };
  } finally {
    await finish();
  }

  function finish(): Promise<Sent[]> {
    stop.abort();
    return load;
  }
}

/** Asserts the promise for all requests of a change, and repeats those without a 202 as their clients do. */
async function assertKept({ godwit, apiKey, settled }: Scene, { all }: Observed): Promise<void> {
  assert.ok(godwit.db !== undefined);
  for (const { status } of all) assert.ok([202, 500, 503].includes(status ?? 0), `responded with ${status}`);
  await assertEachOnce(
    godwit.db,
    all.filter(({ status }) => status === 202),
  );
  settled.push(...(await retryUnanswered(godwit, apiKey, all)));
}

function print(context: TestContext, what: string, { all, gapMs, pauseMs, replacedMs }: Observed): void {
  const of = (status: number): string => `${all.filter((each) => each.status === status).length} times ${status}`;
  const times = `new primary after ${seconds(replacedMs)}, accepted ${seconds(gapMs)} later; longest pause without a 202: ${seconds(pauseMs)}`;
  context.diagnostic(`${what}: ${of(202)}, ${of(503)}, ${of(500)}; ${times}`);
}

const seconds = (ms: number): string => `${(ms / 1_000).toFixed(1)} s`;

/** Changes the cluster under load, waits until both servers are in order again, and asserts the promise. */
async function changeUnderLoad(context: TestContext, scene: Scene, what: string, change: Change): Promise<void> {
  const { cluster, godwit } = scene;
  const observed = await sendDuring(change, scene);
  print(context, what, observed);
  assert.ok(observed.gapMs < ACCEPTED_AGAIN_MS, `accepted ${observed.gapMs} ms after the new primary`);
  assert.equal((await godwit.request("GET", "/readyz")).status, 200);
  const { standby } = await cluster.roles();
  const backAt = performance.now();
  // It continues where it was frozen, and is started where it was killed.
  standby.signal("SIGCONT");
  standby.start();
  await cluster.untilSynchronous();
  context.diagnostic(`${what}: ${standby.name} is a synchronous standby after ${seconds(performance.now() - backAt)}`);
  await assertKept(scene, observed);
}

async function assertAllKept({ godwit: { db }, settled }: Scene): Promise<void> {
  assert.ok(db !== undefined);
  await assertEachOnce(db, settled);
  await assertNothingHalfDone(db);
}

/** `http.request_failed: 12, …`, for the output. */
const eventsOf = ({ logs }: Godwit): string =>
  Array.from(
    Map.groupBy(
      logs.flatMap(({ event }) => event ?? []),
      (event) => event,
    ),
    ([event, lines]) => `${event}: ${lines.length}`,
  ).join(", ");

for (const way of ["both servers", "HAProxy"] as const)
  describe(`a cluster of Patroni that the service reaches by ${way}`, () => {
    test("keeps every 202, and messages are accepted again without a restart", async (context) => {
      if (missing !== undefined) return context.skip(missing);
      await using cluster = await PatroniCluster.start();
      await using godwit = await startGodwit({ databaseUrl: cluster.urls[way] });
      await godwit.unlimited();
      const scene: Scene = { cluster, godwit, apiKey: await godwit.key(), settled: [] };
      for (let count = 1; count <= FAILOVERS; count += 1) await changeUnderLoad(context, scene, `lost primary ${count}`, killPrimary);
      await changeUnderLoad(context, scene, "frozen primary", freezePrimary);
      await changeUnderLoad(context, scene, "switchover", switchOver);
      await changeUnderLoad(context, scene, "lost standby", killStandby);
      await assertAllKept(scene);
      context.diagnostic(`${scene.settled.length} messages, each exactly once; log: ${eventsOf(godwit)}`);
    });
  });
