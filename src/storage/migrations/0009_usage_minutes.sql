-- A change of the counts keeps the minute of a message's creation, no longer its hour alone. What was not folded yet counts
-- in the first minute of its hour, which is the same hour.
alter table usage_changes rename column hour to minute;

-- The same counts as those of the hours, for the last day alone.
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
);
-- The young minutes are updated with every turn of folding: half of a page is room for that.
alter table usage_minutes set (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 2000);

-- From here on minutes are whole; of those before it there is nothing. Of messages that were counted before there were
-- minutes only the hour is known, so minutes begin after the last of them: the clocks of nodes differ by less than a minute.
create table usage_minutes_kept (
  only_row  boolean primary key default true check (only_row),
  since     timestamptz not null
);
insert into usage_minutes_kept (since)
select case when exists (select from usage_hours) or exists (select from usage_changes)
            then date_trunc('minute', clock_timestamp()) + interval '2 minutes'
            else to_timestamp(0)
       end;
