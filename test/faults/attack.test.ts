/** A short run of the standing trial: no attack refuses requests of another account, holds much memory or makes a long turn. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { ATTACKS } from "../../fuzz/attacks.ts";
import { MAX_TURN_MS, runTrial } from "../../fuzz/trial.ts";
import { createDatabase } from "../support/database.ts";

// Processor time depends on the machine, and on the programs that share its caches.
const MAX_BUSY_TURN_MS = 4 * MAX_TURN_MS;

test("no attack refuses a request of another account, and each holds little memory", { timeout: 600_000 }, async (context) => {
  const faults: string[] = [];
  /** Returns the attacks with a longer turn. */
  const attack = async (attacks: typeof ATTACKS): Promise<typeof ATTACKS> => {
    const long = new Set<string>();
    await runTrial({
      attacks,
      databaseUrl: await createDatabase(),
      seconds: 2,
      // Tests share the machine.
      isQuiet: false,
      onResult: ({ name, worstTurnMs, heldMb, violations: { memory, refusals } }) => {
        context.diagnostic(`${name}: longest turn ${worstTurnMs.toFixed(0)} ms, ${heldMb.toFixed(0)} MB held`);
        for (const fault of [memory, refusals]) if (fault !== undefined) faults.push(`${name}: ${fault}`);
        if (worstTurnMs > MAX_BUSY_TURN_MS) long.add(name);
      },
    });
    return attacks.filter(({ name }) => long.has(name));
  };
  // A process that had to wait for the processor handles all that has arrived in one turn. The cost of an attack itself shows again.
  const suspects = await attack(ATTACKS);
  const proven = suspects.length === 0 ? [] : await attack(suspects);
  assert.deepEqual([...faults, ...proven.map(({ name }) => `${name}: a turn of more than ${MAX_BUSY_TURN_MS} ms, twice`)], []);
});
