import assert from "node:assert/strict";
import { test } from "node:test";
import { CredentialCache, TRUST_MS, type Lookup } from "./credential-cache.ts";

type Found = { environmentKey: string };

/** A cache with a clock that the test sets, and lookups that the test answers. */
function makeCache() {
  const clock = { nowMs: 0 };
  const lookups: PromiseWithResolvers<Lookup<Found>>[] = [];
  const lookUp = (): Promise<Lookup<Found>> => {
    const lookup = Promise.withResolvers<Lookup<Found>>();
    lookups.push(lookup);
    return lookup.promise;
  };
  const cache = new CredentialCache<undefined, Found>(lookUp, () => clock.nowMs);
  const learn = async (credential: Found | undefined): Promise<void> => {
    const found = cache.find("key", undefined);
    lookups.at(-1)?.resolve({ credential });
    assert.equal(await found, credential);
  };
  return { cache, clock, lookups, learn, fresh: () => cache.fresh("key", undefined) };
}

const ONE: Found = { environmentKey: "one" };
const TWO: Found = { environmentKey: "two" };

test("a result is fresh for a second", async () => {
  const { clock, learn, fresh } = makeCache();
  await learn(ONE);
  clock.nowMs = TRUST_MS - 1;
  assert.equal(fresh(), ONE);
  clock.nowMs = TRUST_MS;
  assert.equal(fresh(), undefined);
});

test("a credential in use is looked up once before its result expires, and its requests do not wait", async () => {
  const { cache, clock, lookups, learn, fresh } = makeCache();
  await learn(ONE);
  clock.nowMs = TRUST_MS - 100;
  assert.equal(fresh(), ONE);
  assert.equal(fresh(), ONE);
  assert.equal(lookups.length, 2);
  const refreshed = cache.find("key", undefined);
  lookups[1]?.resolve({ credential: TWO });
  await refreshed;
  clock.nowMs = TRUST_MS + 100;
  assert.equal(fresh(), TWO);
});

test("a failed lookup ahead of time leaves the result as long as it is fresh", async () => {
  const { cache, clock, lookups, learn, fresh } = makeCache();
  await learn(ONE);
  clock.nowMs = TRUST_MS - 100;
  fresh();
  lookups[1]?.reject(new Error("the database is away"));
  await assert.rejects(cache.find("key", undefined));
  assert.equal(cache.fresh("key", undefined), ONE);
});

test("a lookup that began before a key was revoked is not trusted", async () => {
  const { cache, lookups, fresh } = makeCache();
  const before = cache.find("key", undefined);
  cache.forget();
  const after = cache.find("key", undefined);
  lookups[0]?.resolve({ credential: ONE });
  assert.equal(await before, ONE);
  assert.equal(fresh(), undefined);
  lookups[1]?.resolve({});
  assert.equal(await after, undefined);
  assert.ok(cache.isRefused("key"));
});

test("a refused credential is remembered, and an invented one is not", async () => {
  const { cache, clock, lookups, learn } = makeCache();
  await learn(undefined);
  assert.ok(cache.isRefused("key"));
  clock.nowMs = TRUST_MS;
  assert.ok(!cache.isRefused("key"));
  const invented = cache.find("key", undefined);
  lookups[1]?.resolve({ isUnissued: true });
  assert.equal(await invented, undefined);
  assert.ok(!cache.isRefused("key"));
});
