/** OpenStack Swift from Debian with its S3 API: a real server of buckets, as several processes on free ports of loopback. */
import { spawn, spawnSync, type ChildProcess } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import { CreateBucketCommand, ListMultipartUploadsCommand, ListObjectsV2Command, S3Client } from "@aws-sdk/client-s3";
import type { BucketSettings } from "../../src/media/bucket-settings.ts";
import { atEnd } from "./at-end.ts";
import { missingPackages } from "./debian-package.ts";
import { until } from "./expect.ts";
import { freePort } from "./free-port.ts";

const BINARIES = "/usr/bin";
const PARTS = ["account", "container", "object"] as const;

/** The reason why tests with a bucket are skipped, after an attempt to install Swift. */
export const whyNoSwift = (): string | false =>
  missingPackages(["proxy", ...PARTS].map((part) => [`swift-${part}`, join(BINARIES, `swift-${part}-server`)] as const)) ?? false;

const KEY_ID = "godwit:tester";
const SECRET = "testing";
export const BUCKET = "godwit-media";

const PIPELINE =
  "catch_errors gatekeeper healthcheck cache listing_formats bulk s3api tempauth copy slo dlo versioned_writes symlink proxy-server";

const proxyText = (folder: string, port: number): string => `
[DEFAULT]
bind_ip = 127.0.0.1
bind_port = ${port}
workers = 0
user = ${userInfo().username}
swift_dir = ${folder}
[pipeline:main]
pipeline = ${PIPELINE}
${PIPELINE.split(" ")
  .slice(0, -1)
  .map((name) => `[filter:${name}]\nuse = egg:swift#${name === "cache" ? "memcache" : name}`)
  .join("\n")
  .replace("egg:swift#tempauth", `egg:swift#tempauth\nuser_${KEY_ID.replace(":", "_")} = ${SECRET} .admin`)
  .replace("egg:swift#memcache", "egg:swift#memcache\nmemcache_servers = 127.0.0.1:1")}
[app:proxy-server]
use = egg:swift#proxy
account_autocreate = true
`;

const partText = (folder: string, part: string, port: number): string => `
[DEFAULT]
bind_ip = 127.0.0.1
bind_port = ${port}
workers = 0
user = ${userInfo().username}
swift_dir = ${folder}
devices = ${join(folder, "devices")}
mount_check = false
fallocate_reserve = 0
[pipeline:main]
pipeline = ${part}-server
[app:${part}-server]
use = egg:swift#${part}
`;

/** Writes the rings of the parts, which have one device each. */
const RINGS = `
import sys
from swift.common.ring import RingBuilder
for path, port in zip(sys.argv[1::2], sys.argv[2::2]):
    builder = RingBuilder(1, 1, 1)
    builder.add_dev({"region": 1, "zone": 1, "ip": "127.0.0.1", "port": int(port), "device": "disk", "weight": 1})
    builder.rebalance()
    builder.get_ring().save(path)
`;

const responds = (url: string): Promise<boolean> =>
  fetch(url).then(
    () => true,
    () => false,
  );

export class Swift {
  readonly url: string;
  readonly client: S3Client;
  readonly #folder: string;
  readonly #children: ChildProcess[] = [];

  private constructor(url: string, folder: string) {
    this.url = url;
    this.#folder = folder;
    const credentials = { accessKeyId: KEY_ID, secretAccessKey: SECRET };
    this.client = new S3Client({ endpoint: url, region: "us-east-1", forcePathStyle: true, credentials });
  }

  static async start(): Promise<Swift> {
    const folder = mkdtempSync(join(tmpdir(), "godwit-swift-"));
    mkdirSync(join(folder, "devices", "disk"), { recursive: true });
    writeFileSync(
      join(folder, "swift.conf"),
      "[swift-hash]\nswift_hash_path_suffix = tests\n[storage-policy:0]\nname = one\ndefault = yes\n",
    );
    const port = await freePort();
    const swift = new Swift(`http://127.0.0.1:${port}`, folder);
    atEnd(() => swift.stop());
    const ports = await Promise.all(PARTS.map(() => freePort()));
    const args = PARTS.flatMap((part, index) => [join(folder, `${part}.ring.gz`), String(ports[index])]);
    const rings = spawnSync("/usr/bin/python3", ["-c", RINGS, ...args], { encoding: "utf8" });
    if (rings.status !== 0) throw new Error(rings.stderr);
    PARTS.forEach((part, index) => swift.#run(part, partText(folder, part, ports[index] ?? 0)));
    swift.#run("proxy", proxyText(folder, port));
    // The proxy does not call a part again for a minute after a failure.
    for (const each of ports) await until("a part of Swift to respond", () => responds(`http://127.0.0.1:${each}/healthcheck`));
    await until("Swift to respond", () => responds(`${swift.url}/healthcheck`));
    await swift.client.send(new CreateBucketCommand({ Bucket: BUCKET }));
    return swift;
  }

  /** The settings of a service that keeps its files here. */
  get settings(): Record<string, string> {
    return { GODWIT_MEDIA_BUCKET: `${this.url}/${BUCKET}`, GODWIT_MEDIA_BUCKET_KEY_ID: KEY_ID, GODWIT_MEDIA_BUCKET_SECRET: SECRET };
  }

  get bucket(): BucketSettings {
    const credentials = { accessKeyId: KEY_ID, secretAccessKey: SECRET };
    return { endpoint: this.url, name: BUCKET, region: "us-east-1", credentials };
  }

  /** The keys and sizes of all objects. */
  async objects(): Promise<{ key: string; bytes: number }[]> {
    const { Contents = [] } = await this.client.send(new ListObjectsV2Command({ Bucket: BUCKET }));
    return Contents.map(({ Key = "", Size = 0 }) => ({ key: Key, bytes: Size }));
  }

  /** The keys of uploads that are not complete. */
  async uploads(): Promise<string[]> {
    const { Uploads = [] } = await this.client.send(new ListMultipartUploadsCommand({ Bucket: BUCKET }));
    return Uploads.map(({ Key = "" }) => Key);
  }

  /** Stops responding, as a host that is down, until `resume`. */
  pause(): void {
    for (const child of this.#children) child.kill("SIGSTOP");
  }

  resume(): void {
    for (const child of this.#children) child.kill("SIGCONT");
  }

  async stop(): Promise<void> {
    this.client.destroy();
    const ended = this.#children.map((child) => new Promise((resolve) => child.once("close", resolve)));
    for (const child of this.#children.splice(0)) child.kill("SIGKILL");
    await Promise.all(ended);
    rmSync(this.#folder, { recursive: true, force: true });
  }

  #run(part: string, text: string): void {
    const file = join(this.#folder, `${part}.conf`);
    writeFileSync(file, text);
    this.#children.push(spawn(join(BINARIES, `swift-${part}-server`), [file], { stdio: "ignore" }));
  }
}
