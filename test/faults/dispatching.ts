/** Delivery in separate processes, which a test can kill, freeze and stop. Their carrier is the witness, in the process of the test. */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import type { TestContext } from "node:test";
import { createAccount, type SeedEnvironment } from "../../src/access/accounts.ts";
import { within } from "../../src/lib/wait.ts";
import { SYSTEM_ORIGIN } from "../../src/model/origin.ts";
import { PRIORITIES } from "../../src/messages/message.ts";
import { simulatorLink, type Link } from "../../src/links/link.ts";
import { LinkDirectory } from "../../src/links/directory.ts";
import type { Database } from "../../src/database/database.ts";
import { seedTemplates } from "../../src/templates/seed.ts";
import { TIMINGS } from "../../src/timings.ts";
import { acceptorOf, closeStorage, credentialOf, openStorage, type Storage } from "../support/engine.ts";
import { until } from "../support/expect.ts";
import type { DispatchSettings } from "./dispatch-node.ts";
import { Witness, type PlanOf } from "./witness.ts";
import { createDatabase, inspectionOf } from "../support/database.ts";
import { spawnGodwit, type Run } from "../support/harness.ts";
import { programPath } from "../support/programs.ts";
import { recipientOf } from "../support/recipient.ts";
import { seeded } from "../support/seed.ts";

const STOP_LIMIT_MS = 60_000;

export type SceneOptions = {
  plan?: (random: () => number) => PlanOf;
  onUnknown?: Link["onUnknown"];
  responseTimeoutMs?: number;
  window?: number;
  queueLeaseMs?: number;
};

type NodeSettings = Pick<DispatchSettings, "responseTimeoutMs" | "window" | "queueLeaseMs">;

/** A typical carrier: mostly fast, sometimes late, rarely silent, with receipts that come late, early or never. */
export const usual =
  (random: () => number): PlanOf =>
  ({ attempt }) => {
    const dice = random();
    const isBusy = attempt === 1 && random() < 0.03;
    return {
      response: isBusy ? "refused" : dice < 0.02 ? "silent" : "accepted",
      responseAfterMs: 5 + random() * (dice > 0.9 ? 400 : 60),
      receiptAfterMs: random() < 0.2 ? null : random() * 300,
      isNamed: random() < 0.7,
    };
  };

/** A carrier that accepts every message, and sends a receipt after the response. */
export const prompt =
  (random: () => number): PlanOf =>
  () => ({ response: "accepted", responseAfterMs: 5 + random() * 40, receiptAfterMs: 50 + random() * 100, isNamed: false });

export type Node = { name: string; run: Run; pid: number };

export class Scene {
  readonly databaseUrl: string;
  readonly witness: Witness;
  readonly random: () => number;
  readonly onUnknown: Link["onUnknown"];
  readonly #storage: Storage;
  readonly #settings: NodeSettings;
  readonly #nodes: Node[] = [];

  private constructor(storage: Storage, fields: Pick<Scene, "databaseUrl" | "witness" | "random">, options: SceneOptions) {
    const { onUnknown = { policy: "fail", holdMs: 1_000 }, responseTimeoutMs = 500, window = 40 } = options;
    this.databaseUrl = fields.databaseUrl;
    this.witness = fields.witness;
    this.random = fields.random;
    this.onUnknown = onUnknown;
    this.#storage = storage;
    this.#settings = { responseTimeoutMs, window, queueLeaseMs: options.queueLeaseMs ?? TIMINGS.queueLeaseMs };
  }

  static async open(context: TestContext, options: SceneOptions = {}): Promise<Scene> {
    const random = seeded(context);
    const databaseUrl = await createDatabase();
    const storage = await openStorage(inspectionOf(databaseUrl), "test");
    const witness = await Witness.open((options.plan ?? usual)(random), random);
    return new Scene(storage, { databaseUrl, witness, random }, options);
  }

  get db(): Database {
    return this.#storage.db;
  }

  async rows<T>(text: string, values: readonly unknown[] = []): Promise<T[]> {
    return this.db.rows<T>({ name: `test_${randomUUID()}`, text, values });
  }

  /** Puts messages of two accounts and all priorities into the queue. */
  async accept(count: number): Promise<void> {
    const seed: SeedEnvironment = (tx, owner) => seedTemplates(tx, this.#storage.clock, owner);
    const accounts = await Promise.all(
      ["first", "second"].map((name) =>
        createAccount(this.db, this.#storage.clock, { name: `${name} ${randomUUID()}`, origin: SYSTEM_ORIGIN }, seed),
      ),
    );
    const acceptor = acceptorOf(this.#storage, new LinkDirectory(simulatorLink(1)));
    const acceptOne = (index: number): Promise<unknown> => {
      const accountId = accounts[index % accounts.length]?.id ?? assert.fail();
      const priority = PRIORITIES[index % PRIORITIES.length] ?? "normal";
      return acceptor.accept(
        { recipient: recipientOf("+14155550123"), channel: "sms", body: "Hello", priority },
        { credential: credentialOf(accountId), claim: undefined, writeProblem: String },
      );
    };
    await Promise.all(Array.from({ length: count }, (_, index) => acceptOne(index)));
  }

  /** Starts a process that delivers. The process can use another URL of the database, such as that of a proxy. */
  async start(databaseUrl = this.databaseUrl): Promise<Node> {
    const name = `node${this.#nodes.length + 1}`;
    const settings: DispatchSettings = {
      ...this.#settings,
      databaseUrl,
      node: name,
      port: this.witness.port,
      onUnknown: this.onUnknown,
    };
    const run = spawnGodwit([JSON.stringify(settings)], {}, { main: programPath("dispatch-node") });
    const node = { name, run, pid: run.child.pid ?? 0 };
    this.#nodes.push(node);
    await run.waitFor(({ msg }) => msg === "delivering");
    return node;
  }

  /** Waits until the node has submitted so many more messages, or until the queue is empty. */
  async moreLines(node: Node, count: number): Promise<void> {
    const enough = this.witness.linesOf(node.name).length + count;
    await until(`${count} more submissions of ${node.name}`, async () => {
      if (this.witness.linesOf(node.name).length >= enough) return true;
      const [waiting] = await this.rows<{ count: number }>("select count(*)::integer as count from delivery_queue");
      return waiting?.count === 0;
    });
  }

  /** Kills the process with SIGKILL, and waits until the database has ended its sessions, so that the node cannot commit any more. */
  async kill({ name, run }: Node): Promise<void> {
    run.child.kill("SIGKILL");
    await run.exit;
    await until(`the sessions of ${name} have ended`, async () => {
      // The nodes of other tests on the same server have the same names.
      const left = await this.rows("select from pg_stat_activity where datname = current_database() and application_name like $1", [
        `godwit ${name} %`,
      ]);
      return left.length === 0;
    });
  }

  /** Stops the process with SIGTERM. Returns the exit code and the duration. */
  async stop({ name, run }: Node): Promise<{ code: number | null; tookMs: number }> {
    const startedAt = performance.now();
    run.child.kill("SIGTERM");
    const ended = await within(
      run.exit.then((code) => ({ code })),
      STOP_LIMIT_MS,
    );
    assert.ok(ended !== undefined, `${name} did not end within ${STOP_LIMIT_MS} ms`);
    return { ...ended, tookMs: performance.now() - startedAt };
  }

  /** Suspends the process. Its connections stay open. */
  async freeze({ name, run, pid }: Node): Promise<void> {
    run.child.kill("SIGSTOP");
    await until(`${name} is suspended`, () => /\) T /.test(readFileSync(`/proc/${pid}/stat`, "utf8")));
  }

  thaw({ run }: Node): void {
    run.child.kill("SIGCONT");
  }

  /** The number of messages that the node has claimed and not settled. */
  async claimedCount({ run }: Node): Promise<number> {
    const linesBefore = run.logs.length;
    run.child.kill("SIGUSR2");
    const line = await run.waitFor((each) => each.msg === "claimed" && run.logs.indexOf(each) >= linesBefore);
    return Number(line["claimedCount"]);
  }

  /** Expires all leases. Locks the rows in the same order as the service, to avoid deadlocks. */
  async lapse(): Promise<void> {
    await this.rows(
      `update delivery_queue
          set due_at = now()
        where message_id = any (array(select message_id
                                        from delivery_queue
                                       where state = 0 and due_at > now()
                                       order by message_id
                                         for update))`,
    );
  }

  /** Waits until the queue and the carrier have no pending work. */
  async settle(): Promise<void> {
    let left: unknown;
    const isSettled = async (): Promise<boolean> => {
      const [counts] = await this.rows<{ queued: number; unfinished: number }>(
        `select (select count(*)::integer from delivery_queue) as queued,
                (select count(*)::integer from messages where status in ('queued', 'sending')) as unfinished`,
      );
      left = { ...counts, atCarrier: this.witness.pending };
      return counts?.queued === 0 && counts.unfinished === 0 && this.witness.pending === 0;
    };
    await until(() => `all messages are finished; left: ${JSON.stringify(left)}`, isSettled);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const { run } of this.#nodes) {
      run.child.kill("SIGKILL");
      await run.exit;
    }
    await this.witness.close();
    await closeStorage(this.#storage);
  }
}
