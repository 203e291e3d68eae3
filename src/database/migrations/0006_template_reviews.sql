-- Template reviews: the next sync with each business account, and its decision about each template.

-- `desk` names a business account, whose templates the carrier reviews. Several links can share a business account.
-- Times come from the clock of the database.
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
