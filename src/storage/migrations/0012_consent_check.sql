-- Finds the messages whose recipients have opted out, among those that are about to be sent. It locks the environments and
-- recipients first, so that no opt-out commits until the transaction has ended. A volatile function takes a new snapshot
-- for each of its statements, so its check sees every opt-out that had committed when the locks were taken. The caller's
-- own statement has an older snapshot. src/consent/change-consent.ts has the proof.
--
-- The parameters are lists of equal length; the result is positions in them, counted from one. A message with a null as
-- its recipient is not checked. All transactions take their locks in one order, so that there is no deadlock.
create function find_suppressed(account_ids uuid[], environments text[], recipients text[], senders text[])
returns setof bigint
volatile
language plpgsql
as $$
begin
  perform pg_advisory_xact_lock_shared(needed.purpose, needed.number)
     from (select distinct lock.purpose, hashtext(lock.name) as number
             from unnest(account_ids, environments, recipients) as item(account_id, environment, recipient)
            cross join lateral (values (7366, item.account_id::text || item.environment),
                                       (7367, item.account_id::text || item.environment || item.recipient))
                            as lock(purpose, name)
            where item.recipient is not null
            order by lock.purpose, number) needed;
  return query
    select item.ordinal
      from unnest(account_ids, environments, recipients, senders) with ordinality
        as item(account_id, environment, recipient, sender, ordinal)
     where item.recipient is not null
       and exists (select from suppressions)
       and (coalesce((select s.is_active
                        from suppressions s
                       where s.account_id = item.account_id and s.environment = item.environment
                         and s.recipient = item.recipient and s.sender = ''), false)
            or coalesce((select s.is_active
                           from suppressions s
                          where s.account_id = item.account_id and s.environment = item.environment
                            and s.recipient = item.recipient and s.sender = item.sender), false));
end
$$;
