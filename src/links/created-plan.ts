/** Follows the links, senders and routes that accounts create, and the pauses of links. A node applies its own changes at once, and those of
 *  other nodes when they announce them, or with the next look at the version of the tables. */
import { setImmediate } from "node:timers/promises";
import { RepeatingJob } from "../lib/background-job.ts";
import { uuidFromText, uuidToText } from "../lib/uuid.ts";
import { encodeId, idKey, type AccountId } from "../model/id.ts";
import { reportError, type Log } from "../model/log.ts";
import { actorText, carrierOrigin } from "../model/origin.ts";
import type { CreatedRecords, LinkDirectory } from "./directory.ts";
import type { Announcer } from "../queue/announcer.ts";
import type { Clock } from "../database/database-clock.ts";
import type { Database } from "../database/database.ts";
import { readPauses, writePause, type Pause, type Pauses } from "./pauses.ts";
import { raiseVersion, readLinks, readVersion, type LinkRow, type RouteRecordRow, type SenderRow } from "./setup-queries.ts";
import type { SetupChange } from "./setup.ts";
import { readStoredRoutes, readStoredSenders } from "./stored-rules.ts";
import type { LinkReader, UsableLink } from "./stored-link.ts";

/** The name of the setup among the lanes that announcements name. */
const SETUP_LANE = "@setup";
// Less than every version.
const UNREAD = "-1";
// An announcement can be lost, and a pause that a carrier caused ends by itself.
const LOOK_EVERY_MS = 2_000;
// A person needs minutes to act. Messages that are sent after a pause, while the account is still blocked, fail.
const CARRIER_PAUSE_MS = 15 * 60_000;

export type CreatedPlansParts = {
  db: Database;
  clock: Clock;
  linkReader: LinkReader;
  announcer: Announcer;
  linkDirectory: LinkDirectory;
  log: Log;
};

export class CreatedPlans {
  readonly #parts: CreatedPlansParts;
  readonly #job: RepeatingJob;
  #version = UNREAD;
  #pauses: Pauses = new Map();
  /** The records of each account, by the key of its id. */
  #records: ReadonlyMap<string, AccountRecords> = new Map();
  #applying: Promise<void> = Promise.resolve();

  constructor(parts: CreatedPlansParts) {
    this.#parts = parts;
    const onError = reportError(parts.log, "links.created_unread", "created links, senders and routes could not be read");
    this.#job = new RepeatingJob({ onError });
  }

  /** Reads the tables for the first time, before links are opened. */
  async load(): Promise<void> {
    await this.#read(await readVersion(this.#parts.db));
  }

  start(): void {
    const { announcer } = this.#parts;
    announcer.hear((lane, { group }) => {
      if (lane === SETUP_LANE) void this.#look(readChange(group)).catch(() => undefined);
    });
    this.#job.repeat(async () => {
      await this.#look();
      return LOOK_EVERY_MS;
    });
  }

  stop(): Promise<void> {
    return this.#job.stop();
  }

  /** Reads all tables again with the next look. A database that was recovered to an earlier time counts its versions again, from a lower one. */
  forgetVersion(): void {
    this.#version = UNREAD;
  }

  /** Applies a change that this node has committed, and announces it to the others. Resolves when new messages follow it. */
  readonly changed = async (change?: SetupChange): Promise<void> => {
    const group = change === undefined ? "*" : `${uuidToText(change.accountId)} ${change.version}`;
    this.#parts.announcer.announce(SETUP_LANE, { group, dueAtMs: 0 });
    // The change has committed: if this look fails, the next one follows it.
    await this.#look(change).catch(() => undefined);
  };

  /** Pauses a link for a while if its carrier blocks the account. The pause ends by itself, because a carrier may lift the block at any time. */
  async pauseByCarrier(link: string, reason: string): Promise<void> {
    const { db, clock, log } = this.#parts;
    const endsAt = new Date(clock.now() + CARRIER_PAUSE_MS);
    const isNew = await db.transaction(async (tx) => {
      const isPaused = (await readPauses(tx, clock.now())).has(link);
      const pause: Pause = { kind: "carrier", detail: reason, endsAt, by: actorText(carrierOrigin(link).actor) };
      if (!isPaused && (await writePause(tx, link, pause))) await raiseVersion(tx);
      return !isPaused;
    });
    if (!isNew) return;
    log.error({ event: "links.paused", link, reason }, "the link is paused: its carrier blocks the account");
    await this.changed();
  }

  /** Reads the tables again if they have changed, one look after the other. */
  async #look(change?: SetupChange): Promise<void> {
    const look = this.#applying.then(() => this.#lookNow(change));
    this.#applying = look.catch(() => undefined);
    await look;
  }

  async #lookNow(change: SetupChange | undefined): Promise<void> {
    const { db, clock } = this.#parts;
    const version = await readVersion(db);
    const nowMs = clock.now();
    const hasEnded = this.#pauses.values().some(({ endsAt }) => endsAt !== null && endsAt.getTime() <= nowMs);
    if (version === this.#version && !hasEnded) return;
    // This change is the only one since the last look, so the rows of the other accounts are the same.
    const isOnlyOne = change?.version === version && BigInt(version) === BigInt(this.#version) + 1n;
    await this.#read(version, isOnlyOne ? change.accountId : null);
  }

  /** Reads the rows of an account, or of all. */
  async #read(version: string, accountId: AccountId | null = null): Promise<void> {
    const { db, clock, linkDirectory, linkReader } = this.#parts;
    const [links, senders, routes, pauses] = await Promise.all([
      this.#readLinks(accountId),
      readStoredSenders(db, accountId),
      readStoredRoutes(db, accountId),
      readPauses(db, clock.now()),
    ]);
    const records = new Map(accountId === null ? [] : this.#records);
    if (accountId !== null) records.delete(idKey(accountId));
    addRecords(records, { links, senders: senders.filter(isReadable), routes: routes.filter(isReadable) });
    const all = [...records.values()];
    linkReader.keep(all.flatMap((each) => each.links));
    const usable = all.flatMap((each) => each.links.map((link) => link.usable));
    const created: CreatedRecords = {
      links: usable.map(({ link }) => link),
      senders: all
        .flatMap((each) => each.senders)
        .map((row) => ({
          ...row.definition,
          source: "api",
          accountId: row.account_id,
          environment: "live",
          number: row.number,
          link: encodeId("lnk", row.link_id),
        })),
      routes: all
        .flatMap((each) => each.routes)
        .map((row) => ({ ...row.definition, id: encodeId("rte", row.id), source: "api", accountId: row.account_id })),
      pauses: new Map([...pauses, ...usable.flatMap(({ link, pause }) => (pause ? [[link.name, pause] as const] : []))]),
    };
    linkDirectory.replaceCreated(created);
    this.#version = version;
    this.#records = records;
    this.#pauses = pauses;
  }

  /** Reads the links of an account, or all. The reader keeps those that have not changed. */
  async #readLinks(accountId: AccountId | null): Promise<ReadLinkRow[]> {
    const { db, linkReader, log } = this.#parts;
    const rows = await readLinks(db, accountId);
    const all: ReadLinkRow[] = [];
    for (const row of rows) {
      const known = linkReader.find(row);
      const usable = known ?? linkReader.readRow(row);
      all.push({ account_id: row.account_id, id: row.id, usable });
      if (known !== undefined) continue;
      const { link, pause } = usable;
      if (pause !== undefined)
        log.warn({ event: "links.created_refused", link: link.name, fault: pause.detail }, "a created link is not opened");
      // A link takes up to some milliseconds, and there may be thousands.
      await setImmediate();
    }
    return all;
  }
}

type ReadLinkRow = Pick<LinkRow, "account_id" | "id"> & { usable: UsableLink };
type AccountRecords = { links: ReadLinkRow[]; senders: SenderRow[]; routes: RouteRecordRow[] };

/** Adds rows to the records of their accounts. */
function addRecords(records: Map<string, AccountRecords>, { links, senders, routes }: AccountRecords): void {
  const recordsOf = ({ account_id: accountId }: { account_id: AccountId }): AccountRecords => {
    const found = records.get(idKey(accountId)) ?? { links: [], senders: [], routes: [] };
    records.set(idKey(accountId), found);
    return found;
  };
  for (const row of links) recordsOf(row).links.push(row);
  for (const row of senders) recordsOf(row).senders.push(row);
  for (const row of routes) recordsOf(row).routes.push(row);
}

/** The change that another node announced; undefined if it is not the change of one account. */
function readChange(group: string): SetupChange | undefined {
  const [, account, version = ""] = /^([0-9a-f-]{36}) (\d{1,19})$/.exec(group) ?? [];
  return account === undefined ? undefined : { accountId: uuidFromText(account) as AccountId, version };
}

const isReadable = ({ fault }: { fault?: string | undefined }): boolean => fault === undefined;
