-- Messages of which a carrier has accepted only the first parts.
alter table message_parts
  -- The number of parts that the message has. Null for messages from before this migration, of which all parts are known.
  add column total      smallint,
  -- The number in the parts that ties them together, where parts are missing: the others are sent with the same one.
  add column reference  integer;
