/** /v1/consent_settings: the words by which people opt out, from the API and from the configuration file. */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, before, describe, test } from "node:test";
import { DEFAULT_LANGUAGES } from "../../src/consent/word-lists.ts";
import { clientOf, recordOf, type Client, type Json } from "../support/client.ts";
import { writeConfig } from "../support/config-file.ts";
import { assertProblem, faultsOf, until } from "../support/expect.ts";
import { GRAPH_SECRETS, graphCall, graphSignature, OUR_NUMBER } from "../support/fakes/graph.ts";
import { startGodwit, type Godwit, type Reply } from "../support/harness.ts";
import { assertReplayOf } from "../support/replay.ts";
import { waLink } from "../support/review-rig.ts";

const PATH = "/v1/consent_settings";
const NO_REPLIES = { opt_out: null, opt_in: null, help: null };
const BUILT_IN = {
  object: "consent_settings",
  environment: "live",
  languages: DEFAULT_LANGUAGES,
  opt_out_words: [],
  opt_in_words: [],
  help_words: [],
  replies: NO_REPLIES,
  updated_at: null,
};

// Port 1 accepts no connections: these tests send nothing.
const LINK = waLink({ url: "http://127.0.0.1:1", waba: null });
const SENDER = `[[sender]]\nnumber = "${OUR_NUMBER}"\nlink = "wa"\naccount = "default"\nenvironment = "live"\n`;
const ENV = { WA_TOKEN: GRAPH_SECRETS.accessToken, WA_APP_SECRET: GRAPH_SECRETS.appSecret, WA_VERIFY_TOKEN: GRAPH_SECRETS.verifyToken };
const FILE = `[[consent]]\naccount = "default"\nenvironment = "live"\nlanguages = ["de"]\nopt_out_words = ["Weg damit"]\nreplies = { help = "Call us" }\n`;

const change = (client: Client, body: unknown, idempotencyKey?: string): Promise<Reply> =>
  client.request("PATCH", PATH, { body, ...(idempotencyKey === undefined ? {} : { idempotencyKey }) });

let people = 0;
const nextPerson = (): string => String(15_551_230_000 + (people += 1));

/** Delivers a text of a person to our number, and returns whether the person has opted out then. */
async function isOptOut(client: Client, text: string, person = nextPerson()): Promise<boolean> {
  const message = { from: person, id: `wamid.${randomUUID()}`, timestamp: "1749416383", type: "text", text: { body: text } };
  const body = graphCall({ messages: [message] });
  const headers = { "content-type": "application/json", "x-hub-signature-256": graphSignature(body) };
  const reply = await fetch(`${client.node.url}/providers/whatsapp/wa`, { method: "POST", headers, body });
  assert.equal(reply.status, 200);
  return (await client.suppressions.list({ recipient: `+${person}` })).data.length > 0;
}

async function start(config: string, asProcess = false): Promise<{ godwit: Godwit; client: Client }> {
  const godwit = await startGodwit({ config, env: ENV, asProcess });
  await godwit.unlimited();
  return { godwit, client: clientOf(godwit, await godwit.key({ environment: "live" })) };
}

describe("the settings", () => {
  let godwit: Godwit;
  let client: Client;
  before(async () => ({ godwit, client } = await start(LINK + SENDER)));
  after(() => godwit.stop());

  test("are the built-in ones before a change", async () => assert.deepEqual(await client.get(PATH), BUILT_IN));

  test("keep the members that a change does not have, and replace the others", async () => {
    const first = recordOf(await change(client, { opt_out_words: ["Basta"], replies: { help: "Call us" } }));
    const { updated_at: updatedAt, ...rest } = recordOf(await change(client, { languages: ["de", "tr"], replies: { opt_out: "Bye" } }));
    assert.deepEqual(
      { ...rest, updated_at: null },
      { ...BUILT_IN, languages: ["de", "tr"], opt_out_words: ["Basta"], replies: { opt_out: "Bye", opt_in: null, help: "Call us" } },
    );
    assert.ok(String(updatedAt) >= String(first["updated_at"]));
    const removed = recordOf(await change(client, { replies: { help: null }, languages: null }));
    assert.deepEqual([removed["languages"], (removed["replies"] as Json)["help"]], [["de", "tr"], null]);
    assert.deepEqual(await client.get(PATH), removed);
  });

  test("apply to the next inbound message", async () => {
    recordOf(await change(client, { languages: [], opt_out_words: [] }));
    assert.equal(await isOptOut(client, "Abmelden"), false);
    assert.equal(await isOptOut(client, "Lass mich!"), false);
    recordOf(await change(client, { languages: ["de"], opt_out_words: ["lass mich"] }));
    assert.equal(await isOptOut(client, "Abmelden"), true);
    assert.equal(await isOptOut(client, "Lass mich!"), true);
    recordOf(await change(client, { languages: [] }));
    assert.equal(await isOptOut(client, "Stop"), true, "the words that are always on need no language");
  });

  test("of one environment and account are not those of another", async () => {
    recordOf(await change(client, { opt_out_words: ["weg"] }));
    for (const other of [await godwit.key({ environment: "test" }), await godwit.key({ environment: "live", account: "other" })])
      assert.deepEqual((await clientOf(godwit, other).get(PATH))["opt_out_words"], []);
  });

  test("change once for one idempotency key, with an entry in the audit log that has no text of a reply", async () => {
    const key = randomUUID();
    const first = await change(client, { replies: { opt_in: "Welcome back" }, help_words: ["Sos"] }, key);
    assertReplayOf(first, await change(client, { replies: { opt_in: "Welcome back" }, help_words: ["Sos"] }, key));
    const { data } = await client.get("/v1/audit_events?action=consent_settings.changed&limit=1");
    const [entry] = data as Json[];
    assert.deepEqual(entry?.["changes"], { help_words: ["Sos"], replies: ["opt_in"] });
    assert.deepEqual(entry?.["target"], { type: "consent_settings", id: null });
  });

  test("need their scopes", async () => {
    const reader = clientOf(godwit, await godwit.key({ environment: "live", scopes: ["suppressions:read"] }));
    await reader.get(PATH);
    assertProblem(await change(reader, {}), "forbidden_insufficient_scope");
    const other = clientOf(godwit, await godwit.key({ environment: "live", scopes: ["messages:read"] }));
    assertProblem(await other.request("GET", PATH), "forbidden_insufficient_scope");
  });

  for (const [what, body, pointer, code] of [
    ["a word in two lists", { opt_out_words: ["Weg", "raus"], opt_in_words: ["RAUS!"] }, "/opt_in_words/0", "conflict"],
    ["an opt-out word that opts in", { opt_in_words: ["Unsubscribe"] }, "/opt_in_words/0", "conflict"],
    ["a word without a letter", { help_words: ["?!"] }, "/help_words/0", "invalid_format"],
    ["an unknown language", { languages: ["xx"] }, "/languages/0", "invalid_value"],
    ["too many words", { opt_out_words: Array.from({ length: 51 }, (_, index) => `w${index}`) }, "/opt_out_words", "too_many"],
    ["a word that is too long", { opt_out_words: ["w".repeat(41)] }, "/opt_out_words/0", "too_long"],
    ["a reply that is too long", { replies: { help: "x".repeat(481) } }, "/replies/help", "too_long"],
    ["an unknown reply", { replies: { other: "x" } }, "/replies/other", "unknown_field"],
  ] as const)
    test(`with ${what} are refused`, async () => {
      const earlier = await client.get(PATH);
      const reply = await change(client, body);
      assertProblem(reply, "invalid_request_payload");
      assert.deepEqual(
        faultsOf(reply).map((fault) => [fault.pointer, fault.code]),
        [[pointer, code]],
      );
      assert.deepEqual(await client.get(PATH), earlier);
    });

  test("with a word that a stored list has are refused", async () => {
    recordOf(await change(client, { opt_out_words: ["genug"] }));
    assertProblem(await change(client, { opt_in_words: ["Genug."] }), "invalid_request_payload");
  });
});

test("the settings of the file are the defaults, and those of the API win", async () => {
  const { godwit, client } = await start(LINK + SENDER + FILE);
  assert.deepEqual(await client.get(PATH), {
    ...BUILT_IN,
    languages: ["de"],
    opt_out_words: ["Weg damit"],
    replies: { ...NO_REPLIES, help: "Call us" },
  });
  assert.equal(await isOptOut(client, "Weg damit!"), true);
  const changed = recordOf(await change(client, { opt_out_words: [], replies: { opt_in: "Hello again" } }));
  assert.deepEqual([changed["languages"], changed["replies"]], [["de"], { opt_out: null, opt_in: "Hello again", help: "Call us" }]);
  assert.equal(await isOptOut(client, "Weg damit!"), false);
  await godwit.stop();
});

test("a reload of the file replaces the defaults", async () => {
  const { godwit, client } = await start(LINK + SENDER, true);
  assert.equal(await isOptOut(client, "Weg damit!"), false);
  writeConfig(LINK + SENDER + FILE, godwit.configFile);
  godwit.child.kill("SIGHUP");
  await until("the new settings", async () => ((await client.get(PATH))["opt_out_words"] as string[]).includes("Weg damit") || undefined);
  assert.equal(await isOptOut(client, "Weg damit!"), true);
  await godwit.stop();
});
