/** Carriers whose TLS handshake is slow: a message becomes `sending` when its connection is open, and its bytes leave right after that. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer as createHttpServer } from "node:http";
import { connect, createServer, type AddressInfo, type Server, type Socket } from "node:net";
import { describe, test } from "node:test";
import { createServer as createTlsServer, type Server as TlsServer } from "node:tls";
import { optOut } from "../../src/consent/change-consent.ts";
import type { Link } from "../../src/links/link.ts";
import { twilio, TWILIO_DEFAULTS, type TwilioSettings } from "../../src/providers/twilio/twilio.ts";
import { selfSigned } from "../support/certificate.ts";
import { LINK, linkTo, Rig } from "../support/delivery-rig.ts";
import { until } from "../support/expect.ts";
import { FakeTwilio, TWILIO_SECRETS } from "../support/fakes/twilio.ts";
import { mayLeave, outgoing, RecordingHost, settled } from "../support/recording-host.ts";
import { recipientNo } from "../support/recipient.ts";

const HOST = "127.0.0.1";
const certificate = selfSigned({ address: HOST });
const never = new AbortController().signal;

/** TLS in front of a carrier. Handshakes wait while the front is closed. */
class TlsFront implements AsyncDisposable {
  readonly #server: Server;
  readonly #tls: TlsServer;
  readonly #waiting: Socket[] = [];
  readonly #sockets = new Set<Socket>();
  isOpen = true;

  private constructor(port: number) {
    this.#tls = createTlsServer(certificate, (secure) => {
      const plain = connect(port, HOST);
      for (const socket of [secure, plain]) socket.on("error", () => undefined).on("close", () => (secure.destroy(), plain.destroy()));
      secure.pipe(plain).pipe(secure);
    });
    this.#server = createServer((socket) => {
      this.#sockets.add(socket.on("error", () => undefined));
      if (this.isOpen) this.#tls.emit("connection", socket);
      else this.#waiting.push(socket);
    });
  }

  static async before(carrier: FakeTwilio): Promise<TlsFront> {
    const front = new TlsFront(Number(new URL(carrier.url).port));
    front.#server.listen(0, HOST);
    await once(front.#server, "listening");
    return front;
  }

  get url(): string {
    return `https://${HOST}:${(this.#server.address() as AddressInfo).port}`;
  }

  /** The number of handshakes that wait. */
  get waiting(): number {
    return this.#waiting.length;
  }

  open(): void {
    this.isOpen = true;
    for (const socket of this.#waiting.splice(0)) this.#tls.emit("connection", socket);
  }

  closeConnections(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.closeConnections();
    this.#server.close();
    await once(this.#server, "close");
  }
}

const settingsFor = (baseUrl: string, partsPerSecond = 1_000): TwilioSettings => ({
  ...TWILIO_DEFAULTS,
  ...TWILIO_SECRETS,
  baseUrl,
  messagingServiceSid: null,
  statusCallbackUrl: null,
  partsPerSecond,
  ca: certificate.cert,
});

const linkAt = (front: TlsFront): Link => ({ ...linkTo(LINK), settings: settingsFor(front.url) });

type Parts = { carrier: FakeTwilio; front: TlsFront };

async function withFront(run: (parts: Parts) => Promise<void>): Promise<void> {
  const carrier = await new FakeTwilio().listen();
  try {
    await using front = await TlsFront.before(carrier);
    await run({ carrier, front });
  } finally {
    await carrier.close();
  }
}

const stop = (rig: Rig, index: number): Promise<unknown> => {
  const pair = { accountId: rig.accountId, environment: "test", recipient: recipientNo(index), sender: null } as const;
  return rig.db.transaction((tx) => optOut(tx, rig.clock.now(), pair, { source: "api" }));
};

describe("a handshake that waits", () => {
  for (const [which, busy] of [
    ["first", false],
    ["second", true],
  ] as const)
    test(`for the ${which} connection of a link keeps its message queued, and an opt-out meanwhile ends it`, () =>
      withFront(async ({ carrier, front }) => {
        await using rig = await Rig.open();
        await rig.deliver({ [LINK]: twilio }, { links: [linkAt(front)] });
        // A message without a response keeps the only connection busy.
        carrier.behaviors.set(recipientNo(0), { kind: "is silent" });
        const first = busy ? await rig.accept({ recipient: recipientNo(0) }) : undefined;
        if (first !== undefined) await rig.untilStatus(first, "sending");
        if (busy) await until("the request to arrive", () => carrier.seen.length === 1);
        front.isOpen = false;
        const [stopped, kept] = [await rig.accept({ recipient: recipientNo(1) }), await rig.accept({ recipient: recipientNo(2) })];
        await until("a handshake to wait", () => front.waiting > 0);
        for (const each of [stopped, kept]) assert.equal((await rig.message(each)).status, "queued");
        await stop(rig, 1);
        front.open();
        const failed = await rig.untilStatus(stopped, "failed");
        assert.deepEqual([failed.error?.code, failed.attempts], ["recipient_opted_out", 0]);
        await rig.untilStatus(kept, "sent");
        assert.ok(!carrier.messages.some(({ To }) => To === recipientNo(1)));
        front.closeConnections();
      }));
});

test("a connection that closes while its message becomes `sending` is replaced, and the message is asked about again", async () => {
  const sockets: Socket[] = [];
  const server = createHttpServer((_request, response) => response.writeHead(201).end('{"sid":"SM1","status":"queued"}'));
  server.on("connection", (socket: Socket) => sockets.push(socket)).listen(0, HOST);
  await once(server, "listening");
  const baseUrl = `http://${HOST}:${(server.address() as AddressInfo).port}`;
  const link = await twilio.open({ ...settingsFor(baseUrl), ca: undefined }, new RecordingHost());
  let asked = 0;
  const begin = async (): Promise<boolean> => {
    asked += 1;
    const [first] = sockets;
    // The link ends its side as soon as it has seen the end of the other.
    if (asked === 1 && first !== undefined) await once(first.end(), "close");
    return true;
  };
  const outcome = await settled(link.send(outgoing({ recipient: recipientNo(1) }), never, begin), "a send");
  await settled(link.close(), "close");
  server.close();
  assert.deepEqual(outcome, { kind: "accepted", providerMessageId: "SM1" });
  assert.deepEqual([asked, sockets.length], [2, 2]);
});

test("messages whose handshakes ended together leave at the rate of the link", () =>
  withFront(async ({ front }) => {
    front.isOpen = false;
    const link = await twilio.open(settingsFor(front.url, 10), new RecordingHost());
    const begun: number[] = [];
    const begin = async (): Promise<boolean> => (begun.push(performance.now()), mayLeave());
    const sends = Array.from({ length: 6 }, (_, index) => link.send(outgoing({ recipient: recipientNo(index) }), never, begin));
    const startedAt = performance.now();
    await until("a turn to pass", () => performance.now() - startedAt > 2_000);
    const early = begun.length;
    front.open();
    const outcomes = await settled(Promise.all(sends), "the sends");
    await settled(link.close(), "close");
    assert.equal(early, 0);
    assert.deepEqual(
      outcomes.map(({ kind }) => kind),
      sends.map(() => "accepted"),
    );
    assert.ok((begun.at(-1) ?? 0) - (begun[0] ?? 0) > 400, "five pauses of 100 ms lie between six messages");
  }));
