/** Exports the data of a person as a stream of lines, at the pace of the client. An export is recorded in the audit log before its first byte. */
import type { Credential } from "../access/authenticate.ts";
import type { Limiter } from "../access/limiter.ts";
import type { RecipientHasher } from "../access/recipient-hash.ts";
import { recordChange } from "../audit/record-change.ts";
import { Problem } from "../http/problem.ts";
import { idKey } from "../model/id.ts";
import type { ChangeOrigin } from "../model/origin.ts";
import type { Recipient } from "../model/phone-number.ts";
import { pause } from "../lib/wait.ts";
import type { Clock } from "../database/database-clock.ts";
import type { Database } from "../database/database.ts";
import { exportLines, type ReadPage } from "./export-lines.ts";

// A slow client keeps its export open, which costs a page of memory.
const MAX_EXPORTS = 20;
const MAX_EXPORTS_EACH = 2;
// A page of messages, or as many pages of entries of timelines, cost one request of the quota.
const READS_PER_CHARGE = 30;
const QUOTA_PAUSE_MS = 250;
const CHECK_EVERY_MS = 5_000;

export type RecipientExporterParts = {
  db: Database;
  clock: Clock;
  hasher: RecipientHasher;
  limiter: Pick<Limiter, "take">;
  /** Runs the query of a page when it is the account's turn. */
  readInTurn: <T>(owner: Credential, work: () => Promise<T>) => Promise<T>;
};

export type ExportCall = {
  credential: Credential;
  origin: () => ChangeOrigin;
  /** Whether the credential is still valid. */
  isAdmitted: () => Promise<boolean>;
  /** Aborted when the client disconnects or the service stops. */
  gone: () => AbortSignal;
};

/** Ends an export early. The client sees it by the missing last line. */
class ExportEnded extends Error {
  override name = "ExportEnded";
}

export class RecipientExporter {
  readonly #parts: RecipientExporterParts;
  /** The open exports of each account. */
  readonly #open = new Map<string, number>();

  constructor(parts: RecipientExporterParts) {
    this.#parts = parts;
  }

  get count(): number {
    return this.#open.values().reduce((sum, each) => sum + each, 0);
  }

  /** Resolves when the export is recorded. Throws when there are too many exports. */
  async open(call: ExportCall, recipient: Recipient): Promise<AsyncGenerator<string>> {
    const account = idKey(call.credential.accountId);
    const mine = this.#open.get(account) ?? 0;
    if (mine >= MAX_EXPORTS_EACH) throw tooManyExports("this account");
    if (this.count >= MAX_EXPORTS) throw tooManyExports("this server");
    this.#open.set(account, mine + 1);
    try {
      await this.#record(call, recipient);
    } catch (error) {
      this.#close(account);
      throw error;
    }
    return this.#frames(call, recipient);
  }

  #close(account: string): void {
    const left = (this.#open.get(account) ?? 1) - 1;
    if (left === 0) this.#open.delete(account);
    else this.#open.set(account, left);
  }

  #record({ credential, origin }: ExportCall, recipient: Recipient): Promise<void> {
    const { db, clock, hasher } = this.#parts;
    const target = { type: "recipient", id: hasher.hash(credential.accountId, recipient) } as const;
    return db.transaction((tx) =>
      recordChange(tx, clock.now(), { ...credential, origin: origin() }, { action: "recipient.exported", target }),
    );
  }

  async *#frames(call: ExportCall, recipient: Recipient): AsyncGenerator<string> {
    const { accountId, environment } = call.credential;
    const counts: Record<string, number> = {};
    try {
      const lines = exportLines({ accountId, environment, recipient }, this.#reader(call), () => this.#parts.clock.now());
      for await (const { object, text } of lines) {
        counts[object] = (counts[object] ?? 0) + 1;
        yield `${text}\n`;
      }
      yield `${JSON.stringify({ object: "export_end", environment, counts })}\n`;
    } catch (error) {
      if (!(error instanceof ExportEnded)) throw error;
    } finally {
      this.#close(idKey(accountId));
    }
  }

  /** Reads pages, at the pace that the quota and the turns of accounts allow. */
  #reader(call: ExportCall): ReadPage {
    const signal = call.gone();
    let reads = 0;
    let checkedAt = performance.now();
    return async (query) => {
      if (performance.now() - checkedAt > CHECK_EVERY_MS) {
        if (!(await call.isAdmitted())) throw new ExportEnded();
        checkedAt = performance.now();
      }
      // The request itself has paid for the first reads.
      if (reads > 0 && reads % READS_PER_CHARGE === 0) await this.#charge(call, signal);
      reads += 1;
      if (signal.aborted) throw new ExportEnded();
      return this.#parts.readInTurn(call.credential, () => query(this.#parts.db));
    };
  }

  /** Waits until the quota has a request left for this export. */
  async #charge({ credential }: ExportCall, signal: AbortSignal): Promise<void> {
    while (!signal.aborted && (await this.#parts.limiter.take(credential))?.isAdmitted === false) await pause(QUOTA_PAUSE_MS, signal);
  }
}

const tooManyExports = (whose: string): Problem =>
  new Problem("rate_limit_exceeded", { detail: `${whose} has reached its limit of open exports`, headers: { "retry-after": "10" } });
