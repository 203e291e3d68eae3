/** `godwit send`, as a person or a script uses it: a process that calls the API of a running service. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, describe, test } from "node:test";
import type { Scope } from "../../src/access/scope.ts";
import type { Json } from "../support/client.ts";
import { LIMIT_MS, until } from "../support/expect.ts";
import { runGodwit, startGodwit, baseEnv, type Godwit } from "../support/harness.ts";
import { programPath } from "../support/programs.ts";
import { bodyServer } from "../support/hook-server.ts";

type Result = Awaited<ReturnType<typeof runGodwit>>;

const MAIN = programPath("godwit");

let godwit: Godwit;
let key: string;
before(async () => {
  godwit = await startGodwit({ roles: "api,dispatch", simulatorSpeed: 10 });
  key = await godwit.key();
  await godwit.unlimited();
});
after(() => godwit.stop());

type SendOptions = { url?: string; env?: Record<string, string>; stdin?: string };

const send = (args: readonly string[], { url = godwit.url, env = {}, stdin }: SendOptions = {}): Promise<Result> =>
  runGodwit(["send", ...args], { GODWIT_URL: url, GODWIT_KEY: key, ...env }, stdin);

const TO = ["--to", "+14155550123"] as const;
const HELLO = [...TO, "--body", "hello"] as const;

const record = async (id: string): Promise<Json> => (await godwit.request("GET", `/v1/messages/${id}`, { key })).json;
const countOf = async (reference: string): Promise<number> => {
  const { json } = await godwit.request("GET", `/v1/messages?client_reference=${reference}`, { key });
  return (json["data"] as unknown[]).length;
};

async function listening(server: Server): Promise<string> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function close(server: Server): void {
  server.close();
  server.closeAllConnections();
}

describe("a message that is accepted", { concurrency: 2 }, () => {
  test("is shown in a few lines and stored as requested", async () => {
    const { code, stdout, stderr } = await send([
      ...HELLO,
      ..."--ttl 10m --priority high --reference order-17 --metadata a=1 --metadata b=x=y --max-segments 2 --sender ACME".split(" "),
    ]);
    assert.equal(code, 0, stderr);
    const [, id = ""] = /^id {6}(msg_[0-9a-z]{26})$/m.exec(stdout) ?? [];
    assert.match(stdout, /^status {2}queued$/m);
    assert.match(stdout, /^to {6}\+14155550123 by sms$/m);
    assert.match(stdout, /^from {4}ACME$/m);
    assert.match(stdout, /^text {4}1 segment \(gsm7, 5 characters\)$/m);
    assert.equal(stdout.trimEnd().split("\n").length, 5);
    assert.equal(stderr, "");
    const found = await record(id);
    assert.deepEqual(
      [found["body"], found["priority"], found["client_reference"], found["metadata"], found["sender"]],
      ["hello", "high", "order-17", { a: "1", b: "x=y" }, "ACME"],
    );
    assert.equal(Date.parse(String(found["expires_at"])) - Date.parse(String(found["created_at"])), 600_000);
  });

  test("is one line with --json, as the API returned it, and nothing else", async () => {
    const { code, stdout, stderr } = await send([...HELLO, "--json"]);
    assert.equal(code, 0, stderr);
    assert.equal(stderr, "");
    assert.equal(stdout.split("\n").length, 2);
    const { id, object, status } = JSON.parse(stdout) as Json;
    assert.deepEqual([object, status], ["message", "queued"]);
    assert.equal((await record(String(id)))["id"], id);
    assert.ok(!stdout.includes(key));
  });

  test("may have its text from the standard input, without the last line break", async () => {
    const { stdout } = await send([...TO, "--body", "-", "--json"], { stdin: "naïve 🔑\nsecond line\n" });
    assert.equal((JSON.parse(stdout) as Json)["body"], "naïve 🔑\nsecond line");
  });

  test("may be a template with its variables", async () => {
    const name = `order_${randomUUID().slice(0, 8)}`;
    const body = { name, language: "en", category: "utility", channels: ["sms"], body: "Order {{order}} is {{state}}." };
    const made = await godwit.request("POST", "/v1/templates", { key, body });
    assert.equal(made.status, 201, made.text);
    await godwit.rows("update templates set status = 'approved' where name = $1", [name]);
    const sent = await send([...TO, "--template", name, "--var", "order=A-17", "--var", "state=on its way", "--json"]);
    assert.equal(sent.code, 0, sent.stderr);
    assert.equal((JSON.parse(sent.stdout) as Json)["body"], "Order A-17 is on its way.");
  });

  test("shows its time when it is scheduled", async () => {
    const at = new Date(Date.now() + 3_600_000).toISOString();
    const { code, stdout } = await send([...HELLO, "--send-at", at]);
    assert.equal(code, 0);
    assert.ok(stdout.includes(`status  scheduled for ${at}\n`), stdout);
  });

  test("is the same message with the same idempotency key", async () => {
    const mine = [...HELLO, "--idempotency-key", randomUUID()];
    const [first, second] = [await send(mine), await send(mine)];
    assert.deepEqual([first.code, second.code], [0, 0]);
    const id = /msg_\w+/.exec(first.stdout)?.[0] ?? "";
    assert.ok(second.stdout.startsWith(`id      ${id}  (accepted before under this idempotency key)\n`), second.stdout);
    assert.ok(!first.stdout.includes("before"));
  });

  test("is sent to GODWIT_HOST and GODWIT_PORT by default, with a key from the command line", async () => {
    const { port } = new URL(godwit.url);
    const { code, stderr } = await runGodwit(["send", ...HELLO, "--key", key], {
      GODWIT_HOST: "0.0.0.0",
      GODWIT_PORT: port,
    });
    assert.equal(code, 0, stderr);
  });
});

describe("a message that is refused", { concurrency: 2 }, () => {
  test("exits with 1 and shows every fault with its flag, and the request id", async () => {
    const { code, stdout, stderr } = await send(["--to", "+1500", "--channel", "fax", "--body", "", "--ttl", "1s"]);
    assert.equal(code, 1);
    assert.equal(stdout, "");
    assert.match(stderr, /^godwit: 400 invalid_request_payload: The request is not valid$/m);
    assert.match(stderr, /^ {2}recipient \(--to\): is too short: numbers of \+1 have 10 digits.* \(invalid_format\)$/m);
    assert.match(stderr, /^ {2}channel \(--channel\): must be one of sms, whatsapp/m);
    assert.match(stderr, /^ {2}ttl_seconds \(--ttl\): .+$/m);
    assert.match(stderr, /^ {2}body \(--body\): .+$/m);
    assert.match(stderr, /^ {2}request req_[0-9a-z]{26}$/m);
  });

  test("is the problem of the API with --json", async () => {
    const { code, stdout, stderr } = await send(["--to", "+15005550004", "--body", "hello", "--json"]);
    assert.equal(code, 1);
    const problem = JSON.parse(stdout) as Json;
    assert.deepEqual([problem["code"], problem["status"]], ["recipient_opted_out", 422]);
    assert.match(stderr, /^godwit: 422 recipient_opted_out/);
  });

  test("for a missing scope names the scope and never the key", async () => {
    const weak = await godwit.key({ scopes: ["messages:read"] });
    const { code, stderr } = await send(HELLO, { env: { GODWIT_KEY: weak } });
    assert.equal(code, 1);
    assert.match(stderr, /^godwit: 403 forbidden_insufficient_scope/m);
    assert.match(stderr, /messages:send/);
    assert.ok(!stderr.includes(weak));
  });

  test("by a server other than Godwit is reported so, and the key does not follow the redirect", async () => {
    const asked: string[] = [];
    const server = createServer((request, response) => {
      asked.push(request.url ?? "");
      response.writeHead(307, { location: "/elsewhere", "content-type": "text/html" }).end("<p>moved");
    });
    const { code, stderr } = await send(HELLO, { url: await listening(server) });
    close(server);
    assert.equal(code, 1);
    assert.match(stderr, /^godwit: the server responded with 307, but not as Godwit does: is it the right URL\?$/m);
    assert.deepEqual(asked, ["/v1/messages"]);
  });
});

describe("a service with errors", { concurrency: 3 }, () => {
  type Asked = { key: string; body: string };
  type Act = (response: ServerResponse) => void;

  /** Responds with each act in turn, repeats the last one, and records the requests. */
  async function play(acts: readonly Act[]): Promise<{ url: string; asked: Asked[]; server: Server }> {
    const asked: Asked[] = [];
    const server = bodyServer((request, body, response) => {
      asked.push({ key: String(request.headers["idempotency-key"]), body });
      (acts[asked.length - 1] ?? acts.at(-1))?.(response);
    });
    return { url: await listening(server), asked, server };
  }

  const respondWith =
    (status: number, code: string, headers: Record<string, string> = {}): Act =>
    (response) =>
      response
        .writeHead(status, { "content-type": "application/problem+json", ...headers })
        .end(JSON.stringify({ status, code, title: code }));
  const accept: Act = (response) =>
    response
      .writeHead(202, { "content-type": "application/json" })
      .end(
        JSON.stringify({ id: "msg_x", object: "message", status: "queued", recipient: "+1", channel: "sms", sender: null, segments: null }),
      );
  const drop: Act = (response) => response.destroy();

  test("gets the same request with the same idempotency key again until it accepts the message", async () => {
    const acts = [
      respondWith(503, "service_unavailable", { "retry-after": "0" }),
      respondWith(409, "idempotency_conflict", { "retry-after": "0" }),
    ];
    acts.push(respondWith(429, "rate_limit_exceeded", { "retry-after": "1" }), respondWith(502, "bad_gateway"), drop, accept);
    const { url, asked, server } = await play(acts);
    const { code, stderr } = await send(HELLO, { url });
    close(server);
    assert.equal(code, 0, stderr);
    assert.equal(asked.length, 6);
    assert.equal(new Set(asked.map((each) => each.key)).size, 1);
    assert.match(asked[0]?.key ?? "", /^[0-9a-f]{8}-[0-9a-f]{4}-4/);
    assert.equal(new Set(asked.map(({ body }) => body)).size, 1);
    assert.match(stderr, /^429 rate_limit_exceeded; the next attempt follows in 1\.0 s$/m);
    assert.equal(stderr.match(/next attempt/g)?.length, 5);
  });

  test("that refuses a message permanently gets no second request", async () => {
    const { url, asked, server } = await play([respondWith(422, "no_route")]);
    assert.equal((await send(HELLO, { url })).code, 1);
    close(server);
    assert.equal(asked.length, 1);
  });

  test("that never responds exits with 3 and shows the idempotency key", async () => {
    const { url, server, asked } = await play([() => undefined]);
    const { code, stdout, stderr } = await send([...HELLO, "--timeout", "1s", "--json"], { url });
    close(server);
    assert.equal(code, 3);
    const printed = JSON.parse(stdout) as Json;
    assert.deepEqual([printed["code"], printed["idempotency_key"]], ["outcome_unknown", asked[0]?.key]);
    assert.match(stderr, /it is not known whether the message was accepted: no response in time/);
    assert.ok(stderr.includes(`--idempotency-key ${asked[0]?.key} `), stderr);
  });

  test("whose key is revoked after a response was lost exits with 3 as well", async () => {
    const { url, server } = await play([drop, respondWith(401, "unauthorized_invalid_token")]);
    const { code, stderr } = await send(HELLO, { url });
    close(server);
    assert.equal(code, 3, stderr);
    assert.match(stderr, /not known whether.*401/);
  });

  test("that is always busy exits with 1, because nothing was sent", async () => {
    const { url, server } = await play([respondWith(429, "rate_limit_exceeded", { "retry-after": "60" })]);
    const { code, stderr } = await send([...HELLO, "--timeout", "5s"], { url });
    close(server);
    assert.equal(code, 1);
    assert.match(stderr, /^godwit: nothing was sent: 429 rate_limit_exceeded/m);
  });

  test("that is unreachable exits with 1, immediately where waiting cannot help", async () => {
    const server = createServer();
    const url = await listening(server);
    close(server);
    const away = await send([...HELLO, "--timeout", "4s", "--json"], { url });
    assert.equal(away.code, 1);
    assert.equal((JSON.parse(away.stdout) as Json)["code"], "service_unreachable");
    assert.match(away.stderr, /ECONNREFUSED.*; the next attempt follows in/);
    const nowhere = await send(HELLO, { url: "http://nowhere.invalid" });
    assert.equal(nowhere.code, 1);
    assert.doesNotMatch(nowhere.stderr, /next attempt/);
  });

  test("whose response is lost sends no second message", async () => {
    const reference = `lost-${randomUUID()}`;
    let count = 0;
    const proxy = bodyServer((request: IncomingMessage, body: string, response: ServerResponse) => {
      count += 1;
      void passOn(request, body, count === 1 ? undefined : response).then(() => count === 1 && response.destroy());
    });
    const url = await listening(proxy);
    const { code, stdout, stderr } = await send([...HELLO, "--reference", reference], { url });
    close(proxy);
    assert.equal(code, 0, stderr);
    assert.match(stdout, /accepted before under this idempotency key/);
    assert.equal(count, 2);
    assert.equal(await countOf(reference), 1);
  });

  /** Forwards to the service, and its response to the caller. */
  async function passOn(request: IncomingMessage, body: string, response: ServerResponse | undefined): Promise<void> {
    const { authorization = "", "idempotency-key": idempotencyKey } = request.headers;
    const headers = { authorization, "content-type": "application/json", "idempotency-key": String(idempotencyKey) };
    const reply = await fetch(`${godwit.url}${request.url}`, { method: "POST", headers, body });
    const text = await reply.text();
    response?.writeHead(reply.status, Object.fromEntries(reply.headers)).end(text);
  }
});

describe("--wait", { concurrency: 3 }, () => {
  const STATE = /^\d{4}-\d\d-\d\dT[\d:.]+Z {2}(\w+)/gm;
  const statesIn = (text: string): string[] => Array.from(text.matchAll(STATE), ([, state]) => state ?? "");
  const withScopes = async (...scopes: Scope[]): Promise<Record<string, string>> => ({ GODWIT_KEY: await godwit.key({ scopes }) });

  test("shows each status as it changes, and exits with 0 when the message is delivered", async () => {
    const env = await withScopes("messages:send", "events:read");
    const { code, stdout, stderr } = await send([...HELLO, "--wait"], { env });
    assert.equal(code, 0, stderr);
    assert.deepEqual(statesIn(stdout), ["sending", "sent", "delivered"]);
  });

  test("exits with 1 when the message is not delivered, and shows the reason", async () => {
    const { code, stdout } = await send(["--to", "+15005550005", "--body", "hello", "--wait"]);
    assert.equal(code, 1);
    assert.equal(statesIn(stdout).at(-1), "undelivered");
    assert.match(stdout, /undelivered {2}blocked_by_carrier: \w+/);
  });

  test("with --json prints the final message once, and the statuses on stderr", async () => {
    const { code, stdout, stderr } = await send(["--to", "+15005550002", "--body", "hello", "--wait", "--json"]);
    assert.equal(code, 1);
    const { status, error } = JSON.parse(stdout) as { status: string; error: Json };
    assert.deepEqual([status, error["code"]], ["failed", "invalid_destination"]);
    assert.equal(statesIn(stderr).at(-1), "failed");
  });

  test("works with a key that may read messages and no events", async () => {
    const { code, stdout } = await send([...HELLO, "--wait"], { env: await withScopes("messages:send", "messages:read") });
    assert.equal(code, 0);
    assert.equal(statesIn(stdout).at(-1), "delivered");
  });

  test("with a key that may read neither sends the message, reports the missing scope, and exits with 3", async () => {
    const { code, stdout, stderr } = await send([...HELLO, "--wait"], { env: await withScopes("messages:send") });
    assert.equal(code, 3);
    assert.match(stdout, /^id {6}msg_/);
    assert.match(stderr, /neither the scope events:read nor messages:read/);
  });

  test("exits with 3 when its timeout passes before the final status", async () => {
    const { code, stdout, stderr } = await send(["--to", "+15005550007", "--body", "hello", "--wait", "--timeout", "3s", "--json"]);
    assert.equal(code, 3);
    const { id, status } = JSON.parse(stdout) as Json;
    assert.match(String(status), /^(queued|sending|sent)$/);
    assert.ok(stderr.includes(`the final status of ${String(id)} is not known, the last one was ${String(status)}`), stderr);
  });

  test("exits with 3 immediately when it is interrupted", async () => {
    const child = spawn(process.execPath, [MAIN, "send", "--to", "+15005550007", "--body", "hello", "--wait"], {
      env: { ...baseEnv(), GODWIT_URL: godwit.url, GODWIT_KEY: key },
      stdio: ["ignore", "pipe", "ignore"],
    });
    let stdout = "";
    child.stdout.on("data", (chunk: Buffer) => (stdout += chunk.toString()));
    await until("the message to be sent", () => statesIn(stdout).includes("sent") || undefined);
    const startedAt = performance.now();
    child.kill("SIGINT");
    assert.deepEqual(await once(child, "exit"), [3, null]);
    assert.ok(performance.now() - startedAt < LIMIT_MS);
  });
});

describe("wrong use", { concurrency: 3 }, () => {
  const WRONG: readonly (readonly [what: string, args: readonly string[], says: RegExp])[] = [
    ["no recipient", ["--body", "x"], /--to is required/],
    ["no content", TO, /--body, --template, --media or --content is required/],
    ["two contents", [...HELLO, "--media", "offer.pdf"], /--body and --media exclude each other; the text of a file is its --caption/],
    ["a file that is not there", [...TO, "--media", "/nowhere/offer.pdf"], /there is no file \/nowhere\/offer\.pdf/],
    ["a URL of a file of any kind", [...TO, "--media", "https://example.com/a"], /--kind is required with a URL/],
    ["a caption without a file", [...HELLO, "--caption", "x"], /--caption needs --media/],
    ["a content that is not JSON", [...TO, "--content", "{"], /--content is not JSON/],
    ["a content that is no object", [...TO, "--content", "[]"], /--content must be an object/],
    ["a variable without a value", [...TO, "--template", "t", "--var", "order"], /--var must be a name and a value/],
    ["a duration without a unit", [...HELLO, "--ttl", "60"], /--ttl must be a number and a unit/],
    ["a timeout above the limit", [...HELLO, "--timeout", "90d"], /--timeout must be from 1s to 24h/],
    ["a mistyped flag", [...HELLO, "--refrence", "x"], /there is no flag --refrence; did you mean --reference\?/],
    ["a flag without its value", [...TO, "--body"], /--body needs a value/],
    [
      "a value that starts with a dash",
      [...TO, "--body", "-5 degrees"],
      /--body needs a value; write a value that begins with a dash as --body=-…/,
    ],
    ["a value for a flag without value", [...HELLO, "--wait=long"], /--wait takes no value/],
    ["a text without quotes", [...TO, "--body", "hello", "world"], /one word too many: world/],
  ];
  for (const [what, args, says] of WRONG) {
    test(`${what} exits with 2, and nothing is sent`, async () => {
      const { code, stdout, stderr } = await send(args, { url: "http://127.0.0.1:9" });
      assert.equal(code, 2, stderr);
      assert.match(stderr, says);
      assert.match(stderr, /^Usage:$/m);
      assert.equal(stdout, "");
    });
  }

  test("a text that is longer than any message is not read to the end", async () => {
    const { code, stderr } = await send([...TO, "--body", "-"], { stdin: "x".repeat(200_000) });
    assert.equal(code, 2);
    assert.match(stderr, /more than 65536 bytes/);
  });
});
