/** The parts that the changes of links, senders and routes share. */
import type { AuditedChange } from "../audit/audit-event.ts";
import { recordChange } from "../audit/record-change.ts";
import { Problem } from "../http/problem.ts";
import { Once, type AuditedCall, type Executed, type Replay, type WriteResponse } from "../idempotency/once.ts";
import type { SecretBox } from "../lib/secret-box.ts";
import { isKnownCountry } from "../model/phone-number.ts";
import type { LinkChooser } from "./choose-links.ts";
import type { Clock } from "../database/database-clock.ts";
import type { Database, Tx } from "../database/database.ts";
import type { Owner } from "../model/owner.ts";
import type { AddressGate } from "../outbound/address-gate.ts";
import type { LinkReader } from "./link-reader.ts";
import { lockSetup, raiseVersion } from "./setup-queries.ts";

export type SetupParts = {
  db: Database;
  clock: Clock;
  box: SecretBox;
  gate: AddressGate;
  linkReader: LinkReader;
  linkChooser: LinkChooser;
  /** Applies a committed change on this node, and announces it to the others. */
  changed: () => Promise<void>;
};

export class Setup {
  readonly #parts: SetupParts;
  readonly #once: Once;

  constructor(parts: SetupParts) {
    this.#parts = parts;
    this.#once = new Once(parts.db, parts.clock, parts.box);
  }

  get db(): Database {
    return this.#parts.db;
  }

  get box(): SecretBox {
    return this.#parts.box;
  }

  get gate(): AddressGate {
    return this.#parts.gate;
  }

  get linkReader(): LinkReader {
    return this.#parts.linkReader;
  }

  get linkChooser(): LinkChooser {
    return this.#parts.linkChooser;
  }

  now(): number {
    return this.#parts.clock.now();
  }

  /** Runs a write of an account, one at a time for each account. */
  async write(call: AuditedCall, work: (tx: Tx) => Promise<WriteResponse | Problem>): Promise<Executed | Replay> {
    const response = await this.#once.write(call, async (tx) => {
      await lockSetup(tx, call.credential.accountId);
      const done = await work(tx);
      if (!(done instanceof Problem)) await raiseVersion(tx);
      return done;
    });
    if (response.kind === "executed" && response.status < 300) await this.#parts.changed();
    return response;
  }

  /** Runs a change that needs no idempotency key. */
  async change(work: (tx: Tx) => Promise<void>): Promise<void> {
    await this.#parts.db.transaction(async (tx) => {
      await work(tx);
      await raiseVersion(tx);
    });
    await this.#parts.changed();
  }

  record(tx: Tx, { credential, origin }: AuditedCall, change: AuditedChange): Promise<void> {
    return recordChange(tx, this.now(), { ...credential, origin: origin() }, change);
  }

  /** The problem of an id that names nothing that the account may see. */
  unknown(noun: "link" | "sender" | "route"): Problem {
    return new Problem("not_found", { detail: `no such ${noun} in this environment` });
  }

  /** The problem of an id that names nothing that the account may change. */
  missing({ environment }: Owner, id: string, noun: "link" | "sender" | "route"): Problem {
    const isOfFile = id.startsWith(FILE_PREFIX) || this.linkChooser.find(id)?.accountId === null;
    return environment === "live" && isOfFile ? new Problem("defined_in_file") : this.unknown(noun);
  }
}

/** The ids of senders and routes of the configuration file begin with this. */
export const FILE_PREFIX = "file:";

/** Links belong to `live`. `test` has the simulator. */
export function requireLive({ environment }: Owner): void {
  if (environment !== "live") throw new Problem("live_only");
}

/** Refuses codes that no country has: a rule for them would never take effect. */
export function requireCountries(countries: readonly string[] | null | undefined): void {
  const errors = (countries ?? []).flatMap((country, index) =>
    isKnownCountry(country) ? [] : [{ pointer: `/countries/${index}`, code: "unknown_value", detail: "is not a country code" }],
  );
  if (errors.length > 0) throw new Problem("invalid_request_payload", { errors });
}

export const limitReached = (detail: string): Problem => new Problem("limit_reached", { detail });
