import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { LEASE_SPEND_MS, settle, type Bucket, type Limit } from "./quota.ts";

const SANDBOX: Limit = { requestsPerSecond: 25, burst: 50 };
const full = ({ burst }: Limit): Bucket => ({ level: burst, refilledAtMs: 0, leases: {} });

/** A node as the limiter is one, with an exact clock: it spends what it holds until a second after it last asked. */
type Node = { name: string; tokens: number; spendUntilMs: number };
type Admission = { atMs: number; count: number };

class World {
  readonly limit: Limit;
  readonly admissions: Admission[] = [];
  readonly nodes: Node[];
  bucket: Bucket;
  nowMs = 0;

  constructor(limit: Limit, nodes: number) {
    this.limit = limit;
    this.bucket = full(limit);
    this.nodes = Array.from({ length: nodes }, (_, index) => ({ name: `node${index}`, tokens: 0, spendUntilMs: 0 }));
  }

  node(index: number): Node {
    return this.nodes[index % this.nodes.length] as Node;
  }

  /** `delayMs` passes between the request to the database and its response. */
  settle(node: Node, want: number, delayMs = 0): number {
    const askedAtMs = this.nowMs;
    const isSpendable = askedAtMs < node.spendUntilMs;
    const [kept, returned] = isSpendable ? [node.tokens, 0] : [0, node.tokens];
    this.nowMs += delayMs;
    const settled = settle(this.bucket, this.limit, { node: node.name, kept, returned, want, nowMs: this.nowMs });
    this.bucket = settled.bucket;
    node.tokens = kept + settled.granted;
    node.spendUntilMs = askedAtMs + LEASE_SPEND_MS;
    return settled.granted;
  }

  spend(node: Node, most: number): void {
    const count = this.nowMs < node.spendUntilMs ? Math.min(most, node.tokens) : 0;
    if (count === 0) return;
    node.tokens -= count;
    this.admissions.push({ atMs: this.nowMs, count });
  }

  get admitted(): number {
    return this.admissions.reduce((sum, { count }) => sum + count, 0);
  }

  /** No span, from any admission to any later one, has more than the burst and what its time added. */
  assertPromise(): void {
    const { requestsPerSecond, burst } = this.limit;
    for (const [from, first] of this.admissions.entries()) {
      let sum = 0;
      for (const { atMs, count } of this.admissions.slice(from)) {
        sum += count;
        const spanMs = atMs - first.atMs;
        const most = burst + (requestsPerSecond * spanMs) / 1_000;
        assert.ok(sum <= most + 1e-6, `${sum} admitted within ${spanMs} ms from ${first.atMs}, ${most} allowed`);
      }
    }
  }
}

const limits = fc.record({ requestsPerSecond: fc.integer({ min: 1, max: 500 }), burst: fc.integer({ min: 1, max: 1_000 }) });
// The small steps of a busy node, pauses within a lease, and some that outlast it.
const pauses = fc.oneof(fc.constant(0), fc.nat(200), fc.integer({ min: 700, max: 999 }), fc.nat(3_000));
const steps = fc.record({
  pauseMs: pauses,
  node: fc.nat(7),
  kind: fc.constantFrom("settle", "settle", "spend", "spend", "spend", "crash"),
  // Of the burst: what is asked for or spent.
  part: fc.oneof(fc.constant(1), fc.constant(0.1), fc.double({ min: 0, max: 1, noNaN: true })),
  delayMs: fc.oneof({ weight: 6, arbitrary: fc.nat(20) }, { weight: 1, arbitrary: fc.nat(2_500) }),
});

test("nodes that spend their leases in time never admit more than the burst and the rate allow, in any period", () => {
  fc.assert(
    fc.property(limits, fc.integer({ min: 1, max: 4 }), fc.array(steps, { maxLength: 60, size: "max" }), (limit, nodes, schedule) => {
      const world = new World(limit, nodes);
      for (const { pauseMs, node: index, kind, part, delayMs } of schedule) {
        world.nowMs += pauseMs;
        const node = world.node(index);
        const many = Math.ceil(part * limit.burst);
        if (kind === "settle") world.settle(node, many, delayMs);
        else if (kind === "spend") world.spend(node, many);
        else Object.assign(node, { tokens: 0, spendUntilMs: 0 });
      }
      world.assertPromise();
    }),
    { numRuns: 500 },
  );
});

test("tokens that are leased early and spent late do not allow more than the burst", () => {
  const world = new World(SANDBOX, 1);
  const node = world.node(0);
  world.settle(node, SANDBOX.burst);
  world.nowMs = LEASE_SPEND_MS - 1;
  world.spend(node, SANDBOX.burst);
  world.settle(node, SANDBOX.burst);
  world.spend(node, SANDBOX.burst);
  world.assertPromise();
});

test("level and leases together never exceed the burst", () => {
  fc.assert(
    fc.property(limits, fc.array(steps, { maxLength: 60, size: "max" }), (limit, schedule) => {
      const world = new World(limit, 3);
      for (const { pauseMs, node, part, delayMs } of schedule) {
        world.nowMs += pauseMs;
        world.settle(world.node(node), Math.ceil(part * limit.burst), delayMs);
        const leased = Object.values(world.bucket.leases).reduce((sum, { tokens }) => sum + tokens, 0);
        assert.ok(world.bucket.level >= 0);
        assert.ok(world.bucket.level + leased <= limit.burst + 1e-6);
      }
    }),
  );
});

for (const limit of [SANDBOX, { requestsPerSecond: 200, burst: 400 }, { requestsPerSecond: 2_000, burst: 4_000 }]) {
  test(`one node that takes all it can gets nine tenths of ${limit.requestsPerSecond} a second and the burst`, () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 10, max: 200 }), { minLength: 50, maxLength: 100 }), (pausesMs) => {
        const world = new World(limit, 1);
        const node = world.node(0);
        for (const pauseMs of [0, ...pausesMs]) {
          world.nowMs += pauseMs;
          world.settle(node, limit.burst);
          world.spend(node, Infinity);
        }
        const allowed = limit.burst + (limit.requestsPerSecond * world.nowMs) / 1_000;
        assert.ok(world.admitted >= 0.9 * allowed, `${world.admitted} of ${allowed}`);
        world.assertPromise();
      }),
    );
  });
}

test("the lease of a crashed node is missing for two seconds and then comes back", () => {
  const world = new World(SANDBOX, 2);
  const [crashed, other] = [world.node(0), world.node(1)];
  assert.equal(world.settle(crashed, SANDBOX.burst), SANDBOX.burst);
  world.nowMs = 1_999;
  assert.equal(world.settle(other, SANDBOX.burst), 0);
  world.nowMs = 2_000;
  world.settle(other, 0);
  assert.deepEqual(Object.keys(world.bucket.leases), []);
  world.nowMs = 4_000;
  assert.equal(world.settle(other, SANDBOX.burst), SANDBOX.burst);
});

test("returned tokens are available to other nodes at once", () => {
  const world = new World(SANDBOX, 2);
  world.settle(world.node(0), SANDBOX.burst);
  world.nowMs = LEASE_SPEND_MS;
  world.settle(world.node(0), 0);
  assert.equal(world.settle(world.node(1), SANDBOX.burst), SANDBOX.burst);
});

test("a node cannot keep or return more than it was granted", () => {
  const { bucket } = settle({ level: 0, refilledAtMs: 0, leases: {} }, SANDBOX, { node: "a", kept: 30, returned: 30, want: 0, nowMs: 0 });
  assert.deepEqual(bucket, { level: 0, refilledAtMs: 0, leases: {} });
});

test("a clock that goes backwards adds nothing, and does not add the same time twice", () => {
  const empty: Bucket = { level: 0, refilledAtMs: 10_000, leases: {} };
  const back = settle(empty, SANDBOX, { node: "a", kept: 0, returned: 0, want: 50, nowMs: 9_000 });
  assert.equal(back.granted, 0);
  assert.equal(settle(back.bucket, SANDBOX, { node: "a", kept: 0, returned: 0, want: 50, nowMs: 10_000 }).granted, 0);
});

test("a smaller burst applies from the next settlement on", () => {
  const { granted } = settle(full(SANDBOX), { requestsPerSecond: 1, burst: 5 }, { node: "a", kept: 0, returned: 0, want: 50, nowMs: 0 });
  assert.equal(granted, 5);
});
