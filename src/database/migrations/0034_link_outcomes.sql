-- Releases that know schema 27 or later work on this schema.
-- The outcomes of messages on links in the last minutes, by which routes choose links. The rows live for a quarter of an hour; a lost count does
-- not matter.
create table link_outcomes (
  link      text collate "C" not null,
  -- Of the recipients, as two letters; empty if unknown.
  country   text collate "C" not null,
  -- The first characters of the recipients' numbers; empty for the numbers of rare prefixes.
  prefix    text collate "C" not null,
  -- The beginning of the seconds in which the messages were sent.
  cohort    timestamptz not null,
  -- sent, delivered, failed after it was sent, or refused.
  outcome   text collate "C" not null,
  -- The error; empty without one.
  code      text collate "C" not null,
  messages  integer not null,
  -- The sum of the times from sent to delivered.
  wait_ms   bigint not null,
  primary key (link, country, prefix, cohort, outcome, code)
);
create index link_outcomes_by_cohort on link_outcomes (cohort);
