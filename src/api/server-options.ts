/** The options of the HTTP server. */
import type { Authenticator } from "../access/authenticate.ts";
import type { Limiter } from "../access/limiter.ts";
import type { AddressSet } from "../lib/addresses.ts";
import type { SecretBox } from "../lib/secret-box.ts";
import type { Log } from "../model/log.ts";
import type { Tracing } from "../tracing/tracing.ts";
import type { AccountTurns } from "./admit.ts";
import type { IntakeLimits } from "./intake.ts";
import type { Metrics } from "./metrics.ts";
import type { Page } from "./page.ts";
import type { Reports } from "./requests.ts";
import type { Route } from "./route.ts";
import type { ResponseLimits } from "./unread-responses.ts";

export type ServerOptions = {
  host: string;
  port: number;
  /** The number of processes that share the port. */
  workers: number;
  tls: { cert: Buffer; key: Buffer } | undefined;
  trustedProxies: readonly string[];
  /** The base paths of host names whose paths leave them out. */
  basePaths?: ReadonlyMap<string, string>;
  /** The addresses that can read the metrics, also beside trusted proxies. */
  metricsAllow: AddressSet;
  requestTimeoutMs: number;
  responseStallMs: number;
  failureDelayMs: number;
  intake: IntakeLimits;
  responses: ResponseLimits;
  routes: readonly Route[];
  /** The paths that need no credential: health, metrics, documents. */
  pages: readonly Page[];
  authenticator: Authenticator;
  limiter: Limiter;
  /** Makes the keyed hashes of idempotency keys. */
  box: SecretBox;
  turns: AccountTurns;
  metrics: Metrics;
  log: Log;
  tracing?: Tracing | undefined;
  reports: Reports;
  /** The service is about to stop, and still serves: its clients are asked to leave. */
  isDraining: () => boolean;
};
