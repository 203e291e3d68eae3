import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Database } from "../../src/database/database.ts";
import { migrate } from "../../src/database/migrate.ts";
import { createEmptyDatabase } from "../support/database.ts";

let db: Database;

before(async () => {
  db = new Database({ url: await createEmptyDatabase() }, "schema", () => undefined);
  await migrate(db);
});
after(() => db.close());

// Without statistics of a table, every index that has the key's first column looks as good as the key, and one that
// lacks the rest of it reads a whole environment for each row.
test("no index starts with the columns of its table's key, unless only its own statements can use it", async () => {
  const rows = await db.rows<{ index: string }>({
    name: "indexes",
    text: `select other.indexrelid::regclass::text as index
             from pg_index key
             join pg_index other on other.indrelid = key.indrelid and not other.indisprimary
             join pg_class on pg_class.oid = key.indrelid and pg_class.relnamespace = 'public'::regnamespace
            where key.indisprimary and other.indpred is null and other.indkey[0] = key.indkey[0]`,
    values: [],
  });
  assert.deepEqual(rows, []);
});
