/** `godwit listen` in a terminal and in a pipe: a process that follows a running service. */
import assert from "node:assert/strict";
import { spawn, spawnSync, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, describe, test } from "node:test";
import pg from "pg";
import { Webhook } from "standardwebhooks";
import { followEvents, type FollowedEvent } from "../../src/cli/follow-events.ts";
import { newId, type EventId } from "../../src/model/id.ts";
import { uuidToText } from "../../src/lib/uuid.ts";
import { StartupError } from "../../src/database/startup-error.ts";
import { insertEvents, newOwner } from "../support/event-reader.ts";
import { LIMIT_MS, until } from "../support/expect.ts";
import { runGodwit, startGodwit, baseEnv, type Godwit } from "../support/harness.ts";
import { programPath } from "../support/programs.ts";

const MAIN = programPath("godwit");
const DELIVERED = ["message.queued", "message.sending", "message.sent", "message.delivered"];

let godwit: Godwit;
before(async () => {
  godwit = await startGodwit({ roles: "api,dispatch", simulatorSpeed: 100 });
});
after(() => godwit.stop());

const idsNow = (count: number): EventId[] => Array.from({ length: count }, () => newId("evt", Date.now()));

const listen = (key: string, ...args: string[]): Promise<Awaited<ReturnType<typeof runGodwit>>> =>
  runGodwit(["listen", ...args], { GODWIT_URL: godwit.url, GODWIT_KEY: key });

/** A connected listener. */
class Listener {
  readonly child: ChildProcess;
  stdout = "";
  stderr = "";
  readonly #exit: Promise<[number | null, NodeJS.Signals | null]>;

  private constructor(child: ChildProcess) {
    this.child = child;
    child.stdout?.on("data", (chunk: Buffer) => (this.stdout += chunk.toString()));
    child.stderr?.on("data", (chunk: Buffer) => (this.stderr += chunk.toString()));
    this.#exit = once(child, "close") as Promise<[number | null, NodeJS.Signals | null]>;
  }

  static async start(key: string, args: readonly string[] = [], url = godwit.url): Promise<Listener> {
    const child = spawn(process.execPath, [MAIN, "listen", ...args], {
      env: { ...baseEnv(), GODWIT_URL: url, GODWIT_KEY: key },
      stdio: ["ignore", "pipe", "pipe"],
    });
    const listener = new Listener(child);
    try {
      await listener.says(/^listening to /m);
    } catch (error) {
      // No caller can end the process otherwise, and a test waits for its processes.
      listener[Symbol.dispose]();
      throw error;
    }
    return listener;
  }

  /** The complete lines of the output. */
  get lines(): string[] {
    return this.stdout.split("\n").slice(0, -1);
  }

  get events(): { id: string; type: string; data: Record<string, { id: string }> }[] {
    return this.lines.map((line) => JSON.parse(line) as (typeof this.events)[number]);
  }

  async has(count: number): Promise<void> {
    await until(`${count} lines`, () => this.lines.length >= count || undefined);
  }

  async says(text: RegExp): Promise<RegExpExecArray> {
    return until(`${text}`, () => text.exec(this.stderr) ?? undefined);
  }

  /** Sends SIGINT unless another signal is given. Returns the exit code, which must come soon. */
  async end(signal: NodeJS.Signals | undefined = "SIGINT"): Promise<number | null> {
    const startedAt = performance.now();
    this.child.kill(signal);
    const [code] = await this.#exit;
    assert.ok(performance.now() - startedAt < LIMIT_MS, `the exit took ${performance.now() - startedAt} ms`);
    return code;
  }

  async exited(): Promise<number | null> {
    return (await this.#exit)[0];
  }

  [Symbol.dispose](): void {
    this.child.kill("SIGKILL");
  }
}

async function serve(handle: (request: IncomingMessage, response: ServerResponse) => void): Promise<{ server: Server; url: string }> {
  const server = createServer(handle);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return { server, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

function close(server: Server): void {
  server.close();
  server.closeAllConnections();
}

describe("events on the output", { concurrency: 2 }, () => {
  test("show one line each by default, with time, type and object", async () => {
    const { key } = await newOwner(godwit, "people");
    using listener = await Listener.start(key);
    const { json: message } = await godwit.send(key);
    await listener.has(4);
    listener.lines.forEach((line, index) => {
      assert.match(
        line,
        new RegExp(`^\\d{4}-\\d\\d-\\d\\dT[\\d:.]+Z  ${DELIVERED[index]} +${String(message["id"])}  \\+1415\\S+  \\(evt_[0-9a-z]{26}\\)$`),
      );
    });
    assert.equal(listener.lines.length, 4);
    assert.equal(await listener.end(), 0);
    assert.ok(!listener.stderr.includes(key) && !listener.stdout.includes(key), "the key is not shown");
  });

  test("are one line each with --json, as in the API, and nothing else is on the output", async () => {
    const { key } = await newOwner(godwit, "programs");
    using listener = await Listener.start(key, ["--json"]);
    await godwit.send(key, { body: "two\nlines" });
    await listener.has(4);
    assert.deepEqual(
      listener.events.map(({ type }) => type),
      DELIVERED,
    );
    for (const [index, { id }] of listener.events.entries())
      assert.equal(listener.lines[index], (await godwit.request("GET", `/v1/events/${id}`, { key })).text);
    assert.equal(await listener.end("SIGTERM"), 0);
    assert.equal(listener.lines.length, 4);
  });

  test("that do not belong to a message have a line as well", async () => {
    const owner = await newOwner(godwit, "endpoints");
    using listener = await Listener.start(owner.key);
    const [id] = await insertEvents(godwit, owner, idsNow(1), { type: "endpoint.disabled", record: { id: "whe_x" } });
    await listener.has(1);
    assert.match(listener.lines[0] ?? "", new RegExp(`^\\S+Z  endpoint\\.disabled +whe_x  \\(${id}\\)$`));
  });

  test("are filtered by --type", async () => {
    const { key } = await newOwner(godwit, "chosen");
    using listener = await Listener.start(key, ["--json", "--type", "message.delivered"]);
    const sent = await Promise.all([godwit.send(key), godwit.send(key)]);
    await listener.has(2);
    const shown = listener.events.map(({ data }) => String(data["message"]?.id));
    assert.deepEqual(shown.toSorted(), sent.map(({ json }) => String(json["id"])).toSorted());
    assert.ok(listener.events.every(({ type }) => type === "message.delivered"));
  });

  test("show the error code on the line", async () => {
    const { key } = await newOwner(godwit, "errors on lines");
    using listener = await Listener.start(key, ["--type", "message.failed"]);
    await godwit.send(key, { recipient: "+15005550002" });
    await listener.has(1);
    assert.match(listener.lines[0] ?? "", /Z {2}message\.failed +msg_\w+ {2}\+15005550002 {2}invalid_destination {2}\(evt_\w+\)$/);
  });

  test("are limited to one message by --message, and --after continues where an earlier run ended", async () => {
    const { key } = await newOwner(godwit, "one of two");
    using listener = await Listener.start(key, ["--json"]);
    const [first, second] = [await godwit.send(key), await godwit.send(key)];
    await listener.has(8);
    const mine = listener.events.filter(({ data }) => data["message"]?.id === second.json["id"]).map(({ id }) => id);
    using later = await Listener.start(key, ["--json", "--after", mine[1] ?? "", "--message", String(second.json["id"])]);
    await later.has(2);
    assert.deepEqual(
      later.events.map(({ id }) => id),
      mine.slice(2),
    );
    assert.ok(!later.stdout.includes(String(first.json["id"])));
  });

  const hasScript = spawnSync("script", ["--version"]).status === 0;
  test(
    "have colors in a terminal unless NO_COLOR is set",
    { skip: hasScript ? false : "script, which makes a terminal, is not installed" },
    async () => {
      const { key } = await newOwner(godwit, "colors");
      const env = { ...baseEnv(), TERM: "xterm", GODWIT_URL: godwit.url, GODWIT_KEY: key };
      const atTerminal = (more: Record<string, string>): ChildProcess =>
        spawn("script", ["-qec", `${process.execPath} ${MAIN} listen --type message.delivered`, "/dev/null"], {
          env: { ...env, ...more },
          stdio: ["pipe", "pipe", "ignore"],
        });
      const children = [atTerminal({}), atTerminal({ NO_COLOR: "1" })];
      const outputs = children.map(() => "");
      children.forEach((child, index) => child.stdout?.on("data", (chunk: Buffer) => (outputs[index] += chunk.toString())));
      await until("both to listen", () => outputs.every((text) => text.includes("listening to")) || undefined);
      await godwit.send(key);
      await until("both to show the event", () => outputs.every((text) => text.includes("message.delivered")) || undefined);
      for (const child of children) child.kill("SIGKILL");
      assert.ok(outputs[0]?.includes("\u001b[32mmessage.delivered"), outputs[0]);
      assert.ok(!outputs[1]?.includes("\u001b[32m"), outputs[1]);
    },
  );

  test("end with exit code 0 when the reader closes the pipe", async () => {
    const owner = await newOwner(godwit, "head");
    using listener = await Listener.start(owner.key, ["--json"]);
    await insertEvents(godwit, owner, idsNow(1));
    await listener.has(1);
    listener.child.stdout?.destroy();
    await insertEvents(godwit, owner, idsNow(2));
    assert.equal(await listener.exited(), 0);
    assert.doesNotMatch(listener.stderr, /EPIPE|at .*\.ts:/);
  });
});

describe("--forward-to", { concurrency: 2 }, () => {
  type Received = { headers: Record<string, string>; body: string };

  async function receiver(
    answer: (response: ServerResponse, count: number) => void,
  ): Promise<{ server: Server; url: string; received: Received[] }> {
    const received: Received[] = [];
    const { server, url } = await serve((request, response) => {
      let body = "";
      request.setEncoding("utf8").on("data", (chunk: string) => (body += chunk));
      request.on("end", () => {
        received.push({ headers: request.headers as Record<string, string>, body });
        answer(response, received.length);
      });
    });
    return { server, url: `${url}/hooks`, received };
  }

  test("posts each event like a webhook, signed with the secret that is shown at the start", async () => {
    const { key } = await newOwner(godwit, "forwarded");
    const { server, url, received } = await receiver((response) => response.writeHead(204).end());
    using listener = await Listener.start(key, ["--json", "--forward-to", url]);
    const [, secret = ""] = await listener.says(/^forwarding to \S+, signed by (whsec_\S+)$/m);
    await godwit.send(key, { body: "naïve “🔑”" });
    await until("four posts", () => received.length >= 4 || undefined);
    await listener.has(4);
    for (const [index, { headers, body }] of received.entries()) {
      assert.deepEqual(new Webhook(secret).verify(body, headers), listener.events[index]);
      assert.equal(body, listener.lines[index]);
      assert.equal(headers["webhook-id"], listener.events[index]?.id);
      assert.equal(headers["content-type"], "application/json");
      assert.throws(() => new Webhook(secret).verify(`${body} `, headers));
    }
    await listener.says(/^ {2}204 in \d+ ms$/m);
    assert.ok(!listener.stdout.includes(secret), "the output has only events");
    assert.equal(await listener.end(), 0);
    close(server);
  });

  test("shows the errors of the receiver, posts each event once, and continues with the next one", async () => {
    const owner = await newOwner(godwit, "errors");
    const { server, url, received } = await receiver((response, count) => {
      if (count === 1) response.writeHead(500).end("no");
      else if (count === 2) response.writeHead(302, { location: "/elsewhere" }).end();
      else if (count === 3) response.destroy();
      else response.end("ok");
    });
    using listener = await Listener.start(owner.key, ["--json", "--forward-to", url]);
    const ids = await insertEvents(godwit, owner, idsNow(4));
    await listener.says(/^ {2}500 in [^]*^ {2}302 in [^]*^ {2}not delivered: .+[^]*^ {2}200 in \d+ ms$/m);
    assert.deepEqual(
      received.map(({ headers }) => headers["webhook-id"]),
      ids,
    );
    close(server);
    await insertEvents(godwit, owner, idsNow(2));
    await listener.says(/not delivered: .*ECONNREFUSED[^]*not delivered: .*ECONNREFUSED/);
    assert.equal(listener.stderr.match(/is your program running/g)?.length, 1, "explained once");
    assert.equal(await listener.end(), 0);
    assert.equal(listener.lines.length, 6);
  });

  test("has the same secret at each start with the same key, and another one with another key", async () => {
    const keys = [await newOwner(godwit, "same secret"), await newOwner(godwit, "other secret")].map(({ key }) => key);
    const secrets: string[] = [];
    for (const key of [keys[0], keys[0], keys[1]]) {
      using listener = await Listener.start(key ?? "", ["--forward-to", "http://127.0.0.1:9/hooks"]);
      secrets.push((await listener.says(/signed by (whsec_\S+)$/m))[1] ?? "");
      await listener.end();
    }
    assert.equal(secrets[0], secrets[1]);
    assert.notEqual(secrets[0], secrets[2]);
  });

  test("stops on Ctrl-C without waiting for a receiver that does not respond", async () => {
    const owner = await newOwner(godwit, "silent receiver");
    const { server, url, received } = await receiver(() => undefined);
    using listener = await Listener.start(owner.key, ["--forward-to", url]);
    await insertEvents(godwit, owner, idsNow(2));
    await until("a post", () => received[0]);
    assert.equal(await listener.end(), 0);
    assert.equal(received.length, 1);
    close(server);
  });
});

describe("a server that is unavailable", () => {
  const restart = async (old: Godwit, meanwhile: () => Promise<void>): Promise<Godwit> => {
    const { port } = new URL(old.url);
    await old.stop();
    await meanwhile();
    return startGodwit({ databaseUrl: old.databaseUrl, env: { GODWIT_PORT: port } });
  };

  const rowsOf = (client: pg.Client): Pick<Godwit, "rows"> => ({
    rows: async <T>(text: string, values?: readonly unknown[]) => (await client.query(text, [...(values ?? [])])).rows as T[],
  });

  test("is waited for, and no event is lost or shown twice", async () => {
    const first = await startGodwit();
    const owner = await newOwner(first, "restarted");
    const silent = await newOwner(first, "saw nothing before");
    using listener = await Listener.start(owner.key, ["--json"], first.url);
    using other = await Listener.start(silent.key, ["--json"], first.url);
    const seen = await insertEvents(first, owner, idsNow(3));
    await listener.has(3);
    const away: string[] = [];
    const awayOther: string[] = [];
    await using second = await restart(first, async () => {
      await Promise.all([listener.says(/next attempt follows in \d\.\d s/), other.says(/next attempt follows in/)]);
      const client = new pg.Client(first.databaseUrl);
      await client.connect();
      away.push(...(await insertEvents(rowsOf(client), owner, idsNow(3))));
      awayOther.push(...(await insertEvents(rowsOf(client), silent, idsNow(2))));
      await client.end();
    });
    await Promise.all([listener.has(6), other.has(2)]);
    const later = await insertEvents(second, owner, idsNow(2));
    await listener.has(8);
    assert.deepEqual(
      listener.events.map(({ id }) => id),
      [...seen, ...away, ...later],
    );
    assert.deepEqual(
      other.events.map(({ id }) => id),
      awayOther,
    );
    assert.equal(listener.stderr.match(/^listening to /gm)?.length, 2);
    assert.equal(await listener.end(), 0);
  });
});

describe("wrong use", { concurrency: 2 }, () => {
  /** Checks that stderr has the error as a sentence without a stack, and that the output is empty. */
  function assertSays({ code, stdout, stderr }: Awaited<ReturnType<typeof runGodwit>>, exitCode: number, says: RegExp): void {
    assert.equal(code, exitCode, stderr);
    assert.match(stderr, says);
    assert.doesNotMatch(stderr, /^ +at /m);
    assert.equal(stdout, "");
  }

  test("a key that the server refuses exits with 1, and is not shown", async () => {
    const key = (await newOwner(godwit, "mistyped")).key.replace(/.{4}$/, "0000");
    const result = await listen(key);
    assertSays(
      result,
      1,
      /^godwit: 401 unauthorized_invalid_token: .*\n.*unknown, expired or revoked.*\n {2}check that the key was copied completely/m,
    );
    assert.ok(result.stderr.includes(`a key of this service at ${godwit.url}\n`), "another service may listen at the default address");
    assert.ok(!result.stderr.includes(key));
  });

  test("a key without the scope exits with 1, and the scope is named", async () => {
    assertSays(
      await listen(await godwit.key({ scopes: ["messages:read"] })),
      1,
      /^godwit: 403 forbidden_insufficient_scope: .*\n.*events:read/m,
    );
  });

  test("a key that is revoked during listening exits with 1", async () => {
    const { key, accountId } = await newOwner(godwit, "revoked");
    using listener = await Listener.start(key);
    await godwit.rows("update api_keys set revoked_at = now() where account_id = $1", [uuidToText(accountId)]);
    assert.equal(await listener.exited(), 1);
    assert.match(listener.stderr, /^godwit: 401 /m);
  });

  test("an unknown type exits with 1", async () => {
    assertSays(
      await listen(await godwit.key(), "--type", "sent"),
      1,
      /^godwit: 400 invalid_request_payload: .*\n {2}--type: .*message\.sent.* \(.*\)\n {2}request req_/m,
    );
  });

  test("a URL of another server exits with 1", async () => {
    const { server, url } = await serve((_request, response) => response.setHeader("content-type", "text/html").end("<p>hello"));
    assertSays(await listen(await godwit.key(), "--url", url), 1, /^godwit: the response is not an event stream/m);
    close(server);
  });

  const WRONG: readonly (readonly [what: string, env: Record<string, string>, args: readonly string[], says: RegExp])[] = [
    ["no key", {}, [], /GODWIT_KEY: is needed/],
    ["an empty key", { GODWIT_KEY: " " }, [], /GODWIT_KEY: is needed/],
    ["a malformed key", { GODWIT_KEY: "gw_test_“quoted”" }, [], /GODWIT_KEY: is not an API key/],
    ["an invalid URL", { GODWIT_KEY: "x", GODWIT_URL: "localhost" }, [], /GODWIT_URL: must be a URL such as http/],
    ["another protocol", { GODWIT_KEY: "x" }, ["--url", "ftp://localhost"], /must be a URL such as http/],
    [
      "a URL with a password",
      { GODWIT_KEY: "x", GODWIT_URL: "http://me:quoted@localhost" },
      [],
      /GODWIT_URL: must not have a name or password/,
    ],
    ["an invalid URL in --forward-to", { GODWIT_KEY: "x" }, ["--forward-to", "localhost:3000"], /--forward-to must be a URL such as http/],
    ["an unknown flag", { GODWIT_KEY: "x" }, ["--forward", "http://localhost"], /--forward/],
  ];
  for (const [what, env, args, says] of WRONG) {
    test(`${what} exits with 2 before anything is sent`, async () => {
      const result = await runGodwit(["listen", ...args], env);
      assertSays(result, 2, says);
      assert.doesNotMatch(result.stderr, /quoted/);
    });
  }

  test("the help names the flags and the source of the key", async () => {
    const { code, stdout } = await runGodwit(["listen", "--help"], {});
    assert.equal(code, 0);
    for (const text of ["--type", "--forward-to", "--url", "GODWIT_URL", "--json", "GODWIT_KEY"]) assert.ok(stdout.includes(text), text);
    assert.ok(!stdout.includes("--database-url"), "a client needs no database");
  });
});

describe("a followed event stream", () => {
  type Asked = { path: string; lastEventId: string | undefined; authorization: string | undefined };

  /** Responds to each connection with the next list of chunks and closes it. Then stays silent. */
  async function follow(answers: readonly (readonly (string | Buffer)[])[], count: number, type?: string) {
    const asked: Asked[] = [];
    const { server, url } = await serve((request, response) => {
      const chunks = answers[asked.length];
      const lastEventId = request.headers["last-event-id"] as string | undefined;
      asked.push({ path: request.url ?? "", lastEventId, authorization: request.headers.authorization });
      void write(response, chunks);
    });
    const write = async (response: ServerResponse, chunks: readonly (string | Buffer)[] | undefined): Promise<void> => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.flushHeaders();
      for (const chunk of chunks ?? []) {
        response.write(chunk);
        // Each chunk is read separately.
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
      if (chunks !== undefined) response.end();
    };
    const stopping = new AbortController();
    const events: FollowedEvent[] = [];
    const states: unknown[] = [];
    const following = followEvents({ url: `${url}/`, key: "k", type, signal: stopping.signal, onState: (state) => states.push(state) });
    for await (const event of following) {
      events.push(event);
      if (events.length === count) break;
    }
    stopping.abort();
    close(server);
    return { asked, events, states };
  }

  const event = (id: string): string => `id: ${id}\nevent: message.sent\ndata: {"id":"${id}"}\n\n`;
  const followed = (id: string): FollowedEvent => ({ id, type: "message.sent", data: `{"id":"${id}"}` });

  test("may have blocks split anywhere, also within a character", async () => {
    const text = Buffer.from('id: a\nevent: message.sent\ndata: {"text":"naïve 🔑: x"}\n\n');
    const cuts = [1, 6, text.indexOf("🔑") + 2, text.length - 1];
    const chunks = [0, ...cuts].map((from, index) => text.subarray(from, cuts[index] ?? text.length));
    const { events } = await follow([[...chunks, event("b")]], 2);
    assert.deepEqual(events, [{ id: "a", type: "message.sent", data: '{"text":"naïve 🔑: x"}' }, followed("b")]);
  });

  test("may have several blocks in one chunk, with comments and other blocks between them", async () => {
    const chunk = `retry: 2000\nid: z\n\n${event("a")}:\n\n: a remark\n\nevent: message.sent\ndata: {}\n\n${event("b")}`;
    assert.deepEqual((await follow([[chunk]], 2)).events, [followed("a"), followed("b")]);
  });

  test("ignores an incomplete block when the connection ends", async () => {
    const { asked, events } = await follow([[event("a"), 'id: b\nevent: message.sent\ndata: {"id"'], [event("b")]], 2);
    assert.deepEqual(events, [followed("a"), followed("b")]);
    assert.equal(asked[1]?.lastEventId, "a");
  });

  test("continues each connection at the last event", async () => {
    const { asked, events, states } = await follow([["retry: 1\nid: start\n\n"], [event("a"), event("b")], [event("c")]], 3, "message.*");
    assert.deepEqual(
      events.map(({ id }) => id),
      ["a", "b", "c"],
    );
    assert.deepEqual(
      asked.map(({ lastEventId }) => lastEventId),
      [undefined, "start", "b"],
    );
    for (const { path, authorization } of asked) assert.deepEqual([path, authorization], ["/v1/events/stream?type=message.*", "Bearer k"]);
    assert.deepEqual(
      states.map((state) => (typeof state === "string" ? state : "lost")),
      ["connected", "lost", "connected", "lost", "connected"],
    );
  });

  test("is requested again after a temporary error, and not after a refusal", async () => {
    let count = 0;
    const { server, url } = await serve((_request, response) => {
      count += 1;
      response.writeHead(count === 1 ? 503 : count === 2 ? 429 : 404, { "content-type": "application/problem+json" });
      response.end('{"code":"not_now","title":"Not now","detail":"later"}');
    });
    const lost: string[] = [];
    const following = followEvents({
      url,
      key: "k",
      type: undefined,
      signal: new AbortController().signal,
      onState: (state) => typeof state === "object" && lost.push(state.lost),
    });
    await assert.rejects(following.next(), new StartupError("404 not_now: Not now\n  later"));
    assert.deepEqual(lost, ["503 not_now", "429 not_now"]);
    close(server);
  });
});
