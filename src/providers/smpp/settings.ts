/** What a link is told about its carrier, and how long it waits for what. */

/** What data_coding 0 means at the other end: GSM 03.38 a septet a byte, Latin-1, or IA5. */
export type Alphabet = "gsm7" | "latin1" | "ascii";
/** How a text that is too long for one part travels: with a header of ours (an 8 or a 16 bit reference), with the three `sar_`
 *  parameters, or whole in `message_payload`. */
export type LongText = "udh8" | "udh16" | "sar" | "payload";
/** How a carrier writes an id in a receipt, against how it wrote it in its answer. */
export type ReceiptIds = "learn" | "same" | "decimal" | "hex";

export type SmppSettings = {
  host: string;
  port: number;
  tls: boolean;
  /** The name in the carrier's certificate, where that is not the host. */
  tlsServerName?: string | null;
  /** A certificate in PEM to trust in place of the well-known ones. */
  tlsCa?: string | null;
  systemId: string;
  password: string;
  systemType: string;
  bindMode: "transceiver" | "pair";
  /** submit_sm without an answer at one time. */
  window: number;
  /** Parts, not messages: so do carriers count. Null: as fast as the window allows. */
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
  /** `learn` unless given. `decimal`: answers are in hexadecimal, receipts in decimal; `hex` is the opposite. */
  receiptIds?: ReceiptIds;
  /** For tests, which do not wait. */
  times?: Partial<SmppTimes>;
};

/** What a link has when nobody says otherwise; the address and the account have no default. */
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
  /** From the connection to the answer to the bind. */
  bindMs: number;
  enquireMs: number;
  enquireAnswerMs: number;
  responseMs: number;
  firstReconnectMs: number;
  maxReconnectMs: number;
  /** Between two tries when the carrier refuses our name or password: it is for people to mend, and carriers lock accounts that
   *  knock too often. */
  refusedMs: number;
  /** A bind that lasted so long was no failure. */
  stableMs: number;
  firstPauseMs: number;
  maxPauseMs: number;
  /** For answers that are still to come when a connection is to end. */
  drainMs: number;
  unbindMs: number;
  /** How long the host may take to commit; less than carriers wait for an answer. */
  hostMs: number;
  /** How long an inbound part waits for the others before it is acknowledged. */
  partAckMs: number;
  /** How long a message of which parts are missing waits for them. */
  partsWaitMs: number;
  /** How long a message waits for its turn, before anything of it has left. */
  turnMs: number;
  /** What has begun has so long to end: no more is begun than the rate lets through in this time. */
  begunMs: number;
};

export const timesOf = ({ enquireSeconds, responseSeconds, times }: SmppSettings): SmppTimes => ({
  connectMs: 10_000,
  bindMs: 15_000,
  enquireMs: enquireSeconds * 1_000,
  enquireAnswerMs: 15_000,
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
  begunMs: 20_000,
  ...times,
});
