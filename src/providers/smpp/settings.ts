/** The settings of an SMPP link, and its time limits. */
import type { NationalLanguage } from "../../model/national-alphabets.ts";
import type { Alphabet } from "../../model/segments.ts";
import type { ReceiptIds } from "../provider.ts";
import type { AddressGate } from "../../outbound/address-gate.ts";
import type { ReceiptSettings } from "./receipt.ts";
import type { StatusSettings } from "./status.ts";
import type { TlvSettings } from "./tlvs.ts";

/** How a text that is too long for one part is sent: in parts with a user data header (with a reference of 8 or 16 bits), in parts with
 *  the three `sar_` parameters, or whole in `message_payload`. */
export type LongText = "udh8" | "udh16" | "sar" | "payload";
export const BIND_MODES = ["transceiver", "transmitter", "receiver", "pair"] as const;
export const VALIDITIES = ["relative", "absolute", "none"] as const;
/** SMPP 3.3, 3.4 and 5.0. */
export const INTERFACE_VERSIONS = [0x33, 0x34, 0x50] as const;

/** The settings with a default. */
export const SMPP_DEFAULTS = {
  /** Several addresses such as `a.example:2775`, in place of `host` and `port`. */
  hosts: [] as readonly string[],
  /** The number of binds: of transceivers, of transmitters or receivers, or of pairs. */
  binds: 1,
  tls: false,
  systemType: "",
  bindMode: "transceiver" as (typeof BIND_MODES)[number],
  /** The number of submit_sm that may wait for their responses at a time. */
  window: 10,
  /** The rate in parts, as carriers count it. Null: as fast as the window allows. */
  partsPerSecond: null as number | null,
  enquireSeconds: 30,
  responseSeconds: 45,
  /** The carrier's meaning of data_coding 0, with one character or septet in a byte. */
  alphabet: "gsm7" as Alphabet,
  longText: "udh8" as LongText,
  serviceType: "",
  registeredDelivery: 1,
  addressRange: "",
  /** Type of number and numbering plan of `addressRange`. */
  bindTon: 0,
  bindNpi: 0,
  interfaceVersion: 0x34,
  /** How long the carrier may attempt the delivery: as a duration, as a time, or as long as the carrier wants. */
  validity: "relative" as (typeof VALIDITIES)[number],
  /** The priority_flag of each priority, or of all messages. */
  priorityFlag: 0 as number | Readonly<Partial<Record<"high" | "normal" | "bulk", number>>>,
  receiptIds: "auto" as ReceiptIds,
  receiptWords: {} as ReceiptSettings["receiptWords"],
  receiptErrors: {} as ReceiptSettings["receiptErrors"],
  statusFinal: [] as StatusSettings["statusFinal"],
  statusTransient: [] as StatusSettings["statusTransient"],
  statusThrottle: [] as StatusSettings["statusThrottle"],
  tlvs: [] as TlvSettings["tlvs"],
  messageTlvs: [] as TlvSettings["messageTlvs"],
};

export type SmppSettings = Readonly<typeof SMPP_DEFAULTS> &
  TlvSettings & {
    host: string;
    port: number;
    /** The languages whose national tables may be used for texts. */
    languages?: readonly NationalLanguage[];
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
    /** Absent: by `systemId` and the addresses. */
    carrierAccount?: string;
    /** Absent: by the form of the address. */
    sourceTon?: number;
    sourceNpi?: number;
    destinationTon?: number;
    destinationNpi?: number;
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

const TIMES = {
  connectMs: 10_000,
  /** From the connection to the response to the bind. */
  bindMs: 15_000,
  enquireResponseMs: 15_000,
  firstReconnectMs: 1_000,
  maxReconnectMs: 60_000,
  /** Between two attempts when the carrier refuses the system id or the password. A person must act, and carriers lock accounts after
   *  too many attempts. */
  refusedMs: 300_000,
  /** A bind that lasted this long does not count as a failure. */
  stableMs: 30_000,
  firstPauseMs: 1_000,
  maxPauseMs: 30_000,
  /** The wait for outstanding responses before a connection is closed. */
  drainMs: 3_000,
  unbindMs: 3_000,
  /** How long the host may take to commit; less than carriers wait for a response. */
  hostMs: 20_000,
  /** How long an inbound message waits for its missing parts. */
  partsWaitMs: 600_000,
  /** How long a message waits for its turn, before its first part has left. */
  turnMs: 10_000,
  /** How long a started message may take: no more messages are started than the rate allows to finish in this time. */
  finishMs: 20_000,
};

export type SmppTimes = typeof TIMES & { enquireMs: number; responseMs: number };

export const smppTimes = ({ enquireSeconds, responseSeconds, times }: SmppSettings): SmppTimes => ({
  ...TIMES,
  enquireMs: enquireSeconds * 1_000,
  responseMs: responseSeconds * 1_000,
  ...times,
});
