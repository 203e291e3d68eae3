/** The projects in examples/, installed from their lock files with the packed SDK, started like their guides say, and used over HTTP. */
import assert from "node:assert/strict";
import { spawn, type ChildProcess } from "node:child_process";
import { randomUUID } from "node:crypto";
import { cpSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buffer, text } from "node:stream/consumers";
import { after, before, describe, test } from "node:test";
import type { Scope } from "../../src/access/scope.ts";
import { RUN_VARIABLE } from "../../scripts/test/process-tree.ts";
import { PAGES } from "../../site/contents.ts";
import { atEnd } from "../support/at-end.ts";
import { findPython, missingProgram } from "../support/debian-package.ts";
import { ROOT, samplesOf } from "../support/doc-samples.ts";
import { until } from "../support/expect.ts";
import { freePort } from "../support/free-port.ts";
import { startGodwit, type Godwit, type Reply } from "../support/harness.ts";
import { ALLOW_LOOPBACK } from "../support/hook-server.ts";
import { execute } from "../support/shell-session.ts";
import { npm, userEnvironment } from "./user-npm.ts";

const EXAMPLES = join(ROOT, "examples");
const NPM_MS = 240_000;
const FLASK = "/usr/lib/python3/dist-packages/flask/__init__.py";
const COMPILER = {
  target: "es2024",
  module: "nodenext",
  strict: true,
  exactOptionalPropertyTypes: true,
  noUncheckedIndexedAccess: true,
  noEmit: true,
  allowImportingTsExtensions: true,
  skipLibCheck: true,
  types: ["node"],
};

// npm's codes for a registry that does not respond. Any other error is a fault, such as EUSAGE and EINTEGRITY of a lock file.
const UNREACHABLE = /\bcode (?:E(?:NOTFOUND|AI_AGAIN|CONN\w+|TIMEDOUT|HOSTUNREACH|NETUNREACH|NOTCACHED)|ERR_SOCKET_TIMEOUT|\w*CERT\w*)\b/;
const NETWORK = ["--prefer-offline", "--fetch-retries=1", "--fetch-timeout=20000", "--no-audit", "--no-fund"];

const folder = mkdtempSync(join(tmpdir(), "godwit-examples-"));
assert.equal(npm(["pack", "--silent", "--pack-destination", folder], join(ROOT, "sdk"), NPM_MS).status, 0);

/** Copies a project to the place that it has in a checkout, relative to the packed SDK. */
function copy(name: string): string {
  const project = join(folder, "examples", name);
  mkdirSync(join(folder, "examples"), { recursive: true });
  cpSync(join(EXAMPLES, name), project, { recursive: true, filter: (path) => !/node_modules|__pycache__|\.db$|plan\.json$/.test(path) });
  return project;
}

/** Installs a project as its guide says. Returns the reason to skip its tests if the registry cannot be reached. */
function install(name: string): { project: string; skip: string | false } {
  const project = copy(name);
  const [packed = ""] = globSync("godwit-sdk-*.tgz", { cwd: folder });
  for (const args of [["ci"], ["install", "--no-save", `../../${packed}`]]) {
    const { status, stdout, stderr } = npm([...args, ...NETWORK], project, NPM_MS);
    if (UNREACHABLE.test(stderr)) return { project, skip: `${name} is not tested: the registry cannot be reached` };
    assert.equal(status, 0, `npm ${args.join(" ")} in examples/${name}\n${stdout}${stderr}`);
  }
  return { project, skip: false };
}

let godwit: Godwit;
before(async () => {
  godwit = await startGodwit({ roles: "api,dispatch,webhooks", simulatorSpeed: 20, env: ALLOW_LOOPBACK });
  await godwit.unlimited();
});
after(async () => {
  await godwit.stop();
  rmSync(folder, { recursive: true, force: true });
});

async function compile(project: string): Promise<void> {
  writeFileSync(join(project, "tsconfig.json"), JSON.stringify({ compilerOptions: COMPILER, include: ["*.ts"] }));
  const tsc = join(ROOT, "node_modules", "typescript", "bin", "tsc");
  const { code, output } = await execute(process.execPath, [tsc, "-p", project], { cwd: project, env: {} });
  assert.equal(code, 0, output);
}

/** The variables of a project: a key with only the scopes that its guide names. */
const variables = async (scopes: readonly Scope[], more: Record<string, string> = {}): Promise<Record<string, string>> => ({
  GODWIT_KEY: await godwit.key({ scopes }),
  GODWIT_URL: godwit.url,
  [RUN_VARIABLE]: process.env[RUN_VARIABLE] ?? "",
  ...more,
});

/** A program that runs in a project until it is stopped. */
class Program {
  readonly url: string;
  readonly #child: ChildProcess;
  readonly #exited: Promise<unknown>;

  private constructor(child: ChildProcess, url: string, exited: Promise<unknown>) {
    this.#child = child;
    this.url = url;
    this.#exited = exited;
    atEnd(() => this.kill());
  }

  static async start(project: string, [program = "", ...args]: readonly string[], env: Record<string, string>): Promise<Program> {
    const child = spawn(program, args, { cwd: project, env: { ...userEnvironment(process.execPath), ...env }, detached: true });
    let output = "";
    for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk: Buffer) => (output += chunk.toString()));
    const exited = new Promise((resolve) => child.once("close", resolve));
    const [url] = await until(
      () => `the program to listen:\n${output}`,
      () => {
        assert.equal(child.exitCode, null, output);
        return /http:\/\/(?:localhost|127\.0\.0\.1):\d+/.exec(output) ?? undefined;
      },
    );
    return new Program(child, url.replace("localhost", "127.0.0.1"), exited);
  }

  /** Kills npm and the program that it has started, without a chance to finish. */
  async kill(): Promise<void> {
    if (this.#child.exitCode === null && this.#child.signalCode === null) process.kill(-Number(this.#child.pid), "SIGKILL");
    await this.#exited;
  }

  async request(method: string, path: string, body?: unknown, headers: Record<string, string> = {}) {
    const response = await fetch(this.url + path, {
      method,
      headers: { ...(body === undefined ? {} : { "content-type": "application/json" }), ...headers },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const content = await response.text();
    const json = /json/.test(response.headers.get("content-type") ?? "") ? (JSON.parse(content) as unknown) : undefined;
    return { status: response.status, headers: response.headers, text: content, json };
  }
}

const NPM_START = ["npm", "start", "--silent"];

/** Creates an endpoint for the webhooks of a project, and returns its secret. */
async function endpoint(port: number, eventTypes: readonly string[]): Promise<string> {
  const body = { url: `http://127.0.0.1:${port}/hooks`, event_types: eventTypes };
  const { json } = await godwit.request("POST", "/v1/webhook_endpoints", { key: await godwit.key(), body });
  return String(json["secret"]);
}

async function messages(query: Record<string, string>): Promise<Record<string, unknown>[]> {
  const reply: Reply = await godwit.request("GET", `/v1/messages?${new URLSearchParams(query).toString()}`, { key: await godwit.key() });
  return reply.json["data"] as Record<string, unknown>[];
}

/** The headers of a webhook that someone else has signed. */
const forgedHeaders = (): Record<string, string> => ({
  "webhook-id": "evt_1",
  "webhook-timestamp": String(Math.floor(Date.now() / 1_000)),
  "webhook-signature": "v1,AAAA",
});

const loginCodes = install("login-codes");

describe("login-codes", { skip: loginCodes.skip }, () => {
  const { project } = loginCodes;
  const PHONE = "+14155550181";
  let app: Program;
  before(async () => {
    app = await Program.start(project, NPM_START, await variables(["verifications:write"], { PORT: "0" }));
  });
  const start = (phone: string, attempt: string = randomUUID()) => app.request("POST", "/login", { phone, attempt });
  const check = (login: unknown, code: string) => app.request("POST", `/login/${String(login)}/check`, { code });
  const loginOf = ({ json }: { json: unknown }) => (json as { login: string }).login;

  test("compiles", () => compile(project));

  test("logs a user in with the right code, after a wrong one, and only once", async () => {
    const attempt = randomUUID();
    const first = await start(PHONE, attempt);
    const second = await start(PHONE, attempt);
    assert.deepEqual([first.status, second.status, second.text], [201, 201, first.text]);
    assert.equal((await messages({ recipient: PHONE })).length, 1, "a repeated attempt sends one code");
    const wrong = await check(loginOf(first), "000000");
    assert.deepEqual([wrong.status, wrong.json], [401, { error: "wrong_code", attempts_left: 4 }]);
    assert.equal((await app.request("GET", "/me")).status, 401);
    const right = await check(loginOf(first), "123456");
    assert.deepEqual([right.status, right.json], [200, { phone: PHONE }]);
    const [cookie = ""] = (right.headers.get("set-cookie") ?? "").split(";");
    const me = await app.request("GET", "/me", undefined, { cookie });
    assert.deepEqual([me.status, me.json], [200, { phone: PHONE }]);
    assert.equal((await check(loginOf(first), "123456")).status, 410);
  });

  test("sends no second code before the wait has passed", async () => {
    await start("+14155550182");
    const soon = await start("+14155550182");
    assert.equal(soon.status, 429);
    assert.match(soon.text, /"wait".*The next code can be sent in \d+ second/);
  });

  test("refuses an expired code", async () => {
    const started = await start("+14155550183");
    await godwit.rows("update verifications set expires_at = now() where recipient = '+14155550183'");
    const { status, json } = await check(loginOf(started), "123456");
    assert.deepEqual([status, json], [410, { error: "start_again" }]);
  });

  test("refuses what is no phone number and no UUID", async () => {
    assert.equal((await start("12345")).status, 400);
    assert.equal((await start(PHONE, "attempt-1")).status, 400);
  });
});

const orderUpdates = install("order-updates");

describe("order-updates", { skip: orderUpdates.skip }, () => {
  const { project } = orderUpdates;
  type Order = { id: string; text_status: string };
  let port: number;
  let env: Record<string, string>;
  let shop: Program;
  before(async () => {
    port = await freePort();
    env = await variables(["messages:send"], { PORT: String(port), WEBHOOK_SECRET: await endpoint(port, ["message.*"]) });
    shop = await Program.start(project, NPM_START, env);
  });
  const ship = async (id: string, phone: string) => (await shop.request("POST", `/orders/${id}/ship`, { phone })).json as Order;
  const status = async (id: string) => ((await shop.request("GET", `/orders/${id}`)).json as Order).text_status;
  const becomes = (id: string, wanted: string) => until(`order ${id} to be ${wanted}`, async () => (await status(id)) === wanted);

  test("compiles", () => compile(project));

  test("shows the delivery of one text for each order", async () => {
    await ship("1723", "+14155550123");
    await becomes("1723", "delivered");
    await ship("1723", "+14155550123");
    assert.equal((await messages({ client_reference: "1723" })).length, 1);
    await ship("1724", "+15005550005");
    await becomes("1724", "undelivered");
  });

  test("shows the reason of a refusal", async () => {
    assert.equal((await ship("1725", "+15005550004")).text_status, "recipient_opted_out");
    assert.equal((await ship("1726", "12345")).text_status, "invalid_request_payload");
  });

  test("ignores forged webhooks", async () => {
    const { status: code, text: reason } = await shop.request("POST", "/hooks", { type: "message.failed" }, forgedHeaders());
    assert.deepEqual([code, reason], [400, "no_matching_signature"]);
  });

  test("sends one text when it is killed between request and response", async () => {
    await shop.kill();
    // Passes requests on, and loses their responses.
    let isAccepted = false;
    const passOn = async ({ url = "", headers }: IncomingMessage, body: Buffer): Promise<void> => {
      const names = ["authorization", "content-type", "idempotency-key"];
      const passed = Object.fromEntries(names.map((name) => [name, String(headers[name])]));
      isAccepted = (await fetch(godwit.url + url, { method: "POST", headers: passed, body })).status === 202;
    };
    const lossy = createServer((request) => void buffer(request).then((body) => passOn(request, body))).listen(0, "127.0.0.1");
    await new Promise((listening) => lossy.once("listening", listening));
    const address = lossy.address();
    assert.ok(typeof address === "object" && address !== null);
    shop = await Program.start(project, NPM_START, { ...env, GODWIT_URL: `http://127.0.0.1:${address.port}` });
    void ship("1727", "+14155550123").catch(() => undefined);
    await until("the message to be accepted", () => isAccepted);
    await shop.kill();
    lossy.closeAllConnections();
    lossy.close();
    shop = await Program.start(project, NPM_START, env);
    await becomes("1727", "delivered");
    assert.equal((await messages({ client_reference: "1727" })).length, 1);
  });
});

const campaign = install("campaign");

describe("campaign", { skip: campaign.skip }, () => {
  const { project } = campaign;
  let env: Record<string, string>;
  before(async () => {
    env = await variables(["messages:send", "messages:read", "suppressions:read"]);
  });
  const run = async (...args: readonly string[]): Promise<string> => {
    const child = spawn("npm", args, { cwd: project, env: { ...userEnvironment(process.execPath), ...env } });
    const [output, errors, code] = await Promise.all([
      text(child.stdout),
      text(child.stderr),
      new Promise((end) => child.on("close", end)),
    ]);
    assert.equal(code, 0, `${output}${errors}`);
    return output;
  };
  const recipients = async (name: string) =>
    (await messages({ client_reference: name })).map(({ recipient }) => String(recipient)).toSorted();

  test("compiles", () => compile(project));

  test("goes once to everyone with consent, and after STOP no more", async () => {
    const first = await run("start", "--silent", "--", "boots-sale");
    assert.match(first, /^not sent to \+15005550004: recipient_opted_out$/m);
    assert.match(first, /^3 messages: \{"delivered":3\}$/m);
    const reached = ["+14155550121", "+14155550122", "+15005550010"];
    assert.deepEqual(await recipients("boots-sale"), reached);

    // A crash after the request and before the response leaves a plan without the id of the batch.
    const planFile = join(project, "boots-sale.plan.json");
    const plan = readFileSync(planFile, "utf8");
    writeFileSync(planFile, plan.replace(/,"batchId":"[^"]+"/, ""));
    await run("start", "--silent", "--", "boots-sale");
    assert.equal(readFileSync(planFile, "utf8"), plan, "the second run has the same batch");
    assert.deepEqual(await recipients("boots-sale"), reached);

    await until("the STOP to be recorded", async () => {
      const { json } = await godwit.request("GET", "/v1/suppressions?recipient=%2B15005550010", { key: await godwit.key() });
      return (json["data"] as unknown[]).length > 0;
    });
    assert.match(await run("run", "--silent", "opt-outs"), /^\+15005550010 has opted out$/m);
    assert.match(readFileSync(join(project, "recipients.csv"), "utf8"), /^\+15005550010,$/m);
    await run("start", "--silent", "--", "coat-sale");
    assert.deepEqual(await recipients("coat-sale"), ["+14155550121", "+14155550122"]);
  });
});

const python = findPython();
const missingFlask = "missing" in python ? python.missing : missingProgram("python3-flask", FLASK);

describe("two-way-support", { skip: missingFlask === undefined ? false : `the inbox in Python is not tested: ${missingFlask}` }, () => {
  const NUMBER = "+14155550100";
  type Entry = { direction: string; body: string };
  let inbox: Program;
  before(async () => {
    assert.ok("path" in python);
    const port = await freePort();
    const env = await variables(["messages:send"], {
      WEBHOOK_SECRET: await endpoint(port, ["message.received"]),
      PYTHONPATH: join(ROOT, "sdk-python", "src"),
      PYTHONDONTWRITEBYTECODE: "1",
    });
    inbox = await Program.start(copy("two-way-support"), [python.path, "-m", "flask", "run", "--port", String(port)], env);
  });
  const write = async (recipient: string, body: string) =>
    void (await godwit.send(await godwit.key(), { recipient, sender: NUMBER, channel: "sms", body }));
  const conversation = async (person: string) =>
    (await inbox.request("GET", `/conversations/${encodeURIComponent(person)}`)).json as Entry[];
  const answer = (person: string, id: string, body: string) =>
    inbox.request("POST", `/conversations/${encodeURIComponent(person)}/replies`, { id, body });

  test("shows what a person writes, and answers once from the same number", async () => {
    const person = "+15005550008";
    await write(person, "Did your parcel arrive?");
    const [received] = await until("the message of the person", async () => {
      const entries = await conversation(person);
      return entries.length > 0 && entries;
    });
    assert.deepEqual([received?.direction, received?.body], ["inbound", "Thank you, got it."]);
    const id = randomUUID();
    const first = await answer(person, id, "You are welcome.");
    const second = await answer(person, id, "You are welcome.");
    assert.deepEqual([first.status, second.status, second.text], [201, 201, first.text]);
    const sent = (await messages({ recipient: person })).filter(({ body }) => body === "You are welcome.");
    assert.deepEqual(
      sent.map(({ sender }) => sender),
      [NUMBER],
    );
    assert.equal((await conversation(person)).filter(({ direction }) => direction === "outbound").length, 1);
    const list = (await inbox.request("GET", "/conversations")).json as { person: string }[];
    assert.deepEqual(
      list.map((each) => each.person),
      [person],
    );
  });

  test("sends no answer to a person who wrote STOP", async () => {
    const person = "+15005550010";
    // Another test may have had this STOP.
    await godwit.rows("delete from suppressions");
    await write(person, "Did your parcel arrive?");
    await until("the message of the person", async () => (await conversation(person)).length > 0);
    const { status, json } = await answer(person, randomUUID(), "Are you sure?");
    assert.deepEqual([status, (json as { error: string }).error], [409, "recipient_opted_out"]);
  });

  test("refuses forged webhooks and answers without a conversation", async () => {
    const forged = await inbox.request("POST", "/hooks", { type: "message.received" }, forgedHeaders());
    assert.deepEqual([forged.status, forged.text], [400, "no_matching_signature"]);
    assert.equal((await answer("+14155550199", randomUUID(), "Hello")).status, 404);
  });
});

const unindented = (code: string): string => `${code}\n`.replaceAll(/^ +/gm, "");

describe("the guides", () => {
  const guides = PAGES.filter(({ name }) => name.startsWith("guide-"));
  for (const { name } of guides)
    test(`docs/${name}.md shows parts of its project, in at most 500 words`, () => {
      const project = join(EXAMPLES, name.replace("guide-", ""));
      const sources = globSync("*.{ts,py}", { cwd: project }).map((file) => unindented(readFileSync(join(project, file), "utf8")));
      const page = `docs/${name}.md`;
      const shown = samplesOf(page).filter(({ language }) => language === "ts" || language === "python");
      assert.ok(shown.length > 0);
      for (const { line, text: part } of shown)
        assert.ok(
          sources.some((source) => source.includes(unindented(part))),
          `${page}:${line}`,
        );
      const words = readFileSync(join(ROOT, page), "utf8")
        .replaceAll(/^```[^]*?^```|<!--.*-->/gm, "")
        .split(/\s+/);
      assert.ok(words.length <= 500, `${page} has ${words.length} words`);
      assert.match(readFileSync(join(project, "README.md"), "utf8"), new RegExp(`docs/${name}\\.md`));
    });

  test("belong to all examples", () => {
    assert.deepEqual(guides.map(({ name }) => name.replace("guide-", "")).toSorted(), globSync("*", { cwd: EXAMPLES }).toSorted());
  });
});
