/** The links that accounts have created, as they are stored and as accounts see them: their own, and those of the operator. */
import { encodeId, type AccountId } from "../lib/id.ts";
import type { SecretBox } from "../lib/secret-box.ts";
import { isoTime } from "../lib/time.ts";
import { uuidTimeMs } from "../lib/uuid.ts";
import { listLinksFor, type CreatedDetails, type LinkRecord } from "../links/link-record.ts";
import { LINK_KINDS } from "../links/link-settings.ts";
import { simulatorLink, type Link } from "../links/link.ts";
import type { Queryable } from "../storage/database.ts";
import type { Owner } from "../storage/owner.ts";
import { readCreatedLink, type LinkDefinition, type LinkSecrets } from "./link-definition.ts";
import type { LinkNetwork } from "./link-network.ts";
import { openSecrets } from "./link-secrets.ts";
import { readLinks, readPauses, type LinkRow } from "./queries.ts";
import type { Setup } from "./setup.ts";

/** A link with its secrets opened. Secrets that cannot be opened are missing: the account has to give them again. */
export type StoredLink = Omit<LinkRow, "definition" | "secrets"> & { definition: LinkDefinition; secrets: LinkSecrets };

const toStored = (box: SecretBox, row: LinkRow): StoredLink => ({
  ...row,
  definition: row.definition as LinkDefinition,
  secrets: openSecrets(box, row) ?? {},
});

/** The link, or why it cannot be opened: this version cannot read it, its secrets are missing, or the operator no longer allows its address.
 *  Such a link still belongs to its account, whose messages do not take other links for it. */
export type UsableLink = { link: Link; fault?: string };

export const toUsable = (box: SecretBox, network: LinkNetwork, row: LinkRow): UsableLink => readStored(toStored(box, row), network);

function readStored(stored: StoredLink, network: LinkNetwork): UsableLink {
  const read = readCreatedLink(toCreated(stored), network);
  if (read.kind === "read") return { link: read.link };
  const faults = read.kind === "refused" ? [read.fault] : read.faults;
  const texts = faults.map((fault) => ("pointer" in fault ? `${fault.pointer} ${fault.detail}` : fault.detail));
  return { link: toListedLink(stored), fault: `the link cannot be opened: ${texts.join(", ")}` };
}

/** A link as far as lists and the choice of links need it, without its secrets. */
export function toListedLink({ account_id: accountId, id, definition }: Omit<LinkRow, "secrets">): Link {
  const { provider, sender, country, rate, window } = definition as LinkDefinition;
  const { channels, defaults, rateName } = LINK_KINDS[provider];
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

/** The records of all links that an account can see. */
export async function listLinkRecords(setup: Setup, db: Queryable, owner: Owner): Promise<LinkRecord[]> {
  const stored = owner.environment === "live" ? await readStoredLinks(db, setup.box, owner.accountId) : [];
  const ofOperator = setup.linkChooser.linksFor(owner).filter(({ accountId }) => accountId === null);
  return recordsOf(setup, db, owner, { stored, ofOperator });
}

/** The record of one link of the account. */
export async function linkRecordOf(setup: Setup, db: Queryable, stored: StoredLink): Promise<LinkRecord> {
  const owner = { accountId: stored.account_id, environment: "live" } as const;
  const [record] = await recordsOf(setup, db, owner, { stored: [stored], ofOperator: [] });
  if (record === undefined) throw new Error("a link that was stored can be read");
  return record;
}

type Seen = { stored: readonly StoredLink[]; ofOperator: readonly Link[] };

async function recordsOf(setup: Setup, db: Queryable, owner: Owner, { stored, ofOperator }: Seen): Promise<LinkRecord[]> {
  const usable = stored.map((each) => readStored(each, setup.network));
  const own = usable.map(({ link }) => link);
  const nowMs = setup.now();
  const pauses = new Map((await readPauses(db, nowMs)).map(({ link, reason }) => [link, reason]));
  for (const { link, fault } of usable) if (fault !== undefined) pauses.set(link.name, fault);
  const details = new Map(stored.map((each) => [encodeId("lnk", each.id) as string, detailsOf(each)]));
  return listLinksFor(owner, db, [...ofOperator, ...own], { nowMs, details, pauses });
}

const detailsOf = ({ id, name, definition, secrets, updated_at: updatedAt, created_by: createdBy }: StoredLink): CreatedDetails => ({
  name,
  carrier: definition.carrier ?? null,
  settings: definition.settings,
  secrets: Object.keys(secrets).toSorted(),
  created_at: isoTime(uuidTimeMs(id)),
  updated_at: updatedAt.toISOString(),
  created_by: createdBy,
});
