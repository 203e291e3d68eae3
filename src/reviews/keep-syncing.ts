/** Goes from desk to desk: each is visited every ten minutes, sooner when asked for, by one node at a time. */
import { Counter, type Registry } from "prom-client";
import { unreachable } from "../lib/assert.ts";
import { RepeatingJob } from "../lib/background-job.ts";
import { errorFields, reportError } from "../lib/log.ts";
import type { Trouble } from "../providers/template-desk.ts";
import type { BusinessAccount } from "./business-accounts.ts";
import { claimSync, failSync, finishSync, holdSync, leaveSync, makeSyncs, type Claimed } from "./queries.ts";
import { syncTemplates } from "./sync-templates.ts";
import type { Stop, SyncParts, Tally, SyncResult } from "./sync.ts";

/** Told of every visit. */
export type SyncWatch = { synced(link: string, outcome: string): void };

export function syncWatch(registry: Registry): SyncWatch {
  const syncs = new Counter({
    name: "godwit_template_syncs_total",
    help: "Visits to the accounts at carriers that review templates, by what became of them.",
    labelNames: ["link", "outcome"],
    registers: [registry],
  });
  return { synced: (link, outcome) => syncs.inc({ link, outcome }) };
}

export type SyncerParts = SyncParts & { node: string; watch: SyncWatch };

const EVERY_MS = 10 * 60_000;
const MORE_MS = 60_000;
const LOOK_EVERY_MS = 1_000;
// Renewed while the visit lasts: when its node is gone, another goes on after so long.
const CLAIM_MS = 30_000;
const RENEW_EVERY_MS = 5_000;
// What is left of it has to be enough for a call that begins now.
const CALL_MS = 20_000;
// A carrier that hangs at one desk keeps the others waiting only if it does so at both.
const CONCURRENT_SYNCS = 2;
// Beyond what a visit of the largest account takes.
const SYNC_TIMEOUT_MS = 15 * 60_000;

const FIRST_WAIT_MS = 15_000;

/** Longer each time, up to the usual distance. A person who has to act needs minutes anyway. */
function waitMs(trouble: Trouble, failures: number): number {
  if (trouble.kind === "blocked") return EVERY_MS;
  const asked = trouble.kind === "throttled" ? (trouble.retryAfterMs ?? 0) : 0;
  return Math.min(EVERY_MS, Math.max(asked, FIRST_WAIT_MS * 2 ** Math.min(failures, 10)));
}

export class TemplateSyncer {
  readonly #parts: SyncerParts;
  readonly #job: RepeatingJob;
  readonly #stopping = new AbortController();
  /** What was last left out at each desk: told when it changes. */
  readonly #skipped = new Map<string, number>();
  #known = "";

  constructor(parts: SyncerParts) {
    this.#parts = parts;
    this.#job = new RepeatingJob({ onError: reportError(parts.log, "templates.sync_failed", "a sync of templates failed") });
  }

  start(): void {
    for (let index = 0; index < CONCURRENT_SYNCS; index += 1) this.#job.repeat(() => this.#turn());
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#job.stop();
  }

  async #turn(): Promise<number> {
    const { db, businessAccounts, node } = this.#parts;
    const all = businessAccounts.all;
    if (all.length === 0 || this.#stopping.signal.aborted) return LOOK_EVERY_MS;
    const names = all.map(({ name }) => name);
    await this.#make(names);
    const claimed = await claimSync(db, names, node, { claimMs: CLAIM_MS, againMs: EVERY_MS });
    const businessAccount = all.find(({ name }) => name === claimed?.desk);
    if (claimed === undefined || businessAccount === undefined) return LOOK_EVERY_MS;
    await this.#sync(businessAccount, claimed);
    return 0;
  }

  /** Rows for desks that are new in the configuration. */
  async #make(names: readonly string[]): Promise<void> {
    const known = names.join("\n");
    if (known === this.#known) return;
    await makeSyncs(this.#parts.db, names);
    this.#known = known;
  }

  async #sync(businessAccount: BusinessAccount, claimed: Claimed): Promise<void> {
    const { db, node, watch } = this.#parts;
    const { name, links } = businessAccount;
    const claim = new SyncClaim(this.#parts, name);
    const signal = AbortSignal.any([this.#stopping.signal, claim.signal, AbortSignal.timeout(SYNC_TIMEOUT_MS)]);
    let outcome: SyncResult | Stop;
    try {
      outcome = await syncTemplates(this.#parts, businessAccount, { isHeld: () => claim.isHeld && !signal.aborted, signal });
    } finally {
      await claim.end();
    }
    // What was broken off says nothing about the carrier.
    const isBrokenOff = this.#stopping.signal.aborted || claim.signal.aborted;
    const end: SyncResult | Stop = isBrokenOff && outcome.kind !== "synced" ? { kind: "lost" } : outcome;
    watch.synced(links[0].name, end.kind);
    switch (end.kind) {
      case "lost":
        return leaveSync(db, name, node);
      case "synced":
        this.#tell(businessAccount, end.tally, claimed);
        return finishSync(db, name, node, end.tally.left > 0 ? MORE_MS : EVERY_MS);
      case "unavailable":
      case "throttled":
      case "blocked":
        if (end.reason !== claimed.last_error)
          this.#parts.log.warn(
            { event: "templates.sync_refused", link: links[0].name, outcome: end.kind, reason: end.reason },
            "templates cannot be synced with the carrier",
          );
        return failSync(db, name, node, { error: end.reason, againMs: waitMs(end, claimed.failures) });
      default:
        return unreachable(end);
    }
  }

  #tell({ name, links }: BusinessAccount, tally: Tally, { last_error: error }: Claimed): void {
    const { log } = this.#parts;
    if (error !== null) log.info({ link: links[0].name }, "templates are synced with the carrier again");
    const isNews = tally.submitted + tally.removed + tally.imported > 0 || tally.skipped !== (this.#skipped.get(name) ?? 0);
    this.#skipped.set(name, tally.skipped);
    if (isNews) log.info({ link: links[0].name, ...tally }, "templates were synced with the carrier");
  }
}

/** The claim of a desk while it is visited. */
class SyncClaim {
  readonly #lost = new AbortController();
  readonly #renewing: RepeatingJob;
  /** On this process's own steady clock, counted from before it asked: one that was frozen does not believe that it still has it. */
  #heldAt = performance.now();

  constructor({ db, node, log }: SyncerParts, businessAccount: string) {
    this.#renewing = new RepeatingJob({
      onError: (error) =>
        log.warn({ event: "templates.claim_not_renewed", ...errorFields(error) }, "the claim of a business account could not be renewed"),
    });
    this.#renewing.repeat(async () => {
      const askedAt = performance.now();
      if (await holdSync(db, businessAccount, node, CLAIM_MS)) this.#heldAt = askedAt;
      else this.#lost.abort();
      return RENEW_EVERY_MS;
    });
  }

  /** Aborted when it is another's. */
  get signal(): AbortSignal {
    return this.#lost.signal;
  }

  get isHeld(): boolean {
    return performance.now() - this.#heldAt < CLAIM_MS - CALL_MS;
  }

  end(): Promise<void> {
    return this.#renewing.stop();
  }
}
