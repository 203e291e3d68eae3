import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { encodeId, toId } from "../model/id.ts";
import { firstUuidAt } from "../lib/uuid.ts";
import type { Queryable } from "../database/database.ts";
import { Templates } from "./find-template.ts";
import type { Template } from "./template.ts";

const OWNER = { accountId: toId("acct", firstUuidAt(1_900_000_000_000)), environment: "test" } as const;
const ID = toId("tmpl", firstUuidAt(1_900_000_000_000));

/** The table's only row, as the database would send it. */
const row = (name: string): unknown => ({
  account_id: OWNER.accountId,
  environment: OWNER.environment,
  id: ID,
  name,
  language: "en",
  category: "utility",
  channels: ["sms"],
  status: "approved",
  status_reason: null,
  updated_at: new Date(1_900_000_000_000),
  version: 1,
  body: "Hello",
  header: null,
  footer: null,
  buttons: null,
  examples: {},
});

type Question = { values: readonly unknown[]; answer: (name?: string) => void; fail: (error: Error) => void };

/** A database that responds when the test calls `answer`. */
class Slow implements Queryable {
  readonly questions: Question[] = [];

  rows<T>({ values }: { values: readonly unknown[] }): Promise<T[]> {
    return new Promise((resolve, reject) => {
      const answer = (name?: string): void => resolve((name === undefined ? [] : [row(name)]) as T[]);
      this.questions.push({ values, answer, fail: reject });
    });
  }

  answer(index: number, name?: string): void {
    this.questions[index]?.answer(name);
  }
}

/** A clock that stands until it is moved. */
function stand(context: TestContext): { nowMs: number } {
  const clock = { nowMs: 5_000 };
  context.mock.method(performance, "now", () => clock.nowMs);
  return clock;
}

const nameOf = (template: Template | undefined): string | undefined => template?.name;

test("a template is cached for a second from the start of its query", async (context) => {
  const clock = stand(context);
  const db = new Slow();
  const templates = new Templates(db);
  const asked = templates.find(OWNER, "order");
  clock.nowMs += 400;
  db.answer(0, "order");
  assert.equal(nameOf(await asked), "order");
  clock.nowMs += 599;
  assert.equal(nameOf(await templates.find(OWNER, "order")), "order");
  assert.equal(db.questions.length, 1);
  clock.nowMs += 1;
  const again = templates.find(OWNER, "order");
  db.answer(1, "changed");
  assert.equal(nameOf(await again), "changed");
  assert.equal(db.questions.length, 2);
});

test("simultaneous requests share one query, and an unknown name is cached", async (context) => {
  stand(context);
  const db = new Slow();
  const templates = new Templates(db);
  const asked = [1, 2, 3].map(() => templates.find(OWNER, "nothing"));
  assert.equal(db.questions.length, 1);
  db.answer(0);
  assert.deepEqual(await Promise.all(asked), [undefined, undefined, undefined]);
  assert.equal(await templates.find(OWNER, "nothing"), undefined);
  assert.equal(db.questions.length, 1);
});

test("an id is queried by id, a name by name, and any other text is not queried", async (context) => {
  stand(context);
  const db = new Slow();
  const templates = new Templates(db);
  void templates.find(OWNER, encodeId("tmpl", ID));
  void templates.find(OWNER, "order");
  assert.deepEqual(
    db.questions.map(({ values }) => values),
    [
      [OWNER.accountId, "test", ID],
      [OWNER.accountId, "test", "order"],
    ],
  );
  for (const text of ["", "Order", "tmpl_x", "a-b", "x".repeat(65), "order\n"]) assert.equal(await templates.find(OWNER, text), undefined);
  assert.equal(db.questions.length, 2);
});

test("environments have separate caches, and only one is dropped", async (context) => {
  stand(context);
  const db = new Slow();
  const templates = new Templates(db);
  const other = { ...OWNER, environment: "live" } as const;
  const asked = [templates.find(OWNER, "order"), templates.find(other, "order"), templates.find(OWNER, "second")];
  for (const [index, name] of ["order", "live", "second"].entries()) db.answer(index, name);
  await Promise.all(asked);
  templates.forget(OWNER);
  assert.equal(nameOf(await templates.find(other, "order")), "live");
  void templates.find(OWNER, "order");
  void templates.find(OWNER, "second");
  assert.equal(db.questions.length, 5);
});

test("a query from before the cache was dropped is neither cached nor shared", async (context) => {
  stand(context);
  const db = new Slow();
  const templates = new Templates(db);
  const before = templates.find(OWNER, "order");
  templates.forget(OWNER);
  const after = templates.find(OWNER, "order");
  assert.equal(db.questions.length, 2);
  db.answer(1, "new");
  assert.equal(nameOf(await after), "new");
  db.answer(0, "old");
  assert.equal(nameOf(await before), "old");
  assert.equal(nameOf(await templates.find(OWNER, "order")), "new");
  assert.equal(db.questions.length, 2);
});

test("the result of a query that ends after the cache was dropped is not cached", async (context) => {
  stand(context);
  const db = new Slow();
  const templates = new Templates(db);
  const before = templates.find(OWNER, "order");
  templates.forget(OWNER);
  db.answer(0, "old");
  await before;
  void templates.find(OWNER, "order");
  assert.equal(db.questions.length, 2);
});

test("a failed query rejects for all that share it, and the next request queries again", async (context) => {
  stand(context);
  const db = new Slow();
  const templates = new Templates(db);
  const asked = [templates.find(OWNER, "order"), templates.find(OWNER, "order")];
  db.questions[0]?.fail(new Error("the database is away"));
  for (const each of asked) await assert.rejects(each, /away/);
  const again = templates.find(OWNER, "order");
  db.answer(1, "order");
  assert.equal(nameOf(await again), "order");
});

test("the cache holds ten thousand templates at most", async (context) => {
  stand(context);
  const db = new Slow();
  const templates = new Templates(db);
  const ask = async (index: number): Promise<void> => {
    const asked = templates.find(OWNER, `n${index}`);
    db.questions.at(-1)?.answer();
    await asked;
  };
  for (let index = 0; index < 10_000; index += 1) await ask(index);
  await templates.find(OWNER, "n0");
  assert.equal(db.questions.length, 10_000);
  await ask(10_000);
  await templates.find(OWNER, "n10000");
  assert.equal(db.questions.length, 10_001);
  void templates.find(OWNER, "n0");
  assert.equal(db.questions.length, 10_002);
});
