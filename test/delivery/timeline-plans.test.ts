/** The entries of a message are read by an index, also in a new week, of which PostgreSQL has no statistics. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { listEntries, listEvents } from "../../src/events/queries.ts";
import { newId, type MessageId } from "../../src/model/id.ts";
import { MAX_UUID, NIL_UUID, uuidToText } from "../../src/lib/uuid.ts";
import { Database, type Queryable } from "../../src/database/database.ts";
import { freshOwner, planOf, rowsOf, statementOf } from "../support/counting.ts";
import { createDatabase } from "../support/database.ts";

const MESSAGES = 2_000;
const owner = freshOwner();
let db: Database;
let id: MessageId;

before(async () => {
  db = new Database({ url: await createDatabase() }, "timeline-plans", () => undefined);
  const ids = Array.from({ length: MESSAGES }, () => newId("msg", Date.now()));
  id = ids[MESSAGES / 2] as MessageId;
  await rowsOf(
    db,
    `insert into events (account_id, environment, id, type, message_id, sequence, record)
     select $1, $2, case when number = 1 then message.id else (left(message.id::text, 24) || right(gen_random_uuid()::text, 12))::uuid end,
            'message.queued', message.id, number, '{}'
       from unnest($3::uuid[]) as message(id)
      cross join generate_series(1, 4) as number`,
    [owner.accountId, owner.environment, ids.map(uuidToText)],
  );
});
after(() => db.close());

const QUERIES: Readonly<Record<string, (fake: Queryable) => Promise<unknown>>> = {
  "a timeline is read": (fake) => listEntries(fake, { ...owner, id }, MAX_UUID, 100),
  "the events of a message are read": (fake) => listEvents(fake, owner, { from: NIL_UUID, before: MAX_UUID, type: "*", messageId: id }, 25),
};

for (const [what, query] of Object.entries(QUERIES))
  test(`${what} without the rest of the environment`, async () => {
    const plan = await planOf(db, await statementOf(query));
    const read = Array.from(plan.matchAll(/actual rows=([\d.]+)|Removed by Filter: (\d+)/g), ([, rows, removed]) =>
      Number(rows ?? removed),
    );
    assert.ok(read.length > 0 && Math.max(...read) <= 10, plan);
  });
