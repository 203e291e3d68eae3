import { after, before, test } from "node:test";
import assert from "node:assert/strict";
import { pino } from "pino";
import { smpp } from "../../src/providers/smpp/smpp.ts";
import { describeProvider } from "../support/provider-conformance.ts";
import { Smsc } from "../support/fakes/smsc.ts";
import { until } from "../support/expect.ts";
import { idOf, openReady, sendOne, settingsFor, withLink } from "../support/fakes/smsc-link.ts";
import { RecordingHost, settled } from "../support/recording-host.ts";
import { byRecipient, deliverSm, receiptSm } from "../support/fakes/smsc-scripts.ts";
import { RECIPIENTS } from "../support/recipient.ts";

const partOfTwo = deliverSm({ esmClass: 0x40, text: Buffer.from([5, 0, 3, 1, 2, 1, 0x41]) });

let carrier: Smsc;
let muteCarrier: Smsc;
before(async () => {
  carrier = await Smsc.start(byRecipient);
  muteCarrier = await Smsc.start({ submit: () => undefined });
});
after(async () => {
  await Promise.all([carrier.stop(), muteCarrier.stop()]);
});

describeProvider({
  name: "smpp",
  channels: ["sms"],
  open: (host) => openReady(carrier, host, { times: { responseMs: 3_000 } }),
  openMute: (host) => openReady(muteCarrier, host, { times: { responseMs: 60_000 } }),
  recipients: RECIPIENTS,
  // The protocol has no field for it.
  givesReferenceBack: false,
});

test("a bind has the configured version, and range of addresses with its type", () =>
  withLink({}, { interfaceVersion: 0x50, addressRange: "^1234", bindTon: 1, bindNpi: 8 }, async ({ smsc }) => {
    const [bind] = smsc.binds;
    assert.deepEqual([bind?.interfaceVersion, bind?.range], [0x50, { ton: 1, npi: 8, text: "^1234" }]);
  }));

test("a pair sends through its transmitter and receives through its receiver", () =>
  withLink({}, { bindMode: "pair" }, async ({ smsc, link, host }) => {
    const boundAs = (command: string) => smsc.sessions.find((session) => session.boundAs === command);
    await until("both are bound", () => smsc.sessions.length === 2 && link.state?.kind === "connected");
    const id = idOf(await sendOne(link));
    assert.deepEqual([boundAs("bind_transmitter")?.submits.length, boundAs("bind_receiver")?.submits.length], [1, 0]);
    assert.equal(await boundAs("bind_receiver")?.deliver(receiptSm(id)), 0);
    assert.equal(host.receipts[0]?.providerMessageId, id);
    boundAs("bind_receiver")?.socket.destroy();
    await until("the link reports that one half is unavailable", () => link.state?.kind === "connecting");
    assert.equal(link.isReady, true, "sending needs only the transmitter");
  }));

test("several binds share one window, and the link sends over the others when one ends", () =>
  withLink({ submit: () => undefined }, { binds: 3, window: 4 }, async ({ smsc, link, host }) => {
    await until("all are bound", () => smsc.bound.length === 3 && host.changes >= 3);
    const sends = Array.from({ length: 6 }, () => sendOne(link));
    await until("the window is full", () => smsc.submits.length === 4);
    assert.deepEqual(
      smsc.bound.map(({ submits }) => submits.length).toSorted((a, b) => a - b),
      [1, 1, 2],
      "the binds have equal shares",
    );
    smsc.script.submit = undefined;
    for (const session of smsc.sessions) for (const submit of session.submits) session.accept(submit);
    const ids = (await Promise.all(sends)).map(idOf);
    assert.equal(new Set(ids).size, 6);
    const [first, second] = smsc.bound;
    assert.equal(await second?.deliver(receiptSm(ids[0] ?? "")), 0);
    assert.equal(host.receipts[0]?.providerMessageId, ids[0], "a receipt may come on any of them");
    first?.socket.destroy();
    await until("the bind has ended", () => first?.isClosed === true);
    idOf(await sendOne(link));
    assert.deepEqual([link.isReady, link.state?.kind], [true, "connected"]);
  }));

test("several binds share one rate", () =>
  withLink({}, { binds: 2, partsPerSecond: 20 }, async ({ smsc, link }) => {
    await until("both are bound", () => smsc.bound.length === 2);
    await Promise.all(Array.from({ length: 12 }, () => sendOne(link)));
    const times = smsc.submits.map(({ atMs }) => atMs);
    // Twelve parts at 20 a second, of which two may leave at once.
    assert.ok((times.at(-1) ?? 0) - (times[0] ?? 0) >= 400, times.join(" "));
  }));

test("a link with several hosts binds at each, and at another one when one is unavailable", async () => {
  const other = await Smsc.start();
  const gone = await Smsc.start();
  const port = gone.port;
  await gone.stop();
  try {
    await withLink({}, { binds: 2 }, async ({ smsc }) => {
      const host = new RecordingHost();
      const hosts = [`127.0.0.1:${port}`, `127.0.0.1:${smsc.port}`, `127.0.0.1:${other.port}`];
      const link = await openReady(smsc, host, { hosts, binds: 2 });
      await until("both binds are at hosts that are available", () => smsc.bound.length + other.bound.length === 4);
      idOf(await sendOne(link));
      await settled(link.close(), "close");
    });
  } finally {
    await other.stop();
  }
});

test("a transmitter sends and a receiver does not", async () => {
  await withLink({}, { bindMode: "transmitter" }, async ({ smsc, link }) => {
    idOf(await sendOne(link));
    assert.equal(smsc.session.boundAs, "bind_transmitter");
  });
  const smsc = await Smsc.start();
  const host = new RecordingHost();
  const link = await smpp.open(settingsFor(smsc, { bindMode: "receiver" }), host);
  await until("the receiver is bound", () => link.state?.kind === "connected");
  assert.deepEqual([link.isReady, smsc.session.boundAs], [false, "bind_receiver"]);
  assert.equal(await smsc.session.deliver(receiptSm("a-1")), 0);
  assert.equal(host.receipts[0]?.providerMessageId, "a-1");
  await settled(link.close(), "close");
  await smsc.stop();
});

test("a closed link leaves nothing open, whatever was in progress", async () => {
  const smsc = await Smsc.start({ submit: () => undefined });
  const timers = () => process.getActiveResourcesInfo().filter((kind) => kind === "Timeout").length;
  const atFirst = timers();
  const host = new RecordingHost().behave("hangs");
  const link = await openReady(smsc, host, { window: 1, partsPerSecond: 1, times: { drainMs: 50 } });
  const sends = [sendOne(link), sendOne(link), sendOne(link)];
  await until("one message was submitted", () => smsc.submits.length === 1);
  void smsc.session.request({ command: "deliver_sm", short: receiptSm("a") }, 1);
  void smsc.session.request({ command: "deliver_sm", short: partOfTwo }, 1);
  await host.untilCalled();
  await settled(link.close(), "close");
  assert.deepEqual(
    (await Promise.all(sends)).map(({ kind }) => kind),
    ["unknown", "throttled", "throttled"],
  );
  await until("no timer is left", () => timers() <= atFirst);
  await smsc.stop();
});

test("the log contains no text, password or number", async () => {
  const lines: string[] = [];
  const smsc = await Smsc.start({ submit: (each, session) => session.refuse(each, 0x08) });
  const host = new RecordingHost().behave("rejects");
  Object.assign(host, { log: pino({}, { write: (line: string) => void lines.push(line) }) });
  const link = await openReady(smsc, host);
  await sendOne(link, { body: "My secret text" });
  await smsc.session.deliver(deliverSm({ text: Buffer.from("Their secret text") }));
  await smsc.session.deliver(receiptSm("a"));
  smsc.session.raw(Buffer.alloc(16, 0xff));
  await until("the connection was cut", () => smsc.sessions.length > 1);
  await settled(link.close(), "close");
  await smsc.stop();
  assert.ok(lines.length > 3);
  for (const secret of ["secret", "4915112345678", "14155550100"]) assert.ok(!lines.join("").includes(secret), secret);
});
