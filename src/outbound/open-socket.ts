/** Opens a TCP or TLS connection, with a limit of time. */
import { connect as connectPlain, isIP, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import { hostOf } from "../lib/addresses.ts";
import type { AddressGate } from "./address-gate.ts";
import { timedOut } from "./failure.ts";

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
};

export function targetOf(url: URL): SocketTarget {
  const isTls = url.protocol === "https:";
  return { host: hostOf(url), port: url.port === "" ? (isTls ? 443 : 80) : Number(url.port), isTls };
}

/** Resolves with the connected socket, or with the failure. Never rejects. */
export function openSocket(target: SocketTarget, limitMs: number, stop?: AbortSignal): Promise<Socket | Error> {
  const { host, port, isTls, gate } = target;
  const refusal = stop?.aborted === true ? new Error("stopped") : gate?.addressFailure(host, isTls);
  if (refusal !== undefined) return Promise.resolve(refusal);
  const at = { host, port, ...(gate === undefined ? {} : { lookup: gate.lookup(isTls) }) };
  const socket = isTls ? connectTls({ ...at, ...tlsOptions(target) }) : connectPlain(at);
  return new Promise((resolve) => {
    const settle = (outcome: Socket | Error): void => {
      clearTimeout(timer);
      stop?.removeEventListener("abort", abort);
      socket.removeAllListeners("error");
      if (outcome instanceof Error) socket.on("error", () => undefined).destroy();
      resolve(outcome);
    };
    const abort = (): void => settle(new Error("stopped"));
    const timer = setTimeout(() => settle(timedOut(`no connection within ${limitMs / 1_000} s`)), limitMs);
    stop?.addEventListener("abort", abort, { once: true });
    socket.once("error", settle);
    socket.once(isTls ? "secureConnect" : "connect", () => settle(socket.setNoDelay(true)));
  });
}

function tlsOptions({ host, serverName, ca, cert, key }: SocketTarget) {
  // A name in a certificate does not end in a dot.
  const name = serverName || (isIP(host) === 0 ? host.replace(/\.$/, "") : "");
  return { ...(name === "" ? {} : { servername: name }), ...(ca ? { ca } : {}), ...(cert && key ? { cert, key } : {}) };
}

/** Connects, and sends nothing. Resolves with the failure, if there is one. */
export async function reach(target: SocketTarget, limitMs: number): Promise<Error | undefined> {
  const socket = await openSocket(target, limitMs);
  if (socket instanceof Error) return socket;
  socket.on("error", () => undefined).destroy();
  return undefined;
}
