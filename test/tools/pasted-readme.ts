/** The commands of the README, pasted one by one into interactive shells in fresh clones, as a newcomer does. */
import assert from "node:assert/strict";
import { spawn, spawnSync, type ChildProcessWithoutNullStreams } from "node:child_process";
import { once } from "node:events";
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer, type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { ROOT, samplesOf } from "../support/doc-samples.ts";
import { until } from "../support/expect.ts";
import { isRegistryReachable, userEnvironment } from "./user-npm.ts";

// npm ci downloads and unpacks 300 MB, on a busy machine.
const START_MS = 600_000;

/** An interactive shell, into which a user pastes text. */
class Terminal {
  readonly #shell: ChildProcessWithoutNullStreams;
  /** All output, with the prompts and errors of the shell. */
  output = "";
  #printed = "";
  #pasted = 0;

  constructor(program: string, cwd: string, env: NodeJS.ProcessEnv) {
    this.#shell = spawn(program, ["-i"], { cwd, env, detached: true });
    this.#shell.stdout.on("data", (chunk: Buffer) => (this.#printed += chunk.toString()));
    for (const stream of [this.#shell.stdout, this.#shell.stderr]) stream.on("data", (chunk: Buffer) => (this.output += chunk.toString()));
  }

  /** Pastes text, and does not wait for its end. */
  start(text: string): void {
    this.#shell.stdin.write(`${text}\n`);
  }

  /** Pastes a command, and returns what it printed to the standard output. */
  async paste(text: string): Promise<string> {
    this.#pasted += 1;
    const [begin, end] = [`begin-${this.#pasted}`, `end-${this.#pasted}`];
    this.start(`echo; echo ${begin}`);
    this.start(text);
    this.start(`echo; echo ${end} $?`);
    const pattern = new RegExp(`^${begin}\\n([^]*)^${end} (\\d+)$`, "m");
    const [, printed = "", code] = await until(`the end of ${text}`, () => pattern.exec(this.#printed) ?? undefined);
    assert.equal(code, "0", this.output);
    return printed;
  }

  /** Presses Ctrl-C, and closes the window. */
  async close(): Promise<void> {
    const { pid, exitCode } = this.#shell;
    if (pid === undefined || exitCode !== null) return;
    const ended = once(this.#shell, "exit");
    process.kill(-pid, "SIGINT");
    this.#shell.stdin.end("\nexit\n");
    await ended;
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  return port;
}

/** A clone of the last commit, which is removed after the test. */
function clone(context: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), "godwit-readme-"));
  // The embedded PostgreSQL of root runs as another user.
  chmodSync(folder, 0o755);
  context.after(() => rmSync(folder, { recursive: true, force: true }));
  const { status, stderr } = spawnSync("git", ["clone", "--quiet", ROOT, join(folder, "godwit")], { encoding: "utf8" });
  assert.equal(status, 0, stderr);
  return join(folder, "godwit");
}

const jsonIn = (text: string): Record<string, unknown> =>
  JSON.parse(text.slice(text.indexOf("{"), text.lastIndexOf("}") + 1)) as Record<string, unknown>;

/** Each shell has a test file: an installation takes minutes on a busy machine. */
export function testReadme(shell: string, npm: Readonly<Record<string, string>>): void {
  test(`the commands of the README work in ${shell}`, async (context) => {
    if (!existsSync(join(ROOT, ".git"))) return context.skip("this is no clone of the repository");
    if (!isRegistryReachable()) return context.skip("the registry cannot be reached");
    const folder = clone(context);
    const port = await freePort();
    const env = { ...userEnvironment(), ...npm, npm_config_prefer_offline: "true", GODWIT_PORT: String(port) };
    const samples = samplesOf("README.md", readFileSync(join(folder, "README.md"), "utf8"));
    const [install = "", send = "", follow = "", create = ""] = samples
      .filter(({ language }) => language === "sh")
      .map(({ text }) => text.replaceAll("127.0.0.1:8080", `127.0.0.1:${port}`));

    const first = new Terminal(shell, folder, env);
    context.after(() => first.close());
    first.start(install);
    const [setKey] = await until(
      "the service to print its key",
      () => {
        assert.doesNotMatch(first.output, /npm error/);
        return /^ +export GODWIT_KEY=\S+$/m.exec(first.output) ?? undefined;
      },
      START_MS,
    );
    const printed = await until("the printed request", () => /^ +curl [^]*?'\{.*\}'$/m.exec(first.output)?.[0]);

    const second = new Terminal(shell, folder, env);
    context.after(() => second.close());
    await second.paste(setKey);
    assert.equal(jsonIn(await second.paste(printed))["status"], "queued");
    const message = await second.paste(send);
    assert.equal(jsonIn(message)["status"], "queued");
    assert.equal(await second.paste(send), message, "the same key gets the same response");
    await second.paste(`ID=${String(jsonIn(message)["id"])}`);
    await until("the message to be delivered", async () => (await second.paste(follow)).includes('"message.delivered"'));
    assert.match(String(jsonIn(await second.paste(create))["key"]), /^gw_test_/);
  });
}
