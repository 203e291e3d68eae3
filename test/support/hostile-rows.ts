/** Stored rows that this version cannot read, or that are as expensive as a row can be. */
import type { Database } from "../../src/database/database.ts";
import { sql } from "../../src/database/sql.ts";
import { uuidToText } from "../../src/lib/uuid.ts";
import { newId } from "../../src/model/id.ts";

const SLASHES = `https://a${"/".repeat(60_000)}a`;
const HAN = "漢字".repeat(2_500);

const twilio = (settings: object): object => ({
  provider: "twilio",
  settings: { account_sid: "AC1", public_url: "https://a.example", ...settings },
});
const smpp = (settings: object): object => ({
  provider: "smpp",
  settings: { host: "a.example", port: 2775, system_id: "a", tls: true, ...settings },
});

/** The definitions of links, each of which has a fault. */
export const HOSTILE_LINKS: readonly unknown[] = [
  twilio({ base_url: SLASHES }),
  twilio({ public_url: SLASHES }),
  twilio({ base_url: `https://${HAN}/` }),
  { ...twilio({}), settings: { account_sid: { toString: 1 }, public_url: ["https://a"], base_url: 5 } },
  smpp({ host: HAN }),
  smpp({ hosts: Array.from({ length: 2_000 }, () => "a.example:2775") }),
  smpp({ host: `a${"@".repeat(10_000)}` }),
  smpp({ bind_mode: { a: [] }, password_env: { toString: 1 } }),
  { provider: "http", carrier: "telnyx", settings: { public_url: SLASHES, values: { a: HAN } } },
  { provider: "http", carrier: "../../etc/passwd", settings: {} },
  { provider: "http", carrier: "telnyx", settings: { values: [[]], secrets: null } },
  { provider: "carrier-pigeon", settings: {} },
  { provider: "__proto__", settings: {} },
  { provider: "smpp" },
  { provider: "smpp", settings: null, sender: { a: 1 }, rate: "many", window: [] },
  { provider: ["smpp"], settings: [] },
  null,
  5,
  "smpp",
  [],
  Array.from({ length: 10_000 }, () => null),
];
/** The definitions of senders and routes. */
export const HOSTILE_RULES: readonly unknown[] = [
  null,
  5,
  [],
  { countries: 5, pool: {}, preference: "a", rate: [] },
  { links: "a", channel: 5, prefixes: {} },
];

/** Inserts each of the rows once. They do not raise the version, as a change would. */
export async function insertHostileRows(database: Database, accountId: unknown): Promise<void> {
  const ids = HOSTILE_LINKS.map(() => uuidToText(newId("lnk", Date.now())));
  await database.rows(sql`
  insert into created_links (account_id, id, name, definition, secrets, updated_at)
  select ${accountId}, ids.id, 'a', definition::json, 'not sealed', now()
    from unnest(${ids}::uuid[], ${HOSTILE_LINKS.map((definition) => JSON.stringify(definition))}::text[]) as ids (id, definition)`);
  for (const rule of HOSTILE_RULES) {
    await database.rows(sql`
    insert into created_senders (account_id, id, link_id, number, definition, updated_at)
    values (${accountId}, ${newId("snd", Date.now())}, ${ids[0]}::uuid, '+14155550100', ${JSON.stringify(rule)}::json, now())`);
    await database.rows(sql`
    insert into created_routes (account_id, id, definition, updated_at)
    values (${accountId}, ${newId("rte", Date.now())}, ${JSON.stringify(rule)}::json, now())`);
  }
}
