/** TLS of the service itself, TLS of a proxy in front of it, and the refusal to start without either. */
import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { X509Certificate } from "node:crypto";
import { once } from "node:events";
import { chmodSync, chownSync, copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { request } from "node:https";
import { connect as connectTcp } from "node:net";
import { networkInterfaces, tmpdir } from "node:os";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { after, before, describe, test } from "node:test";
import { connect as connectTls, type SecureVersion, type TLSSocket } from "node:tls";
import { findServiceUser, isRoot } from "../../src/embedded/run-as.ts";
import { assertCommonHeaders, assertProblem, until } from "../support/expect.ts";
import { createDatabase } from "../support/database.ts";
import { runGodwit, SECRET_KEY, startGodwit, type Godwit, type LogLine, type Reply } from "../support/harness.ts";

const hasOpenssl = spawnSync("openssl", ["version"]).status === 0;
const skip = hasOpenssl ? false : "openssl, which makes the certificates, is not installed";

let folder: string;
const certOf = (name: string): string => join(folder, `${name}.crt`);
const keyOf = (name: string): string => join(folder, `${name}.key`);

before(() => {
  folder = mkdtempSync(join(tmpdir(), "godwit-tls-"));
  // A service that root starts reads the files again as another user.
  chmodSync(folder, 0o755);
  if (hasOpenssl) for (const name of ["first", "second"]) makeCertificate(name);
});
after(() => rmSync(folder, { recursive: true, force: true }));

function makeCertificate(name: string, days = 2): void {
  const subject = ["-subj", `/CN=${name}`, "-addext", "subjectAltName=IP:127.0.0.1"];
  const key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", keyOf(name)];
  execFileSync("openssl", ["req", "-x509", ...key, "-out", certOf(name), "-days", String(days), ...subject], { stdio: "ignore" });
}

async function handshake(url: string, version: SecureVersion): Promise<TLSSocket> {
  const { hostname, port } = new URL(url);
  const options = { minVersion: version, maxVersion: version, rejectUnauthorized: false };
  const socket = connectTls({ ...options, host: hostname, port: Number(port) });
  await once(socket, "secureConnect");
  return socket;
}

async function get(url: string, path: string): Promise<Reply> {
  const sent = request(`${url}${path}`, { rejectUnauthorized: false, agent: false }).end();
  const [response] = (await once(sent, "response")) as [NodeJS.ReadableStream & { statusCode: number; rawHeaders: string[] }];
  let text = "";
  for await (const chunk of response) text += String(chunk);
  const pairs = Array.from({ length: response.rawHeaders.length / 2 }, (_, index) => response.rawHeaders.slice(2 * index, 2 * index + 2));
  return { status: response.statusCode, headers: new Headers(pairs as [string, string][]), text, json: JSON.parse(text) as Reply["json"] };
}

describe("with a certificate", { skip }, () => {
  let godwit: Godwit;
  before(async () => {
    copyFileSync(certOf("first"), certOf("used"));
    copyFileSync(keyOf("first"), keyOf("used"));
    const user = isRoot() ? findServiceUser() : undefined;
    if (user !== undefined) chownSync(keyOf("used"), user.uid, user.gid);
    godwit = await startGodwit({ asProcess: true, env: { GODWIT_TLS_CERT: certOf("used"), GODWIT_TLS_KEY: keyOf("used") } });
  });
  after(() => godwit.stop());

  const served = async (): Promise<string> => {
    const socket = await handshake(godwit.url, "TLSv1.3");
    const { fingerprint256 } = socket.getPeerCertificate();
    socket.destroy();
    return fingerprint256;
  };
  const fingerprintOf = (name: string): string => new X509Certificate(readFileSync(certOf(name))).fingerprint256;
  const untilOutput = (text: string): Promise<string> =>
    until(`the output contains: ${text}`, () => godwit.output.find((line) => line.includes(text)));

  test("TLS 1.3 is supported", async () => {
    assert.match(godwit.url, /^https:/);
    const socket = await handshake(godwit.url, "TLSv1.3");
    assert.equal(socket.getProtocol(), "TLSv1.3");
    socket.destroy();
  });

  for (const version of ["TLSv1.2", "TLSv1.1"] as const) {
    test(`${version} is refused`, async () => {
      await assert.rejects(handshake(godwit.url, version));
    });
  }

  test("responses have Strict-Transport-Security, and their links have https", async () => {
    const ok = await get(godwit.url, "/livez");
    assert.equal(ok.status, 200);
    const missing = await get(godwit.url, "/v1/nothing");
    assertProblem(missing, "not_found");
    assert.equal(missing.json["type"], `${godwit.url}/errors/not_found`);
    for (const reply of [ok, missing]) {
      assertCommonHeaders(reply);
      assert.match(reply.headers.get("strict-transport-security") ?? "", /^max-age=\d{8,}/);
    }
  });

  test("malformed HTTP inside TLS gets the same headers", async () => {
    const socket = await handshake(godwit.url, "TLSv1.3");
    let text = "";
    socket.on("data", (chunk: Buffer) => (text += chunk.toString()));
    socket.write("hello there\r\n\r\n");
    await once(socket, "close");
    assert.match(text, /^HTTP\/1\.1 400 [\s\S]*strict-transport-security: max-age=\d+\r\n/i);
    assert.match(text, /x-request-id: req_[0-9a-z]{26}\r\n/i);
  });

  test("plain HTTP on the TLS port is refused without harm", async () => {
    const { hostname, port } = new URL(godwit.url);
    const socket = connectTcp(Number(port), hostname, () => socket.write("GET /livez HTTP/1.1\r\nhost: x\r\n\r\n"));
    let text = "";
    socket.on("data", (chunk) => (text += chunk.toString("latin1")));
    socket.on("error", () => undefined);
    await once(socket, "close");
    assert.ok(!text.includes("200 OK"));
    assert.equal((await get(godwit.url, "/livez")).status, 200);
  });

  test("/metrics contains the earliest expiry in the certificate chain, also after a reload", async () => {
    makeCertificate("short", 1);
    const expiryOf = (name: string): number => new X509Certificate(readFileSync(certOf(name))).validToDate.getTime() / 1_000;
    const reportedExpiry = async (): Promise<number> => {
      const sent = request(`${godwit.url}/metrics`, { rejectUnauthorized: false, agent: false }).end();
      const [response] = (await once(sent, "response")) as [Readable];
      return Number(/^godwit_tls_certificate_end_seconds (\d+)$/m.exec((await response.toArray()).join(""))?.[1]);
    };
    assert.equal(await reportedExpiry(), expiryOf("first"));
    writeFileSync(certOf("used"), Buffer.concat([readFileSync(certOf("first")), readFileSync(certOf("short"))]));
    godwit.child.kill("SIGHUP");
    await untilOutput("certificate reloaded");
    assert.equal(await reportedExpiry(), expiryOf("short"));
    copyFileSync(certOf("first"), certOf("used"));
    godwit.output.length = 0;
    godwit.child.kill("SIGHUP");
    await untilOutput("certificate reloaded");
    godwit.output.length = 0;
  });

  test("SIGHUP reloads the certificate for new connections, open ones continue, and an invalid pair changes nothing", async () => {
    assert.equal(await served(), fingerprintOf("first"));
    const old = await handshake(godwit.url, "TLSv1.3");

    copyFileSync(certOf("second"), certOf("used"));
    // Written and not copied: the file keeps its owner.
    writeFileSync(keyOf("used"), readFileSync(keyOf("second")));
    godwit.child.kill("SIGHUP");
    await untilOutput("certificate reloaded");
    assert.equal(await served(), fingerprintOf("second"));
    await assert.rejects(handshake(godwit.url, "TLSv1.2"), "the reload keeps the minimum version");

    old.write("GET /livez HTTP/1.1\r\nhost: x\r\n\r\n");
    const [response] = (await once(old, "data")) as [Buffer];
    assert.match(response.toString(), /^HTTP\/1\.1 200 /);
    old.destroy();

    writeFileSync(keyOf("used"), "not a key");
    godwit.child.kill("SIGHUP");
    const isRefused = ({ event, msg = "" }: LogLine): boolean =>
      event === "service.reload_failed" && msg.includes("the old one stays in use");
    await until("the reload to fail", () => godwit.logs.some(isRefused));
    assert.equal(await served(), fingerprintOf("second"));
  });
});

describe("without a certificate", () => {
  const serve = async (env: Record<string, string>): ReturnType<typeof runGodwit> =>
    runGodwit(["serve"], { GODWIT_PORT: "0", DATABASE_URL: await createDatabase(), GODWIT_SECRET_KEY: SECRET_KEY, ...env });

  for (const host of ["0.0.0.0", "::"]) {
    test(`the service refuses to listen on ${host} without TLS, and names the settings`, async () => {
      const { code, stdout, stderr } = await serve({ GODWIT_HOST: host });
      assert.equal(code, 2);
      for (const name of ["GODWIT_HOST", "GODWIT_TLS_CERT", "GODWIT_TLS_KEY", "GODWIT_TRUSTED_PROXIES"])
        assert.ok(stderr.includes(name), name);
      assert.ok(!`${stdout}${stderr}`.includes("listening"));
    });
  }

  test("the service reports every fault of the configuration at once, and no secret", async () => {
    const secret = "c2VjcmV0LXRoYXQtaXMtdG9vLXNob3J0";
    const { code, stderr } = await serve({
      GODWIT_PORT: "99999",
      GODWIT_LOG: "loud",
      GODWIT_TRUSTED_PROXIES: "10.0.0.0/64",
      GODWIT_SECRET_KEY: secret,
    });
    assert.equal(code, 2);
    assert.match(stderr, /4 faults/);
    for (const name of ["GODWIT_PORT", "GODWIT_LOG", "GODWIT_TRUSTED_PROXIES", "GODWIT_SECRET_KEY"]) assert.ok(stderr.includes(name), name);
    assert.ok(!stderr.includes(secret));
  });

  test("a certificate without its key, or with the key of another, is a fault", { skip }, async () => {
    const withoutKey = await serve({ GODWIT_TLS_CERT: certOf("first") });
    assert.equal(withoutKey.code, 2);
    assert.match(withoutKey.stderr, /GODWIT_TLS_KEY: is needed/);
    const open = keyOf("open");
    copyFileSync(keyOf("first"), open);
    chmodSync(open, 0o644);
    const withOpenKey = await serve({ GODWIT_TLS_CERT: certOf("first"), GODWIT_TLS_KEY: open });
    assert.equal(withOpenKey.code, 2);
    assert.match(withOpenKey.stderr, /every user of this machine may use the key/);
    const withOtherKey = await serve({ GODWIT_TLS_CERT: certOf("first"), GODWIT_TLS_KEY: keyOf("second") });
    assert.equal(withOtherKey.code, 2);
    assert.match(withOtherKey.stderr, /GODWIT_TLS_CERT, GODWIT_TLS_KEY: the key .* does not belong to the certificate/);
  });
});

describe("behind a proxy", () => {
  const FORWARDED = { "x-forwarded-proto": "https", "x-forwarded-host": "api.example.test", "x-forwarded-for": "203.0.113.9" };
  let godwit: Godwit;
  let url: string;
  before(async () => {
    godwit = await startGodwit({ env: { GODWIT_HOST: "0.0.0.0", GODWIT_TRUSTED_PROXIES: "127.0.0.0/8" } });
    url = `http://127.0.0.1:${new URL(godwit.url).port}`;
  });
  after(() => godwit.stop());

  const typeOf = async (base: string, headers: Record<string, string>): Promise<unknown> => {
    const response = await fetch(`${base}/v1/nothing`, { headers });
    return ((await response.json()) as { type: unknown }).type;
  };

  test("the forwarded scheme and host are used in links", async () => {
    assert.equal(await typeOf(url, FORWARDED), "https://api.example.test/errors/not_found");
    assert.equal(await typeOf(url, {}), `${url}/errors/not_found`);
  });

  test("a forwarded scheme that is not one of web pages is not used in links", async () => {
    for (const scheme of ["javascript", "ftp", "https://evil.example/?", "HTTPS x"])
      assert.equal(await typeOf(url, { ...FORWARDED, "x-forwarded-proto": scheme }), "/errors/not_found");
  });

  test("/metrics is not found for the forwarded client", async () => {
    assert.equal((await fetch(`${url}/metrics`)).status, 200);
    const response = await fetch(`${url}/metrics`, { headers: FORWARDED });
    assert.equal(response.status, 404);
    assert.match(response.headers.get("x-request-id") ?? "", /^req_/);
  });

  test("a server without trusted proxies ignores the forwarded headers", async () => {
    await using plain = await startGodwit();
    assert.equal(await typeOf(plain.url, FORWARDED), `${plain.url}/errors/not_found`);
  });

  const outside = Object.values(networkInterfaces())
    .flatMap((addresses) => addresses ?? [])
    .find(({ family, internal }) => family === "IPv4" && !internal)?.address;

  test(
    "a request that bypasses the proxy is refused, except probes",
    { skip: outside === undefined && "the machine has only loopback addresses" },
    async () => {
      const direct = `http://${outside}:${new URL(url).port}`;
      for (const probe of ["/livez", "/readyz"]) assert.equal((await fetch(`${direct}${probe}`)).status, 200);
      for (const path of ["/metrics", "/docs", "/v1/messages", "/livez/x"]) await assert.rejects(fetch(`${direct}${path}`), path);
      await assert.rejects(fetch(`${direct}/livez`, { method: "POST" }));
      await until("the refusal is logged", () => godwit.logs.find(({ event }) => event === "http.connection_refused"));
    },
  );

  test(
    "a permitted address that bypasses the proxy can read the metrics, and nothing else",
    { skip: outside === undefined && "the machine has only loopback addresses" },
    async () => {
      const env = { GODWIT_HOST: "0.0.0.0", GODWIT_TRUSTED_PROXIES: "192.0.2.1", GODWIT_METRICS_ALLOW: `${outside}/32` };
      await using scraped = await startGodwit({ databaseUrl: godwit.databaseUrl, env });
      const direct = `http://${outside}:${new URL(scraped.url).port}`;
      // The header of a peer that is no trusted proxy has no effect.
      for (const headers of [{}, FORWARDED]) assert.equal((await fetch(`${direct}/metrics`, { headers })).status, 200);
      for (const path of ["/docs", "/v1/messages", "/metrics/x"]) await assert.rejects(fetch(`${direct}${path}`), path);
      await assert.rejects(fetch(`${direct}/metrics`, { method: "POST" }));
    },
  );
});
