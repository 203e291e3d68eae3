/** The proxies that this server trusts to name the client: its address, and the origin that it used. */
import type { IncomingMessage } from "node:http";
import { all, compile } from "@fastify/proxy-addr";

export type ProxyTrust = {
  /** The address of the client: that of the connection, or the one that trusted proxies name. */
  addressOf(request: IncomingMessage): string;
  /** The last value of a forwarding header, if the connection is that of a trusted proxy: the others may be those of a client. */
  forwarded(request: IncomingMessage, header: "x-forwarded-proto" | "x-forwarded-host"): string | undefined;
};

const NO_PROXY: ProxyTrust = {
  addressOf: ({ socket }) => socket.remoteAddress ?? "",
  forwarded: () => undefined,
};

/** `proxies`: addresses and CIDR blocks. */
export function trustProxies(proxies: readonly string[]): ProxyTrust {
  if (proxies.length === 0) return NO_PROXY;
  const isTrusted = compile([...proxies]);
  return {
    addressOf: (request) => all(request, isTrusted).at(-1) ?? "",
    forwarded: ({ headers, socket }, header) => {
      const value = headers[header];
      if (typeof value !== "string" || value === "" || !isTrusted(socket.remoteAddress ?? "", 0)) return undefined;
      return value.slice(value.lastIndexOf(",") + 1).trim();
    },
  };
}
