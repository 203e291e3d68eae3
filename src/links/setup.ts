/** The changes of the links, senders and routes that accounts create. The three resources share their writes: each is one transaction with its
 *  idempotency key, its stored response and its entry in the audit log. */
import { recordChange } from "../audit/record-change.ts";
import type { AuditedChange } from "../audit/audit-event.ts";
import { Problem } from "../http/problem.ts";
import { createdByField, nullable, openEnum, timestamp } from "../http/schema.ts";
import type { AuditedCall, Executed, Once, Replay, WriteResponse } from "../idempotency/once.ts";
import type { SecretBox } from "../lib/secret-box.ts";
import { assert } from "../lib/assert.ts";
import { isoTime } from "../lib/time.ts";
import { uuidTimeMs, type Uuid } from "../lib/uuid.ts";
import { decodeId, newId, type AccountId } from "../model/id.ts";
import { actorText } from "../model/origin.ts";
import { isKnownCountry } from "../model/phone-number.ts";
import { FILE_PREFIX, type LinkDirectory } from "./directory.ts";
import type { Clock } from "../database/database-clock.ts";
import type { Database, Queryable, Tx } from "../database/database.ts";
import type { Owner } from "../model/owner.ts";
import type { AddressGate } from "../outbound/address-gate.ts";
import type { LinkReader } from "./stored-link.ts";
import { lockSetup, raiseVersion, type Stamps } from "./setup-queries.ts";

export type SetupContext = {
  db: Database;
  clock: Clock;
  box: SecretBox;
  gate: AddressGate;
  once: Once;
  linkReader: LinkReader;
  linkDirectory: LinkDirectory;
  /** Applies a committed change on this node, and announces it to the others. */
  changed: (change: SetupChange) => Promise<void>;
};

/** A committed change of an account, with the version of the tables that it made. */
export type SetupChange = { accountId: AccountId; version: string };

/** A write in its transaction. */
export type SetupWrite = { context: SetupContext; tx: Tx; call: AuditedCall };
/** `stamps`: of the new row. */
type Creation<Row extends Stored> = SetupWrite & { stamps: Stamps & Pick<Row, "id"> };

type Changes = Readonly<Record<string, unknown>>;

type Stored = Stamps & { id: Uuid };

/** The differences between the resources. `Row` is the stored form of a record. A refusal that is returned is stored with the idempotency key
 *  of the request; a fault of the request is thrown. */
type ResourceKind<Row extends Stored, Shown, New, Edit> = {
  noun: "link" | "sender" | "route";
  prefix: "lnk" | "snd" | "rte";
  /** The maximum number of rows of an account. */
  max: number;
  /** The records of the configuration file that an account can see. */
  listFile: (context: SetupContext, owner: Owner) => Shown[] | Promise<Shown[]>;
  readRows: (db: Queryable, accountId: AccountId, context: SetupContext) => Promise<Row[]>;
  /** The records of rows of one account. */
  records: (rows: readonly Row[], db: Queryable, context: SetupContext) => Shown[] | Promise<Shown[]>;
  create: (write: Creation<Row>, request: New, others: readonly Row[]) => Promise<{ row: Row; changes: Changes } | Problem>;
  /** `fields`: the names of the changed fields. The values may be secrets or numbers. */
  edit: (write: SetupWrite, request: Edit, found: Found<Row>) => Promise<{ row: Row; fields: readonly string[] } | Problem>;
  write: (tx: Tx, row: Row, context: SetupContext) => Promise<void>;
  /** Deletes a row. Returns what the audit log says about it. */
  delete: (tx: Tx, row: Row) => Promise<Changes | void>;
};

type Found<Row> = { row: Row; others: readonly Row[] };

const LIVE_ONLY =
  "this key belongs to test, where the simulator takes every message: use a key of live with the scope links:write, from the console under Keys or from godwit keys create --environment live";

/** A kind of record that accounts create. */
export class Resource<Row extends Stored, Shown extends { id: string }, New, Edit> {
  readonly #kind: ResourceKind<Row, Shown, New, Edit>;

  constructor(kind: ResourceKind<Row, Shown, New, Edit>) {
    this.#kind = kind;
  }

  get noun(): "link" | "sender" | "route" {
    return this.#kind.noun;
  }

  /** The records that an account can see: those of the configuration file first. */
  async list(context: SetupContext, owner: Owner): Promise<Shown[]> {
    const { listFile, readRows, records } = this.#kind;
    const rows = owner.environment === "live" ? await readRows(context.db, owner.accountId, context) : [];
    return [...(await listFile(context, owner)), ...(await records(rows, context.db, context))];
  }

  async record(context: SetupContext, db: Queryable, row: Row): Promise<Shown> {
    const [record] = await this.#kind.records([row], db, context);
    assert(record !== undefined, `a ${this.noun} that was stored can be read`);
    return record;
  }

  /** The record of an id that an account can see. */
  async find(context: SetupContext, owner: Owner, id: string): Promise<Shown> {
    const found = (await this.list(context, owner)).find((each) => each.id === id);
    if (found === undefined) throw this.#unknown();
    return found;
  }

  /** The row of an id that an account may change, and the other rows of the account. */
  async findRow(context: SetupContext, db: Queryable, owner: Owner, text: string): Promise<Found<Row>> {
    const { prefix, readRows } = this.#kind;
    const id = owner.environment === "live" ? decodeId(prefix, text) : undefined;
    const all = id === undefined ? [] : await readRows(db, owner.accountId, context);
    const row = all.find((each) => id !== undefined && each.id.equals(id));
    if (row !== undefined) return { row, others: all.filter((each) => each !== row) };
    const isOfFile = text.startsWith(FILE_PREFIX) || context.linkDirectory.current.find(text)?.source === "file";
    throw owner.environment === "live" && isOfFile ? new Problem("defined_in_file") : this.#unknown();
  }

  async create(context: SetupContext, call: AuditedCall, request: New): Promise<Executed | Replay> {
    const { noun, prefix, max, readRows, create, write } = this.#kind;
    // Links belong to `live`. `test` has the simulator.
    if (call.credential.environment !== "live") throw new Problem("live_only", { detail: LIVE_ONLY });
    return writeOnce(context, call, async (tx) => {
      const others = await readRows(tx, call.credential.accountId, context);
      if (others.length >= max) return new Problem("limit_reached", { detail: `an account can have at most ${max} ${noun}s` });
      const nowMs = context.clock.now();
      const stamps = {
        id: newId(prefix, nowMs) as Row["id"],
        account_id: call.credential.accountId,
        updated_at: new Date(nowMs),
        created_by: actorText(call.origin().actor),
      };
      const created = await create({ context, tx, call, stamps }, request, others);
      if (created instanceof Problem) return created;
      await write(tx, created.row, context);
      const shown = await this.record(context, tx, created.row);
      const { changes } = created;
      await recordSetup(context, tx, call, { action: `${noun}.created`, target: { type: noun, id: shown.id }, changes });
      return { status: 201, location: `/v1/${noun}s/${shown.id}`, body: JSON.stringify(shown), eventId: null };
    });
  }

  edit(context: SetupContext, call: AuditedCall, id: string, request: Edit): Promise<Executed | Replay> {
    const { noun, edit, write } = this.#kind;
    return writeOnce(context, call, async (tx) => {
      const edited = await edit({ context, tx, call }, request, await this.findRow(context, tx, call.credential, id));
      if (edited instanceof Problem) return edited;
      const { fields } = edited;
      const row = { ...edited.row, updated_at: new Date(context.clock.now()) };
      await write(tx, row, context);
      if (fields.length > 0)
        await recordSetup(context, tx, call, { action: `${noun}.changed`, target: { type: noun, id }, changes: { fields } });
      return { status: 200, location: null, body: JSON.stringify(await this.record(context, tx, row)), eventId: null };
    });
  }

  async delete(context: SetupContext, call: AuditedCall, id: string): Promise<void> {
    const { noun, delete: deleteRow } = this.#kind;
    const version = await context.db.transaction(async (tx) => {
      await lockSetup(tx, call.credential.accountId);
      const { row } = await this.findRow(context, tx, call.credential, id);
      const changes = await deleteRow(tx, row);
      await recordSetup(context, tx, call, { action: `${noun}.deleted`, target: { type: noun, id }, ...(changes && { changes }) });
      return raiseVersion(tx);
    });
    await context.changed({ accountId: call.credential.accountId, version });
  }

  #unknown(): Problem {
    return new Problem("not_found", { detail: `no such ${this.noun} in this environment` });
  }
}

/** Runs a write of an account, one at a time for each account. */
async function writeOnce(
  { once, changed }: SetupContext,
  call: AuditedCall,
  work: (tx: Tx) => Promise<WriteResponse | Problem>,
): Promise<Executed | Replay> {
  let version = "";
  const response = await once.write(call, async (tx) => {
    await lockSetup(tx, call.credential.accountId);
    const done = await work(tx);
    if (!(done instanceof Problem)) version = await raiseVersion(tx);
    return done;
  });
  if (response.kind === "executed" && response.status < 300) await changed({ accountId: call.credential.accountId, version });
  return response;
}

export const recordSetup = ({ clock }: SetupContext, tx: Tx, { credential, origin }: AuditedCall, change: AuditedChange): Promise<void> =>
  recordChange(tx, clock.now(), { ...credential, origin: origin() }, change);

export const sourceField = openEnum(
  ["file", "api"],
  "The origin. `file`: the configuration file of the operator; it cannot be changed here. `api`: created by the account.",
);

/** The last fields of every record. */
export const stampFields = (noun: string) => ({
  created_at: nullable(timestamp(`The time of creation. Null for a ${noun} of the configuration file.`)),
  updated_at: nullable(timestamp(`The time of the last change. Null for a ${noun} of the configuration file.`)),
  created_by: createdByField,
});

/** The stamps of a record; none for one of the configuration file. */
export const shownStamps = (row?: Stored) => ({
  created_at: row === undefined ? null : isoTime(uuidTimeMs(row.id)),
  updated_at: row?.updated_at.toISOString() ?? null,
  created_by: row?.created_by ?? null,
});

/** The fields that have a value. */
export const presentFields = <T extends object>(fields: { [K in keyof T]?: T[K] | null | undefined }): T =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null && value !== undefined)) as T;

/** Refuses codes that no country has: a rule for them would never take effect. */
export function requireCountries(countries: readonly string[] | null | undefined): void {
  const errors = (countries ?? []).flatMap((country, index) =>
    isKnownCountry(country) ? [] : [{ pointer: `/countries/${index}`, code: "unknown_value", detail: "is not a country code" }],
  );
  if (errors.length > 0) throw new Problem("invalid_request_payload", { errors });
}

/** The fault of a request that names a link that the account does not have. */
export const unknownLink = (pointer: string): Problem =>
  new Problem("invalid_request_payload", {
    errors: [{ pointer, code: "unknown_value", detail: "must be a link that this account has created" }],
  });
