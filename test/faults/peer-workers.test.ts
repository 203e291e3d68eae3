/** Two workers and an SMPP link that is open in one of them, which the other passes its messages to. Either of them dies or freezes in the middle:
 *  no message is lost, and none is sent twice. */
import assert from "node:assert/strict";
import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { describe, test } from "node:test";
import { uuidTimeMs } from "../../src/lib/uuid.ts";
import type { MessageId } from "../../src/model/id.ts";
import { childProcesses } from "../support/child-processes.ts";
import { poll } from "../../src/lib/wait.ts";
import { until } from "../support/expect.ts";
import { Smsc } from "../support/fakes/smsc.ts";
import { startGodwit, type Godwit } from "../support/harness.ts";
import { expireLeases, messageStates, PASSWORDS, sendTexts, smppTable, textsAt } from "../support/smpp-messages.ts";

const LEASE_MS = 600_000;
const WINDOW = 20;
const ROUND = 20;

type Scene = { smsc: Smsc; godwit: Godwit; key: string; ownerPid: number; otherPid: number };

async function withWorkers(run: (scene: Scene) => Promise<void>): Promise<void> {
  const smsc = await Smsc.start();
  try {
    const config = smppTable("acme", smsc, { window: WINDOW, hold_seconds: 1, on_unknown: "fail" });
    await using godwit = await startGodwit({
      asProcess: true,
      roles: "api,dispatch",
      config,
      env: { ...PASSWORDS, GODWIT_WORKERS: "2" },
      timings: { queueLeaseMs: LEASE_MS },
    });
    await godwit.unlimited();
    await until("the link to be bound", () => smsc.bound.length === 1 || undefined);
    const workers = childProcesses(godwit.child.pid, "serve-node");
    const inode = inodeOf(smsc.session.socket.remotePort ?? 0);
    const ownerPid = workers.find((pid) => hasSocket(pid, inode));
    const otherPid = workers.find((pid) => pid !== ownerPid);
    assert.ok(ownerPid !== undefined && otherPid !== undefined);
    const key = await godwit.key({ environment: "live" });
    await run({ smsc, godwit, key, ownerPid, otherPid });
  } finally {
    await smsc.stop();
  }
}

/** The inode of the socket with this local port, from /proc. */
function inodeOf(port: number): string {
  const local = `:${port.toString(16).toUpperCase().padStart(4, "0")}`;
  const lines = readFileSync("/proc/net/tcp", "latin1")
    .split("\n")
    .map((line) => line.trim().split(/\s+/));
  const inode = lines.find(([, address = ""]) => address.endsWith(local))?.[9];
  assert.ok(inode !== undefined);
  return inode;
}

const hasSocket = (pid: number, inode: string): boolean =>
  readdirSync(`/proc/${pid}/fd`).some((fd) => linkOf(`/proc/${pid}/fd/${fd}`) === `socket:[${inode}]`);

function linkOf(path: string): string | undefined {
  try {
    return readlinkSync(path);
  } catch {
    // The file was closed meanwhile.
    return undefined;
  }
}

/** Whether none of the messages in the queue was claimed: a claim takes a later lease. */
async function areUnclaimed(godwit: Godwit): Promise<boolean> {
  const rows = await godwit.rows<{ message_id: MessageId; due_at: Date }>("select message_id, due_at from delivery_queue");
  return rows.length > 0 && rows.every(({ message_id: id, due_at: dueAt }) => Math.abs(dueAt.getTime() - LEASE_MS - uuidTimeMs(id)) <= 2);
}

const isOver = ({ status }: { status: string }): boolean => status === "sent" || status === "failed";

describe("two workers and a link that is open in one of them", () => {
  test("pass messages without a claim", () =>
    withWorkers(async ({ smsc, godwit, key }) => {
      // Without a response the messages keep their rows.
      smsc.script.submit = () => undefined;
      let sent = 0;
      const isPassed = async (): Promise<true | undefined> => {
        await sendTexts(godwit, key, ROUND / 2, sent);
        sent += ROUND / 2;
        await until("all to arrive", () => smsc.submits.length === sent || undefined);
        const isUnclaimed = await areUnclaimed(godwit);
        smsc.script.submit = (submit, session) => void session.accept(submit);
        for (const submit of smsc.submits.splice(0)) smsc.session.accept(submit);
        sent = 0;
        await until("all to be sent", async () => (await messageStates(godwit)).every(isOver) || undefined);
        smsc.script.submit = () => undefined;
        return isUnclaimed || undefined;
      };
      // The worker with the link reports its room within a second.
      await until("a round without claims", isPassed);
    }));

  for (const [name, signal, isOwner] of [
    ["the worker that has the link is killed", "SIGKILL", true],
    ["the worker that has the link is frozen, until the supervisor ends it", "SIGSTOP", true],
    ["the worker that passes its messages on is killed", "SIGKILL", false],
  ] as const)
    test(`lose no message and send none twice when ${name}`, () =>
      withWorkers(async ({ smsc, godwit, key, ownerPid, otherPid }) => {
        const accepted: number[] = [];
        let next = 0;
        const ending = new AbortController();
        const send = async (): Promise<void> => {
          while (!ending.signal.aborted) {
            const mine = next++;
            // The connections of a worker that dies break, and some of those of the other are tried first.
            await sendTexts(godwit, key, 1, mine).then(
              () => accepted.push(mine),
              () => undefined,
            );
          }
        };
        const sending = Array.from({ length: 8 }, send);
        await until("messages to arrive", () => smsc.submits.length > 50 || undefined);
        process.kill(isOwner ? ownerPid : otherPid, signal);
        const before = accepted.length;
        await until("the worker to be replaced", () => godwit.logs.find(({ event }) => event === "service.worker_ended"));
        await until("more messages to be accepted", () => accepted.length > before + 100 || undefined);
        ending.abort();
        await Promise.all(sending);
        // Messages that were on the way wait for their leases, and those of the dead worker too.
        const ended = await poll(
          async () => {
            await expireLeases(godwit);
            const states = await messageStates(godwit);
            return states.every(isOver) ? states : undefined;
          },
          { timeoutMs: 120_000, everyMs: 1_000 },
        );
        assert.ok(ended !== undefined, JSON.stringify((await messageStates(godwit)).filter((each) => !isOver(each)).slice(0, 5)));
        const texts = Map.groupBy(textsAt(smsc), (text) => text);
        for (const { body, status, error_code: code } of ended) {
          const count = texts.get(body)?.length ?? 0;
          assert.ok(count <= 1, `${body} came ${count} times`);
          if (status === "sent") assert.equal(count, 1, body);
          else assert.equal(code, "outcome_unknown", body);
        }
        const unknown = ended.filter(({ status }) => status === "failed").length;
        assert.ok(unknown <= (isOwner ? WINDOW : 0), `${unknown} messages with an unknown outcome`);
        const stored = new Set(ended.map(({ body }) => body));
        for (const each of accepted) assert.ok(stored.has(`text ${each}`));
      }));
});
