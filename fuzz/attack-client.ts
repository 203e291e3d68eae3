/** The client side of attacks: connections that are held, and requests of the attacker. */
import { randomUUID } from "node:crypto";
import { connect, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import { setTimeout as sleep } from "node:timers/promises";
import { Agent, request } from "undici";
import type { Environment } from "../src/model/owner.ts";
import type { MeasuredService } from "./service.ts";

/** `attackers`: the keys of the accounts that attack. */
export type Target = { service: MeasuredService; attackers: readonly Record<Environment, string>[] };

/** An attack that has begun. `done`: it lasts at least until then. */
export type Running = { done?: Promise<void>; stop: () => Promise<void> };

const ADDRESSES = 20;
const LEAST_PAUSE_MS = 100;
const OPEN_EVERY_MS = 2;
const REOPEN_EVERY_MS = 10;

/** Opens connections from several addresses that write the bytes and never read. Opens each again when the service closes it. Opens at
 *  most 500 a second, and 100 a second again: a flood of connections is a matter of the proxy or the firewall. */
export function hold({ service }: Target, count: number, bytes: (index: number) => string | Buffer): Running {
  const { port, protocol } = new URL(service.url);
  const open = new Set<Socket>();
  let isOver = false;
  const openOne = (index: number): void => {
    if (isOver) return;
    const options = { port: Number(port), host: "127.0.0.1", localAddress: `127.0.3.${1 + (index % ADDRESSES)}` };
    const socket = protocol === "https:" ? connectTls({ ...options, rejectUnauthorized: false }) : connect(options);
    open.add(socket.on("error", () => undefined));
    socket.pause().write(bytes(index));
    socket.on("close", () => {
      open.delete(socket);
      setTimeout(() => openOne(index), Math.max(LEAST_PAUSE_MS, count * REOPEN_EVERY_MS)).unref();
    });
  };
  for (let index = 0; index < count; index += 1) setTimeout(() => openOne(index), index * OPEN_EVERY_MS);
  return {
    stop: async () => {
      isOver = true;
      for (const socket of open) socket.destroy();
    },
  };
}

export const head = (method: string, path: string, headers: Record<string, string> = {}): string =>
  [`${method} ${path} HTTP/1.1`, "host: godwit", ...Object.entries(headers).map((pair) => pair.join(": ")), "", ""].join("\r\n");

export const JSON_TYPE = { "content-type": "application/json" };

type Call = { method?: "GET" | "POST" | "DELETE"; path: string; body?: string; headers?: Record<string, string> };

const dispatcher = new Agent({ connections: 1, headersTimeout: 60_000, connect: { rejectUnauthorized: false } });

/** Sends a request. */
export async function call({ service }: Target, { method = "POST", path, body, headers }: Call): Promise<Record<string, unknown>> {
  const all = { ...JSON_TYPE, "idempotency-key": randomUUID(), ...headers };
  const reply = await request(`${service.url}${path}`, { method, headers: all, body: body ?? null, dispatcher });
  const text = await reply.body.text();
  return { ...(text.startsWith("{") && (JSON.parse(text) as object)), status: reply.statusCode };
}

/** Sends a request of the first attacker with its live key. */
export const callAsAccount = (target: Target, method: Call["method"], path: string, body?: unknown): Promise<Record<string, unknown>> =>
  call(target, {
    ...(method && { method }),
    path,
    ...(body !== undefined && { body: JSON.stringify(body) }),
    headers: { authorization: `Bearer ${target.attackers[0]?.live}` },
  });

const REPEAT_PAUSE_MS = 200;

/** Repeats the work with pauses, so that the single one is measured and not its number. */
export function repeat(work: () => Promise<unknown>, close: () => Promise<unknown> = async () => undefined): Running {
  const over = new AbortController();
  const loop = async (): Promise<void> => {
    while (!over.signal.aborted) {
      await work();
      await sleep(REPEAT_PAUSE_MS, undefined, over).catch(() => undefined);
    }
  };
  const looping = loop();
  // A failure is reported at the end.
  looping.catch(() => undefined);
  return {
    stop: async () => {
      over.abort();
      try {
        await looping;
      } finally {
        await close();
      }
    },
  };
}
