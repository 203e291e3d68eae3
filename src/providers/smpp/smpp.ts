/** SMPP 3.4, the protocol of SMS carriers, over TCP or TLS. */
import { assert } from "../../lib/assert.ts";
import { errorFields } from "../../lib/log.ts";
import { within } from "../../lib/wait.ts";
import type { LeasedHost, Provider } from "../provider.ts";
import { SmppLink } from "./link.ts";
import type { SmppSettings } from "./settings.ts";

export const smpp: Provider<SmppSettings> = {
  name: "smpp",
  // An account has one bind, or as many as the carrier sold, and one rate.
  isExclusive: true,
  /** Does not wait for the carrier, who may be away: the link is ready when it is bound. */
  async open(settings, host: LeasedHost) {
    assert(Number.isSafeInteger(settings.window) && settings.window > 0, "the window of an SMPP link is above zero");
    assert(settings.partsPerSecond === null || settings.partsPerSecond > 0, "the rate of an SMPP link is above zero");
    return new SmppLink(settings, host, await namesBefore(host));
  },
};

const NAMES_LIMIT_MS = 3_000;

/** Receipts of what another node sent come to this one. Without the names it can be that nobody here knows how the carrier writes
 *  them: then a receipt waits until that is learnt. */
async function namesBefore(host: LeasedHost): Promise<readonly string[]> {
  const names = host.recentCarrierIds?.().catch((error: unknown) => {
    host.log.warn({ event: "smpp.ids_not_read", ...errorFields(error) }, "smpp: the ids of earlier messages could not be read");
    return [];
  });
  return (names && (await within(names, NAMES_LIMIT_MS))) ?? [];
}
