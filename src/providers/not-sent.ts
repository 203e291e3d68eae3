/** Nothing of the message has left the house, and it is not at fault: it goes back to the front of its lane, for whoever has the
 *  link next, and uses up none of its tries. */
import type { SendOutcome } from "./provider.ts";

// Whoever closed the link mostly opens it again, here or on another node, within this time.
const WAIT_MS = 1_000;

export type Unsent = "link_closed" | "link_elsewhere" | "not_sent";

export const notSent = (why: Unsent): SendOutcome => ({ kind: "throttled", scope: "link", retryAfterMs: WAIT_MS, providerCode: why });
