/** Any carrier with an HTTP API, by a definition in the configuration file: a request for each message, and callbacks for receipts and
 *  inbound messages. */
import type { LookupFunction } from "node:net";
import { segmentsOf } from "../../model/segments.ts";
import { testConnection } from "../connection-test.ts";
import { HttpLink, type Reconnect } from "../http-link.ts";
import type { Connection, LeasedHost, Provider } from "../provider.ts";
import { handleCallback, MAX_CALLBACK_BYTES } from "./callback.ts";
import { carrierOf, type ConfiguredCarrier } from "./carrier.ts";
import { startPolling } from "./poll.ts";

export type HttpSettings = ConfiguredCarrier & {
  /** The carrier's origin. */
  baseUrl: string;
  partsPerSecond: number;
  window: number;
  timeoutMs?: number;
  reconnect?: Reconnect;
  /** Looks up the carrier's address, if the owner of the link may not connect to every network. */
  lookup?: LookupFunction | undefined;
};

// A longer text is refused by every carrier, and must not delay the link for minutes.
const MAX_PARTS = 24;

export const http: Provider<HttpSettings> = {
  name: "http",
  // The rate belongs to the account, so all nodes share it.
  isExclusive: true,
  requestMethods: ["GET", "POST"],
  maxRequestBytes: MAX_CALLBACK_BYTES,
  handleRequest: handleCallback,
  test: testConnection,
  async open(settings, host: LeasedHost) {
    const { requests, responses, poll, parseReports } = carrierOf(settings);
    const link = new HttpLink(
      {
        name: "http",
        baseUrl: requests.baseUrl,
        window: settings.window,
        perSecond: settings.partsPerSecond,
        timeoutMs: settings.timeoutMs,
        reconnect: settings.reconnect,
        lookup: settings.lookup,
        toRequest: (message) => requests.toRequest(message, host.now()),
        sizeOf: ({ body }) => Math.min(MAX_PARTS, segmentsOf(body).count),
        interpret: responses.interpret,
      },
      host,
    );
    return poll === undefined ? link : withPolling(link, startPolling(poll, { parseReports, host, lookup: settings.lookup }));
  },
};

/** The link, which ends the polling with itself. */
const withPolling = (link: HttpLink, stopPolling: () => Promise<void>): Connection => ({
  get state() {
    return link.state;
  },
  get window() {
    return link.window;
  },
  get isReady() {
    return link.isReady;
  },
  send: (message, signal, begin) => link.send(message, signal, begin),
  async close() {
    await Promise.all([stopPolling(), link.close()]);
  },
});
