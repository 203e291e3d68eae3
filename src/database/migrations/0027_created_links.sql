-- The links, senders and routes that accounts create through the API, for `live`. `definition` has the fields of the request without
-- secrets; `secrets` is sealed with the secret key.
create table created_links (
  account_id  uuid        not null references accounts,
  id          uuid        not null,
  name        text        not null,
  definition  json        not null,
  secrets     text        not null,
  updated_at  timestamptz not null,
  created_by  text,
  primary key (account_id, id)
);

create table created_senders (
  account_id  uuid        not null,
  id          uuid        not null,
  link_id     uuid        not null,
  number      text        not null,
  definition  json        not null,
  updated_at  timestamptz not null,
  created_by  text,
  primary key (account_id, id),
  foreign key (account_id, link_id) references created_links on delete cascade
);

create table created_routes (
  account_id  uuid        not null references accounts,
  id          uuid        not null,
  definition  json        not null,
  updated_at  timestamptz not null,
  created_by  text,
  primary key (account_id, id)
);

-- Links on which no message is sent, those of the configuration file included. A pause that a carrier caused ends by itself.
create table link_pauses (
  link        text        primary key,
  reason      text        not null,
  ends_at     timestamptz,
  paused_by   text
);

-- Grows with each change of the tables above, so that nodes notice the change.
create table created_version (
  version     bigint      not null
);
insert into created_version values (1);
