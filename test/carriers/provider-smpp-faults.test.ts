import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { encode } from "../../src/providers/smpp/encode.ts";
import { within } from "../../src/lib/wait.ts";
import type { SendOutcome } from "../../src/providers/provider.ts";
import { STATUS } from "../../src/providers/smpp/pdu.ts";
import { smpp } from "../../src/providers/smpp/smpp.ts";
import { Smsc, type Script, type Submit } from "../support/fakes/smsc.ts";
import { until } from "../support/expect.ts";
import { RecordingHost, settled } from "../support/recording-host.ts";
import { idOf, sendOne, settingsFor, withLink } from "../support/fakes/smsc-link.ts";

const WINDOW = 10;
// Long enough for an unwanted reaction to happen.
const QUIET_MS = 100;
const quiet = (): Promise<unknown> => within(new Promise(() => undefined), QUIET_MS);
const TEN = Array.from({ length: WINDOW });
const kinds = (outcomes: readonly SendOutcome[]): string[] => outcomes.map(({ kind }) => kind);

/** Checks a link that is never bound. */
async function withUnbound(script: Script, times: object, run: (rig: { smsc: Smsc; host: RecordingHost }) => Promise<void>): Promise<void> {
  const smsc = await Smsc.start(script);
  const host = new RecordingHost();
  const link = await smpp.open(settingsFor(smsc, { times }), host);
  try {
    assert.equal(link.isReady, false);
    await run({ smsc, host });
    assert.equal(link.isReady, false, "the link is not ready without a bind");
    assert.equal((await sendOne(link)).kind, "throttled", "nothing has left, so the outcome is not unknown");
    assert.deepEqual(smsc.submits, []);
  } finally {
    await settled(link.close(), "close");
    await smsc.stop();
  }
}

describe("a bind", () => {
  test("without a response is aborted, and attempted again on a new connection", () =>
    withUnbound({ bind: () => "silence" }, { bindMs: 20 }, async ({ smsc }) => {
      await until("the bind was attempted three times", () => smsc.binds.length >= 3);
      assert.ok(smsc.sessions.slice(0, 2).every(({ isClosed }) => isClosed));
    }));

  for (const [status, reason] of [
    [STATUS.bindFailed, "the carrier refuses the bind (0x0D)"],
    [STATUS.invalidPassword, "the carrier refuses the password (0x0E)"],
    [STATUS.invalidSystemId, "the carrier does not know the system_id (0x0F)"],
  ] as const) {
    test(`that is refused with ${status} pauses the link, reports the reason, and is not repeated in a loop`, async () => {
      const smsc = await Smsc.start({ bind: () => status });
      const host = new RecordingHost();
      const link = await smpp.open(settingsFor(smsc), host);
      try {
        await until("the link is paused", () => link.state?.kind === "paused");
        assert.equal(link.state?.reason, reason);
        await quiet();
        assert.equal(smsc.binds.length, 1);
        assert.ok(host.changes > 0, "the host is notified");
      } finally {
        await settled(link.close(), "close");
        await smsc.stop();
      }
    });
  }

  test("that is refused because of an existing bind backs off, and succeeds when the old bind is gone", () => {
    let refusals = 3;
    return withLink({ bind: () => (refusals-- > 0 ? STATUS.alreadyBound : STATUS.ok) }, {}, async ({ smsc, link }) => {
      assert.equal(smsc.binds.length, 4);
      assert.equal(link.state?.kind, "connected");
    });
  });

  test("whose connection drops immediately is attempted again, after a wait each time", () =>
    withUnbound(
      { bind: (_bind, session) => (session.socket.destroy(), "silence") },
      { firstReconnectMs: 20, maxReconnectMs: 80 },
      async ({ smsc }) => {
        await until("the bind was attempted four times", () => smsc.binds.length >= 4);
        const [first, , , fourth] = smsc.binds;
        // Three waits of at least a quarter of the first wait.
        assert.ok((fourth?.atMs ?? 0) - (first?.atMs ?? 0) >= 15 - 3);
      },
    ));
});

test("the waits between binds grow with each failure, and are reset after a bind that lasted", async () => {
  let drops = 4;
  const smsc = await Smsc.start({
    bind: (_bind, session) => {
      if (drops-- > 0) setImmediate(() => session.socket.destroy());
      return STATUS.ok;
    },
  });
  const host = new RecordingHost();
  const link = await smpp.open(settingsFor(smsc, { times: { stableMs: 300 } }), host);
  const failures = (): number[] => Array.from(host.lines.matchAll(/"failures":(\d+)/g), ([, count]) => Number(count));
  try {
    await until("the bind failed four times", () => failures().length === 4);
    assert.deepEqual(failures(), [1, 2, 3, 4]);
    await until("the link is ready", () => link.isReady);
    const boundAt = performance.now();
    await until("the bind has lasted", () => performance.now() - boundAt > 400);
    smsc.session.socket.destroy();
    await until("the bind failed once more", () => failures().length === 5);
    assert.equal(failures()[4], 1);
  } finally {
    await settled(link.close(), "close");
    await smsc.stop();
  }
});

describe("a connection", () => {
  test("that drops after the bind is opened again, and the link reports it meanwhile", () =>
    withLink({}, { times: { firstReconnectMs: 100, maxReconnectMs: 100 } }, async ({ smsc, link }) => {
      smsc.session.socket.destroy();
      await until("the link is not ready", () => !link.isReady);
      assert.equal(link.state?.kind, "connecting");
      await until("the link is ready", () => link.isReady);
      assert.equal(link.state?.kind, "connected");
      assert.equal(smsc.sessions.length, 2);
      idOf(await sendOne(link));
    }));

  test("that breaks with a full window leaves every message unknown and sends none of them again", () =>
    withLink({ submit: () => undefined }, {}, async ({ smsc, link }) => {
      const sends = TEN.map(() => sendOne(link));
      await until("the window is full", () => smsc.submits.length === WINDOW);
      smsc.session.socket.destroy();
      assert.deepEqual(
        kinds(await Promise.all(sends)),
        TEN.map(() => "unknown"),
      );
      await until("the link is ready", () => link.isReady);
      await quiet();
      assert.equal(smsc.submits.length, WINDOW);
    }));

  test("that breaks returns the messages that waited for the window, because none of them has left", () =>
    withLink({ submit: () => undefined }, { window: 2 }, async ({ smsc, link }) => {
      const sends = Array.from({ length: 5 }, () => sendOne(link));
      await until("the window is full", () => smsc.submits.length === 2);
      smsc.session.socket.destroy();
      assert.deepEqual(kinds(await Promise.all(sends)), ["unknown", "unknown", "throttled", "throttled", "throttled"]);
      assert.equal(smsc.submits.length, 2);
    }));

  test("whose carrier does not respond to enquire_link is closed", () =>
    withLink({ enquire: "silence" }, { times: { enquireMs: 20, enquireResponseMs: 20 } }, async ({ smsc }) => {
      const [first] = smsc.sessions;
      await until("the first connection is closed", () => first?.isClosed === true);
      assert.ok(first?.received.some(({ command }) => command === "enquire_link"));
      await until("there is another connection", () => smsc.sessions.length > 1);
    }));

  test("whose carrier responds to enquire_link stays open, and the carrier's own enquire_link gets a response", () =>
    withLink({}, { times: { enquireMs: 10, enquireResponseMs: 2_000 } }, async ({ smsc, link }) => {
      await until(
        "five enquire_link were sent",
        () => smsc.session.received.filter(({ command }) => command === "enquire_link").length >= 5,
      );
      assert.equal((await smsc.session.request({ command: "enquire_link" }))?.command, "enquire_link_resp");
      assert.equal(smsc.sessions.length, 1);
      assert.equal(link.isReady, true);
    }));
});

describe("a carrier that sends more than anybody needs", () => {
  for (const [name, pdu] of [
    ["enquire_link", encode({ command: "enquire_link", status: 0, sequence: 77_777 })],
    ["unknown requests", Buffer.from("00000010000000ff0000000000012fd1", "hex")],
    ["submit_sm_resp to no request", encode({ command: "submit_sm_resp", id: "a", status: 0, sequence: 77_777 })],
    ["generic_nack to no request", encode({ command: "generic_nack", status: 0, sequence: 77_777 })],
    ["unknown responses", Buffer.from("00000010800000ff0000000000012fd1", "hex")],
  ] as const)
    test(`${name}: loses its connection, and the link connects again`, () =>
      withLink({}, {}, async ({ smsc, link }) => {
        const { session } = smsc;
        // Real carriers send some at once after a pause.
        session.raw(Buffer.concat(Array.from({ length: 499 }, () => pdu)));
        assert.equal((await session.request({ command: "enquire_link" }))?.command, "enquire_link_resp");
        assert.ok(!session.isClosed);
        const many = Buffer.concat(Array.from({ length: 1_000 }, () => pdu));
        await until("the connection is closed", () => {
          session.raw(many);
          return session.isClosed;
        });
        await until("there is another connection", () => smsc.sessions.length > 1 && link.isReady);
      }));

  test("responses that cannot be read, each to a request: keeps its connection", () => {
    const submit: Script["submit"] = ({ sequence }, session) => {
      const bytes = Buffer.from("00000010800000ff0000000000000000", "hex");
      bytes.writeUInt32BE(sequence, 12);
      session.raw(bytes);
    };
    return withLink({ submit }, { window: 1_000 }, async ({ smsc, link }) => {
      const outcomes = await Promise.all(Array.from({ length: 600 }, () => sendOne(link)));
      assert.ok(outcomes.every(({ kind }) => kind === "unknown"));
      assert.equal(smsc.sessions.length, 1);
    });
  });
});

describe("unbind", () => {
  test("by the carrier with a full window: responses before the close count, the rest is unknown, and a new bind follows", () => {
    const held: Submit[] = [];
    return withLink({ submit: (each) => void held.push(each) }, { times: { drainMs: 100 } }, async ({ smsc, link }) => {
      const sends = TEN.map(() => sendOne(link));
      await until("the window is full", () => held.length === WINDOW);
      const { session } = smsc;
      const unbound = session.request({ command: "unbind" });
      await until("the link accepts no more", () => !link.isReady);
      for (const each of held.slice(0, 4)) session.accept(each);
      assert.equal((await unbound)?.command, "unbind_resp");
      session.socket.end();
      const outcomes = kinds(await Promise.all(sends));
      assert.deepEqual(outcomes.toSorted(), [
        ...Array.from({ length: 4 }, () => "accepted"),
        ...Array.from({ length: 6 }, () => "unknown"),
      ]);
      await until("the link is bound again", () => link.isReady);
      assert.equal(smsc.submits.length, WINDOW);
    });
  });

  test("without a response of the carrier does not keep the link from closing, and no socket is left", async () => {
    const smsc = await Smsc.start({ unbind: "silence" });
    const link = await smpp.open(settingsFor(smsc, { times: { unbindMs: 50 } }), new RecordingHost());
    await until("the link is ready", () => link.isReady);
    await settled(link.close(), "close", 2_000);
    assert.ok(smsc.session.received.some(({ command }) => command === "unbind"));
    await until("the socket is closed", () => smsc.session.isClosed);
    await smsc.stop();
  });

  test("is sent after the outstanding responses, and the carrier is read until it responds", async () => {
    const held: Submit[] = [];
    const smsc = await Smsc.start({ submit: (each) => void held.push(each) });
    const link = await smpp.open(settingsFor(smsc), new RecordingHost());
    await until("the link is ready", () => link.isReady);
    const sent = sendOne(link);
    await until("the message was submitted", () => held.length === 1);
    const closed = link.close();
    const { session } = smsc;
    await quiet();
    assert.ok(!session.received.some(({ command }) => command === "unbind"));
    for (const each of held) session.accept(each);
    idOf(await sent);
    await settled(closed, "close");
    assert.equal(session.received.at(-1)?.command, "unbind");
    assert.equal((await sendOne(link)).kind, "throttled", "a message that has not left is not refused");
    await smsc.stop();
  });
});
