-- Templates are reviewed by carriers: when an account at a carrier is asked next, and what it made of each template.

-- A desk is an account at a carrier that has templates reviewed; several links may share one. Times are the database's.
create table template_syncs (
  desk           text collate "C" primary key,
  due_at         timestamptz not null default now(),
  -- The node that is at it, and until when: one that is gone loses it by time.
  claimed_by     text,
  claimed_until  timestamptz not null default '-infinity',
  synced_at      timestamptz,
  -- In a row, since the last time that all went well.
  failures       integer not null default 0,
  last_error     text,
  last_error_at  timestamptz
);

-- What one desk makes of one template.
create table template_reviews (
  account_id    uuid not null,
  environment   text collate "C" not null,
  template_id   uuid not null,
  desk          text collate "C" not null,
  -- What was handed in: what differs from the template of today is to be handed in again.
  version       integer not null,
  language      text not null,
  category      text not null,
  -- When the template was submitted here, by which a second time is told from the first.
  asked_for     timestamptz not null,
  asked_at      timestamptz not null,
  -- How the carrier knows it: its name, its word for the language, and an id once it has given one.
  name          text collate "C" not null,
  code          text collate "C" not null,
  carrier_id    text,
  -- asked: on its way, and no answer is on record. refused: the carrier did not even take it.
  status        text not null check (status in ('asked', 'refused', 'pending', 'approved', 'rejected', 'paused')),
  reason        text,
  -- When that was said: a list that was asked for before it knows less.
  noted_at      timestamptz not null,
  -- Handed in from here; otherwise it was there before.
  is_ours       boolean not null,
  was_approved  boolean not null,
  primary key (account_id, environment, template_id, desk)
);
-- Carriers tell of a template by its name and language.
create index template_reviews_by_name on template_reviews (desk, name, code);
