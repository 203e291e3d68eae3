/** A closed-loop HTTP client on raw sockets: each connection sends its next request after the response to the last one. It is
 *  deliberately cheap, because it shares the machine with the measured service; its own CPU time does not count. */
import { randomUUID } from "node:crypto";
import { connect, type Socket } from "node:net";

export type LoadOptions = {
  url: string;
  path: string;
  headers: Record<string, string>;
  connections: number;
  seconds: number;
  makeBody: () => string;
  /** The path and the query of a GET, in place of a POST with a body. */
  makeTarget?: (() => string) | undefined;
  hasKey: boolean;
  keyHeader?: string | undefined;
  /** The time from the start of a request to that of the next one on its connection; 0: at once after the response. */
  pauseMs?: number;
  /** The local addresses of the connections, in turn; one address by default. */
  addresses?: readonly string[];
};
export type LoadResult = { requests: number; seconds: number; latenciesMs: Float64Array; statuses: Map<number, number> };

export async function runLoad(options: LoadOptions): Promise<LoadResult> {
  const latencies: number[] = [];
  const statuses = new Map<number, number>();
  const startedAt = performance.now();
  const deadline = startedAt + options.seconds * 1_000;
  const { host } = new URL(options.url);
  const lines = Object.entries(options.headers).map(([name, value]) => `${name}: ${value}\r\n`);
  const head = ` HTTP/1.1\r\nHost: ${host}\r\n${lines.join("")}`;
  const fixed = `POST ${options.path}${head}`;
  const next = (): Exchange | undefined => {
    const sentAt = performance.now();
    if (sentAt >= deadline) return undefined;
    const key = options.hasKey ? `${options.keyHeader ?? "Idempotency-Key"}: ${randomUUID()}\r\n` : "";
    const body = options.makeTarget === undefined ? options.makeBody() : "";
    return {
      request:
        options.makeTarget === undefined
          ? `${fixed}${key}Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`
          : `GET ${options.makeTarget()}${head}${key}\r\n`,
      onResponse: (status) => {
        latencies.push(performance.now() - sentAt);
        statuses.set(status, (statuses.get(status) ?? 0) + 1);
      },
    };
  };
  const { connections, url, pauseMs, addresses = [] } = options;
  const open = (index: number): Promise<void> => runConnection(url, next, pauseMs, addresses[index % addresses.length]);
  await Promise.all(Array.from({ length: connections }, (_, index) => open(index)));
  const seconds = (performance.now() - startedAt) / 1_000;
  return { requests: latencies.length, seconds, latenciesMs: Float64Array.from(latencies).toSorted(), statuses };
}

export const quantile = (sorted: Float64Array, q: number): number =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * q))] ?? Number.NaN;

/** The text of a request, and a callback for the status of its response. */
export type Exchange = { request: string; onResponse: (status: number) => void };

/** Runs one connection until there is no next request. Requests start at least `pauseMs` after each other. */
export function runConnection(url: string, next: () => Exchange | undefined, pauseMs = 0, localAddress?: string): Promise<void> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve, reject) => {
    let pending = "";
    let current: Exchange | undefined;
    let sentAt = 0;
    const send = (socket: Socket): void => {
      sentAt = performance.now();
      current = next();
      if (current === undefined) socket.end();
      else socket.write(current.request);
    };
    const socket = connect({ port: Number(port), host: hostname, ...(localAddress === undefined ? {} : { localAddress }) }, () =>
      send(socket),
    );
    socket.setNoDelay(true);
    socket.on("data", (chunk) => {
      pending = pending === "" ? chunk.toString("latin1") : pending + chunk.toString("latin1");
      const end = pending.indexOf("\r\n\r\n");
      if (end === -1) return;
      const length = Number(/content-length: (\d+)/i.exec(pending.slice(0, end))?.[1]);
      if (pending.length < end + 4 + length) return;
      const status = Number(pending.slice(9, 12));
      pending = "";
      current?.onResponse(status);
      const waitMs = sentAt + pauseMs - performance.now();
      if (waitMs > 0) setTimeout(send, waitMs, socket);
      else send(socket);
    });
    socket.on("error", reject);
    socket.on("close", () => resolve());
  });
}
