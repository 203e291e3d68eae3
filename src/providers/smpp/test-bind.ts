/** Tests the settings of an SMPP link: binds and unbinds. */
import type { Log } from "../../model/log.ts";
import { openSocket } from "../../outbound/open-socket.ts";
import { connectionFailure, failed, succeeded, type ConnectionTest } from "../connection-test.ts";
import { bindRequest, socketTarget } from "./bind.ts";
import { STATUS } from "./pdu.ts";
import { Session } from "./session.ts";
import { smppTimes, smscAddresses, type SmppSettings } from "./settings.ts";
import { statusCode } from "./status.ts";

const REFUSALS: ReadonlyMap<number, string> = new Map([
  [STATUS.invalidPassword, "The carrier refused the password."],
  [STATUS.invalidSystemId, "The carrier does not know the system_id."],
]);

export async function testBind(settings: SmppSettings, log: Log, signal: AbortSignal): Promise<ConnectionTest> {
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
    onNotAcknowledged: () => undefined,
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
    return failed("credentials", REFUSALS.get(status) ?? `The carrier refused the bind with ${statusCode(status)}.`);
  }
  await session.unbind();
  return succeeded("The carrier accepted the bind.");
}
