/** A rolling restart of two nodes under load, behind the proxies of the package: no request fails, and none is repeated. */
import assert from "node:assert/strict";
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test, type TestContext } from "node:test";
import { atEnd } from "../support/at-end.ts";
import { Caddy, whyNoCaddy } from "../support/caddy.ts";
import { missingPackages } from "../support/debian-package.ts";
import { until } from "../support/expect.ts";
import { freePort } from "../support/free-port.ts";
import { startGodwit, type Godwit } from "../support/harness.ts";
import { underLoad } from "../support/request-loading.ts";

const CONFIG = join(import.meta.dirname, "..", "..", "packaging", "haproxy.cfg");

let folder: string;
let databaseUrl: string | undefined;
let key: string;
let ports: number[];
let nodes: Godwit[];

const startNode = (port = 0): Promise<Godwit> => {
  // Five seconds is the default behind a proxy.
  const env = { GODWIT_TRUSTED_PROXIES: "127.0.0.1/32", GODWIT_PORT: String(port), GODWIT_DRAIN: "5" };
  return startGodwit({ env, databaseUrl, asProcess: true, roles: "api,dispatch,webhooks" });
};

before(async () => {
  folder = mkdtempSync(join(tmpdir(), "godwit-rolling-"));
  ports = [await freePort(), await freePort()];
  const first = await startNode(ports[0]);
  databaseUrl = first.databaseUrl;
  nodes = [first, await startNode(ports[1])];
  await first.unlimited();
  key = await first.key();
});
after(async () => {
  await Promise.all(nodes.map((node) => node.stop()));
  rmSync(folder, { recursive: true, force: true });
});

/** Restarts each node, and waits until the proxy has had time to see that it is ready. */
async function restartAll(isUsed: (node: Godwit) => Promise<boolean>): Promise<void> {
  for (const [index, node] of nodes.entries()) {
    await node.stop();
    const next = await startNode(ports[index]);
    nodes[index] = next;
    await until("the proxy to use the node again", () => isUsed(next));
  }
}

/** Whether a request that goes through the proxy has reached this node. The load sends some. */
const hasRequests = async ({ logs }: Godwit): Promise<boolean> => logs.some(({ route }) => route === "/v1/messages");

async function assertNoFailure(context: TestContext, proxy: { url: string; caFile?: string }): Promise<void> {
  const result = await underLoad({ ...proxy, key }, () => restartAll(hasRequests));
  context.diagnostic(JSON.stringify(result));
  assert.deepEqual(result.failed, {});
  assert.ok(result.accepted > 50, String(result.accepted));
}

test("no request through Caddy fails while both nodes are restarted one after the other", async (context) => {
  const missing = whyNoCaddy();
  if (missing !== false) return context.skip(missing);
  const caddy = await Caddy.start(nodes.map(({ url }) => url));
  const caFile = join(folder, "ca.pem");
  writeFileSync(caFile, caddy.ca);
  await warmUp({ url: caddy.url, caFile });
  await assertNoFailure(context, { url: caddy.url, caFile });
  await caddy.stop();
});

test("no request through HAProxy fails while both nodes are restarted one after the other", async (context) => {
  const missing = missingPackages([["haproxy", "/usr/sbin/haproxy"]]);
  if (missing !== undefined) return context.skip(missing);
  const port = await freePort();
  const config = readFileSync(CONFIG, "utf8");
  const [bind, address] = [/bind :443 ssl crt \S+/, /10\.0\.0\.1([12]):8080/g];
  assert.match(config, bind);
  const file = join(folder, "haproxy.cfg");
  const local = config.replace(bind, `bind 127.0.0.1:${port}`).replaceAll(address, (_, node) => `127.0.0.1:${ports[Number(node) - 1]}`);
  writeFileSync(file, local);
  const haproxy = spawn("/usr/sbin/haproxy", ["-db", "-f", file], { stdio: ["ignore", "ignore", "inherit"] });
  atEnd(() => end(haproxy));
  const url = `http://127.0.0.1:${port}`;
  await warmUp({ url });
  await assertNoFailure(context, { url });
  await end(haproxy);
});

/** Waits until the proxy accepts connections and knows the nodes. */
const warmUp = (proxy: { url: string; caFile?: string }): Promise<true> =>
  until("the proxy to know the nodes", async () => {
    const { failed } = await underLoad({ ...proxy, key }, async () => undefined);
    return Object.keys(failed).length === 0 || undefined;
  });

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, "exit");
  child.kill("SIGKILL");
  await ended;
}
