/** The settings of an SMPP link, and its time limits. */
import type { Alphabet } from "../../model/segments.ts";
import type { ReceiptIds } from "../provider.ts";
import type { AddressGate } from "../../outbound/address-gate.ts";
import type { StatusSettings } from "./status.ts";
import type { TlvSettings } from "./tlvs.ts";

/** How a text that is too long for one part is sent: in parts with a user data header (with a reference of 8 or 16 bits), in parts with
 *  the three `sar_` parameters, or whole in `message_payload`. */
export type LongText = "udh8" | "udh16" | "sar" | "payload";
export const BIND_MODES = ["transceiver", "transmitter", "receiver", "pair"] as const;
export const VALIDITIES = ["relative", "absolute", "none"] as const;
/** SMPP 3.3, 3.4 and 5.0. */
export const INTERFACE_VERSIONS = [0x33, 0x34, 0x50] as const;

export type SmppSettings = StatusSettings &
  TlvSettings & {
    host: string;
    port: number;
    /** Several addresses such as `a.example:2775`, in place of `host` and `port`. */
    hosts: readonly string[];
    /** The number of binds: of transceivers, of transmitters or receivers, or of pairs. */
    binds: number;
    tls: boolean;
    /** The name in the carrier's certificate, if it is not the host. */
    tlsServerName?: string;
    /** A certificate in PEM to trust in place of the well-known ones. */
    tlsCa?: string;
    /** The client's certificate and its private key, in PEM. */
    tlsCert?: string;
    tlsKey?: string;
    /** The addresses that the owner of the link may connect to; undefined for all. */
    gate?: AddressGate | undefined;
    systemId: string;
    password: string;
    systemType: string;
    bindMode: (typeof BIND_MODES)[number];
    /** The number of submit_sm that may wait for their responses at a time. */
    window: number;
    /** The rate in parts, as carriers count it. Null: as fast as the window allows. */
    partsPerSecond: number | null;
    enquireSeconds: number;
    responseSeconds: number;
    /** The carrier's meaning of data_coding 0, with one character or septet in a byte. */
    alphabet: Alphabet;
    longText: LongText;
    /** Absent: by the form of the address. */
    sourceTon?: number;
    sourceNpi?: number;
    destinationTon?: number;
    destinationNpi?: number;
    serviceType: string;
    registeredDelivery: number;
    addressRange: string;
    /** Type of number and numbering plan of `addressRange`. */
    bindTon: number;
    bindNpi: number;
    interfaceVersion: number;
    /** How long the carrier may attempt the delivery: as a duration, as a time, or as long as the carrier wants. */
    validity: (typeof VALIDITIES)[number];
    /** The priority_flag of each priority, or of all messages. */
    priorityFlag: number | Readonly<Partial<Record<"high" | "normal" | "bulk", number>>>;
    receiptIds: ReceiptIds;
    /** Shorter times for tests. */
    times?: Partial<SmppTimes>;
  };

export type SmscAddress = { host: string; port: number };

/** The addresses of the carrier, in the order in which they are tried. */
export function smscAddresses({ hosts, host, port }: Pick<SmppSettings, "hosts" | "host" | "port">): SmscAddress[] {
  if (hosts.length === 0) return [{ host, port }];
  return hosts.map((each) => {
    const colon = each.lastIndexOf(":");
    return { host: each.slice(0, colon).replaceAll(/[[\]]/g, ""), port: Number(each.slice(colon + 1)) };
  });
}

/** The defaults. The address, the account and optional settings have none. */
export const SMPP_DEFAULTS = {
  hosts: [],
  binds: 1,
  tls: false,
  systemType: "",
  bindMode: "transceiver",
  window: 10,
  partsPerSecond: null,
  enquireSeconds: 30,
  responseSeconds: 45,
  alphabet: "gsm7",
  longText: "udh8",
  serviceType: "",
  registeredDelivery: 1,
  addressRange: "",
  bindTon: 0,
  bindNpi: 0,
  interfaceVersion: 0x34,
  validity: "relative",
  priorityFlag: 0,
  receiptIds: "auto",
  statusFinal: [],
  statusTransient: [],
  statusThrottle: [],
  tlvs: [],
  messageTlvs: [],
} as const satisfies Partial<SmppSettings>;

export type SmppTimes = {
  connectMs: number;
  /** From the connection to the response to the bind. */
  bindMs: number;
  enquireMs: number;
  enquireResponseMs: number;
  responseMs: number;
  firstReconnectMs: number;
  maxReconnectMs: number;
  /** Between two attempts when the carrier refuses the system id or the password. A person must act, and carriers lock accounts after
   *  too many attempts. */
  refusedMs: number;
  /** A bind that lasted this long does not count as a failure. */
  stableMs: number;
  firstPauseMs: number;
  maxPauseMs: number;
  /** The wait for outstanding responses before a connection is closed. */
  drainMs: number;
  unbindMs: number;
  /** How long the host may take to commit; less than carriers wait for a response. */
  hostMs: number;
  /** How long an inbound part waits for the others before it is acknowledged. */
  partAckMs: number;
  /** How long a message waits for its missing parts. */
  partsWaitMs: number;
  /** How long a message waits for its turn, before its first part has left. */
  turnMs: number;
  /** How long a started message may take: no more messages are started than the rate allows to finish in this time. */
  finishMs: number;
};

export const smppTimes = ({ enquireSeconds, responseSeconds, times }: SmppSettings): SmppTimes => ({
  connectMs: 10_000,
  bindMs: 15_000,
  enquireMs: enquireSeconds * 1_000,
  enquireResponseMs: 15_000,
  responseMs: responseSeconds * 1_000,
  firstReconnectMs: 1_000,
  maxReconnectMs: 60_000,
  refusedMs: 300_000,
  stableMs: 30_000,
  firstPauseMs: 1_000,
  maxPauseMs: 30_000,
  drainMs: 3_000,
  unbindMs: 3_000,
  hostMs: 20_000,
  partAckMs: 1_000,
  partsWaitMs: 600_000,
  turnMs: 10_000,
  finishMs: 20_000,
  ...times,
});
