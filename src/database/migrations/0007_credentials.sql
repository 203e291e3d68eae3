-- Access tokens: the installation that creates them, and the keys that sign them.

-- The id of this installation in the access tokens that it creates.
alter table installation add column id uuid not null default gen_random_uuid();

create table signing_keys (
  -- The thumbprint of the public key, by which access tokens identify the key.
  kid          text collate "C" primary key,
  public_key   json not null,
  -- Encrypted with the secret key of the installation.
  private_key  text not null,
  -- The key is published before it signs, so that clients that cache the list of keys have the key in time.
  active_from  timestamptz not null
);
