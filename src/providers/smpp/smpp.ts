/** SMPP 3.4, the protocol of SMS carriers, over TCP or TLS. */
import { assert } from "../../lib/assert.ts";
import type { LeasedHost, Provider } from "../provider.ts";
import { SmppLink } from "./link.ts";
import { smppTimes, smscAddresses, type SmppSettings } from "./settings.ts";
import type { Log } from "../../model/log.ts";
import { openSocket } from "../../outbound/open-socket.ts";
import { connectionFailure, failed, succeeded, type ConnectionTest } from "../connection-test.ts";
import { bindRequest, socketTarget } from "./bind.ts";
import { joinParts } from "./parts.ts";
import { STATUS } from "./pdu.ts";
import { Session } from "./session.ts";
import { bindRefusal } from "./status.ts";

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
  joinParts,
  test: testBind,
};

/** Tests the settings of a link: binds and unbinds. */
async function testBind(settings: SmppSettings, log: Log, signal: AbortSignal): Promise<ConnectionTest> {
  const [address = settings] = smscAddresses(settings);
  const times = smppTimes(settings);
  const socket = await openSocket(socketTarget(settings, address), times.connectMs, signal);
  if (socket instanceof Error) return connectionFailure(socket);
  const session = new Session({
    socket,
    times,
    log,
    // The link is not open, so nothing can be stored: the carrier is asked to send it again.
    deliver: async () => STATUS.temporaryError,
    onAcknowledged: () => undefined,
    onClosing: () => undefined,
    maxTimeouts: 1,
  });
  const mode = settings.bindMode === "pair" ? "transmitter" : settings.bindMode;
  const outcome = await session.request(bindRequest(mode, settings), { limitMs: times.bindMs, signal });
  if (outcome.kind !== "response") {
    session.end("tested");
    return failed(
      "response",
      "The host accepted the connection and did not respond to the bind. Is this its SMPP port, and is TLS set rightly?",
    );
  }
  const { status } = outcome.pdu;
  if (status !== STATUS.ok) {
    session.end("tested");
    const reason = bindRefusal(status);
    return failed("credentials", `${reason.charAt(0).toUpperCase()}${reason.slice(1)}.`);
  }
  await session.unbind();
  return succeeded("The carrier accepted the bind.");
}
