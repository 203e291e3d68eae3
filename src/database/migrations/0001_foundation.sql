-- The first schema: accounts with their environments, API keys and tiers; messages and idempotency keys; events; and
-- the delivery queue.
--
-- Tables of customer data have the account as the first column of their keys, so that the schema can be distributed by
-- account. Tables that are read before the account is known (key hashes) are small and separate. No index of messages
-- covers a column that changes, so that an update of a message stays on its page.

create table installation (
  only_row          boolean primary key default true check (only_row),
  -- A keyed hash of a constant, which shows only whether a node was started with the same secret key as the other
  -- nodes.
  secret_key_check  bytea
);
insert into installation default values;

create table tiers (
  name                 text primary key,
  -- Both columns are null for a tier without a limit.
  requests_per_second  integer check (requests_per_second between 1 and 1000000),
  burst                integer check (burst between 1 and 10000000),
  check ((requests_per_second is null) = (burst is null))
);
insert into tiers (name, requests_per_second, burst)
values ('sandbox', 25, 50), ('standard', 200, 400), ('scale', 2000, 4000), ('unlimited', null, null);

create table accounts (
  id          uuid primary key,
  name        text not null unique,
  created_at  timestamptz not null default now()
);

create table environments (
  account_id   uuid not null references accounts,
  environment  text collate "C" not null check (environment in ('test', 'live')),
  tier         text not null references tiers,
  primary key (account_id, environment)
);

create table api_keys (
  account_id    uuid not null,
  id            uuid not null,
  environment   text collate "C" not null,
  name          text,
  -- The first characters of the secret, which let a person distinguish keys and are of no use to anyone else.
  hint          text not null,
  scopes        text[] not null,
  created_at    timestamptz not null default now(),
  expires_at    timestamptz,
  revoked_at    timestamptz,
  last_used_at  timestamptz,
  primary key (account_id, id),
  foreign key (account_id, environment) references environments
);

create table api_key_hashes (
  hash        bytea primary key,
  account_id  uuid not null,
  key_id      uuid not null,
  foreign key (account_id, key_id) references api_keys
);

create table quota_buckets (
  account_id   uuid not null,
  environment  text collate "C" not null,
  -- The tokens that can still be leased to nodes, at the time `refilled_at`.
  level        double precision not null,
  refilled_at  timestamptz not null,
  -- The tokens that nodes hold: {"node": {"tokens": n, "expiresAtMs": t}}. The leases are in the row of the bucket, so
  -- that the lock of the row covers them.
  leases       jsonb not null default '{}',
  primary key (account_id, environment)
);

create table idempotency_keys (
  account_id   uuid not null,
  environment  text collate "C" not null,
  key          uuid not null,
  fingerprint  bytea not null,
  created_at   timestamptz not null,
  expires_at   timestamptz not null,
  status       smallint not null,
  location     text,
  -- The stored response: its bytes in `body`, or the event whose record equals the response byte for byte.
  body         text,
  event_id     uuid,
  primary key (account_id, environment, key),
  check ((body is null) <> (event_id is null))
);

create table messages (
  account_id           uuid not null,
  environment          text collate "C" not null,
  -- The first 48 bits contain the time of creation. There is no column for that time.
  id                   uuid not null,
  direction            text not null check (direction in ('outbound', 'inbound')),
  channel              text not null check (channel in ('sms', 'whatsapp')),
  recipient            text collate "C" not null,
  sender               text,
  body                 text,
  status               text not null check (status in ('scheduled', 'queued', 'sending', 'sent', 'delivered', 'read',
                                                       'undelivered', 'failed', 'expired', 'canceled', 'received')),
  sequence             integer not null check (sequence > 0),
  error                json,
  segments_count       smallint,
  segments_encoding    text,
  segments_characters  smallint,
  priority             text not null check (priority in ('high', 'normal', 'bulk')),
  client_reference     text collate "C",
  metadata             json,
  batch_id             uuid,
  expires_at           timestamptz,
  updated_at           timestamptz not null,
  primary key (account_id, environment, id)
) partition by range (id);

create table messages_default partition of messages default;

create index messages_by_recipient on messages (account_id, environment, recipient, id);
create index messages_by_client_reference on messages (account_id, environment, client_reference, id)
  where client_reference is not null;

create table events (
  account_id   uuid not null,
  environment  text collate "C" not null,
  id           uuid not null,
  type         text not null,
  message_id   uuid,
  sequence     integer,
  -- The record at the time of the event, as text. A replay of the request also returns these bytes.
  record       text not null,
  primary key (account_id, environment, id)
) partition by range (id);

create table events_default partition of events default;

create table delivery_queue (
  message_id   uuid primary key,
  account_id   uuid not null,
  environment  text collate "C" not null,
  priority     smallint not null,
  due_at       timestamptz not null
);
create index delivery_queue_due on delivery_queue (priority, due_at);
