-- Releases that know schema 27 or later work on this schema.
-- Events of messages may store a compact text in place of the record. The nodes write it once no node of an earlier release is connected; from then on
-- earlier releases do not work on this schema (src/database/earlier-releases.ts).
comment on column events.record is
  'The record at the time of the event: whole, or as an array with the members that could still change. Null for an entry that changes nothing.';
