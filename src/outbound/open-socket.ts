/** Opens a TCP or TLS connection, with a limit of time. */
import { isIP, type LookupFunction, type Socket } from "node:net";
import { hostOf } from "../lib/addresses.ts";
import type { AddressGate } from "./address-gate.ts";
import { timedOut } from "./failure.ts";
import { connectPiecewise } from "./piecewise.ts";
import { TlsThreads } from "./tls-threads.ts";

export type SocketTarget = {
  host: string;
  port: number;
  isTls: boolean;
  /** The name in the certificate, if it is not the host. */
  serverName?: string | null | undefined;
  /** A certificate in PEM to trust in place of the well-known ones. */
  ca?: string | null | undefined;
  /** Our own certificate, and its key. */
  cert?: string | null | undefined;
  key?: string | null | undefined;
  /** The addresses that may be connected to; undefined for all. */
  gate?: AddressGate | undefined;
  /** The most bytes that one turn of the event loop reads; undefined for those of HTTP. */
  pieceBytes?: number | undefined;
};

export function targetOf(url: URL): SocketTarget {
  const isTls = url.protocol === "https:";
  return { host: hostOf(url), port: url.port === "" ? (isTls ? 443 : 80) : Number(url.port), isTls };
}

const tlsThreads = new TlsThreads();

// Each address of a name but the last has this time to accept. Far networks take half a second.
const ATTEMPT_MS = 1_000;

/** Resolves with the connected socket, or with the failure. Never rejects. The limit includes the look-up of the name. */
export async function openSocket(target: SocketTarget, limitMs: number, stop?: AbortSignal): Promise<Socket | Error> {
  const ended = new AbortController();
  const abort = (): void => ended.abort(new Error("stopped"));
  const timer = setTimeout(() => ended.abort(timedOut(`no connection within ${limitMs / 1_000} s`)), limitMs);
  stop?.addEventListener("abort", abort, { once: true });
  if (stop?.aborted === true) abort();
  try {
    return await connectTo(target, ended.signal);
  } catch (error) {
    return error as Error;
  } finally {
    clearTimeout(timer);
    stop?.removeEventListener("abort", abort);
  }
}

async function connectTo(target: SocketTarget, signal: AbortSignal): Promise<Socket> {
  const { host, port, isTls, gate, serverName, ca, cert, key, pieceBytes } = target;
  const aborted = new Promise<never>((_, reject) => signal.addEventListener("abort", () => reject(signal.reason as Error)));
  aborted.catch(() => undefined);
  signal.throwIfAborted();
  const addresses = await Promise.race([gate?.addressesOf(host, isTls), aborted]);
  if (!isTls) return connectPlain(target, addresses, signal);
  const known = { host, port, ...(addresses && { addresses }), ...(serverName && { serverName }), ...(ca && { ca }) };
  // The thread may still be starting.
  return Promise.race([tlsThreads.open({ ...known, ...(cert && key ? { cert, key } : {}) }, signal, pieceBytes), aborted]);
}

function connectPlain(target: SocketTarget, addresses: readonly string[] | undefined, signal: AbortSignal): Promise<Socket> {
  const { host, port, pieceBytes } = target;
  const lookup = addresses && lookUpIn(addresses);
  const options = { host, port, noDelay: true, autoSelectFamilyAttemptTimeout: ATTEMPT_MS, ...(lookup && { lookup }) };
  const socket = connectPiecewise(options, pieceBytes);
  return new Promise((resolve, reject) => {
    const settle = (act: () => void): void => {
      signal.removeEventListener("abort", abort);
      socket.off("error", fail);
      act();
    };
    const fail = (error: Error): void =>
      settle(() => {
        socket.on("error", () => undefined).destroy();
        reject(error);
      });
    const abort = (): void => fail(signal.reason as Error);
    signal.addEventListener("abort", abort, { once: true });
    socket.once("error", fail);
    socket.once("connect", () => settle(() => resolve(socket)));
  });
}

/** A look-up that returns these addresses. */
const lookUpIn = (addresses: readonly string[]): LookupFunction => {
  const found = addresses.map((address) => ({ address, family: isIP(address) }));
  const [first = { address: "", family: 0 }] = found;
  return (_name, { all }, callback) => (all === true ? callback(null, found) : callback(null, first.address, first.family));
};

/** Connects, and sends nothing. Resolves with the failure, if there is one. */
export async function reach(target: SocketTarget, limitMs: number): Promise<Error | undefined> {
  const socket = await openSocket(target, limitMs);
  if (socket instanceof Error) return socket;
  socket.on("error", () => undefined).destroy();
  return undefined;
}
