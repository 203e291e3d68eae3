/** The verification samples of docs/webhooks.md, each in its own language, on deliveries of a live service. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { createHmac } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { after, before, describe, test } from "node:test";
import { samplesOf } from "../support/doc-samples.ts";
import { until } from "../support/expect.ts";
import { startGodwit, type Godwit } from "../support/harness.ts";
import { execute } from "../support/shell-session.ts";

type Delivery = { id: string; timestamp: string; signature: string; body: Buffer };

/** Turns a sample into a program that reads the headers from the environment and the body from a file, and prints the event's type. */
type Language = {
  program: string;
  version: string;
  file: string;
  run: (path: string) => string[];
  driver: string;
  before?: (sample: string) => string;
};

const LANGUAGES: Readonly<Record<string, Language>> = {
  go: {
    program: "go",
    version: "version",
    file: "verify.go",
    run: (path) => ["run", path],
    before: (sample) =>
      sample.replace("package hooks", "package main").replace('"math"', '"fmt"\n\t"math"').replace('"strconv"', '"os"\n\t"strconv"'),
    driver: `func main() {
	header := http.Header{}
	header.Set("webhook-id", os.Getenv("ID"))
	header.Set("webhook-timestamp", os.Getenv("TIMESTAMP"))
	header.Set("webhook-signature", os.Getenv("SIGNATURE"))
	body, _ := os.ReadFile(os.Getenv("BODY"))
	event, err := Verify(os.Getenv("SECRET"), header, body)
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println(event.Type)
}`,
  },
  ruby: {
    program: "ruby",
    version: "--version",
    file: "verify.rb",
    run: (path) => [path],
    driver: `headers = { "webhook-id" => ENV["ID"], "webhook-timestamp" => ENV["TIMESTAMP"], "webhook-signature" => ENV["SIGNATURE"] }
puts verify(ENV["SECRET"], headers, File.binread(ENV["BODY"]))["type"]`,
  },
  php: {
    program: "php",
    version: "--version",
    file: "verify.php",
    run: (path) => [path],
    driver: `$headers = ["webhook-id" => getenv("ID"), "webhook-timestamp" => getenv("TIMESTAMP"), "webhook-signature" => getenv("SIGNATURE")];
echo verify(getenv("SECRET"), $headers, file_get_contents(getenv("BODY")))["type"], "\\n";`,
  },
  java: {
    program: "java",
    version: "-version",
    file: "Verify.java",
    // The program ends before optimized code would save time.
    run: (path) => ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", path],
    // A file that is run directly must start with the class that has main.
    before: (sample) => sample.replace("final class Webhooks {", `${JAVA_MAIN}\nfinal class Webhooks {`),
    driver: "",
  },
};
const JAVA_MAIN = `final class Main {
    public static void main(String[] args) throws Exception {
        Map<String, String> env = System.getenv();
        Map<String, String> headers = Map.of("webhook-id", env.get("ID"), "webhook-timestamp", env.get("TIMESTAMP"), "webhook-signature", env.get("SIGNATURE"));
        String event = Webhooks.verify(env.get("SECRET"), headers, java.nio.file.Files.readAllBytes(java.nio.file.Path.of(env.get("BODY"))));
        System.out.println(event.replaceFirst(".*?\\"type\\":\\"([^\\"]+)\\".*", "$1"));
    }
}`;

const SAMPLES = samplesOf("docs/webhooks.md").filter(({ language, notRun }) => notRun !== undefined && language in LANGUAGES);

let godwit: Godwit;
let key: string;
let receiver: Server;
let folder: string;
const deliveries: Delivery[] = [];
const secrets: string[] = [];
let plain: Delivery;
let rotating: Delivery;

before(async () => {
  folder = mkdtempSync(join(tmpdir(), "godwit-verify-"));
  writeFileSync(join(folder, "package.json"), '{"type":"module"}');
  receiver = createServer((request, response) => {
    const { "webhook-id": id, "webhook-timestamp": timestamp, "webhook-signature": signature } = request.headers;
    void buffer(request).then((body) => {
      deliveries.push({ id: String(id), timestamp: String(timestamp), signature: String(signature), body });
      return response.writeHead(204).end();
    });
  });
  await new Promise<void>((listening) => receiver.listen(0, "127.0.0.1", listening));
  godwit = await startGodwit({
    roles: "api,dispatch,webhooks",
    simulatorSpeed: 100,
    env: { GODWIT_WEBHOOK_ALLOW: "127.0.0.0/8" },
  });
  key = await godwit.key();
  await collect();
});
after(async () => {
  await godwit.stop();
  receiver.closeAllConnections();
  receiver.close();
  rmSync(folder, { recursive: true, force: true });
});

/** A delivery signed with one secret, and one signed with two. */
async function collect(): Promise<void> {
  const url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/hooks`;
  const { json } = await godwit.request("POST", "/v1/webhook_endpoints", { key, body: { url, event_types: ["message.delivered"] } });
  await godwit.send(key, { body: "Ça y est: 𝄞 €" });
  plain = await until("a delivery", () => deliveries[0]);
  const rotated = await godwit.request("POST", `/v1/webhook_endpoints/${String(json["id"])}/rotate_secret`, { key });
  secrets.push(String(json["secret"]), String(rotated.json["secret"]));
  await godwit.send(key);
  rotating = await until("a delivery with two signatures", () => deliveries.find(({ signature }) => signature.includes(" ")));
}

const sign = (secret: string, { id, timestamp, body }: Delivery): string =>
  `v1,${createHmac("sha256", Buffer.from(secret.slice("whsec_".length), "base64"))
    .update(`${id}.${timestamp}.`)
    .update(body)
    .digest("base64")}`;

describe("docs/webhooks.md verifies in", () => {
  test("four languages besides those of the SDKs", () =>
    assert.deepEqual(SAMPLES.map(({ language }) => language).toSorted(), Object.keys(LANGUAGES).toSorted()));

  for (const { language, text } of SAMPLES) {
    const { program, version, file, run, driver, before: prepare = (sample: string) => sample } = LANGUAGES[language] as Language;
    const isHere = spawnSync(program, [version]).status === 0;
    test(language, { skip: isHere ? false : `${program} is not on this machine` }, async () => {
      const path = join(folder, file);
      writeFileSync(path, `${prepare(text)}\n${driver}\n`);
      const verify = async (secret: string, delivery: Delivery): Promise<{ code: number; output: string }> => {
        const body = join(folder, `${language}.body`);
        writeFileSync(body, delivery.body);
        const { id: ID, timestamp: TIMESTAMP, signature: SIGNATURE } = delivery;
        const env = { PATH: process.env["PATH"] ?? "", HOME: folder, ID, TIMESTAMP, SIGNATURE, SECRET: secret, BODY: body };
        return execute(program, run(path), { cwd: folder, env });
      };
      const [first = "", second = ""] = secrets;
      for (const [secret, delivery] of [
        [first, plain],
        [first, rotating],
        [second, rotating],
      ] as const) {
        const { code, output } = await verify(secret, delivery);
        assert.deepEqual([code, output.trim()], [0, "message.delivered"], output);
      }
      const old = { ...plain, timestamp: String(Number(plain.timestamp) - 3_600) };
      for (const [name, forged, says] of [
        ["another body", { ...plain, body: Buffer.from(plain.body.toString().replace("delivered", "failed")) }, /no signature matches/],
        ["another id", { ...plain, id: "evt_other" }, /no signature matches/],
        ["no signature", { ...plain, signature: "v1,AAAA v2,BBBB" }, /no signature matches/],
        ["an old delivery with a valid signature", { ...old, signature: sign(first, old) }, /too old or too new/],
      ] as const) {
        const { code, output } = await verify(first, forged);
        assert.notEqual(code, 0, name);
        assert.match(output, says, name);
      }
      assert.notEqual((await verify(second, plain)).code, 0, "another secret");
    });
  }
});
