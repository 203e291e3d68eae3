/** The rights of a role that runs nodes and owns nothing: it reads and writes rows, and calls the functions of the schema, two of which create and
 *  drop weekly partitions with the rights of the owner. Only the owner applies migrations. */
import type { Database, Queryable } from "./database.ts";
import { sql } from "./sql.ts";
import { StartupError } from "./startup-error.ts";

/** `owner`: of the schema. Null without one. `foreignTables`: tables that the role does not own. `missing`: tables, sequences and functions that
 *  the role may not use as a node does. */
export type Rights = {
  role: string;
  mayCreate: boolean;
  owner: string | null;
  isOwner: boolean;
  foreignTables: number;
  missing: number;
};

/** Reads the rights of the role of this session. */
export async function readRights(db: Queryable): Promise<Rights> {
  const [row] = await db.rows<Rights>(sql`
    with owned as (
      select relowner as owner
        from pg_class
       where oid = to_regclass('schema_migrations')
    )
    select current_user::text as role,
           has_schema_privilege('public', 'create') as "mayCreate",
           (select pg_get_userbyid(owner) from owned) as owner,
           coalesce((select pg_has_role(owner, 'usage') from owned), false) as "isOwner",
           (select count(*)::integer
              from pg_class
             where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and not pg_has_role(relowner, 'usage')) as "foreignTables",
           ((select count(*)
               from pg_class
              where relowner = (select owner from owned) and relnamespace = 'public'::regnamespace
                and (relkind in ('r', 'p') and not (has_table_privilege(oid, 'select') and has_table_privilege(oid, 'insert')
                                                    and has_table_privilege(oid, 'update') and has_table_privilege(oid, 'delete'))
                     or relkind = 'S' and not has_sequence_privilege(oid, 'update')))
            + (select count(*)
                 from pg_proc
                where proowner = (select owner from owned) and pronamespace = 'public'::regnamespace
                  and not has_function_privilege(oid, 'execute')))::integer as missing`);
  return row ?? { role: "", mayCreate: false, owner: null, isOwner: false, foreignTables: 0, missing: 0 };
}

/** Gives a role the rights of a node, also to what later migrations of this owner create. */
export async function grantTo(db: Database, role: string): Promise<void> {
  const [found] = await db.rows<{ owner: string; exists: boolean; may_grant: boolean; has_all: boolean; may_create: boolean }>(sql`
    select pg_get_userbyid(relowner) as owner,
           node.oid is not null as exists,
           pg_has_role(relowner, 'usage') as may_grant,
           coalesce(pg_has_role(node.oid, relowner, 'member'), false) as has_all,
           coalesce(has_schema_privilege(node.oid, 'public', 'create'), false) as may_create
      from pg_class
      left join pg_roles node on node.rolname = ${role}
     where pg_class.oid = to_regclass('schema_migrations')`);
  if (found?.exists !== true)
    throw new StartupError(`there is no database role ${role}: create it first (docs/production.md, Two database roles)`);
  if (!found.may_grant)
    throw new StartupError(`only the owner of the schema can grant rights: run godwit migrate as the role ${found.owner}`);
  if (found.has_all) throw new StartupError(`the role ${role} has all rights of the owner ${found.owner} anyway: name another one`);
  // Functions of such a role can be called by others, such as by a person who repairs something as the owner.
  if (found.may_create)
    throw new StartupError(
      `the role ${role} may create objects in the schema public: revoke that first, such as by "revoke create on schema public from public"`,
    );
  const statements = await db.rows<{ text: string }>(sql`
    with owned as (
      select pg_get_userbyid(relowner) as name, relowner as id
        from pg_class
       where oid = to_regclass('schema_migrations')
    ), needed (kind, rights) as (
      values ('table', 'select, insert, update, delete'), ('sequence', 'usage, select, update'), ('function', 'execute')
    ), existing (kind, named) as (
      select case relkind when 'S' then 'sequence' else 'table' end, pg_class.oid::regclass::text
        from pg_class
        join owned on id = relowner
       where relnamespace = 'public'::regnamespace and relkind in ('r', 'p', 'v', 'S')
       union all
      select 'function', pg_proc.oid::regprocedure::text
        from pg_proc
        join owned on id = proowner
       where pronamespace = 'public'::regnamespace
    )
    select format('grant usage on schema public to %I', ${role}::text) as text
     union all
    select format('grant %s on %s %s to %I', rights, kind, named, ${role}::text)
      from existing
      join needed using (kind)
     union all
    select format('alter default privileges for role %I in schema public grant %s on %ss to %I', name, rights, kind, ${role}::text)
      from owned
     cross join needed`);
  // One transaction.
  await db.script(statements.map(({ text }) => text).join(";\n"));
}
