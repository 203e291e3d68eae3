/** The settings of the budgets for connections and bodies. Workers divide them. */

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
  anonymousBodies: {
    flag: "anonymous-bodies",
    value: "MIB",
    env: "GODWIT_ANONYMOUS_BODIES",
    fallback: "16",
    help: "MiB for the bodies of all requests without a credential; a quarter of it for one peer. 4 to 4,096",
  },
  tenantBodies: {
    flag: "tenant-bodies",
    value: "MIB",
    env: "GODWIT_TENANT_BODIES",
    fallback: "32",
    help: "MiB for the bodies of all requests with a credential; a quarter of it for one environment. 8 to 4,096",
  },
} as const;

const MIB = 1_048_576;
// A share has room for the largest body: of a carrier, and of a batch.
const ANONYMOUS_MIB = 1;
const TENANT_MIB = 2;

type Range = { least: number; most: number; what: string };

/** The part of one of several workers, which has room for the largest bodies as well. Connections come to the workers in turn, so the
 *  limit for one peer holds for each worker. */
export const partOf = (limits: IntakeLimits, workers: number): IntakeLimits => ({
  ...limits,
  maxConnections: Math.ceil(limits.maxConnections / workers),
  anonymousBodyBytes: Math.max(limits.anonymousBodyBytes / workers, ANONYMOUS_MIB * BODY_SHARES * MIB),
  tenantBodyBytes: Math.max(limits.tenantBodyBytes / workers, TENANT_MIB * BODY_SHARES * MIB),
});

export function readIntake(readNumber: (name: keyof typeof INTAKE_SETTINGS, range: Range) => number): IntakeLimits {
  const connections = { least: 1, most: 1_000_000, what: "a number of connections" };
  const bodies = (largest: number): Range => ({ least: largest * BODY_SHARES, most: 4_096, what: "a number of MiB" });
  return {
    maxConnections: readNumber("maxConnections", connections),
    maxConnectionsPerPeer: readNumber("maxConnectionsPerPeer", connections),
    anonymousBodyBytes: readNumber("anonymousBodies", bodies(ANONYMOUS_MIB)) * MIB,
    tenantBodyBytes: readNumber("tenantBodies", bodies(TENANT_MIB)) * MIB,
  };
}
