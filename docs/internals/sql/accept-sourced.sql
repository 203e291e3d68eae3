-- Accepts a batch of plain texts, of which one came through a compatible API.
with offer as materialized (
  select ($34::text[])[1]::timestamptz as leased_until, ($34::text[])[2]::uuid[] as endpoints
), request as materialized (
  select item.*,
         item.key is null or pg_try_advisory_xact_lock(item.key_lock) as is_locked,
         case when item.is_opt_out_reply is not true then case when 
                   (exists (select from suppressions)
                    and (coalesce((select s.is_active
                                 from suppressions s
                                where s.account_id = item.account_id and s.environment = item.environment
                                  and s.recipient = item.recipient and s.sender = ''), false)
                      or coalesce((select s.is_active
                                 from suppressions s
                                where s.account_id = item.account_id and s.environment = item.environment
                                  and s.recipient = item.recipient and s.sender = item.sender), false))
                    or exists (select from erased_opt_outs)
                    and is_erased_opt_out(item.account_id, item.environment, item.recipient, item.sender)) then 0
              when item.channel = 'whatsapp' and item.template is null
               and 
                   (exists (select from service_windows)
                    and coalesce((select true
                                    from service_windows w
                                   where w.account_id = item.account_id and w.environment = item.environment
                                     and w.recipient = item.recipient and w.sender = item.sender
                                     and w.opened_at <= item.updated_at - interval '24 hours'), false)) then 1
         end end as refusal
    from (select item.*,
           null::smallint as max_segments, null::text as carrier_options, null::timestamptz as send_at,
           null::text as template, null::text as content, null::uuid as batch_id, null::uuid as fallback_of,
           null::text as fallback_steps, null::timestamptz as fallback_due_at, null::uuid as in_reply_to,
           null::boolean as is_opt_out_reply, null::text as trace
      from unnest($1::uuid[], $2::text[], $3::uuid[], $4::timestamptz[], $5::integer[], $6::text[], $7::text[],
           $8::smallint[], $9::smallint[], $10::text[], $11::timestamptz[], $12::timestamptz[], $13::text[],
           $14::uuid[], $15::bigint[], $16::bytea[], $17::text[], $18::uuid[], $19::text[], $20::integer[],
           $21::text[], $22::text[], $23::text[], $24::text[], $25::text[], $26::text[], $27::text[],
           $28::smallint[], $29::text[], $30::text[], $31::text[], $32::text[], $33::text[])
           with ordinality as item
           (account_id, environment, message_id, updated_at, usage_minute, channel, status, segments_count,
           priority_rank, lane, due_at, expires_at, sealed_content, key, key_lock, fingerprint, location,
           event_id, event_type, sequence, record, recipient, sender, sender_reason, link_reason, body,
           segments_encoding, segments_characters, priority, client_reference, metadata, source, source_details,
           ordinal)) item
), claimed as (
  insert into idempotency_keys as stored
         (account_id, environment, key, fingerprint, created_at, expires_at, status, location, body, event_id)
  select account_id, environment, key, fingerprint, updated_at, updated_at + interval '24 hours',
         202, location, null, event_id
    from request
   where key is not null and is_locked and refusal is null
  on conflict (account_id, environment, key) do update
     set fingerprint = excluded.fingerprint,
         created_at = excluded.created_at,
         expires_at = excluded.expires_at,
         status = excluded.status,
         location = excluded.location,
         body = excluded.body,
         recipient = null,
         event_id = excluded.event_id
   where stored.expires_at <= excluded.created_at
  returning account_id, environment, key
), accepted as (
  select request.*
    from request
   where request.refusal is null
     and (request.key is null
          or (request.account_id, request.environment, request.key)
             in (select account_id, environment, key from claimed))
), message as (
  insert into messages
         (account_id, environment, id, direction, channel, recipient, sender, sender_reason, link_reason,
          body, status, sequence, segments_count, segments_encoding, segments_characters, priority, client_reference,
          metadata, max_segments, carrier_options, send_at, expires_at, updated_at, template, batch_id, fallback_of,
          has_fallback, in_reply_to, is_opt_out_reply, content, source, source_details, trace)
  select account_id, environment, message_id, 'outbound', channel, recipient, sender, sender_reason, link_reason,
         body, status, sequence, segments_count, segments_encoding, segments_characters, priority, client_reference,
         metadata::json, max_segments, carrier_options::json, send_at, expires_at, updated_at, template::json, batch_id,
         fallback_of, fallback_steps is not null, in_reply_to, is_opt_out_reply, content::json, source,
         source_details::json, trace
    from accepted
), event as (
  insert into events (account_id, environment, id, type, message_id, sequence, record)
  select account_id, environment, event_id, event_type, message_id, sequence, record
    from accepted
), queued as (
  insert into delivery_queue (message_id, account_id, environment, priority, link, due_at, expires_at, sealed_content)
  select message_id, account_id, environment, priority_rank, lane, due_at, expires_at, sealed_content
    from accepted
), delivery as (
  insert into webhook_queue (id, account_id, environment, endpoint_id, event_id, due_at)
  select (left(event.event_id::text, 18) || right(gen_random_uuid()::text, 18))::uuid,
         event.account_id, event.environment, endpoint.id, event.event_id, 
         case when endpoint.id = any ((select endpoints from offer)::uuid[])
              then (select leased_until from offer)
              else least(event.updated_at, now())
         end
    from accepted event
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
  select account_id, environment, to_timestamp(usage_minute * 60::float8), channel, status, -1, '',
         count(*), coalesce(sum(segments_count), 0)
    from accepted
   group by account_id, environment, usage_minute, channel, status
)
select ordinal::integer, null::integer as refusal,
       null::uuid as endpoint_id, null::uuid as account_id, null::text as environment, null::timestamptz as due_at,
       null::uuid as delivery_id, null::uuid as event_id
  from accepted
union all
select ordinal::integer, refusal, null, null, null, null, null, null
  from request
 where refusal is not null
union all
select 0, null, endpoint_id, account_id, environment, min(due_at), null, null
  from delivery
 where due_at is distinct from (select leased_until from offer)
 group by endpoint_id, account_id, environment
union all
select 0, null, endpoint_id, account_id, environment, due_at, id, event_id
  from delivery
 where due_at = (select leased_until from offer)
