-- Claims due messages of a lane, an equal share for each account.
with picked as materialized (
  select due.message_id, due.due_at
    from unnest($2::smallint[], $3::uuid[], $4::timestamptz[], $5::integer[])
      as share(priority, account_id, from_at, most)
   cross join lateral (select q.message_id, q.due_at
                         from delivery_queue q
                        where q.link = $1 and q.priority = share.priority and q.account_id = share.account_id
                          and q.due_at >= share.from_at and q.due_at <= $6::timestamptz
                        order by q.due_at
                        limit share.most
                          for update skip locked) due
   limit $8::integer
), claimed as (
  update delivery_queue q
     set due_at = $7::timestamptz
    from picked
   where q.message_id = picked.message_id
  returning q.message_id, q.account_id, q.environment, q.state, q.sealed_content, picked.due_at
)
select claimed.state as queue_state, claimed.sealed_content, claimed.due_at as queue_due_at,
       m.account_id, m.environment, m.id, m.direction, m.channel, m.recipient, m.sender, m.sender_reason,
       m.link_reason, m.body, m.content, m.status,
       m.sequence, m.error, m.segments_count, m.segments_encoding, m.segments_characters, m.priority,
       m.client_reference, m.metadata, m.max_segments, m.carrier_options, m.send_at, m.expires_at, m.provider, m.link,
       m.provider_message_id, m.attempts, m.updated_at, m.sent_at, m.delivered_at, m.read_at, m.failed_at,
       m.canceled_at, m.redacted_at, m.template, m.has_fallback, m.has_unknown, m.refusals, m.fallback_of,
       m.in_reply_to, m.is_opt_out_reply, m.batch_id, m.source, m.trace
  from claimed
 cross join lateral (select *
                       from messages whole
                      where whole.account_id = claimed.account_id and whole.environment = claimed.environment
                        and whole.id = claimed.message_id
                      limit 1) m
