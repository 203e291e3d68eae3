/** The records of the links that an account can see: its own, and those of the operator. */
import { encodeId } from "../model/id.ts";
import { isoTime } from "../lib/time.ts";
import { uuidTimeMs } from "../lib/uuid.ts";
import { listLinksFor, type CreatedDetails, type LinkRecord } from "./link-record.ts";
import type { Link } from "./link.ts";
import type { Queryable } from "../database/database.ts";
import type { Owner } from "../model/owner.ts";
import { readPauses } from "./setup-queries.ts";
import type { Setup } from "./setup.ts";
import { readStored, readStoredLinks, type StoredLink } from "./stored-link.ts";

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
  const usable = stored.map((each) => (each.row === undefined ? readStored(each, setup.gate) : setup.linkReader.read(each.row)));
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
