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
      recipient: null,
      waiting_to_recipient: null,
      statuses: ["delivered", "sent"],
      received_at: new Date(nowMs).toISOString(),
    },
    {
      link: "acme",
      provider_message_id: "c-2",
      message_id: null,
      waits_here: false,
      recipient: null,
      waiting_to_recipient: null,
      statuses: ["delivered"],
      received_at: new Date(nowMs + 1).toISOString(),
    },
    {
      link: "acme",
      provider_message_id: "c-3",
      message_id: waiting,
      waits_here: true,
      recipient: null,
      waiting_to_recipient: null,
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

test("the report names the phone of a receipt, and counts the messages from before the hold that wait for it", async () => {
  await using godwit = await startGodwit({ roles: "api" });
  const env = { DATABASE_URL: godwit.databaseUrl ?? "" };
  const key = await godwit.key();
  const [waiting, other, ours] = ["+14155550171", "+14155550172", "+14155550199"];
  const send = (recipient: string): Promise<unknown> => godwit.send(key, { recipient });
  await send(waiting);
  await send(waiting);
  assert.equal((await runGodwit(["hold"], env)).code, 0);
  await send(waiting);
  await send(other);
  const receivedAtMs = Date.now() + 1_000;
  const park = (id: string, at: number, addresses: readonly string[]) => ({
    link: "acme",
    providerMessageId: id,
    status: "delivered",
    receipt: JSON.stringify({ providerMessageId: id, reference: null, status: "delivered", error: null, raw: {}, addresses }),
    receivedAtMs: receivedAtMs + at,
    retryAtMs: null,
  });
  assert.ok(godwit.db !== undefined);
  await parkReceipts(godwit.db, [
    park("c-1", 0, [waiting.slice(1), ours.slice(1)]),
    park("c-2", 1, [other, ours]),
    park("c-3", 2, [ours, waiting]),
    park("c-4", 3, ["12345", "ACME"]),
  ]);
  const { stdout, stderr } = await runGodwit(["resume", "--report", "--json"], env);
  const rows = JSON.parse(stdout) as { recipient: string | null; waiting_to_recipient: number | null }[];
  assert.deepEqual(
    rows.map(({ recipient, waiting_to_recipient: count }) => [recipient, count]),
    [
      ["+141…71", 2],
      ["+141…72", 0],
      ["+141…71", 2],
      [null, null],
    ],
    stderr,
  );
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
