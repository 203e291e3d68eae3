-- The opt-outs of recipients whose data was erased. Only a keyed hash of the number is left.
create table erased_opt_outs (
  account_id      uuid not null,
  environment     text collate "C" not null,
  recipient_hash  bytea not null,
  -- Empty: from all senders.
  sender          text collate "C" not null,
  created_at      timestamptz not null,
  primary key (account_id, environment, recipient_hash, sender)
);

-- The keyed hash of a recipient, HMAC-SHA-256. The service gives each of its sessions the two blocks of the key as 128 bytes; the
-- key itself is sealed with the secret key. A session without it must not decide whether a message may be sent.
create function hash_recipient(account_id uuid, recipient text)
returns bytea
stable
language plpgsql
as $$
declare
  blocks bytea := decode(coalesce(current_setting('godwit.recipient_key', true), ''), 'hex');
begin
  if length(blocks) <> 128 then
    raise exception 'this session has no recipient key' using errcode = 'object_not_in_prerequisite_state';
  end if;
  return sha256(substr(blocks, 65) || sha256(substr(blocks, 1, 64) || uuid_send(account_id) || convert_to(recipient, 'UTF8')));
end
$$;

-- Whether an erased recipient has opted out of messages from this sender, or from all.
create function is_erased_opt_out(of_account uuid, of_environment text, of_recipient text, of_sender text)
returns boolean
stable
language plpgsql
as $$
begin
  return exists (select
                   from erased_opt_outs e
                  where e.account_id = of_account and e.environment = of_environment
                    and e.recipient_hash = hash_recipient(of_account, of_recipient) and e.sender in ('', of_sender));
end
$$;

-- As in migration 0012, with the opt-outs of erased recipients.
create or replace function find_suppressed(account_ids uuid[], environments text[], recipients text[], senders text[])
returns setof bigint
volatile
language plpgsql
as $$
declare
  busy text[];
begin
  select coalesce(array_agg(needed.name), '{}')
    into busy
    from (select distinct lock.purpose, lock.name
            from unnest(account_ids, environments, recipients) as item(account_id, environment, recipient)
           cross join lateral (values (7366, item.account_id::text || item.environment),
                                      (7367, item.account_id::text || item.environment || item.recipient))
                           as lock(purpose, name)
           where item.recipient is not null) needed
   where not pg_try_advisory_xact_lock_shared(needed.purpose, hashtext(needed.name));
  return query
    select item.ordinal
      from unnest(account_ids, environments, recipients, senders) with ordinality
        as item(account_id, environment, recipient, sender, ordinal)
     where item.recipient is not null
       and (item.account_id::text || item.environment = any (busy)
            or item.account_id::text || item.environment || item.recipient = any (busy)
            or exists (select from suppressions)
               and (coalesce((select s.is_active
                                from suppressions s
                               where s.account_id = item.account_id and s.environment = item.environment
                                 and s.recipient = item.recipient and s.sender = ''), false)
                    or coalesce((select s.is_active
                                   from suppressions s
                                  where s.account_id = item.account_id and s.environment = item.environment
                                    and s.recipient = item.recipient and s.sender = item.sender), false))
            or exists (select from erased_opt_outs)
               and is_erased_opt_out(item.account_id, item.environment, item.recipient, item.sender));
end
$$;
