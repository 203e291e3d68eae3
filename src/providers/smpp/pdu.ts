/** The PDUs of SMPP 3.4 that a client handles, and their numeric codes, by the form of their bodies. */

export const BINDS = { bind_receiver: 0x00000001, bind_transmitter: 0x00000002, bind_transceiver: 0x00000009 } as const;
export const SHORTS = { submit_sm: 0x00000004, deliver_sm: 0x00000005, data_sm: 0x00000103 } as const;
export const WITH_ID = {
  bind_receiver_resp: 0x80000001,
  bind_transmitter_resp: 0x80000002,
  bind_transceiver_resp: 0x80000009,
  submit_sm_resp: 0x80000004,
  deliver_sm_resp: 0x80000005,
  data_sm_resp: 0x80000103,
} as const;
/** Commands without a body, or with one that is not read. */
const EMPTY = {
  query_sm: 0x00000003,
  unbind: 0x00000006,
  outbind: 0x0000000b,
  enquire_link: 0x00000015,
  alert_notification: 0x00000102,
  generic_nack: 0x80000000,
  query_sm_resp: 0x80000003,
  unbind_resp: 0x80000006,
  enquire_link_resp: 0x80000015,
} as const;
export const COMMAND = { ...BINDS, ...SHORTS, ...WITH_ID, ...EMPTY } as const;
export type CommandName = keyof typeof COMMAND;

export const STATUS = {
  ok: 0x00,
  invalidLength: 0x02,
  invalidCommand: 0x03,
  bindStatus: 0x04,
  alreadyBound: 0x05,
  systemError: 0x08,
  bindFailed: 0x0d,
  invalidPassword: 0x0e,
  invalidSystemId: 0x0f,
  queueFull: 0x14,
  throttled: 0x58,
  temporaryError: 0x64,
  unknownError: 0xff,
} as const;

/** Optional parameters by tag. */
export type Tlvs = ReadonlyMap<number, Buffer>;

export const TLV = {
  receiptedMessageId: 0x001e,
  sarReference: 0x020c,
  sarTotal: 0x020e,
  sarNumber: 0x020f,
  networkError: 0x0423,
  messagePayload: 0x0424,
  messageState: 0x0427,
} as const;

/** An address with its type of number and numbering plan. */
export type Address = { ton: number; npi: number; text: string };

/** `range` is the range of addresses whose messages the client wants. */
export type BindFields = { systemId: string; password: string; systemType: string; interfaceVersion: number; range: Address };

/** The common fields of submit_sm, deliver_sm and data_sm. A data_sm has its text in a TLV. */
export type ShortMessage = {
  serviceType: string;
  source: Address;
  destination: Address;
  esmClass: number;
  protocolId: number;
  priority: number;
  scheduledFor: string;
  validFor: string;
  registeredDelivery: number;
  dataCoding: number;
  text: Buffer;
  tlvs: Tlvs;
};

export type Body =
  | { command: keyof typeof BINDS; bind: BindFields }
  | { command: keyof typeof SHORTS; short: ShortMessage }
  | { command: keyof typeof WITH_ID; id: string }
  | { command: keyof typeof EMPTY };

export type Pdu = Body & { status: number; sequence: number };

/** A PDU that cannot be read, with its header, which the response needs. */
export type Malformed = { command: "malformed"; commandId: number; status: number; sequence: number; reason: string };

export const HEADER_BYTES = 16;
/** Far more than any valid PDU needs: an optional parameter has at most 65,535 bytes. */
export const MAX_PDU_BYTES = 131_072;

export const isResponse = (commandId: number): boolean => commandId >= 0x80000000;

/** Sequence numbers go from one to this, and start again. */
export const MAX_SEQUENCE = 0x7fffffff;
