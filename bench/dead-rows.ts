/** Claims beside dead rows: 400,000 rows were put into each queue and deleted, while a backup holds a snapshot, so that no vacuum can remove
 *  them. Measures claims of a hundred rows, and the scan that finds rows which no node announced. */
import { claimDue, scanAccounts } from "../src/delivery/queue.ts";
import { claimShares, scanEndpoints } from "../src/webhooks/queue.ts";
import type { Database } from "../src/database/database.ts";
import { median, openBenchDatabase, out, say, show, startGodwit } from "./godwit.ts";
import { preload } from "./preload.ts";

const DEAD_ROWS = 400_000;
const LIVE_ROWS = 2_000;
const CLAIMS = 15;
// The first executions of a statement plan it.
const WARM_UP = 3;
const ACCOUNTS = 50;

type Times = { medianMs: number; worstMs: number };

async function timesOf(count: number, run: () => Promise<unknown>): Promise<Times> {
  const times: number[] = [];
  for (let round = 0; round < count; round += 1) {
    const startedAt = performance.now();
    await run();
    times.push(performance.now() - startedAt);
  }
  const warm = times.slice(WARM_UP);
  return { medianMs: median(warm), worstMs: Math.max(...warm) };
}

const MINUTES_10 = 600_000;

/** Fills and empties both queues. The rows belong to the account of the live rows and to others, in equal parts. */
const addDeadRows = (db: Database, account: string): Promise<void> =>
  db.session(MINUTES_10, async (run) => {
    const owners = `(select case n when 0 then '${account}'::uuid else gen_random_uuid() end as id from generate_series(0, ${ACCOUNTS - 1}) n) owners`;
    const rows = `${owners}, generate_series(1, ${DEAD_ROWS / ACCOUNTS}) n`;
    await run(`
      insert into delivery_queue (message_id, account_id, environment, priority, link, due_at, expires_at)
      select gen_random_uuid(), id, 'test', 1, 'simulator', now() - n * interval '1 millisecond', now() + interval '1 hour'
        from ${rows}`);
    await run(`
      insert into webhook_queue (id, account_id, environment, endpoint_id, event_id, due_at)
      select gen_random_uuid(), id, 'test', id, gen_random_uuid(), now() - n * interval '1 millisecond'
        from ${rows}`);
    await run("delete from delivery_queue");
    await run("delete from webhook_queue");
  });

/** Puts live deliveries into the queue of webhooks, for an endpoint that has dead ones before them. */
const addLiveDeliveries = (db: Database, account: string): Promise<void> =>
  db.script(`
    insert into webhook_queue (id, account_id, environment, endpoint_id, event_id, due_at)
    select gen_random_uuid(), '${account}', 'test', '${account}', gen_random_uuid(), now()
      from generate_series(1, ${LIVE_ROWS})`);

export async function measureDeadRows(): Promise<string[]> {
  const peer = await startGodwit("dead-rows", { args: ["--roles", "api"] });
  const db = openBenchDatabase(peer);
  const backup = await db.openConnection();
  await backup.query("set idle_in_transaction_session_timeout = 0");
  await backup.query("begin isolation level repeatable read");
  await backup.query("select count(*) from delivery_queue");
  say(`${show(DEAD_ROWS)} dead rows in each queue`);
  await addDeadRows(db, peer.account);
  await preload(peer, { account: peer.account, total: LIVE_ROWS, priority: "normal" }, say);
  await addLiveDeliveries(db, peer.account);
  const accounts = (await scanAccounts(db)).get("simulator") ?? [];
  const shares = accounts.map(({ rank, group, dueAtMs }) => ({ rank, group, fromMs: dueAtMs, most: 100 }));
  const endpoints = await scanEndpoints(db, Date.now());
  const claimDeliveries = (nowMs: number): ReturnType<typeof claimShares> =>
    claimShares(
      db,
      endpoints.map(({ dueAtMs, ...endpoint }) => ({
        ...endpoint,
        fromMs: dueAtMs,
        most: 100,
        untilMs: nowMs,
        leasedUntilMs: nowMs + 60_000,
      })),
    );
  const measured: [string, Times][] = [
    [
      "claim of 100 messages",
      await timesOf(CLAIMS, () => claimDue(db, { lane: "simulator", shares, most: 100, nowMs: Date.now(), leaseMs: 60_000 })),
    ],
    ["claim of 100 deliveries", await timesOf(CLAIMS, () => claimDeliveries(Date.now()))],
    ["scan of the queue of messages", await timesOf(CLAIMS, () => scanAccounts(db))],
    ["scan of the queue of deliveries", await timesOf(CLAIMS, () => scanEndpoints(db, Date.now()))],
  ];
  await backup.query("commit");
  await backup.end();
  await db.close();
  peer.child.kill("SIGTERM");
  out(`\n| beside ${show(DEAD_ROWS)} dead rows that a snapshot keeps | median, ms | worst, ms |\n|---|---|---|`);
  for (const [name, { medianMs, worstMs }] of measured) out(`| ${name} | ${show(medianMs, 1)} | ${show(worstMs, 1)} |`);
  return measured
    .slice(0, 2)
    .map(([name, { worstMs }]) => `| ${name} beside ${show(DEAD_ROWS)} dead rows, worst, ms | ${show(worstMs, 1)} | < 20 |`);
}
