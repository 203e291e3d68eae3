/** Measures the turns of the event loop of the process that it is loaded into, by `node --import`. The parent asks for the figures by a
 *  message.
 *
 *  A turn is the time from one run of the immediates to the next. Only processor time of the main thread counts, so that other processes
 *  of a busy machine do not lengthen a turn. */

export type TurnFigures = {
  /** The longest turn since the last message that did not ask for the memory only. */
  worstTurnUs: number;
  /** The processor time of the main thread since the start. */
  cpuUs: number;
  heapBytes: number;
  /** The heap, and the bytes of buffers. */
  heldBytes: number;
};

function cpuUs(): number {
  const { user, system } = process.threadCpuUsage();
  return user + system;
}

let turnStartedAt = cpuUs();
let worstTurnUs = 0;

function endTurn(): void {
  const now = cpuUs();
  worstTurnUs = Math.max(worstTurnUs, now - turnStartedAt);
  turnStartedAt = now;
  // Without a reference the loop still waits for input.
  setImmediate(endTurn).unref();
}

setImmediate(endTurn).unref();

process.on("message", (message) => {
  // After the end of the current turn.
  setImmediate(() => {
    const figures = { worstTurnUs, cpuUs: cpuUs() };
    if (message !== "figures") (globalThis as { gc?: () => void }).gc?.();
    const { heapUsed, external } = process.memoryUsage();
    process.send?.({ ...figures, heapBytes: heapUsed, heldBytes: heapUsed + external } satisfies TurnFigures);
    turnStartedAt = cpuUs();
    if (message !== "memory") worstTurnUs = 0;
  });
});
process.channel?.unref();
