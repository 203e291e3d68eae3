/** The API of verifications: start, check and end. Nothing is delivered here. */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, before, describe, test } from "node:test";
import {
  clientOf,
  clientOfAccount,
  newName,
  newRecipient,
  NO_LIMITS,
  RIGHT,
  WRONG,
  type Client,
  type Json,
  type TemplateClient,
} from "../support/client.ts";
import { assertProblem, faultsOf, pointersOf } from "../support/expect.ts";
import { startGodwit, type Godwit, type Reply } from "../support/harness.ts";
import { assertOneExecution, assertReplayOf, assertReused } from "../support/replay.ts";
import { rowId } from "../support/tables.ts";

let godwit: Godwit;
let other: Godwit;
let client: Client;
/** The same client on the other node. */
let there: Client;
before(async () => {
  godwit = await startGodwit({ env: NO_LIMITS });
  other = await startGodwit({ databaseUrl: godwit.databaseUrl, env: NO_LIMITS });
  client = await clientOfAccount(godwit, "verifications");
  there = clientOf(other, client.key);
});
after(() => Promise.all([godwit.stop(), other.stop()]));

const countOf = async (table: string): Promise<number> => {
  const [row] = await godwit.rows<{ count: number }>(`select count(*)::integer as count from ${table}`);
  return row?.count ?? NaN;
};

/** Asserts that nothing is sent and nothing but the response is stored. */
async function assertSendsNothing(work: () => Promise<unknown>): Promise<void> {
  const tables = ["verifications", "messages", "events", "delivery_queue", "fallbacks"];
  const counts = await Promise.all(tables.map(countOf));
  await work();
  assert.deepEqual(await Promise.all(tables.map(countOf)), counts);
}

const secondsBetween = (from: unknown, to: unknown): number => (Date.parse(String(to)) - Date.parse(String(from))) / 1_000;

describe("a request for a code", () => {
  test("with a channel returns 201 with the record and its location", async () => {
    const recipient = newRecipient();
    const reply = await client.verifications.start({ recipient, channel: "sms" });
    assert.equal(reply.status, 201, reply.text);
    const { id, message_id: messageId, created_at: createdAt, expires_at: expiresAt, updated_at: updatedAt } = reply.json;
    assert.match(String(id), /^ver_[0-9a-z]{26}$/);
    assert.equal(reply.headers.get("location"), `/v1/verifications/${String(id)}`);
    assert.deepEqual(reply.json, {
      id,
      object: "verification",
      environment: "test",
      recipient,
      channels: ["sms"],
      code_length: 6,
      status: "pending",
      attempts: 0,
      attempts_left: 5,
      message_id: messageId,
      created_at: createdAt,
      expires_at: expiresAt,
      verified_at: null,
      updated_at: updatedAt,
    });
    assert.equal(secondsBetween(createdAt, expiresAt), 600);
    assert.deepEqual(await client.verifications.read(id), reply.json);
    assert.deepEqual(await there.verifications.read(id), reply.json);
  });

  test("creates a message with high priority, which expires with the code", async () => {
    const recipient = newRecipient();
    const verification = await client.verifications.started({ recipient, ttl: 60, sender: "SHOP" });
    const message = await client.messages.read(verification["message_id"]);
    const { status, priority, sender, channel, fallback_of: fallbackOf, created_at: createdAt, expires_at: expiresAt } = message;
    assert.deepEqual(
      { recipient: message["recipient"], status, priority, sender, channel, fallbackOf },
      { recipient, status: "queued", priority: "high", sender: "SHOP", channel: "sms", fallbackOf: null },
    );
    assert.equal(secondsBetween(createdAt, expiresAt), 60);
    assert.equal(secondsBetween(verification["created_at"], verification["expires_at"]), 60);
    assert.equal((await client.messages.list({ recipient: recipient, limit: "100" })).data.length, 1);
  });

  test("with channels uses the first, and stores the others for later", async () => {
    const recipient = newRecipient();
    const verification = await client.verifications.started({ recipient, channels: ["whatsapp", "sms"], after_seconds: 45 });
    assert.deepEqual(verification["channels"], ["whatsapp", "sms"]);
    assert.deepEqual(
      (await client.messages.list({ recipient: recipient, limit: "100" })).data.map(({ channel }) => channel),
      ["whatsapp"],
    );
    const [fallback] = await godwit.rows<{ seconds: number }>(
      `select extract(epoch from due_at - to_timestamp($2::float8 / 1000))::float8 as seconds from fallbacks where message_id = $1`,
      [rowId(verification["message_id"]), Date.parse(String(verification["created_at"]))],
    );
    assert.ok(fallback !== undefined && Math.abs(fallback.seconds - 45) < 1, JSON.stringify(fallback));
  });

  for (let length = 4; length <= 10; length += 1) {
    const code = "1234567890".slice(0, length);
    test(`of ${length} digits has the code ${code} in test, shown as asterisks, and counted with its length`, async () => {
      const { id, code_length: shown, message_id: messageId } = await client.verifications.started({ code_length: length });
      assert.equal(shown, length);
      const { body, template_variables: variables, segments } = await client.messages.read(messageId);
      const hidden = "*".repeat(length);
      assert.equal(body, `${hidden} is your verification code. Do not share it with anyone.`);
      assert.deepEqual(variables, { code: hidden });
      assert.deepEqual(segments, { count: 1, encoding: "gsm7", characters: body.length });
      assert.equal((await client.verifications.checked(id, "9".repeat(length)))["valid"], false);
      assert.equal((await client.verifications.checked(id, code))["valid"], true);
    });
  }

  const BAD: readonly (readonly [what: string, body: object, faults: readonly string[]])[] = [
    ["no channel", {}, ["/channel required"]],
    ["both kinds of channel", { channel: "sms", channels: ["sms"] }, ["/channels conflict"]],
    ["an unknown channel", { channel: "fax" }, ["/channel invalid_value"]],
    ["an unknown channel among others", { channels: ["sms", "fax"] }, ["/channels/1 invalid_value"]],
    ["no channels", { channels: [] }, ["/channels too_few"]],
    ["a channel twice", { channels: ["sms", "sms"] }, ["/channels invalid"]],
    ["channels that are not a list", { channels: "sms" }, ["/channels invalid_type"]],
    ["a code of 3 digits", { channel: "sms", code_length: 3 }, ["/code_length out_of_range"]],
    ["a code of 11 digits", { channel: "sms", code_length: 11 }, ["/code_length out_of_range"]],
    ["a code of 6.5 digits", { channel: "sms", code_length: 6.5 }, ["/code_length invalid_type"]],
    ["a length as a string", { channel: "sms", code_length: "6" }, ["/code_length invalid_type"]],
    ["a time to live of 59 seconds", { channel: "sms", ttl: 59 }, ["/ttl out_of_range"]],
    ["a time to live of 3,601 seconds", { channel: "sms", ttl: 3_601 }, ["/ttl out_of_range"]],
    ["a time to live as a string", { channel: "sms", ttl: "600" }, ["/ttl invalid_type"]],
    ["4 seconds to the next channel", { channels: ["sms", "whatsapp"], after_seconds: 4 }, ["/after_seconds out_of_range"]],
    ["601 seconds to the next channel", { channel: "sms", ttl: 3_600, after_seconds: 601 }, ["/after_seconds out_of_range"]],
    [
      "a next channel after the code expires",
      { channels: ["sms", "whatsapp"], ttl: 60, after_seconds: 60 },
      ["/after_seconds out_of_range"],
    ],
    ["an impossible number", { channel: "sms", recipient: "+1415555" }, ["/recipient impossible_number"]],
    ["a number without a country code", { channel: "sms", recipient: "4155550123" }, ["/recipient invalid_format"]],
    ["null as the number", { channel: "sms", recipient: null }, ["/recipient invalid_type"]],
    ["an impossible sender", { channel: "sms", sender: "A name that is too long" }, ["/sender invalid_format"]],
    ["an empty template", { channel: "sms", template_id: "" }, ["/template_id too_short"]],
    ["a code of the client", { channel: "sms", code: "123456" }, ["/code unknown_field"]],
    [
      "many faults",
      { recipient: "x", ttl: 1, code_length: 1 },
      ["/recipient invalid_format", "/code_length out_of_range", "/ttl out_of_range", "/channel required"],
    ],
  ];
  for (const [what, body, faults] of BAD) {
    test(`with ${what} is refused, and sends nothing`, () =>
      assertSendsNothing(async () => {
        const reply = await client.verifications.start(body);
        assertProblem(reply, "invalid_request_payload");
        assert.deepEqual(
          faultsOf(reply)
            .map(({ pointer, code }) => `${pointer} ${code}`)
            .toSorted(),
          [...faults].toSorted(),
          reply.text,
        );
      }));
  }

  test("is executed once for its key, and replayed on any node", async () => {
    const body = { recipient: newRecipient(), channel: "sms" };
    const idempotencyKey = randomUUID();
    const nodes = [client, there] as const;
    const replies = await Promise.all(
      Array.from({ length: 20 }, (_, index) => nodes[index % 2 === 0 ? 0 : 1].verifications.start(body, { idempotencyKey })),
    );
    const first = assertOneExecution(replies, 201);
    assert.equal((await client.messages.list({ recipient: body.recipient, limit: "100" })).data.length, 1);
    await client.verifications.checked(first.json["id"]);
    // A replay returns the first response, although the verification has changed since.
    for (const node of nodes) assertReplayOf(first, await node.verifications.start(body, { idempotencyKey }));
    assert.equal(first.json["status"], "pending");
    assertReused(await client.verifications.start({ ...body, code_length: 7 }, { idempotencyKey }));
    assert.equal((await client.messages.list({ recipient: body.recipient, limit: "100" })).data.length, 1);
  });

  test("in live without a link is refused, and does not count", () =>
    assertSendsNothing(async () => {
      const live = await clientOfAccount(godwit, "verifications", { environment: "live" });
      assertProblem(await live.verifications.start({ channel: "sms" }), "no_route");
    }));

  test("to a recipient who opted out is refused, does not count, and does not change the earlier code", async () => {
    const recipient = newRecipient();
    const first = await client.verifications.started({ recipient });
    const suppress = await godwit.request("POST", "/v1/suppressions", { key: client.key, body: { recipient } });
    assert.equal(suppress.status, 201);
    const idempotencyKey = randomUUID();
    let refused: Reply | undefined;
    await assertSendsNothing(async () => {
      refused = await client.verifications.start({ recipient, channel: "sms" }, { idempotencyKey });
      assertProblem(refused, "recipient_opted_out");
      assert.deepEqual(pointersOf(refused), ["/recipient"]);
    });
    assert.equal((await client.verifications.read(first["id"]))["status"], "pending");
    await godwit.request("DELETE", `/v1/suppressions/${String(suppress.json["id"])}`, { key: client.key });
    assertReplayOf(refused as Reply, await client.verifications.start({ recipient, channel: "sms" }, { idempotencyKey }));
    await client.verifications.started({ recipient });
  });

  test("to the number that has opted out at the simulator is refused", () =>
    assertSendsNothing(async () => {
      const reply = await client.verifications.start({ recipient: "+15005550004", channel: "sms" });
      assertProblem(reply, "recipient_opted_out");
      assert.deepEqual(pointersOf(reply), ["/recipient"]);
    }));
});

describe("a template", () => {
  let templates: TemplateClient;
  before(() => {
    templates = clientOf(godwit, client.key).templates;
  });
  const CODE = { category: "authentication", channels: ["sms", "whatsapp"], body: "Code: {{code}}. Yours, {{code}}" };

  for (const by of ["id", "name"] as const) {
    test(`can be given by its ${by}`, async () => {
      const template = await templates.create(CODE);
      const { message_id: messageId } = await client.verifications.started({ template_id: template[by] });
      const { body, template_id: id, template_version: version } = await client.messages.read(messageId);
      assert.deepEqual({ body, id, version }, { body: "Code: ******. Yours, ******", id: template["id"], version: 1 });
    });
  }

  const refusals = {
    "with another variable": [{ body: "Code: {{number}}" }, "template_variables_mismatch", ["missing_variable", "extra_variable"]],
    "with a further variable": [{ body: "{{name}}: {{code}}" }, "template_variables_mismatch", ["missing_variable"]],
    "with a positional variable": [{ body: "Code: {{1}}" }, "template_variables_mismatch", ["missing_variable", "extra_variable"]],
    "without a variable": [{ body: "Hello" }, "template_variables_mismatch", ["extra_variable"]],
    "for another channel": [{ channels: ["whatsapp"] }, "template_channel_mismatch", ["template_channel_mismatch"]],
    "that is not approved": [{ name: newName("simulate_pending") }, "template_not_approved", ["template_not_approved"]],
    "that is too long with the code filled in": [
      { channels: ["sms"], body: `{{code}}${"x".repeat(1_592)}` },
      "template_text_too_long",
      ["too_long"],
    ],
  } as const;
  for (const [what, [fields, code, faults]] of Object.entries(refusals)) {
    test(`${what} is refused, and nothing is sent`, async () => {
      const template = await templates.create({ ...CODE, ...fields });
      await assertSendsNothing(async () => {
        const reply = await client.verifications.start({ channel: "sms", code_length: 10, template_id: template["id"] });
        assertProblem(reply, code);
        // The faults point to the template, the only field that the client can change.
        assert.deepEqual(
          faultsOf(reply).map((fault) => `${fault.pointer} ${fault.code}`),
          faults.map((fault) => `/template_id ${fault}`),
        );
      });
    });
  }

  test("for only one of the channels is refused for the other", async () => {
    const template = await templates.create({ ...CODE, channels: ["sms"] });
    const reply = await client.verifications.start({ channels: ["sms", "whatsapp"], template_id: template["id"] });
    assertProblem(reply, "template_channel_mismatch");
    assert.deepEqual(pointersOf(reply), ["/template_id"]);
  });

  test("that is invalid for both channels is reported once", async () => {
    const template = await templates.create({ ...CODE, body: "{{name}}" });
    const reply = await client.verifications.start({ channels: ["sms", "whatsapp"], template_id: template["id"] });
    assertProblem(reply, "template_variables_mismatch");
    assert.equal(faultsOf(reply).length, 2, reply.text);
  });

  test("that is archived is refused by its id, and unknown by its name", async () => {
    const { id, name } = await templates.create(CODE);
    await templates.archive(id);
    assertProblem(await client.verifications.start({ channel: "sms", template_id: id }), "template_not_approved");
    assertProblem(await client.verifications.start({ channel: "sms", template_id: name }), "template_not_found");
  });

  test("that is unknown is refused, and the refusal is replayed although it exists by then", async () => {
    const name = newName("later");
    const body = { recipient: newRecipient(), channel: "sms", template_id: name };
    const idempotencyKey = randomUUID();
    const refused = await client.verifications.start(body, { idempotencyKey });
    assertProblem(refused, "template_not_found");
    await templates.create({ ...CODE, name });
    assertReplayOf(refused, await client.verifications.start(body, { idempotencyKey }));
    await client.verifications.started(body);
  });
});

describe("a check", () => {
  test("of a wrong code returns that it is not valid, and leaves one attempt less", async () => {
    const { id } = await client.verifications.started();
    const checked = await client.verifications.checked(id, WRONG);
    assert.deepEqual(
      [checked["valid"], checked["status"], checked["attempts"], checked["attempts_left"], checked["verified_at"]],
      [false, "pending", 1, 4, null],
    );
    const { valid: _, ...record } = checked;
    assert.deepEqual(await client.verifications.read(id), record);
  });

  test("of the right code approves the verification once", async () => {
    const { id } = await client.verifications.started();
    await client.verifications.checked(id, WRONG);
    const checked = await client.verifications.checked(id);
    assert.deepEqual([checked["valid"], checked["status"], checked["attempts"], checked["attempts_left"]], [true, "approved", 1, 0]);
    assert.equal(checked["verified_at"], checked["updated_at"]);
    for (const code of [RIGHT, WRONG]) {
      const again = await client.verifications.check(id, code);
      assertProblem(again, "verification_not_pending");
      assert.equal(again.json["detail"], "The verification is approved: start a new one with POST /v1/verifications.");
    }
    const { valid: _, ...record } = checked;
    assert.deepEqual(await there.verifications.read(id), record);
  });

  test("with the fifth wrong code fails the verification, after which the right one is refused", async () => {
    const { id } = await client.verifications.started();
    const states: unknown[] = [];
    for (let attempt = 1; attempt <= 5; attempt += 1) {
      const { valid, status, attempts, attempts_left: left } = await (attempt % 2 === 0 ? client : there).verifications.checked(id, WRONG);
      states.push([valid, status, attempts, left]);
    }
    assert.deepEqual(states, [
      [false, "pending", 1, 4],
      [false, "pending", 2, 3],
      [false, "pending", 3, 2],
      [false, "pending", 4, 1],
      [false, "failed", 5, 0],
    ]);
    const late = await client.verifications.check(id);
    assertProblem(late, "verification_not_pending");
    assert.equal(late.json["detail"], "The verification is failed: start a new one with POST /v1/verifications.");
    assert.deepEqual(late.json["errors"], [
      { parameter: "id", code: "failed", detail: "the verification is failed: start a new one with POST /v1/verifications" },
    ]);
    const { status, attempts, verified_at: verifiedAt } = await client.verifications.read(id);
    assert.deepEqual([status, attempts, verifiedAt], ["failed", 5, null]);
  });

  test("of forty wrong codes concurrently on two nodes counts five of them", async () => {
    const { id } = await client.verifications.started();
    const replies = await Promise.all(
      Array.from({ length: 40 }, (_, index) => (index % 2 === 0 ? client : there).verifications.check(id, WRONG)),
    );
    assert.equal(replies.filter(({ status }) => status === 200).length, 5);
    for (const reply of replies) if (reply.status !== 200) assertProblem(reply, "verification_not_pending");
    assert.equal((await client.verifications.read(id))["attempts"], 5);
  });

  for (const nodes of [1, 2]) {
    test(`of the right code twenty times concurrently on ${nodes === 1 ? "one node" : "two nodes"} is valid for exactly one`, async () => {
      for (let round = 0; round < 5; round += 1) {
        const { id } = await client.verifications.started();
        const clients = nodes === 1 ? [client] : [client, there];
        const asked = Array.from({ length: 20 }, (_, index) => (clients[index % nodes] as Client).verifications.check(id));
        const replies = await Promise.all(asked);
        assert.equal(replies.filter(({ status, json }) => status === 200 && json["valid"] === true).length, 1);
        for (const reply of replies) if (reply.status !== 200) assertProblem(reply, "verification_not_pending");
        assert.equal((await there.verifications.read(id))["status"], "approved");
      }
    });
  }

  test("is executed once for its key, and replayed", async () => {
    const { id } = await client.verifications.started();
    const wrong = randomUUID();
    const first = await client.verifications.check(id, WRONG, { idempotencyKey: wrong });
    assertReplayOf(first, await there.verifications.check(id, WRONG, { idempotencyKey: wrong }));
    assert.equal((await client.verifications.read(id))["attempts"], 1);
    assertReused(await client.verifications.check(id, RIGHT, { idempotencyKey: wrong }));
    const right = randomUUID();
    const replies = await Promise.all(
      Array.from({ length: 10 }, (_, index) =>
        (index % 2 === 0 ? client : there).verifications.check(id, RIGHT, { idempotencyKey: right }),
      ),
    );
    const approved = assertOneExecution(replies, 200);
    assert.equal(approved.json["valid"], true);
    assertReplayOf(approved, await client.verifications.check(id, RIGHT, { idempotencyKey: right }));
  });

  test("that was refused is replayed as refused", async () => {
    const { id } = await client.verifications.started();
    await client.verifications.canceled(id);
    const idempotencyKey = randomUUID();
    const refused = await client.verifications.check(id, RIGHT, { idempotencyKey });
    assertProblem(refused, "verification_not_pending");
    assertReplayOf(refused, await there.verifications.check(id, RIGHT, { idempotencyKey }));
  });

  test("after the expiry is refused, and so is a cancel", async () => {
    const { id } = await client.verifications.started();
    // The clock of a service can be milliseconds behind the database.
    await godwit.rows("update verifications set expires_at = now() - interval '1 minute' where id = $1", [rowId(id)]);
    for (const reply of [await client.verifications.check(id), await client.verifications.cancel(id)]) {
      assertProblem(reply, "verification_not_pending");
      assert.equal(reply.json["detail"], "The verification is expired: start a new one with POST /v1/verifications.");
      assert.deepEqual(reply.json["errors"], [
        { parameter: "id", code: "expired", detail: "the verification is expired: start a new one with POST /v1/verifications" },
      ]);
    }
    const { status, attempts, attempts_left: left, verified_at: verifiedAt } = await client.verifications.read(id);
    assert.deepEqual([status, attempts, left, verifiedAt], ["expired", 0, 0, null]);
  });

  test("of a code of another length is not valid", async () => {
    const { id } = await client.verifications.started();
    for (const code of ["1234", "1234567890"]) assert.equal((await client.verifications.checked(id, code))["valid"], false);
    assert.equal((await client.verifications.checked(id))["valid"], true);
  });

  const BAD: readonly (readonly [what: string, body: unknown, fault: string])[] = [
    ["no code", {}, "/code required"],
    ["a number", { code: 123456 }, "/code invalid_type"],
    ["too few digits", { code: "123" }, "/code invalid_format"],
    ["too many digits", { code: "12345678901" }, "/code invalid_format"],
    ["letters", { code: "12345a" }, "/code invalid_format"],
    ["a trailing line break", { code: "123456\n" }, "/code invalid_format"],
    ["another field", { code: RIGHT, id: "x" }, "/id unknown_field"],
  ];
  for (const [what, body, fault] of BAD) {
    test(`with ${what} is refused, and does not count as an attempt`, async () => {
      const { id } = await client.verifications.started();
      const reply = await client.verifications.request("POST", `/${String(id)}/check`, { body });
      assertProblem(reply, "invalid_request_payload");
      assert.deepEqual(
        faultsOf(reply).map(({ pointer, code }) => `${pointer} ${code}`),
        [fault],
      );
      assert.equal((await client.verifications.read(id))["attempts"], 0);
    });
  }
});

describe("a cancel", () => {
  test("ends the verification: the right code is refused, and no other channel is used", async () => {
    const { id, message_id: messageId } = await client.verifications.started({ channels: ["whatsapp", "sms"] });
    const idempotencyKey = randomUUID();
    const reply = await client.verifications.cancel(id, { idempotencyKey });
    assert.equal(reply.status, 200, reply.text);
    assert.deepEqual([reply.json["status"], reply.json["attempts_left"]], ["canceled", 0]);
    assertReplayOf(reply, await there.verifications.cancel(id, { idempotencyKey }));
    for (const again of [await client.verifications.cancel(id), await client.verifications.check(id)]) {
      assertProblem(again, "verification_not_pending");
      assert.equal(again.json["detail"], "The verification is canceled: start a new one with POST /v1/verifications.");
    }
    assert.deepEqual(await godwit.rows("select from fallbacks where message_id = $1", [rowId(messageId)]), []);
  });

  test("and a concurrent check of the right code: one of them succeeds", async () => {
    for (let round = 0; round < 10; round += 1) {
      const { id } = await client.verifications.started();
      const [checked, canceled] = await Promise.all([client.verifications.check(id), there.verifications.cancel(id)]);
      const isApproved = checked.status === 200;
      assertProblem(isApproved ? canceled : checked, "verification_not_pending");
      assert.equal((await client.verifications.read(id))["status"], isApproved ? "approved" : "canceled");
    }
  });
});

describe("a second code", () => {
  test("replaces the first, which is canceled with its remaining channels", async () => {
    const recipient = newRecipient();
    const first = await client.verifications.started({ recipient, channels: ["whatsapp", "sms"], code_length: 4 });
    const second = await there.verifications.started({ recipient });
    assert.equal((await client.verifications.read(first["id"]))["status"], "canceled");
    assertProblem(await client.verifications.check(first["id"], "1234"), "verification_not_pending");
    assert.equal((await client.verifications.checked(second["id"], "1234"))["valid"], false);
    assert.equal((await client.verifications.checked(second["id"]))["valid"], true);
    assert.deepEqual(await godwit.rows("select from fallbacks where message_id = $1", [rowId(first["message_id"])]), []);
  });

  test("for another recipient, another account or after the end of the first does not change the first", async () => {
    const recipient = newRecipient();
    const first = await client.verifications.started({ recipient });
    await client.verifications.started({ recipient: newRecipient() });
    await (await clientOfAccount(godwit, "someone else")).verifications.started({ recipient });
    assert.equal((await client.verifications.read(first["id"]))["status"], "pending");
    await client.verifications.checked(first["id"]);
    await client.verifications.started({ recipient });
    assert.equal((await client.verifications.read(first["id"]))["status"], "approved");
  });

  test("of twenty concurrent requests on two nodes leaves one that is valid", async () => {
    const recipient = newRecipient();
    const started = await Promise.all(
      Array.from({ length: 20 }, (_, index) => (index % 2 === 0 ? client : there).verifications.started({ recipient })),
    );
    const states = await Promise.all(started.map(({ id }) => client.verifications.read(id)));
    assert.equal(states.filter(({ status }) => status === "pending").length, 1);
    assert.equal(states.filter(({ status }) => status === "canceled").length, 19);
    const checks = await Promise.all(started.map(({ id }) => client.verifications.check(id)));
    assert.equal(checks.filter(({ json }) => json["valid"] === true).length, 1);
  });
});

describe("access to verifications", () => {
  const unknown = async (asker: Client, id: unknown): Promise<void> => {
    for (const reply of [
      await asker.verifications.request("GET", `/${String(id)}`),
      await asker.verifications.check(id),
      await asker.verifications.cancel(id),
    ])
      assertProblem(reply, "not_found");
  };

  test("of another account or environment is a 404, and checks no code", async () => {
    const { id } = await client.verifications.started();
    await unknown(await clientOfAccount(godwit, "a stranger"), id);
    await unknown(await clientOfAccount(godwit, "verifications", { environment: "live" }), id);
    const { status, attempts }: Json = await client.verifications.read(id);
    assert.deepEqual([status, attempts], ["pending", 0]);
  });

  test("with an invalid id is a 404", async () => {
    const { message_id: messageId } = await client.verifications.started();
    for (const id of [messageId, "ver_00000000000000000000000000", "ver_x", "1"]) await unknown(client, id);
  });

  test("requires the scope for reading, and another for everything else", async () => {
    const { id } = await client.verifications.started();
    const reader = await clientOfAccount(godwit, "verifications", { scopes: ["verifications:read"] });
    const writer = await clientOfAccount(godwit, "verifications", { scopes: ["verifications:write"] });
    const sender = await clientOfAccount(godwit, "verifications", { scopes: ["messages:send", "messages:read"] });
    assert.equal((await reader.verifications.read(id))["status"], "pending");
    for (const asker of [reader, sender])
      for (const reply of [
        await asker.verifications.start({ channel: "sms" }),
        await asker.verifications.check(id),
        await asker.verifications.cancel(id),
      ]) {
        assertProblem(reply, "forbidden_insufficient_scope");
        assert.deepEqual(reply.json["required_scopes"], ["verifications:write"]);
      }
    for (const asker of [writer, sender])
      assertProblem(await asker.verifications.request("GET", `/${String(id)}`), "forbidden_insufficient_scope");
    assert.equal((await writer.verifications.checked(id))["valid"], true);
  });
});
