/** TLS of our own, TLS of a proxy in front, and the refusal to do without either. */
import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { X509Certificate } from "node:crypto";
import { once } from "node:events";
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { request } from "node:https";
import { connect as connectTcp } from "node:net";
import { networkInterfaces, tmpdir } from "node:os";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { after, before, describe, test } from "node:test";
import { connect as connectTls, type SecureVersion, type TLSSocket } from "node:tls";
import { assertCommonHeaders, assertProblem, until } from "../support/expect.ts";
import { createDatabase } from "../support/database.ts";
import { runGodwit, SECRET_KEY, startGodwit, type Godwit, type Reply } from "../support/harness.ts";

const hasOpenssl = spawnSync("openssl", ["version"]).status === 0;
const skip = hasOpenssl ? false : "openssl, which makes the certificates, is not installed";

let folder: string;
const certOf = (name: string): string => join(folder, `${name}.crt`);
const keyOf = (name: string): string => join(folder, `${name}.key`);

before(() => {
  folder = mkdtempSync(join(tmpdir(), "godwit-tls-"));
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
  const said = (text: string): Promise<string> => until(`it to say: ${text}`, () => godwit.output.find((line) => line.includes(text)));

  test("TLS 1.3 is spoken", async () => {
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

  test("answers tell browsers to stay with TLS, and their links have https", async () => {
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

  test("broken HTTP inside TLS gets the same headers", async () => {
    const socket = await handshake(godwit.url, "TLSv1.3");
    let text = "";
    socket.on("data", (chunk: Buffer) => (text += chunk.toString()));
    socket.write("hello there\r\n\r\n");
    await once(socket, "close");
    assert.match(text, /^HTTP\/1\.1 400 [\s\S]*strict-transport-security: max-age=\d+\r\n/i);
    assert.match(text, /x-request-id: req_[0-9a-z]{26}\r\n/i);
  });

  test("plain HTTP on the port of TLS harms nobody", async () => {
    const { hostname, port } = new URL(godwit.url);
    const socket = connectTcp(Number(port), hostname, () => socket.write("GET /livez HTTP/1.1\r\nhost: x\r\n\r\n"));
    let text = "";
    socket.on("data", (chunk) => (text += chunk.toString("latin1")));
    socket.on("error", () => undefined);
    await once(socket, "close");
    assert.ok(!text.includes("200 OK"));
    assert.equal((await get(godwit.url, "/livez")).status, 200);
  });

  test("/metrics tells when the first certificate of the chain ends, also of a new one", async () => {
    makeCertificate("short", 1);
    const endOf = (name: string): number => new X509Certificate(readFileSync(certOf(name))).validToDate.getTime() / 1_000;
    const told = async (): Promise<number> => {
      const sent = request(`${godwit.url}/metrics`, { rejectUnauthorized: false, agent: false }).end();
      const [response] = (await once(sent, "response")) as [Readable];
      return Number(/^godwit_tls_certificate_end_seconds (\d+)$/m.exec((await response.toArray()).join(""))?.[1]);
    };
    assert.equal(await told(), endOf("first"));
    writeFileSync(certOf("used"), Buffer.concat([readFileSync(certOf("first")), readFileSync(certOf("short"))]));
    godwit.child.kill("SIGHUP");
    await said("certificate reloaded");
    assert.equal(await told(), endOf("short"));
    copyFileSync(certOf("first"), certOf("used"));
    godwit.output.length = 0;
    godwit.child.kill("SIGHUP");
    await said("certificate reloaded");
    godwit.output.length = 0;
  });

  test("SIGHUP reloads the certificate for new connections, old ones live on, and a bad pair changes nothing", async () => {
    assert.equal(await served(), fingerprintOf("first"));
    const old = await handshake(godwit.url, "TLSv1.3");

    copyFileSync(certOf("second"), certOf("used"));
    copyFileSync(keyOf("second"), keyOf("used"));
    godwit.child.kill("SIGHUP");
    await said("certificate reloaded");
    assert.equal(await served(), fingerprintOf("second"));
    await assert.rejects(handshake(godwit.url, "TLSv1.2"), "the reload keeps the lowest version");

    old.write("GET /livez HTTP/1.1\r\nhost: x\r\n\r\n");
    const [answer] = (await once(old, "data")) as [Buffer];
    assert.match(answer.toString(), /^HTTP\/1\.1 200 /);
    old.destroy();

    writeFileSync(keyOf("used"), "not a key");
    godwit.child.kill("SIGHUP");
    await said("the old one stays");
    assert.equal(await served(), fingerprintOf("second"));
  });
});

describe("without a certificate", () => {
  const serve = async (env: Record<string, string>): ReturnType<typeof runGodwit> =>
    runGodwit(["serve"], { GODWIT_PORT: "0", DATABASE_URL: await createDatabase(), GODWIT_SECRET_KEY: SECRET_KEY, ...env });

  for (const host of ["0.0.0.0", "::"]) {
    test(`listening on ${host} in the clear is refused, with the remedy`, async () => {
      const { code, stdout, stderr } = await serve({ GODWIT_HOST: host });
      assert.equal(code, 2);
      for (const name of ["GODWIT_HOST", "GODWIT_TLS_CERT", "GODWIT_TLS_KEY", "GODWIT_TRUSTED_PROXIES"])
        assert.ok(stderr.includes(name), name);
      assert.ok(!`${stdout}${stderr}`.includes("listening"));
    });
  }

  test("every fault of a configuration is told at once, and no secret is quoted", async () => {
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

  test("a certificate without its key, and a key that is not its own, are faults", { skip }, async () => {
    const alone = await serve({ GODWIT_TLS_CERT: certOf("first") });
    assert.equal(alone.code, 2);
    assert.match(alone.stderr, /GODWIT_TLS_KEY: is needed/);
    const strangers = await serve({ GODWIT_TLS_CERT: certOf("first"), GODWIT_TLS_KEY: keyOf("second") });
    assert.equal(strangers.code, 2);
    assert.match(strangers.stderr, /GODWIT_TLS_CERT, GODWIT_TLS_KEY: .*mismatch/);
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

  test("what it says of scheme and host shapes the links", async () => {
    assert.equal(await typeOf(url, FORWARDED), "https://api.example.test/errors/not_found");
    assert.equal(await typeOf(url, {}), `${url}/errors/not_found`);
  });

  test("metrics are not found for the client that it names", async () => {
    assert.equal((await fetch(`${url}/metrics`)).status, 200);
    const response = await fetch(`${url}/metrics`, { headers: FORWARDED });
    assert.equal(response.status, 404);
    assert.match(response.headers.get("x-request-id") ?? "", /^req_/);
  });

  test("a server without trusted proxies believes none of it", async () => {
    await using plain = await startGodwit();
    assert.equal(await typeOf(plain.url, FORWARDED), `${plain.url}/errors/not_found`);
    assert.equal((await fetch(`${plain.url}/metrics`, { headers: FORWARDED })).status, 200);
  });

  const outside = Object.values(networkInterfaces())
    .flatMap((addresses) => addresses ?? [])
    .find(({ family, internal }) => family === "IPv4" && !internal)?.address;

  test("whoever comes past it is not served", { skip: outside === undefined && "this machine has no address but loopback" }, async () => {
    await assert.rejects(fetch(`http://${outside}:${new URL(url).port}/livez`));
    await until("the refusal in the log", () => godwit.logs.find(({ event }) => event === "http.connection_refused"));
  });
});
