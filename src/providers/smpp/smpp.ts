/** SMPP 3.4, the protocol of SMS carriers, over TCP or TLS. */
import { assert } from "../../lib/assert.ts";
import type { LeasedHost, Provider } from "../provider.ts";
import { SmppLink } from "./link.ts";
import type { SmppSettings } from "./settings.ts";
import { testBind } from "./test-bind.ts";

export const smpp: Provider<SmppSettings> = {
  name: "smpp",
  // The carrier limits the binds and the rate of an account.
  isExclusive: true,
  /** Does not wait for the carrier, which may be unavailable: the link is ready when it is bound. */
  async open(settings, host: LeasedHost) {
    assert(Number.isSafeInteger(settings.window) && settings.window > 0, "the window of an SMPP link is above zero");
    assert(settings.partsPerSecond === null || settings.partsPerSecond > 0, "the rate of an SMPP link is above zero");
    return new SmppLink(settings, host);
  },
  test: testBind,
};
