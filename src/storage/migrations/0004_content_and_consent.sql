-- What is said, to whom it may be said, and what follows when it does not arrive: templates, suppressions, service windows,
-- batches, fallbacks, inbound messages and verifications.

create table templates (
  account_id        uuid not null,
  environment       text collate "C" not null,
  id                uuid not null,
  name              text collate "C" not null,
  language          text not null,
  category          text not null check (category in ('authentication', 'utility', 'marketing')),
  channels          text[] not null,
  status            text not null check (status in ('draft', 'pending', 'approved', 'rejected', 'paused', 'archived')),
  -- Why it was rejected or paused, in the words of whoever did.
  status_reason     text,
  -- The newest; what it says is in template_versions.
  version           integer not null check (version > 0),
  updated_at        timestamptz not null,
  primary key (account_id, environment, id)
);
-- An archived template leaves its name to the next one.
create unique index templates_by_name on templates (account_id, environment, name) where status <> 'archived';
-- Archived ones are many with the years, and listed by themselves.
create index templates_archived on templates (account_id, environment, id) where status = 'archived';

create table template_versions (
  account_id   uuid not null,
  environment  text collate "C" not null,
  template_id  uuid not null,
  version      integer not null,
  body         text not null,
  header       text,
  footer       text,
  buttons      json,
  -- A value for each variable, by its name, for previews and for those who review templates.
  examples     json not null,
  created_at   timestamptz not null default now(),
  primary key (account_id, environment, template_id, version)
);

-- Every environment has one to begin with. Environments that come later get theirs when they are made.
with environment as (
  select account_id, environment,
         (lpad(to_hex((extract(epoch from now()) * 1000)::bigint), 12, '0') || '7' || substr(md5(account_id::text || environment), 1, 3)
          || '8' || substr(md5(environment || account_id::text), 1, 15))::uuid as id
    from environments
), template as (
  insert into templates (account_id, environment, id, name, language, category, channels, status, version, updated_at)
  select account_id, environment, id, 'verification_code', 'en', 'authentication', '{sms,whatsapp}', 'approved', 1, now()
    from environment
)
insert into template_versions (account_id, environment, template_id, version, body, examples)
select account_id, environment, id, 1, '{{code}} is your verification code. Do not share it with anyone.', '{"code":"123456"}'
  from environment;

-- Who does not want to be written to. A row stays when it is lifted: it is the same recipient and sender the next time.
create table suppressions (
  account_id   uuid not null,
  environment  text collate "C" not null,
  recipient    text collate "C" not null,
  -- Empty: whoever sends.
  sender       text collate "C" not null,
  id           uuid not null,
  is_active    boolean not null,
  -- How it came to be as it is: a word the recipient wrote, a request, an import.
  source       text not null check (source in ('keyword', 'api', 'import')),
  keyword      text,
  -- The inbound message with the word.
  message_id   uuid,
  note         text,
  updated_at   timestamptz not null,
  primary key (account_id, environment, recipient, sender)
);
-- Each message makes a probe of the key. A planner that knows nothing yet of a young table finds any index as good that begins like
-- the key, and would read a whole environment. So the others are partial, by what is always so and only their own statements say.
create unique index suppressions_by_id on suppressions (account_id, environment, id) where recipient > '';
create index suppressions_by_recipient on suppressions (account_id, environment, recipient, id)
 where id > '00000000-0000-0000-0000-000000000000';

create table suppression_changes (
  account_id      uuid not null,
  environment     text collate "C" not null,
  suppression_id  uuid not null,
  id              uuid not null,
  is_active       boolean not null,
  source          text not null,
  keyword         text,
  message_id      uuid,
  note            text,
  primary key (account_id, environment, suppression_id, id)
);

-- When a recipient last wrote on whatsapp: for a day after that, free text may be sent.
create table service_windows (
  account_id   uuid not null,
  environment  text collate "C" not null,
  recipient    text collate "C" not null,
  sender       text collate "C" not null,
  opened_at    timestamptz not null,
  primary key (account_id, environment, recipient, sender)
);

create table batches (
  account_id    uuid not null,
  environment   text collate "C" not null,
  id            uuid not null,
  accepted      integer not null,
  refused       integer not null,
  completed_at  timestamptz,
  -- When to look next whether all its messages have come to their end.
  look_at       timestamptz not null,
  primary key (account_id, environment, id)
);
-- The oldest are forgotten first.
create index batches_by_age on batches (id);
create index batches_open on batches (look_at) where completed_at is null;

alter table messages
  -- Which template, in which version, with which variables: {"id", "name", "language", "version", "variables"}.
  add column template      json,
  add column fallback_of   uuid,
  add column in_reply_to   uuid,
  add column has_fallback  boolean not null default false;

-- A planner without statistics takes any index that begins like the key for as good as the key, and would read a whole environment to
-- find one message of a young week. So the others begin with what they are for.
drop index messages_by_recipient;
create index messages_by_recipient on messages (recipient, account_id, environment, id);
create index messages_by_batch on messages (batch_id, account_id, environment, id) where batch_id is not null;

-- What is to be tried when a message does not get delivered. The row goes when the next step has begun, in its transaction, so
-- a step begins once.
create table fallbacks (
  message_id   uuid primary key,
  account_id   uuid not null,
  environment  text collate "C" not null,
  -- The steps that are left, as JSON; sealed where they hold a secret.
  steps        text not null,
  due_at       timestamptz not null
);
create index fallbacks_due on fallbacks (due_at);

-- What a carrier is to be given and nobody else is to see, sealed, for as long as the message waits to be handed over.
alter table delivery_queue add column sealed_content text;

-- What carriers call the messages they bring: they repeat what was not acknowledged in time.
create table inbound_names (
  link                 text collate "C" not null,
  provider_message_id  text collate "C" not null,
  received_at          timestamptz not null default now(),
  primary key (link, provider_message_id)
);
create index inbound_names_received on inbound_names (received_at);

create table verifications (
  account_id    uuid not null,
  environment   text collate "C" not null,
  id            uuid not null,
  recipient     text collate "C" not null,
  -- The number without its last digits: numbers that are pumped come in rows.
  prefix        text collate "C" not null,
  channels      text[] not null,
  code_length   smallint not null,
  -- Keyed by the server's secret key: six digits alone are soon guessed.
  code_hash     bytea not null,
  status        text not null check (status in ('pending', 'approved', 'canceled', 'failed')),
  attempts      smallint not null default 0,
  message_id    uuid not null,
  expires_at    timestamptz not null,
  verified_at   timestamptz,
  updated_at    timestamptz not null,
  primary key (account_id, environment, id)
);
create index verifications_by_recipient on verifications (recipient, account_id, environment, id);
-- The oldest are forgotten first.
create index verifications_by_age on verifications (id);
create index verifications_by_prefix on verifications (prefix, account_id, environment, id);
