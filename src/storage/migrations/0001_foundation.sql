-- The house as it was founded: who may (accounts, keys, tiers), what was asked (messages, idempotency keys), what
-- happened (events), and what waits (the delivery queue).
--
-- Every table of customers' data leads its keys with the account, so that the schema can be distributed by account.
-- Tables that are asked before the account is known (key hashes) are small and stand apart. No index covers a column
-- that changes, so an update of a message stays on its page.

create table installation (
  only_row          boolean primary key default true check (only_row),
  -- A keyed hash of nothing: tells whether a node was started with the secret key of its neighbours, reveals nothing.
  secret_key_check  bytea
);
insert into installation default values;

create table tiers (
  name                 text primary key,
  -- Both null: no limit.
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
  -- The first characters of the secret: enough for a person to tell keys apart, useless to anyone else.
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
  -- What may still be handed out, at the moment of `refilled_at`.
  level        double precision not null,
  refilled_at  timestamptz not null,
  -- What nodes hold: {"node": {"tokens": n, "expiresAtMs": t}}. In the bucket's own row, so that its lock covers them.
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
  -- The stored answer: its bytes, or the event whose record is, byte for byte, what was answered.
  body         text,
  event_id     uuid,
  primary key (account_id, environment, key),
  check ((body is null) <> (event_id is null))
);

create table messages (
  account_id           uuid not null,
  environment          text collate "C" not null,
  -- Carries the moment of creation in its first 48 bits; there is no column for it.
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
  -- The record as it was at that moment, as text: also the bytes that a replay of the request answers with.
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
