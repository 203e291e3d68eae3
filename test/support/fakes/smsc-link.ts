/** SMPP links to the fake carrier, which are closed at the end of a test. */
import assert from "node:assert/strict";
import type { Connection, Host, SendOutcome } from "../../../src/providers/provider.ts";
import { SMPP_DEFAULTS, type SmppSettings, type SmppTimes } from "../../../src/providers/smpp/settings.ts";
import { smpp } from "../../../src/providers/smpp/smpp.ts";
import { until } from "../expect.ts";
import { mayLeave, outgoing, RecordingHost, settled, type OutgoingFields } from "../recording-host.ts";
import { Smsc, type Script } from "./smsc.ts";

/** Short enough for fast tests, and long enough for a busy machine. */
const TIMES: Partial<SmppTimes> = {
  bindMs: 2_000,
  enquireMs: 60_000,
  responseMs: 5_000,
  firstReconnectMs: 10,
  maxReconnectMs: 40,
  refusedMs: 60_000,
  firstPauseMs: 20,
  maxPauseMs: 200,
  drainMs: 500,
  unbindMs: 500,
};

export const settingsFor = (smsc: Smsc, settings: Partial<SmppSettings> = {}): SmppSettings => ({
  ...SMPP_DEFAULTS,
  host: "127.0.0.1",
  port: smsc.port,
  systemId: "godwit",
  password: "secret",
  ...settings,
  times: { ...TIMES, ...settings.times },
});

export async function openReady(smsc: Smsc, host: Host, settings: Partial<SmppSettings> = {}): Promise<Connection> {
  const link = await smpp.open(settingsFor(smsc, settings), host);
  await until("the link to be bound", () => link.isReady);
  return link;
}

export type Rig = { smsc: Smsc; link: Connection; host: RecordingHost };

/** Runs a test with a carrier and a bound link, and closes both. */
export async function withLink(script: Script, settings: Partial<SmppSettings>, run: (rig: Rig) => Promise<void>): Promise<void> {
  const smsc = await Smsc.start(script);
  try {
    const host = new RecordingHost();
    const link = await openReady(smsc, host, settings);
    try {
      await run({ smsc, link, host });
    } finally {
      await settled(link.close(), "close");
    }
  } finally {
    await smsc.stop();
  }
}

const TO = "+4915112345678";

export const sendOne = (link: Connection, fields: OutgoingFields = {}, signal = new AbortController().signal): Promise<SendOutcome> =>
  settled(link.send(outgoing({ recipient: TO, sender: "+14155550100", ...fields }), signal, mayLeave), "a send");

export const idOf = (outcome: SendOutcome): string =>
  outcome.kind === "accepted" ? outcome.providerMessageId : assert.fail(`not accepted: ${JSON.stringify(outcome)}`);
