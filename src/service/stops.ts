/** What a start has started, in order. A stop ends it in reverse. */
export type Stops = (() => unknown)[];

export async function stopAll(stops: Stops): Promise<void> {
  for (const stop of stops.splice(0).toReversed()) await stop();
}
