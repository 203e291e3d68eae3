/** A service whose turns of the event loop are measured: a process with its own database, a key with all scopes and no quota, and a link
 *  of every provider that receives requests. */
import assert from "node:assert/strict";
import { execFile, spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { promisify } from "node:util";
import { Agent } from "undici";
import { SCOPES } from "../src/access/scope.ts";
import type { Environment } from "../src/model/owner.ts";
import { processEnv } from "../chaos/node.ts";
import { writeConfig } from "../test/support/config-file.ts";
import { GRAPH_SECRETS, PHONE_NUMBER_ID } from "../test/support/fakes/graph.ts";
import { TWILIO_SECRETS } from "../test/support/fakes/twilio.ts";
import { programPath } from "../test/support/programs.ts";
import type { TurnFigures } from "./turn-monitor.ts";

const MONITOR = join(import.meta.dirname, "turn-monitor.ts");

/** The name of the link of each provider. */
export const LINK = "main";

// The service creates it.
const FIRST_ACCOUNT = "default";

/** The name of the account that attacks. */
export const ATTACKER = "attacker";

const CONFIG = `[[link]]
name = "${LINK}-twilio"
provider = "twilio"
account_sid = "${TWILIO_SECRETS.accountSid}"
auth_token_env = "TWILIO_TOKEN"
public_url = "https://godwit.example"

[[link]]
name = "${LINK}-whatsapp"
provider = "whatsapp"
phone_number_id = "${PHONE_NUMBER_ID}"
access_token_env = "WA_TOKEN"
app_secret_env = "WA_APP_SECRET"
verify_token_env = "WA_VERIFY_TOKEN"

[[link]]
name = "${LINK}-http"
provider = "http"
public_url = "https://godwit.example"
secrets = { token_env = "HTTP_TOKEN" }
request = { url = "https://api.example/send", body = { to = "{{recipient}}", text = "{{body}}" } }
response = { id = "$.id" }
callbacks = { verification = { type = "hmac", header = "x-signature", secret = "{{secret.token}}" } }
receipts = { items = "$.results[*]", id = "$.id", status = "$.status", error_code = "$.code", statuses = { sent = ["sent"], failed = ["failed"] } }
inbound = { items = "$.messages[*]", id = "$.id", from = "$.from", to = "$.to", text = "$.text" }
`;

export const HTTP_TOKEN = "token of the HTTP carrier";

const SETTINGS = {
  GODWIT_PORT: "0",
  GODWIT_LOG: "json",
  GODWIT_SECRET_KEY: Buffer.alloc(32, 7).toString("base64"),
  HTTP_TOKEN,
  TWILIO_TOKEN: TWILIO_SECRETS.authToken,
  WA_TOKEN: GRAPH_SECRETS.accessToken,
  WA_APP_SECRET: GRAPH_SECRETS.appSecret,
  WA_VERIFY_TOKEN: GRAPH_SECRETS.verifyToken,
};

const MAX_ADDRESSES = 64;

/** Loopback addresses. Other systems than Linux have only one. */
const addresses = (): string[] =>
  process.platform === "linux" ? Array.from({ length: MAX_ADDRESSES }, (_, index) => `127.0.1.${index + 1}`) : ["127.0.0.1"];

const newDispatcher = (localAddress: string): Agent =>
  new Agent({ connections: 1, pipelining: 1, bodyTimeout: 0, headersTimeout: 0, localAddress });

/** The figures of some work: its longest turn, and all its processor time on the main thread. */
export type Cost = { worstTurnMs: number; cpuMs: number };

type MeasuredOptions = { roles: string; databaseUrl: string; settings?: Readonly<Record<string, string>> };

export class MeasuredService {
  readonly url: string;
  readonly key: { id: string; secret: string };
  /** The errors in the log. */
  readonly errors: readonly string[];
  readonly #options: MeasuredOptions;
  readonly #env: Record<string, string>;
  readonly #dispatchers = addresses().map((localAddress) => newDispatcher(localAddress));
  #requests = 0;
  readonly #child: ChildProcess;

  private constructor(fields: {
    url: string;
    key: { id: string; secret: string };
    errors: readonly string[];
    child: ChildProcess;
    env: Record<string, string>;
    options: MeasuredOptions;
  }) {
    this.url = fields.url;
    this.#env = fields.env;
    this.#options = fields.options;
    this.key = fields.key;
    this.errors = fields.errors;
    this.#child = fields.child;
  }

  static async start(options: MeasuredOptions): Promise<MeasuredService> {
    const { roles, databaseUrl, settings = {} } = options;
    const env = {
      ...processEnv(),
      ...SETTINGS,
      ...settings,
      GODWIT_ROLES: roles,
      GODWIT_CONFIG: writeConfig(CONFIG),
      DATABASE_URL: databaseUrl,
    };
    const child = spawn(process.execPath, ["--expose-gc", "--import", MONITOR, programPath("godwit"), "serve"], {
      env,
      stdio: ["ignore", "pipe", "ignore", "ipc"],
    });
    process.once("exit", () => child.kill("SIGKILL"));
    const errors: string[] = [];
    const url = await new Promise<string>((resolve, reject) => {
      child.once("exit", (code) => reject(new Error(`the service ended with exit code ${code}`)));
      createInterface({ input: child.stdout as NodeJS.ReadableStream }).on("line", (line) => {
        if (line.includes('"level":50')) errors.push(line);
        if (line.includes('"msg":"listening"')) resolve(String((JSON.parse(line) as { url: unknown }).url));
      });
    });
    await runGodwit(env, "environments", "set-tier", "test", "unlimited", "--account", FIRST_ACCOUNT);
    return new MeasuredService({ url, child, errors, env, options, key: await createKey(env, "test", "--account", FIRST_ACCOUNT) });
  }

  get databaseUrl(): string {
    return this.#options.databaseUrl;
  }

  /** Starts another node on the same database. */
  startAnother(): Promise<MeasuredService> {
    return MeasuredService.start(this.#options);
  }

  get hasEnded(): boolean {
    return this.#child.exitCode !== null || this.#child.signalCode !== null;
  }

  /** Does the work, with no other work beside it. */
  async measure<T>(work: () => Promise<T>): Promise<Cost & { result: T }> {
    const before = await this.#figures();
    const result = await work();
    const { worstTurnUs, cpuUs } = await this.#figures();
    return { result, worstTurnMs: worstTurnUs / 1_000, cpuMs: (cpuUs - before.cpuUs) / 1_000 };
  }

  /** The memory of all objects that are in use. */
  async heapBytes(): Promise<number> {
    return (await this.#figures("collect garbage")).heapBytes;
  }

  /** The same, with the bytes of buffers, also during a measurement. */
  async heldBytes(): Promise<number> {
    return (await this.#figures("memory")).heldBytes;
  }

  /** Creates an account, and returns its keys. */
  async createAccount(name: string): Promise<Record<Environment, string>> {
    await runGodwit(this.#env, "accounts", "create", name);
    const keyOf = async (environment: Environment): Promise<string> => {
      await runGodwit(this.#env, "environments", "set-tier", environment, "unlimited", "--account", name);
      return (await createKey(this.#env, environment, "--account", name)).secret;
    };
    return { test: await keyOf("test"), live: await keyOf("live") };
  }

  /** The figures since the last call. */
  async #figures(message = "figures"): Promise<TurnFigures> {
    this.#child.send(message);
    const received = new AbortController();
    const ended = once(this.#child, "exit", received).then(() => assert.fail("the service has ended"));
    const [figures] = (await Promise.race([once(this.#child, "message", received), ended])) as [TurnFigures];
    received.abort();
    await ended.catch(() => undefined);
    return figures;
  }

  /** The connection for the next request. The requests come from many addresses in turn: the service delays its responses to an address that
   *  fails to authenticate again and again. */
  get dispatcher(): Agent {
    this.#requests += 1;
    return this.#dispatchers[this.#requests % this.#dispatchers.length] as Agent;
  }

  async stop(): Promise<void> {
    await Promise.all(this.#dispatchers.map((each) => each.destroy()));
    if (this.hasEnded) return;
    const ended = once(this.#child, "exit");
    this.#child.kill("SIGKILL");
    await ended;
  }
}

const runGodwit = async (env: Record<string, string>, ...args: string[]): Promise<string> =>
  (await promisify(execFile)(process.execPath, [programPath("godwit"), ...args], { env })).stdout;

async function createKey(
  env: Record<string, string>,
  environment: Environment,
  ...flags: string[]
): Promise<{ id: string; secret: string }> {
  const create = ["keys", "create", "--environment", environment, "--scopes", SCOPES.join(), "--json", ...flags];
  const { id, key } = JSON.parse(await runGodwit(env, ...create)) as Record<string, string>;
  if (id === undefined || key === undefined) throw new Error("the command created no key");
  return { id, secret: key };
}
