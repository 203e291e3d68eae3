/** The Caddyfile of the package: a real Caddy in front of two nodes. */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { readFileSync, existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { spawn, spawnSync, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { createServer, type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { Agent, request } from "undici";
import { until } from "../support/expect.ts";
import { twilioSignature } from "../support/fakes/twilio.ts";
import { sms, startGodwit, type Godwit } from "../support/harness.ts";
import { atEnd } from "../support/at-end.ts";

const CADDYFILE = join(import.meta.dirname, "..", "..", "packaging", "Caddyfile");
const DOMAIN = "localhost";

/** The reason why tests with Caddy are skipped. It is not installed for a test, because its package starts a web server on port 80. */
const whyNoCaddy = (): string | false =>
  spawnSync("caddy", ["version"], { stdio: "ignore" }).error !== undefined && "caddy is not installed";

type Adapted = { apps: { http: { servers: Record<string, Record<string, unknown>> } & Record<string, unknown> } & Record<string, unknown> };

/** Caddy writes its files to the folder. */
const environment = (folder: string): Record<string, string> => ({
  PATH: process.env["PATH"] ?? "",
  HOME: folder,
  XDG_DATA_HOME: folder,
  XDG_CONFIG_HOME: folder,
});

/** Runs a command of Caddy on the Caddyfile of the package, and returns its output. */
function caddyCommand(command: "adapt" | "validate" | "fmt", env: Record<string, string> = {}): string {
  const args = command === "fmt" ? [CADDYFILE] : ["--config", CADDYFILE, "--adapter", "caddyfile"];
  const { status, stdout, stderr } = spawnSync("caddy", [command, ...args], {
    env: { ...environment(tmpdir()), ...env },
    encoding: "utf8",
  });
  if (status !== 0) throw new Error(`caddy ${command}: ${stdout}${stderr}`);
  return stdout;
}

class Caddy {
  readonly port: number;
  /** The certificate of the authority that Caddy has created. */
  readonly ca: string;
  readonly #child: ChildProcess;
  readonly #folder: string;

  private constructor(child: ChildProcess, folder: string, { port, ca }: { port: number; ca: string }) {
    this.#child = child;
    this.#folder = folder;
    this.port = port;
    this.ca = ca;
  }

  get url(): string {
    return `https://${DOMAIN}:${this.port}`;
  }

  /** `upstreams` are the URLs of the services. */
  static async start(upstreams: readonly string[]): Promise<Caddy> {
    const folder = mkdtempSync(join(tmpdir(), "godwit-caddy-"));
    const port = await findPort();
    const config = JSON.parse(
      caddyCommand("adapt", { GODWIT_DOMAIN: DOMAIN, GODWIT_UPSTREAMS: upstreams.map((url) => new URL(url).host).join(" ") }),
    ) as Adapted;
    const [server] = Object.values(config.apps.http.servers);
    Object.assign(server ?? {}, { listen: [`127.0.0.1:${port}`], automatic_https: { disable_redirects: true } });
    Object.assign(config.apps.http, { https_port: port });
    const file = join(folder, "caddy.json");
    writeFileSync(file, JSON.stringify({ ...config, admin: { disabled: true } }));
    const child = spawn("caddy", ["run", "--config", file], { env: environment(folder), stdio: "ignore" });
    const root = join(folder, "caddy", "pki", "authorities", "local", "root.crt");
    const leaf = join(folder, "caddy", "certificates", "local", DOMAIN, `${DOMAIN}.crt`);
    await until("the certificate of Caddy", () => (existsSync(root) && existsSync(leaf)) || undefined);
    const caddy = new Caddy(child, folder, { port, ca: readFileSync(root, "utf8") });
    atEnd(() => caddy.stop());
    return caddy;
  }

  async stop(): Promise<void> {
    if (this.#child.exitCode === null && this.#child.signalCode === null) {
      this.#child.kill("SIGKILL");
      await once(this.#child, "exit");
    }
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

/** A port that is free now. Caddy cannot choose one itself. */
async function findPort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}

const ROOT = join(import.meta.dirname, "..", "..");
const skip = whyNoCaddy();

const PUBLIC_URL = "https://godwit.example";
const LINK = `
[[link]]
name = "backup"
provider = "twilio"
account_sid = "AC00000000000000000000000000000000"
auth_token_env = "TOKEN"
public_url = "${PUBLIC_URL}"
`;

test("the Caddyfile is valid, and formatted as Caddy does", { skip }, () => {
  caddyCommand("validate");
  assert.equal(caddyCommand("fmt"), readFileSync(join(ROOT, "packaging", "Caddyfile"), "utf8"));
});

describe("Caddy in front of two nodes", { skip }, () => {
  // The client has another address than Caddy.
  const CLIENT = "127.0.0.2";
  let nodes: [Godwit, Godwit];
  let caddy: Caddy;
  let dispatcher: Agent;
  let key: string;

  before(async () => {
    const env = { GODWIT_TRUSTED_PROXIES: "127.0.0.1/32", GODWIT_METRICS_ALLOW: `${CLIENT}/32`, TOKEN: "secret-of-twilio" };
    const first = await startGodwit({ env, config: LINK, roles: "api,dispatch,webhooks" });
    const second = await startGodwit({ env, config: LINK, databaseUrl: first.databaseUrl, asProcess: true });
    nodes = [first, second];
    await first.unlimited();
    key = await first.key();
    caddy = await Caddy.start(nodes.map(({ url }) => url));
    dispatcher = new Agent({ localAddress: CLIENT, connect: { ca: caddy.ca, host: "127.0.0.1", servername: "localhost" } });
    // Caddy takes a node only when its first check has succeeded.
    await until("a ready node", async () => (await get("/readyz")).statusCode === 200 || undefined);
  });
  after(async () => {
    await dispatcher.close();
    await caddy.stop();
    await Promise.all(nodes.map((node) => node.stop()));
  });

  const get = (path: string, headers: Record<string, string> = {}) => request(`${caddy.url}${path}`, { dispatcher, headers });
  const post = (path: string, body: string, headers: Record<string, string>) =>
    request(`${caddy.url}${path}`, { method: "POST", dispatcher, body, headers });
  const sendMessage = (idempotencyKey: string = randomUUID()) =>
    post("/v1/messages", JSON.stringify(sms()), {
      authorization: `Bearer ${key}`,
      "content-type": "application/json",
      "idempotency-key": idempotencyKey,
    });

  test("the node sees the scheme and the host that the client used", async () => {
    const { statusCode, body, headers } = await get("/nothing");
    assert.equal(statusCode, 404);
    assert.equal(((await body.json()) as { type: string }).type, `${caddy.url}/errors/not_found`);
    assert.equal(headers["strict-transport-security"], "max-age=31536000");
  });

  test("the node sees the address of the client, and no address that the client makes up", async () => {
    // Both nodes get requests in turn, and the log of the first is at hand.
    const peers = await until("a request at the first node", async () => {
      const { body } = await get("/v1/messages?limit=1", { authorization: `Bearer ${key}`, "x-forwarded-for": "203.0.113.9" });
      await body.dump();
      const found = nodes[0].logs.flatMap(({ route, peer }) => (route === "/v1/messages" ? [peer] : []));
      return found.length > 0 ? found : undefined;
    });
    assert.deepEqual(new Set(peers), new Set([CLIENT]));
  });

  test("a callback of a carrier is verified by its public URL", async () => {
    const fields = { MessageSid: "SM00000000000000000000000000000001", MessageStatus: "delivered" };
    const path = "/providers/twilio/backup";
    const call = async (signature: string): Promise<number> => {
      const headers = { "content-type": "application/x-www-form-urlencoded", "x-twilio-signature": signature };
      const { statusCode, body } = await post(path, new URLSearchParams(fields).toString(), headers);
      await body.dump();
      return statusCode;
    };
    assert.equal(await call(twilioSignature(`${PUBLIC_URL}${path}`, fields, "secret-of-twilio")), 200);
    assert.equal(await call(twilioSignature(`${PUBLIC_URL}${path}`, fields, "another-secret")), 403);
  });

  test("an event arrives on the open event stream", async () => {
    const { statusCode, body } = await get("/v1/events/stream", { authorization: `Bearer ${key}` });
    assert.equal(statusCode, 200);
    let text = "";
    body.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
    await until("the first frame", () => text !== "" || undefined);
    const sent = (await (await sendMessage()).body.json()) as { id: string };
    await until("the event of the message", () => text.includes(sent.id) || undefined);
    assert.equal(body.readableEnded, false);
    body.on("error", () => undefined).destroy();
  });

  test("metrics are not found, also for an address that may read them", async () => {
    const { statusCode, body } = await get("/metrics");
    await body.dump();
    assert.equal(statusCode, 404);
  });

  /** Repeats the request with its key until a node accepts it. */
  const accepted = (idempotencyKey: string): Promise<string> =>
    until("an accepted message", async () => {
      const { statusCode, body } = await sendMessage(idempotencyKey);
      const text = await body.text();
      // The stopping node refuses the request, or has ended before Caddy knows it.
      if (statusCode === 502 || statusCode === 503) return undefined;
      assert.equal(statusCode, 202, text);
      return (JSON.parse(text) as { id: string }).id;
    });

  test("a request that is repeated with its key succeeds once, also while a node stops", async () => {
    const ids = new Map<string, string>();
    const sendNew = async (): Promise<void> => {
      const idempotencyKey = randomUUID();
      ids.set(idempotencyKey, await accepted(idempotencyKey));
    };
    let isRunning = true;
    const stopping = nodes[1].stop().finally(() => (isRunning = false));
    await until("the node to stop", async () => {
      await sendNew();
      return isRunning ? undefined : true;
    });
    // Caddy may not know yet that the node has ended.
    for (let count = 0; count < 20; count += 1) await sendNew();
    await stopping;
    for (const [idempotencyKey, id] of ids) assert.equal(await accepted(idempotencyKey), id);
  });
});
