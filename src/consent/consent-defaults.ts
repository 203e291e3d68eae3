/** The consent settings of the configuration file: the defaults of the environments that it names. */
import { compile } from "../http/validate.ts";
import type { AccountId } from "../model/id.ts";
import { checkTable, namedTables } from "../links/plan.ts";
import type { Owner } from "../model/owner.ts";
import { ConsentTable, wordFaults, type SomeSettings } from "./consent-settings.ts";

const CONSENT = compile(ConsentTable, "body");
// A table is checked as a whole: `checkTable` reports the faults of its words like those of its members.
const validate = (table: unknown) => {
  const faults = CONSENT(table);
  return faults.length > 0 ? faults : wordFaults(table as Readonly<Record<string, unknown>>);
};

/** Reads the `[[consent]]` tables. Every fault is reported. */
export function readConsent(tables: unknown, faults: string[]): ConsentTable[] {
  const read = namedTables(tables, "consent", faults).flatMap(
    (table, index) => (checkTable(validate, table, `consent ${index + 1}`, faults) as ConsentTable | undefined) ?? [],
  );
  read.forEach(({ account, environment }, index) => {
    const isTwice = read.slice(0, index).some((other) => other.account === account && other.environment === environment);
    if (isTwice) faults.push(`consent ${index + 1}: ${account} has another table for ${environment}`);
  });
  return read;
}

export class ConsentDefaults {
  #byOwner: ReadonlyMap<string, SomeSettings> = new Map();

  /** Follows other tables. `accounts` has the ids of the accounts that they name. */
  replace(tables: readonly ConsentTable[], accounts: ReadonlyMap<string, AccountId>): void {
    this.#byOwner = new Map(
      tables.flatMap(({ account, environment, ...settings }) => {
        const accountId = accounts.get(account);
        return accountId === undefined ? [] : [[ownerKey({ accountId, environment }), settings]];
      }),
    );
  }

  of(owner: Owner): SomeSettings {
    return this.#byOwner.get(ownerKey(owner)) ?? {};
  }
}

const ownerKey = ({ accountId, environment }: Owner): string => `${accountId.toString("hex")} ${environment}`;
