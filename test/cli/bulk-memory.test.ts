/** The memory that a client takes for a large file: the work of a preview and of a send, without the network. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { keyOfGroup, toBatchRequest } from "../../src/bulk/groups.ts";
import { BulkPreview } from "../../src/bulk/preview.ts";
import { readRowGroups, readHeadings, readBulkRows } from "../../src/bulk/read-rows.ts";
import { RESULT_HEAD, resultLines } from "../../src/bulk/results.ts";
import type { BulkSettings } from "../../src/bulk/rows.ts";

test("a million rows take less than 50 MB", { timeout: 600_000 }, async (context) => {
  const ROWS = 1_000_000;
  async function* file(): AsyncGenerator<Uint8Array> {
    yield Buffer.from("recipient,name,order\n");
    for (let from = 0; from < ROWS; from += 2_000) {
      const lines = Array.from({ length: 2_000 }, (_, at) => `+${4_915_100_000_000 + (from + at) * 7},Name ${from + at},"A ""${at}"""\n`);
      yield Buffer.from(lines.join(""));
    }
  }
  const of: BulkSettings = {
    defaults: { channel: "sms", template_id: "t" },
    variables: {},
    metadata: {},
    targets: ["recipient", "var.name", "var.order"],
    templateBody: "Hello {{name}}, your order {{order}} is on its way.",
    allowsDuplicates: false,
    sendId: "",
  };
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  const heldBytes = (): number => {
    collect();
    const { heapUsed, external } = process.memoryUsage();
    return heapUsed + external;
  };
  const before = heldBytes();
  let most = 0;
  const look = (): void => void (most = Math.max(most, heldBytes() - before));

  assert.deepEqual(await readHeadings(file()), ["recipient", "name", "order"]);
  const preview = new BulkPreview();
  for await (const rows of readBulkRows(file(), of)) {
    for (const row of rows) preview.add(row);
    if (preview.rows % 50_000 === 0) look();
  }
  assert.deepEqual([preview.rows, preview.valid, preview.segments], [ROWS, ROWS, ROWS]);
  let [accepted, written] = [0, RESULT_HEAD.length];
  for await (const group of readRowGroups(file(), of, 1_000)) {
    await keyOfGroup(group, toBatchRequest(group, of), of.sendId);
    const results = group.valid.map(({ row }) => ({ message_id: `msg_${row}`, error: null }));
    const { text, counts } = resultLines(group, { id: "batch_1", results });
    accepted += counts.accepted;
    written += text.length;
    if (accepted % 50_000 === 0) look();
  }
  assert.equal(accepted, ROWS);
  assert.ok(written > ROWS);
  context.diagnostic(`${(most / 1_048_576).toFixed(1)} MB`);
  assert.ok(most < 50 * 1_048_576, `${(most / 1_048_576).toFixed(1)} MB`);
});
