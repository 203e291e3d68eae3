/** SMPP 3.4, the protocol of SMS carriers, over TCP or TLS. */
import { assert } from "../../lib/assert.ts";
import type { Provider } from "../provider.ts";
import { SmppLink } from "./link.ts";
import type { SmppSettings } from "./settings.ts";

export const smpp: Provider<SmppSettings> = {
  name: "smpp",
  // An account has one bind, or as many as the carrier sold, and one rate.
  isExclusive: true,
  /** Does not wait for the carrier, who may be away: the link is ready when it is bound. */
  async open(settings, host) {
    assert(Number.isSafeInteger(settings.window) && settings.window > 0, "the window of an SMPP link is above zero");
    assert(settings.partsPerSecond === null || settings.partsPerSecond > 0, "the rate of an SMPP link is above zero");
    return new SmppLink(settings, host);
  },
};
