/** Syncs the templates of each business account every ten minutes, sooner on request, on one node at a time. */
import { Counter, type Registry } from "prom-client";
import { unreachable } from "../lib/assert.ts";
import { RepeatingJob } from "../lib/background-job.ts";
import { errorFields, reportError } from "../model/log.ts";
import type { AccountFailure } from "../providers/business-account.ts";
import type { BusinessAccount } from "./business-accounts.ts";
import { claimSync, failSync, finishSync, renewSync, releaseSync, insertSyncs, type ClaimedSync } from "./queries.ts";
import { syncTemplates } from "./sync-templates.ts";
import type { SyncStop, SyncParts, Tally, SyncResult } from "./sync.ts";

type SyncerParts = SyncParts & { node: string; registry: Registry };

const EVERY_MS = 10 * 60_000;
const MORE_MS = 60_000;
const LOOK_EVERY_MS = 1_000;
// The claim is renewed during the sync. If its node dies, another node continues after this time.
const CLAIM_MS = 30_000;
const RENEW_EVERY_MS = 5_000;
// The rest of the claim must cover a call that begins now.
const CALL_MS = 20_000;
// One carrier that hangs does not delay the others. Business accounts that accounts of the service set up do not delay the operator's, and
// have less time.
const CONCURRENT_SYNCS = 2;
// Longer than a sync of the largest account takes.
const SYNC_TIMEOUT_MS = 15 * 60_000;
const CREATED_SYNC_TIMEOUT_MS = 2 * 60_000;

const isCreated = ({ links: [link] }: BusinessAccount): boolean => link.accountId !== null;

const FIRST_WAIT_MS = 15_000;

/** The wait after a failure: longer each time, up to the usual interval. A person who has to act needs minutes anyway. */
function waitMs(trouble: AccountFailure, failures: number): number {
  if (trouble.kind === "blocked") return EVERY_MS;
  const asked = trouble.kind === "throttled" ? (trouble.retryAfterMs ?? 0) : 0;
  return Math.min(EVERY_MS, Math.max(asked, FIRST_WAIT_MS * 2 ** Math.min(failures, 10)));
}

export class TemplateSyncer {
  readonly #parts: SyncerParts;
  readonly #job: RepeatingJob;
  readonly #outcomes: Counter;
  readonly #stopping = new AbortController();
  /** How many templates the last sync of each business account skipped. A change is logged. */
  readonly #skipped = new Map<string, number>();
  /** The business accounts that have a row. */
  readonly #inserted = new Set<string>();

  constructor(parts: SyncerParts) {
    this.#parts = parts;
    this.#job = new RepeatingJob({ onError: reportError(parts.log, "templates.sync_failed", "a sync of templates failed") });
    this.#outcomes = new Counter({
      name: "godwit_template_syncs_total",
      help: "Synchronizations with the business accounts that review templates, by outcome.",
      labelNames: ["link", "outcome"],
      registers: [parts.registry],
    });
  }

  start(): void {
    for (let index = 0; index < CONCURRENT_SYNCS; index += 1) {
      this.#job.repeat(() => this.#turn((account) => !isCreated(account)));
      this.#job.repeat(() => this.#turn(isCreated));
    }
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#job.stop();
  }

  async #turn(isMine: (account: BusinessAccount) => boolean): Promise<number> {
    const { db, clock, businessAccounts, node } = this.#parts;
    const all = businessAccounts.all.filter(isMine);
    if (all.length === 0 || this.#stopping.signal.aborted) return LOOK_EVERY_MS;
    const names = all.map(({ name }) => name);
    await this.#make(names);
    const claimed = await claimSync(db, names, node, { nowMs: clock.now(), claimMs: CLAIM_MS, againMs: EVERY_MS });
    const businessAccount = all.find(({ name }) => name === claimed?.business_account);
    if (claimed === undefined || businessAccount === undefined) return LOOK_EVERY_MS;
    await this.#sync(businessAccount, claimed);
    return 0;
  }

  /** Inserts rows for business accounts that are new in the configuration. */
  async #make(names: readonly string[]): Promise<void> {
    const added = names.filter((name) => !this.#inserted.has(name));
    if (added.length === 0) return;
    await insertSyncs(this.#parts.db, added, this.#parts.clock.now());
    for (const name of added) this.#inserted.add(name);
  }

  async #sync(businessAccount: BusinessAccount, claimed: ClaimedSync): Promise<void> {
    const { db, clock, node } = this.#parts;
    const { name, links } = businessAccount;
    const claim = keepClaim(this.#parts, name);
    const timeoutMs = isCreated(businessAccount) ? CREATED_SYNC_TIMEOUT_MS : SYNC_TIMEOUT_MS;
    const signal = AbortSignal.any([this.#stopping.signal, claim.lost, AbortSignal.timeout(timeoutMs)]);
    let outcome: SyncResult | SyncStop;
    try {
      outcome = await syncTemplates(this.#parts, businessAccount, { isHeld: () => claim.isHeld() && !signal.aborted, signal });
    } finally {
      await claim.end();
    }
    // An aborted sync says nothing about the carrier.
    const isBrokenOff = this.#stopping.signal.aborted || claim.lost.aborted;
    const end: SyncResult | SyncStop = isBrokenOff && outcome.kind !== "synced" ? { kind: "lost" } : outcome;
    this.#outcomes.inc({ link: links[0].name, outcome: end.kind });
    const nowMs = clock.now();
    switch (end.kind) {
      case "lost":
        return releaseSync(db, name, node, nowMs);
      case "synced":
        this.#logResult(businessAccount, end.tally, claimed);
        return finishSync(db, name, node, { nowMs, againMs: end.tally.left > 0 ? MORE_MS : EVERY_MS });
      case "unavailable":
      case "throttled":
      case "blocked":
        if (end.reason !== claimed.last_error)
          this.#parts.log.warn(
            { event: "templates.sync_refused", link: links[0].name, outcome: end.kind, reason: end.reason },
            "templates cannot be synced with the carrier",
          );
        return failSync(db, name, node, { nowMs, error: end.reason, againMs: waitMs(end, claimed.failures) });
      default:
        return unreachable(end);
    }
  }

  #logResult({ name, links }: BusinessAccount, tally: Tally, { last_error: error }: ClaimedSync): void {
    const { log } = this.#parts;
    if (error !== null) log.info({ link: links[0].name }, "templates are synced with the carrier again");
    const isNews = tally.submitted + tally.removed + tally.imported > 0 || tally.skipped !== (this.#skipped.get(name) ?? 0);
    this.#skipped.set(name, tally.skipped);
    if (isNews) log.info({ link: links[0].name, ...tally }, "templates were synced with the carrier");
  }
}

/** Renews the claim of a business account during its sync. `lost` is aborted when another node has the claim. */
function keepClaim({ db, clock, node, log }: SyncerParts, businessAccount: string) {
  const lost = new AbortController();
  // On the monotonic clock, taken before the renewal: a process that was frozen does not believe that it still has the claim.
  let heldAt = performance.now();
  const renewing = new RepeatingJob({
    onError: (error) =>
      log.warn({ event: "templates.claim_not_renewed", ...errorFields(error) }, "the claim of a business account could not be renewed"),
  });
  renewing.repeat(async () => {
    const askedAt = performance.now();
    if (await renewSync(db, businessAccount, node, clock.now() + CLAIM_MS)) heldAt = askedAt;
    else lost.abort();
    return RENEW_EVERY_MS;
  });
  return { lost: lost.signal, isHeld: () => performance.now() - heldAt < CLAIM_MS - CALL_MS, end: () => renewing.stop() };
}
