/** Shared code of the tests over HTTP: assertions for all responses, waits, and a connection that sends raw bytes. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { ERRORS, type ErrorCode } from "../../src/http/codes.ts";
import { replyOf, type Godwit, type Reply } from "./harness.ts";

export type Fault = { pointer?: string; parameter?: string; header?: string; code: string; detail: string };

/** The signing keys may be kept by caches; all other responses of the API may not. */
export const KEY_SET_CACHE = "public, max-age=300";

/** Asserts the headers that every response has. */
export function assertCommonHeaders({ headers }: Pick<Reply, "headers">, cacheControl = "no-store"): void {
  assert.match(headers.get("x-request-id") ?? "", /^req_[0-9a-z]{26}$/);
  assert.equal(headers.get("cache-control"), cacheControl);
  assert.equal(headers.get("x-content-type-options"), "nosniff");
  assert.equal(headers.get("server"), null);
  assert.equal(headers.get("x-powered-by"), null);
}

/** Asserts the problem document of RFC 9457, with the status and the request id of its response. */
export function assertProblem(reply: Reply, code: ErrorCode): void {
  assert.equal(reply.json["code"], code, reply.text);
  assert.equal(reply.status, ERRORS[code].status);
  assertCommonHeaders(reply);
  assert.equal(reply.headers.get("content-type"), "application/problem+json; charset=utf-8");
  const { type, title, status, detail, request_id: requestId } = reply.json;
  assert.match(String(type), new RegExp(`/errors/${code}$`));
  assert.equal(title, ERRORS[code].title);
  assert.equal(status, reply.status);
  assert.ok(typeof detail === "string" && detail !== "", "detail has a text");
  assert.equal(requestId, reply.headers.get("x-request-id"));
}

/** Asserts a refusal by a business rule, and that its detail names the status of the message. */
export function assertRefused(reply: Reply, code: ErrorCode, status: string): void {
  assertProblem(reply, code);
  assert.match(String(reply.json["detail"]), new RegExp(`^The message is ${status}; only `));
}

export const faultsOf = ({ json }: Pick<Reply, "json">): Fault[] => (json["errors"] ?? []) as Fault[];
export const pointersOf = (reply: Pick<Reply, "json">): (string | undefined)[] => faultsOf(reply).map(({ pointer }) => pointer);

/** The time limit of waits. It is long because a busy machine can be slow. */
export const LIMIT_MS = 180_000;

/** An interval that no test reaches, for timers that must not cause the tested effect. */
export const NEVER_MS = 3_600_000;

// Most waits end at once. A poll every few milliseconds during a long wait would keep the database busy.
const LONGEST_WAIT_MS = 80;

type Pending = false | undefined;

/** Polls until `look` returns a value other than false and undefined, and returns the value. The error at the time limit names `what`, which
 *  can be a function that reports the last state. */
export async function until<T>(
  what: string | (() => string),
  look: () => T | Pending | Promise<T | Pending>,
  timeoutMs = LIMIT_MS,
): Promise<Exclude<T, Pending>> {
  const deadline = performance.now() + timeoutMs;
  for (let waitMs = 5; ; waitMs = Math.min(2 * waitMs, LONGEST_WAIT_MS)) {
    const value = await look();
    if (value !== undefined && value !== false) return value as Exclude<T, Pending>;
    if (performance.now() >= deadline) assert.fail(`within ${timeoutMs} ms: ${typeof what === "string" ? what : what()}`);
    await sleep(waitMs);
  }
}

/** Waits until a service on the node's database listens for the notifications of other nodes. */
export const untilListening = (node: Godwit): Promise<true> =>
  until("the service to listen", async () => {
    const rows = await node.rows("select from pg_stat_activity where datname = current_database() and query like 'listen %'");
    return rows.length > 0 || undefined;
  });

/** One connection, on which a test writes raw bytes. */
export class Wire {
  readonly socket: Socket;
  #received = Buffer.alloc(0);
  #isEnded = false;

  private constructor(socket: Socket) {
    this.socket = socket;
    socket.on("data", (chunk) => (this.#received = Buffer.concat([this.#received, chunk])));
    socket.on("close", () => (this.#isEnded = true));
    socket.on("error", () => (this.#isEnded = true));
  }

  /** Connects, from another address of this machine if one is given. */
  static async open(url: string, localAddress?: string): Promise<Wire> {
    const { hostname, port } = new URL(url);
    const socket = connect({ port: Number(port), host: hostname, ...(localAddress === undefined ? {} : { localAddress }) });
    await once(socket, "connect");
    return new Wire(socket);
  }

  /** A request without a body, or the head of one whose body follows. */
  request(line: string, headers: Record<string, string> = {}, body = ""): void {
    const fields = Object.entries({ host: "godwit.test", ...headers }).map(([name, value]) => `${name}: ${value}\r\n`);
    this.socket.write(`${line} HTTP/1.1\r\n${fields.join("")}\r\n${body}`);
  }

  write(bytes: string | Buffer): void {
    this.socket.write(bytes);
  }

  /** The next response on this connection. */
  async reply({ isHead = false, timeoutMs = LIMIT_MS } = {}): Promise<Reply> {
    return until("a response", () => this.#take(isHead), timeoutMs);
  }

  async closed(timeoutMs = LIMIT_MS): Promise<void> {
    await until("the connection to be closed", () => this.#isEnded || undefined, timeoutMs);
  }

  close(): void {
    this.socket.destroy();
  }

  #take(isHead: boolean): Reply | undefined {
    const headEnd = this.#received.indexOf("\r\n\r\n");
    if (headEnd === -1) {
      assert.ok(!this.#isEnded, "the connection was closed without a response");
      return undefined;
    }
    const [line = "", ...fields] = this.#received.subarray(0, headEnd).toString("latin1").split("\r\n");
    const headers = new Headers(fields.map((field) => [field.slice(0, field.indexOf(":")), field.slice(field.indexOf(":") + 1).trim()]));
    const end = headEnd + 4 + (isHead ? 0 : Number(headers.get("content-length") ?? 0));
    if (this.#received.length < end) return undefined;
    const text = this.#received.subarray(headEnd + 4, end).toString();
    this.#received = this.#received.subarray(end);
    return replyOf(Number(line.split(" ")[1]), headers, text);
  }
}

/** Sends the bytes of one request on a new connection, and returns the response. */
export async function exchange(
  url: string,
  bytes: string | Buffer,
  options: { isHead?: boolean; timeoutMs?: number } = {},
): Promise<Reply> {
  const wire = await Wire.open(url);
  wire.write(bytes);
  const reply = await wire.reply(options);
  wire.close();
  return reply;
}
