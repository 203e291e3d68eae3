/** The database is recovered to an earlier time, chosen at random, while nodes run and send: the nodes hold, and no message is sent a second time.
 *  GODWIT_TEST_RECOVERIES is the number of recoveries. */
import assert from "node:assert/strict";
import { randomInt } from "node:crypto";
import { after, before, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { atEnd } from "../support/at-end.ts";
import { Smsc } from "../support/fakes/smsc.ts";
import { until } from "../support/expect.ts";
import { runGodwit, SECRET_KEY, startGodwit, type Godwit } from "../support/harness.ts";
import { ReplicatedServers } from "../support/replicated-servers.ts";

const RECOVERIES = Number(process.env["GODWIT_TEST_RECOVERIES"] ?? "2");
const PAUSE_MS = 20;

const holdOf = async (godwit: Godwit): Promise<string | undefined> =>
  (await godwit.rows<{ reason: string }>("select reason from link_pauses where link = '*'"))[0]?.reason;

let people = 0;
/** The steps of a recovery, with their times. */
class Steps {
  readonly #steps: [name: string, atMs: number][] = [];

  begin(name: string): void {
    this.#steps.push([name, performance.now()]);
  }

  after(atMs: number): string {
    const [name, sinceMs] = this.#steps.findLast(([, stepMs]) => stepMs <= atMs) ?? ["start", 0];
    return `${Math.round(atMs - sinceMs)} ms after ${name}`;
  }
}

/** Sends a message to a person who gets no other one. Returns its id if it was accepted. A request without a 202 is not repeated. */
async function sendOne(godwit: Godwit, apiKey: string): Promise<string | undefined> {
  people += 1;
  const { status, json } = await godwit.send(apiKey, { recipient: `+1415${String(2_000_000 + people)}` });
  return status === 202 ? String(json["id"]) : undefined;
}

async function sendUntil(stop: AbortSignal, nodes: readonly Godwit[], apiKey: string, accepted: string[]): Promise<void> {
  const work = async (godwit: Godwit): Promise<void> => {
    while (!stop.aborted) {
      const id = await sendOne(godwit, apiKey);
      if (id !== undefined) accepted.push(id);
      await sleep(PAUSE_MS);
    }
  };
  await Promise.all([...nodes, ...nodes].map(work));
}

describe("nothing is sent twice with nodes left running", () => {
  let servers: ReplicatedServers;
  let smsc: Smsc;
  let nodes: readonly [Godwit, Godwit];
  let apiKey: string;
  before(async () => {
    servers = await ReplicatedServers.start();
    smsc = await Smsc.start();
    atEnd(() => smsc.stop());
    const config = `[[link]]\nname = "acme"\nprovider = "smpp"\nhost = "127.0.0.1"\nport = ${smsc.port}\nsystem_id = "x"\npassword_env = "PASSWORD"\n`;
    const options = { databaseUrl: servers.url, config, roles: "api,dispatch", env: { PASSWORD: "secret" } };
    nodes = [await startGodwit(options), await startGodwit(options)];
    await nodes[0].unlimited();
    apiKey = await nodes[0].key({ environment: "live" });
  });
  after(async () => {
    for (const node of nodes) await node.stop();
    await servers[Symbol.asyncDispose]();
  });

  for (let count = 1; count <= RECOVERIES; count += 1)
    test(`after recovery ${count} to a random time`, async (context) => {
      const [first] = nodes;
      const accepted: string[] = [];
      const steps = new Steps();
      const stop = new AbortController();
      const load = sendUntil(stop.signal, nodes, apiKey, accepted);
      const [keptMs, lostMs] = [randomInt(100, 2_000), randomInt(200, 4_000)];
      await until("messages to be submitted", () => accepted.length > 20 && smsc.submits.length > 20);
      await sleep(keptMs);
      // The other server stays at this time.
      await servers.standby.end("SIGKILL");
      steps.begin("the standby stopped");
      await servers.releaseStandby();
      const kept = smsc.submits.length;
      await sleep(lostMs);
      await until("a commit that will be lost", () => smsc.submits.length > kept + 1);
      await servers.primary.end("SIGKILL");
      steps.begin("the primary ended");
      await servers.standby.start();
      await servers.promote();
      steps.begin("the promotion");
      for (const node of nodes) await until("a message to be accepted", async () => (await sendOne(node, apiKey)) !== undefined);
      stop.abort();
      await load;
      const rows = await first.rows<{ count: number }>("select count(*)::integer as count from messages");
      const reason = await until("the hold", () => holdOf(first));
      steps.begin("the hold");
      assert.match(reason, /recovered to a time before the last commits/);
      const submitted = smsc.submits.length;
      const held = (await Promise.all(nodes.map((node) => sendOne(node, apiKey)))).filter((id) => id !== undefined);
      assert.equal(held.length, nodes.length);
      const resumed = await runGodwit(["resume", "--end", "--json"], { DATABASE_URL: servers.url, GODWIT_SECRET_KEY: SECRET_KEY });
      steps.begin("the end of the hold");
      assert.equal(resumed.code, 0, resumed.stderr);
      await until("the messages of the hold to be submitted", async () => {
        const [row] = await first.rows<{ count: number }>(
          "select count(*)::integer as count from messages where status in ('queued', 'sending')",
        );
        return row?.count === 0;
      });
      const times = Map.groupBy(smsc.submits, ({ short }) => short.destination.text);
      const twice = [...times].filter(([, submits]) => submits.length > 1);
      const moments = twice.map(([to, submits]) => `${to}: ${submits.map(({ atMs }) => steps.after(atMs)).join(", ")}`);
      context.diagnostic(
        `standby stopped after ${keptMs} ms, ${lostMs} ms lost, ${accepted.length} accepted, ${rows[0]?.count} in the database, ${submitted} submitted before and ${smsc.submits.length - submitted} after the hold`,
      );
      assert.deepEqual(moments, []);
      await servers.addStandby();
    });
});
