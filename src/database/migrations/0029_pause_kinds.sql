-- Releases that know schema 27 or later work on this schema.
-- Why a link is paused: operator, account, carrier or hold. Null: written by release 0.2, whose reason has a known text for each kind.
alter table link_pauses add column kind text;
