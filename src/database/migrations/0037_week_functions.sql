-- Releases that know schema 27 or later work on this schema.
-- The weekly partitions are created and dropped by two functions with the rights of the owner of the schema, so that nodes can use a role that owns
-- nothing (src/database/runtime-role.ts). Each builds every name from one of three tables and the Monday of a week. Only names of PostgreSQL are found by themselves:
-- a caller who may create functions or operators in the schema could have them called here otherwise, and temporary tables would hide others.

-- Creates the partition of a week. Rows of the week in the default partition are moved, if they are at most `most`. Returns how many there are: if
-- there are more, the partition is not created.
create function create_week(of_table text, week date, most integer)
returns integer
strict
volatile
language plpgsql
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  parent constant text := format('public.%I', of_table);
  partition constant text := format('public.%I', of_table || to_char(week, '_YYYYMMDD'));
  default_table constant text := format('public.%I', of_table || '_default');
  -- A message changes a few times in its first seconds: with half a page free, each change stays on the page of the message. An event never
  -- changes, and most deliveries are written once.
  options constant text := case of_table when 'messages' then 'with (fillfactor = 50)' else '' end;
  -- An id begins with its time in milliseconds.
  first_id constant uuid := rpad(lpad(to_hex(extract(epoch from week)::bigint * 1000), 12, '0'), 32, '0')::uuid;
  next_id constant uuid := rpad(lpad(to_hex(extract(epoch from week + 7)::bigint * 1000), 12, '0'), 32, '0')::uuid;
  bounds constant text := format('for values from (%L) to (%L)', first_id, next_id);
  rows integer;
begin
  if of_table not in ('messages', 'events', 'webhook_deliveries')
     or extract(isodow from week) <> 1 or week not between '2000-01-01' and '2999-12-31' then
    raise exception 'no week of a table: % %', of_table, week using errcode = 'invalid_parameter_value';
  end if;
  begin
    execute format('create table if not exists %s partition of %s %s %s', partition, parent, bounds, options);
    return 0;
  exception when check_violation then
    -- Rows of the week are in the default partition.
  end;
  execute format('select count(*) from (select from %s where id >= %L and id < %L limit %s) counted',
                 default_table, first_id, next_id, most + 1) into rows;
  if rows > most then
    return rows;
  end if;
  execute format('create table %s (like %s including all) %s', partition, parent, options);
  execute format('with moved as (delete from %s where id >= %L and id < %L returning *) insert into %s select * from moved',
                 default_table, first_id, next_id, partition);
  execute format('alter table %s attach partition %s %s', parent, partition, bounds);
  return rows;
end
$$;

-- Drops all tables of a week or none. No installation keeps a week for less than forty days after its end.
create function drop_week(week date)
returns void
strict
volatile
language plpgsql
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  tables text;
begin
  if extract(isodow from week) <> 1 or week not between '2000-01-01' and (now() at time zone 'UTC')::date - 7 - 40 then
    raise exception 'not an old week: %', week using errcode = 'invalid_parameter_value';
  end if;
  select string_agg(name, ', ')
    into tables
    from unnest(array['messages', 'events', 'webhook_deliveries']) of_table
   cross join lateral (select format('public.%I', of_table || to_char(week, '_YYYYMMDD'))) partition (name)
   where to_regclass(name) is not null;
  execute 'drop table ' || tables;
end
$$;

revoke execute on function create_week(text, date, integer), drop_week(date) from public;
