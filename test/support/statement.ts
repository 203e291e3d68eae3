/** Unchanged parts of the large statements, which a test can run separately. */
import assert from "node:assert/strict";

/** The text between the parentheses of a common table expression. */
export function cteOf(statement: string, name: string): string {
  const head = ` ${name} as (`;
  const start = statement.indexOf(head) + head.length;
  assert.ok(start >= head.length, `the statement has ${name}`);
  let depth = 1;
  let end = start;
  for (; depth > 0; end += 1) depth += { "(": 1, ")": -1 }[statement[end] ?? assert.fail("the parentheses match")] ?? 0;
  return statement.slice(start, end - 1);
}
