import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { deliverSm } from "../../../test/support/fakes/smsc-scripts.ts";
import { decode } from "./decode.ts";
import { encode } from "./encode.ts";
import { BadFrame, Frames } from "./frames.ts";
import { COMMAND, HEADER_BYTES, MAX_PDU_BYTES, TLV, type Body, type CommandName, type Pdu, type ShortMessage } from "./pdu.ts";

const hex = (text: string): Buffer => Buffer.from(text.replaceAll(/\s/g, ""), "hex");

// Written by hand from the specification, so that equal mistakes in encoder and decoder are found.
const WIRE: readonly (readonly [what: string, bytes: string, pdu: Pdu])[] = [
  [
    "a bind",
    `0000002F 00000002 00000000 00000001 534D50503354455354 00 7365637265743038 00 5355424D495431 00 34 00 00 00`,
    {
      command: "bind_transmitter",
      bind: {
        systemId: "SMPP3TEST",
        password: "secret08",
        systemType: "SUBMIT1",
        interfaceVersion: 0x34,
        range: { ton: 0, npi: 0, text: "" },
      },
      status: 0,
      sequence: 1,
    },
  ],
  ["enquire_link", "00000010 00000015 00000000 00000007", { command: "enquire_link", status: 0, sequence: 7 }],
  ["enquire_link_resp", "00000010 80000015 00000000 00000007", { command: "enquire_link_resp", status: 0, sequence: 7 }],
  ["a generic_nack", "00000010 80000000 00000003 00000000", { command: "generic_nack", status: 3, sequence: 0 }],
  [
    "a submit_sm_resp with an id",
    "00000013 80000004 00000000 00000002 6d3100",
    { command: "submit_sm_resp", id: "m1", status: 0, sequence: 2 },
  ],
  ["a submit_sm_resp with an error", "00000010 80000004 0000000b 00000002", { command: "submit_sm_resp", id: "", status: 11, sequence: 2 }],
  [
    "a submit_sm with parameters",
    `00000046 00000004 00000000 00000003 00 05 00 476f6477697400 01 01 3439313531 00 40 00 00 00
     303030303030303130303030303030 5200 01 00 08 00 04 00480069 0204 0002 0102`,
    {
      command: "submit_sm",
      status: 0,
      sequence: 3,
      short: {
        serviceType: "",
        source: { ton: 5, npi: 0, text: "Godwit" },
        destination: { ton: 1, npi: 1, text: "49151" },
        esmClass: 0x40,
        protocolId: 0,
        priority: 0,
        scheduledFor: "",
        validFor: "000000010000000R",
        registeredDelivery: 1,
        dataCoding: 8,
        text: hex("00480069"),
        tlvs: new Map([[0x0204, hex("0102")]]),
      },
    },
  ],
];

for (const [what, bytes, pdu] of WIRE) {
  test(`${what} is decoded and encoded as on the wire`, () => {
    assert.deepEqual(decode(hex(bytes)), pdu);
    assert.equal(encode(pdu).toString("hex"), hex(bytes).toString("hex"));
    assert.equal(hex(bytes).readUInt32BE(0), hex(bytes).length);
  });
}

test("a response without the zero at its end is decoded", () => {
  const pdu = decode(hex("00000012 80000004 00000000 00000002 6d31"));
  assert.ok(pdu.command === "submit_sm_resp" && pdu.id === "m1");
});

test("a text that is too long for its field is sent as a parameter and decoded from it", () => {
  const short = shortOf({ text: Buffer.alloc(300, "x") });
  const pdu = decode(encode({ command: "deliver_sm", short, status: 0, sequence: 1 }));
  assert.ok(pdu.command === "deliver_sm");
  assert.deepEqual([pdu.short.text.length, pdu.short.tlvs.get(TLV.messagePayload)?.length], [300, 300]);
});

test("a zero within a text does not shift the fields after it", () => {
  const pdu = decode(encode({ command: "submit_sm", short: shortOf({ serviceType: "a\0b" }), status: 0, sequence: 1 }));
  assert.ok(pdu.command === "submit_sm" && pdu.short.serviceType === "ab");
});

const MALFORMED: readonly (readonly [what: string, bytes: string])[] = [
  ["an unknown command", "00000010 00000999 00000000 00000001"],
  ["a deliver_sm without a body", "00000010 00000005 00000000 00000001"],
  ["a text that does not end", "00000014 00000005 00000000 00000001 41414141"],
  ["a text longer than its bytes", "00000024 00000005 00000000 00000001 00 000000 000000 000000 00 00 00 00 00 00 ff 414141"],
  ["a parameter longer than its bytes", "00000026 00000005 00000000 00000001 00 000000 000000 000000 00 00 00 00 00 00 00 0424 0009 41"],
];
for (const [what, bytes] of MALFORMED)
  test(`${what} is malformed, and its header is returned`, () => {
    const pdu = decode(hex(bytes));
    assert.deepEqual([pdu.command, pdu.sequence], ["malformed", 1]);
  });

const shortOf = (fields: Partial<ShortMessage>): ShortMessage =>
  deliverSm({ source: { ton: 0, npi: 0, text: "" }, destination: { ton: 1, npi: 1, text: "1" }, ...fields });

/** Records with a prototype, as decoded PDUs have one. */
const record = <T>(model: { [K in keyof T]: fc.Arbitrary<T[K]> }): fc.Arbitrary<T> => fc.record(model, { noNullPrototype: true });
const byte = fc.integer({ min: 0, max: 255 });
const field = (maxLength: number) =>
  fc.string({ unit: fc.integer({ min: 1, max: 255 }).map((code) => String.fromCharCode(code)), maxLength });
const bytes = (maxLength: number) => fc.uint8Array({ maxLength }).map((array) => Buffer.from(array));
const address = record({ ton: byte, npi: byte, text: field(20) });
// Without message_payload, which the decoder returns as the text.
const tlvs = fc
  .array(
    fc.tuple(
      fc.integer({ min: 1, max: 0xffff }).filter((tag) => tag !== TLV.messagePayload),
      bytes(40),
    ),
    { maxLength: 4 },
  )
  .map((entries) => new Map(entries));
const shorts = record({
  serviceType: field(5),
  source: address,
  destination: address,
  esmClass: byte,
  protocolId: byte,
  priority: byte,
  scheduledFor: field(16),
  validFor: field(16),
  registeredDelivery: byte,
  dataCoding: byte,
  text: bytes(254),
  tlvs,
});
const range = record({ ton: byte, npi: byte, text: field(40) });
const binds = record({ systemId: field(15), password: field(8), systemType: field(12), interfaceVersion: byte, range });
const empty: CommandName[] = ["unbind", "unbind_resp", "enquire_link", "enquire_link_resp", "generic_nack"];
const bodies: fc.Arbitrary<Body> = fc.oneof(
  record({ command: fc.constantFrom("submit_sm" as const, "deliver_sm" as const), short: shorts }),
  record({ command: fc.constantFrom("bind_receiver" as const, "bind_transmitter" as const, "bind_transceiver" as const), bind: binds }),
  record({ command: fc.constantFrom("submit_sm_resp" as const, "deliver_sm_resp" as const, "data_sm_resp" as const), id: field(64) }),
  fc.constantFrom(...empty).map((command) => ({ command }) as Body),
);
const pdus: fc.Arbitrary<Pdu> = fc
  .tuple(bodies, fc.integer({ min: 0, max: 0x7fffffff }))
  .map(([body, sequence]) => ({ ...body, status: 0, sequence }));

test("a decoded PDU equals the encoded one", () => {
  fc.assert(
    fc.property(pdus, (pdu) => assert.deepEqual(decode(encode(pdu)), pdu)),
    { numRuns: 500 },
  );
});

test("a data_sm has its text in a parameter", () => {
  const pdu = decode(encode({ command: "data_sm", short: shortOf({ text: Buffer.from("hi"), dataCoding: 3 }), status: 0, sequence: 1 }));
  assert.ok(pdu.command === "data_sm");
  assert.deepEqual([pdu.short.text.toString(), pdu.short.dataCoding], ["hi", 3]);
});

test("a stream is split into the same PDUs, wherever it is cut", () => {
  fc.assert(
    fc.property(fc.array(pdus, { minLength: 1, maxLength: 5 }), fc.infiniteStream(fc.integer({ min: 1, max: 90 })), (sent, cuts) => {
      const stream = Buffer.concat(sent.map(encode));
      const frames = new Frames();
      const got: Buffer[] = [];
      for (let at = 0; at < stream.length;) {
        const size = cuts.next().value as number;
        got.push(...frames.push(stream.subarray(at, at + size)));
        at += size;
      }
      assert.deepEqual(got.map(decode), sent);
    }),
    { numRuns: 200 },
  );
});

test("a stream of single bytes is decoded, up to the largest PDU", () => {
  const frames = new Frames();
  const whole = Buffer.alloc(MAX_PDU_BYTES);
  whole.writeUInt32BE(MAX_PDU_BYTES, 0);
  let got = 0;
  for (const each of whole) got += [...frames.push(Buffer.from([each]))].length;
  assert.equal(got, 1);
});

for (const length of [0, 1, HEADER_BYTES - 1, MAX_PDU_BYTES + 1, 0xffffffff])
  test(`a length of ${length} is refused before the rest of the PDU arrives`, () => {
    const head = Buffer.alloc(4);
    head.writeUInt32BE(length);
    assert.throws(() => [...new Frames().push(head)], BadFrame);
  });

const mutated = fc.tuple(pdus, fc.array(fc.tuple(fc.nat(400), byte), { maxLength: 8 }), fc.nat(20)).map(([pdu, changes, cut]) => {
  const wire = encode(pdu);
  for (const [at, value] of changes) if (at >= 4 && at < wire.length) wire[at] = value;
  return wire.subarray(0, Math.max(HEADER_BYTES, wire.length - cut));
});
const random = fc.tuple(fc.constantFrom(...Object.values(COMMAND), 0x999), bytes(200)).map(([command, body]) => {
  const head = Buffer.alloc(HEADER_BYTES);
  head.writeUInt32BE(command, 4);
  return Buffer.concat([head, body]);
});
test("decoding of random bytes ends, and the decoded PDU can be encoded", () => {
  fc.assert(
    fc.property(fc.oneof(mutated, random), (wire) => {
      const pdu = decode(wire);
      if (pdu.command !== "malformed") assert.ok(encode(pdu).length >= HEADER_BYTES);
    }),
    { numRuns: 3_000 },
  );
});
