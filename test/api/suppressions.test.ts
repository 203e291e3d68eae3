/** The API of suppressions: input, life cycle, events and access. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { SCOPES, type Scope } from "../../src/access/scope.ts";
import { optOut } from "../../src/consent/change-consent.ts";
import { encodeId, newId, type AccountId } from "../../src/model/id.ts";
import { clientOf, clientOfAccount, walk, recipients, SHOP, type Client, type Json } from "../support/client.ts";
import { RECIPIENT } from "../support/recipient.ts";
import { LIMIT_MS, assertProblem, faultsOf, until } from "../support/expect.ts";
import { startGodwit, type Godwit } from "../support/harness.ts";
import { rowId } from "../support/tables.ts";
import { Customer, WITH_WEBHOOKS } from "../support/webhook-customer.ts";
import { Hook, verify, type Call } from "../support/hook-server.ts";

let godwit: Godwit;
before(async () => {
  godwit = await startGodwit();
});
after(() => godwit.stop());

const without = (record: Json, ...names: readonly string[]): Json =>
  Object.fromEntries(Object.entries(record).filter(([name]) => !names.includes(name)));

let accounts = 0;
const newClient = (): Promise<Client> => clientOfAccount(godwit, `suppressions ${(accounts += 1)}`);

const accountOf = async (id: unknown): Promise<AccountId> =>
  (await godwit.rows<{ account_id: AccountId }>("select account_id from suppressions where id = $1", [rowId(id)]))[0]?.account_id ??
  assert.fail();

describe("a new suppression", () => {
  test("returns 201 with the location and the whole record", async () => {
    const own = await newClient();
    const reply = await own.suppressions.post({ sender: SHOP, note: "asked by phone: Łódź 🐦" });
    assert.equal(reply.status, 201, reply.text);
    const { in_flight: inFlight, ...record } = reply.json;
    const { id, created_at: createdAt, updated_at: updatedAt, created_by: createdBy, ...rest } = record;
    assert.match(String(createdBy), /^key_/);
    assert.equal(inFlight, 0);
    assert.match(String(id), /^sup_[0-9a-z]{26}$/);
    assert.equal(reply.headers.get("location"), `/v1/suppressions/${String(id)}`);
    assert.ok(Math.abs(Date.parse(String(createdAt)) - Date.now()) < LIMIT_MS);
    assert.equal(updatedAt, createdAt);
    assert.deepEqual(rest, {
      object: "suppression",
      environment: "test",
      recipient: RECIPIENT,
      sender: SHOP,
      status: "active",
      source: "api",
      keyword: null,
      message_id: null,
      note: "asked by phone: Łódź 🐦",
    });
    assert.deepEqual(await own.suppressions.read(id), record);
    assert.deepEqual((await own.suppressions.list()).data, [record]);
  });

  for (const [what, fields] of Object.entries({ absent: {}, null: { sender: null, note: null } })) {
    test(`with ${what} optional fields is for all senders, and has no note`, async () => {
      const { sender, note } = await (await newClient()).suppressions.add(fields);
      assert.deepEqual([sender, note], [null, null]);
    });
  }

  for (const sender of ["12345", "Shop", "Shop & Co-1", "+4915112345678"])
    test(`can be for the sender ${sender}`, async () =>
      assert.equal((await (await newClient()).suppressions.add({ sender }))["sender"], sender));

  test("that is already active returns 200 and the record unchanged", async () => {
    const own = await newClient();
    const first = await own.suppressions.add({ note: "first" });
    const reply = await own.suppressions.post({ note: "second" });
    assert.equal(reply.status, 200);
    assert.equal(reply.headers.get("location"), null);
    assert.deepEqual(reply.json, { ...first, in_flight: 0 });
    assert.equal((await own.suppressions.history(first["id"])).data.length, 1);
    assert.equal((await own.suppressions.events()).length, 1);
  });

  test("is separate for each sender, and for all senders", async () => {
    const own = await newClient();
    const made = [
      await own.suppressions.add(),
      await own.suppressions.add({ sender: SHOP }),
      await own.suppressions.add({ sender: "Shop" }),
      await own.suppressions.add({ recipient: SHOP }),
    ];
    assert.equal(new Set(made.map(({ id }) => id)).size, 4);
    assert.deepEqual((await own.suppressions.list()).data, made.toReversed());
  });
});

describe("a lifted suppression", () => {
  test("keeps its record with the status lifted, and has the same id when it becomes active again", async () => {
    const own = await newClient();
    const first = await own.suppressions.add({ sender: SHOP, note: "first" });
    const lifted = await own.suppressions.lift(first["id"]);
    assert.deepEqual(lifted, { ...first, status: "lifted", note: null, updated_at: lifted["updated_at"] });
    assert.ok(String(lifted["updated_at"]) > String(first["updated_at"]));
    assert.deepEqual(await own.suppressions.read(first["id"]), lifted);

    const again = await own.suppressions.add({ sender: SHOP, note: "second" });
    assert.deepEqual(again, { ...first, note: "second", updated_at: again["updated_at"] });
    assert.ok(String(again["updated_at"]) > String(lifted["updated_at"]));
  });

  test("can be lifted again without effect", async () => {
    const own = await newClient();
    const { id } = await own.suppressions.add();
    assert.deepEqual(await own.suppressions.lift(id), await own.suppressions.lift(id));
    assert.deepEqual(
      (await own.suppressions.events()).map(({ type }) => type),
      ["recipient.opted_out", "recipient.opted_in"],
    );
    assert.equal((await own.suppressions.history(id)).data.length, 2);
  });

  test("does not change the other suppressions of the recipient", async () => {
    const own = await newClient();
    const [all, one] = [await own.suppressions.add(), await own.suppressions.add({ sender: SHOP })];
    await own.suppressions.lift(one["id"]);
    assert.deepEqual(await own.suppressions.read(all["id"]), all);
  });
});

describe("the history", () => {
  test("contains every change with its reason, newest first, each with the id and time of its event", async () => {
    const own = await newClient();
    const { id } = await own.suppressions.add({ sender: SHOP, note: "one" });
    await own.suppressions.lift(id);
    // An opt-out word of the recipient, stored as for an inbound message.
    const messageId = newId("msg", Date.now());
    const pair = { accountId: await accountOf(id), environment: "test", recipient: RECIPIENT, sender: SHOP } as const;
    await godwit.db?.transaction((tx) => optOut(tx, Date.now(), pair, { source: "keyword", keyword: "STOP", messageId }));
    const { data } = await own.suppressions.history(id);
    const api = { source: "api", keyword: null, message_id: null };
    const word = { source: "keyword", keyword: "STOP", message_id: encodeId("msg", messageId) };
    assert.deepEqual(
      data.map((entry) => without(entry, "id", "at")),
      [
        { status: "active", ...word, note: null },
        { status: "lifted", ...api, note: null },
        { status: "active", ...api, note: "one" },
      ],
    );
    const { created_at: createdAt, updated_at: updatedAt, ...rest } = await own.suppressions.read(id);
    const record = without(rest, "created_by");
    assert.deepEqual([data[2]?.["at"], data[0]?.["at"]], [createdAt, updatedAt]);
    assert.deepEqual(record, {
      id,
      object: "suppression",
      environment: "test",
      recipient: RECIPIENT,
      sender: SHOP,
      status: "active",
      ...word,
      note: null,
    });
    assert.deepEqual(
      data.map((entry) => [entry["id"], entry["at"]]),
      (await own.suppressions.events()).toReversed().map((event) => [event["id"], event["timestamp"]]),
    );
  });

  test("has pages without gaps or duplicates", async () => {
    const own = await newClient();
    const { id } = await own.suppressions.add();
    for (let index = 0; index < 3; index += 1) {
      await own.suppressions.lift(id);
      await own.suppressions.add();
    }
    const whole = (await own.suppressions.history(id)).data;
    assert.equal(whole.length, 7);
    for (const limit of [1, 3, 6, 7, 100]) {
      const pages = await walk((query) => own.suppressions.history(id, query), { limit: String(limit) });
      assert.deepEqual(
        pages.flatMap(({ data }) => data),
        whole,
      );
      assert.equal(pages.length, Math.ceil(7 / limit));
    }
  });

  for (const query of ["limit=0", "cursor=abc", "status=active"])
    test(`with ?${query} is a 400 that names the parameter`, async () => {
      const own = await newClient();
      const reply = await own.suppressions.request("GET", `/${String((await own.suppressions.add())["id"])}/history?${query}`);
      assertProblem(reply, "invalid_request_payload");
      assert.equal(faultsOf(reply)[0]?.parameter, query.split("=")[0]);
    });
});

describe("the list", () => {
  let own: Client;
  /** The suppressions, newest first. */
  let made: Json[];
  const [one = "", other = ""] = recipients(2);
  before(async () => {
    own = await newClient();
    made = [];
    for (const recipient of [one, other])
      for (const sender of [null, SHOP, "Shop"]) made.unshift(await own.suppressions.add({ recipient, sender }));
    // Lifts the oldest one and one in the middle.
    for (const index of [5, 2]) made[index] = await own.suppressions.lift(made[index]?.["id"]);
  });

  const FILTERS: readonly (readonly [query: Record<string, string>, fits: (suppression: Json) => boolean])[] = [
    [{}, ({ status }) => status === "active"],
    [{ status: "active" }, ({ status }) => status === "active"],
    [{ status: "lifted" }, ({ status }) => status === "lifted"],
    [{ recipient: one }, ({ status, recipient }) => status === "active" && recipient === one],
    [{ recipient: one, status: "lifted" }, ({ status, recipient }) => status === "lifted" && recipient === one],
    [{ sender: SHOP }, ({ status, sender }) => status === "active" && sender === SHOP],
    [
      { sender: "Shop", recipient: other },
      ({ status, sender, recipient }) => status === "active" && sender === "Shop" && recipient === other,
    ],
    [{ recipient: "+14155559999" }, () => false],
    [{ sender: "99999" }, () => false],
  ];
  for (const [query, fits] of FILTERS) {
    test(`with ${JSON.stringify(query)} contains only those, newest first, in pages of any size`, async () => {
      const expected = made.filter(fits);
      for (const limit of [1, 2, 100]) {
        const pages = await walk(own.suppressions.list, { ...query, limit: String(limit) });
        assert.deepEqual(
          pages.flatMap(({ data }) => data),
          expected,
        );
        assert.equal(pages.length, Math.max(1, Math.ceil(expected.length / limit)));
      }
    });
  }

  test("created_after and created_before exclude the given time, also with a recipient", async () => {
    const at = String(made[1]?.["created_at"]);
    const fits = (isLater: boolean, recipient?: string): unknown[] =>
      made
        .filter((each) => each["status"] === "active" && (recipient === undefined || each["recipient"] === recipient))
        .filter((each) => (isLater ? String(each["created_at"]) > at : String(each["created_at"]) < at));
    for (const filter of [{}, { recipient: other }]) {
      const later = await own.suppressions.list({ ...filter, created_after: at });
      assert.deepEqual(later.data, fits(true, filter.recipient));
      const earlier = await own.suppressions.list({ ...filter, created_before: at });
      assert.deepEqual(earlier.data, fits(false, filter.recipient));
    }
  });

  test("reads a bounded number of rows for a page, and continues there", async () => {
    const many = await newClient();
    const { id } = await many.suppressions.add({ sender: "Rare" });
    await godwit.rows(
      `insert into suppressions (account_id, environment, recipient, sender, id, is_active, source, updated_at)
       select account_id, environment, '+1415' || (6000000 + number), 'Common', overlay(gen_random_uuid()::text placing 'e6000000' from 1)::uuid,
              number % 2 = 0, 'import', now()
         from suppressions, generate_series(1, 12000) number
        where id = $1`,
      [rowId(id)],
    );
    const pages = await walk(many.suppressions.list, { sender: "Rare" });
    assert.deepEqual(
      pages.map(({ data }) => data.length),
      [0, 0, 1],
    );
    assert.equal((await many.suppressions.list({ sender: "Rare", recipient: RECIPIENT })).data.length, 1);
    const common = await walk(many.suppressions.list, { sender: "Common", limit: "100", status: "lifted" });
    assert.equal(new Set(common.flatMap(({ data }) => data.map((each) => each["id"]))).size, 6_000);
  });

  for (const query of ["limit=0", "limit=101", "cursor=abc", "status=opted_out", "recipient=4155550123", "sender=", "note=x"])
    test(`with ?${query} is a 400 that names the parameter`, async () => {
      const reply = await own.suppressions.request("GET", `?${query}`);
      assertProblem(reply, "invalid_request_payload");
      assert.deepEqual(
        faultsOf(reply).map(({ parameter }) => parameter),
        [query.split("=")[0]],
      );
    });
});

describe("an invalid request", () => {
  const recipient = RECIPIENT;
  const ROWS: readonly (readonly [what: string, body: unknown, faults: Record<string, string>])[] = [
    ["without a recipient", {}, { "/recipient": "required" }],
    ["with null as the recipient", { recipient: null }, { "/recipient": "invalid_type" }],
    ["with a recipient of another type", { recipient: 14155550123 }, { "/recipient": "invalid_type" }],
    ["with a recipient without a plus sign", { recipient: "14155550123" }, { "/recipient": "invalid_format" }],
    ["with a recipient with spaces", { recipient: " +14155550123" }, { "/recipient": "invalid_format" }],
    ["with a recipient with a line break", { recipient: "+14155550123\n" }, { "/recipient": "invalid_format" }],
    ["with a recipient of an unknown country", { recipient: "+1415555012" }, { "/recipient": "impossible_number" }],
    ["with an impossible sender", { recipient, sender: "A very long name" }, { "/sender": "invalid_format" }],
    ["with an empty sender", { recipient, sender: "" }, { "/sender": "invalid_format" }],
    ["with a sender of another type", { recipient, sender: 12345 }, { "/sender": "invalid_type" }],
    ["with an empty note", { recipient, note: "" }, { "/note": "too_short" }],
    ["with a note of 257 characters", { recipient, note: "🐦".repeat(257) }, { "/note": "too_long" }],
    ["with a note with a NUL character", { recipient, note: "a\0b" }, { "/note": "invalid_character" }],
    ["with a status", { recipient, status: "lifted" }, { "/status": "unknown_field" }],
    ["with a source", { recipient, source: "keyword" }, { "/source": "unknown_field" }],
    [
      "with several faults",
      { recipient: "+1415555012", sender: "", note: 1, id: "x" },
      { "/recipient": "impossible_number", "/sender": "invalid_format", "/note": "invalid_type", "/id": "unknown_field" },
    ],
    ["with a list as the body", [], { "": "invalid_type" }],
  ];
  for (const [what, body, faults] of ROWS) {
    test(`${what} is a 400 with each fault, and nothing is stored`, async () => {
      const own = await newClient();
      const reply = await own.suppressions.request("POST", "", { body });
      assertProblem(reply, "invalid_request_payload");
      assert.deepEqual(Object.fromEntries(faultsOf(reply).map(({ pointer, code }) => [pointer, code])), faults);
      assert.deepEqual((await own.suppressions.list()).data, []);
    });
  }

  test("is not one with a note of 256 characters, counted in characters", async () => {
    const note = "🐦".repeat(256);
    assert.equal((await (await newClient()).suppressions.add({ note }))["note"], note);
  });
});

describe("access to suppressions", () => {
  const OPERATIONS: readonly (readonly [method: string, path: string, scope: Scope, body?: object])[] = [
    ["GET", "", "suppressions:read"],
    ["GET", "/{id}", "suppressions:read"],
    ["GET", "/{id}/history", "suppressions:read"],
    ["POST", "", "suppressions:write", { recipient: RECIPIENT }],
    ["POST", "/import", "suppressions:write", { entries: [{ recipient: RECIPIENT }] }],
    ["DELETE", "/{id}", "suppressions:write"],
  ];
  let own: Client;
  let suppression: Json;
  let strangers: Client[];
  before(async () => {
    own = await clientOfAccount(godwit, "the owner");
    suppression = await own.suppressions.add({ sender: SHOP });
    strangers = [await clientOfAccount(godwit, "a stranger"), await clientOfAccount(godwit, "the owner", { environment: "live" })];
  });
  const at = (path: string, id: unknown = suppression["id"]): string => path.replace("{id}", String(id));

  for (const [method, path, scope, body] of OPERATIONS) {
    test(`with ${method} ${path} requires exactly the scope ${scope}`, async () => {
      const others = await godwit.key({ account: "the owner", scopes: SCOPES.filter((each) => each !== scope) });
      const reply = await clientOf(godwit, others).suppressions.request(method, at(path), { body });
      assertProblem(reply, "forbidden_insufficient_scope");
      assert.deepEqual(reply.json["required_scopes"], [scope]);
      const enough = await godwit.key({ account: "the owner", scopes: [scope] });
      assert.ok((await clientOf(godwit, enough).suppressions.request(method, at(path), { body })).status < 300);
      await own.suppressions.post({ sender: SHOP });
    });

    if (!path.includes("{id}")) continue;
    test(`with ${method} ${path} finds nothing of another account or environment`, async () => {
      for (const stranger of strangers) assertProblem(await stranger.suppressions.request(method, at(path)), "not_found");
      assert.equal((await own.suppressions.read(suppression["id"]))["status"], "active");
    });
    test(`with ${method} ${path} finds nothing with an invalid id`, async () => {
      const suffix = String(suppression["id"]).slice(4);
      for (const id of ["sup_", "sup_x", `evt_${suffix}`, suffix, `sup_${suffix.toUpperCase()}`, `sup_${suffix}0`])
        assertProblem(await own.suppressions.request(method, at(path, id)), "not_found");
    });
  }

  test("of another account or environment shows an empty list, and the same recipient is independent there", async () => {
    for (const stranger of strangers) {
      assert.deepEqual((await stranger.suppressions.list()).data, []);
      const { id } = await stranger.suppressions.add({ sender: SHOP });
      assert.notEqual(id, suppression["id"]);
      await stranger.suppressions.lift(id);
    }
    assert.equal((await own.suppressions.read(suppression["id"]))["status"], "active");
  });
});

describe("the webhooks of suppressions", () => {
  let notifying: Godwit;
  let hook: Hook;
  before(async () => {
    notifying = await startGodwit(WITH_WEBHOOKS);
    hook = await Hook.listen();
  });
  after(async () => {
    await notifying.stop();
    await hook[Symbol.asyncDispose]();
  });

  test("report each change once, with the record of that time, signed", async () => {
    const customer = await Customer.of(notifying);
    const own = clientOf(notifying, customer.key);
    const all = await customer.endpoint(hook, ["recipient.*"]);
    const back = await customer.endpoint(hook, ["recipient.opted_in"]);
    const out = await own.suppressions.add({ sender: SHOP, note: "one" });
    await own.suppressions.post({ sender: SHOP });
    const lifted = await own.suppressions.lift(out["id"]);
    await own.suppressions.lift(out["id"]);
    await own.suppressions.import([{ recipient: RECIPIENT, sender: SHOP }, { recipient: SHOP }]);
    const [again, imported] = [await own.suppressions.read(out["id"]), (await own.suppressions.list({ recipient: SHOP })).data[0] as Json];

    const calls = (await all.received(4)).toSorted((one, other) => (one.event.id < other.event.id ? -1 : 1));
    await all.idle();
    await back.idle();
    assert.equal(all.calls.length, 4);
    for (const call of calls) verify(call, all.secret);
    const events = await own.suppressions.events();
    assert.deepEqual(
      events.map((event) => without(event, "id", "timestamp")),
      [
        { type: "recipient.opted_out", environment: "test", data: { suppression: out } },
        { type: "recipient.opted_in", environment: "test", data: { suppression: lifted } },
        { type: "recipient.opted_out", environment: "test", data: { suppression: imported } },
        { type: "recipient.opted_out", environment: "test", data: { suppression: again } },
      ],
    );
    const eventsIn = (sent: readonly Call[]): unknown[] => sent.map(({ event }) => event);
    assert.deepEqual(eventsIn(calls), events);
    assert.deepEqual(
      eventsIn(back.calls),
      events.filter(({ type }) => type === "recipient.opted_in"),
    );
  });
});

test("the log contains no phone number", async () => {
  const own = await newClient();
  const [recipient = "", sender = ""] = recipients(2, 900_000);
  const { id } = await own.suppressions.add({ recipient, sender });
  await own.suppressions.list({ recipient, sender });
  await own.suppressions.lift(id);
  const last = await own.suppressions.request("GET", `/${String(id)}`);
  const requestId = last.headers.get("x-request-id");
  await until("the last request is logged", () => godwit.logs.find((line) => line["request_id"] === requestId));
  const lines = [...godwit.logs.map((line) => JSON.stringify(line)), ...godwit.output];
  for (const number of [recipient, sender])
    assert.deepEqual(
      lines.filter((line) => line.includes(number.slice(1))),
      [],
    );
});
