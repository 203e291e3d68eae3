alter table messages
  -- Members that only one kind of carrier understands, such as the id of a registered template.
  add column carrier_options  json;
