/** The PDUs of SMPP 3.4 that a client handles, and their numeric codes. */

export const COMMAND = {
  bind_receiver: 0x00000001,
  bind_transmitter: 0x00000002,
  query_sm: 0x00000003,
  submit_sm: 0x00000004,
  deliver_sm: 0x00000005,
  unbind: 0x00000006,
  bind_transceiver: 0x00000009,
  outbind: 0x0000000b,
  enquire_link: 0x00000015,
  alert_notification: 0x00000102,
  data_sm: 0x00000103,
  generic_nack: 0x80000000,
  bind_receiver_resp: 0x80000001,
  bind_transmitter_resp: 0x80000002,
  query_sm_resp: 0x80000003,
  submit_sm_resp: 0x80000004,
  deliver_sm_resp: 0x80000005,
  unbind_resp: 0x80000006,
  bind_transceiver_resp: 0x80000009,
  enquire_link_resp: 0x80000015,
  data_sm_resp: 0x80000103,
} as const;
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
  | { command: "bind_receiver" | "bind_transmitter" | "bind_transceiver"; bind: BindFields }
  | { command: "submit_sm" | "deliver_sm" | "data_sm"; short: ShortMessage }
  | {
      command:
        | "bind_receiver_resp"
        | "bind_transmitter_resp"
        | "bind_transceiver_resp"
        | "submit_sm_resp"
        | "deliver_sm_resp"
        | "data_sm_resp";
      id: string;
    }
  | {
      command:
        | "unbind"
        | "unbind_resp"
        | "enquire_link"
        | "enquire_link_resp"
        | "generic_nack"
        | "outbind"
        | "alert_notification"
        | "query_sm"
        | "query_sm_resp";
    };

export type Pdu = Body & { status: number; sequence: number };

/** A PDU that cannot be read, with its header, which the response needs. */
export type Malformed = { command: "malformed"; commandId: number; status: number; sequence: number; reason: string };

export const HEADER_BYTES = 16;
/** Far more than any valid PDU needs: an optional parameter has at most 65,535 bytes. */
export const MAX_PDU_BYTES = 131_072;

export const isResponse = (commandId: number): boolean => commandId >= 0x80000000;

/** Sequence numbers go from one to this, and start again. */
export const MAX_SEQUENCE = 0x7fffffff;
