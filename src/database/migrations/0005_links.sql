-- Links to carriers: their leases and states, and messages that are transmitted in parts.

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
  primary key (account_id, environment, message_id, number)
);
-- Retention deletes parts with their messages.
create index message_parts_by_age on message_parts (message_id);

alter table provider_references
  -- The number of the part that has this carrier id; null for the whole message.
  add column part  smallint;

alter table messages
  -- True if the outcome of an attempt is unknown. Such a message is not submitted on another link.
  add column has_unknown  boolean not null default false,
  -- Attempts that a carrier refused temporarily. Throttled attempts do not count: they say nothing about the message.
  add column refusals     smallint not null default 0;

-- Before this migration every attempt counted.
update messages
   set refusals = attempts
 where status in ('queued', 'sending') and attempts > 0;
