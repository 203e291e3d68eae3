-- A change of the counts has the minute of the message's creation, and not only its hour. A change that is not folded
-- yet counts in the first minute of its hour, so that its hour stays the same.
alter table usage_changes rename column hour to minute;

-- The same counts as in usage_hours, for only the last day.
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
-- Every fold updates the recent minutes. Half of each page stays free for these updates.
alter table usage_minutes set (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 2000);

-- Minutes are complete from `since` on, and no earlier minute is stored. For messages that were counted before this
-- migration only the hour is known. Therefore the minutes begin after the last of these messages. A margin covers the
-- clocks of nodes, which differ by less than a minute.
create table usage_minutes_kept (
  only_row  boolean primary key default true check (only_row),
  since     timestamptz not null
);
insert into usage_minutes_kept (since)
select case when exists (select from usage_hours) or exists (select from usage_changes)
            then date_trunc('minute', clock_timestamp()) + interval '2 minutes'
            else to_timestamp(0)
       end;
