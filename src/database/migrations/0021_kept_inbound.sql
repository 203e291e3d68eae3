-- Inbound messages that belong to no account, and notifications that belong to no link, for the operator.
create table kept_inbound (
  -- The first 48 bits contain the time at which it came.
  id                   uuid primary key,
  kind                 text collate "C" not null check (kind in ('message', 'notification')),
  link                 text collate "C" not null,
  provider             text not null,
  channel              text not null,
  provider_message_id  text,
  -- The person, and the number that the person wrote to.
  sender               text collate "C",
  recipient            text,
  -- The text of a message, or a notification as the carrier wrote it.
  body                 text check (length(body) <= 16384),
  -- Of a message: the meaning that the carrier reported, whether it was written to a group, and contents besides the text.
  reported             text,
  is_to_group          boolean not null default false,
  details              json,
  -- The message that it became when the operator assigned it to an account. The person and the contents are null from then on.
  account_id           uuid,
  environment          text,
  message_id           uuid
);

create index kept_inbound_waiting on kept_inbound (kind, id) where message_id is null;
create index kept_inbound_by_sender on kept_inbound (sender) where sender is not null;
