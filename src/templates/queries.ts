/** All SQL of templates. */
import type { TemplateId } from "../model/id.ts";
import type { Uuid } from "../lib/uuid.ts";
import type { Channel } from "../links/channel.ts";
import type { Queryable, Tx } from "../database/database.ts";
import { lockOwner, OWNER_LOCKS } from "../database/locks.ts";
import type { Owner } from "../model/owner.ts";
import { rowReader, type StoredRow } from "../database/row-reader.ts";
import { readPage, scanStatement, type ListPage } from "../database/scan-page.ts";
import { prepare, sql, type Prepared, type Sql } from "../database/sql.ts";
import { MAX_TEMPLATES_EACH, readableTemplate, type Template, type TemplateStatus } from "./template.ts";

/** By id, archived or not, or by name, which an archived template does not have any more. With a version, the template has the content of that
 *  version; all other fields are current. */
export type Which = { id: TemplateId; version?: number } | { name: string };

const COLUMNS = `t.account_id, t.environment, t.id, t.name, t.language, t.category, t.channels, t.status, t.status_reason, t.updated_at,
       t.created_by, v.version, v.body, v.header, v.header_media, v.footer, v.buttons, v.examples`;

const readRow = rowReader<Template>(COLUMNS, ["updatedAtMs"]);
const toTemplate = (row: StoredRow): Template => readableTemplate(readRow(row));

const BY_ID = "t.id = $3";
const BY_NAME = "t.name = $3 and t.status <> 'archived'";

/** Joins the content of a version. A lateral probe with a limit keeps its plan also on a table without statistics; in a plain join the
 *  planner would take all versions of an environment for few. */
const joinContent = (version: string): string => `cross join lateral (select *
                       from template_versions
                      where account_id = $1 and environment = $2 and template_id = t.id and version = ${version}
                      limit 1) v`;

const find = (condition: string, version = "t.version"): Prepared =>
  prepare(`
select ${COLUMNS}
  from templates t
 ${joinContent(version)}
 where t.account_id = $1 and t.environment = $2 and ${condition}`);

const findById = find(BY_ID);
const findByName = find(BY_NAME);
const findOld = find(BY_ID, "$4");

export async function findTemplate(db: Queryable, { accountId, environment }: Owner, which: Which): Promise<Template | undefined> {
  const values = [accountId, environment];
  const statement = (): Sql => {
    if (!("id" in which)) return { ...findByName, values: [...values, which.name] };
    if (which.version === undefined) return { ...findById, values: [...values, which.id] };
    return { ...findOld, values: [...values, which.id, which.version] };
  };
  const [row] = await db.rows<StoredRow>(statement());
  return row && toTemplate(row);
}

const lock = (condition: string): Prepared =>
  prepare(`
select t.id
  from templates t
 where t.account_id = $1 and t.environment = $2 and ${condition}
   for update`);

const lockById = lock(BY_ID);
const lockByName = lock(BY_NAME);

/** Locks a template until the transaction ends. A second statement reads the content: the first may have waited for a change, and would
 *  then read the version that was the newest before that change. */
export async function lockTemplate(tx: Tx, owner: Owner, which: Which): Promise<Template | undefined> {
  const { accountId, environment } = owner;
  const [statement, value] = "id" in which ? [lockById, which.id] : [lockByName, which.name];
  const [row] = await tx.rows<{ id: TemplateId }>({ ...statement, values: [accountId, environment, value] });
  return row && findTemplate(tx, owner, { id: row.id });
}

/** The names of the templates of an environment except archived ones. */
export const templateNames = async (db: Queryable, { accountId, environment }: Owner): Promise<string[]> =>
  (
    await db.rows<{ name: string }>(sql`
  select name
    from templates
   where account_id = ${accountId} and environment = ${environment} and status <> 'archived'
   limit ${MAX_TEMPLATES_EACH}`)
  ).map(({ name }) => name);

/** Counts the templates of an environment except archived ones. Other transactions that add one wait for this transaction. */
export async function countTemplates(tx: Tx, owner: Owner): Promise<number> {
  const { accountId, environment } = owner;
  await lockOwner(tx, OWNER_LOCKS.templates, owner);
  const [row] = await tx.rows<{ count: number }>(sql`
  select count(*)::integer as count
    from templates
   where account_id = ${accountId} and environment = ${environment} and status <> 'archived'`);
  return row?.count ?? 0;
}

/** Returns false when another template has the name. */
export async function insertTemplate(tx: Tx, template: Template): Promise<boolean> {
  const { accountId, environment, id, name, language, category, channels, status, statusReason, version, updatedAtMs, createdBy } =
    template;
  const inserted = await tx.rows(sql`
  insert into templates (account_id, environment, id, name, language, category, channels, status, status_reason, version, updated_at,
                         created_by)
  values (${accountId}, ${environment}, ${id}, ${name}, ${language}, ${category}, ${channels}::text[], ${status}, ${statusReason},
          ${version}, to_timestamp(${updatedAtMs / 1_000}::float8), ${createdBy})
  on conflict (account_id, environment, name) where status <> 'archived' do nothing
  returning id`);
  if (inserted.length === 0) return false;
  await insertVersion(tx, template);
  return true;
}

/** Stores the current content of the template as a version, which never changes. */
export const insertVersion = (tx: Tx, template: Template): Promise<unknown[]> => {
  const { accountId, environment, id, version, body, header, headerMedia, footer, buttons, examples } = template;
  return tx.rows(sql`
  insert into template_versions (account_id, environment, template_id, version, body, header, header_media, footer, buttons,
                                 examples)
  values (${accountId}, ${environment}, ${id}, ${version}, ${body}, ${header}, ${headerMedia}, ${footer},
          ${buttons === null ? null : JSON.stringify(buttons)}::json, ${JSON.stringify(examples)}::json)`);
};

/** Writes everything of a template that can change, except its content. */
export const storeTemplate = (tx: Tx, template: Template): Promise<unknown[]> => {
  const { accountId, environment, id, language, category, channels, status, statusReason, version, updatedAtMs } = template;
  return tx.rows(sql`
  update templates
     set language = ${language}, category = ${category}, channels = ${channels}::text[], status = ${status},
         status_reason = ${statusReason}, version = ${version}, updated_at = to_timestamp(${updatedAtMs / 1_000}::float8)
   where account_id = ${accountId} and environment = ${environment} and id = ${id}`);
};

export type TemplateFilter = { before: Uuid; status: TemplateStatus | null; channel: Channel | null; name: string | null };

const listFrom = (templates: string): Prepared =>
  scanStatement({
    scan: `
  select id, name, status, channels
    from (${templates}) listed
   where id < $5`,
    filter: `($6::text is null or status = $6)
     and ($7::text is null or $7 = any (channels))
     and ($8::text is null or name = $8)`,
    whole: `
  select ${COLUMNS}
    from templates t
   ${joinContent("t.version")}
   where t.account_id = $1 and t.environment = $2 and t.id = found.id`,
  });

const where = (condition: string): string => `
          select id, name, status, channels
            from templates
           where account_id = $1 and environment = $2 and ${condition}`;

// Templates that are not archived are few, and the index of names has them. The offset keeps the planner from a scan by id, which would
// pass all archived ones.
const listKept = listFrom(`${where("status <> 'archived'")} offset 0`);
const listArchived = listFrom(where("status = 'archived'"));

/** A page of templates, newest first. Archived ones are included only on request. */
export async function listTemplates(db: Queryable, owner: Owner, filter: TemplateFilter, limit: number): Promise<ListPage<Template>> {
  const { before, status, channel, name } = filter;
  const statement = status === "archived" ? listArchived : listKept;
  const { items, next } = await readPage<StoredRow & { id: TemplateId }>(db, statement, {
    owner,
    limit,
    isFiltered: true,
    values: [before, status, channel, name],
  });
  return { items: items.map(toTemplate), next };
}
