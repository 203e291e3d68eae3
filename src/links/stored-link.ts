/** The links that accounts have created, as they are stored: their secrets are sealed with the secret key of the service. */
import { encodeId, idKey, type AccountId, type LinkId } from "../model/id.ts";
import type { SecretBox } from "../lib/secret-box.ts";
import { LINK_KINDS } from "./link-settings.ts";
import { simulatorLink, type Link } from "./link.ts";
import type { Queryable, Tx } from "../database/database.ts";
import { readCreatedLink, type LinkDefinition, type LinkSecrets } from "./link-definition.ts";
import type { AddressGate } from "../outbound/address-gate.ts";
import { unusable, type Pause } from "./pauses.ts";
import { readLinks, writeLink, writeSecrets, type LinkRow } from "./setup-queries.ts";

/** A link with its secrets opened. Secrets that cannot be opened are missing: the account has to give them again. The revision of a link that
 *  is new or changed is empty. */
export type StoredLink = Omit<LinkRow, "secrets"> & { secrets: LinkSecrets };

/** The link, and the pause of a link that cannot be opened: this version cannot read it, its secrets are missing, or the operator no longer allows its address.
 *  Such a link still belongs to its account, whose messages do not take other links for it. */
export type UsableLink = { link: Link; pause?: Pause };

const contextOf = (id: LinkId): string => `link ${encodeId("lnk", id)}`;

/** Returns undefined if the secrets were sealed with a key that the service does not have. */
function openSecrets(box: SecretBox, { id, secrets }: LinkRow): LinkSecrets | undefined {
  try {
    return JSON.parse(box.open(secrets, contextOf(id))) as LinkSecrets;
  } catch {
    return undefined;
  }
}

const sealSecrets = (box: SecretBox, id: LinkId, secrets: LinkSecrets): string => box.seal(JSON.stringify(secrets), contextOf(id));

const toStored = (box: SecretBox, row: LinkRow): StoredLink => ({ ...row, secrets: openSecrets(box, row) ?? {} });

/** The links of all accounts, as far as lists show them, without their secrets; and the names that people gave them. */
export async function readAllLinks(db: Queryable): Promise<{ links: Link[]; titles: ReadonlyMap<string, string> }> {
  const rows = await readLinks(db, null);
  return {
    links: rows.map(toListedLink),
    titles: new Map(rows.map(({ id, name }) => [encodeId("lnk", id) as string, name])),
  };
}

/** The links of an account, the oldest first. */
export const readStoredLinks = async (db: Queryable, box: SecretBox, accountId: AccountId): Promise<StoredLink[]> =>
  (await readLinks(db, accountId)).map((row) => toStored(box, row));

export const writeStoredLink = (tx: Tx, box: SecretBox, link: StoredLink): Promise<void> =>
  writeLink(tx, { ...link, secrets: sealSecrets(box, link.id, link.secrets) });

/** Seals all secrets with the current secret key, if the one before it was replaced. Secrets that cannot be opened do not change: their
 *  account has to give them again. */
export async function resealLinks(tx: Tx, box: SecretBox): Promise<void> {
  for (const row of await readLinks(tx, null)) {
    const secrets = openSecrets(box, row);
    if (secrets !== undefined) await writeSecrets(tx, { ...row, secrets: sealSecrets(box, row.id, secrets) });
  }
}

/** Reads links from what is stored, and keeps the result until it changes. A link with certificates takes milliseconds to check. */
export class LinkReader {
  readonly #box: SecretBox;
  readonly #gate: AddressGate;
  readonly #read = new Map<string, { revision: string; usable: UsableLink }>();

  constructor(box: SecretBox, gate: AddressGate) {
    this.#box = box;
    this.#gate = gate;
  }

  readRow(row: LinkRow): UsableLink {
    return this.read(toStored(this.#box, row));
  }

  read(stored: StoredLink): UsableLink {
    const known = this.find(stored);
    if (known !== undefined) return known;
    const usable = toUsable(stored, this.#gate);
    if (stored.revision !== "") this.#read.set(idKey(stored.id), { revision: stored.revision, usable });
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

function toUsable(stored: StoredLink, gate: AddressGate): UsableLink {
  const read = readCreatedLink(stored, gate);
  if (read.kind === "read") return { link: read.link };
  const faults = read.kind === "refused" ? [read.fault] : read.faults;
  const texts = faults.map((fault) => ("pointer" in fault ? `${fault.pointer} ${fault.detail}` : fault.detail));
  return { link: toListedLink(stored), pause: unusable(`the link cannot be opened: ${texts.join(", ")}`) };
}

/** The channels on which a link sends. */
export const sendingChannels = ({ provider, settings }: LinkDefinition): Link["channels"] =>
  settings["bind_mode"] === "receiver" ? [] : LINK_KINDS[provider].channels;

/** A link as far as lists and the choice of links need it, without its secrets. */
function toListedLink({ account_id: accountId, id, definition }: Pick<LinkRow, "account_id" | "id" | "definition">): Link {
  const { provider, sender, country, rate, window } = definition;
  const { defaults, rateName } = LINK_KINDS[provider];
  return {
    ...simulatorLink(1),
    name: encodeId("lnk", id),
    provider,
    source: "api",
    accountId,
    channels: sendingChannels(definition),
    sender: sender ?? null,
    country: country ?? null,
    settings: { ...defaults, ...(rate ? { [rateName]: rate } : {}), ...(window ? { window } : {}) },
  };
}
