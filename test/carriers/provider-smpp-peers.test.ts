/** SMPP against independent peers: the SMSC driver of Debian's kannel-extras, Perl's Net::SMPP, and the server of npm's `smpp`. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { before, describe, test } from "node:test";
import peer, { type Pdu, type Session } from "smpp";
import type { Connection } from "../../src/providers/provider.ts";
import { SMPP_DEFAULTS, type SmppSettings } from "../../src/providers/smpp/settings.ts";
import { smpp } from "../../src/providers/smpp/smpp.ts";
import { encodeText } from "../../src/providers/smpp/text.ts";
import { missingProgram } from "../support/debian-package.ts";
import { until } from "../support/expect.ts";
import { freePort } from "../support/free-port.ts";
import { has, mayLeave, outgoing, RecordingHost, settled } from "../support/recording-host.ts";

const RECIPIENT = "+14155550123";

const settings = (port: number, more: Partial<SmppSettings> = {}): SmppSettings => ({
  ...SMPP_DEFAULTS,
  host: "127.0.0.1",
  port,
  systemId: "godwit",
  password: "secret",
  ...more,
});

async function onLink(of: SmppSettings, run: (connection: Connection, host: RecordingHost) => Promise<void>): Promise<void> {
  const host = new RecordingHost();
  const connection = await settled(smpp.open(of, host), "open");
  try {
    await until("the bind", () => connection.isReady || undefined);
    await run(connection, host);
  } finally {
    await settled(connection.close(), "close");
  }
}

const signal = new AbortController().signal;

const DRIVER = "/usr/lib/kannel/test/drive_smpp";

describe("the SMSC driver of kannel-extras", () => {
  let missing: string | undefined;
  before(() => {
    missing = missingProgram("kannel-extras", DRIVER);
  });

  test("accepts our bind, delivers its messages, accepts ours, and accepts our unbind", async (context) => {
    if (missing !== undefined) return context.skip(missing);
    const port = await freePort();
    const driver = spawn(DRIVER, ["-v", "4", "-p", String(port), "-m", "20"], { stdio: "ignore" });
    const ended = new Promise((resolve) => driver.once("exit", resolve));
    try {
      // The driver supports only transmitters and receivers.
      await onLink(settings(port, { bindMode: "pair" }), async (connection, host) => {
        await until("its messages", () => (host.messages.length >= 20 ? true : undefined));
        assert.ok(host.messages.every(({ channel, from, text }) => channel === "sms" && from !== "" && text !== ""));
        const outcomes = await Promise.all(
          Array.from({ length: 10 }, () => connection.send(outgoing({ recipient: RECIPIENT, sender: "12345" }), signal, mayLeave)),
        );
        assert.deepEqual(new Set(outcomes.map(({ kind }) => kind)), new Set(["accepted"]));
      });
    } finally {
      driver.kill("SIGKILL");
      await ended;
    }
  });
});

describe("Perl's Net::SMPP as SMSC", () => {
  const MODULE = "/usr/share/perl5/Net/SMPP.pm";
  const SCRIPT = join(import.meta.dirname, "..", "support", "fakes", "net-smpp.pl");
  let missing: string | undefined;
  before(() => {
    missing = missingProgram("libnet-smpp-perl", MODULE);
  });

  test("reads our bind, texts, parameters and unbind, and we read its responses and receipts", async (context) => {
    if (missing !== undefined) return context.skip(missing);
    const script = spawn("/usr/bin/perl", [SCRIPT], { stdio: ["ignore", "pipe", "ignore"] });
    const ended = new Promise((resolve) => script.once("exit", resolve));
    const lines: string[] = [];
    createInterface({ input: script.stdout }).on("line", (line) => lines.push(line));
    try {
      const port = Number(await until("its port", () => lines[0]));
      const texts = ["Hello @ €{}", "x".repeat(161), "Привет"];
      await onLink(settings(port, { dltEntityId: "1101", priorityFlag: { high: 2 } }), async (connection, host) => {
        for (const body of texts) {
          const message = outgoing({ recipient: RECIPIENT, sender: "Godwit", body, priority: "high" });
          const outcome = await settled(connection.send(message, signal, mayLeave), "a send");
          await host.until(message, outcome, has("delivered"));
        }
      });
      await settled(ended, "the end of the script");
      const pdus = lines.slice(1).map((line) => JSON.parse(line) as Record<string, string>);
      const submits = pdus.filter(({ command }) => command === "submit_sm");
      assert.deepEqual(
        submits.map(({ short_message: text }) => text),
        texts.flatMap((body) => encodedParts(body, submits)),
      );
      for (const { source_addr: source, destination_addr: destination, 5120: entity } of submits)
        assert.deepEqual([source, destination, entity], ["Godwit", RECIPIENT.slice(1), "1101"].map(inHex));
      assert.deepEqual(new Set(submits.map(({ priority_flag: flag }) => flag)), new Set([inHex("2")]));
      assert.equal(pdus.filter(({ command }) => command === "deliver_sm_resp").length, submits.length);
      assert.deepEqual([pdus[0]?.["command"], pdus.at(-1)?.["command"]], ["bind_transceiver", "unbind"]);
    } finally {
      script.kill("SIGKILL");
      await ended;
    }
  });
});

const inHex = (text: string): string => Buffer.from(text, "latin1").toString("hex");

/** The bytes of the parts, with the reference that the SMSC has read in the first header. */
function encodedParts(body: string, submits: readonly Record<string, string>[]): string[] {
  const header = submits.find(({ short_message: text }) => text?.startsWith("050003"))?.["short_message"] ?? "";
  const reference = Number.parseInt(header.slice(6, 8), 16);
  return (encodeText(body, { alphabet: "gsm7", longText: "udh8" }, reference) ?? []).map(({ text }) => text.toString("hex"));
}

async function withServer(run: (port: number, sessions: readonly Session[], heard: readonly Pdu[]) => Promise<void>): Promise<void> {
  const sessions: Session[] = [];
  const heard: Pdu[] = [];
  const server = peer.createServer((session) => {
    sessions.push(session);
    session.on("error", () => undefined);
    session.on("pdu", (pdu) => {
      heard.push(pdu);
      if (pdu.command.endsWith("_resp")) return;
      if (pdu.command === "submit_sm") session.send(pdu.response({ message_id: `p${heard.length}` }));
      else if (["bind_transceiver", "bind_transmitter", "bind_receiver", "enquire_link", "unbind"].includes(pdu.command))
        session.send(pdu.response());
    });
  });
  const port = await new Promise<number>((resolve) => server.listen(0, "127.0.0.1", () => resolve((server.address() as AddressInfo).port)));
  try {
    await run(port, sessions, heard);
  } finally {
    server.close();
  }
}

describe("the server of the package smpp", () => {
  test("reads our texts unchanged, short and long, in every alphabet", () =>
    withServer((port, _sessions, heard) =>
      onLink(settings(port), async (connection) => {
        const texts = ["Hello @ €{}", "Grüße, Ω and ñ", "Привет 😀"];
        for (const body of texts) {
          const outcome = await connection.send(outgoing({ recipient: RECIPIENT, sender: "Godwit", body }), signal, mayLeave);
          assert.equal(outcome.kind, "accepted");
        }
        const submits = heard.filter(({ command }) => command === "submit_sm");
        assert.deepEqual(
          submits.map(({ short_message: text }) => String(text?.message)),
          texts,
        );
        const long = "x".repeat(400);
        const outcome = await connection.send(outgoing({ recipient: RECIPIENT, body: long }), signal, mayLeave);
        assert.ok(outcome.kind === "accepted" && outcome.furtherPartIds?.length === 2);
        const parts = heard.filter(({ command }) => command === "submit_sm").slice(texts.length);
        assert.equal(parts.map(({ short_message: text }) => String(text?.message)).join(""), long);
      }),
    ));

  test("delivers receipts and messages that we acknowledge once they are committed", () =>
    withServer((port, sessions) =>
      onLink(settings(port), async (connection, host) => {
        const message = outgoing({ recipient: RECIPIENT });
        const outcome = await connection.send(message, signal, mayLeave);
        assert.ok(outcome.kind === "accepted");
        const receipt = `id:${outcome.providerMessageId} sub:001 dlvrd:001 submit date:2611151200 done date:2611151201 stat:DELIVRD err:000 text:`;
        const addresses = { source_addr: "14155550123", source_addr_ton: 1, source_addr_npi: 1, destination_addr: "12345" };
        const acknowledged = (fields: object): Promise<number> =>
          settled(
            new Promise((resolve) => sessions[0]?.deliver_sm({ ...addresses, ...fields }, ({ command_status: status }) => resolve(status))),
            "an acknowledgement",
          );
        assert.equal(await acknowledged({ esm_class: 4, short_message: receipt }), 0);
        await host.until(message, outcome, has("delivered"));
        assert.equal(await acknowledged({ short_message: "STOP" }), 0);
        assert.deepEqual(
          host.messages.map(({ from, fromType, to, text }) => [from, fromType, to, text]),
          [["14155550123", "international", "12345", "STOP"]],
        );
        host.behave("rejects");
        assert.equal(await acknowledged({ short_message: "again" }), 0x64);
      }),
    ));
});
