import { after, before, test } from "node:test";
import assert from "node:assert/strict";
import { pino } from "pino";
import { describeProvider } from "../support/provider-conformance.ts";
import { Smsc, until } from "../support/fakes/smsc.ts";
import { idOf, LinkHost, openReady, sendOne, withLink } from "../support/fakes/smsc-link.ts";
import { byRecipient, deliverSm, receiptSm, RECIPIENTS } from "../support/fakes/smsc-scripts.ts";
import { settled } from "../support/recording-host.ts";

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

test("a closed link leaves nothing open, whatever was in progress", async () => {
  const smsc = await Smsc.start({ submit: () => undefined });
  const timers = () => process.getActiveResourcesInfo().filter((kind) => kind === "Timeout").length;
  const atFirst = timers();
  const host = new LinkHost().behave("hangs");
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
  const host = new LinkHost().behave("rejects");
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
