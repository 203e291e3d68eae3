/** Attacks by hosts that an account names, TLS servers and SMSCs, and by rows that are stored. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { once } from "node:events";
import { createServer, type AddressInfo, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createServer as createTlsServer } from "node:tls";
import { Database } from "../src/database/database.ts";
import { sql } from "../src/database/sql.ts";
import { encode } from "../src/providers/smpp/encode.ts";
import { STATUS, type Body } from "../src/providers/smpp/pdu.ts";
import { dhParameters, selfSigned } from "../test/support/certificate.ts";
import { deliverSm } from "../test/support/fakes/smsc-scripts.ts";
import { listenWithRecords } from "./tls-records.ts";
import { HOSTILE_LINKS, insertHostileRows } from "../test/support/hostile-rows.ts";
import { callAsAccount, repeat, type Running, type Target } from "./attack-client.ts";
import { ATTACKER } from "./service.ts";

async function listen(server: Server): Promise<number> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return (server.address() as AddressInfo).port;
}

/** Creates something of the first attacker. Resolves with the path. */
async function create(target: Target, path: string, body: object): Promise<string> {
  const { id, ...reply } = await callAsAccount(target, "POST", path, body);
  assert.ok(typeof id === "string", `POST ${path} was refused: ${JSON.stringify(reply)}`);
  return `${path}/${id}`;
}

/** Tests a webhook endpoint whose TLS server has an expensive exchange of keys. */
export async function expensiveTls(target: Target): Promise<Running> {
  const folder = mkdtempSync(join(tmpdir(), "godwit-attack-"));
  const [keyPath, certPath] = [join(folder, "key"), join(folder, "crt")];
  const pair = ["-newkey", "rsa:2048", "-nodes", "-keyout", keyPath, "-out", certPath];
  execFileSync("openssl", ["req", "-x509", ...pair, "-days", "2", "-subj", "/CN=localhost"], { stdio: "ignore" });
  const [cert, key] = [readFileSync(certPath), readFileSync(keyPath)];
  rmSync(folder, { recursive: true, force: true });
  const options = { cert, key, maxVersion: "TLSv1.2", ciphers: "DHE-RSA-AES128-GCM-SHA256", dhparam: dhParameters(8_192) } as const;
  const server = createTlsServer(options).on("tlsClientError", () => undefined);
  const url = `https://127.0.0.1:${await listen(server)}/hook`;
  const path = await create(target, "/v1/webhook_endpoints", { url, event_types: ["message.delivered"] });
  return repeat(
    () => callAsAccount(target, "POST", `${path}/test`),
    async () => server.close(),
  );
}

/** Creates an SMPP link to a host that requires new keys without end after each TLS handshake. */
export async function floodKeys(target: Target): Promise<Running> {
  const pair = selfSigned({ address: "127.0.0.1" });
  const { port, close } = await listenWithRecords(pair, (socket, records) => {
    for (let count = 0; count < KEY_UPDATES; count += 1) socket.write(records.keyUpdate());
  });
  const settings = { host: "127.0.0.1", port, tls: true, tls_ca: pair.cert, system_id: "attack", password: "attack" };
  const path = await create(target, "/v1/links", { name: "attack", provider: "smpp", settings });
  return {
    stop: async () => {
      await callAsAccount(target, "DELETE", path);
      close();
    },
  };
}

/** Tests a webhook endpoint that responds with 200,000 headers without a value. */
export async function manyHeaders(target: Target): Promise<Running> {
  const response = `HTTP/1.1 200 OK\r\n${"a:\r\n".repeat(200_000)}`;
  const server = createServer((socket) => socket.on("error", () => undefined).once("data", () => socket.write(response)));
  const url = `http://127.0.0.1:${await listen(server)}/hook`;
  const path = await create(target, "/v1/webhook_endpoints", { url, event_types: ["message.delivered"] });
  return repeat(
    () => callAsAccount(target, "POST", `${path}/test`),
    async () => server.close(),
  );
}

// 216 kB.
const KEY_UPDATES = 8_000;
const EVERY_MS = 5;
// A peer that does not read slows the flood down.
const MAX_UNSENT_BYTES = 262_144;

/** Creates an SMPP link of the account to an SMSC that accepts each bind and then sends the PDUs again and again, as fast as they are read. */
async function flood(target: Target, pdus: () => Buffer): Promise<Running> {
  const open = new Set<Socket>();
  const server = createServer((socket) => {
    open.add(socket.on("error", () => undefined).on("close", () => open.delete(socket)));
    socket.once("data", (bind: Buffer) => {
      socket.write(encode({ command: "bind_transceiver_resp", id: "SMSC", status: STATUS.ok, sequence: bind.readUInt32BE(12) }));
      const timer = setInterval(() => socket.writableLength < MAX_UNSENT_BYTES && socket.write(pdus()), EVERY_MS);
      socket.resume().on("close", () => clearInterval(timer));
      server.emit("bound");
    });
  });
  const settings = { host: "127.0.0.1", port: await listen(server), tls: false, system_id: "attack", password: "attack" };
  const bound = once(server, "bound");
  const path = await create(target, "/v1/links", { name: "attack", provider: "smpp", settings });
  await bound;
  return {
    stop: async () => {
      await callAsAccount(target, "DELETE", path);
      for (const socket of open) socket.destroy();
      server.close();
    },
  };
}

const pdu = (body: Body, sequence: number): Buffer => encode({ ...body, status: STATUS.ok, sequence });

/** enquire_link, a request that no carrier sends, and one that no standard knows. */
export function floodRequests(target: Target): Promise<Running> {
  const unknown = Buffer.alloc(16);
  unknown.writeUInt32BE(16, 0);
  unknown.writeUInt32BE(0x7777, 4);
  const mixed = Array.from({ length: 1_000 }, (_, at) => {
    const odd = at % 20 === 0 ? pdu({ command: "query_sm" }, at + 1) : at % 20 === 1 ? unknown : undefined;
    return odd ?? pdu({ command: "enquire_link" }, at + 1);
  });
  const bytes = Buffer.concat(mixed);
  return flood(target, () => bytes);
}

/** Responses to no request: of a known command, of none, and for any command. */
export function floodResponses(target: Target): Promise<Running> {
  const unknown = Buffer.from("00000010800077770000000000012fd1", "hex");
  const [response, nack] = [pdu({ command: "submit_sm_resp", id: "" }, 77_777), pdu({ command: "generic_nack" }, 77_777)];
  const bytes = Buffer.concat(Array.from({ length: 4_000 }, (_, at) => [response, nack, unknown][at % 3] ?? unknown));
  return flood(target, () => bytes);
}

/** Messages, each with another text. */
export function floodMessages(target: Target): Promise<Running> {
  let sequence = 0;
  const next = (): Buffer => pdu({ command: "deliver_sm", short: deliverSm({ text: Buffer.from(randomUUID()) }) }, (sequence += 1));
  return flood(target, () => Buffer.concat(Array.from({ length: 50 }, next)));
}

const ROWS = 1_000;
const STARTS = 3;

/** Stores rows that cannot be read, and starts further nodes. The running node reads the rows as well. */
export async function hostileRows({ service }: Target): Promise<Running> {
  const db = new Database({ url: service.databaseUrl });
  try {
    const [account] = await db.rows<{ id: unknown }>(sql`select id from accounts where name = ${ATTACKER}`);
    for (let stored = 0; stored < ROWS; stored += HOSTILE_LINKS.length) await insertHostileRows(db, account?.id);
    await db.rows(sql`update created_version set version = version + 1`);
  } finally {
    await db.close();
  }
  const startAll = async (): Promise<void> => {
    for (let start = 0; start < STARTS; start += 1) await (await service.startAnother()).stop();
  };
  return { done: startAll(), stop: async () => undefined };
}
