-- Messages travel: what a provider was told and said, what waits for its time, what may still be heard of, and what was
-- counted.

alter table messages
  add column max_segments         smallint,
  add column send_at              timestamptz,
  add column provider             text,
  add column link                 text,
  add column provider_message_id  text,
  -- Tries at a provider: counted when a try may have left the machine, before it does.
  add column attempts             integer not null default 0,
  add column sent_at              timestamptz,
  add column delivered_at         timestamptz,
  add column read_at              timestamptz,
  add column failed_at            timestamptz,
  add column canceled_at          timestamptz,
  add column redacted_at          timestamptz;

-- A message changes a few times in its first seconds. Half a page left free lets each change stay on the page of the
-- message, where it touches no index and is tidied up by the next one.
do $$
declare
  name text;
begin
  for name in select inhrelid::regclass from pg_inherits where inhparent = 'messages'::regclass loop
    execute format('alter table %s set (fillfactor = 50)', name);
  end loop;
end $$;

alter table events
  -- Entries of a timeline that changed nothing have no snapshot.
  alter column record drop not null,
  add column previous_status  text,
  -- What a provider was told or said, for the timeline.
  add column detail           json,
  -- A signal that moved nothing: kept in the timeline, not told to anyone.
  add column is_ignored       boolean not null default false;

-- The first event of a message has the message's own id, and is found by that: most messages never need this index for it.
create index events_by_message on events (message_id) where id <> message_id;

-- What waits: for a provider (`link` is its lane), or for its time (the lane '@scheduled'). A claim moves `due_at` to the end
-- of its lease, so a row whose node died becomes due by itself.
alter table delivery_queue
  add column link        text collate "C" not null default '',
  -- 0 waits, or is in someone's hands; 1 is held: bytes may have left, and nobody knows whether they did.
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
-- A campaign of a million may wait for next week: what waits for its time is found by its time.
create index delivery_queue_scheduled on delivery_queue (due_at) where link = '@scheduled';
-- Rows live for a fraction of a second: the cleaner comes by the number of the dead, not by their share of a backlog.
alter table delivery_queue set (autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 5000);

-- A carrier speaks of a message by the name it gave it, and names no account. Ids repeat after months: the newest counts.
create table provider_references (
  link                 text collate "C" not null,
  provider_message_id  text collate "C" not null,
  account_id           uuid not null,
  environment          text collate "C" not null,
  message_id           uuid not null,
  -- No receipt after this is waited for.
  expires_at           timestamptz not null,
  primary key (link, provider_message_id)
);
create index provider_references_expiring on provider_references (expires_at);

-- Receipts that came before the id they speak of was known.
create table parked_receipts (
  link                 text collate "C" not null,
  provider_message_id  text collate "C" not null,
  status               text collate "C" not null,
  receipt              json not null,
  received_at          timestamptz not null default now(),
  primary key (link, provider_message_id, status)
);

-- Messages by the hour they were created in and what they are now. Each write adds its difference as a row of its own,
-- so that writers do not wait for each other; the rows are folded into the hours in the background.
create table usage_hours (
  account_id       uuid not null,
  environment      text collate "C" not null,
  hour             timestamptz not null,
  channel          text collate "C" not null,
  status           text collate "C" not null,
  -- Empty: none.
  error_code       text collate "C" not null,
  -- How long it took to be delivered, as a step of a logarithmic scale; -1: not delivered.
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
-- How many are under way is asked often, and few hours have any.
create index usage_hours_open on usage_hours (account_id, environment) where status in ('scheduled', 'queued', 'sending');
alter table usage_changes set (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000);

insert into usage_changes
select account_id, environment, to_timestamp(floor(('x' || translate(left(id::text, 13), '-', ''))::bit(48)::bigint / 3600000.0) * 3600),
       channel, status, '', -1, count(*), coalesce(sum(segments_count), 0)
  from messages
 group by 1, 2, 3, 4, 5;
