/** A closed-loop HTTP client on raw sockets: each connection sends its next request when the last one is answered. Cheap
 *  on purpose, since it shares the machine with what it measures; its own CPU time is not counted. */
import { randomUUID } from "node:crypto";
import { connect, type Socket } from "node:net";

export type LoadOptions = {
  url: string;
  path: string;
  headers: Record<string, string>;
  connections: number;
  seconds: number;
  makeBody: () => string;
  hasKey: boolean;
};
export type LoadResult = { requests: number; seconds: number; latenciesMs: Float64Array; statuses: Map<number, number> };

export async function runLoad(options: LoadOptions): Promise<LoadResult> {
  const latencies: number[] = [];
  const statuses = new Map<number, number>();
  const startedAt = performance.now();
  const deadline = startedAt + options.seconds * 1_000;
  const onAnswer = (status: number, ms: number): void => {
    latencies.push(ms);
    statuses.set(status, (statuses.get(status) ?? 0) + 1);
  };
  await Promise.all(Array.from({ length: options.connections }, () => runConnection(options, deadline, onAnswer)));
  const seconds = (performance.now() - startedAt) / 1_000;
  return { requests: latencies.length, seconds, latenciesMs: Float64Array.from(latencies).toSorted(), statuses };
}

export const quantile = (sorted: Float64Array, q: number): number =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * q))] ?? Number.NaN;

function runConnection(
  { url, path, headers, makeBody, hasKey }: LoadOptions,
  deadline: number,
  onAnswer: (status: number, ms: number) => void,
): Promise<void> {
  const { hostname, port, host } = new URL(url);
  const fixed = `POST ${path} HTTP/1.1\r\nHost: ${host}\r\n${Object.entries(headers)
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join("")}`;
  return new Promise((resolve, reject) => {
    let sentAt = 0;
    let pending = "";
    const send = (socket: Socket): void => {
      if (performance.now() >= deadline) return void socket.end();
      const body = makeBody();
      sentAt = performance.now();
      const key = hasKey ? `Idempotency-Key: ${randomUUID()}\r\n` : "";
      socket.write(`${fixed}${key}Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`);
    };
    const socket = connect(Number(port), hostname, () => send(socket));
    socket.setNoDelay(true);
    socket.on("data", (chunk) => {
      pending = pending === "" ? chunk.toString("latin1") : pending + chunk.toString("latin1");
      const end = pending.indexOf("\r\n\r\n");
      if (end === -1) return;
      const length = Number(/content-length: (\d+)/i.exec(pending.slice(0, end))?.[1]);
      if (pending.length < end + 4 + length) return;
      onAnswer(Number(pending.slice(9, 12)), performance.now() - sentAt);
      pending = "";
      send(socket);
    });
    socket.on("error", reject);
    socket.on("close", () => resolve());
  });
}
