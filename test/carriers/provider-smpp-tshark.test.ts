/** Every PDU that a link writes, as the SMPP dissector of Wireshark reads it. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { connect, createServer, type AddressInfo, type Server, type Socket } from "node:net";
import type { SmppSettings } from "../../src/providers/smpp/settings.ts";
import { Frames } from "../../src/providers/smpp/frames.ts";
import { missingProgram } from "../support/debian-package.ts";
import { Smsc } from "../support/fakes/smsc.ts";
import { until } from "../support/expect.ts";
import { RecordingHost, settled } from "../support/recording-host.ts";
import { openReady, sendOne } from "../support/fakes/smsc-link.ts";
import { deliverSm, receiptSm } from "../support/fakes/smsc-scripts.ts";

// The file has PDUs and no packets: each record names the protocol and has one PDU.
const LINK_TYPE_PDU = 252;
const TAG_PROTOCOL = 12;
const TAG_END = 0;
const MAX_RECORD = 262_144;

/** Writes a capture file with one record for each PDU. */
function writeCapture(path: string, pdus: readonly Buffer[]): void {
  const header = Buffer.alloc(24);
  header.writeUInt32LE(0xa1b2c3d4, 0);
  header.writeUInt16LE(2, 4);
  header.writeUInt16LE(4, 6);
  header.writeUInt32LE(MAX_RECORD, 16);
  header.writeUInt32LE(LINK_TYPE_PDU, 20);
  writeFileSync(path, Buffer.concat([header, ...pdus.map(toRecord)]));
}

function toRecord(pdu: Buffer, index: number): Buffer {
  const name = Buffer.from("smpp");
  const tags = Buffer.alloc(4);
  tags.writeUInt16BE(TAG_PROTOCOL, 0);
  tags.writeUInt16BE(name.length, 2);
  const end = Buffer.alloc(4);
  end.writeUInt16BE(TAG_END, 0);
  const body = Buffer.concat([tags, name, end, pdu]);
  const header = Buffer.alloc(16);
  header.writeUInt32LE(index, 0);
  header.writeUInt32LE(body.length, 8);
  header.writeUInt32LE(body.length, 12);
  return Buffer.concat([header, body]);
}

/** Stands between links and their carrier, and records the PDUs of the links. */
class RecordingProxy {
  readonly pdus: Buffer[] = [];
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  private constructor(carrierPort: number) {
    this.#server = createServer((client) => {
      const carrier = connect(carrierPort, "127.0.0.1");
      const frames = new Frames();
      client.on("data", (chunk: Buffer) => this.pdus.push(...frames.push(Buffer.from(chunk))));
      for (const socket of [client, carrier]) this.#sockets.add(socket.on("error", () => undefined));
      client.pipe(carrier).pipe(client);
    });
  }

  static async start(carrierPort: number): Promise<RecordingProxy> {
    const proxy = new RecordingProxy(carrierPort);
    await new Promise<void>((resolve) => proxy.#server.listen(0, "127.0.0.1", resolve));
    return proxy;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  async stop(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

const TSHARK = "/usr/bin/tshark";
const TEXTS = ["@ [€]", "Grüße ç", "Привет 😀", "a".repeat(400), "ж".repeat(200)];

const LINKS: readonly Partial<SmppSettings>[] = [
  {},
  { bindMode: "pair", alphabet: "latin1", longText: "sar", validity: "absolute", priorityFlag: 3, interfaceVersion: 0x50 },
  { alphabet: "ascii", longText: "udh16", validity: "none", registeredDelivery: 17, addressRange: "^1234", bindTon: 1, bindNpi: 1 },
  { binds: 2, longText: "payload", dltEntityId: "1101", dltTemplateId: "1107", tlvs: [{ tag: 0x1500, type: "int32", value: 7 }] },
];

describe("tshark", () => {
  let missing: string | undefined;
  let folder: string;
  const pdus: Buffer[] = [];

  /** Makes a link write PDUs of every kind. */
  async function converse(settings: Partial<SmppSettings>): Promise<void> {
    const smsc = await Smsc.start();
    const proxy = await RecordingProxy.start(smsc.port);
    const link = await openReady(smsc, new RecordingHost(), { ...settings, port: proxy.port, times: { enquireMs: 20 } });
    const binds = (settings.binds ?? 1) * (settings.bindMode === "pair" ? 2 : 1);
    await until("all binds", () => smsc.bound.length === binds);
    for (const body of TEXTS) for (const carrierOptions of [null, { flash: true }]) await sendOne(link, { body, carrierOptions });
    const receiver = smsc.bound.find(({ boundAs }) => boundAs !== "bind_transmitter") ?? assert.fail();
    assert.equal(await receiver.deliver(receiptSm("m1")), 0);
    assert.equal(await receiver.deliver(deliverSm({ text: Buffer.from("Hello") })), 0);
    await receiver.request({ command: "data_sm", short: deliverSm({ text: Buffer.from("Hello") }) });
    await receiver.request({ command: "query_sm" });
    await until("an enquire_link", () => smsc.session.received.some(({ command }) => command === "enquire_link"));
    await settled(link.close(), "close");
    await smsc.stop();
    pdus.push(...proxy.pdus);
    await proxy.stop();
  }

  before(async () => {
    missing = missingProgram("tshark", TSHARK);
    folder = mkdtempSync(join(tmpdir(), "godwit-tshark-"));
    if (missing === undefined) for (const settings of LINKS) await converse(settings);
  });
  after(() => rmSync(folder, { recursive: true, force: true }));

  function read(filter: string): string[] {
    const path = join(folder, "links.pcap");
    writeCapture(path, pdus);
    const fields = ["frame.number", "smpp.command_id", "_ws.col.Info"].flatMap((name) => ["-e", name]);
    const { status, stdout, stderr } = spawnSync(TSHARK, ["-r", path, "-Y", filter, "-T", "fields", ...fields], { encoding: "utf8" });
    assert.equal(status, 0, stderr);
    return stdout.split("\n").filter((line) => line !== "");
  }

  test("reads every PDU as SMPP, and finds none malformed", (context) => {
    if (missing !== undefined) return context.skip(missing);
    assert.ok(pdus.length > 80, `${pdus.length} PDUs`);
    assert.equal(read("smpp").length, pdus.length);
    assert.deepEqual(read("_ws.malformed || _ws.expert.severity >= 0x600000"), []);
    const commands = new Set(pdus.map((pdu) => pdu.readUInt32BE(4).toString(16)));
    const expected = ["1", "2", "4", "6", "9", "15", "80000000", "80000005", "80000103"];
    assert.deepEqual([...commands].toSorted(), expected.toSorted());
  });

  test("finds a PDU malformed that is cut short", (context) => {
    if (missing !== undefined) return context.skip(missing);
    const submit = pdus.find((pdu) => pdu.readUInt32BE(4) === 4) ?? assert.fail();
    const cut = Buffer.from(submit.subarray(0, 40));
    cut.writeUInt32BE(cut.length, 0);
    const whole = pdus.splice(0, pdus.length, cut);
    assert.equal(read("_ws.malformed").length, 1);
    pdus.splice(0, pdus.length, ...whole);
  });
});
