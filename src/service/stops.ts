/** The functions that stop the started parts of a process, in the order of the start. A stop runs them in reverse. */
export type Stops = (() => unknown)[];

export async function stopAll(stops: Stops): Promise<void> {
  for (const stop of stops.splice(0).toReversed()) await stop();
}
