/** Follows the links, senders and routes that accounts create, and the pauses of links. A node applies its own changes at once, and those of
 *  other nodes when they announce them, or with the next look at the version of the tables. */
import { RepeatingJob } from "../lib/background-job.ts";
import { encodeId } from "../model/id.ts";
import { reportError, type Log } from "../model/log.ts";
import { actorText, carrierOrigin } from "../model/origin.ts";
import type { CreatedRecords, LinkDirectory } from "./directory.ts";
import type { Announcer } from "../queue/announcer.ts";
import type { Clock } from "../database/database-clock.ts";
import type { Database } from "../database/database.ts";
import { readPauses, writePause, type Pause, type Pauses } from "./pauses.ts";
import { raiseVersion, readLinks, readRoutes, readSenders, readVersion } from "./setup-queries.ts";
import type { LinkReader, UsableLink } from "./stored-link.ts";

/** The name of the setup among the lanes that announcements name. */
const SETUP_LANE = "@setup";
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
  #version = "";
  #pauses: Pauses = new Map();
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
    announcer.hear((lane) => {
      if (lane === SETUP_LANE) void this.#look().catch(() => undefined);
    });
    this.#job.repeat(async () => {
      await this.#look();
      return LOOK_EVERY_MS;
    });
  }

  stop(): Promise<void> {
    return this.#job.stop();
  }

  /** Applies a change that this node has committed, and announces it to the others. Resolves when new messages follow it. */
  async changed(): Promise<void> {
    this.#parts.announcer.announce(SETUP_LANE, { group: "*", dueAtMs: 0 });
    // The change has committed: if this look fails, the next one follows it.
    await this.#look().catch(() => undefined);
  }

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
  async #look(): Promise<void> {
    const look = this.#applying.then(() => this.#lookNow());
    this.#applying = look.catch(() => undefined);
    await look;
  }

  async #lookNow(): Promise<void> {
    const { db, clock } = this.#parts;
    const version = await readVersion(db);
    const nowMs = clock.now();
    const hasEnded = this.#pauses.values().some(({ endsAt }) => endsAt !== null && endsAt.getTime() <= nowMs);
    if (version !== this.#version || hasEnded) await this.#read(version);
  }

  async #read(version: string): Promise<void> {
    const { db, clock, linkDirectory } = this.#parts;
    const [usable, senders, routes, pauses] = await Promise.all([
      this.#readLinks(),
      readSenders(db, null),
      readRoutes(db, null),
      readPauses(db, clock.now()),
    ]);
    const created: CreatedRecords = {
      links: usable.map(({ link }) => link),
      senders: senders.map((row) => ({
        ...row.definition,
        source: "api",
        accountId: row.account_id,
        environment: "live",
        number: row.number,
        link: encodeId("lnk", row.link_id),
      })),
      routes: routes.map((row) => ({ ...row.definition, id: encodeId("rte", row.id), source: "api", accountId: row.account_id })),
      pauses: new Map([...pauses, ...usable.flatMap(({ link, pause }) => (pause ? [[link.name, pause] as const] : []))]),
    };
    linkDirectory.replaceCreated(created);
    this.#version = version;
    this.#pauses = pauses;
  }

  /** Reads all links. The reader keeps those that have not changed. */
  async #readLinks(): Promise<UsableLink[]> {
    const { db, linkReader, log } = this.#parts;
    const rows = await readLinks(db, null);
    linkReader.keep(rows);
    return rows.map((row) => {
      const known = linkReader.find(row);
      if (known !== undefined) return known;
      const usable = linkReader.readRow(row);
      const { link, pause } = usable;
      if (pause !== undefined)
        log.warn({ event: "links.created_refused", link: link.name, fault: pause.detail }, "a created link is not opened");
      return usable;
    });
  }
}
