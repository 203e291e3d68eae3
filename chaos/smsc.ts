/** A carrier with SMPP. It knows a message by the client reference in its text. Its receipts name the phone and its own id only, and go to any
 *  bind. */
import { STATUS, TLV } from "../src/providers/smpp/pdu.ts";
import { Smsc, type SmscSession, type Submit } from "../test/support/fakes/smsc.ts";
import { deliverSm, international, receiptText } from "../test/support/fakes/smsc-scripts.ts";
import { RECEIPT_LIMIT_MS, type CarrierRecords, type ReceiptStatus, type Submission } from "./carrier-records.ts";

// Ten digits, which may be decimal or hexadecimal.
const FIRST_ID = 1_000_000_000;
const STATES: Readonly<Record<ReceiptStatus, string>> = { sent: "ENROUTE", delivered: "DELIVRD", undelivered: "UNDELIV" };

export class ChaosSmsc {
  readonly #records: CarrierRecords;
  readonly #smsc: Smsc;

  private constructor(records: CarrierRecords, smsc: Smsc) {
    this.#records = records;
    this.#smsc = smsc;
    smsc.script.submit = (submit, session) =>
      // An error can only be the end of the run.
      void this.#take(submit, session).catch(() => undefined);
  }

  static async listen(records: CarrierRecords): Promise<ChaosSmsc> {
    return new ChaosSmsc(records, await Smsc.start());
  }

  get port(): number {
    return this.#smsc.port;
  }

  /** Ends all connections. Everything that the nodes have written by then still arrives. */
  endSessions(): void {
    for (const { socket } of this.#smsc.bound) socket.end();
  }

  close(): Promise<void> {
    return this.#smsc.stop();
  }

  async #take(submit: Submit, session: SmscSession): Promise<void> {
    const submission = this.#record(submit);
    if (submission.outcome === "dropped" || submission.outcome === "discarded") return;
    await this.#records.beforeResponse();
    if (submission.outcome === "refused") session.refuse(submit, STATUS.unknownError);
    else session.accept(submit, submission.sid);
  }

  #record({ short }: Submit): Submission {
    const text = (short.tlvs.get(TLV.messagePayload) ?? short.text).toString("latin1");
    const submission = this.#records.take({
      id: /^\S*/.exec(text)?.[0] ?? "",
      isNamed: false,
      sid: String(FIRST_ID + this.#records.submissions.length),
      to: `+${short.destination.text}`,
    });
    void this.#records.report(submission, (status) => this.#deliver(submission, status));
    return submission;
  }

  async #deliver({ sid, to }: Submission, status: ReceiptStatus): Promise<boolean> {
    const { random, signal } = this.#records;
    signal.throwIfAborted();
    const { bound } = this.#smsc;
    if (bound.length === 0) return false;
    const text = Buffer.from(receiptText(sid, STATES[status]), "latin1");
    const short = deliverSm({ esmClass: 0x04, source: international(to.slice(1)), text });
    const response = await random.pick(bound).request({ command: "deliver_sm", short }, RECEIPT_LIMIT_MS);
    return response?.status === STATUS.ok;
  }
}
