/** Gives up root after the start. The start needs it to listen on a low port, to read the private key and to prepare the data directory;
 *  nothing needs it later. */
import { createRequire } from "node:module";
import { resolve } from "node:path";
import type { Config } from "../config.ts";
import type { Log } from "../model/log.ts";
import { claimDataDir, clusterPath } from "../embedded/data-directory.ts";
import { becomeUser, chooseUser, findForbidden, findServiceUser, isRoot, type RunAs } from "../embedded/run-as.ts";

/** Continues as the user of the service, or warns why the process stays root. Does nothing when the process is not root. */
export function dropRoot(config: Config, configFile: string | undefined, log: Log): void {
  if (!isRoot()) return;
  const user = config.databaseUrl === undefined ? chooseUser(clusterPath(config.dataDir)) : findServiceUser();
  const reason = user === undefined ? "the user godwit could not be created" : whyNot(user, config);
  if (user === undefined || reason !== undefined) {
    log.warn({ event: "service.runs_as_root", reason }, "the service keeps running as root");
    return;
  }
  // The start has created further files, such as the secret key.
  if (config.databaseUrl === undefined) claimDataDir(config.dataDir, user, () => undefined);
  becomeUser(user);
  log.info({ user: user.name, uid: user.uid }, "root privileges dropped");
  const files = [configFile, config.tls?.certPath, config.tls?.keyPath].filter((path) => path !== undefined);
  const unreadable = files.find((path) => findForbidden(user, "-r", [resolve(path)]) !== undefined);
  if (unreadable !== undefined)
    log.warn({ event: "service.reload_unreadable", path: unreadable, user: user.name }, "a reload will not be able to read a file");
}

/** Modules are loaded on demand, and the data directory has the lock that the process renews. */
function whyNot(user: RunAs, { databaseUrl, dataDir }: Config): string | undefined {
  const code = findForbidden(user, "-r", [import.meta.filename, createRequire(import.meta.url).resolve("pg")]);
  if (code !== undefined) return `the user ${user.name} cannot read the program (${code})`;
  const data = databaseUrl === undefined ? findForbidden(user, "-w", [dataDir]) : undefined;
  return data === undefined ? undefined : `the user ${user.name} cannot write to ${data}`;
}
