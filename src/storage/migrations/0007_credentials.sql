-- Access tokens: who gives them out, and what they are signed with.

-- Names this installation in the tokens that it gives out.
alter table installation add column id uuid not null default gen_random_uuid();

create table signing_keys (
  -- The thumbprint of the public key, as tokens name it.
  kid          text collate "C" primary key,
  public_key   json not null,
  -- Sealed by the server's secret key.
  private_key  text not null,
  -- Published before it signs, so that whoever keeps the list of keys has it in time.
  active_from  timestamptz not null
);
