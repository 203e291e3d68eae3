-- New API keys have a checksum that is keyed with this secret. The service recognises made-up keys by it, without a query.
alter table installation
  add column key_checksum_secret bytea not null default uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid());

-- Keys of the first form have a checksum that everybody can compute. Each node has their hashes in memory.
alter table api_key_hashes
  add column has_keyed_checksum boolean not null default false;
create index api_key_hashes_of_first_form on api_key_hashes (hash) where not has_keyed_checksum;

-- The addresses from which a key may be used, as CIDR blocks. Null: from any address.
alter table api_keys
  add column allowed_ips text[] check (cardinality(allowed_ips) between 1 and 20);

-- The longest life of a key of the account. Null: no limit.
alter table accounts
  add column max_key_life_seconds bigint check (max_key_life_seconds > 0);
