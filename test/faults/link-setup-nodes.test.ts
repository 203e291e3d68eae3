/** Created links on two nodes, and through the death of a node while links are changed. */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, before, describe, test } from "node:test";
import type { Json } from "../support/client.ts";
import { until } from "../support/expect.ts";
import { Smsc } from "../support/fakes/smsc.ts";
import { byRecipient } from "../support/fakes/smsc-scripts.ts";
import { startGodwit, type Godwit } from "../support/harness.ts";

const ENV = { GODWIT_WEBHOOK_ALLOW: "127.0.0.1/32", GODWIT_SECRET_KEY: Buffer.alloc(32, 7).toString("base64") };
const SCOPES = ["links:read", "links:write", "messages:send", "messages:read"] as const;

let smsc: Smsc;
before(async () => {
  smsc = await Smsc.start(byRecipient);
});
after(() => smsc.stop());

const bodyOf = (name: string): object => ({
  name,
  provider: "smpp",
  settings: { host: "127.0.0.1", port: smsc.port, system_id: name, password: "x" },
});

const linksOf = async (node: Godwit, key: string): Promise<Json[]> => {
  const reply = await node.request("GET", "/v1/links", { key });
  assert.equal(reply.status, 200, reply.text);
  return reply.json["data"] as Json[];
};

/** The system ids that are bound at the carrier. */
const boundIds = (): string[] =>
  smsc.bound
    .map((session) => session.received.flatMap((pdu) => (pdu.command === "bind_transceiver" ? [pdu.bind.systemId] : []))[0] ?? "")
    .toSorted();

describe("two nodes", () => {
  test("both use a link that one of them created, and one of them opens it", async () => {
    await using first = await startGodwit({ roles: "api,dispatch", env: ENV });
    await using second = await startGodwit({ roles: "api,dispatch", env: ENV, databaseUrl: first.databaseUrl });
    await first.unlimited();
    const key = await first.key({ environment: "live", scopes: SCOPES });
    const created = await first.request("POST", "/v1/links", { key, body: bodyOf("shared") });
    assert.equal(created.status, 201, created.text);
    const accepted = await until("the other node to know the link", async () => {
      const reply = await second.send(key, { recipient: "+15005550006" });
      return reply.status === 202 ? reply : undefined;
    });
    await until("the message to be delivered", async () => {
      const { json } = await second.request("GET", `/v1/messages/${String(accepted.json["id"])}`, { key });
      return json["status"] === "delivered" || undefined;
    });
    assert.deepEqual(boundIds(), ["shared"]);
    const path = `/v1/links/${String(created.json["id"])}`;
    assert.equal((await second.request("PATCH", path, { key, body: { paused: true } })).status, 200);
    await until("the first node to refuse messages", async () => (await first.send(key, {})).status === 422 || undefined);
    assert.equal((await first.request("DELETE", path, { key })).status, 200);
    await until("the link to be closed", () => smsc.bound.length === 0 || undefined);
    await until("the other node to have forgotten it", async () => (await linksOf(second, key)).length === 0 || undefined);
  });
});

describe("a node that is killed while links are changed", () => {
  test("leaves every acknowledged change, and no half of another", async () => {
    let node = await startGodwit({ roles: "api,dispatch", env: ENV, asProcess: true });
    const { databaseUrl } = node;
    await node.unlimited();
    const key = await node.key({ environment: "live", scopes: SCOPES });
    const acknowledged = new Map<string, Json>();
    for (let round = 0; round < 3; round += 1) {
      const changes = Array.from({ length: 4 }, (_, index) => ({ name: `link-${round}-${index}`, idempotencyKey: randomUUID() }));
      const create = ({ name, idempotencyKey }: (typeof changes)[number]) =>
        node.request("POST", "/v1/links", { key, body: bodyOf(name), idempotencyKey });
      // The first change is acknowledged; the others run when the process dies.
      const [first, ...others] = changes;
      const done = await create(first ?? assert.fail());
      assert.equal(done.status, 201, done.text);
      const running = others.map((each) => create(each).catch(() => undefined));
      await node.stop("SIGKILL");
      for (const reply of await Promise.all(running)) if (reply?.status === 201) acknowledged.set(String(reply.json["id"]), reply.json);
      acknowledged.set(String(done.json["id"]), done.json);
      node = await startGodwit({ roles: "api,dispatch", env: ENV, asProcess: true, databaseUrl });
      // A repetition completes each change once, whether it had committed or not.
      for (const each of changes) {
        const reply = await create(each);
        assert.equal(reply.status, 201, reply.text);
        acknowledged.set(String(reply.json["id"]), reply.json);
      }
      const listed = await linksOf(node, key);
      assert.deepEqual(listed.map(({ id }) => String(id)).toSorted(), [...acknowledged.keys()].toSorted());
      await until("all links to be bound once", () => boundIds().length === listed.length || undefined);
      assert.deepEqual(boundIds(), listed.map(({ name }) => String(name)).toSorted());
    }
    await node.stop();
  });
});
