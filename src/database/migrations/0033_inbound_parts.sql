-- Releases that know schema 27 or later work on this schema.
-- The parts of long inbound messages, from their arrival until the message is stored. A part is acknowledged when its row is committed.
create table inbound_parts (
  -- The parts of one message have one set.
  set_id        uuid not null,
  number        smallint not null,
  -- A carrier uses a reference again: several sets may have the same link, addresses, reference and total, and one of them is open.
  link          text collate "C" not null,
  from_address  text collate "C" not null,
  to_address    text collate "C" not null,
  reference     text collate "C" not null,
  total         smallint not null,
  -- How the carrier marks the addresses, if it does.
  from_type     text,
  to_type       text,
  -- The bytes as the carrier sent them, from which its provider reads the text. Of a joined part: their SHA-256.
  data_coding   smallint not null,
  has_header    boolean not null,
  user_data     bytea not null,
  -- open: the message waits for further parts. ended: no further part belongs to the message, which is to be stored. joined: the message is
  -- stored, and the row only recognizes a repetition of the part, since its response may not have been written.
  state         text not null default 'open' check (state in ('open', 'ended', 'joined')),
  -- The response to the carrier was written: the same part again is a part of another message.
  is_answered   boolean not null default false,
  -- The part equals a joined one, so it may be its repetition or a part of another message. Which of them, later parts show.
  is_doubtful   boolean not null default false,
  received_at   timestamptz not null default now(),
  -- The time at which any node ends and stores an incomplete message, or deletes a joined part.
  due_at        timestamptz not null,
  primary key (set_id, number),
  check (total between 2 and 255 and number between 1 and total)
);
create index inbound_parts_by_reference on inbound_parts (link, from_address, to_address, reference, total);
create index inbound_parts_due on inbound_parts (due_at);
