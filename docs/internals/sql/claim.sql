-- Claims due messages of a lane, an equal share for each account.
with recursive
walk_0(account_id, lap, place) as (
  select $6::uuid, 0, 0
  union all
  select next.account_id, next.lap, walk_0.place + 1
    from walk_0
   cross join lateral ((select q.account_id, walk_0.lap
                          from delivery_queue q
                         where q.link = $1 and q.priority = 0 and q.due_at <= now()
                           and q.account_id > walk_0.account_id
                           and q.account_id <= case walk_0.lap when 0 then 'ffffffff-ffff-ffff-ffff-ffffffffffff'
                                               else $6::uuid end
                         order by q.account_id
                         limit 1)
                       union all
                       (select q.account_id, 1
                          from delivery_queue q
                         where walk_0.lap = 0 and q.link = $1 and q.priority = 0 and q.due_at <= now()
                           and q.account_id <= $6::uuid
                         order by q.account_id
                         limit 1)
                       limit 1) next
   where walk_0.place < 32
),
walk_1(account_id, lap, place) as (
  select $7::uuid, 0, 0
  union all
  select next.account_id, next.lap, walk_1.place + 1
    from walk_1
   cross join lateral ((select q.account_id, walk_1.lap
                          from delivery_queue q
                         where q.link = $1 and q.priority = 1 and q.due_at <= now()
                           and q.account_id > walk_1.account_id
                           and q.account_id <= case walk_1.lap when 0 then 'ffffffff-ffff-ffff-ffff-ffffffffffff'
                                               else $7::uuid end
                         order by q.account_id
                         limit 1)
                       union all
                       (select q.account_id, 1
                          from delivery_queue q
                         where walk_1.lap = 0 and q.link = $1 and q.priority = 1 and q.due_at <= now()
                           and q.account_id <= $7::uuid
                         order by q.account_id
                         limit 1)
                       limit 1) next
   where walk_1.place < 32
),
walk_2(account_id, lap, place) as (
  select $8::uuid, 0, 0
  union all
  select next.account_id, next.lap, walk_2.place + 1
    from walk_2
   cross join lateral ((select q.account_id, walk_2.lap
                          from delivery_queue q
                         where q.link = $1 and q.priority = 2 and q.due_at <= now()
                           and q.account_id > walk_2.account_id
                           and q.account_id <= case walk_2.lap when 0 then 'ffffffff-ffff-ffff-ffff-ffffffffffff'
                                               else $8::uuid end
                         order by q.account_id
                         limit 1)
                       union all
                       (select q.account_id, 1
                          from delivery_queue q
                         where walk_2.lap = 0 and q.link = $1 and q.priority = 2 and q.due_at <= now()
                           and q.account_id <= $8::uuid
                         order by q.account_id
                         limit 1)
                       limit 1) next
   where walk_2.place < 32
),
picked as materialized (
  select message_id, share
    from ((select due.message_id, part.share
             from (select greatest(1, $2::integer / greatest(1, count(*)))::integer as share
                     from walk_0
                    where place > 0) part
             join walk_0 on walk_0.place > 0
            cross join lateral (select q.message_id
                                  from delivery_queue q
                                 where q.link = $1 and q.priority = 0 and q.account_id = walk_0.account_id
                                   and q.due_at <= now()
                                 order by q.due_at
                                 limit part.share
                                   for update skip locked) due
            limit $2::integer)
          union all
          (select due.message_id, part.share
             from (select greatest(1, $3::integer / greatest(1, count(*)))::integer as share
                     from walk_1
                    where place > 0) part
             join walk_1 on walk_1.place > 0
            cross join lateral (select q.message_id
                                  from delivery_queue q
                                 where q.link = $1 and q.priority = 1 and q.account_id = walk_1.account_id
                                   and q.due_at <= now()
                                 order by q.due_at
                                 limit part.share
                                   for update skip locked) due
            limit $3::integer)
          union all
          (select due.message_id, part.share
             from (select greatest(1, $4::integer / greatest(1, count(*)))::integer as share
                     from walk_2
                    where place > 0) part
             join walk_2 on walk_2.place > 0
            cross join lateral (select q.message_id
                                  from delivery_queue q
                                 where q.link = $1 and q.priority = 2 and q.account_id = walk_2.account_id
                                   and q.due_at <= now()
                                 order by q.due_at
                                 limit part.share
                                   for update skip locked) due
            limit $4::integer)) due
   limit $2::integer
), claimed as (
  update delivery_queue q
     set due_at = now() + $5::integer * interval '1 millisecond'
    from picked
   where q.message_id = picked.message_id
  returning q.message_id, q.account_id, q.environment, q.state, q.sealed_content, picked.share
)
select claimed.state as queue_state, claimed.share, claimed.sealed_content,
       m.account_id, m.environment, m.id, m.direction, m.channel, m.recipient, m.sender, m.body, m.status,
       m.sequence, m.error, m.segments_count, m.segments_encoding, m.segments_characters, m.priority,
       m.client_reference, m.metadata, m.max_segments, m.send_at, m.expires_at, m.provider, m.link,
       m.provider_message_id, m.attempts, m.updated_at, m.sent_at, m.delivered_at, m.read_at, m.failed_at,
       m.canceled_at, m.redacted_at, m.template, m.has_fallback, m.has_unknown, m.refusals, m.fallback_of,
       m.in_reply_to, m.batch_id, m.trace
  from claimed
 cross join lateral (select *
                       from messages whole
                      where whole.account_id = claimed.account_id and whole.environment = claimed.environment
                        and whole.id = claimed.message_id
                      limit 1) m
