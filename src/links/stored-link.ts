/** The links that accounts have created, as they are stored: their secrets are sealed with the secret key of the service. */
import { encodeId, idKey, type AccountId, type LinkId } from "../model/id.ts";
import type { SecretBox } from "../lib/secret-box.ts";
import type { Fault } from "../http/problem.ts";
import { isObject } from "../providers/carrier-fields.ts";
import { LINK_KINDS } from "./link-settings.ts";
import { simulatorLink, type Link } from "./link.ts";
import type { Queryable, Tx } from "../database/database.ts";
import { definitionFaults, readCreatedLink, type LinkDefinition, type LinkSecrets, type ReadLink } from "./link-definition.ts";
import type { AddressGate } from "../outbound/address-gate.ts";
import { unusable, type Pause } from "./pauses.ts";
import { readLinks, writeLink, writeSecrets, type LinkRow } from "./setup-queries.ts";

/** A link with its secrets opened. Secrets that cannot be opened are missing: the account has to give them again. The revision of a link that
 *  is new or changed is empty. `faults`: of a definition that this version cannot read; the link has a placeholder instead. */
export type StoredLink = Omit<LinkRow, "secrets"> & { secrets: LinkSecrets; faults?: readonly Fault[] };

/** The link, and the pause of a link that cannot be opened: this version cannot read it, its secrets are missing, or the operator no longer allows its address.
 *  Such a link still belongs to its account, whose messages do not take other links for it. */
export type UsableLink = { link: Link; pause?: Pause };

const contextOf = (id: LinkId): string => `link ${encodeId("lnk", id)}`;

/** Returns undefined if the secrets were sealed with a key that the service does not have. */
function openSecrets(box: SecretBox, { id, secrets }: LinkRow): LinkSecrets | undefined {
  try {
    const opened: unknown = JSON.parse(box.open(secrets, contextOf(id)));
    return isObject(opened) ? (opened as LinkSecrets) : undefined;
  } catch {
    return undefined;
  }
}

const sealSecrets = (box: SecretBox, id: LinkId, secrets: LinkSecrets): string => box.seal(JSON.stringify(secrets), contextOf(id));

const UNREADABLE: LinkDefinition = { provider: "smpp", settings: {} };

/** The row, with a placeholder for a definition that cannot be read. */
function readable<Row extends Pick<LinkRow, "definition">>(row: Row): Row & { faults?: readonly Fault[] } {
  const faults = definitionFaults(row.definition);
  return faults.length === 0 ? row : { ...row, definition: UNREADABLE, faults };
}

const toStored = (box: SecretBox, row: LinkRow): StoredLink => ({ ...readable(row), secrets: openSecrets(box, row) ?? {} });

type ListedRow = LinkRow & { faults?: readonly Fault[] };

/** The links of one account, or of all, without their secrets. */
export const readListedLinks = async (db: Queryable, accountId: AccountId | null): Promise<ListedRow[]> =>
  (await readLinks(db, accountId)).map(readable);

type AllLinks = { links: Link[]; titles: ReadonlyMap<string, string>; faults: ReadonlyMap<string, string> };

/** The links of all accounts, as far as lists show them, without their secrets; the names that people gave them, and the faults of those
 *  whose definition cannot be read. */
export async function readAllLinks(db: Queryable): Promise<AllLinks> {
  const rows = await readListedLinks(db, null);
  return {
    links: rows.map(toListedLink),
    titles: new Map(rows.map(({ id, name }) => [encodeId("lnk", id) as string, name])),
    faults: new Map(rows.flatMap(({ id, faults }) => (faults === undefined ? [] : [[encodeId("lnk", id), textOf(faults)]]))),
  };
}

const textOf = (faults: readonly Fault[]): string =>
  faults.map((fault) => ("pointer" in fault ? `${fault.pointer} ${fault.detail}` : fault.detail)).join(", ");

/** The links of an account, the oldest first. */
export const readStoredLinks = async (db: Queryable, box: SecretBox, accountId: AccountId): Promise<StoredLink[]> =>
  (await readLinks(db, accountId)).map((row) => toStored(box, row));

export const writeStoredLink = (tx: Tx, box: SecretBox, link: StoredLink): Promise<void> =>
  writeLink(tx, { ...link, secrets: sealSecrets(box, link.id, link.secrets) });

/** Seals all secrets with the current secret key, if the one before it was replaced. Secrets that cannot be opened do not change: their
 *  account has to give them again. */
export async function resealLinks(tx: Tx, box: SecretBox): Promise<void> {
  for (const row of await readLinks(tx, null)) {
    const secrets = box.reseal(row.secrets, contextOf(row.id));
    if (secrets !== undefined) await writeSecrets(tx, { ...row, secrets });
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
  const read = stored.faults === undefined ? tryRead(stored, gate) : ({ kind: "faulty", faults: stored.faults } as const);
  if (read.kind === "read") return { link: { ...read.link, title: stored.name } };
  const faults = read.kind === "refused" ? [read.fault] : read.faults;
  return { link: toListedLink(stored), pause: unusable(textOf(faults)) };
}

/** A link that cannot be read must not prevent the others from being read. Its account sees the error. */
function tryRead(stored: StoredLink, gate: AddressGate): ReadLink {
  try {
    return readCreatedLink(stored, gate);
  } catch (error) {
    return { kind: "faulty", faults: [{ pointer: "/settings", code: "invalid_value", detail: `cannot be read: ${String(error)}` }] };
  }
}

export const sendingChannels = ({ provider, settings }: LinkDefinition): Link["channels"] =>
  settings["bind_mode"] === "receiver" ? [] : LINK_KINDS[provider].channels;

/** A link as far as lists and the choice of links need it, without its secrets. */
function toListedLink({
  account_id: accountId,
  id,
  name: title,
  definition,
}: Pick<LinkRow, "account_id" | "id" | "name" | "definition">): Link {
  const { provider, sender, country, rate, window } = definition;
  const { defaults, rateName } = LINK_KINDS[provider];
  return {
    ...simulatorLink(1),
    name: encodeId("lnk", id),
    title,
    provider,
    source: "api",
    accountId,
    channels: sendingChannels(definition),
    sender: sender ?? null,
    country: country ?? null,
    settings: { ...defaults, ...(rate ? { [rateName]: rate } : {}), ...(window ? { window } : {}) },
  };
}
