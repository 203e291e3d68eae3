/** Stops everything that a test file started and did not stop itself, so that a failed test does not keep its process alive. */
import { after } from "node:test";

const stops = new Set<() => Promise<unknown>>();

/** Registers a function that runs after the tests of the file. A second stop must have no effect. */
export const atEnd = (stop: () => Promise<unknown>): void => void stops.add(stop);

export async function stopAll(): Promise<void> {
  const open = [...stops].toReversed();
  stops.clear();
  for (const stop of open) await stop().catch(() => undefined);
}

after(stopAll);
