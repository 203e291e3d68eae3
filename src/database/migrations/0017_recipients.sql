-- Indexes that find the data of one person, for an erasure and for an export.

alter table messages
  -- The sender of an inbound message once more. `sender` changes while a message is delivered, and an index of that column
  -- would make each of these updates write to all indexes.
  add column inbound_sender  text collate "C";

update messages
   set inbound_sender = sender
 where direction = 'inbound';

create index messages_by_inbound_sender on messages (inbound_sender, account_id, environment, id)
 where inbound_sender is not null;

alter table idempotency_keys
  -- The recipient that the stored body names. Null where it names none, and where the response is the record of an event.
  add column recipient  text collate "C";

create index idempotency_keys_by_recipient on idempotency_keys (recipient, account_id, environment) where recipient is not null;
