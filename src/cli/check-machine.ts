/** Checks of this machine for `godwit doctor`: the configuration, Node, the disk, the certificate, and the running service. */
import { X509Certificate } from "node:crypto";
import { existsSync, realpathSync, statfsSync, statSync } from "node:fs";
import { request as requestPlain } from "node:http";
import { request as requestTls } from "node:https";
import { dirname } from "node:path";
import { text } from "node:stream/consumers";
import { hostInUrl, type Config, type ConfigInspection } from "../config.ts";
import { NO_LIMITS } from "../lib/scan-json.ts";
import { isKeyShared, readTlsFiles } from "../lib/tls-files.ts";
import { simulatorLink } from "../links/link.ts";
import { parseJsonObject } from "../providers/carrier-fields.ts";
import { clusterPath } from "../embedded/data-directory.ts";
import { VERSION } from "../version.ts";
import { errorMessage, fail, ok, warn, type Check } from "./check.ts";

const GIB = 1024 ** 3;
const LOW_DISK_BYTES = 5 * GIB;
// PostgreSQL stops when it cannot write its write-ahead log, which takes up to four gigabytes.
const FULL_DISK_BYTES = GIB / 2;
const CERTIFICATE_WARNING_DAYS = 30;
const DAY_MS = 86_400_000;
const NODE_MAJOR = 24;
const READY_TIMEOUT_MS = 3_000;
const MAX_SHOWN = 5;

/** Faults of the certificate are reported by a check of their own. */
const isTlsFault = (fault: string): boolean => fault.startsWith("GODWIT_TLS_");
/** A missing secret key is reported by the check that compares it with the database. */
const isSecretKeyFault = (fault: string): boolean => fault.startsWith("GODWIT_SECRET_KEY: is needed");

/** `always`: faults for every command. `serving`: faults only for `godwit serve`, whose settings may be complete where it runs. */
export type Faults = { always: readonly string[]; serving: readonly string[] };

export const separateFaults = (any: ConfigInspection, serving: ConfigInspection): Faults => ({
  always: any.faults.filter((fault) => !isTlsFault(fault)),
  serving: serving.faults.filter((fault) => !any.faults.includes(fault) && !isSecretKeyFault(fault)),
});

export function checkConfig({ always, serving }: Faults, { config, file }: ConfigInspection): Check {
  if (always.length > 0) return fail("configuration", always.join("; "), "correct all of these: the service does not start before");
  if (serving.length > 0)
    return warn(
      "configuration",
      `godwit serve would not start like this: ${serving.join("; ")}`,
      "run doctor with the settings of the service",
    );
  const unknown = config.unknownVariables.map(({ name, hint }) => `${name} is not a setting${hint}`);
  if (unknown.length > 0) return warn("configuration", unknown.join("; "), "correct the names of these variables, or unset them");
  return ok("configuration", file === undefined ? "flags and environment, no file" : file);
}

export function checkNode(): Check {
  const { node } = process.versions;
  return Number(node.split(".")[0]) >= NODE_MAJOR ? ok("node", node) : fail("node", node, `run godwit with Node ${NODE_MAJOR} or newer`);
}

export function checkDisk({ dataDir, databaseUrl }: Config): Check {
  if (databaseUrl !== undefined) return ok("disk", "the database is on another server");
  try {
    const folder = nearestExistingFolder(clusterPath(dataDir));
    if (!statSync(folder).isDirectory()) return fail("disk", `${folder} is not a folder`, "set GODWIT_DATA_DIR to a folder");
    const { bavail, bsize } = statfsSync(folder);
    const free = bavail * bsize;
    const detail = `${(free / GIB).toFixed(1)} GiB free at ${folder}`;
    if (free < FULL_DISK_BYTES) return fail("disk", detail, "free disk space now: a full disk stops the database");
    return free < LOW_DISK_BYTES ? warn("disk", detail, "free disk space, or lower GODWIT_RETENTION_DAYS") : ok("disk", detail);
  } catch (error) {
    return fail("disk", errorMessage(error), "give this user access to the data directory");
  }
}

/** Returns the folder itself or its nearest ancestor that exists. Symbolic links are resolved, as they may lead to another disk. */
const nearestExistingFolder = (path: string): string => (existsSync(path) ? realpathSync(path) : nearestExistingFolder(dirname(path)));

export function checkTls({ tls }: Config, { faults }: ConfigInspection): Check {
  const fault = faults.find(isTlsFault);
  if (fault !== undefined)
    return fail("tls", fault, "name a certificate chain and the private key that belongs to it, both readable by this user");
  if (tls === undefined) return ok("tls", "not configured: plain HTTP on loopback, or behind a proxy that terminates TLS");
  try {
    const checked = checkCertificate(new X509Certificate(readTlsFiles(tls).cert));
    if (checked.status !== "ok" || !isKeyShared(tls)) return checked;
    return warn("tls", `${checked.detail}; the group of ${tls.keyPath} may read the key`, `chmod 600 ${tls.keyPath}`);
  } catch (error) {
    return fail("tls", errorMessage(error), "name a certificate chain in PEM");
  }
}

const RENEW = "renew it, replace the files, and send SIGHUP to the service";

function checkCertificate({ validFromDate, validToDate, subject }: X509Certificate): Check {
  // The subject is undefined, contrary to its type, if the certificate has none.
  const owner = (subject as string | undefined)?.replaceAll("\n", ", ");
  const certificate = owner === undefined ? "the certificate" : `the certificate of ${owner}`;
  const days = Math.floor((validToDate.getTime() - Date.now()) / DAY_MS);
  const until = validToDate.toISOString().slice(0, 10);
  if (days < 0) return fail("tls", `${certificate} expired on ${until}`, RENEW);
  if (validFromDate.getTime() > Date.now())
    return fail(
      "tls",
      `${certificate} is not valid before ${validFromDate.toISOString()}`,
      "check the clock of this machine, or use another certificate",
    );
  const detail = `${certificate} is valid for ${days} more days, until ${until}`;
  return days < CERTIFICATE_WARNING_DAYS ? warn("tls", detail, RENEW) : ok("tls", detail);
}

const serviceUrl = ({ host, port, tls }: Config): string => `${tls === undefined ? "http" : "https"}://${hostInUrl(host)}:${port}`;

/** Reads the metrics of the service at this address. */
export async function readServiceMetrics(config: Config): Promise<string> {
  const { status, body } = await fetchText(`${serviceUrl(config)}/metrics`);
  if (status !== 200) throw new Error(`${serviceUrl(config)}/metrics responds with ${status}`);
  return body;
}

/** A service that does not run is only a warning, because it may run elsewhere. A service that is not ready is a failure. */
export async function checkService(config: Config): Promise<Check> {
  if (config.port === 0) return ok("service", "the port is chosen at start");
  const url = serviceUrl(config);
  try {
    const { status, body } = await fetchText(`${url}/readyz`);
    if (status !== 200) {
      const reason = problemDetail(body);
      return fail("service", `${url}/readyz responds with ${status}${reason && `: ${reason}`}`, "check its log, and the database above");
    }
    const metrics = await fetchText(`${url}/metrics`);
    return metrics.status === 200
      ? compareService(config, url, metrics.body)
      : ok("service", `ready at ${url}; this machine may not read its metrics, which have its version and its links`);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ECONNREFUSED") return warn("service", `nothing listens at ${url}`, "start it with godwit serve, if it should run here");
    return fail("service", `${url}: ${code ?? errorMessage(error)}`, "check that it is Godwit that listens there, and check its log");
  }
}

/** The detail of a problem. Empty if the body is none. */
function problemDetail(body: string): string {
  const { detail } = parseJsonObject({ text: body }, NO_LIMITS) ?? {};
  return typeof detail === "string" ? detail : "";
}

/** Compares the running service with this program and its settings, by the metrics. */
function compareService({ plan, simulatorSpeed }: Config, url: string, metrics: string): Check {
  const running = /^godwit_info\{version="([^"]*)"/m.exec(metrics)?.[1];
  if (running !== undefined && running !== VERSION)
    return warn(
      "service",
      `ready at ${url} with version ${running}, and this is ${VERSION}`,
      "restart the service, or use the godwit of the service",
    );
  const loaded = new Set(Array.from(metrics.matchAll(/^godwit_link_state\{link="([^"]*)",source="file"/gm), ([, name = ""]) => name));
  const configured = new Set([simulatorLink(simulatorSpeed), ...plan.links].map(({ name }) => name));
  const differing = [...loaded.symmetricDifference(configured)];
  // A node that has not read its database yet knows no state of a link.
  if (loaded.size > 0 && differing.length > 0)
    return warn(
      "service",
      `ready at ${url} with other links than these settings: ${differing.slice(0, MAX_SHOWN).join(", ")}`,
      "send SIGHUP to the service, or run doctor with the --config of the service",
    );
  return ok("service", `ready at ${url}, version ${running ?? "unknown"}`);
}

/** Fetches the URL. Does not verify the certificate: `checkTls` does, and the certificate is for the name that
 *  clients use, not for this address. */
function fetchText(url: string): Promise<{ status: number; body: string }> {
  return new Promise((resolve, reject) => {
    const signal = AbortSignal.timeout(READY_TIMEOUT_MS);
    const sent = url.startsWith("https:") ? requestTls(url, { rejectUnauthorized: false, signal }) : requestPlain(url, { signal });
    sent.on("error", reject);
    sent.on("response", (response) => {
      text(response).then((body) => resolve({ status: response.statusCode ?? 0, body }), reject);
    });
    sent.end();
  });
}
