/** A carrier with the HTTP API of Twilio over TLS. Its receipts are signed, and name the message. */
import { createHmac } from "node:crypto";
import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer as createHttpsServer, type Server as HttpsServer } from "node:https";
import { createServer, type AddressInfo, type Server, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { selfSigned } from "../test/support/certificate.ts";
import { RECEIPT_LIMIT_MS, type CarrierRecords, type ReceiptStatus, type Submission } from "./carrier-records.ts";

export const AUTH_TOKEN = "auth-token-of-the-carrier";

export class ChaosCarrier {
  /** Its own certificate, which the nodes trust. */
  readonly certificate: string;
  /** Begins handshakes after seconds, and closes connections after a response, so that there are handshakes. */
  hasSlowHandshakes = false;
  /** Where the nodes listen. A receipt goes to any of them. */
  callbackUrls: readonly string[] = [];
  readonly #records: CarrierRecords;
  readonly #sockets: Server;
  readonly #server: HttpsServer;

  private constructor(records: CarrierRecords) {
    this.#records = records;
    const { cert, key } = selfSigned({ address: "127.0.0.1" });
    this.certificate = cert;
    this.#server = createHttpsServer(
      { cert, key },
      (request, response) => void this.#take(request, response).catch(() => request.socket.destroy()),
    );
    this.#sockets = createServer((socket) => void this.#connect(socket));
  }

  static async listen(records: CarrierRecords): Promise<ChaosCarrier> {
    const carrier = new ChaosCarrier(records);
    carrier.#sockets.listen(0, "127.0.0.1");
    await once(carrier.#sockets, "listening");
    return carrier;
  }

  get url(): string {
    return `https://127.0.0.1:${(this.#sockets.address() as AddressInfo).port}`;
  }

  close(): void {
    this.#server.closeAllConnections();
    this.#sockets.close();
  }

  async #connect(socket: Socket): Promise<void> {
    socket.on("error", () => undefined);
    if (this.hasSlowHandshakes) await sleep(this.#records.random.between(500, 5_000));
    this.#server.emit("connection", socket);
  }

  async #take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const submission = this.#record(new URLSearchParams(Buffer.concat(chunks).toString()));
    if (submission.outcome === "dropped" || submission.outcome === "discarded") return void request.socket.destroy();
    await this.#records.beforeResponse();
    const [status, body] =
      submission.outcome === "refused"
        ? [400, { code: 30_008, message: "unknown error", status: 400 }]
        : [201, { sid: submission.sid, status: "queued", to: submission.to, error_code: null }];
    const closing = this.hasSlowHandshakes ? { connection: "close" } : {};
    response.writeHead(status, { "content-type": "application/json", ...closing }).end(JSON.stringify(body));
  }

  #record(form: URLSearchParams): Submission {
    const callback = form.get("StatusCallback") ?? "";
    const submission = this.#records.take({
      id: new URL(callback).searchParams.get("reference") ?? "",
      isNamed: true,
      sid: `SM${String(this.#records.submissions.length + 1).padStart(32, "0")}`,
      to: form.get("To") ?? "",
    });
    void this.#records.report(submission, (status) => this.#post(callback.replace(/#.*$/, ""), receiptFields(submission, status)));
    return submission;
  }

  /** Posts the receipt to any node, signed for the public URL. */
  async #post(callback: string, fields: Record<string, string>): Promise<boolean> {
    const { random, signal } = this.#records;
    const { pathname, search } = new URL(callback);
    try {
      const response = await fetch(`${random.pick(this.callbackUrls)}${pathname}${search}`, {
        method: "POST",
        headers: { "content-type": "application/x-www-form-urlencoded", "x-twilio-signature": signatureOf(callback, fields) },
        body: new URLSearchParams(fields).toString(),
        signal: AbortSignal.any([AbortSignal.timeout(RECEIPT_LIMIT_MS), signal]),
      });
      await response.arrayBuffer();
      return response.ok;
    } catch {
      signal.throwIfAborted();
      return false;
    }
  }
}

const receiptFields = ({ sid, to }: Submission, status: ReceiptStatus): Record<string, string> => ({
  MessageSid: sid,
  SmsSid: sid,
  MessageStatus: status,
  To: to,
  ...(status === "undelivered" ? { ErrorCode: "30007" } : {}),
});

/** Twilio's signature: over the URL, followed by the name and the value of each field in the order of the names. */
function signatureOf(url: string, fields: Readonly<Record<string, string>>): string {
  const text = Object.keys(fields)
    .toSorted()
    .reduce((all, name) => all + name + fields[name], url);
  return createHmac("sha1", AUTH_TOKEN).update(text).digest("base64");
}
