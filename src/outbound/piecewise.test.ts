/** A host sends many bytes at once: all of them arrive, and those that are expensive to read use a short turn. */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import type { Socket } from "node:net";
import { buffer } from "node:stream/consumers";
import { setTimeout as pause } from "node:timers/promises";
import { test } from "node:test";
import { selfSigned } from "../../test/support/certificate.ts";
import { answer, Receiver, Sender } from "../../test/support/http-receiver.ts";
import { openSocket } from "./open-socket.ts";

const cpuMs = ({ user, system } = process.threadCpuUsage()): number => (user + system) / 1_000;

/** The processor time of the longest turn of the event loop during `run`. */
async function longestTurnMs(run: () => Promise<unknown>): Promise<number> {
  let [longest, startedAt] = [0, cpuMs()];
  const endTurn = (): void => {
    const now = cpuMs();
    longest = Math.max(longest, now - startedAt);
    startedAt = now;
    next = setImmediate(endTurn);
  };
  let next = setImmediate(endTurn);
  await run();
  clearImmediate(next);
  return longest;
}

const NAMES = "a:\r\n".repeat(100_000);
const CHUNKED = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
// Their turns take 20 ms, and took from 300 to 700 ms without a limit.
for (const [sentence, raw, isTls] of [
  ["100,000 headers", `HTTP/1.1 200 OK\r\n${NAMES}`, false],
  ["100,000 headers over TLS", `HTTP/1.1 200 OK\r\n${NAMES}`, true],
  ["100,000 trailers", `${CHUNKED}0\r\n${NAMES}`, false],
] as const)
  test(`a response with ${sentence} uses no long turn`, async () => {
    const certificate = selfSigned({ address: "127.0.0.1" });
    await using receiver = await Receiver.listen(answer(raw), isTls ? { certificate } : {});
    await using sender = new Sender({ ca: certificate.cert });
    const url = receiver.url("127.0.0.1", isTls ? "https" : "http");
    const longest = await longestTurnMs(() => sender.post(url));
    assert.ok(receiver.received !== "");
    await receiver.disconnected();
    assert.ok(longest < 200, `a turn of ${longest} ms`);
  });

for (const lengths of [[1_000_000], [1_024, 1_024, 1, 1_024], [0]])
  test(`${lengths.join(", ")} bytes arrive in order, with their end`, async () => {
    const bytes = lengths.map((length) => randomBytes(length));
    const send = async (to: Socket): Promise<void> => {
      for (const each of bytes) {
        to.write(each);
        await pause(5);
      }
      to.end();
    };
    await using receiver = await Receiver.listen((socket) => void send(socket));
    const socket = await openSocket({ host: "127.0.0.1", port: receiver.port, isTls: false }, 10_000);
    assert.ok(!(socket instanceof Error));
    assert.ok(Buffer.concat(bytes).equals(await buffer(socket)));
  });
