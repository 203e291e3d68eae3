import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { smpp } from "../../src/providers/smpp/smpp.ts";
import { Smsc } from "../support/fakes/smsc.ts";
import { until } from "../support/expect.ts";
import { idOf, sendOne, settingsFor, withLink } from "../support/fakes/smsc-link.ts";
import { RecordingHost, settled } from "../support/recording-host.ts";

const hasOpenssl = spawnSync("openssl", ["version"]).status === 0;
const skip = hasOpenssl ? false : "openssl, which makes the certificate, is not installed";

describe("over TLS", { skip }, () => {
  let folder: string;
  let tls: { key: string; cert: string };
  before(() => {
    folder = mkdtempSync(join(tmpdir(), "godwit-smpp-"));
    const [key, cert] = [join(folder, "key"), join(folder, "cert")];
    const made = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", key, "-out", cert, "-days", "2"];
    const named = ["-subj", "/CN=smsc.example", "-addext", "subjectAltName=DNS:smsc.example"];
    execFileSync("openssl", ["req", "-x509", ...made, ...named], { stdio: "ignore" });
    tls = { key: readFileSync(key, "utf8"), cert: readFileSync(cert, "utf8") };
  });
  after(() => rmSync(folder, { recursive: true, force: true }));

  test("a carrier with the configured certificate is bound", () =>
    withLink({ tls }, { tls: true, tlsCa: tls.cert, tlsServerName: "smsc.example" }, async ({ link }) => {
      idOf(await sendOne(link));
    }));

  test("a carrier that asks for a client certificate gets the configured one, and does not bind without it", async () => {
    const asking = { ...tls, ca: tls.cert, requestCert: true, rejectUnauthorized: true };
    const settings = { tls: true, tlsCa: tls.cert, tlsServerName: "smsc.example" };
    await withLink({ tls: asking }, { ...settings, tlsCert: tls.cert, tlsKey: tls.key }, async ({ link }) => {
      idOf(await sendOne(link));
    });
    const smsc = await Smsc.start({ tls: asking });
    const link = await smpp.open(settingsFor(smsc, settings), new RecordingHost());
    await until("the link reports the reason", () => link.state?.reason !== null);
    assert.deepEqual(smsc.binds, []);
    await settled(link.close(), "close");
    await smsc.stop();
  });

  for (const [what, settings] of [
    ["of an unknown authority", () => ({ tlsServerName: "smsc.example" })],
    ["for another name", () => ({ tlsServerName: "other.example", tlsCa: tls.cert })],
  ] as const)
    test(`a carrier with a certificate ${what} does not receive our password`, async () => {
      const smsc = await Smsc.start({ tls });
      const link = await smpp.open(settingsFor(smsc, { tls: true, ...settings() }), new RecordingHost());
      await until("the link reports the reason", () => link.state?.reason !== null);
      assert.equal(link.state?.kind, "connecting");
      assert.deepEqual(smsc.binds, []);
      await settled(link.close(), "close");
      await smsc.stop();
    });
});
