/** Any carrier with an HTTP API, by a definition in the configuration file: a request for each message, and callbacks for receipts and
 *  inbound messages. */
import { segmentsOf } from "../../model/segments.ts";
import { testConnection } from "../connection-test.ts";
import { HttpLink, type HttpLinkSettings } from "../http-link.ts";
import type { LeasedHost, Provider } from "../provider.ts";
import { handleCallback, MAX_CALLBACK_BYTES } from "./callback.ts";
import { carrierOf, type ConfiguredCarrier } from "./carrier.ts";
import { startPolling } from "./poll.ts";

export type HttpSettings = ConfiguredCarrier &
  HttpLinkSettings & {
    /** The carrier's origin. */
    baseUrl: string;
    partsPerSecond: number;
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
    const { requests, tokens, responses, poll, parseReports } = carrierOf(settings);
    return new HttpLink(
      {
        name: "http",
        origin: requests.baseUrl,
        perSecond: settings.partsPerSecond,
        settings,
        credentials: tokens?.forLink(settings),
        toRequest: (message) => requests.toRequest(message, host.now()),
        sizeOf: ({ body }) => Math.min(MAX_PARTS, segmentsOf(body).count),
        interpret: responses.interpret,
        stop: poll && startPolling(poll, { parseReports, host, gate: settings.gate }),
      },
      host,
    );
  },
};
