/** The thread of TLS connections to hosts that others choose. Such a host decides what a handshake costs: the size of its keys, the length of its
 *  chain, the order of its messages. Here it delays no request. A connection of the service begins with one line, the target in JSON;
 *  the response is one line, too. After it, all bytes pass unchanged in both directions.
 *
 *  This file imports nothing of the service but `tls-meter.ts`, so that the thread starts quickly and uses little memory. */
import { createHash, createPrivateKey, timingSafeEqual } from "node:crypto";
import { connect, createServer, isIP, type Socket } from "node:net";
import { connect as connectTls, createSecureContext, type PeerCertificate, type SecureContext, type TLSSocket } from "node:tls";
import { parentPort, workerData } from "node:worker_threads";
import { keep, Metered, refusal, type CostLimits } from "./tls-meter.ts";

/** `addresses`: those that may be connected to; undefined if the thread looks the name up itself. */
export type TlsTarget = {
  host: string;
  port: number;
  addresses?: readonly string[];
  serverName?: string;
  ca?: string;
  cert?: string;
  key?: string;
};

/** `payer`: the hosts that share a budget, such as those of a network. */
export type TlsRequest = TlsTarget & { token: string; payer: string; limits: CostLimits };

/** `costMs`: the processor time of the handshake. */
export type TlsReply = { costMs: number; error?: { code?: string; message: string } };

export type ThreadData = { path: string; token: string; maxKeyBits: number };

const MAX_CHAIN = 8;
// Finite fields are left out: the host would choose the size of the modulus.
const CIPHERS = "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256:ECDHE+AESGCM:ECDHE+CHACHA20:ECDHE+AES:!aNULL";
// A target has at most three certificates or keys.
const MAX_LINE_BYTES = 1_048_576;
const LINE_MS = 5_000;
// Each address of a name but the last has this time to accept. Far networks take half a second.
const ATTEMPT_MS = 1_000;
// Of sessions that may be resumed without a new exchange of certificates.
const MAX_KEPT = 500;
// The most bytes of a session that is kept. Its ticket is as long as the host likes, up to 64 kB.
const MAX_SESSION_BYTES = 8_192;
// Of certificates and keys. A context uses up to twelve times their bytes: small certificates take about 4 kB each.
const MAX_CONTEXT_BYTES = 1_048_576;
// A context without certificates.
const LEAST_CONTEXT_BYTES = 1_024;
const CONTEXT_IDLE_MS = 5 * 60_000;

const { path, token, maxKeyBits } = workerData as ThreadData;
const expectedToken = Buffer.from(token);
const sessions = new Map<string, Buffer>();
/** The least recently used one is the first. */
const contexts = new Map<string, { context: SecureContext; usedAt: number; bytes: number }>();

/** A short name: certificates and keys have many kilobytes. */
const nameOf = (parts: readonly unknown[]): string => createHash("sha256").update(JSON.stringify(parts)).digest("base64");

/** The first line, and the bytes after it, which belong to the connection. */
function readLine(local: Socket): Promise<string> {
  return new Promise((resolve, reject) => {
    let bytes = Buffer.alloc(0);
    local.setTimeout(LINE_MS, () => reject(new Error("no line")));
    local.on("error", reject).on("close", () => reject(new Error("closed")));
    local.on("readable", function read() {
      bytes = Buffer.concat([bytes, (local.read() as Buffer | null) ?? Buffer.alloc(0)]);
      const end = bytes.indexOf("\n");
      if (end === -1 && bytes.length <= MAX_LINE_BYTES) return;
      local.off("readable", read).setTimeout(0);
      if (end === -1) return reject(new Error("the line is too long"));
      if (end + 1 < bytes.length) local.unshift(bytes.subarray(end + 1));
      resolve(bytes.subarray(0, end).toString());
    });
  });
}

const isSameToken = (given: unknown): boolean => {
  const bytes = Buffer.from(String(given));
  return bytes.length === expectedToken.length && timingSafeEqual(bytes, expectedToken);
};

async function serve(local: Socket): Promise<void> {
  const target = JSON.parse(await readLine(local)) as TlsRequest;
  if (!isSameToken(target.token)) return void local.destroy();
  const reply = (message: TlsReply): boolean => local.write(`${JSON.stringify(message)}\n`);
  const closed = new AbortController();
  const abort = (): void => closed.abort();
  // The service sends nothing before it has the reply. A socket that is not read does not notice its end.
  local.on("close", abort).on("end", abort).resume();
  let metered: Metered | undefined;
  try {
    Metered.check(target.payer, target.limits);
    checkOwnKey(target);
    metered = new Metered(await connectTo(target, closed.signal), target);
    const secure = await handshake(target, metered, closed.signal);
    metered.endHandshake(secure);
    local.off("end", abort).pause();
    reply({ costMs: metered.costMs });
    secure.on("close", () => metered?.destroy());
    join(local, secure);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    reply({ costMs: metered?.costMs ?? 0, error: { message, ...(code === undefined ? {} : { code }) } });
    local.end();
    metered?.destroy();
  }
}

/** Our own key signs in each handshake. */
function checkOwnKey({ key }: TlsTarget): void {
  const bits = key === undefined ? 0 : (createPrivateKey(key).asymmetricKeyDetails?.modulusLength ?? 0);
  if (bits > maxKeyBits) throw refusal("TLS_KEY_TOO_LARGE", `the client key has ${bits} bits, ${maxKeyBits} at most`);
}

function connectTo({ host, port, addresses }: TlsTarget, closed: AbortSignal): Promise<Socket> {
  const found = addresses?.map((address) => ({ address, family: isIP(address) }));
  const [first = { address: "", family: 0 }] = found ?? [];
  return new Promise((resolve, reject) => {
    const socket = connect({
      host,
      port,
      allowHalfOpen: true,
      noDelay: true,
      autoSelectFamilyAttemptTimeout: ATTEMPT_MS,
      signal: closed,
      ...(found && {
        lookup: (_name, { all }, callback) => (all === true ? callback(null, found) : callback(null, first.address, first.family)),
      }),
    });
    socket.once("error", reject).once("connect", () => resolve(socket.off("error", reject)));
  });
}

function handshake(target: TlsTarget, metered: Metered, closed: AbortSignal): Promise<TLSSocket> {
  const { host, port, serverName, ca, cert } = target;
  // A name in a certificate does not end in a dot.
  const name = serverName ?? (isIP(host) === 0 ? host.replace(/\.$/, "") : "");
  const origin = nameOf([host, port, name, ca, cert]);
  const session = sessions.get(origin);
  return new Promise((resolve, reject) => {
    const secure = connectTls({
      socket: metered,
      host,
      secureContext: contextOf(target),
      ...(session && { session }),
      ...(name !== "" && { servername: name }),
    });
    // A ticket is for one use.
    sessions.delete(origin);
    secure.disableRenegotiation();
    secure.on("session", (next) => next.length <= MAX_SESSION_BYTES && keep(sessions, origin, next, MAX_KEPT));
    const fail = (error: Error): void => {
      secure.on("error", () => undefined).destroy();
      reject(error);
    };
    secure.once("error", fail);
    closed.addEventListener("abort", () => fail(new Error("closed")), { once: true });
    secure.once("secureConnect", () => {
      const fault = secure.isSessionReused() ? undefined : chainFault(secure.getPeerCertificate(true));
      if (fault === undefined) resolve(secure.off("error", fail));
      else fail(refusal("TLS_CERTIFICATE_TOO_LARGE", fault));
    });
  });
}

function chainFault(first: PeerCertificate): string | undefined {
  let certificate = first as PeerCertificate & { bits?: number; issuerCertificate?: PeerCertificate };
  for (let length = 1; length <= MAX_CHAIN; length += 1) {
    const { bits = 0, issuerCertificate: issuer } = certificate;
    if (bits > maxKeyBits) return `a certificate has a key of ${bits} bits, ${maxKeyBits} at most`;
    if (issuer === undefined || issuer === certificate) return undefined;
    certificate = issuer;
  }
  return `the chain has more than ${MAX_CHAIN} certificates`;
}

/** Contexts take a while to build, and most targets have the same. */
function contextOf({ ca, cert, key }: TlsTarget): SecureContext {
  const name = nameOf([ca, cert, key]);
  const pair = cert !== undefined && key !== undefined && { cert, key };
  const context =
    contexts.get(name)?.context ??
    createSecureContext({ minVersion: "TLSv1.2", ciphers: CIPHERS, ...(ca !== undefined && { ca }), ...pair });
  contexts.delete(name);
  const bytes = LEAST_CONTEXT_BYTES + (ca?.length ?? 0) + (pair === false ? 0 : pair.cert.length + pair.key.length);
  contexts.set(name, { context, usedAt: performance.now(), bytes });
  dropExcessContexts();
  return context;
}

/** Drops those that were not used for the longest time. */
function dropExcessContexts(): void {
  let excess = [...contexts.values()].reduce((sum, { bytes }) => sum + bytes, -MAX_CONTEXT_BYTES);
  for (const [name, { bytes }] of contexts) {
    if (excess <= 0) return;
    dropContext(name);
    excess -= bytes;
  }
}

/** Frees its memory, which the collection of garbage does not see and would leave for minutes. Open connections keep what they use. */
function dropContext(name: string): void {
  const { context } = contexts.get(name)?.context ?? {};
  contexts.delete(name);
  (context as { close: () => void }).close();
}

function dropIdleContexts(): void {
  for (const [name, { usedAt }] of contexts) if (usedAt < performance.now() - CONTEXT_IDLE_MS) dropContext(name);
}
setInterval(dropIdleContexts, 60_000).unref();

/** Passes the bytes on. An error on one side ends the other. */
function join(local: Socket, secure: TLSSocket): void {
  local.on("error", () => secure.destroy()).on("close", () => secure.destroy());
  secure.on("error", () => local.destroy()).on("close", () => local.end());
  local.pipe(secure).pipe(local);
}

createServer({ allowHalfOpen: true, noDelay: true }, (local) => void serve(local).catch(() => local.destroy())).listen(path, () =>
  parentPort?.postMessage("listening", []),
);
