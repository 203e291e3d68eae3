-- Finds the messages that may not be sent now, among those that are about to be: their recipients have opted out, or an
-- opt-out is about to commit. It locks the environments and recipients first, so that no opt-out commits until the
-- transaction has ended. It does not wait for a lock: the messages of other recipients would wait as well. A volatile
-- function takes a new snapshot for each of its statements, so its check sees every opt-out that had committed when the
-- locks were taken. The caller's own statement has an older snapshot. src/consent/change-consent.ts has the proof.
--
-- The parameters are lists of equal length; the result is positions in them, counted from one. A message with a null as
-- its recipient is not checked.
create function find_suppressed(account_ids uuid[], environments text[], recipients text[], senders text[])
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
                                    and s.recipient = item.recipient and s.sender = item.sender), false)));
end
$$;
