-- Webhooks: the endpoints of accounts, the deliveries that wait, and the results of deliveries.

create table webhook_endpoints (
  account_id             uuid not null,
  environment            text collate "C" not null,
  id                     uuid not null,
  url                    text not null,
  description            text,
  -- Full names of types, `message.*` for all types of a kind, or `*` for all types.
  event_types            text[] not null,
  status                 text not null check (status in ('enabled', 'disabled')),
  disabled_reason        text,
  -- Both secrets are encrypted with the secret key of the installation.
  secret                 text not null,
  previous_secret        text,
  previous_secret_until  timestamptz,
  -- The time since which every attempt has failed.
  failing_since          timestamptz,
  -- The recovery searches events between these two ids for those that the endpoint missed. Null without a recovery.
  recover_after          uuid,
  recover_until          uuid,
  updated_at             timestamptz not null,
  primary key (account_id, environment, id),
  check ((recover_after is null) = (recover_until is null))
);
create index webhook_endpoints_recovering on webhook_endpoints (id) where recover_after is not null;

-- The outbox: the deliveries that wait. The transaction of an event inserts a row for each endpoint that subscribes to
-- its type, so that each endpoint gets one delivery of the event. The id of a row begins with the first half of its
-- event's id. The two ids have the same time, and the row is found by the id of its event.
create table webhook_queue (
  id           uuid primary key,
  account_id   uuid not null,
  environment  text collate "C" not null,
  endpoint_id  uuid not null,
  event_id     uuid not null,
  -- True for a retry, and for a delivery that was requested again. Such a row does not delay first attempts.
  is_retry     boolean not null default false,
  attempts     smallint not null default 0,
  -- A claim moves this time to the end of its lease, so that a row becomes due again when its node has died.
  due_at       timestamptz not null
);
create index webhook_queue_due on webhook_queue (is_retry, endpoint_id, due_at);
-- Rows live for a fraction of a second. Autovacuum depends on the number of dead rows, and not on their share of a
-- backlog.
alter table webhook_queue set (autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 5000);

-- The results of deliveries. The first attempt inserts the row. Retention deletes the row with the week of its event.
create table webhook_deliveries (
  account_id       uuid not null,
  environment      text collate "C" not null,
  endpoint_id      uuid not null,
  id               uuid not null,
  event_id         uuid not null,
  event_type       text not null,
  status           text not null check (status in ('pending', 'succeeded', 'failed')),
  -- The attempts, oldest first, each with its time, its duration and its result.
  attempts         jsonb not null,
  next_attempt_at  timestamptz,
  updated_at       timestamptz not null,
  primary key (account_id, environment, endpoint_id, id)
) partition by range (id);

create table webhook_deliveries_default partition of webhook_deliveries default;
