/** Compresses large responses of the routes that permit it. The work is done in a thread of the pool, which files and names of hosts use, too. */
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import type { Exchange } from "./exchange.ts";

// A smaller response fits into two packets.
const MIN_LENGTH = 2_048;
// Half of the threads of the pool. Beyond it, responses are sent as they are, and none waits.
const MAX_AT_ONCE = 2;
// A page of JSON has nearly the same size at higher levels.
const LEVEL = 4;

const zip = promisify(gzip);
let running = 0;

export const acceptsGzip = (acceptEncoding = ""): boolean => /\bgzip\b(?!\s*;\s*q=0(?:\.0*)?\s*(?:,|$))/i.test(acceptEncoding);

/** Returns the body compressed, with its header set, or as it is. */
export async function compress(exchange: Exchange, body: string): Promise<string | Buffer> {
  exchange.header("vary", "accept-encoding");
  const isWorthIt = body.length >= MIN_LENGTH && acceptsGzip(exchange.request.headers["accept-encoding"]);
  if (!isWorthIt || running >= MAX_AT_ONCE) return body;
  running += 1;
  try {
    const zipped = await zip(body, { level: LEVEL });
    exchange.header("content-encoding", "gzip");
    return zipped;
  } finally {
    running -= 1;
  }
}
