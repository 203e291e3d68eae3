-- The consent settings of an environment.
create table consent_settings (
  account_id   uuid not null,
  environment  text collate "C" not null,
  -- The members that the account has set, with the names of the API.
  settings     json not null,
  updated_at   timestamptz not null,
  primary key (account_id, environment)
);
