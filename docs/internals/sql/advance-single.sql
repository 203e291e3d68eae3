-- Writes the change of a message that becomes sending or delivered.
with offer as materialized (
  select ($30::text[])[2]::timestamptz as leased_until, ($30::text[])[3]::uuid[] as endpoints
), changed as (
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
    from (select ($1::uuid[])[1] as account_id, ($2::text[])[1] as environment, ($3::text[])[1] as consent_recipient,
           ($4::text[])[1] as consent_sender, ($5::uuid[])[1] as message_id,
           ($6::integer[])[1] as expected_sequence, ($7::boolean[])[1] as is_whole, ($8::text[])[1] as status,
           ($9::integer[])[1] as sequence, ($10::text[])[1] as provider, ($11::text[])[1] as link,
           ($12::text[])[1] as provider_message_id, ($13::text[])[1] as sender, ($14::integer[])[1] as attempts,
           ($15::boolean[])[1] as has_unknown, ($16::smallint[])[1] as refusals,
           ($17::timestamptz[])[1] as updated_at, ($18::timestamptz[])[1] as sent_at,
           ($19::timestamptz[])[1] as delivered_at, ($20::uuid[])[1] as event_id, ($21::text[])[1] as event_type,
           ($22::text[])[1] as record, ($23::text[])[1] as previous_status, ($24::text[])[1] as detail,
           ($25::boolean[])[1] as is_ignored, ($26::smallint[])[1] as move, ($27::integer[])[1] as usage_minute,
           ($28::smallint[])[1] as usage_bucket, ($29::smallint[])[1] as usage_segments, 1::bigint as ordinal) as item
   where m.account_id = item.account_id and m.environment = item.environment and m.id = item.message_id
     and m.sequence = item.expected_sequence and m.status = item.previous_status
     and case when m.recipient = 'erased' then item.is_whole is null
              else (m.redacted_at is null) = item.is_whole
         end
     and (select set_config('lock_timeout', ($30::text[])[1], true)) is not null
     and item.ordinal <> all (array(select position
                                      from find_suppressed($1, $2, $3, $4) as position
                                     where cardinality($3) > 0))
     and not (item.consent_recipient is not null and m.channel = 'whatsapp' and m.template is null
              and
                   (exists (select from service_windows)
                    and coalesce((select true
                                    from service_windows w
                                   where w.account_id = m.account_id and w.environment = m.environment
                                     and w.recipient = m.recipient and w.sender = m.sender
                                     and w.opened_at <= item.updated_at - interval '24 hours'), false)))
  returning item.ordinal, item.account_id, item.environment, item.message_id, item.move, item.updated_at,
           item.status, item.previous_status, item.usage_minute, item.usage_bucket, item.usage_segments,
           m.channel, '' as usage_error, -1 as usage_bucket_before, '' as usage_error_before,
           item.usage_segments as usage_segments_before, item.sequence, item.event_id, item.event_type,
           item.is_ignored, item.detail, item.record
), entry as (
  insert into events
         (account_id, environment, id, type, message_id, sequence, record, previous_status, detail, is_ignored)
  select account_id, environment, event_id, event_type, message_id, sequence, record, previous_status, detail::json,
         is_ignored
    from changed
), left_queue as (
  delete from delivery_queue q
   using changed
   where changed.move = 1 and q.message_id = changed.message_id
), delivery as (
  insert into webhook_queue (id, account_id, environment, endpoint_id, event_id, due_at)
  select (left(event.event_id::text, 18) || right(gen_random_uuid()::text, 18))::uuid,
         event.account_id, event.environment, endpoint.id, event.event_id, 
         case when endpoint.id = any ((select endpoints from offer)::uuid[])
              then (select leased_until from offer)
              else least(event.updated_at, now())
         end
    from changed event
    join webhook_endpoints endpoint on endpoint.account_id = event.account_id
                                   and endpoint.environment = event.environment
                                   and endpoint.status = 'enabled'
   where (select true from webhook_endpoints limit 1)
     and endpoint.event_types && array['*', split_part(event.event_type, '.', 1) || '.*', event.event_type]
     and event.record is not null and event.event_type <> 'message.redacted'
  returning id, event_id, endpoint_id, account_id, environment, due_at
), usage as (
  insert into usage_changes
         (account_id, environment, minute, channel, status, delivery_bucket, error_code, messages, segments)
  select account_id, environment, to_timestamp(usage_minute * 60::float8),
         channel, half.status, half.bucket, half.error_code, sum(half.messages), sum(half.segments)
    from (select account_id, environment, usage_minute, channel,
                 status, usage_bucket, usage_error, previous_status, usage_bucket_before, usage_error_before,
                 count(*) as messages, sum(usage_segments) as segments, sum(usage_segments_before) as segments_before
            from changed
           group by account_id, environment, usage_minute, channel, status, usage_bucket, usage_error,
                    previous_status, usage_bucket_before, usage_error_before) pair
   cross join lateral (values (status, usage_bucket, usage_error, messages, segments),
                              (previous_status, usage_bucket_before, usage_error_before, -messages, -segments_before))
                   as half(status, bucket, error_code, messages, segments)
   group by account_id, environment, usage_minute, channel, half.status, half.bucket, half.error_code
  having sum(half.messages) <> 0 or sum(half.segments) <> 0
)
select ordinal::integer,
       null::uuid as endpoint_id, null::uuid as account_id, null::text as environment, null::timestamptz as due_at,
       null::uuid as delivery_id, null::uuid as event_id
  from changed
union all
select 0, endpoint_id, account_id, environment, min(due_at), null, null
  from delivery
 where due_at is distinct from (select leased_until from offer)
 group by endpoint_id, account_id, environment
union all
select 0, endpoint_id, account_id, environment, due_at, id, event_id
  from delivery
 where due_at = (select leased_until from offer)
