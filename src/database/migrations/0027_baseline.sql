-- The schema of 0.2.0, by feature. It replaces migrations 1 to 27, which made the same schema step by step: a database
-- with schema 27 already has everything in this file, whichever of the two made it.
--
-- Tables of customer data have the account as the first column of their keys, so that the schema can be distributed by
-- account. Tables that are read before the account is known (key hashes) are small and separate.
--
-- Without statistics, as on a new table, the planner rates every index that begins like the primary key as equally
-- good, and would read a whole environment to find one row. Therefore another index begins with the column that it is
-- for, or is partial and has a condition that only its own statements contain, even if the condition is always true.


-- The installation: one row with its id and its secrets, and with the clocks that the nodes compare.

create table installation (
  only_row             boolean primary key default true check (only_row),
  -- A keyed hash of a constant, which shows only whether a node was started with the same secret key as the other
  -- nodes.
  secret_key_check     bytea,
  -- The id of this installation in the access tokens that it creates.
  id                   uuid not null default gen_random_uuid(),
  -- The time of a node, and the times of the database and of the node's machine at that moment, stored every few
  -- seconds. The first difference is the step of the database's clock that the nodes do not follow. A node that starts
  -- uses the same time.
  clock_at             timestamptz,
  database_clock_at    timestamptz,
  machine_clock_at     timestamptz,
  machine              text,
  -- New API keys have a checksum that is keyed with this secret. The service recognises made-up keys by it, without a
  -- query.
  key_checksum_secret  bytea not null default uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()),
  -- The key with which recipients are hashed, sealed with the secret key.
  recipient_key        text
);
insert into installation default values;


-- Accounts and access: accounts with their environments and tiers, API keys, the keys that sign access tokens, and
-- quotas.

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
  id                    uuid primary key,
  name                  text not null unique,
  created_at            timestamptz not null default now(),
  -- The longest life of a key of the account. Null: no limit.
  max_key_life_seconds  bigint check (max_key_life_seconds > 0)
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
  -- The addresses from which a key may be used, as CIDR blocks. Null: from any address.
  allowed_ips   text[] check (cardinality(allowed_ips) between 1 and 20),
  created_by    text,
  primary key (account_id, id),
  foreign key (account_id, environment) references environments
);

create table api_key_hashes (
  hash                bytea primary key,
  account_id          uuid not null,
  key_id              uuid not null,
  -- False for keys of the first form, whose checksum everybody can compute. Each node has their hashes in memory.
  has_keyed_checksum  boolean not null default false,
  foreign key (account_id, key_id) references api_keys
);
create index api_key_hashes_of_first_form on api_key_hashes (hash) where not has_keyed_checksum;

create table signing_keys (
  -- The thumbprint of the public key, by which access tokens identify the key.
  kid          text collate "C" primary key,
  public_key   json not null,
  -- Encrypted with the secret key of the installation.
  private_key  text not null,
  -- The key is published before it signs, so that clients that cache the list of keys have the key in time.
  active_from  timestamptz not null
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


-- Idempotency: the keys of requests, with the stored responses.

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
  -- The recipient that the stored body names. Null where it names none, and where the response is the record of an
  -- event.
  recipient    text collate "C",
  primary key (account_id, environment, key),
  check ((body is null) <> (event_id is null))
);
create index idempotency_keys_by_recipient on idempotency_keys (recipient, account_id, environment)
 where recipient is not null;


-- Messages, in weekly partitions by id. No index covers a column that changes, so that an update of a message stays on
-- its page.

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
  max_segments         smallint,
  send_at              timestamptz,
  provider             text,
  link                 text,
  provider_message_id  text,
  -- The number of attempts at providers, increased before the first byte of an attempt can leave the machine.
  attempts             integer not null default 0,
  sent_at              timestamptz,
  delivered_at         timestamptz,
  read_at              timestamptz,
  failed_at            timestamptz,
  canceled_at          timestamptz,
  redacted_at          timestamptz,
  -- The template, its version and its variables: {"id", "name", "language", "version", "variables"}.
  template             json,
  fallback_of          uuid,
  in_reply_to          uuid,
  has_fallback         boolean not null default false,
  -- True if the outcome of an attempt is unknown. Such a message is not submitted on another link.
  has_unknown          boolean not null default false,
  -- Attempts that a carrier refused temporarily. Throttled attempts do not count: they say nothing about the message.
  refusals             smallint not null default 0,
  -- The trace that the request of the message named, if any: a W3C `traceparent`, and after a space its `tracestate`.
  trace                text collate "C",
  -- The sender of an inbound message once more. `sender` changes while a message is delivered, and an index of that
  -- column would make each of these updates write to all indexes.
  inbound_sender       text collate "C",
  -- True for the automatic reply to an opt-out, the one message that may be sent after it. Null for all others.
  is_opt_out_reply     boolean,
  -- Members that only one kind of carrier understands, such as the id of a registered template.
  carrier_options      json,
  -- Why a message has its sender and its link. Null on inbound messages. A sender that the request names is never
  -- replaced.
  sender_reason        text collate "C",
  link_reason          text collate "C",
  primary key (account_id, environment, id)
) partition by range (id);

-- A message changes a few times in its first seconds. Half of each page stays free, so that each new version of a
-- message fits on the page of the previous one. Such an update touches no index, and the next update removes the old
-- version.
create table messages_default partition of messages default with (fillfactor = 50);

create index messages_by_client_reference on messages (account_id, environment, client_reference, id)
 where client_reference is not null;
create index messages_by_recipient on messages (recipient, account_id, environment, id);
create index messages_by_batch on messages (batch_id, account_id, environment, id) where batch_id is not null;
create index messages_by_inbound_sender on messages (inbound_sender, account_id, environment, id)
 where inbound_sender is not null;

-- One row for each part of a message that was submitted in several parts, with its own carrier id and its status.
create table message_parts (
  account_id           uuid not null,
  environment          text collate "C" not null,
  message_id           uuid not null,
  number               smallint not null,
  provider_message_id  text not null,
  status               text not null,
  error                json,
  updated_at           timestamptz not null,
  -- The number of parts that the message has. Null for old messages, of which all parts are known.
  total                smallint,
  -- The number in the parts that ties them together, where parts are missing: the others are sent with the same one.
  reference            integer,
  primary key (account_id, environment, message_id, number)
);
-- Retention deletes parts with their messages.
create index message_parts_by_age on message_parts (message_id);

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

-- Batches: the messages of one request.
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


-- Events: the changes of messages and of other records, in weekly partitions by id.

-- The order in which clients read events. A transaction draws the position of each event while it holds a lock on the
-- table, which src/events/positions.ts relies on. The sequence caches no numbers: a session would draw them before it
-- holds the lock.
create sequence event_positions cache 1;
-- From here on `last_value` is a number that was drawn.
select nextval('event_positions');

create table events (
  account_id       uuid not null,
  environment      text collate "C" not null,
  id               uuid not null,
  type             text not null,
  message_id       uuid,
  sequence         integer,
  -- The record at the time of the event, as text. A replay of the request also returns these bytes. An entry of the
  -- timeline that changes nothing has no record.
  record           text,
  previous_status  text,
  -- The request to a provider, or its response or receipt, for the timeline.
  detail           json,
  -- True for a signal that causes no transition. The timeline contains the signal; endpoints receive no event.
  is_ignored       boolean not null default false,
  -- Zero for the events of 0.1. Among them the order of their ids counts.
  position         bigint not null default nextval('event_positions'),
  primary key (account_id, environment, id)
) partition by range (id);

create table events_default partition of events default;

-- The first event of a message has the id of the message and is found by that id, so it is not in this index.
create index events_by_message on events (message_id) where id <> message_id;
create index events_by_position on events (account_id, environment, position, id) where position >= 0;


-- Delivery: the queue, and what a carrier's receipts and inbound messages are recognised by.

-- A row waits for a provider, in the lane `link`, or for its scheduled time, in the lane '@scheduled'. A claim moves
-- `due_at` to the end of its lease, so that a row becomes due again when its node has died.
--
-- Rows live for a fraction of a second. Autovacuum depends on the number of dead rows, and not on their share of a
-- backlog.
create table delivery_queue (
  message_id      uuid primary key,
  account_id      uuid not null,
  environment     text collate "C" not null,
  priority        smallint not null,
  due_at          timestamptz not null,
  link            text collate "C" not null,
  -- 0: waiting, or leased to a node. 1: held, because bytes may have left and the outcome is unknown.
  state           smallint not null default 0 check (state in (0, 1)),
  expires_at      timestamptz not null,
  -- Encrypted content that only the carrier may see, stored for as long as the message waits to be submitted.
  sealed_content  text
) with (autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 5000);
create index delivery_queue_due on delivery_queue (link, priority, account_id, due_at);
-- A campaign of a million messages may wait until next week. This index finds scheduled messages by their time.
create index delivery_queue_scheduled on delivery_queue (due_at) where link = '@scheduled';

-- A carrier identifies a message by the carrier id, and names no account. A carrier may give the same id to two
-- messages. Each message keeps its own reference; a receipt with that id belongs to the newest of the messages.
create table provider_references (
  link                 text collate "C" not null,
  provider_message_id  text collate "C" not null,
  account_id           uuid not null,
  environment          text collate "C" not null,
  message_id           uuid not null,
  -- The service awaits no receipt after this time.
  expires_at           timestamptz not null,
  -- The number of the part that has this carrier id; null for the whole message.
  part                 smallint,
  primary key (link, provider_message_id, message_id)
);
create index provider_references_expiring on provider_references (expires_at);

-- Receipts that arrived before the carrier id of their message was known.
create table parked_receipts (
  link                 text collate "C" not null,
  provider_message_id  text collate "C" not null,
  status               text collate "C" not null,
  receipt              json not null,
  received_at          timestamptz not null default now(),
  primary key (link, provider_message_id, status)
);

-- The carrier ids of inbound messages. A carrier repeats a message that was not acknowledged in time.
create table inbound_names (
  link                 text collate "C" not null,
  provider_message_id  text collate "C" not null,
  received_at          timestamptz not null default now(),
  primary key (link, provider_message_id)
);
create index inbound_names_received on inbound_names (received_at);

-- Inbound messages that belong to no account, and notifications that belong to no link, for the operator.
create table kept_inbound (
  -- The first 48 bits contain the time at which it came.
  id                   uuid primary key,
  kind                 text collate "C" not null check (kind in ('message', 'notification')),
  link                 text collate "C" not null,
  provider             text not null,
  channel              text not null,
  provider_message_id  text,
  -- The person, and the number that the person wrote to.
  sender               text collate "C",
  recipient            text,
  -- The text of a message, or a notification as the carrier wrote it.
  body                 text check (length(body) <= 16384),
  -- Of a message: the meaning that the carrier reported, whether it was written to a group, and contents besides the
  -- text.
  reported             text,
  is_to_group          boolean not null default false,
  details              json,
  -- The message that it became when the operator assigned it to an account. The person and the contents are null from
  -- then on.
  account_id           uuid,
  environment          text,
  message_id           uuid
);
create index kept_inbound_waiting on kept_inbound (kind, id) where message_id is null;
create index kept_inbound_by_sender on kept_inbound (sender) where sender is not null;


-- Links to carriers: what the nodes know about each, and the links, senders and routes that accounts create.

-- One node at a time has the lease of an exclusive link. Times come from the clock of the database.
create table link_leases (
  link        text collate "C" primary key,
  node        text not null,
  expires_at  timestamptz not null
);

-- The last report of each node about a link that it has open.
create table link_states (
  link           text collate "C" not null,
  node           text not null,
  state          text not null,
  reason         text,
  in_flight      integer not null,
  last_error     text,
  last_error_at  timestamptz,
  updated_at     timestamptz not null,
  primary key (link, node)
);

-- The form of carrier ids in receipts that a link has learnt, so that a restart does not forget it.
create table link_receipt_ids (
  link       text collate "C" primary key,
  -- The account at the carrier. The form of another account does not count.
  account    text not null,
  base       text not null,
  letters    text not null,
  -- The number of digits of an id in a response, with leading zeros.
  width      smallint,
  learnt_at  timestamptz not null
);

-- The position in the reports of a carrier that a link polls.
create table link_cursors (
  link      text collate "C" primary key,
  position  text not null
);

-- Links on which no message is sent, those of the configuration file included. A pause that a carrier caused ends by
-- itself.
create table link_pauses (
  link       text primary key,
  reason     text not null,
  ends_at    timestamptz,
  paused_by  text
);

-- The links, senders and routes that accounts create through the API, for `live`. `definition` has the fields of the
-- request without secrets; `secrets` is sealed with the secret key.
create table created_links (
  account_id  uuid not null references accounts,
  id          uuid not null,
  name        text not null,
  definition  json not null,
  secrets     text not null,
  updated_at  timestamptz not null,
  created_by  text,
  primary key (account_id, id)
);

create table created_senders (
  account_id  uuid not null,
  id          uuid not null,
  link_id     uuid not null,
  number      text not null,
  definition  json not null,
  updated_at  timestamptz not null,
  created_by  text,
  primary key (account_id, id),
  foreign key (account_id, link_id) references created_links on delete cascade
);

create table created_routes (
  account_id  uuid not null references accounts,
  id          uuid not null,
  definition  json not null,
  updated_at  timestamptz not null,
  created_by  text,
  primary key (account_id, id)
);

-- Grows with each change of the tables above, so that nodes notice the change.
create table created_version (
  version  bigint not null
);
insert into created_version values (1);


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
  created_by             text,
  primary key (account_id, environment, id),
  check ((recover_after is null) = (recover_until is null))
);
create index webhook_endpoints_recovering on webhook_endpoints (id) where recover_after is not null;

-- The outbox: the deliveries that wait. The transaction of an event inserts a row for each endpoint that subscribes to
-- its type, so that each endpoint gets one delivery of the event. The id of a row begins with the first half of its
-- event's id. The two ids have the same time, and the row is found by the id of its event. Rows live for a fraction of
-- a second, as those of delivery_queue.
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
) with (autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 5000);
create index webhook_queue_due on webhook_queue (is_retry, endpoint_id, due_at);

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


-- Templates, and their reviews by carriers.

create table templates (
  account_id     uuid not null,
  environment    text collate "C" not null,
  id             uuid not null,
  name           text collate "C" not null,
  language       text not null,
  category       text not null check (category in ('authentication', 'utility', 'marketing')),
  channels       text[] not null,
  status         text not null check (status in ('draft', 'pending', 'approved', 'rejected', 'paused', 'archived')),
  -- The reason for a rejection or a pause, in the words of the reviewer.
  status_reason  text,
  -- The newest version, whose content is in template_versions.
  version        integer not null check (version > 0),
  updated_at     timestamptz not null,
  created_by     text,
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

-- The next sync with each business account, and the last one. `desk` names a business account, whose templates the
-- carrier reviews. Several links can share a business account. Times come from the clock of the database.
create table template_syncs (
  desk           text collate "C" primary key,
  due_at         timestamptz not null default now(),
  -- The node that runs the sync, and the end of its claim. The claim of a node that is gone expires.
  claimed_by     text,
  claimed_until  timestamptz not null default '-infinity',
  synced_at      timestamptz,
  -- The number of failed syncs since the last successful one.
  failures       integer not null default 0,
  last_error     text,
  last_error_at  timestamptz
);

-- The review of one template at one business account.
create table template_reviews (
  account_id    uuid not null,
  environment   text collate "C" not null,
  template_id   uuid not null,
  desk          text collate "C" not null,
  -- The submitted values. A template whose current values differ has to be submitted again.
  version       integer not null,
  language      text not null,
  category      text not null,
  -- The time at which the client submitted the template, which distinguishes a second submission from the first.
  asked_for     timestamptz not null,
  asked_at      timestamptz not null,
  -- The name of the template at the carrier, the carrier's code of the language, and the carrier's id once it is known.
  name          text collate "C" not null,
  code          text collate "C" not null,
  carrier_id    text,
  -- asked: submitted, and no response is stored. refused: the carrier did not accept the submission.
  status        text not null check (status in ('asked', 'refused', 'pending', 'approved', 'rejected', 'paused')),
  reason        text,
  -- The time at which the status was stored. A list of the carrier that was requested earlier does not apply.
  noted_at      timestamptz not null,
  -- True if this service submitted the template; otherwise the carrier had it before.
  is_ours       boolean not null,
  was_approved  boolean not null,
  primary key (account_id, environment, template_id, desk)
);
-- Review updates identify a template by its name and language.
create index template_reviews_by_name on template_reviews (desk, name, code);


-- Consent: opt-outs of recipients, the settings of an account, service windows, and the check before a message is sent.

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
  -- The cause of the last change: a keyword that the recipient sent, a request, an import, or the report of a carrier.
  source       text not null check (source in ('keyword', 'api', 'import', 'carrier')),
  keyword      text,
  -- The inbound message with the keyword.
  message_id   uuid,
  note         text,
  updated_at   timestamptz not null,
  created_by   text,
  primary key (account_id, environment, recipient, sender)
);
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

-- The opt-outs of recipients whose data was erased. Only a keyed hash of the number is left.
create table erased_opt_outs (
  account_id      uuid not null,
  environment     text collate "C" not null,
  recipient_hash  bytea not null,
  -- Empty: from all senders.
  sender          text collate "C" not null,
  created_at      timestamptz not null,
  primary key (account_id, environment, recipient_hash, sender)
);

-- The consent settings of an environment.
create table consent_settings (
  account_id   uuid not null,
  environment  text collate "C" not null,
  -- The members that the account has set, with the names of the API.
  settings     json not null,
  updated_at   timestamptz not null,
  primary key (account_id, environment)
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

-- The keyed hash of a recipient, HMAC-SHA-256. The service gives each of its sessions the two blocks of the key as 128
-- bytes; the key itself is sealed with the secret key. A session without it must not decide whether a message may be
-- sent.
create function hash_recipient(account_id uuid, recipient text)
returns bytea
stable
language plpgsql
as $$
declare
  blocks bytea := decode(coalesce(current_setting('godwit.recipient_key', true), ''), 'hex');
begin
  if length(blocks) <> 128 then
    raise exception 'this session has no recipient key' using errcode = 'object_not_in_prerequisite_state';
  end if;
  return sha256(substr(blocks, 65)
                || sha256(substr(blocks, 1, 64) || uuid_send(account_id) || convert_to(recipient, 'UTF8')));
end
$$;

-- Whether an erased recipient has opted out of messages from this sender, or from all.
create function is_erased_opt_out(of_account uuid, of_environment text, of_recipient text, of_sender text)
returns boolean
stable
language plpgsql
as $$
begin
  return exists (select
                   from erased_opt_outs e
                  where e.account_id = of_account and e.environment = of_environment
                    and e.recipient_hash = hash_recipient(of_account, of_recipient) and e.sender in ('', of_sender));
end
$$;

-- Finds the messages that may not be sent now, among those that are about to be: their recipients have opted out, or an
-- opt-out is about to commit. It locks the environments and recipients first, so that no opt-out commits until the
-- transaction has ended. It does not wait for a lock: the messages of other recipients would wait as well. A volatile
-- function takes a new snapshot for each of its statements, so its check sees every opt-out that had committed when the
-- locks were taken. The caller's own statement has an older snapshot. src/consent/change-consent.ts has the proof.
--
-- The parameters are lists of equal length; the result is positions in them, counted from one. A message with a null as
-- its recipient is not checked.
create function find_suppressed(account_ids uuid[], environments text[], recipients text[], senders text[])
returns setof bigint
volatile
language plpgsql
as $$
declare
  busy text[];
begin
  select coalesce(array_agg(needed.name), '{}')
    into busy
    from (select distinct lock.purpose, lock.name
            from unnest(account_ids, environments, recipients) as item(account_id, environment, recipient)
           cross join lateral (values (7366, item.account_id::text || item.environment),
                                      (7367, item.account_id::text || item.environment || item.recipient))
                           as lock(purpose, name)
           where item.recipient is not null) needed
   where not pg_try_advisory_xact_lock_shared(needed.purpose, hashtext(needed.name));
  return query
    select item.ordinal
      from unnest(account_ids, environments, recipients, senders) with ordinality
        as item(account_id, environment, recipient, sender, ordinal)
     where item.recipient is not null
       and (item.account_id::text || item.environment = any (busy)
            or item.account_id::text || item.environment || item.recipient = any (busy)
            or exists (select from suppressions)
               and (coalesce((select s.is_active
                                from suppressions s
                               where s.account_id = item.account_id and s.environment = item.environment
                                 and s.recipient = item.recipient and s.sender = ''), false)
                    or coalesce((select s.is_active
                                   from suppressions s
                                  where s.account_id = item.account_id and s.environment = item.environment
                                    and s.recipient = item.recipient and s.sender = item.sender), false))
            or exists (select from erased_opt_outs)
               and is_erased_opt_out(item.account_id, item.environment, item.recipient, item.sender));
end
$$;


-- Verifications: one-time codes.

create table verifications (
  account_id   uuid not null,
  environment  text collate "C" not null,
  id           uuid not null,
  recipient    text collate "C" not null,
  -- The number without its last digits. SMS pumping uses adjacent numbers.
  prefix       text collate "C" not null,
  channels     text[] not null,
  code_length  smallint not null,
  -- A hash that is keyed with the secret key of the installation. Six digits are easily guessed from a plain hash.
  code_hash    bytea not null,
  status       text not null check (status in ('pending', 'approved', 'canceled', 'failed')),
  attempts     smallint not null default 0,
  message_id   uuid not null,
  expires_at   timestamptz not null,
  verified_at  timestamptz,
  updated_at   timestamptz not null,
  primary key (account_id, environment, id)
);
create index verifications_by_recipient on verifications (recipient, account_id, environment, id);
-- Retention deletes the oldest verifications first.
create index verifications_by_age on verifications (id);
create index verifications_by_prefix on verifications (prefix, account_id, environment, id);


-- Usage: counts of messages by the time of their creation and by their current properties. Each write inserts its
-- difference as a separate row of usage_changes, so that writers do not wait for each other. A background job folds the
-- rows into hours and minutes.

create table usage_changes (
  account_id       uuid not null,
  environment      text collate "C" not null,
  minute           timestamptz not null,
  channel          text collate "C" not null,
  status           text collate "C" not null,
  -- Empty for a message without an error.
  error_code       text collate "C" not null,
  -- The time until delivery, as a step of a logarithmic scale; -1 for a message that was not delivered.
  delivery_bucket  smallint not null,
  messages         integer not null,
  segments         integer not null
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000);

create table usage_hours (
  account_id       uuid not null,
  environment      text collate "C" not null,
  hour             timestamptz not null,
  channel          text collate "C" not null,
  status           text collate "C" not null,
  error_code       text collate "C" not null,
  delivery_bucket  smallint not null,
  messages         bigint not null,
  segments         bigint not null,
  primary key (account_id, environment, hour, channel, status, error_code, delivery_bucket)
);
-- The number of messages in these statuses is read often, and few hours have any.
create index usage_hours_open on usage_hours (account_id, environment)
 where status in ('scheduled', 'queued', 'sending');

-- The same counts, for only the last day. Every fold updates the recent minutes. Half of each page stays free for these
-- updates.
create table usage_minutes (
  account_id       uuid not null,
  environment      text collate "C" not null,
  minute           timestamptz not null,
  channel          text collate "C" not null,
  status           text collate "C" not null,
  error_code       text collate "C" not null,
  delivery_bucket  smallint not null,
  messages         bigint not null,
  segments         bigint not null,
  primary key (account_id, environment, minute, channel, status, error_code, delivery_bucket)
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 2000);

-- Minutes are complete from `since` on, and no earlier minute is stored.
create table usage_minutes_kept (
  only_row  boolean primary key default true check (only_row),
  since     timestamptz not null
);
insert into usage_minutes_kept (since) values (to_timestamp(0));


-- Audit: the changes that operators and clients make, each with its actor, in a hash chain.

-- A row is written in the transaction of the change, and never changes. Changes of the installation have the nil
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
