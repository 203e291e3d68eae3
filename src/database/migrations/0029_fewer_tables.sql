-- Releases that know schema 27 or later work on this schema.
-- Four tables end. Nodes of release 0.2 find a view under the name of each; a later release removes the views.

-- True: the entry waits to become part of its account's hash chain. Nothing else about an entry changes.
alter table audit_events add column is_unsealed boolean not null default false;
drop trigger audit_events_are_final on audit_events;
create trigger audit_events_are_final before update on audit_events
  for each row when (to_jsonb(new) - 'is_unsealed' <> to_jsonb(old) - 'is_unsealed') execute function refuse_audit_change();
create trigger audit_events_are_kept before delete on audit_events
  for each row execute function refuse_audit_change();
update audit_events
   set is_unsealed = true
 where (account_id, id) in (select account_id, event_id from audit_unsealed);
drop table audit_unsealed;
create index audit_events_unsealed on audit_events (account_id, id) where is_unsealed;

create view audit_unsealed as
select account_id, id as event_id
  from audit_events
 where is_unsealed;
create function write_audit_unsealed() returns trigger language plpgsql as $$
begin
  if tg_op = 'DELETE' then
    update audit_events set is_unsealed = false where account_id = old.account_id and id = old.event_id;
    return old;
  end if;
  update audit_events set is_unsealed = true where account_id = new.account_id and id = new.event_id;
  return new;
end $$;
create trigger audit_unsealed_is_a_column instead of insert or delete on audit_unsealed
  for each row execute function write_audit_unsealed();


-- The last link that retention deletes the entry of stays, without its entry: verification continues from it. Nothing else about a link
-- changes.
alter table audit_chain rename to audit_links;
alter table audit_links alter column event_id drop not null;
drop trigger audit_chain_is_final on audit_links;
create trigger audit_links_are_final before update on audit_links
  for each row when (to_jsonb(new) <> to_jsonb(old) || '{"event_id": null}') execute function refuse_audit_change();
create trigger audit_links_are_kept before delete on audit_links
  for each row execute function refuse_audit_change();
insert into audit_links (account_id, sequence, hash)
select distinct on (account_id) account_id, sequence, hash
  from audit_checkpoints
 order by account_id, sequence desc;
drop table audit_checkpoints;

create view audit_chain as
select account_id, event_id, sequence, hash
  from audit_links
 where event_id is not null;
create view audit_checkpoints as
select account_id, sequence, hash, null::timestamptz as created_at
  from audit_links
 where event_id is null;
create function write_audit_checkpoint() returns trigger language plpgsql as $$
begin
  update audit_links set event_id = null where account_id = new.account_id and sequence = new.sequence;
  return new;
end $$;
create trigger audit_checkpoint_is_a_link instead of insert on audit_checkpoints
  for each row execute function write_audit_checkpoint();


-- No release after 0.2 learns the form of carrier ids. A link of 0.2 that is opened again learns it anew: it reads no row here, and
-- only warns that it cannot store one.
drop table link_receipt_ids;
create view link_receipt_ids as
select link, ''::text as account, ''::text as base, ''::text as letters, null::smallint as width, now() as learnt_at
  from link_cursors
 where false;


-- Minutes of usage are complete from this time on, and no earlier minute is stored. The nodes store their times in the same row, so this
-- change comes last.
alter table installation add column usage_minutes_since timestamptz not null default to_timestamp(0);
update installation
   set usage_minutes_since = (select since from usage_minutes_kept);
drop table usage_minutes_kept;
create view usage_minutes_kept as
select only_row, usage_minutes_since as since
  from installation;
