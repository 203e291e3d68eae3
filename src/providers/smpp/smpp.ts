/** SMPP 3.4, the protocol of SMS carriers, over TCP or TLS. */
import { assert } from "../../lib/assert.ts";
import { errorFields } from "../../model/log.ts";
import { within } from "../../lib/wait.ts";
import type { LeasedHost, Provider } from "../provider.ts";
import { SmppLink, type Earlier } from "./link.ts";
import { carrierAccount, type SmppSettings } from "./settings.ts";
import { testBind } from "./test-bind.ts";

export const smpp: Provider<SmppSettings> = {
  name: "smpp",
  // The carrier limits the binds and the rate of an account.
  isExclusive: true,
  /** Does not wait for the carrier, which may be unavailable: the link is ready when it is bound. */
  async open(settings, host: LeasedHost) {
    assert(Number.isSafeInteger(settings.window) && settings.window > 0, "the window of an SMPP link is above zero");
    assert(settings.partsPerSecond === null || settings.partsPerSecond > 0, "the rate of an SMPP link is above zero");
    return new SmppLink(settings, host, await readEarlier(settings, host));
  },
  test: testBind,
};

const READ_LIMIT_MS = 3_000;

/** Reads the state that earlier connections have left, also those of other nodes: receipts of their messages arrive at this one. A failed
 *  read leaves its part out: then a receipt may wait until the link has learnt the form of the ids again. */
async function readEarlier(settings: SmppSettings, host: LeasedHost): Promise<Earlier> {
  const read = async <T>(from: Promise<T> | undefined): Promise<T | undefined> => from && within(from.catch(onError), READ_LIMIT_MS);
  const onError = (error: unknown): undefined => {
    host.log.warn({ event: "smpp.ids_not_read", ...errorFields(error) }, "smpp: the ids of earlier messages could not be read");
  };
  const [carrierIds, receipts, form] = await Promise.all([
    read(host.recentCarrierIds?.()),
    read(host.parkedReceipts?.()),
    read(host.readReceiptForm?.(carrierAccount(settings))),
  ]);
  return { ...(carrierIds && { carrierIds }), ...(receipts && { receipts }), ...(form && { form }) };
}
