/** godwit carriers: tries definitions with examples, and with a real request. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, mock, test } from "node:test";
import { carriers } from "../../src/cli/carriers.ts";
import { parseInput } from "../../src/cli/command.ts";
import { HttpCarrierServer, respond } from "../support/fakes/http-carrier.ts";

const folder = mkdtempSync(join(tmpdir(), "godwit-carriers-"));
after(() => rmSync(folder, { recursive: true }));

async function run(...argv: string[]): Promise<{ code: number; text: string }> {
  const written: string[] = [];
  const output = mock.method(process.stdout, "write", (chunk: string | Uint8Array): boolean => written.push(String(chunk)) > 0);
  try {
    const code = await carriers.run(parseInput(carriers, argv), { commands: {} });
    return { code: code ?? 0, text: written.join("") };
  } finally {
    output.mock.restore();
  }
}

function write(name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}

const DEFINITION = (url: string): string => `
[secrets]
token_env = "ACME_TOKEN"
[request]
url = "${url}/send"
auth = { type = "bearer", token = "{{secret.token}}" }
body = { to = "{{recipient}}", key = "{{secret.token}}" }
[response]
id = "$.id"
error_code = "$.error"
`;

test("every included carrier with examples is tried without a fault, and no secret is printed", async () => {
  const { code, text } = await run("test", "kannel");
  assert.equal(code, 0, text);
  assert.match(text, /accepted_when: \$\.code is "0"/);
  assert.match(text, /receipt\.status: \?type is "1"/);
  assert.match(text, /\{\{secret\.password\}\}/);
  assert.doesNotMatch(text, /secret-/);
  const listed = await run("list", "--json");
  assert.ok((JSON.parse(listed.text) as { carrier: string }[]).some(({ carrier }) => carrier === "infobip"));
});

test("an example with another outcome is shown, with what was read", async () => {
  const file = write("acme.toml", DEFINITION("https://api.example"));
  write(
    "acme.examples.toml",
    `[[send]]
name = "accepted"
response = { status = 200, body = '{"uuid":"m1"}' }
outcome = "accepted m1"
`,
  );
  const { code, text } = await run("test", file);
  assert.equal(code, 1);
  assert.match(text, /id: \$\.id is not there/);
  assert.match(text, /why: the carrier accepted the message, and gave it no id/);
  assert.match(text, /wrong.*: unknown\n\s+expected: accepted m1/);
});

test("the faults of files name their lines, and those of definitions their fields", async () => {
  const broken = write("broken.toml", 'a = 1\nb = "');
  write("broken.examples.toml", "");
  await assert.rejects(run("test", broken), /broken\.toml:2:\d+: /);
  const wrong = write("wrong.toml", DEFINITION("https://api.example").replace("$.id", "id"));
  write("wrong.examples.toml", "");
  await assert.rejects(run("test", wrong), /response\.id: "id" is not a path/);
  const examples = write("odd.toml", "[[send]]\nname = 7\n");
  await assert.rejects(run("test", wrong, "--examples", examples), /\/send\/0/);
});

test("--live sends one message, with the secret of the environment", async () => {
  const peer = await new HttpCarrierServer(() => respond({ id: "m7" })).listen();
  process.env["ACME_TOKEN"] = "live-token";
  try {
    const { code, text } = await run("test", write("live.toml", DEFINITION(peer.url)), "--live", "--to", "+4915112345678");
    assert.equal(code, 0);
    assert.match(text, /^Sending one real message to \+4915112345678 through .*\naccepted m7\n$/);
    assert.equal(peer.seen[0]?.headers["authorization"], "Bearer live-token");
  } finally {
    delete process.env["ACME_TOKEN"];
    await peer.close();
  }
});
