/** SMPP against independent peers: the SMSC driver of Debian's kannel-extras, and the server of npm's `smpp`. */
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { createServer, type AddressInfo } from "node:net";
import { before, describe, test } from "node:test";
import peer, { type Pdu, type Session } from "smpp";
import type { Connection } from "../../src/providers/provider.ts";
import { SMPP_DEFAULTS, type SmppSettings } from "../../src/providers/smpp/settings.ts";
import { smpp } from "../../src/providers/smpp/smpp.ts";
import { until } from "../support/expect.ts";
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

const freePort = (): Promise<number> =>
  new Promise((resolve) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const { port } = server.address() as AddressInfo;
      server.close(() => resolve(port));
    });
  });

const signal = new AbortController().signal;

const DRIVER = "/usr/lib/kannel/test/drive_smpp";
const APT = "/usr/bin/apt-get";
const INSTALL_MS = 180_000;

/** The reason why the driver is missing, after an attempt to install it. */
function missingDriver(): string | undefined {
  if (existsSync(DRIVER)) return undefined;
  const canInstall = process.getuid?.() === 0 && existsSync(APT);
  if (!canInstall) return "kannel-extras is not installed, and only root can install it";
  const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive" };
  spawnSync(APT, ["install", "-y", "-q", "kannel-extras"], { env, timeout: INSTALL_MS, stdio: "ignore" });
  return existsSync(DRIVER) ? undefined : "kannel-extras could not be installed";
}

describe("the SMSC driver of kannel-extras", () => {
  let missing: string | undefined;
  before(() => {
    missing = missingDriver();
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
          host.messages.map(({ from, to, text }) => [from, to, text]),
          [["+14155550123", "12345", "STOP"]],
        );
        host.behave("rejects");
        assert.equal(await acknowledged({ short_message: "again" }), 0x64);
      }),
    ));
});
