/** Which errors of a start end by themselves. A node that starts before its database waits for it; a fault of the configuration ends the start. */
import { ConnectionLost, isServerTrouble, sqlState } from "./database.ts";
import { ReadOnlyServer } from "./connections.ts";
import { isLossByDriver } from "./driver.ts";
import { StartupError } from "./startup-error.ts";

/** The start must wait for somebody else, such as for `godwit migrate`. `message` is for the operator, and `reason` for probes. A command does not
 *  wait. */
export class MustWait extends StartupError {
  readonly reason: string;
  constructor(message: string, reason: string) {
    super(message);
    this.reason = reason;
  }
}

// A host or its name may come later than this machine, such as after a power failure: ENOTFOUND.
const AWAY = /^(ECONNREFUSED|ECONNRESET|EPIPE|ETIMEDOUT|EHOSTUNREACH|EHOSTDOWN|ENETUNREACH|ENETDOWN|EADDRNOTAVAIL|EAI_AGAIN|ENOTFOUND)$/;
// The database accepts no connections for a while.
const CLOSED = "55000";

/** Whether the cause of a failed start may end without a change of the configuration. Of several servers, it is enough if one may come back. A
 *  wrong password, missing rights, a database that does not exist, and a certificate that is not valid are faults. */
export function healsByWaiting(error: unknown): boolean {
  if (error instanceof AggregateError) return error.errors.some(healsByWaiting);
  if (!(error instanceof Error)) return false;
  if (error instanceof MustWait || error instanceof ConnectionLost || error instanceof ReadOnlyServer) return true;
  const state = sqlState(error);
  if (state !== undefined) return state === CLOSED || isServerTrouble(state);
  if (error.cause !== undefined) return healsByWaiting(error.cause);
  if (error instanceof StartupError) return false;
  const { code = "", syscall } = error as NodeJS.ErrnoException;
  // The server has not created its socket. Any other missing file is one that the configuration names.
  if (AWAY.test(code) || (code === "ENOENT" && syscall === "connect")) return true;
  return (isLossByDriver(error) || /timeout (exceeded|expired)/.test(error.message)) && !/does not support SSL/.test(error.message);
}
