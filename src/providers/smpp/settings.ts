/** The settings of an SMPP link, and its time limits. */

/** The carrier's meaning of data_coding 0: GSM 03.38 with one septet in a byte, Latin-1, or IA5. */
export type Alphabet = "gsm7" | "latin1" | "ascii";
/** How a text that is too long for one part is sent: in parts with a user data header (with a reference of 8 or 16 bits), in parts with
 *  the three `sar_` parameters, or whole in `message_payload`. */
export type LongText = "udh8" | "udh16" | "sar" | "payload";
/** The form of a carrier id in a receipt, relative to its form in the response. */
export type ReceiptIds = "learn" | "same" | "decimal" | "hex";

export type SmppSettings = {
  host: string;
  port: number;
  tls: boolean;
  /** The name in the carrier's certificate, if it is not the host. */
  tlsServerName?: string | null;
  /** A certificate in PEM to trust in place of the well-known ones. */
  tlsCa?: string | null;
  systemId: string;
  password: string;
  systemType: string;
  bindMode: "transceiver" | "pair";
  /** The number of submit_sm that may wait for their responses at a time. */
  window: number;
  /** The rate in parts, as carriers count it. Null: as fast as the window allows. */
  partsPerSecond: number | null;
  enquireSeconds: number;
  responseSeconds: number;
  alphabet: Alphabet;
  longText: LongText;
  /** Null: by the form of the address. */
  sourceTon: number | null;
  sourceNpi: number | null;
  destinationTon: number | null;
  destinationNpi: number | null;
  serviceType: string;
  registeredDelivery: number;
  addressRange: string;
  /** The default is `learn`. `decimal`: responses are in hexadecimal, receipts in decimal; `hex` is the opposite. */
  receiptIds?: ReceiptIds;
  /** Shorter times for tests. */
  times?: Partial<SmppTimes>;
};

/** The defaults. The address and the account have none. */
export const SMPP_DEFAULTS = {
  tls: false,
  tlsServerName: null,
  tlsCa: null,
  systemType: "",
  bindMode: "transceiver",
  window: 10,
  partsPerSecond: null,
  enquireSeconds: 30,
  responseSeconds: 45,
  alphabet: "gsm7",
  longText: "udh8",
  sourceTon: null,
  sourceNpi: null,
  destinationTon: null,
  destinationNpi: null,
  serviceType: "",
  registeredDelivery: 1,
  addressRange: "",
  receiptIds: "learn",
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
