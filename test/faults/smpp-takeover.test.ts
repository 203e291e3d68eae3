/** Two processes of the real program, one SMSC that accepts one bind in total, and the process that has the bind dies or freezes
 *  in the middle of its work. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, test } from "node:test";
import { STATUS } from "../../src/providers/smpp/pdu.ts";
import { TIMINGS } from "../../src/timings.ts";
import { until } from "../support/expect.ts";
import { Smsc, type SmscSession, type Submit } from "../support/fakes/smsc.ts";
import { receiptSm } from "../support/fakes/smsc-scripts.ts";
import { startGodwit, type Godwit } from "../support/harness.ts";
import { expireLeases, PASSWORDS, sendTexts, smppTable, textOf, textsAt, untilAll } from "../support/smpp-messages.ts";

const WINDOW = 10;
const ANSWERED = 20;
const COUNT = 80;
// The link stays with a dead node for so long. A living node renews its lease in time, also on a busy machine.
const SHORT_MS = 12_000;

type Scene = { smsc: Smsc; owner: Godwit; other: Godwit; key: string };

/** The owner has the bind, and the other process waits for it. */
async function withTwo(
  table: Readonly<Record<string, string | number>>,
  linkLeaseMs: number,
  run: (scene: Scene) => Promise<void>,
): Promise<void> {
  const smsc = await Smsc.start();
  try {
    const config = smppTable("acme", smsc, { window: WINDOW, hold_seconds: 1, ...table });
    const options = { asProcess: true, roles: "api,dispatch", config, env: PASSWORDS, timings: { linkLeaseMs } };
    await using owner = await startGodwit(options);
    await owner.unlimited();
    await until("the first process to be bound", () => smsc.bound.length === 1 || undefined);
    await using other = await startGodwit({ ...options, databaseUrl: owner.databaseUrl });
    await run({ smsc, owner, other, key: await other.key({ environment: "live" }) });
  } finally {
    await smsc.stop();
  }
}

const countOf = (texts: readonly string[], text: string): number => texts.filter((each) => each === text).length;

/** The other node's bind. */
const untilTaken = (smsc: Smsc, first: SmscSession): Promise<SmscSession> =>
  until("the other process to be bound", () => smsc.bound.find((session) => session !== first));

describe("the process that has the bind and a full window", () => {
  for (const policy of ["fail", "resend"] as const)
    test(`is killed: the other one continues, and ${policy === "fail" ? "no message" : "only an unknown one"} is sent twice (${policy})`, () =>
      withTwo({ on_unknown: policy }, SHORT_MS, async ({ smsc, owner, other, key }) => {
        const named = new Map<string, string>();
        const accept = (submit: Submit, session: SmscSession): void => void named.set(textOf(submit), session.accept(submit));
        smsc.script.submit = (submit, session) => {
          if (named.size < ANSWERED) accept(submit, session);
        };
        await sendTexts(owner, key, COUNT);
        await until("the window to be full without responses", () => smsc.submits.length === ANSWERED + WINDOW || undefined);
        const sentOf = `select count(*)::integer as count from messages where status = 'sent'`;
        await until(
          "the responses to be stored",
          async () => (await other.rows<{ count: number }>(sentOf))[0]?.count === ANSWERED || undefined,
        );
        const first = smsc.session;
        const doubtful = textsAt(smsc).filter((text) => !named.has(text));
        const fromFirst = new Map(named);
        assert.equal(doubtful.length, WINDOW);

        await owner.stop("SIGKILL");
        smsc.script.submit = accept;
        const second = await untilTaken(smsc, first);
        assert.deepEqual([smsc.mostBound, first.isClosed], [1, true], "never two binds at a time");
        await expireLeases(other);
        const isOver = ({ status }: { status: string }): boolean => status === "sent" || status === "failed";
        const stories = await untilAll(other, "all to be finished", isOver);

        const texts = textsAt(smsc);
        for (const { body, status, error_code: code } of stories) {
          const isDoubtful = doubtful.includes(body);
          assert.equal(countOf(texts, body), isDoubtful && policy === "resend" ? 2 : 1, `${body} at the SMSC`);
          const expected = isDoubtful && policy === "fail" ? ["failed", "outcome_unknown"] : ["sent", null];
          assert.deepEqual([status, code], expected, body);
        }
        assert.equal(stories.length, COUNT);
        assert.deepEqual([second.submits.length, smsc.sessions.length], [COUNT - ANSWERED - (policy === "fail" ? WINDOW : 0), 2]);

        // The second process receives the receipts for messages of the first.
        for (const id of fromFirst.values()) assert.equal(await second.deliver(receiptSm(id)), STATUS.ok);
        const now = await untilAll(
          other,
          "their receipts to count",
          ({ body, status }) => (status === "delivered") === fromFirst.has(body),
        );
        assert.equal(now.filter(({ status }) => status === "delivered").length, ANSWERED);
      }));

  test("is frozen for longer than its lease, sends nothing when it continues, and disconnects", () => freeze());
});

/** Waits until the kernel reports the process as stopped. */
const untilFrozen = ({ pid }: Godwit["child"]): Promise<true> =>
  until("the process to be stopped", () => / T /.test(readFileSync(`/proc/${pid}/stat`, "utf8")) || undefined);

// At the rate of this test, some messages wait for the rate when the process freezes, and others are not claimed.
const FROZEN_AFTER = 8;

const freeze = (): Promise<void> =>
  withTwo({ rate: 10 }, TIMINGS.linkLeaseMs, async ({ smsc, owner, other, key }) => {
    const first = smsc.session;
    // Without further responses, the window limits the messages that leave before the process freezes, also on a slow machine.
    const unanswered: Submit[] = [];
    const ids: string[] = [];
    smsc.script.submit = (submit, session) => {
      if (session === first && first.submits.length > FROZEN_AFTER) unanswered.push(submit);
      else ids.push(session.accept(submit));
    };
    await sendTexts(owner, key, 40);
    await until("some messages to be sent", () => first.submits.length >= FROZEN_AFTER || undefined);
    owner.child.kill("SIGSTOP");
    let seen = 0;
    let receipt: Promise<number | undefined> | undefined;
    try {
      await untilFrozen(owner.child);
      const second = await untilTaken(smsc, first);
      seen = first.submits.length;
      assert.ok(seen <= FROZEN_AFTER + WINDOW, `${seen} messages had left before`);
      await until("the other process to send", () => second.submits.length > 0 || undefined);
      // The carrier cannot distinguish a frozen client from an idle one.
      assert.equal(smsc.mostBound, 2);
      // The process has room in its window when it continues.
      for (const submit of unanswered) first.accept(submit);
      // A receipt of a message of the other process.
      receipt = first.deliver(receiptSm(ids.at(-1) ?? "")).catch(() => undefined);
    } finally {
      // A frozen process cannot be stopped.
      owner.child.kill("SIGCONT");
    }
    await until("the process to disconnect", () => first.isClosed || undefined);
    assert.notEqual(await receipt, STATUS.ok, "a process without the lease uses no receipt");
    smsc.mostBound = smsc.bound.length;
    assert.equal(first.submits.length, seen, "the process has sent nothing since");
    assert.ok(first.received.some(({ command }) => command === "unbind"));
    await expireLeases(other);
    await untilAll(other, "all to be finished", ({ status }) => status === "sent" || status === "failed");
    const texts = textsAt(smsc);
    assert.equal(new Set(texts).size, texts.length, "no message is sent twice");
    // On a slow machine, the owner of the link may lose its lease, and bind again.
    await until("one process to be bound", () => smsc.bound.length === 1);
    assert.equal(smsc.mostBound, 1, "the process does not connect beside the owner");
  });
