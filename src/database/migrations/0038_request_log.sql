-- Releases that know schema 27 or later work on this schema.
-- The API requests of the last days, for the developers of an account. A row holds no recipient and no text: values of bodies and queries are
-- masked before they are stored.
create table request_log (
  account_id      uuid not null,
  environment     text collate "C" not null,
  -- The id of the request, with the clock of the node.
  id              uuid not null,
  key_id          uuid not null,
  -- key, or token: an access token of the key.
  credential      text not null,
  key_name        text,
  operation       text collate "C" not null,
  method          text collate "C" not null,
  path            text not null,
  -- 499: the client disconnected before the end of the response.
  status          smallint not null,
  -- The error code of a refusal.
  code            text collate "C",
  is_replay       boolean not null,
  duration_us     integer not null,
  request_bytes   integer not null,
  response_bytes  integer not null,
  peer            text not null,
  user_agent      text,
  -- The message that the request created or named.
  message_id      uuid,
  -- The detail and the faults of a refusal, and its body with masked values.
  problem         jsonb,
  body            text,
  primary key (account_id, environment, id)
);
create index request_log_by_message on request_log (account_id, environment, message_id, id) where message_id is not null;
