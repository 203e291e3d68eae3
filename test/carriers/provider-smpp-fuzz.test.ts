import assert from "node:assert/strict";
import { randomInt } from "node:crypto";
import { test } from "node:test";
import { encode } from "../../src/providers/smpp/encode.ts";
import { COMMAND, HEADER_BYTES, STATUS } from "../../src/providers/smpp/pdu.ts";
import { until } from "../support/expect.ts";
import type { Script, SmscSession } from "../support/fakes/smsc.ts";
import { idOf, sendOne, withLink } from "../support/fakes/smsc-link.ts";
import { receiptSm } from "../support/fakes/smsc-scripts.ts";

/** Pseudo-random numbers, repeatable by their seed (mulberry32). */
function randomOf(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  };
}

const seed = Number(process.env["FUZZ_SEED"] ?? randomInt(2 ** 31));

const COMMANDS = [...Object.values(COMMAND), 0x00000999, 0x80000999];

/** A valid PDU with some bytes changed. Its length is kept, because a wrong one would end the stream. */
function mutated(random: (below: number) => number): Buffer {
  const wire = encode({ command: "deliver_sm", short: receiptSm(`f${random(1_000)}`), status: STATUS.ok, sequence: random(2 ** 31) });
  for (let count = random(6); count > 0; count -= 1) wire[4 + random(wire.length - 4)] = random(256);
  return wire;
}

function junk(random: (below: number) => number): Buffer {
  const bytes = Buffer.from(Array.from({ length: HEADER_BYTES + random(120) }, () => random(256)));
  bytes.writeUInt32BE(bytes.length, 0);
  bytes.writeUInt32BE(COMMANDS[random(COMMANDS.length)] ?? 0, 4);
  // An unbind ends the session and is tested elsewhere.
  if (bytes.readUInt32BE(4) === COMMAND.unbind) bytes.writeUInt32BE(COMMAND.enquire_link, 4);
  bytes.writeUInt32BE(random(2 ** 31) + 1_000_000, 12);
  return bytes;
}

test(`a carrier that sends nonsense between its responses stops nothing (seed ${seed})`, () => {
  const random = randomOf(seed);
  const talk = (session: SmscSession): void => {
    for (let count = 0; count < 20; count += 1) session.raw(random(2) === 0 ? mutated(random) : junk(random));
  };
  const submit: Script["submit"] = (each, session) => {
    talk(session);
    session.accept(each);
    talk(session);
  };
  return withLink({ submit }, { times: { drainMs: 200, partsWaitMs: 50 } }, async ({ smsc, link }) => {
    for (let round = 0; round < 50; round += 1) {
      const outcomes = await Promise.all(Array.from({ length: 4 }, () => sendOne(link)));
      // A changed byte may turn a PDU into an unbind. The connection and its pending messages end then.
      for (const { kind } of outcomes) assert.ok(["accepted", "unknown", "throttled"].includes(kind), kind);
      await until("the link is ready", () => link.isReady);
    }
    assert.equal(smsc.submits.length >= 190, true, "almost no message was delayed");
    smsc.script = {};
    idOf(await sendOne(link));
  });
});

test(`a stream of noise causes a new connection every time (seed ${seed})`, () => {
  const random = randomOf(seed);
  return withLink({}, { times: { maxReconnectMs: 5, firstReconnectMs: 5 } }, async ({ smsc, link }) => {
    for (let round = 0; round < 30; round += 1) {
      const { session } = smsc;
      const before = smsc.sessions.length;
      // This length is invalid, so the first four bytes end the stream, however they are split.
      const noise = Buffer.from(Array.from({ length: 200 }, () => random(256)));
      noise[0] = 0x80;
      for (let at = 0; at < noise.length;) {
        const size = 1 + random(7);
        session.raw(noise.subarray(at, at + size));
        at += size;
      }
      await until("there is a new connection", () => smsc.sessions.length > before && link.isReady);
    }
    idOf(await sendOne(link));
  });
});

test(`a carrier with all faults: every message has one outcome, and none is at the carrier twice (seed ${seed})`, () => {
  const random = randomOf(seed);
  const STATUSES = [0x08, 0x0b, 0x14, 0x45, 0x58, 0x64, 0xff];
  const faults: readonly NonNullable<Script["submit"]>[] = [
    (each, session) => void session.accept(each),
    (each, session) => void session.accept(each),
    (each, session) => void session.accept(each),
    (each, session) => session.refuse(each, STATUSES[random(STATUSES.length)] ?? 0x08),
    (each, session) => void setTimeout(() => session.accept(each), random(60)),
    () => undefined,
    ({ sequence }, session) => session.write({ command: "generic_nack", status: 0x03, sequence }),
    (each, session) =>
      session.raw(Buffer.concat([junk(random), encode({ command: "submit_sm_resp", id: "x", status: 0, sequence: each.sequence })])),
    (each, session) => {
      void session.deliver(receiptSm("early"));
      session.accept(each);
    },
    (_each, session) => {
      if (random(4) === 0) session.socket.destroy();
    },
    (_each, session) => {
      if (random(4) === 0) void session.request({ command: "unbind" }, 100).then(() => session.socket.end());
    },
  ];
  const submit: Script["submit"] = (each, session) => faults[random(faults.length)]?.(each, session);
  const times = { responseMs: 30, firstPauseMs: 2, maxPauseMs: 10, firstReconnectMs: 2, maxReconnectMs: 5, drainMs: 20, unbindMs: 20 };
  return withLink({ submit }, { partsPerSecond: 20_000, times }, async ({ smsc, link }) => {
    const counts = new Map<string, number>();
    for (let round = 0; round < 40; round += 1) {
      const outcomes = await Promise.all(
        Array.from({ length: 10 }, (_, index) => sendOne(link, { recipient: `+4915${10_000_000 + round * 10 + index}` })),
      );
      for (const { kind } of outcomes) counts.set(kind, (counts.get(kind) ?? 0) + 1);
      await until("the link is ready", () => link.isReady);
    }
    assert.equal(
      [...counts.values()].reduce((sum, count) => sum + count, 0),
      400,
    );
    assert.ok((counts.get("accepted") ?? 0) > 50, JSON.stringify([...counts]));
    const recipients = smsc.submits.map(({ short }) => short.destination.text);
    assert.equal(new Set(recipients).size, recipients.length, "at most one submit_sm for each attempt");
  });
});
