/** The addresses that accounts supply for their links: no connection is opened to a network that the operator does not allow. */
import assert from "node:assert/strict";
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import type { Socket } from "node:net";
import { after, before, test } from "node:test";
import type { Json } from "../support/client.ts";
import { until } from "../support/expect.ts";
import { startGodwit, type Godwit, type Reply } from "../support/harness.ts";
import { seeded } from "../support/seed.ts";

const COUNT = 500;
// No other part of the test connects to it.
const PORT = 4_242;

/** The addresses at this port to which any socket of this process tried to connect. */
const attempts: string[] = [];
const watch = (message: unknown): void => {
  const { socket } = message as { socket: Socket };
  socket.on("connectionAttempt", (address: string, port: number) => {
    if (port === PORT) attempts.push(address);
  });
};

let godwit: Godwit;
let key: string;
before(async () => {
  subscribe("net.client.socket", watch);
  godwit = await startGodwit({ roles: "api,dispatch" });
  await godwit.unlimited();
  key = await godwit.key({ environment: "live", scopes: SCOPES });
});
after(async () => {
  await godwit.stop();
  unsubscribe("net.client.socket", watch);
});

type Random = () => number;
const pick = <T>(random: Random, list: readonly T[]): T => list[Math.floor(random() * list.length)] as T;
const byte = (random: Random): number => Math.floor(random() * 256);

/** The first bytes of networks that are not on the public internet. */
const PRIVATE: readonly (readonly number[])[] = [
  [10],
  [127],
  [127, 0, 0, 1],
  [0],
  [0, 0, 0, 0],
  [100, 64],
  [169, 254],
  [169, 254, 169, 254],
  [172, 16],
  [172, 31],
  [192, 168],
  [192, 0, 2],
  [198, 18],
  [203, 0, 113],
  [224],
  [240],
  [255, 255, 255, 255],
];

const number = (bytes: readonly number[]): number => bytes.reduce((sum, each) => sum * 256 + each, 0);
const hex = (value: number): string => value.toString(16);

/** The forms in which an IPv4 address can be written. */
const FORMS: readonly ((bytes: readonly number[]) => string)[] = [
  (bytes) => bytes.join("."),
  (bytes) => String(number(bytes)),
  (bytes) => `0x${hex(number(bytes))}`,
  (bytes) => bytes.map((each) => `0${each.toString(8)}`).join("."),
  (bytes) => bytes.map((each) => `0x${hex(each)}`).join("."),
  ([a, b, c = 0, d = 0]) => `${a}.${b}.${c * 256 + d}`,
  (bytes) => `${bytes.join(".")}.`,
  (bytes) => `::ffff:${bytes.join(".")}`,
  (bytes) => `::${bytes.join(".")}`,
  (bytes) => `64:ff9b::${bytes.join(".")}`,
  ([a = 0, b = 0, c = 0, d = 0]) => `2002:${hex(a * 256 + b)}:${hex(c * 256 + d)}::1`,
];
const NAMES = ["localhost", "LOCALHOST", "localhost.", "[::1]", "::1", "::", "fe80::1", "fe80::1%lo", "fc00::1", "fd12::1", "ff02::1"];

const privateAddress = (random: Random): string => {
  if (random() < 0.15) return pick(random, NAMES);
  const start = pick(random, PRIVATE);
  return pick(random, FORMS)([...start, byte(random), byte(random), byte(random), byte(random)].slice(0, 4));
};

const inUrl = (host: string): string => (host.includes(":") && !host.startsWith("[") ? `[${host}]` : host);

/** A link of any provider to a host. */
function linkTo(random: Random, name: string, host: string): object {
  const isTls = random() < 0.5;
  const base_url = `${isTls ? "https" : "http"}://${inUrl(host)}:${PORT}`;
  return pick(random, [
    { name, provider: "smpp", settings: { host, port: PORT, tls: isTls, system_id: "x", password: "x" } },
    { name, provider: "smpp", settings: { hosts: [`${inUrl(host)}:${PORT}`], tls: isTls, system_id: "x", password: "x" } },
    { name, provider: "whatsapp", settings: { base_url, phone_number_id: "1", access_token: "x", app_secret: "x", verify_token: "x" } },
    { name, provider: "twilio", settings: { base_url, account_sid: "AC1", auth_token: "x", public_url: "https://sms.example" } },
  ]);
}

const SCOPES = ["links:read", "links:write"] as const;
const create = (body: object, by = key): Promise<Reply> => godwit.request("POST", "/v1/links", { key: by, body });

/** Lets a link that was created connect: by its test, and an SMPP link also by itself. */
async function tryLink({ id, provider }: Json, by: string, body: object): Promise<void> {
  const path = `/v1/links/${String(id)}`;
  const tested = await godwit.request("POST", `${path}/test`, { key: by, body: {} });
  assert.deepEqual(
    [tested.status, tested.json["ok"], tested.json["step"]],
    [200, false, "address"],
    `${JSON.stringify(body)} ${tested.text}`,
  );
  assert.match(String(tested.json["detail"]), /^The host /);
  if (provider === "smpp")
    await until("the link to have failed", async () => {
      const { json } = await godwit.request("GET", path, { key: by });
      return json["state"] !== "connected" && json["reason_detail"] !== null ? true : undefined;
    });
  assert.equal((await godwit.request("DELETE", path, { key: by })).status, 200);
}

test(`no link connects to one of ${COUNT} generated addresses that are not allowed`, async (context) => {
  const random = seeded(context);
  const outcomes = new Map<string, number>();
  for (let index = 0; index < COUNT; index += 1) {
    const host = privateAddress(random);
    const body = linkTo(random, `link ${index}`, host);
    const reply = await create(body);
    assert.ok([201, 400, 422].includes(reply.status), `${host}: ${reply.text}`);
    // An account may test a few times a minute, so each link that is tested has its own.
    if (reply.status === 201) {
      const own = await godwit.key({ environment: "live", account: `account ${index}`, scopes: SCOPES });
      await tryLink((await create(body, own)).json, own, body);
      assert.equal((await godwit.request("DELETE", `/v1/links/${String(reply.json["id"])}`, { key })).status, 200);
    }
    const outcome = reply.status === 201 ? "created" : String(reply.json["code"]);
    outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
  }
  context.diagnostic(JSON.stringify([...outcomes]));
  assert.deepEqual(attempts, []);
  assert.ok((outcomes.get("link_address_refused") ?? 0) > COUNT / 3);
});

test("a public host is refused without TLS", async () => {
  const plain = await create({
    name: "plain",
    provider: "smpp",
    settings: { host: "smpp.example.com", port: PORT, system_id: "x", password: "x" },
  });
  assert.deepEqual([plain.status, plain.json["code"]], [422, "link_address_refused"]);
  assert.deepEqual(
    (plain.json["errors"] as Json[])[0]?.["detail"],
    "must be reached with TLS, unless the operator allows its network with GODWIT_WEBHOOK_ALLOW",
  );
  assert.deepEqual(attempts, []);
});
