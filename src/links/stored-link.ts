/** The links that accounts have created, as they are stored. */
import { encodeId, type AccountId } from "../model/id.ts";
import type { SecretBox } from "../lib/secret-box.ts";
import { LINK_KINDS } from "./link-settings.ts";
import { simulatorLink, type Link } from "./link.ts";
import type { Queryable } from "../database/database.ts";
import { readCreatedLink, type LinkDefinition, type LinkSecrets } from "./link-definition.ts";
import type { AddressGate } from "../outbound/address-gate.ts";
import { openSecrets } from "./link-secrets.ts";
import { readLinks, type LinkRow } from "./setup-queries.ts";

/** A link with its secrets opened. Secrets that cannot be opened are missing: the account has to give them again. */
export type StoredLink = Omit<LinkRow, "definition" | "secrets" | "revision"> & {
  definition: LinkDefinition;
  secrets: LinkSecrets;
  /** Absent where the link is new, or was changed. */
  row?: LinkRow;
};

function toStored(box: SecretBox, row: LinkRow): StoredLink {
  const { revision: _, ...fields } = row;
  return { ...fields, definition: row.definition as LinkDefinition, secrets: openSecrets(box, row) ?? {}, row };
}

/** The link, or why it cannot be opened: this version cannot read it, its secrets are missing, or the operator no longer allows its address.
 *  Such a link still belongs to its account, whose messages do not take other links for it. */
export type UsableLink = { link: Link; fault?: string };

export const toUsable = (box: SecretBox, gate: AddressGate, row: LinkRow): UsableLink => readStored(toStored(box, row), gate);

export function readStored(stored: StoredLink, gate: AddressGate): UsableLink {
  const read = readCreatedLink(toCreated(stored), gate);
  if (read.kind === "read") return { link: read.link };
  const faults = read.kind === "refused" ? [read.fault] : read.faults;
  const texts = faults.map((fault) => ("pointer" in fault ? `${fault.pointer} ${fault.detail}` : fault.detail));
  return { link: toListedLink(stored), fault: `the link cannot be opened: ${texts.join(", ")}` };
}

/** The channels on which a link sends. */
export const sendingChannels = ({ provider, settings }: LinkDefinition): Link["channels"] =>
  settings["bind_mode"] === "receiver" ? [] : LINK_KINDS[provider].channels;

/** A link as far as lists and the choice of links need it, without its secrets. */
export function toListedLink({ account_id: accountId, id, definition }: Pick<LinkRow, "account_id" | "id" | "definition">): Link {
  const { provider, sender, country, rate, window } = definition as LinkDefinition;
  const { defaults, rateName } = LINK_KINDS[provider];
  const channels = sendingChannels(definition as LinkDefinition);
  return {
    ...simulatorLink(1),
    name: encodeId("lnk", id),
    provider,
    accountId,
    channels,
    sender: sender ?? null,
    country: country ?? null,
    settings: { ...defaults, ...(rate ? { [rateName]: rate } : {}), ...(window ? { window } : {}) },
  };
}

/** The links of an account, the oldest first. */
export const readStoredLinks = async (db: Queryable, box: SecretBox, accountId: AccountId): Promise<StoredLink[]> =>
  (await readLinks(db, accountId)).map((row) => toStored(box, row));

export const toCreated = ({ account_id: accountId, id, definition, secrets }: StoredLink) => ({
  accountId,
  id: encodeId("lnk", id),
  definition,
  secrets,
});
