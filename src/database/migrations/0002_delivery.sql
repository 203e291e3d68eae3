-- Delivery of messages: attempts at providers, their responses, scheduled messages, delivery receipts and usage.

alter table messages
  add column max_segments         smallint,
  add column send_at              timestamptz,
  add column provider             text,
  add column link                 text,
  add column provider_message_id  text,
  -- The number of attempts at providers, increased before the first byte of an attempt can leave the machine.
  add column attempts             integer not null default 0,
  add column sent_at              timestamptz,
  add column delivered_at         timestamptz,
  add column read_at              timestamptz,
  add column failed_at            timestamptz,
  add column canceled_at          timestamptz,
  add column redacted_at          timestamptz;

-- A message changes a few times in its first seconds. Half of each page stays free, so that each new version of a
-- message fits on the page of the previous one. Such an update touches no index, and the next update removes the old
-- version.
do $$
declare
  name text;
begin
  for name in select inhrelid::regclass from pg_inherits where inhparent = 'messages'::regclass loop
    execute format('alter table %s set (fillfactor = 50)', name);
  end loop;
end $$;

alter table events
  -- An entry of the timeline that changes nothing has no record.
  alter column record drop not null,
  add column previous_status  text,
  -- The request to a provider, or its response or receipt, for the timeline.
  add column detail           json,
  -- True for a signal that causes no transition. The timeline contains the signal; endpoints receive no event.
  add column is_ignored       boolean not null default false;

-- The first event of a message has the id of the message and is found by that id, so it is not in this index.
create index events_by_message on events (message_id) where id <> message_id;

-- A row waits for a provider, in the lane `link`, or for its scheduled time, in the lane '@scheduled'. A claim moves
-- `due_at` to the end of its lease, so that a row becomes due again when its node has died.
alter table delivery_queue
  add column link        text collate "C" not null default '',
  -- 0: waiting, or leased to a node. 1: held, because bytes may have left and the outcome is unknown.
  add column state       smallint not null default 0 check (state in (0, 1)),
  add column expires_at  timestamptz;

update delivery_queue q
   set link = case when q.environment = 'test' then 'simulator' else '' end,
       expires_at = (select m.expires_at
                       from messages m
                      where m.account_id = q.account_id and m.environment = q.environment and m.id = q.message_id);

alter table delivery_queue alter column expires_at set not null, alter column link drop default;
drop index delivery_queue_due;
create index delivery_queue_due on delivery_queue (link, priority, account_id, due_at);
-- A campaign of a million messages may wait until next week. This index finds scheduled messages by their time.
create index delivery_queue_scheduled on delivery_queue (due_at) where link = '@scheduled';
-- Rows live for a fraction of a second. Autovacuum depends on the number of dead rows, and not on their share of a
-- backlog.
alter table delivery_queue set (autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 5000);

-- A carrier identifies a message by the carrier id, and names no account. Carrier ids repeat after months; the newest
-- message owns the id.
create table provider_references (
  link                 text collate "C" not null,
  provider_message_id  text collate "C" not null,
  account_id           uuid not null,
  environment          text collate "C" not null,
  message_id           uuid not null,
  -- The service awaits no receipt after this time.
  expires_at           timestamptz not null,
  primary key (link, provider_message_id)
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

-- Messages by the hour of their creation and by their current properties. Each write inserts its difference as a
-- separate row of usage_changes, so that writers do not wait for each other. A background job folds the rows into
-- hours.
create table usage_hours (
  account_id       uuid not null,
  environment      text collate "C" not null,
  hour             timestamptz not null,
  channel          text collate "C" not null,
  status           text collate "C" not null,
  -- Empty for a message without an error.
  error_code       text collate "C" not null,
  -- The time until delivery, as a step of a logarithmic scale; -1 for a message that was not delivered.
  delivery_bucket  smallint not null,
  messages         bigint not null,
  segments         bigint not null,
  primary key (account_id, environment, hour, channel, status, error_code, delivery_bucket)
);

create table usage_changes (
  account_id       uuid not null,
  environment      text collate "C" not null,
  hour             timestamptz not null,
  channel          text collate "C" not null,
  status           text collate "C" not null,
  error_code       text collate "C" not null,
  delivery_bucket  smallint not null,
  messages         integer not null,
  segments         integer not null
);
-- The number of messages in these statuses is read often, and few hours have any.
create index usage_hours_open on usage_hours (account_id, environment) where status in ('scheduled', 'queued', 'sending');
alter table usage_changes set (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000);

insert into usage_changes
select account_id, environment, to_timestamp(floor(('x' || translate(left(id::text, 13), '-', ''))::bit(48)::bigint / 3600000.0) * 3600),
       channel, status, '', -1, count(*), coalesce(sum(segments_count), 0)
  from messages
 group by 1, 2, 3, 4, 5;
