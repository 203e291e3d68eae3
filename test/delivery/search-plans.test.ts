/** The operator's search reads an index, also in a new week, of which PostgreSQL has no statistics, and a bounded number of rows. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import {
  findByCarrierId,
  findByNumber,
  findByRequest,
  findInAllAccounts,
  findNewest,
  listFiltered,
} from "../../src/messages/search-queries.ts";
import { newId, toId, type MessageId } from "../../src/model/id.ts";
import type { Owner } from "../../src/model/owner.ts";
import { firstUuidAt, MAX_UUID, newUuid, uuidToText } from "../../src/lib/uuid.ts";
import { Database, type Queryable } from "../../src/database/database.ts";
import { planOf, rowsOf, statementOf } from "../support/counting.ts";
import { createDatabase } from "../support/database.ts";

const MESSAGES = 20_000;
const LIMIT = 5;
// An hour in which each message has its own second: the window of a request has 120 of them.
const STEP_MS = 1_000;
const PERSON = "+14155550123";
const page = { before: toId("msg", MAX_UUID), limit: LIMIT };
const nowMs = Date.now();
let db: Database;
let id: MessageId;

before(async () => {
  db = new Database({ url: await createDatabase() }, "search-plans", () => undefined);
  const ids = Array.from({ length: MESSAGES }, (_, index) => newUuid(nowMs + index * STEP_MS));
  id = toId("msg", ids[MESSAGES / 2] ?? assert.fail());
  await rowsOf(db, "insert into accounts (id, name) select gen_random_uuid(), 'account ' || number from generate_series(1, 4) as number");
  await rowsOf(
    db,
    `insert into environments (account_id, environment, tier)
     select id, environment, 'unlimited' from accounts cross join unnest(array['test', 'live']) as environment`,
  );
  [owner = assert.fail()] = await rowsOf<Owner>(db, 'select account_id as "accountId", environment from environments limit 1');
  // Every tenth message is from or to the person, in half of the environments.
  await rowsOf(
    db,
    `insert into messages (account_id, environment, id, direction, channel, recipient, sender, inbound_sender, status, sequence, priority, updated_at)
     select owner.account_id, owner.environment, message.id, case when is_inbound then 'inbound' else 'outbound' end, 'sms',
            case when is_person and not is_inbound then $2 else '+1415555' || message.number end, null,
            case when is_inbound then case when is_person then $2 else '+1415666' || message.number end end,
            'received', 1, 'normal', now()
       from unnest($1::uuid[]) with ordinality as message(id, number)
      cross join lateral (select number % 10 = 0 as is_person, number % 3 = 0 as is_inbound) as kind
       join (select account_id, environment, row_number() over () as number from environments) owner on owner.number = message.number % 8 + 1`,
    [ids.map(uuidToText), PERSON],
  );
  await rowsOf(
    db,
    `insert into provider_references (link, provider_message_id, account_id, environment, message_id, expires_at)
     select 'link ' || right(id::text, 1), 'carrier ' || row_number() over (order by id), account_id, environment, id, now()
       from messages`,
  );
});
after(() => db.close());

// Of the last messages, an eighth is in each environment.
const LAST_MESSAGES = 100;
const LAST_MINUTES = firstUuidAt(nowMs + (MESSAGES - 8 * LAST_MESSAGES) * STEP_MS);
const FILTER = { status: "failed", errorCode: null, link: null, from: LAST_MINUTES } as const;
let owner: Owner;

/** Each with the largest number of rows that a step of the plan may read. An environment has a row for each of its probes. */
const QUERIES: readonly (readonly [what: string, most: number, query: (fake: Queryable) => Promise<unknown>])[] = [
  ["a message by its id", 10, (fake) => findInAllAccounts(fake, id, page)],
  ["the messages of a number", 8 * LIMIT, (fake) => findByNumber(fake, PERSON, page)],
  ["the messages of a request", 130, (fake) => findByRequest(fake, toId("req", id), page)],
  ["the newest message of each environment", 8, (fake) => findNewest(fake, LAST_MINUTES, toId("msg", MAX_UUID))],
  ["the messages of a list by a status", LAST_MESSAGES, (fake) => listFiltered(fake, owner, FILTER, { before: MAX_UUID, limit: LIMIT })],
  ["a message by the id of the carrier", 20, (fake) => findByCarrierId(fake, `carrier ${MESSAGES / 2}`, page)],
];

for (const [what, most, query] of QUERIES)
  test(`${what} is found without the other messages`, async () => {
    const plan = await planOf(db, await statementOf(query));
    const read = Array.from(plan.matchAll(/actual rows=([\d.]+)|Removed by Filter: (\d+)/g), ([, rows, removed]) =>
      Number(rows ?? removed),
    );
    assert.ok(read.length > 0 && Math.max(...read) <= most, plan);
    assert.doesNotMatch(plan, /Seq Scan on (messages|provider_references)/, plan);
  });

test("the search by a number returns the newest of all environments, and no other messages", async () => {
  const found = await findByNumber(db, PERSON, { ...page, limit: 25 });
  const expected = await rowsOf<{ id: MessageId }>(
    db,
    "select id from messages where recipient = $1 or inbound_sender = $1 order by id desc limit 25",
    [PERSON],
  );
  assert.deepEqual(
    found.map(({ id: each }) => each),
    expected.map(({ id: each }) => each),
  );
});

test("a request finds only the messages with the second half of its id", async () => {
  const requestId = newId("req", nowMs + STEP_MS);
  assert.deepEqual(await findByRequest(db, requestId, page), []);
  assert.deepEqual(
    (await findByRequest(db, toId("req", id), page)).map(({ id: each }) => each),
    [id],
  );
});
