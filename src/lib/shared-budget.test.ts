import assert from "node:assert/strict";
import { test } from "node:test";
import { SharedBudget } from "./shared-budget.ts";

test("an owner can take no more than its share", () => {
  const budget = new SharedBudget({ total: 10, share: 4 });
  assert.equal(budget.take("a", 3), undefined);
  assert.equal(budget.take("a", 2), "share");
  assert.equal(budget.take("a", 1), undefined);
  assert.equal(budget.take("b", 4), undefined, "another owner has its own share");
});

test("all owners together can take no more than the total", () => {
  const budget = new SharedBudget({ total: 10, share: 4 });
  for (const owner of ["a", "b"]) assert.equal(budget.take(owner, 4), undefined);
  assert.equal(budget.take("c", 3), "total");
  assert.equal(budget.take("c", 2), undefined);
  assert.equal(budget.taken, 10);
});

test("an owner can take its least amount although the others have taken the total", () => {
  const budget = new SharedBudget({ total: 10, share: 8, least: 3 });
  assert.equal(budget.take("a", 8), undefined);
  assert.equal(budget.take("b", 4), "total");
  assert.equal(budget.take("b", 3), undefined);
  assert.equal(budget.take("b", 1), "total");
  assert.equal(budget.take("c", 3), undefined, "each owner has its own");
  budget.release("a", 8);
  assert.equal(budget.take("b", 4), undefined);
});

test("a refused amount takes nothing, and a released amount can be taken again", () => {
  const budget = new SharedBudget({ total: 5, share: 5 });
  assert.equal(budget.take("a", 5), undefined);
  assert.equal(budget.take("b", 1), "total");
  assert.equal(budget.owners, 1);
  budget.release("a", 5);
  assert.equal(budget.take("b", 5), undefined);
});

test("an owner that has released everything is forgotten", () => {
  const budget = new SharedBudget({ total: 10_000, share: 2 });
  for (let index = 0; index < 5_000; index += 1) {
    assert.equal(budget.take(`peer ${index}`, 2), undefined);
    budget.release(`peer ${index}`, 1);
    budget.release(`peer ${index}`, 1);
  }
  assert.deepEqual([budget.owners, budget.taken], [0, 0]);
});
