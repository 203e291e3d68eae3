/** The deliver_sm of receipts and inbound messages, and a script that decides the outcome of a message by its recipient. */
import { STATUS, TLV, type ShortMessage } from "../../../src/providers/smpp/pdu.ts";
import { RECIPIENTS } from "../recipient.ts";
import type { Script, SmscSession, Submit } from "./smsc.ts";

export const international = (text: string) => ({ ton: 1, npi: 1, text });

/** A deliver_sm, by default from the phone 4915112345678 to our number 14155550100. */
export const deliverSm = (fields: Partial<ShortMessage>): ShortMessage => ({
  serviceType: "",
  source: international("4915112345678"),
  destination: international("14155550100"),
  esmClass: 0,
  protocolId: 0,
  priority: 0,
  scheduledFor: "",
  validFor: "",
  registeredDelivery: 0,
  dataCoding: 0,
  text: Buffer.alloc(0),
  tlvs: new Map(),
  ...fields,
});

export const receiptText = (id: string, stat: string, err = "000"): string =>
  `id:${id} sub:001 dlvrd:001 submit date:2611151200 done date:2611151201 stat:${stat} err:${err} text:Your code is`;

/** A receipt without the address of the phone, so that it may belong to a message to anyone. */
export const receiptSm = (id: string, stat = "DELIVRD", err = "000"): ShortMessage =>
  deliverSm({ esmClass: 0x04, source: international(""), text: Buffer.from(receiptText(id, stat, err), "latin1") });

/** A receipt with optional parameters only. */
export const receiptByTlvs = (id: string, state: number): ShortMessage =>
  deliverSm({
    esmClass: 0x04,
    tlvs: new Map([
      [TLV.receiptedMessageId, Buffer.from(`${id}\0`, "latin1")],
      [TLV.messageState, Buffer.from([state])],
    ]),
  });

const RECEIPT_AFTER_MS = 20;

const acceptAndReport = (submit: Submit, session: SmscSession, stat: string, err: string): void => {
  const id = session.accept(submit);
  setTimeout(() => void session.deliverUntilAccepted(receiptSm(id, stat, err)), RECEIPT_AFTER_MS).unref();
};

/** A carrier that conforms to the protocol. */
export const byRecipient: Script = {
  submit(submit, session) {
    switch (`+${submit.short.destination.text}`) {
      case RECIPIENTS.refused:
        return session.refuse(submit, 0x0b);
      case RECIPIENTS.throttled:
        return session.refuse(submit, STATUS.throttled);
      case RECIPIENTS.unknown:
        return undefined;
      case RECIPIENTS.undelivered:
        return acceptAndReport(submit, session, "UNDELIV", "005");
      default:
        return acceptAndReport(submit, session, "DELIVRD", "000");
    }
  },
};
