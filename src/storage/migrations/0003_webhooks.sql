-- Customers hear of every change: their endpoints, what waits to be told to them, and what became of it.

create table webhook_endpoints (
  account_id             uuid not null,
  environment            text collate "C" not null,
  id                     uuid not null,
  url                    text not null,
  description            text,
  -- Types as they are written, `message.*` for all of a kind, `*` for all.
  event_types            text[] not null,
  status                 text not null check (status in ('enabled', 'disabled')),
  disabled_reason        text,
  -- Sealed by the server's secret key, as is the one before it.
  secret                 text not null,
  previous_secret        text,
  previous_secret_until  timestamptz,
  -- Since when there has been nothing but failures.
  failing_since          timestamptz,
  -- Events between these two are looked through for what was missed; null when none are.
  recover_after          uuid,
  recover_until          uuid,
  updated_at             timestamptz not null,
  primary key (account_id, environment, id),
  check ((recover_after is null) = (recover_until is null))
);
create index webhook_endpoints_recovering on webhook_endpoints (id) where recover_after is not null;

-- What waits to be told. Written by the transaction of the event itself, a row for each endpoint that wants it, so each event is
-- told once to each. A row's id begins with the first half of its event's: it has the same time, and is found by it.
create table webhook_queue (
  id           uuid primary key,
  account_id   uuid not null,
  environment  text collate "C" not null,
  endpoint_id  uuid not null,
  event_id     uuid not null,
  -- Tried before, or asked for again: it does not stand in the way of what is new.
  is_retry     boolean not null default false,
  attempts     smallint not null default 0,
  -- A claim moves it to the end of its lease, so a row whose node died becomes due by itself.
  due_at       timestamptz not null
);
create index webhook_queue_due on webhook_queue (is_retry, endpoint_id, due_at);
-- Rows live for a fraction of a second: the cleaner comes by the number of the dead, not by their share of a backlog.
alter table webhook_queue set (autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 5000);

-- What became of what was told: written with the first try. Goes away with the week of its events.
create table webhook_deliveries (
  account_id       uuid not null,
  environment      text collate "C" not null,
  endpoint_id      uuid not null,
  id               uuid not null,
  event_id         uuid not null,
  event_type       text not null,
  status           text not null check (status in ('pending', 'succeeded', 'failed')),
  -- The tries, oldest first: when, how long, and what came of each.
  attempts         jsonb not null,
  next_attempt_at  timestamptz,
  updated_at       timestamptz not null,
  primary key (account_id, environment, endpoint_id, id)
) partition by range (id);

create table webhook_deliveries_default partition of webhook_deliveries default;
