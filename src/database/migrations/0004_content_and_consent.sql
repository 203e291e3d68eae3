-- Content, consent and fallbacks: templates, suppressions, service windows, batches, fallbacks, inbound messages and
-- verifications.

create table templates (
  account_id        uuid not null,
  environment       text collate "C" not null,
  id                uuid not null,
  name              text collate "C" not null,
  language          text not null,
  category          text not null check (category in ('authentication', 'utility', 'marketing')),
  channels          text[] not null,
  status            text not null check (status in ('draft', 'pending', 'approved', 'rejected', 'paused', 'archived')),
  -- The reason for a rejection or a pause, in the words of the reviewer.
  status_reason     text,
  -- The newest version, whose content is in template_versions.
  version           integer not null check (version > 0),
  updated_at        timestamptz not null,
  primary key (account_id, environment, id)
);
-- A new template can have the name of an archived one.
create unique index templates_by_name on templates (account_id, environment, name) where status <> 'archived';
-- The number of archived templates grows over the years, and a separate list contains them.
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
  -- An example value for each variable, by its name, for previews and for reviewers.
  examples     json not null,
  created_at   timestamptz not null default now(),
  primary key (account_id, environment, template_id, version)
);

-- Every existing environment gets a template. A later environment gets its template when it is created.
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

-- Recipients who do not want messages from a sender. A lifted suppression keeps its row, and the next one for the same
-- recipient and sender uses that row again.
create table suppressions (
  account_id   uuid not null,
  environment  text collate "C" not null,
  recipient    text collate "C" not null,
  -- Empty for a suppression of all senders.
  sender       text collate "C" not null,
  id           uuid not null,
  is_active    boolean not null,
  -- The cause of the last change: a keyword that the recipient sent, a request, or an import.
  source       text not null check (source in ('keyword', 'api', 'import')),
  keyword      text,
  -- The inbound message with the keyword.
  message_id   uuid,
  note         text,
  updated_at   timestamptz not null,
  primary key (account_id, environment, recipient, sender)
);
-- Each message causes a probe of the primary key. On a new table without statistics, the planner rates every index that
-- begins like the key as equally good, and would read a whole environment. Therefore the other indexes are partial. The
-- condition of each is always true, and only the statements that need the index contain its condition.
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

-- The time of a recipient's last WhatsApp message. The account may send free text for 24 hours after that message.
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
  -- The time of the next check whether all messages of the batch have a final status.
  look_at       timestamptz not null,
  primary key (account_id, environment, id)
);
-- Retention deletes the oldest batches first.
create index batches_by_age on batches (id);
create index batches_open on batches (look_at) where completed_at is null;

alter table messages
  -- The template, its version and its variables: {"id", "name", "language", "version", "variables"}.
  add column template      json,
  add column fallback_of   uuid,
  add column in_reply_to   uuid,
  add column has_fallback  boolean not null default false;

-- Without statistics, the planner rates every index that begins like the primary key as equally good, and would read a
-- whole environment to find one message of a new week. Therefore the other indexes begin with the column that they are
-- for.
drop index messages_by_recipient;
create index messages_by_recipient on messages (recipient, account_id, environment, id);
create index messages_by_batch on messages (batch_id, account_id, environment, id) where batch_id is not null;

-- The messages that are sent when a message is not delivered. The transaction that starts the next step also deletes
-- the row, so that a step starts only once.
create table fallbacks (
  message_id   uuid primary key,
  account_id   uuid not null,
  environment  text collate "C" not null,
  -- The remaining steps as JSON, encrypted where they contain a secret.
  steps        text not null,
  due_at       timestamptz not null
);
create index fallbacks_due on fallbacks (due_at);

-- Encrypted content that only the carrier may see, stored for as long as the message waits to be submitted.
alter table delivery_queue add column sealed_content text;

-- The carrier ids of inbound messages. A carrier repeats a message that was not acknowledged in time.
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
  -- The number without its last digits. SMS pumping uses adjacent numbers.
  prefix        text collate "C" not null,
  channels      text[] not null,
  code_length   smallint not null,
  -- A hash that is keyed with the secret key of the installation. Six digits are easily guessed from a plain hash.
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
-- Retention deletes the oldest verifications first.
create index verifications_by_age on verifications (id);
create index verifications_by_prefix on verifications (prefix, account_id, environment, id);
