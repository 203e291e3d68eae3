/** Reads the links of accounts from their rows: opens the secrets, checks the definition, and keeps the result until the row changes. A link
 *  with certificates takes milliseconds to check. */
import { idKey } from "../model/id.ts";
import type { SecretBox } from "../lib/secret-box.ts";
import type { AddressGate } from "../outbound/address-gate.ts";
import type { LinkRow } from "./setup-queries.ts";
import { toUsable, type UsableLink } from "./stored-link.ts";

export class LinkReader {
  readonly #box: SecretBox;
  readonly #gate: AddressGate;
  readonly #read = new Map<string, { revision: string; usable: UsableLink }>();

  constructor(box: SecretBox, gate: AddressGate) {
    this.#box = box;
    this.#gate = gate;
  }

  read(row: LinkRow): UsableLink {
    const known = this.find(row);
    if (known !== undefined) return known;
    const usable = toUsable(this.#box, this.#gate, row);
    this.#read.set(idKey(row.id), { revision: row.revision, usable });
    return usable;
  }

  /** The link of a row that was read before and has not changed. */
  find({ id, revision }: Pick<LinkRow, "id" | "revision">): UsableLink | undefined {
    const known = this.#read.get(idKey(id));
    return known?.revision === revision ? known.usable : undefined;
  }

  /** Forgets the links that no longer exist. */
  keep(rows: readonly Pick<LinkRow, "id">[]): void {
    const ids = new Set(rows.map(({ id }) => idKey(id)));
    for (const id of this.#read.keys()) if (!ids.has(id)) this.#read.delete(id);
  }
}
