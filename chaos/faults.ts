/** Carries out the faults of a plan, each at its time. */
import { setTimeout as sleep } from "node:timers/promises";
import { unreachable } from "../src/lib/assert.ts";
import { countWaiting, type Cluster } from "./cluster.ts";
import type { Held } from "./database.ts";
import { describeFault, labelOf, type Fault } from "./plan.ts";

/** Recovery begins so long before the endpoint was disabled, because deliveries that waited then were given up. */
export const RECOVERY_MARGIN_MS = 120_000;
const RECOVERY_POLL_MS = 300;
// The default limit of chrony.
const SLEW_RATE = 0.08;
/** The last message that has not ended, so that the service changes it soon. */
const LOCK_MESSAGE = `
  select id from messages
   where status in ('queued', 'scheduled', 'sending', 'sent')
   order by id desc
   limit 1
     for update skip locked`;

type FaultOptions = { signal: AbortSignal; onFault: (line: string) => void };

export class FaultRunner {
  /** The number of faults by kind. */
  readonly counts = new Map<string, number>();
  /** The messages that were locked, and when. */
  readonly locks: Held[] = [];
  readonly #cluster: Cluster;
  readonly #signal: AbortSignal;
  readonly #onFault: (line: string) => void;
  readonly #running = new Set<Promise<void>>();
  /** The last outage of the endpoint. Outages follow each other, because one that begins gives up the deliveries of the recovery. */
  #outage: Promise<void> = Promise.resolve();

  constructor(cluster: Cluster, { signal, onFault }: FaultOptions) {
    this.#cluster = cluster;
    this.#signal = signal;
    this.#onFault = onFault;
  }

  /** Runs the plan. Resolves when the last fault has ended. Rejects when a fault could not be carried out. */
  async run(plan: readonly Fault[]): Promise<void> {
    const startedAt = performance.now();
    let failure: Error | undefined;
    for (const fault of plan) {
      await this.#wait(fault.atMs - (performance.now() - startedAt));
      if (failure !== undefined) break;
      this.counts.set(labelOf(fault), (this.counts.get(labelOf(fault)) ?? 0) + 1);
      this.#onFault(describeFault(fault));
      const running = this.#carryOut(fault)
        .catch((error: Error) => void (failure ??= error))
        .finally(() => this.#running.delete(running));
      this.#running.add(running);
    }
    await Promise.all(this.#running);
    if (failure !== undefined) throw failure;
  }

  #wait(ms: number): Promise<undefined> {
    return sleep(Math.max(0, ms), undefined, { signal: this.#signal });
  }

  async #carryOut(fault: Fault): Promise<void> {
    const { database, nodes, carrier, twilio, smsc, receivers } = this.#cluster;
    switch (fault.kind) {
      case "kill_node":
        return nodes[fault.node]?.kill();
      case "freeze_node":
        return nodes[fault.node]?.freeze(this.#wait(fault.lastsMs));
      case "terminate_backends":
        return database.terminateBackends(fault.share);
      case "restart_database":
        return database.restart(fault.mode);
      case "shift_clock":
        return database.shiftClock(fault.bySeconds, this.#wait(fault.lastsMs));
      case "lock_table":
        await database.hold("begin", `lock table ${fault.table} in share mode`, this.#wait(fault.lastsMs));
        return;
      case "open_transaction":
        await (fault.mode === "writing"
          ? database.hold("begin", "select pg_current_xact_id()", this.#wait(fault.lastsMs))
          : database.hold("begin isolation level repeatable read", "select count(*) from events", this.#wait(fault.lastsMs)));
        return;
      case "disable_endpoint":
        this.#outage = this.#outage.then(() => this.#disableEndpoint(fault.lastsMs));
        return this.#outage;
      case "fail_receivers":
        receivers.isFailing = true;
        await this.#wait(fault.lastsMs);
        receivers.isFailing = false;
        return;
      case "drop_carrier":
        carrier.isDropping = true;
        smsc.endSessions();
        await this.#wait(fault.lastsMs);
        carrier.isDropping = false;
        return;
      case "slow_carrier":
        carrier.isSlow = true;
        await this.#wait(fault.lastsMs);
        carrier.isSlow = false;
        return;
      case "hang_worker":
        return nodes[fault.node]?.hang(this.#wait(fault.lastsMs));
      case "lock_message": {
        const lock = await database.hold("begin", LOCK_MESSAGE, this.#wait(fault.lastsMs));
        if (lock !== undefined) this.locks.push(lock);
        return;
      }
      case "slew_clock":
        return database.slewClock(SLEW_RATE, () => this.#wait(fault.lastsMs));
      case "slow_handshakes":
        twilio.hasSlowHandshakes = true;
        await this.#wait(fault.lastsMs);
        twilio.hasSlowHandshakes = false;
        return;
      default:
        unreachable(fault);
    }
  }

  /** Disables the endpoint, enables it again, and recovers the events of that time. Ends when nothing waits for the endpoint. */
  async #disableEndpoint(lastsMs: number): Promise<void> {
    const { api, recovered } = this.#cluster;
    const path = `/v1/webhook_endpoints/${recovered.id}`;
    const since = new Date(Date.now() - RECOVERY_MARGIN_MS).toISOString();
    await api.require({ method: "PATCH", path, body: { status: "disabled" } });
    await this.#wait(lastsMs);
    await api.require({ method: "PATCH", path, body: { status: "enabled" } });
    await api.require({ method: "POST", path: `${path}/recover`, body: { since } });
    for (;;) {
      const endpoint = await api.require({ method: "GET", path });
      if (endpoint["recovery"] === null && (await countWaiting(this.#cluster, recovered)) === 0) return;
      await this.#wait(RECOVERY_POLL_MS);
    }
  }
}
