-- Claims webhook deliveries, a share for each endpoint.
with picked as materialized (
  select due.id
    from unnest($1::uuid[], $2::boolean[], $3::boolean[], $4::integer[])
           with ordinality as item
           (endpoint_id, is_retry, is_uncallable, most, ordinal)
   cross join lateral (select q.id
                         from webhook_queue q
                        where q.is_retry = item.is_retry and q.endpoint_id = item.endpoint_id
                          and q.due_at <= case when item.is_uncallable then 'infinity' else now() end
                        order by q.due_at
                        limit item.most
                          for update skip locked) due
), claimed as (
  update webhook_queue q
     set due_at = date_trunc('milliseconds', now()) + 25000 * interval '1 millisecond'
    from picked
   where q.id = picked.id
  returning q.id, q.account_id, q.environment, q.endpoint_id, q.event_id, q.is_retry, q.attempts,
            q.due_at as leased_until
)
select claimed.*, event.type, event.sequence, event.record, event.previous_status, event.fallback_message_id,
       event.trace
  from claimed
  left join lateral (select id, environment, type, sequence, record, previous_status,
       case when type = 'message.fallback_started' then detail ->> 'fallback_message_id' end as fallback_message_id,
       case when e.message_id is not null
            then (select m.trace
                    from messages m
                   where m.account_id = e.account_id and m.environment = e.environment and m.id = e.message_id
                   limit 1)
       end as trace
                       from events e
                      where e.account_id = claimed.account_id and e.environment = claimed.environment
                        and e.id = claimed.event_id
                      limit 1) event on true
 order by claimed.id
