/** The events of the server's sockets that precede or bypass requests: connections, expectations and tunnels. */
import type { IncomingMessage, RequestListener, Server as HttpServer } from "node:http";
import type { Socket } from "node:net";
import { isLoopback } from "../lib/addresses.ts";
import type { Log } from "../model/log.ts";
import type { Intake, IntakeLimits } from "./intake.ts";
import type { Metrics } from "./metrics.ts";
import { respondToConnect } from "./responses.ts";

type SocketOptions = {
  host: string;
  tls: object | undefined;
  intake: IntakeLimits;
  metrics: Metrics;
  log: Log;
};
type Parts = { intake: Intake; awaitingContinue: WeakSet<IncomingMessage>; handle: RequestListener };

export function guardSockets(
  server: HttpServer,
  { host, tls, intake: limits, metrics, log }: SocketOptions,
  { intake, awaitingContinue, handle }: Parts,
): void {
  server.maxConnections = limits.maxConnections;
  server.on("drop", () => metrics.rejected("connections"));
  server.on("connection", (socket: Socket) => intake.connect(socket));
  // An unknown expectation may be ignored (RFC 9110 §10.1.1). Node would refuse it without a problem.
  server.on("checkExpectation", handle);
  server.on("checkContinue", (request, response) => {
    awaitingContinue.add(request);
    handle(request, response);
  });
  server.on("connect", (request, socket) => {
    const requestId = respondToConnect(request, socket, tls !== undefined);
    log.info({ request_id: requestId, method: "CONNECT" }, "unreadable request");
  });
  if (isLoopback(host) || tls !== undefined) return;
  // Without TLS on a public address, only the trusted proxies may connect.
  server.on("connection", (socket: Socket) => {
    const peer = socket.remoteAddress ?? "";
    if (intake.isProxy(peer) || isLoopback(peer)) return;
    log.warn({ event: "http.connection_refused", peer }, "connection refused: not from a trusted proxy");
    socket.destroy();
  });
}
