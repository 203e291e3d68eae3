/** godwit resume --report: receipts of messages that were not submitted from a restored database. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { parkReceipts } from "../../src/delivery/receipt-queries.ts";
import { runGodwit, startGodwit } from "../support/harness.ts";

const LOST = "msg_01k9zs3v8mf4tb2xg1qj6n0d5c";
const UNREADABLE = "for\u001bthe terminal";

test("the report lists each message once that receipts since the hold name, and decides nothing", async () => {
  await using godwit = await startGodwit();
  const env = { DATABASE_URL: godwit.databaseUrl ?? "" };
  const { db } = godwit;
  assert.ok(db !== undefined);
  const park = (
    providerMessageId: string | null,
    reference: string | null,
    receivedAtMs: number,
    ...statuses: string[]
  ): Promise<unknown> =>
    parkReceipts(
      db,
      [providerMessageId, reference].flatMap((id) =>
        id === null
          ? []
          : statuses.map((status) => ({
              link: "acme",
              providerMessageId: id,
              status,
              receipt: JSON.stringify({ providerMessageId, reference, status, error: null, raw: {} }),
              receivedAtMs,
              retryAtMs: null,
            })),
      ),
    );
  const waiting = String((await godwit.send(await godwit.key())).json["id"]);
  await park("before", null, Date.now() - 60_000, "delivered");
  assert.equal((await runGodwit(["hold"], env)).code, 0);
  const nowMs = Date.now() + 1_000;
  await park("c-1", LOST, nowMs, "sent", "delivered");
  await park("c-2", UNREADABLE, nowMs + 1, "delivered");
  await park("c-3", waiting, nowMs + 2, "delivered");

  const { code, stdout, stderr } = await runGodwit(["resume", "--report", "--json"], env);
  assert.equal(code, 0, stderr);
  assert.deepEqual(JSON.parse(stdout), [
    {
      link: "acme",
      provider_message_id: "c-1",
      message_id: LOST,
      waits_here: false,
      statuses: ["delivered", "sent"],
      received_at: new Date(nowMs).toISOString(),
    },
    {
      link: "acme",
      provider_message_id: "c-2",
      message_id: null,
      waits_here: false,
      statuses: ["delivered"],
      received_at: new Date(nowMs + 1).toISOString(),
    },
    {
      link: "acme",
      provider_message_id: "c-3",
      message_id: waiting,
      waits_here: true,
      statuses: ["delivered"],
      received_at: new Date(nowMs + 2).toISOString(),
    },
  ]);
  const asked = await runGodwit(["resume"], env);
  assert.equal(asked.code, 2, "nothing is decided yet");
  assert.match(asked.stderr, /with --send: .*twice\n.*with --end: /);
  assert.match(asked.stderr, /^3 receipts came since for messages that were not submitted from this database; --report lists them$/m);
  assert.equal((await runGodwit(["resume", "--report", "--send"], env)).code, 2);
});

for (const flag of ["--send", "--end"])
  test(`a hold for which nothing waits goes on without a flag, and ends with ${flag}`, async () => {
    await using godwit = await startGodwit();
    const env = { DATABASE_URL: godwit.databaseUrl ?? "" };
    assert.equal((await runGodwit(["hold"], env)).code, 0);
    for (const time of ["first", "second"]) {
      const { code, stdout, stderr } = await runGodwit(["resume", "--json"], env);
      assert.deepEqual([code, JSON.parse(stdout)], [2, { on_hold: true }], time);
      assert.match(stderr, /nothing from before waits: --send or --end ends the hold/);
    }
    const { code, stdout } = await runGodwit(["resume", flag, "--json"], env);
    assert.deepEqual([code, JSON.parse(stdout)], [0, { on_hold: false, sent: 0, ended: 0 }]);
    assert.match((await runGodwit(["resume"], env)).stderr, /there is no hold/);
  });
