/** Random numbers that can be reproduced. */
import { randomInt } from "node:crypto";
import type { TestContext } from "node:test";

/** Random numbers from 0 to 1 (mulberry32). The seed is printed, and can be set by TEST_SEED. */
export function seeded(context: TestContext): () => number {
  let state = Number(process.env["TEST_SEED"] ?? randomInt(2 ** 31));
  context.diagnostic(`TEST_SEED=${state}`);
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
