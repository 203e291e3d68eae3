-- Releases that know schema 27 or later work on this schema.
-- The audit chain is keyed. Nodes of release 0.2 cannot compute a keyed hash: they leave sealing and the retention of the audit log to later
-- releases.

-- The key of the audit chains, sealed with the secret key.
alter table installation add column audit_key text;

-- Not null: retention has deleted the entries up to this link, and verification continues from it. The keyed hash shows that it was the
-- service. Only retention sets it, once, and nothing else about a link changes.
alter table audit_links add column checkpoint_mac bytea;
drop trigger audit_links_are_final on audit_links;
create trigger audit_links_are_final before update on audit_links
  for each row when (to_jsonb(new) - 'checkpoint_mac' <> to_jsonb(old) - 'checkpoint_mac'
                     or old.checkpoint_mac is not null
                     or current_setting('godwit.audit_retention', true) is distinct from 'on')
  execute function refuse_audit_change();

create or replace view audit_chain as
select account_id, event_id, sequence, hash
  from audit_links
 where event_id is not null and checkpoint_mac is null;
create or replace view audit_checkpoints as
select account_id, sequence, hash, null::timestamptz as created_at
  from audit_links
 where event_id is null or checkpoint_mac is not null;
-- Without it, a node of 0.2 cannot store a checkpoint, and deletes nothing.
drop trigger audit_checkpoint_is_a_link on audit_checkpoints;
drop function write_audit_checkpoint();
-- A node of 0.2 writes entries that wait here, and finds none to seal.
create or replace view audit_unsealed as
select account_id, id as event_id
  from audit_events
 where false;
