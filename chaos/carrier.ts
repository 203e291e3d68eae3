/** A carrier with the HTTP API of Twilio. It records every message with its time, and reports the fate of every message it took by signed
 *  receipts, which it repeats until a node has acknowledged them. */
import { createHmac } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import type { Random } from "./random.ts";

/** `dropped`: the carrier took the message, and closed the connection without a response. */
export type Submission = { id: string; sid: string; to: string; atMs: number; outcome: "accepted" | "dropped" | "refused" };

export type ReceiptStatus = "sent" | "delivered" | "undelivered";

/** The receipts that a node has acknowledged. */
export type AcknowledgedReceipt = { id: string; status: ReceiptStatus };

export const AUTH_TOKEN = "auth-token-of-the-carrier";

const DROPPED_SHARE = 0.01;
const REFUSED_SHARE = 0.02;
const REPEATED_RECEIPT_SHARE = 0.1;
const UNDELIVERED_SHARE = 0.05;
const RECEIPT_REPEAT_MS = 300;
const RECEIPT_LIMIT_MS = 10_000;

export class ChaosCarrier {
  readonly submissions: Submission[] = [];
  readonly acknowledged: AcknowledgedReceipt[] = [];
  /** Closes connections: some before the message is read, some after it is recorded. */
  isDropping = false;
  /** Responds after seconds. The receipts do not wait for the response. */
  isSlow = false;
  /** Where the nodes listen. A receipt goes to any of them. */
  callbackUrls: readonly string[] = [];
  readonly #random: Random;
  readonly #signal: AbortSignal;
  readonly #server: Server;
  #openReceipts = 0;

  private constructor(random: Random, signal: AbortSignal) {
    this.#random = random;
    this.#signal = signal;
    this.#server = createServer((request, response) => void this.#take(request, response).catch(() => request.socket.destroy()));
  }

  static async listen(random: Random, signal: AbortSignal): Promise<ChaosCarrier> {
    const carrier = new ChaosCarrier(random, signal);
    carrier.#server.listen(0, "127.0.0.1");
    await once(carrier.#server, "listening");
    return carrier;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** The number of messages whose receipts are not all acknowledged. */
  get openReceipts(): number {
    return this.#openReceipts;
  }

  close(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }

  async #take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (this.isDropping && this.#random.chance(0.5)) return void request.socket.destroy();
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const submission = this.#record(new URLSearchParams(Buffer.concat(chunks).toString()));
    if (submission.outcome === "dropped") return void request.socket.destroy();
    if (this.isSlow) await sleep(this.#random.between(200, 4_000), undefined, { signal: this.#signal });
    const [status, body] =
      submission.outcome === "refused"
        ? [400, { code: 30_008, message: "unknown error", status: 400 }]
        : [201, { sid: submission.sid, status: "queued", to: submission.to, error_code: null }];
    response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
  }

  #record(form: URLSearchParams): Submission {
    const callback = form.get("StatusCallback") ?? "";
    const submission: Submission = {
      id: new URL(callback).searchParams.get("reference") ?? "",
      sid: `SM${String(this.submissions.length + 1).padStart(32, "0")}`,
      to: form.get("To") ?? "",
      atMs: Date.now(),
      outcome: this.#outcome(),
    };
    this.submissions.push(submission);
    if (submission.outcome !== "refused") void this.#report(submission, callback.replace(/#.*$/, ""));
    return submission;
  }

  #outcome(): Submission["outcome"] {
    if (this.#random.chance(this.isDropping ? 0.6 : DROPPED_SHARE)) return "dropped";
    return this.#random.chance(REFUSED_SHARE) ? "refused" : "accepted";
  }

  /** Sends the receipts of a message, which may come before the response, twice or out of order. */
  async #report(submission: Submission, callback: string): Promise<void> {
    const end: ReceiptStatus = this.#random.chance(UNDELIVERED_SHARE) ? "undelivered" : "delivered";
    const statuses = this.#random.pick<readonly ReceiptStatus[]>([[end], ["sent", end], [end, "sent"]]);
    const repeated = this.#random.chance(REPEATED_RECEIPT_SHARE) ? [...statuses, end] : statuses;
    this.#openReceipts += 1;
    try {
      // Some of them come after a message with an unknown outcome has failed.
      await sleep(this.#random.between(5, submission.outcome === "dropped" ? 6_000 : 1_500), undefined, { signal: this.#signal });
      for (const status of repeated) await this.#acknowledge(submission, status, callback);
      this.#openReceipts -= 1;
    } catch (error) {
      if (!this.#signal.aborted) throw error;
    }
  }

  async #acknowledge({ id, sid, to }: Submission, status: ReceiptStatus, callback: string): Promise<void> {
    const failure = status === "undelivered" ? { ErrorCode: "30007" } : {};
    const fields = { MessageSid: sid, SmsSid: sid, MessageStatus: status, To: to, ...failure };
    while (!(await this.#post(callback, fields))) await sleep(RECEIPT_REPEAT_MS, undefined, { signal: this.#signal });
    this.acknowledged.push({ id, status });
  }

  /** Posts the receipt to any node, signed for the public URL. */
  async #post(callback: string, fields: Record<string, string>): Promise<boolean> {
    const { pathname, search } = new URL(callback);
    try {
      const response = await fetch(`${this.#random.pick(this.callbackUrls)}${pathname}${search}`, {
        method: "POST",
        headers: { "content-type": "application/x-www-form-urlencoded", "x-twilio-signature": signatureOf(callback, fields) },
        body: new URLSearchParams(fields).toString(),
        signal: AbortSignal.any([AbortSignal.timeout(RECEIPT_LIMIT_MS), this.#signal]),
      });
      await response.arrayBuffer();
      return response.ok;
    } catch {
      this.#signal.throwIfAborted();
      return false;
    }
  }
}

/** Twilio's signature: over the URL, followed by the name and the value of each field in the order of the names. */
function signatureOf(url: string, fields: Readonly<Record<string, string>>): string {
  const text = Object.keys(fields)
    .toSorted()
    .reduce((all, name) => all + name + fields[name], url);
  return createHmac("sha1", AUTH_TOKEN).update(text).digest("base64");
}
