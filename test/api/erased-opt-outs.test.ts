/** Opt-outs of recipients whose data was erased: kept as keyed hashes, and still in effect. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { openRecipientHasher, resealRecipientKey, type HashRecipient } from "../../src/access/recipient-hash.ts";
import { optIn, eraseConsent } from "../../src/consent/change-consent.ts";
import { decodeId, type AccountId } from "../../src/model/id.ts";
import { SecretBox } from "../../src/lib/secret-box.ts";
import { Database } from "../../src/database/database.ts";
import type { Owner } from "../../src/model/owner.ts";
import { recordOf } from "../support/client.ts";
import { assertProblem } from "../support/expect.ts";
import { SECRET_KEY, startGodwit, type Godwit } from "../support/harness.ts";
import { recipientOf } from "../support/recipient.ts";

const box = new SecretBox(Buffer.from(SECRET_KEY, "base64"));

let godwit: Godwit;
let db: Database;
let hashRecipient: HashRecipient;
let key: string;
let owner: Owner;

before(async () => {
  godwit = await startGodwit();
  await godwit.unlimited();
  db = new Database({ url: godwit.databaseUrl ?? "" }, "test", () => undefined);
  hashRecipient = await openRecipientHasher(db, box);
  key = await godwit.key();
  const { account_id: id } = recordOf(await godwit.request("GET", "/v1/credential", { key }));
  owner = { accountId: decodeId("acct", String(id)) as AccountId, environment: "test" };
});

after(async () => {
  await db.close();
  await godwit.stop();
});

const rows = <T>(text: string, values: readonly unknown[] = []): Promise<T[]> =>
  db.rows<T>({ name: `erased_${Math.random()}`, text, values });

const optOut = async (recipient: string): Promise<unknown> =>
  recordOf(await godwit.request("POST", "/v1/suppressions", { key, body: { recipient, note: "asked by phone" } }), 201);

const erase = (recipient: string): Promise<number> => db.transaction((tx) => eraseConsent(tx, owner, recipientOf(recipient), Date.now()));

test("PostgreSQL computes the same hash, which differs between accounts", async () => {
  const [row] = await rows<{ hash: Buffer }>("select hash_recipient($1, $2) as hash", [owner.accountId, "+14155550111"]);
  assert.equal(row?.hash.toString("hex"), hashRecipient(owner.accountId, "+14155550111"));
  assert.notEqual(hashRecipient(Buffer.alloc(16, 1) as unknown as AccountId, "+14155550111"), row?.hash.toString("hex"));
});

test("an erased recipient stays opted out, and its number is gone", async () => {
  const recipient = "+14155550112";
  await optOut(recipient);
  assert.equal(await erase(recipient), 1);
  assertProblem(await godwit.send(key, { recipient }), "recipient_opted_out");
  assert.equal((await godwit.send(key, { recipient: "+14155550113" })).status, 202);
  const left = await Promise.all(["suppressions", "suppression_changes", "erased_opt_outs"].map((table) => rows(`select * from ${table}`)));
  assert.ok(!JSON.stringify(left).includes("4155550112"));
  assert.equal(await erase(recipient), 0);
});

test("a message that was accepted before may not be sent", async () => {
  const recipient = "+14155550114";
  await optOut(recipient);
  await erase(recipient);
  const values = [[owner.accountId], ["test"], [recipient], [""]];
  const found = await rows<{ position: number }>(
    "select find_suppressed(array(select encode(a, 'hex')::uuid from unnest($1::bytea[]) a), $2, $3, $4) as position",
    values,
  );
  assert.deepEqual(found, [{ position: 1 }]);
});

test("a recipient that writes START gets messages again", async () => {
  const [recipient, sender] = ["+14155550115", "+14155550199"];
  recordOf(await godwit.request("POST", "/v1/suppressions", { key, body: { recipient, sender } }), 201);
  await erase(recipient);
  const cause = { source: "keyword", keyword: "START" } as const;
  const lifted = await db.transaction((tx) => optIn(tx, Date.now(), { ...owner, recipient: recipientOf(recipient), sender }, cause));
  assert.equal(lifted?.isActive, false);
  assert.equal((await godwit.send(key, { recipient, sender })).status, 202);
});

test("a lifted suppression leaves no opt-out", async () => {
  const recipient = "+14155550116";
  const { id } = (await optOut(recipient)) as { id: string };
  recordOf(await godwit.request("DELETE", `/v1/suppressions/${id}`, { key }));
  assert.equal(await erase(recipient), 1);
  assert.equal((await godwit.send(key, { recipient })).status, 202);
});

test("a session without the key cannot decide about a message", async () => {
  const stranger = new Database({ url: godwit.databaseUrl ?? "" }, "stranger", () => undefined);
  const ask = { name: "ask_without_key", text: "select is_erased_opt_out($1, 'test', '+14155550117', '')", values: [owner.accountId] };
  await assert.rejects(stranger.rows(ask), /no recipient key/);
  await stranger.close();
});

test("the key outlives a change of the secret key", async () => {
  const changed = new SecretBox(Buffer.alloc(32, 9), Buffer.from(SECRET_KEY, "base64"));
  await db.transaction((tx) => resealRecipientKey(tx, changed));
  const again = await openRecipientHasher(db, new SecretBox(Buffer.alloc(32, 9)));
  assert.equal(again(owner.accountId, "+14155550118"), hashRecipient(owner.accountId, "+14155550118"));
});
