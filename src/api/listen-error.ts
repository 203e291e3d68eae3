/** Why we cannot listen, in one sentence. */
import { StartupError } from "../storage/startup-error.ts";

export function explainListenError(error: unknown, { host, port }: { host: string; port: number }): unknown {
  const { code } = error as NodeJS.ErrnoException;
  if (code === "EADDRINUSE")
    return new StartupError(`port ${port} on ${host} is in use: stop what listens there, or set GODWIT_PORT (0 picks a free one)`);
  if (code === "EACCES") return new StartupError(`this user may not listen on port ${port}: choose one from 1024 on`);
  if (code === "EADDRNOTAVAIL" || code === "ENOTFOUND")
    return new StartupError(`this machine has no address ${host}: set GODWIT_HOST to one of its own`);
  return error;
}
