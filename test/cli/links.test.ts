/** godwit links, senders and routes: the whole setup of a carrier from the command line, and pauses. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Json } from "../support/client.ts";
import { until } from "../support/expect.ts";
import { Smsc } from "../support/fakes/smsc.ts";
import { byRecipient } from "../support/fakes/smsc-scripts.ts";
import { runGodwit, startGodwit, type Godwit } from "../support/harness.ts";
import { PASSWORDS, smppTable } from "../support/smpp-messages.ts";

const SECRET_KEY = Buffer.alloc(32, 7).toString("base64");

let smsc: Smsc;
let godwit: Godwit;
let key: string;
before(async () => {
  smsc = await Smsc.start(byRecipient);
  const env = { GODWIT_WEBHOOK_ALLOW: "127.0.0.1/32", GODWIT_SECRET_KEY: SECRET_KEY, ...PASSWORDS };
  godwit = await startGodwit({ roles: "api,dispatch", env, config: smppTable("fixed", smsc) });
  await godwit.unlimited();
  key = await godwit.key({ environment: "live" });
});
after(async () => {
  await godwit.stop();
  await smsc.stop();
});

async function run(...args: string[]): Promise<{ code: number | null; json: Json; stderr: string }> {
  const env = {
    DATABASE_URL: godwit.databaseUrl ?? "",
    GODWIT_CONFIG: godwit.configFile ?? "",
    GODWIT_SECRET_KEY: SECRET_KEY,
    GODWIT_WEBHOOK_ALLOW: "127.0.0.1/32",
    ACME_PASSWORD: "hunter2",
    ...PASSWORDS,
  };
  const { code, stdout, stderr } = await runGodwit([...args, "--json"], env);
  return { code, json: (stdout === "" ? {} : JSON.parse(stdout)) as Json, stderr };
}

const ADD = ["links", "add", "--provider", "smpp", "--name", "Acme", "--set", "host=127.0.0.1", "--set", "system_id=me"];

test("a carrier is set up, tested, used, paused and removed from the command line", async () => {
  const prices = ["--price", "*=0.05", "--price", "DE=0.07"];
  const added = await run(...ADD, "--set", `port=${smsc.port}`, "--secret", "password=ACME_PASSWORD", ...prices);
  assert.equal(added.code, 0, added.stderr);
  assert.deepEqual(added.json["settings"], { host: "127.0.0.1", system_id: "me", port: smsc.port });
  assert.deepEqual(added.json["prices"], { "*": 0.05, DE: 0.07 });
  const id = String(added.json["id"]);
  const tested = await run("links", "test", id);
  assert.deepEqual([tested.code, tested.json["ok"]], [0, true], tested.stderr);
  assert.equal((await run("senders", "add", "+14155550123", "--link", id)).code, 0);
  const route = await run("routes", "add", "--channel", "sms", "--links", id, "--countries", "US,PR", "--strategy", "price");
  assert.deepEqual([route.code, route.json["strategy"]], [0, "price"], route.stderr);
  const sent = await until("the service to follow", async () => {
    const reply = await godwit.send(key, { recipient: "+14155550199" });
    return reply.json["link_reason"] === "price" ? reply : undefined;
  });
  assert.equal(sent.json["sender"], "+14155550123");
  const senders = (await run("senders", "list")).json as unknown as Json[];
  assert.deepEqual(
    senders.map(({ number, source }) => [number, source]),
    [["+14155550123", "api"]],
  );
  assert.equal((await run("links", "remove", id)).code, 2);
  assert.equal((await run("routes", "remove", String(route.json["id"]))).code, 0);
  assert.equal((await run("links", "remove", id)).code, 0);
  assert.deepEqual((await run("senders", "list")).json, []);
});

test("a link of the configuration file can be paused and resumed, and shows it", async () => {
  assert.equal((await run("links", "pause", "fixed")).code, 0);
  const paused = await run("links", "show", "fixed");
  assert.deepEqual([paused.json["state"], paused.json["reason"]], ["paused", "paused by the operator"]);
  const refused = await until("the service to follow", async () => {
    const reply = await godwit.send(key, { recipient: "+15005550006" });
    return reply.status === 422 ? reply : undefined;
  });
  assert.match(String(refused.json["detail"]), /fixed: is paused by the operator, who resumes it with godwit links resume fixed\.$/);
  assert.equal((await run("links", "resume", "fixed")).code, 0);
  await until("the service to follow", async () => (await godwit.send(key, { recipient: "+15005550006" })).status === 202 || undefined);
});

test("the lists of a command without the configuration file of the service say that they are not complete", async () => {
  const env = { DATABASE_URL: godwit.databaseUrl ?? "", GODWIT_SECRET_KEY: SECRET_KEY };
  for (const noun of ["links", "senders", "routes"]) {
    const { code, stderr } = await runGodwit([noun, "list"], env);
    assert.equal(code, 0, stderr);
    assert.match(stderr, /^the list is not complete: nodes have the links fixed of a file; use the --config of the service$/m);
    assert.equal((await run(noun, "list")).stderr, "");
  }
});

test("wrong use says what is wrong", async () => {
  for (const [args, words] of [
    [[...ADD, "--set", "port=1"], /settings.password: is required/],
    [[...ADD, "--set", "port=1", "--secret", "password=NO_SUCH"], /the variable NO_SUCH is not set/],
    [[...ADD, "--set", "port=x", "--secret", "password=ACME_PASSWORD"], /settings.port/],
    [[...ADD, "--set", "port=1", "--secret", "password=ACME_PASSWORD", "--price", "DE=cheap"], /prices.DE/],
    [["routes", "add", "--channel", "sms", "--links", "lnk_x", "--strategy", "luck"], /quality, price/],
    [["links", "show", "nowhere"], /there is no link nowhere/],
    [
      ["links", "test", "fixed"],
      /^godwit: the link fixed is defined in the configuration file: godwit links shows its state, and godwit doctor/,
    ],
    [["links", "remove", "fixed"], /defined in the configuration file: remove it there/],
    [["links", "test", "nowhere"], /there is no link nowhere; godwit links lists them/],
    [["senders", "add", "+14155550123", "--link", "fixed"], /link_id: must be a link that this account has created/],
    [["routes", "add", "--channel", "sms", "--links", "lnk_x"], /must be a link that this account has created/],
  ] as const) {
    const { code, stderr } = await run(...args);
    assert.equal(code, 2, `${args.join(" ")}: ${stderr}`);
    assert.match(stderr, words);
  }
});
