-- Releases that know schema 27 or later work on this schema.
-- The first session on a timeline of the server stores a mark. A former primary that is promoted by itself begins a timeline of the same number
-- as that of its successor, and is recognized by another mark.
alter table installation add column timeline integer, add column timeline_mark uuid;
