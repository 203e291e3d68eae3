/** The sender that a recipient knows: the one that an account last used to write to it, among the senders of a pool. */
import { BoundedMap } from "../lib/bounded-map.ts";
import { idKey } from "../model/id.ts";
import type { Recipient } from "../model/phone-number.ts";
import type { OwnedSender } from "../links/directory.ts";
import type { Queryable } from "../database/database.ts";
import type { Owner } from "../model/owner.ts";
import { findLastSender } from "./queries.ts";

type Person = Owner & { recipient: Recipient };

// The recipients of some minutes at a high rate. Others are looked up.
const MAX_PEOPLE = 20_000;

export class LastSenders {
  readonly #db: Queryable;
  /** The last choices of this node, of messages that may not be stored yet. */
  readonly #noted = new BoundedMap<string, string>(MAX_PEOPLE);

  constructor(db: Queryable) {
    this.#db = db;
  }

  /** Returns the last sender, or null if none of the pool is known to the recipient. */
  async find(person: Person, pool: readonly OwnedSender[]): Promise<string | null> {
    const noted = this.#noted.get(keyOf(person));
    if (noted !== undefined && pool.some(({ number }) => number === noted)) return noted;
    return findLastSender(
      this.#db,
      person,
      pool.map(({ number }) => number),
    );
  }

  note(person: Person, sender: string): void {
    this.#noted.renew(keyOf(person), sender);
  }
}

const keyOf = ({ accountId, environment, recipient }: Person): string => `${environment} ${recipient} ${idKey(accountId)}`;
