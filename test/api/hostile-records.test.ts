/** Stored endpoints, keys, templates, consent settings, receipts, events and counts that this version cannot read, or that are as expensive
 *  as a row can be. They stop neither a start nor the work on other rows. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { uuidToText } from "../../src/lib/uuid.ts";
import { newId } from "../../src/model/id.ts";
import type { Json } from "../support/client.ts";
import { LINK, linkTo, Rig } from "../support/delivery-rig.ts";
import { Exchange, ExclusiveCarrier } from "../support/exclusive-carrier.ts";
import { until } from "../support/expect.ts";
import { createToken, newOAuthClient } from "../support/keys.ts";
import { SECRET_KEY, startGodwit, type Godwit } from "../support/harness.ts";
import { Hook } from "../support/hook-server.ts";
import { recipientNo } from "../support/recipient.ts";
import { ReviewRig } from "../support/review-rig.ts";
import { accepted, receipt, ScriptedCarrier } from "../support/scripted-carrier.ts";
import { Customer, type DeliveryRecord, WITH_WEBHOOKS } from "../support/webhook-customer.ts";

const HAN = "漢字".repeat(2_500);

const URLS = [
  "",
  "no url",
  `https://${HAN}/`,
  `https://a.example${"/".repeat(60_000)}a`,
  "ftp://a.example/",
  "file:///etc/passwd",
  "https://[::1",
];

const RECEIPTS: readonly unknown[] = [
  null,
  5,
  { addresses: 5 },
  { ...receipt("8", "sent"), reference: undefined },
  { ...receipt("8", "sent"), status: "eaten" },
  { ...receipt("8", "sent"), error: {} },
  { ...receipt("8", "sent"), unmarkedFrom: [null] },
];

const TEMPLATES: readonly { body?: string; name?: string; buttons?: unknown; examples?: unknown; channels?: readonly (string | null)[] }[] =
  [
    { body: "{{a}} ".repeat(200_000) },
    { body: "{{".repeat(500_000) },
    { name: "a".repeat(2_000) },
    { buttons: 5 },
    { buttons: [null] },
    { buttons: [{ type: "carrier_pigeon", text: {} }] },
    { examples: null },
    { examples: { name: { a: 1 } } },
    { channels: ["whatsapp", null] },
  ];

const SETTINGS: readonly unknown[] = [
  null,
  5,
  { languages: 5 },
  { opt_out_words: [{ a: 1 }], opt_in_words: [HAN] },
  { replies: 5, help_words: "a" },
];

async function accountOf(godwit: Godwit, name = "default"): Promise<unknown> {
  const [account] = await godwit.rows<{ id: unknown }>("select id from accounts where name = $1", [name]);
  assert.ok(account !== undefined);
  return account.id;
}

test("endpoints and keys that cannot be used do not prevent a start, also with a new secret key, and stop no others", async () => {
  await using hook = await Hook.listen();
  await using first = await startGodwit(WITH_WEBHOOKS);
  await first.unlimited();
  const customer = await Customer.of(first);
  const good = await customer.endpoint(hook);
  const ids = [...URLS, hook.url("/secret")].map(() => newId("whe", Date.now()));
  await first.rows(
    `insert into webhook_endpoints (account_id, environment, id, url, event_types, status, secret, updated_at, failing_since)
     select other.account_id, 'test', row.id, row.url, array['*'], 'enabled', case when row.url <> $3 then other.secret else 'not sealed' end,
            'infinity', '-infinity'
       from unnest($1::uuid[], $2::text[]) as row (id, url), webhook_endpoints other`,
    [ids.map(uuidToText), [...URLS, hook.url("/secret")], hook.url("/secret")],
  );
  await first.rows("insert into signing_keys (kid, public_key, private_key, active_from) values ('a', '5', 'not sealed', '-infinity')");
  const broken = await first.key();
  const keys = "update api_keys set allowed_ips = $1, scopes = $2, expires_at = 'infinity' where account_id = $3";
  await first.rows(keys, [["no block", null, HAN], ["messages:send", null, HAN], await accountOf(first)]);
  const other = await first.key();
  await first.stop();

  const env = { ...WITH_WEBHOOKS.env, GODWIT_SECRET_KEY: Buffer.alloc(32, 9).toString("base64"), GODWIT_PREVIOUS_SECRET_KEY: SECRET_KEY };
  await using second = await startGodwit({ ...WITH_WEBHOOKS, env, databaseUrl: first.databaseUrl });
  assert.equal((await second.request("GET", "/v1/messages", { key: broken })).status, 403);
  assert.equal((await second.request("GET", "/v1/keys", { key: other, isDeclared: false })).status, 200);
  const there = customer.at(second);
  await there.send();
  await good.at(second).received(1);
  const listed = await second.request("GET", "/v1/webhook_endpoints", { key: customer.key, isDeclared: false });
  assert.equal((listed.json["data"] as Json[]).length, ids.length + 1);
  const failed = (endpoint: unknown): Promise<DeliveryRecord> =>
    until(`a failed attempt of ${String(endpoint).slice(0, 60)}`, async () => {
      const reply = await second.request("GET", `/v1/webhook_endpoints/${String(endpoint)}/deliveries`, {
        key: customer.key,
        isDeclared: false,
      });
      return ((reply.json["data"] ?? []) as DeliveryRecord[]).find(({ attempts }) => attempts.length > 0);
    });
  for (const { id, url } of listed.json["data"] as Json[])
    if (id !== good.id) assert.equal((await failed(id)).attempts[0]?.error, "connection_failed", String(url).slice(0, 60));
});

test("positions, signing keys and counts out of range do not prevent a start, and other rows are used", async () => {
  await using first = await startGodwit();
  await first.unlimited();
  const client = await newOAuthClient(first);
  const token = await createToken(first, client);
  const account = await accountOf(first);
  await first.rows(
    `insert into events (account_id, environment, id, type, position)
     select $1, 'test', gen_random_uuid(), 'a', position
       from unnest(array[9223372036854775807, -9223372036854775808, 4000000]) as position`,
    [account],
  );
  await first.rows("update signing_keys set private_key = 'not sealed'");
  await first.rows(
    `insert into signing_keys (kid, public_key, private_key, active_from)
     select 'later', '5', private_key, 'infinity' from signing_keys`,
  );
  await first.stop();

  await using second = await startGodwit({ databaseUrl: first.databaseUrl });
  const [sequence] = await second.rows<{ position: string }>("select last_value as position from event_positions");
  assert.ok(Number(sequence?.position) >= 4_000_000 && Number(sequence?.position) < 5_000_000, sequence?.position);
  const works = async (key: string): Promise<boolean> => (await second.request("GET", "/v1/messages", { key })).status === 200;
  const next = await createToken(second, client);
  assert.deepEqual([await works(token), await works(next)], [true, true]);
  assert.equal(second.logs.filter(({ event }) => event === "access.signing_key_unreadable").length, 1);
  const { json: keySet } = await second.request("GET", "/.well-known/jwks.json");
  assert.ok((keySet["keys"] as Json[]).every(({ kty }) => kty === "OKP"));

  // A count that is added to such a row exceeds the range of its column or index.
  await second.rows(
    `insert into usage_hours (account_id, environment, hour, channel, status, error_code, delivery_bucket, messages, segments)
     values ($1, 'test', '2026-01-01', 'sms', 'sent', '', -1, 9223372036854775807, -9223372036854775808)`,
    [account],
  );
  const noise = Array.from({ length: 10_000 }, (_, index) => (index ** 3).toString(36)).join("");
  await second.rows(
    `insert into usage_changes (account_id, environment, minute, channel, status, error_code, delivery_bucket, messages, segments)
     select $1, 'test', minute::timestamptz, channel, 'sent', '', -1, 2147483647, -2147483648
       from unnest(array['infinity', '-infinity', '294276-01-01', '4713-01-01 BC', '2026-01-01', '2026-01-01'],
                   array['sms', 'sms', 'sms', 'sms', 'sms', $2]) as change (minute, channel)`,
    [account, noise],
  );
  await until("all changes to be folded", async () => {
    assert.ok(!second.logs.some(({ event }) => event === "usage.fold_failed"));
    const [left] = await second.rows<{ count: string }>("select count(*) as count from usage_changes");
    return Number(left?.count) === 0 || undefined;
  });
});

test("templates that cannot be read are listed as paused, and the others are submitted for review", async () => {
  const rig = await ReviewRig.start();
  const account = await accountOf(rig.godwit);
  for (const [index, { name = `broken_${index}`, body = "a {{name}}", channels = ["whatsapp"], ...rest }] of TEMPLATES.entries()) {
    const id = newId("tmpl", Date.now());
    const { buttons = [], examples = {} } = rest;
    await rig.godwit.rows(
      `insert into templates (account_id, environment, id, name, language, category, channels, status, version, updated_at)
       values ($1, 'live', $2, $3, 'en', 'utility', $4::text[], 'pending', 1, now())`,
      [account, id, name, channels],
    );
    await rig.godwit.rows(
      `insert into template_versions (account_id, environment, template_id, version, body, buttons, examples)
       values ($1, 'live', $2, 1, $3, $4::json, $5::json)`,
      [account, id, body, JSON.stringify(buttons), JSON.stringify(examples)],
    );
  }
  const created = await rig.create();
  await rig.submitted(created);
  await rig.syncAgain();
  const reply = await rig.godwit.request("GET", "/v1/templates?limit=100", { key: rig.key, isDeclared: false });
  assert.equal(reply.status, 200, reply.text);
  const broken = (reply.json["data"] as Json[]).filter(({ name }) => /^(broken_|a{64})/.test(String(name)));
  assert.equal(broken.length, TEMPLATES.length);
  for (const { status, status_reason: reason } of broken)
    assert.match(`${String(status)} ${String(reason)}`, /^paused the stored template cannot be read: /);
  await rig[Symbol.asyncDispose]();
});

test("consent settings and receipts that cannot be read leave the built-in words and the other receipts in force", async () => {
  await using rig = await Rig.open();
  const carrier = new ScriptedCarrier();
  const recipient = recipientNo(1);
  carrier.responds(recipient, accepted("7"));
  await rig.deliver({ [LINK]: carrier });
  const message = await rig.untilStatus(await rig.accept({ recipient }), "sent");
  const park = (id: string, value: unknown, status = "delivered") =>
    rig.rows(
      `insert into parked_receipts (link, provider_message_id, status, receipt, received_at, retry_at)
       values ($1, $2, $3, $4, now() - interval '1 minute', '-infinity')`,
      [LINK, id, status, JSON.stringify(value)],
    );
  for (const [index, value] of RECEIPTS.entries()) await park(`broken ${index}`, value);
  await park("7", null, "sent");
  await park("7", receipt("7", "delivered"));
  await rig.untilStatus(message, "delivered");
  await until("no receipt to be tried again before it is deleted", async () => {
    const rows = await rig.rows("select from parked_receipts where retry_at < now() + interval '3 days'");
    return rows.length === 0;
  });
  assert.equal((await rig.rows("select from parked_receipts")).length, RECEIPTS.length + 1, "they are kept for the operator");

  for (const [index, settings] of SETTINGS.entries()) {
    await rig.rows(
      `insert into consent_settings (account_id, environment, settings, updated_at)
       values ($1, 'test', $2::json, 'infinity')
       on conflict (account_id, environment) do update set settings = excluded.settings`,
      [rig.accountId, JSON.stringify(settings)],
    );
    await carrier.host.receiveMessages([
      { providerMessageId: `in-${index}`, channel: "sms", from: recipientNo(index + 2), to: "+15005550000", text: "STOP", inReplyTo: "7" },
    ]);
  }
  const [row] = await rig.rows<{ count: string }>("select count(distinct recipient) as count from suppressions where is_active");
  assert.equal(Number(row?.count), SETTINGS.length);
});

test("links of accounts that their provider cannot open are skipped, and shown with their fault", async () => {
  await using rig = await Rig.open();
  const fails = async (): Promise<never> => {
    throw new Error("the certificate has no key");
  };
  const [carrier, plain, leased] = [new ScriptedCarrier(), new ScriptedCarrier(), new ExclusiveCarrier(new Exchange(), "n")];
  plain.open = fails;
  leased.beforeOpen = fails;
  const created = ["plain", "leased"].map((name) => ({ ...linkTo(name), source: "api" as const }));
  await rig.deliver({ [LINK]: carrier, plain, leased }, { links: [linkTo(LINK), ...created] });
  const faults = (): Promise<{ link: string; state: string; reason: string }[]> =>
    rig.rows("select link, state, reason from link_states where state = 'paused' order by link desc");
  const found = await until("the faults of both links", async () => {
    const rows = await faults();
    return rows.length === 2 ? rows : undefined;
  });
  const reason = "the link cannot be opened: Error: the certificate has no key";
  assert.deepEqual(
    found.map(({ link, reason: text }) => [link, text]),
    [
      ["plain", reason],
      ["leased", reason],
    ],
  );
  await rig.untilStatus(await rig.accept(), "sent");
});
