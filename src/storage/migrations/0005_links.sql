-- Real carriers: who has a link open, how links are doing, and messages that travel in parts.

-- One node has an exclusive link at a time. Times are the database's.
create table link_leases (
  link        text collate "C" primary key,
  node        text not null,
  expires_at  timestamptz not null
);

-- What the node that has a link open last said of it.
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

-- One row for each part of a message that went in several: its own name at the carrier, and what became of it.
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
-- They go with their messages.
create index message_parts_by_age on message_parts (message_id);

alter table provider_references
  -- Which part is called so; null: the whole message.
  add column part  smallint;

alter table messages
  -- Of one of its tries nobody knows whether it left: it is not given to another link.
  add column has_unknown  boolean not null default false,
  -- Tries that a carrier refused for now. Those that it only put off do not count: they say nothing against the message.
  add column refusals     smallint not null default 0;

-- Until now every try counted.
update messages
   set refusals = attempts
 where status in ('queued', 'sending') and attempts > 0;
