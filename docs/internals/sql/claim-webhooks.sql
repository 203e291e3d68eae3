-- Claims webhook deliveries, a share for each endpoint.
with picked as materialized (
  select due.id, due.due_at, item.leased_until
    from unnest($1::uuid[], $2::boolean[], $3::timestamptz[], $4::timestamptz[], $5::integer[], $6::timestamptz[])
           with ordinality as item
           (endpoint_id, is_retry, from_at, until, most, leased_until, ordinal)
   cross join lateral (select q.id, q.due_at
                         from webhook_queue q
                        where q.is_retry = item.is_retry and q.endpoint_id = item.endpoint_id
                          and q.due_at >= item.from_at and q.due_at <= coalesce(item.until, 'infinity')
                        order by q.due_at
                        limit item.most
                          for update skip locked) due
), claimed as (
  update webhook_queue q
     set due_at = picked.leased_until
    from picked
   where q.id = picked.id
  returning q.id, q.account_id, q.environment, q.endpoint_id, q.event_id, q.is_retry, q.attempts,
            q.due_at as leased_until, picked.due_at as was_due_at
)
select claimed.*, event.*
  from claimed
  left join lateral (select e.type, e.sequence, e.record, e.message_id,
         fixed.channel, fixed.recipient, fixed.body, fixed.content, fixed.template,
         fixed.segments_count, fixed.segments_encoding, fixed.segments_characters,
         fixed.priority, fixed.client_reference, fixed.metadata, fixed.send_at,
         fixed.expires_at, fixed.fallback_of, fixed.in_reply_to, fixed.batch_id, fixed.source,
         fixed.trace, e.previous_status,
       case when e.type = 'message.fallback_started' then e.detail ->> 'fallback_message_id' end as fallback_message_id
                       from events e
  left join lateral (select
         m.channel, m.recipient, m.body, m.content, m.template,
         m.segments_count, m.segments_encoding, m.segments_characters,
         m.priority, m.client_reference, m.metadata, m.send_at,
         m.expires_at, m.fallback_of, m.in_reply_to, m.batch_id, m.source,
         m.trace
                       from messages m
                      where m.account_id = e.account_id and m.environment = e.environment and m.id = e.message_id
                      limit 1) fixed on true
                      where e.account_id = claimed.account_id and e.environment = claimed.environment
                        and e.id = claimed.event_id
                        and (fixed.channel is not null or e.record is null or left(e.record, 1) <> '[')
                      limit 1) event on true
 order by claimed.id
