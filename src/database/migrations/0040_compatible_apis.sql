-- Releases that know schema 27 or later work on this schema.
-- The facts of the message that only the API it came through has to know, such as the URL of its reports. Null for our own API.
alter table messages add column source_details json;
-- The API in whose form the endpoint is called. Null for our own form.
alter table webhook_endpoints add column source text collate "C";

-- User names and passwords of clients that use the APIs of other products. The id is unique among those of API keys.
create table compatible_credentials (
  account_id    uuid not null,
  environment   text collate "C" not null,
  id            uuid not null,
  source        text collate "C" not null,
  user_name     text collate "C" not null,
  -- Encrypted with the secret key of the installation: callbacks are signed with it.
  secret        text not null,
  scopes        text[] not null,
  -- The settings of the API for this client, as its folder reads them.
  settings      json not null,
  revoked_at    timestamptz,
  last_used_at  timestamptz,
  created_by    text,
  primary key (account_id, environment, id)
);
create unique index compatible_credentials_by_user on compatible_credentials (source, user_name) where revoked_at is null;
