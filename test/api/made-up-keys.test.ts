/** Made-up API keys: they cost no query, and keys of the first form keep working. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { hashApiKey, keyRecognizer } from "../../src/access/api-key.ts";
import { readInstallation } from "../../src/access/queries.ts";
import type { Queryable } from "../../src/database/database.ts";
import { startGodwit, type Godwit } from "../support/harness.ts";
import { keyOfFirstForm, madeUpKey } from "../support/keys.ts";

let godwit: Godwit;

before(async () => {
  godwit = await startGodwit();
});

after(() => godwit.stop());

/** Gives an existing key the secret of a key of the first form, as version 0.1 stored it. */
async function storeKeyOfFirstForm(): Promise<string> {
  const secret = keyOfFirstForm();
  await godwit.rows("update api_key_hashes set hash = $1, has_keyed_checksum = false where hash = $2", [
    hashApiKey(secret),
    hashApiKey(await godwit.key()),
  ]);
  return secret;
}

/** Counts the statements. */
function counted(db: Queryable): Queryable & { count: number } {
  const counting = {
    count: 0,
    rows: <T>(...args: Parameters<Queryable["rows"]>): Promise<T[]> => {
      counting.count += 1;
      return db.rows<T>(...args);
    },
  };
  return counting;
}

describe("a recognizer of keys", () => {
  test("refuses made-up keys of both forms without a query", async () => {
    const db = counted(godwit.db as Queryable);
    const recognizes = await keyRecognizer(db, await readInstallation(db));
    const atStart = db.count;
    for (const key of [madeUpKey(), keyOfFirstForm(), "gw_test_", "", "a.b.c"]) assert.equal(recognizes(key), false, key);
    assert.equal(recognizes(await godwit.key()), true);
    assert.equal(db.count, atStart);
  });

  test("recognizes keys of the first form that exist", async () => {
    const secret = await storeKeyOfFirstForm();
    const db = godwit.db as Queryable;
    assert.equal((await keyRecognizer(db, await readInstallation(db)))(secret), true);
  });
});

test("a key of the first form works after the upgrade", async () => {
  const secret = await storeKeyOfFirstForm();
  await using upgraded = await startGodwit({ databaseUrl: godwit.databaseUrl });
  assert.equal((await upgraded.request("GET", "/v1/credential", { key: secret })).status, 200);
});
