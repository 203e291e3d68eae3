/** The system under test and its surroundings: a database, two nodes, a carrier, webhook receivers and stream readers. */
import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { SCOPES } from "../src/access/scope.ts";
import { decodeId } from "../src/model/id.ts";
import { uuidToText } from "../src/lib/uuid.ts";
import { programPath } from "../test/support/programs.ts";
import { Api } from "./api.ts";
import { AUTH_TOKEN, ChaosCarrier } from "./carrier.ts";
import { CarrierRecords } from "./carrier-records.ts";
import { ChaosDatabase } from "./database.ts";
import { ChaosNode, freePort, processEnv } from "./node.ts";
import type { Random } from "./random.ts";
import { Receivers, type Receiver } from "./receivers.ts";
import { ChaosSmsc } from "./smsc.ts";
import { StreamReader } from "./stream-reader.ts";

/** An endpoint with its id, and the events that it subscribes to. */
export type Endpoint = { id: string; receiver: Receiver; wants: (type: string) => boolean };

export type Cluster = {
  folder: string;
  database: ChaosDatabase;
  nodes: readonly ChaosNode[];
  /** The records of both carriers. */
  carrier: CarrierRecords;
  twilio: ChaosCarrier;
  smsc: ChaosSmsc;
  receivers: Receivers;
  readers: readonly StreamReader[];
  api: Api;
  /** Fails at times, and is always enabled. */
  steady: Endpoint;
  /** Never fails, and is disabled, enabled and recovered at times. */
  recovered: Endpoint;
};

const NODES = 2;
const HTTP_LINKS = ["first", "second"];
const FAILING_SHARE = 0.02;

/** Functions that end parts of the cluster, in the order in which the parts were started. */
export class Ends {
  readonly #ends: (() => unknown)[] = [];

  add(end: () => unknown): void {
    this.#ends.push(end);
  }

  /** Ends everything, the latest first. An end that fails does not keep the others from running. */
  async run(): Promise<void> {
    for (const end of this.#ends.splice(0).toReversed()) {
      try {
        await end();
      } catch (error) {
        process.stderr.write(`the cleanup failed: ${String(error)}\n`);
      }
    }
  }
}

type ClusterOptions = { random: Random; workers: number; signal: AbortSignal; ends: Ends; isKept: boolean };

export async function startCluster({ random, workers, signal, ends, isKept }: ClusterOptions): Promise<Cluster> {
  const folder = mkdtempSync(join(tmpdir(), "godwit-chaos-"));
  if (!isKept) ends.add(() => rmSync(folder, { recursive: true, force: true }));
  const database = await ChaosDatabase.start(folder);
  ends.add(() => database.stop());
  const carrier = new CarrierRecords(random, signal);
  const twilio = await ChaosCarrier.listen(carrier);
  ends.add(() => twilio.close());
  const smsc = await ChaosSmsc.listen(carrier);
  ends.add(() => smsc.close());
  const receivers = await Receivers.listen(random);
  ends.add(() => receivers.close());

  const config = join(folder, "godwit.toml");
  writeFileSync(config, linksTo(twilio, smsc));
  const certificate = join(folder, "carrier.pem");
  writeFileSync(certificate, twilio.certificate);
  const env = {
    DATABASE_URL: database.url,
    GODWIT_SECRET_KEY: randomBytes(32).toString("base64"),
    GODWIT_CONFIG: config,
    GODWIT_WEBHOOK_ALLOW: "127.0.0.0/8",
    CARRIER_TOKEN: AUTH_TOKEN,
    SMSC_PASSWORD: "secret",
    NODE_EXTRA_CA_CERTS: certificate,
  };
  const nodes: ChaosNode[] = [];
  for (let number = 1; number <= NODES; number += 1) {
    const node = new ChaosNode({ name: `node-${number}`, port: await freePort(), folder, env, workers });
    ends.add(() => node.stop());
    await node.ready(signal);
    nodes.push(node);
  }
  twilio.callbackUrls = nodes.map(({ url }) => url);

  const api = new Api(nodes, await createLiveKey(env), signal);
  const steady = await createEndpoint(api, receivers, { path: "/steady", types: ["*"], failingShare: FAILING_SHARE });
  const recovered = await createEndpoint(api, receivers, { path: "/recovered", types: ["message.*"], failingShare: 0 });
  const readers = nodes.map((node) => new StreamReader(node, api.apiKey, signal));
  await Promise.all(readers.map(({ opened }) => opened));
  return { folder, database, nodes, carrier, twilio, smsc, receivers, readers, api, steady, recovered };
}

/** Two links to the carrier with HTTP and one to the SMSC, each for a third of the messages. The nodes can reach them at any pace that they
 *  manage here. A long text is one message at the SMSC. */
const linksTo = ({ url }: ChaosCarrier, { port }: ChaosSmsc): string =>
  `${HTTP_LINKS.map(
    (name) => `[[link]]
name = "${name}"
provider = "twilio"
base_url = "${url}"
account_sid = "AC${name}"
auth_token_env = "CARRIER_TOKEN"
public_url = "https://chaos.example"
sender = "+14155550100"
rate = 300
window = 40
hold_seconds = 3
`,
  ).join("\n")}
[[link]]
name = "smsc"
provider = "smpp"
host = "127.0.0.1"
port = ${port}
system_id = "godwit"
password_env = "SMSC_PASSWORD"
sender = "+14155550100"
window = 40
hold_seconds = 3
response_seconds = 5
long_text = "payload"

[[route]]
channel = "sms"
links = ${JSON.stringify([...HTTP_LINKS, "smsc"])}
weights = [1, 1, 1]
`;

/** Creates an API key for the live environment, without a quota, by the command line. */
async function createLiveKey(env: Readonly<Record<string, string>>): Promise<string> {
  const godwit = async (...args: string[]): Promise<string> => {
    const { stdout } = await promisify(execFile)(process.execPath, [programPath("godwit"), ...args], { env: { ...processEnv(), ...env } });
    return stdout;
  };
  await godwit("environments", "set-tier", "live", "unlimited");
  const created = await godwit("keys", "create", "--environment", "live", "--scopes", SCOPES.join(), "--json");
  return String((JSON.parse(created) as { key: unknown }).key);
}

/** The number of deliveries that wait for the endpoint. The API lists a delivery only after its first attempt. */
export async function countWaiting({ database }: Pick<Cluster, "database">, { id }: Endpoint): Promise<number> {
  const uuid = decodeId("whe", id);
  if (uuid === undefined) throw new Error(`${id} is not the id of an endpoint`);
  const rows = await database.rows("select from webhook_queue where endpoint_id = $1", [uuidToText(uuid)]);
  return rows.length;
}

type EndpointOptions = { path: string; types: readonly string[]; failingShare: number };

async function createEndpoint(api: Api, receivers: Receivers, { path, types, failingShare }: EndpointOptions): Promise<Endpoint> {
  const receiver = receivers.add(path, failingShare);
  const { id, secret } = await api.require({
    method: "POST",
    path: "/v1/webhook_endpoints",
    body: { url: receivers.urlOf(receiver), event_types: types },
  });
  receiver.secret = String(secret);
  const wants = (type: string): boolean =>
    types.some((each) => each === "*" || (each.endsWith(".*") && type.startsWith(each.slice(0, -1))));
  return { id: String(id), receiver, wants };
}
