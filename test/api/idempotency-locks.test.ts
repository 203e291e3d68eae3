/** Idempotency on nodes whose locks differ: their secret keys are not the same while it is changed, or their versions are not. */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { test } from "node:test";
import { idempotencyClaim, lockSecretOf, parseIdempotencyKey, type IdempotencyClaim } from "../../src/idempotency/key.ts";
import { Once, type Executed, type Replay } from "../../src/idempotency/once.ts";
import { SecretBox } from "../../src/lib/secret-box.ts";
import { Rig } from "../support/delivery-rig.ts";
import { credentialOf } from "../support/engine.ts";

const FINGERPRINT = Buffer.alloc(32, 7);

test("a request that two nodes with different locks execute at once has one effect", async () => {
  await using rig = await Rig.open();
  await rig.rows("create table effects (node text)");
  const key = parseIdempotencyKey(randomUUID()) ?? assert.fail();
  const claimOf = (fill: number): IdempotencyClaim =>
    idempotencyClaim(lockSecretOf(new SecretBox(Buffer.alloc(32, fill))), "a/test", key, FINGERPRINT);
  const [first, second] = [claimOf(1), claimOf(2)];
  assert.notDeepEqual(first.lock, second.lock);

  const begun = Promise.withResolvers<void>();
  const goOn = Promise.withResolvers<void>();
  const run = (node: string, claim: IdempotencyClaim, wait: () => Promise<void>): Promise<Executed | Replay> =>
    new Once(rig.db, rig.clock).transaction(credentialOf(rig.accountId), claim, async (tx) => {
      await tx.rows({ name: `effect_${node}`, text: "insert into effects values ($1)", values: [node] });
      await wait();
      return { status: 201, location: null, body: JSON.stringify({ node }), eventId: null };
    });
  const slow = run("slow", first, () => {
    begun.resolve();
    return goOn.promise;
  });
  await begun.promise;
  const quick = await run("quick", second, async () => undefined);
  goOn.resolve();
  assert.deepEqual([quick.kind, quick.body], ["executed", '{"node":"quick"}']);
  const replay = await slow;
  assert.deepEqual([replay.kind, replay.body], ["replay", quick.body]);
  assert.deepEqual(await rig.rows("select node from effects"), [{ node: "quick" }]);
});
