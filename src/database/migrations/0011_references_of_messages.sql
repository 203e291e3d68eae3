-- A carrier may give the same id to two messages. Each message keeps its own reference, and with it the time after which
-- no receipt is awaited. A receipt with that id belongs to the newest of the messages.
alter table provider_references
  drop constraint provider_references_pkey,
  add primary key (link, provider_message_id, message_id);
