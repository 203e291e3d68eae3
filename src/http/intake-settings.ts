/** The budgets for connections, which are settings, and for bodies. Workers divide them. */

export type IntakeLimits = {
  /** Connections of all peers. */
  maxConnections: number;
  /** Connections of one peer, and its requests that have not arrived completely or have no credential. */
  maxConnectionsPerPeer: number;
  /** Bytes of the bodies of requests without a credential. */
  anonymousBodyBytes: number;
  /** Bytes of the bodies of requests with a credential. */
  tenantBodyBytes: number;
};

/** The part of the bytes that one peer, or one environment, can take is the whole divided by this. */
export const BODY_SHARES = 4;

export const INTAKE_SETTINGS = {
  maxConnections: {
    flag: "max-connections",
    value: "COUNT",
    env: "GODWIT_MAX_CONNECTIONS",
    fallback: "10000",
    help: "open connections of all workers together, 1 to 1,000,000",
  },
  maxConnectionsPerPeer: {
    flag: "max-connections-per-peer",
    value: "COUNT",
    env: "GODWIT_MAX_CONNECTIONS_PER_PEER",
    fallback: "500",
    help: "connections, and incomplete requests, of one IPv4 address or IPv6 /64, in each worker, 1 to 1,000,000. For trusted proxies, only requests count, by the forwarded address",
  },
} as const;

type Range = { least: number; most: number; what: string };

const MIB = 1_048_576;
// A share has room for the largest body: of a carrier, and of a batch.
const LEAST = { anonymousBodyBytes: BODY_SHARES * MIB, tenantBodyBytes: 2 * BODY_SHARES * MIB };
// Four shares of four bodies each. No load that a node can serve needs more at a time, and the memory of a small machine has room for it.
const BODIES = { anonymousBodyBytes: 4 * LEAST.anonymousBodyBytes, tenantBodyBytes: 4 * LEAST.tenantBodyBytes };

/** The part of one of several workers, which has room for the largest bodies as well. Connections come to the workers in turn, so the
 *  limit for one peer holds for each worker. */
export const partOf = (limits: IntakeLimits, workers: number): IntakeLimits => ({
  ...limits,
  maxConnections: Math.ceil(limits.maxConnections / workers),
  anonymousBodyBytes: Math.max(limits.anonymousBodyBytes / workers, LEAST.anonymousBodyBytes),
  tenantBodyBytes: Math.max(limits.tenantBodyBytes / workers, LEAST.tenantBodyBytes),
});

export function readIntake(readNumber: (name: keyof typeof INTAKE_SETTINGS, range: Range) => number): IntakeLimits {
  const connections = { least: 1, most: 1_000_000, what: "a number of connections" };
  return {
    maxConnections: readNumber("maxConnections", connections),
    maxConnectionsPerPeer: readNumber("maxConnectionsPerPeer", connections),
    ...BODIES,
  };
}
