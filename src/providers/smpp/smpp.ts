/** SMPP 3.4, the protocol of SMS carriers, over TCP or TLS. */
import { assert } from "../../lib/assert.ts";
import { errorFields } from "../../lib/log.ts";
import { within } from "../../lib/wait.ts";
import type { LeasedHost, Provider } from "../provider.ts";
import { SmppLink } from "./link.ts";
import type { SmppSettings } from "./settings.ts";

export const smpp: Provider<SmppSettings> = {
  name: "smpp",
  // The carrier limits the binds and the rate of an account.
  isExclusive: true,
  /** Does not wait for the carrier, which may be unavailable: the link is ready when it is bound. */
  async open(settings, host: LeasedHost) {
    assert(Number.isSafeInteger(settings.window) && settings.window > 0, "the window of an SMPP link is above zero");
    assert(settings.partsPerSecond === null || settings.partsPerSecond > 0, "the rate of an SMPP link is above zero");
    return new SmppLink(settings, host, await readRecentIds(host));
  },
};

const RECENT_IDS_LIMIT_MS = 3_000;

/** The carrier ids of the last messages of all nodes. Receipts of messages from another node arrive at this one. Without these ids the
 *  form of the ids in receipts may be unknown: then a receipt waits until the link has learnt the form. */
async function readRecentIds(host: LeasedHost): Promise<readonly string[]> {
  const ids = host.recentCarrierIds?.().catch((error: unknown) => {
    host.log.warn({ event: "smpp.ids_not_read", ...errorFields(error) }, "smpp: the ids of earlier messages could not be read");
    return [];
  });
  return (ids && (await within(ids, RECENT_IDS_LIMIT_MS))) ?? [];
}
