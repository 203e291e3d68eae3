/** The Caddyfile of the package: a real Caddy in front of two nodes. */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { Agent, request } from "undici";
import { Caddy, caddyCommand, whyNoCaddy } from "../support/caddy.ts";
import { until } from "../support/expect.ts";
import { twilioSignature } from "../support/fakes/twilio.ts";
import { sms, startGodwit, type Godwit } from "../support/harness.ts";

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
