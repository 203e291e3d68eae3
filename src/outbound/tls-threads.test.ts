/** TLS connections in threads of their own: bytes pass unchanged, and a host cannot choose what a handshake costs. */
import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { connect, type AddressInfo, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { buffer } from "node:stream/consumers";
import { setTimeout as pause } from "node:timers/promises";
import { createServer, type TlsOptions, type TLSSocket } from "node:tls";
import { dhParameters } from "../../test/support/certificate.ts";
import { TlsThreads } from "./tls-threads.ts";
import type { CostLimits } from "./tls-meter.ts";
import type { TlsTarget } from "./tls-thread.ts";

const hasOpenssl = spawnSync("openssl", ["version"]).status === 0;
const skip = hasOpenssl ? false : "openssl, which makes the certificates, is not installed";
const NAME = "carrier.example.test";
const signal = new AbortController().signal;

type Pair = { cert: string; key: string };
type Issued = Pair & { certPath: string; keyPath: string };

const folder = mkdtempSync(join(tmpdir(), "godwit-tls-"));
after(() => rmSync(folder, { recursive: true, force: true }));
let count = 0;

/** Issues a certificate; without `issuer` it is self-signed. */
function issue(kind: readonly string[], { issuer, isAuthority = false }: { issuer?: Issued; isAuthority?: boolean } = {}): Issued {
  count += 1;
  const [keyPath, certPath, extPath] = ["key", "crt", "ext"].map((end) => join(folder, `${count}.${end}`)) as [string, string, string];
  const run = (...args: string[]): void => void execFileSync("openssl", args, { stdio: "ignore" });
  const name = isAuthority ? `authority-${count}` : NAME;
  const extension = isAuthority ? "basicConstraints=critical,CA:TRUE" : `subjectAltName=DNS:${NAME}`;
  const request = ["-nodes", ...kind, "-keyout", keyPath, "-subj", `/CN=${name}`];
  if (issuer === undefined) run("req", "-x509", ...request, "-days", "2", "-out", certPath, "-addext", extension);
  else {
    writeFileSync(extPath, extension);
    run("req", "-new", ...request, "-out", `${keyPath}.csr`);
    const signed = ["-CA", issuer.certPath, "-CAkey", issuer.keyPath, "-set_serial", String(count), "-extfile", extPath];
    run("x509", "-req", "-in", `${keyPath}.csr`, ...signed, "-days", "2", "-out", certPath);
  }
  return { cert: readFileSync(certPath, "utf8"), key: readFileSync(keyPath, "utf8"), certPath, keyPath };
}

const CURVE = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"];
const rsa = (bits: number): string[] => ["-newkey", `rsa:${bits}`];

class Host {
  connections = 0;
  readonly #open = new Set<Socket>();
  readonly #server;

  private constructor(options: TlsOptions, serve: (socket: TLSSocket) => unknown) {
    this.#server = createServer({ allowHalfOpen: true, ...options }, (socket) => {
      socket.on("error", () => undefined);
      serve(socket);
    });
    this.#server.on("connection", (socket) => {
      this.connections += 1;
      this.#open.add(socket.once("close", () => this.#open.delete(socket)));
    });
    this.#server.on("tlsClientError", () => undefined);
  }

  static async listen(options: TlsOptions, serve: (socket: TLSSocket) => unknown = (socket) => socket.end("hello")): Promise<Host> {
    const host = new Host(options, serve);
    await once(host.#server.listen(0, "127.0.0.1"), "listening");
    return host;
  }

  target(rest: Partial<TlsTarget> = {}): TlsTarget {
    return { host: NAME, port: (this.#server.address() as AddressInfo).port, addresses: ["127.0.0.1"], ...rest };
  }

  resetAll(): void {
    for (const socket of this.#open) socket.resetAndDestroy();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.#open) socket.destroy();
    await new Promise((closed) => this.#server.close(closed));
  }
}

const open = (host: Host, rest: Partial<TlsTarget>, limits?: CostLimits): Promise<Socket> =>
  new TlsThreads(limits).open(host.target(rest), signal);

describe("a TLS connection", { skip }, () => {
  let pair: Issued;
  before(() => (pair = issue(CURVE)));

  test("passes all bytes in both directions, and each end on its own", async () => {
    const sent = randomBytes(5_000_000);
    await using host = await Host.listen(pair, async (socket) => {
      socket.write("greeting ");
      const received = await buffer(socket);
      socket.end(received);
    });
    const socket = await open(host, { ca: pair.cert });
    socket.end(sent);
    const received = await buffer(socket);
    assert.equal(received.subarray(0, 9).toString(), "greeting ");
    assert.ok(received.subarray(9).equals(sent));
  });

  test("passes the last bytes to a slow reader, after both ends have ended", async () => {
    const sent = randomBytes(300_000);
    await using host = await Host.listen(pair, async (socket) => {
      await buffer(socket);
      socket.end(sent);
    });
    const sockets = await Promise.all(Array.from({ length: 5 }, () => open(host, { ca: pair.cert })));
    for (const socket of sockets) socket.end("request");
    await pause(300);
    for (const socket of sockets) assert.ok((await buffer(socket)).equals(sent));
  });

  test("ends when the host resets it", async () => {
    await using host: Host = await Host.listen(pair, (socket) => socket.once("data", () => host.resetAll()));
    const socket = await open(host, { ca: pair.cert });
    socket.on("error", () => undefined).write("x");
    await once(socket, "close");
  });

  test("resumes the session of the last one", async () => {
    const resumed: boolean[] = [];
    await using host = await Host.listen(pair, (socket) => {
      resumed.push(socket.isSessionReused());
      socket.end("hello");
    });
    const threads = new TlsThreads();
    // The first one decides the thread of the others, and each thread has its own sessions.
    for (let time = 0; time < 3; time += 1) await buffer(await threads.open(host.target({ ca: pair.cert }), signal));
    assert.deepEqual(resumed, [false, false, true]);
  });

  test("is refused without the right certificate, with the code of TLS", async () => {
    await using host = await Host.listen(pair);
    await assert.rejects(open(host, {}), { code: "DEPTH_ZERO_SELF_SIGNED_CERT" });
    await assert.rejects(open(host, { ca: pair.cert, serverName: "other.example.test" }), { code: "ERR_TLS_CERT_ALTNAME_INVALID" });
  });

  test("to a port without a listener fails with the code of the socket", async () => {
    const host = await Host.listen(pair);
    const target = host.target({ ca: pair.cert });
    await host[Symbol.asyncDispose]();
    await assert.rejects(new TlsThreads().open(target, signal), { code: "ECONNREFUSED" });
  });

  test("that is stopped is closed on both sides", async () => {
    await using host = await Host.listen({ ...pair, SNICallback: () => undefined });
    const stop = new AbortController();
    const opening = new TlsThreads().open(host.target(), stop.signal);
    while (host.connections === 0) await new Promise(setImmediate);
    stop.abort(new Error("stopped"));
    await assert.rejects(opening, /stopped/);
  });
});

test("a connection outlives the context that it was opened with", { skip }, async () => {
  const pair = issue(CURVE);
  await using host = await Host.listen(pair, (socket) => socket.pipe(socket));
  const threads = new TlsThreads();
  const opened = async (index: number): Promise<Socket> =>
    // A thread keeps the contexts of 1 MiB of certificates. Text between certificates counts.
    threads.open(host.target({ ca: `${"x".repeat(300_000)}\n${index}\n${pair.cert}` }), signal);
  // The first one decides the thread of the others.
  const sockets = [await opened(0)];
  for (let index = 1; index < 8; index += 1) sockets.push(await opened(index));
  for (const socket of sockets) {
    socket.end("hello");
    assert.equal((await buffer(socket)).toString(), "hello");
  }
});

describe("keys of more than 4,096 bits", { skip }, () => {
  let large: Issued;
  before(() => (large = issue(rsa(4_160))));

  test("of a host are refused", async () => {
    await using host = await Host.listen(large);
    await assert.rejects(open(host, { ca: large.cert }), { code: "TLS_CERTIFICATE_TOO_LARGE", message: /4160 bits/ });
  });

  test("of a client connect to nothing", async () => {
    const pair = issue(CURVE);
    await using host = await Host.listen(pair);
    await assert.rejects(open(host, { ca: pair.cert, cert: large.cert, key: large.key }), { code: "TLS_KEY_TOO_LARGE" });
    assert.equal(host.connections, 0);
  });
});

describe("a host cannot choose", { skip }, () => {
  test("an exchange of keys in a finite field", async () => {
    const pair = issue(rsa(2_048));
    const options = { ...pair, maxVersion: "TLSv1.2", ciphers: "DHE-RSA-AES128-GCM-SHA256", dhparam: dhParameters(8_192) } as const;
    await using host = await Host.listen(options);
    await assert.rejects(open(host, { ca: pair.cert }), { code: /SSL/ });
  });

  test("a chain of more than eight certificates", async () => {
    const root = issue(CURVE, { isAuthority: true });
    const chain = [root];
    while (chain.length < 8) chain.unshift(issue(CURVE, { issuer: chain[0] as Issued, isAuthority: true }));
    const leaf = issue(CURVE, { issuer: chain[0] as Issued });
    await using host = await Host.listen({ cert: [leaf, ...chain].map(({ cert }) => cert).join(""), key: leaf.key });
    await assert.rejects(open(host, { ca: root.cert }), { code: "TLS_CERTIFICATE_TOO_LARGE", message: /more than 8/ });
    const shorter = issue(CURVE, { issuer: chain[1] as Issued });
    await using other = await Host.listen({ cert: [shorter, ...chain.slice(1)].map(({ cert }) => cert).join(""), key: shorter.key });
    assert.equal((await buffer(await open(other, { ca: root.cert }))).toString(), "hello");
  });

  test("an older version of TLS", async () => {
    const pair = issue(CURVE);
    await using host = await Host.listen({ ...pair, minVersion: "TLSv1", maxVersion: "TLSv1.1", ciphers: "DEFAULT@SECLEVEL=0" });
    await assert.rejects(open(host, { ca: pair.cert }), { code: /SSL|TLS/ });
  });
});

test("hosts that accept and stay silent delay no other host of their network", { skip }, async () => {
  const pair = issue(CURVE);
  await using silent = await Host.listen({ ...pair, SNICallback: () => undefined });
  await using other = await Host.listen(pair);
  const threads = new TlsThreads();
  const stop = new AbortController();
  const waiting = Array.from({ length: 50 }, () => threads.open(silent.target(), stop.signal));
  while (silent.connections < waiting.length) await new Promise(setImmediate);
  assert.equal((await buffer(await threads.open(other.target({ ca: pair.cert }), signal))).toString(), "hello");
  stop.abort(new Error("stopped"));
  for (const each of waiting) await assert.rejects(each, /stopped/);
});

// The processor time of a cheap handshake may be measured as 0.
const ALL_EXPENSIVE = { cheapMs: -1, budgetMs: -1 };

test("after expensive handshakes, their network is not connected to, and known hosts are", { skip }, async () => {
  const pair = issue(CURVE);
  await using known = await Host.listen(pair);
  await using expensive = await Host.listen(pair);
  const limits = { cheapMs: 1_000, budgetMs: 1_000 };
  const threads = new TlsThreads(limits);
  const call = async (host: Host): Promise<string> => (await buffer(await threads.open(host.target({ ca: pair.cert }), signal))).toString();
  assert.equal(await call(known), "hello");
  Object.assign(limits, ALL_EXPENSIVE);
  // Whether the handshake ends depends on the number of its messages.
  await call(expensive).catch(() => undefined);
  await assert.rejects(call(expensive), { code: "TLS_TOO_EXPENSIVE" });
  assert.equal(expensive.connections, 1);
  Object.assign(limits, { cheapMs: 1_000, budgetMs: 1_000 });
  assert.equal(await call(known), "hello");
});

test("expensive handshakes at the same time end together when the budget of their network is spent", { skip }, async () => {
  const pair = issue(CURVE);
  await using host = await Host.listen(pair);
  const threads = new TlsThreads(ALL_EXPENSIVE);
  const opened = await Promise.allSettled(Array.from({ length: 20 }, () => threads.open(host.target({ ca: pair.cert }), signal)));
  const refused = opened.filter((each) => each.status === "rejected" && (each.reason as { code?: string }).code === "TLS_TOO_EXPENSIVE");
  assert.ok(refused.length >= opened.length - 1, `${refused.length} were refused`);
});

test(
  "other programs of this machine cannot use the thread",
  { skip: skip || (process.platform === "linux" ? false : "has no /proc") },
  async () => {
    const pair = issue(CURVE);
    await using host = await Host.listen(pair);
    await buffer(await open(host, { ca: pair.cert }));
    const names = readFileSync("/proc/net/unix", "utf8").matchAll(/@(godwit-tls-\w+)/g);
    const [, name] = [...names].at(-1) ?? [];
    const socket = connect({ path: `\0${name}` });
    socket.write(`${JSON.stringify({ ...host.target({ ca: pair.cert }), token: "0".repeat(64) })}\n`);
    assert.equal((await buffer(socket)).toString(), "");
    assert.equal(host.connections, 1);
  },
);
