-- The changes, each with its actor. A row is written in the transaction of the change, and never changes. Changes of the installation have the nil
-- account.
create table audit_events (
  account_id   uuid not null,
  id           uuid not null,
  environment  text check (environment in ('test', 'live')),
  actor_type   text not null,
  actor_id     text,
  actor_name   text,
  action       text not null,
  target_type  text not null,
  target_id    text,
  changes      jsonb not null,
  peer         text,
  request_id   text,
  primary key (account_id, id)
);

-- The rows that are not part of their account's hash chain yet.
create table audit_unsealed (
  account_id  uuid not null,
  event_id    uuid not null,
  primary key (account_id, event_id)
);

-- The hash chain of an account: each hash covers its row of audit_events and the hash before it.
create table audit_chain (
  account_id  uuid not null,
  event_id    uuid not null,
  sequence    bigint not null,
  hash        bytea not null,
  primary key (account_id, sequence)
);
create unique index audit_chain_by_event on audit_chain (event_id);

-- The last link of the chain that retention has deleted. Verification continues from it.
create table audit_checkpoints (
  account_id  uuid not null,
  sequence    bigint not null,
  hash        bytea not null,
  created_at  timestamptz not null,
  primary key (account_id, sequence)
);

-- Retention deletes sealed rows, and says so. Every other change is refused.
create function refuse_audit_change() returns trigger language plpgsql as $$
begin
  if tg_op = 'DELETE' and current_setting('godwit.audit_retention', true) = 'on' then
    return old;
  end if;
  raise exception '% is append-only', tg_table_name using errcode = 'integrity_constraint_violation';
end $$;

create trigger audit_events_are_final before update or delete on audit_events
  for each row execute function refuse_audit_change();
create trigger audit_chain_is_final before update or delete on audit_chain
  for each row execute function refuse_audit_change();
create trigger audit_checkpoints_are_final before update or delete on audit_checkpoints
  for each row execute function refuse_audit_change();

-- The key with which recipients are hashed, sealed with the secret key.
alter table installation
  add column recipient_key text;

alter table api_keys add column created_by text;
alter table webhook_endpoints add column created_by text;
alter table templates add column created_by text;
alter table suppressions add column created_by text;
