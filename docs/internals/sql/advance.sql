-- Writes a batch of changes of messages: every optional column is null.
with changed as (
  update messages m
     set status = item.status,
         sequence = item.sequence,
         provider = item.provider,
         link = item.link,
         provider_message_id = item.provider_message_id,
         sender = item.sender,
         attempts = item.attempts,
         has_unknown = item.has_unknown,
         refusals = item.refusals,
         updated_at = item.updated_at,
         sent_at = item.sent_at,
         delivered_at = item.delivered_at
    from (select item.*,
           null::text as consent_recipient, null::text as consent_sender, null::text as sender_reason,
           null::text as link_reason, null::text as error, null::timestamptz as read_at,
           null::timestamptz as failed_at, null::timestamptz as canceled_at, null::boolean as starts_fallback,
           null::text as reference_link, null::text as reference_id, null::timestamptz as reference_expires_at,
           null::text as part_ids, null::smallint as parts_total, null::integer as parts_reference,
           null::smallint as queue_state, null::timestamptz as due_at, null::text as lane,
           null::smallint as queue_priority, null::timestamptz as queue_expires_at
      from unnest($1::uuid[], $2::text[], $3::uuid[], $4::integer[], $5::boolean[], $6::text[], $7::integer[],
           $8::text[], $9::text[], $10::text[], $11::text[], $12::integer[], $13::boolean[], $14::smallint[],
           $15::timestamptz[], $16::timestamptz[], $17::timestamptz[], $18::uuid[], $19::text[], $20::text[],
           $21::text[], $22::text[], $23::boolean[], $24::smallint[], $25::integer[], $26::text[],
           $27::smallint[], $28::text[], $29::smallint[])
           with ordinality as item
           (account_id, environment, message_id, expected_sequence, is_whole, status, sequence, provider, link,
           provider_message_id, sender, attempts, has_unknown, refusals, updated_at, sent_at, delivered_at,
           event_id, event_type, record, previous_status, detail, is_ignored, move, usage_minute, usage_key,
           usage_segments, usage_key_before, usage_segments_before, ordinal)) item
   where m.account_id = item.account_id and m.environment = item.environment and m.id = item.message_id
     and m.sequence = item.expected_sequence
     and case when m.recipient = 'erased' then item.is_whole is null
              else (m.redacted_at is null) = item.is_whole
         end
  returning item.ordinal, item.account_id, item.environment, item.message_id, item.move, item.updated_at,
           item.usage_key, item.usage_segments, item.usage_key_before, item.usage_segments_before,
           item.usage_minute, item.event_id, item.event_type, item.sequence, item.previous_status,
           item.is_ignored, item.detail, item.record
), entry as (
  insert into events
         (account_id, environment, id, type, message_id, sequence, record, previous_status, detail, is_ignored)
  select account_id, environment, event_id, event_type, message_id, sequence, record, previous_status, detail::json,
         is_ignored
    from changed
   where case when is_ignored
              then (select count(*)
                      from (select
                              from events e
                             where e.message_id = changed.message_id and e.id <> e.message_id
                             limit 100) known) < 100
              else true
         end
), left_queue as (
  delete from delivery_queue q
   using changed
   where changed.move = 1 and q.message_id = changed.message_id
), delivery as (
  insert into webhook_queue (id, account_id, environment, endpoint_id, event_id, due_at)
  select (left(event.event_id::text, 18) || right(gen_random_uuid()::text, 18))::uuid,
         event.account_id, event.environment, endpoint.id, event.event_id, least(event.updated_at, now())
    from changed event
    join webhook_endpoints endpoint on endpoint.account_id = event.account_id
                                   and endpoint.environment = event.environment
                                   and endpoint.status = 'enabled'
   where (select true from webhook_endpoints limit 1)
     and endpoint.event_types && array['*', split_part(event.event_type, '.', 1) || '.*', event.event_type]
     and event.record is not null and event.event_type <> 'message.redacted'
  returning endpoint_id, account_id, environment, due_at
), usage as (
  insert into usage_changes
         (account_id, environment, minute, channel, status, delivery_bucket, error_code, messages, segments)
  select account_id, environment, to_timestamp(usage_minute * 60::float8),
         split_part(key, '|', 1), split_part(key, '|', 2), split_part(key, '|', 3)::smallint, split_part(key, '|', 4),
         sum(half.messages), sum(half.segments)
    from (select account_id, environment, usage_minute, usage_key, usage_key_before, count(*) as messages,
                 sum(usage_segments) as segments, sum(usage_segments_before) as segments_before
            from changed
           where usage_key is distinct from usage_key_before or usage_segments is distinct from usage_segments_before
           group by account_id, environment, usage_minute, usage_key, usage_key_before) pair
   cross join lateral (values (pair.usage_key, pair.messages, pair.segments),
                              (pair.usage_key_before, -pair.messages, -pair.segments_before))
                   as half(key, messages, segments)
   where half.key is not null
   group by account_id, environment, usage_minute, half.key
  having sum(half.messages) <> 0 or sum(half.segments) <> 0
)
select ordinal::integer,
       null::uuid as endpoint_id, null::uuid as account_id, null::text as environment, null::timestamptz as due_at
  from changed
union all
select 0, endpoint_id, account_id, environment, min(due_at)
  from delivery
 group by endpoint_id, account_id, environment
