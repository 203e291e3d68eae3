/** Frees the buffers of received bytes soon. They are outside the JavaScript heap, and V8 lets 64 MB and more of them accumulate before it frees any. */
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

// A collection of the young objects takes a millisecond or two, and the hash of these bytes five.
const EVERY_BYTES = 8_388_608;

type Collect = (options: { type: "minor" }) => void;

let collect: Collect | undefined;
let bytes = 0;

/** Counts bytes that arrived, whose buffers are dropped at once or after a moment. */
export function countReceivedBytes(more: number): void {
  bytes += more;
  if (bytes < EVERY_BYTES) return;
  bytes = 0;
  collect ??= exposed();
  collect({ type: "minor" });
}

function exposed(): Collect {
  setFlagsFromString("--expose-gc");
  return runInNewContext("gc") as Collect;
}
