/** The types of the API, made by scripts/generate.ts from docs/openapi.json. Do not edit. */

export interface paths {
    "/v1/messages": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List messages
         * @description Newest first. Filters combine. A filter that would look at very many messages may return a short page with `has_more: true`: go on with `next_cursor`.
         *
         *     Scope: `messages:read`.
         */
        get: operations["get_messages"];
        put?: never;
        /**
         * Send a message
         * @description Accepts a message and answers once it is durable. Send an `Idempotency-Key` and the request can be repeated safely: the same key and body get the same answer for 24 hours, and one message is sent.
         *
         *     Scope: `messages:send`.
         */
        post: operations["post_messages"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/messages/validate": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Validate a message
         * @description Sends nothing. Tells what a request to send would become: the text, its parts and encoding, every character that forces UCS-2, the route, and all that is wrong with it, faults of form included.
         *
         *     Scope: `messages:send`.
         */
        post: operations["post_messages_validate"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/messages/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read a message
         * @description The message as it is now.
         *
         *     Scope: `messages:read`.
         */
        get: operations["get_messages_id"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        /**
         * Edit a scheduled message
         * @description Changes what is named, as long as the message is `scheduled`. `ttl_seconds` counts from `send_at`.
         *
         *     Scope: `messages:send`.
         */
        patch: operations["patch_messages_id"];
        trace?: never;
    };
    "/v1/messages/{id}/cancel": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Cancel a message
         * @description Works while the message is `scheduled` or `queued`. Once it is `sending` it may have left.
         *
         *     Scope: `messages:send`.
         */
        post: operations["post_messages_id_cancel"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/messages/{id}/redact": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Redact a message
         * @description Takes the text, the template's variables and the metadata out of a message that has come to its end, out of its events, and out of answers stored for idempotency keys. What was sent to webhooks stays where it was sent.
         *
         *     Scope: `messages:send`.
         */
        post: operations["post_messages_id_redact"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/messages/{id}/events": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read a message's timeline
         * @description Newest first: its events with what led to them, the tries at carriers, and what carriers said that moved nothing (`ignored`).
         *
         *     Scope: `messages:read`.
         */
        get: operations["get_messages_id_events"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/messages/{id}/parts": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read a message's parts
         * @description The parts of an SMS on the wire, in their order, on one page: each with its name at the carrier and what became of it. One for a message that went in one piece, or that the carrier splits itself. None before a carrier has taken the message, none on channels without parts, and none for an inbound message.
         *
         *     Scope: `messages:read`.
         */
        get: operations["get_messages_id_parts"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/batches": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Send a batch of messages
         * @description Up to 1,000 messages in one request, all durable before the answer: `defaults` for what they share, `items` for what each has of its own. An item that is not right is refused alone; `results` has one entry for each item. A fault in `defaults` refuses the request. One idempotency key stands for the whole. Costs one request of the quota for every 50 items.
         *
         *     Scope: `messages:send`.
         */
        post: operations["post_batches"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/batches/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read a batch
         * @description How many of its messages are in which status now. The event `batch.completed` tells when all have come to their end.
         *
         *     Scope: `messages:read`.
         */
        get: operations["get_batches_id"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/events": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List events
         * @description Newest first. Filters combine. A filter that would look at very many events may return a short page with `has_more: true`: go on with `next_cursor`.
         *
         *     Scope: `events:read`.
         */
        get: operations["get_events"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/events/stream": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Follow events as they happen
         * @description Server-Sent Events (`text/event-stream`): `id` is the event's id, `event` its type, `data` the event. Events come in the order of their commits. Send the last id you saw as `Last-Event-ID` to get exactly what you missed, however late it was committed. The first frame has an id too and no event. Lines that begin with a colon keep the connection alive.
         *
         *     Scope: `events:read`.
         */
        get: operations["get_events_stream"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/events/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read an event
         * @description The event as it was told. What was redacted since then is gone from it.
         *
         *     Scope: `events:read`.
         */
        get: operations["get_events_id"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/webhook_endpoints": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List endpoints
         * @description Newest first.
         *
         *     Scope: `webhooks:read`.
         */
        get: operations["get_webhook_endpoints"];
        put?: never;
        /**
         * Create an endpoint
         * @description A URL that is told of events from now on, signed as Standard Webhooks 1.0 says. The answer shows its secret, this once; a repetition with the same idempotency key shows it again within 24 hours.
         *
         *     Scope: `webhooks:write`.
         */
        post: operations["post_webhook_endpoints"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/webhook_endpoints/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read an endpoint
         * @description The endpoint as it is now, without its secret.
         *
         *     Scope: `webhooks:read`.
         */
        get: operations["get_webhook_endpoints_id"];
        put?: never;
        post?: never;
        /**
         * Delete an endpoint
         * @description It is told nothing more. What is known of its deliveries goes with it.
         *
         *     Scope: `webhooks:write`.
         */
        delete: operations["delete_webhook_endpoints_id"];
        options?: never;
        head?: never;
        /**
         * Change an endpoint
         * @description Changes what is named. A disabled endpoint is told nothing, and what waited for it is given up; once enabled again, `recover` brings what it missed.
         *
         *     Scope: `webhooks:write`.
         */
        patch: operations["patch_webhook_endpoints_id"];
        trace?: never;
    };
    "/v1/webhook_endpoints/{id}/rotate_secret": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Rotate an endpoint's secret
         * @description The answer shows the new secret, this once. For 24 hours deliveries are signed by both, so that the receiver can change over.
         *
         *     Scope: `webhooks:write`.
         */
        post: operations["post_webhook_endpoints_id_rotate_secret"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/webhook_endpoints/{id}/test": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Send a test event
         * @description A `webhook.test` event for this endpoint alone, whatever types it asks for. What became of it is in its deliveries.
         *
         *     Scope: `webhooks:write`.
         */
        post: operations["post_webhook_endpoints_id_test"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/keys": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List keys
         * @description The keys of this environment, newest first, also those that are revoked or have expired.
         *
         *     Scope: `keys:read`.
         */
        get: operations["get_keys"];
        put?: never;
        /**
         * Create a key
         * @description A key for this environment, with scopes that the credential has itself. The answer shows it, this once; a repetition with the same idempotency key shows it again within 24 hours.
         *
         *     Scope: `keys:write`.
         */
        post: operations["post_keys"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/keys/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read a key
         * @description The key as it is now, without its secret.
         *
         *     Scope: `keys:read`.
         */
        get: operations["get_keys_id"];
        put?: never;
        post?: never;
        /**
         * Revoke a key
         * @description It stops working within a second, and with it every access token that it bought. It stays in the list.
         *
         *     Scope: `keys:write`.
         */
        delete: operations["delete_keys_id"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/keys/{id}/rotate": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Rotate a key
         * @description A new key with the scopes, the name and the end of the old one, which goes on working for the overlap. The answer shows the new key, this once.
         *
         *     Scope: `keys:write`.
         */
        post: operations["post_keys_id_rotate"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/credential": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read the credential that asks
         * @description What the API key or access token of this very request is: whose it is, what it may do, how often, and until when.
         *
         *     No scope is needed: any credential may ask.
         */
        get: operations["get_credential"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/webhook_endpoints/{id}/deliveries": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List an endpoint's deliveries
         * @description Newest event first, from the first try on. A filter that would look at very many may return a short page with `has_more: true`: go on with `next_cursor`.
         *
         *     Scope: `webhooks:read`.
         */
        get: operations["get_webhook_endpoints_id_deliveries"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/webhook_endpoints/{id}/deliveries/{delivery_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read a delivery
         * @description One event for this endpoint, with its tries.
         *
         *     Scope: `webhooks:read`.
         */
        get: operations["get_webhook_endpoints_id_deliveries_delivery_id"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/webhook_endpoints/{id}/deliveries/{delivery_id}/retry": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Retry a delivery
         * @description Tries it once more now, whatever became of it before.
         *
         *     Scope: `webhooks:write`.
         */
        post: operations["post_webhook_endpoints_id_deliveries_delivery_id_retry"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/webhook_endpoints/{id}/recover": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Recover what an endpoint missed
         * @description Delivers every event since then that the endpoint wants and has not acknowledged: those that were given up, and those of a time when it was disabled or not there. `recovery` of the endpoint shows how far it is.
         *
         *     Scope: `webhooks:write`.
         */
        post: operations["post_webhook_endpoints_id_recover"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/events/{id}/deliveries": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read what became of an event
         * @description Its deliveries, one for each endpoint that was tried, on one page.
         *
         *     Scope: `webhooks:read`.
         */
        get: operations["get_events_id_deliveries"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/suppressions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List suppressions
         * @description Newest first, by when the recipient was first suppressed. Filters combine. Where very many would have to be looked at, a page may be short with `has_more: true`: go on with `next_cursor`.
         *
         *     Scope: `suppressions:read`.
         */
        get: operations["get_suppressions"];
        put?: never;
        /**
         * Suppress a recipient
         * @description From now on no message is sent to the recipient by this sender, or by anybody, on any channel. 201 when that is news; 200 with the record as it is, note and all, when it was so already. `in_flight` counts the messages that were already `sending`; no further message becomes `sending`.
         *
         *     Scope: `suppressions:write`.
         */
        post: operations["post_suppressions"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/suppressions/import": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Import suppressions
         * @description Up to 1,000 at once: all of them, or none when an entry is at fault. The faults of all entries are told at once, up to 100 of a kind. Of entries for the same recipient and sender the first one counts. Each that becomes active is an event. Costs one request of the quota for every 50 entries.
         *
         *     Scope: `suppressions:write`.
         */
        post: operations["post_suppressions_import"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/suppressions/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read a suppression
         * @description The suppression as it is now.
         *
         *     Scope: `suppressions:read`.
         */
        get: operations["get_suppressions_id"];
        put?: never;
        post?: never;
        /**
         * Lift a suppression
         * @description The recipient may be written to again, unless another suppression stands against it. The record stays, with its history, and is the same when the recipient opts out anew. Lifting what is lifted changes nothing.
         *
         *     Scope: `suppressions:write`.
         */
        delete: operations["delete_suppressions_id"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/suppressions/{id}/history": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read a suppression's history
         * @description Newest first: each time it became active or was lifted, and why.
         *
         *     Scope: `suppressions:read`.
         */
        get: operations["get_suppressions_id_history"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/consent_settings": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read the consent settings
         * @description The settings of this environment: those that you have set, else those of the operator's file, else the built-in ones.
         *
         *     Scope: `suppressions:read`.
         */
        get: operations["get_consent_settings"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        /**
         * Change the consent settings
         * @description Replaces the given members; the others stay. The words that opt out in English cannot be removed. A word of two lists is refused. Inbound messages that arrive after the response follow the new settings.
         *
         *     Scope: `suppressions:write`.
         */
        patch: operations["patch_consent_settings"];
        trace?: never;
    };
    "/v1/templates": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List templates
         * @description Newest first, without archived ones unless `status=archived`. Filters combine. A filter that would look at very many archived templates may return a short page with `has_more: true`: go on with `next_cursor`.
         *
         *     Scope: `templates:read`.
         */
        get: operations["get_templates"];
        put?: never;
        /**
         * Create a template
         * @description Submits it for review, unless it is a draft. One for sms alone is approved at once. With whatsapp the carrier decides; in `test` the simulator does, at once, by the name: `simulate_rejected…`, `simulate_paused…` and `simulate_pending…` become that, all others are approved.
         *
         *     Scope: `templates:write`.
         */
        post: operations["post_templates"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/templates/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read a template
         * @description The template as it is now, by its id or its name.
         *
         *     Scope: `templates:read`.
         */
        get: operations["get_templates_id"];
        put?: never;
        post?: never;
        /**
         * Archive a template
         * @description It can no longer be sent or changed, and its name is free. It can still be read by its id. Doing it again changes nothing.
         *
         *     Scope: `templates:write`.
         */
        delete: operations["delete_templates_id"];
        options?: never;
        head?: never;
        /**
         * Change a template
         * @description Changes what is named. A change of body, header, footer, buttons or examples makes a new version, which is reviewed again; a draft stays a draft until it is submitted with `status: pending`. Examples of variables that are gone go with them. Messages keep the version they used.
         *
         *     Scope: `templates:write`.
         */
        patch: operations["patch_templates_id"];
        trace?: never;
    };
    "/v1/templates/{id}/preview": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Preview a template
         * @description What would be sent, whatever the template's status. Without variables its examples are used.
         *
         *     Scope: `templates:read`.
         */
        post: operations["post_templates_id_preview"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/verifications": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Send a verification code
         * @description Makes a code and sends it, by the first of the channels, and by the next when that does not get it delivered. The code is nowhere to be read: its message shows it hidden, and only a keyed hash of it is kept. A new code for a recipient takes the place of the one before. In `test` the code is always the first digits of 1234567890.
         *
         *     Scope: `verifications:write`.
         */
        post: operations["post_verifications"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/verifications/{id}/check": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Check a code
         * @description `valid` tells whether it is the right one. The right one approves the verification, once; the fifth wrong one ends it. One that is over is refused.
         *
         *     Scope: `verifications:write`.
         */
        post: operations["post_verifications_id_check"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/verifications/{id}/cancel": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Cancel a verification
         * @description Its code is no longer taken, and no further channel is tried. A message that is on its way arrives all the same.
         *
         *     Scope: `verifications:write`.
         */
        post: operations["post_verifications_id_cancel"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/verifications/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read a verification
         * @description The verification as it is now.
         *
         *     Scope: `verifications:read`.
         */
        get: operations["get_verifications_id"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/links": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List links
         * @description The links of the account and those of the operator, each with its state as the nodes reported it within the last seconds. `test` has the simulator only.
         *
         *     Scope: `links:read`.
         */
        get: operations["get_links"];
        put?: never;
        /**
         * Create a link
         * @description Connects the account to a carrier, in `live`. All nodes open the connection within seconds. Hosts must be on the public internet and be reached with TLS, unless the operator allows their network.
         *
         *     Scope: `links:write`.
         */
        post: operations["post_links"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/links/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read a link
         * @description A link with its state, without its secrets.
         *
         *     Scope: `links:read`.
         */
        get: operations["get_links_id"];
        put?: never;
        post?: never;
        /**
         * Delete a link
         * @description Closes the connection, and deletes the link with its senders. Messages that wait for it take another link, or expire.
         *
         *     Scope: `links:write`.
         */
        delete: operations["delete_links_id"];
        options?: never;
        head?: never;
        /**
         * Change a link
         * @description Changes what is named. Members of `settings` that are named replace those before, and null removes one. A secret that is not named stays, unless the address changes: then it is required again. The connection is opened again; other links keep theirs.
         *
         *     Scope: `links:write`.
         */
        patch: operations["patch_links_id"];
        trace?: never;
    };
    "/v1/links/{id}/test": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Test a link
         * @description Connects to the carrier and signs in, without sending a message, and reports what failed. A link that is connected is not tested again. An account may test a few times a minute.
         *
         *     Scope: `links:write`.
         */
        post: operations["post_links_id_test"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/senders": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List senders
         * @description The numbers and names that the account sends from, in `live`.
         *
         *     Scope: `links:read`.
         */
        get: operations["get_senders"];
        put?: never;
        /**
         * Create a sender
         * @description Adds a number or name to a link of the account. Messages that name no sender get one of these.
         *
         *     Scope: `links:write`.
         */
        post: operations["post_senders"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/senders/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read a sender
         * @description One sender.
         *
         *     Scope: `links:read`.
         */
        get: operations["get_senders_id"];
        put?: never;
        post?: never;
        /**
         * Delete a sender
         * @description New messages are not sent from it. Messages that have it keep it.
         *
         *     Scope: `links:write`.
         */
        delete: operations["delete_senders_id"];
        options?: never;
        head?: never;
        /**
         * Change a sender
         * @description Changes what is named; null removes it.
         *
         *     Scope: `links:write`.
         */
        patch: operations["patch_senders_id"];
        trace?: never;
    };
    "/v1/routes": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List routes
         * @description The routes of the account, and those of the operator that concern it, in `live`.
         *
         *     Scope: `links:read`.
         */
        get: operations["get_routes"];
        put?: never;
        /**
         * Create a route
         * @description Says which links of the account take the messages of a channel, by the country or the prefix of the recipient. Without routes, all links of the account take them, in the order of their creation.
         *
         *     Scope: `links:write`.
         */
        post: operations["post_routes"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/routes/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read a route
         * @description One route.
         *
         *     Scope: `links:read`.
         */
        get: operations["get_routes_id"];
        put?: never;
        post?: never;
        /**
         * Delete a route
         * @description New messages do not follow it. Messages that have a link keep it.
         *
         *     Scope: `links:write`.
         */
        delete: operations["delete_routes_id"];
        options?: never;
        head?: never;
        /**
         * Change a route
         * @description Changes what is named; null removes it.
         *
         *     Scope: `links:write`.
         */
        patch: operations["patch_routes_id"];
        trace?: never;
    };
    "/v1/usage": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read the usage
         * @description Counts of messages by the minute, hour or day of their creation, and by what they are now. The range is in whole hours: at most 400 days by day, 31 by hour. By minute it is in whole minutes, none older than 24 hours. An answer has 10,000 rows at most; a range that needs more is refused with 400.
         *
         *     Scope: `usage:read`.
         */
        get: operations["get_usage"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/queue": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read the queue's depth
         * @description How many messages of this environment are under way, and how long the oldest that is due has been waiting.
         *
         *     Scope: `usage:read`.
         */
        get: operations["get_queue"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/recipients/erase": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Erase a person's data
         * @description Removes the number, texts, metadata, references and template variables of a person from the records of this environment. The records stay, and counts of usage do not change. Scheduled and queued messages are canceled; messages that are with a carrier are left and counted as `unfinished`. An opt-out stays in effect. One request erases up to 2,000 messages, or fewer where the account has called many endpoints; `has_more` says whether there are more.
         *
         *     Scope: `recipients:erase`.
         */
        post: operations["post_recipients_erase"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/recipients/export": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Export a person's data
         * @description Every record of this environment that names the person, as lines of JSON (`application/x-ndjson`): messages with their timelines, suppressions with their history, service windows and verifications. The last line has the object `export_end` and the counts of all others; an export without it is incomplete. The response is not stored for an idempotency key.
         *
         *     Scope: `recipients:read`.
         */
        post: operations["post_recipients_export"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/audit_events": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List audit events
         * @description Who changed what in this environment, and in the account as a whole, newest first. Each entry was written in the transaction of its change.
         *
         *     Scope: `audit:read`.
         */
        get: operations["get_audit_events"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
}
export interface webhooks {
    event: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * An event, as an endpoint is told of it
         * @description Signed as Standard Webhooks 1.0 says. At least once, in no order: drop repeats by `webhook-id`.
         */
        post: operations["webhook_event"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
}
export interface components {
    schemas: {
        /** @description Exactly one of `body` and `template_id`. */
        NewMessage: {
            /**
             * @description An E.164 number. On whatsapp also a business-scoped user id, such as US.13491208655302741918.
             * @example +14155550123
             */
            recipient: string;
            /** @enum {string} */
            channel: "sms" | "whatsapp";
            /** @description The text: up to 1,600 characters on sms, 4,096 on whatsapp. */
            body?: string | null;
            /** @description A template's id or name. */
            template_id?: string | null;
            template_variables?: {
                [key: string]: string;
            } | null;
            sender?: string | null;
            /**
             * Format: date-time
             * @description Up to 35 days ahead. A time that has just passed means now.
             */
            send_at?: string | null;
            /** @description Not handed to a carrier after that. Default 172,800. */
            ttl_seconds?: number | null;
            /**
             * @description `high` for codes, `bulk` for campaigns. Default `normal`.
             * @enum {string|null}
             */
            priority?: "high" | "normal" | "bulk" | null;
            /** @description Your own name for it: filterable, not unique. */
            client_reference?: string | null;
            /** @description Up to 50 keys of up to 40 characters, values up to 500. */
            metadata?: {
                [key: string]: string;
            } | null;
            /** @description What to send, in order, when the message does not get delivered: each as a message of its own, with `fallback_of`. */
            fallback?: components["schemas"]["FallbackStep"][] | null;
            /** @description Refuse rather than send more parts. */
            max_segments?: number | null;
            /** @description Members that only one kind of carrier understands, such as `dlt_template_id` on an SMPP link: docs/links.md has the members of each. They are checked for the link that the message takes. */
            carrier_options?: {
                [key: string]: unknown;
            } | null;
        };
        FallbackStep: {
            /** @enum {string} */
            channel: "sms" | "whatsapp";
            /** @description The text: up to 1,600 characters on sms, 4,096 on whatsapp. */
            body?: string | null;
            /** @description A template's id or name. */
            template_id?: string | null;
            template_variables?: {
                [key: string]: string;
            } | null;
            /** @description How long the message before has to get delivered. When it ends badly before, this one begins at once. */
            after_seconds: number;
        };
        /** @description A message. */
        Message: {
            /** @example msg_01k9zs3v8mf4tb2xg1qj6n0d5c */
            id: string;
            /** @constant */
            object: "message";
            /**
             * @description One of test, live; may grow.
             * @example test
             */
            environment: "test" | "live" | (string & {});
            /**
             * @description One of outbound, inbound; may grow.
             * @example outbound
             */
            direction: "outbound" | "inbound" | (string & {});
            /**
             * @description One of sms, whatsapp; may grow.
             * @example sms
             */
            channel: "sms" | "whatsapp" | (string & {});
            /**
             * @description Empty on an inbound message whose carrier does not name the number that it was sent to.
             * @example +14155550123
             */
            recipient: string;
            /** @description Null until a route has chosen one, and on an inbound message whose carrier does not name its writer. */
            sender: string | null;
            /**
             * @description Why it has this sender. Null on inbound messages. One of named, reply, sticky, preferred, pool, first_sender, only_sender, link_default; may grow.
             * @example named
             */
            sender_reason: "named" | "reply" | "sticky" | "preferred" | "pool" | "first_sender" | "only_sender" | "link_default" | (string & {}) | null;
            /**
             * @description Why it takes its link. Null on inbound messages. One of simulator, only_link, file_order, creation_order, route, weights, sender, reply, failover; may grow.
             * @example simulator
             */
            link_reason: "simulator" | "only_link" | "file_order" | "creation_order" | "route" | "weights" | "sender" | "reply" | "failover" | (string & {}) | null;
            /** @description The text, of a template with its variables filled in. */
            body: string | null;
            template_id: string | null;
            /** @description The version of the template that was used. */
            template_version: number | null;
            template_variables: {
                [key: string]: string;
            } | null;
            /**
             * @description One of scheduled, queued, sending, sent, delivered, read, undelivered, failed, expired, canceled, received; may grow.
             * @example scheduled
             */
            status: "scheduled" | "queued" | "sending" | "sent" | "delivered" | "read" | "undelivered" | "failed" | "expired" | "canceled" | "received" | (string & {});
            /** @description Counts this message's transitions, without gaps. */
            sequence: number;
            error: {
                /** @example invalid_destination */
                code: string;
                /** @description For people. */
                message: string;
                /** @description The same message would fail again. */
                permanent: boolean;
                /** @description The carrier's own code. */
                provider_code: string | null;
            } | null;
            /** @description How the text is split for SMS. Null on channels without parts. */
            segments: {
                /** @description Parts on the wire. */
                count: number;
                /**
                 * @description One of gsm7, ucs2; may grow.
                 * @example gsm7
                 */
                encoding: "gsm7" | "ucs2" | (string & {});
                /** @description Unicode code points. */
                characters: number;
            } | null;
            /**
             * @description One of high, normal, bulk; may grow.
             * @example high
             */
            priority: "high" | "normal" | "bulk" | (string & {});
            client_reference: string | null;
            metadata: {
                [key: string]: string;
            };
            /**
             * Format: date-time
             * @description When to send it.
             */
            send_at: string | null;
            /**
             * Format: date-time
             * @description Not handed to a carrier after this.
             */
            expires_at: string | null;
            provider: {
                name: string;
                link: string;
                message_id: string | null;
                attempts: number;
            } | null;
            /** @description The message that did not get delivered, in whose place this one is sent. */
            fallback_of: string | null;
            /** @description The message this one answers: of an inbound message where the carrier says so, of an automatic reply always. */
            in_reply_to: string | null;
            batch_id: string | null;
            /**
             * Format: date-time
             * @description When it was accepted.
             */
            created_at: string;
            /**
             * Format: date-time
             * @description When it last changed.
             */
            updated_at: string;
            /**
             * Format: date-time
             * @description When a carrier took it.
             */
            sent_at: string | null;
            /**
             * Format: date-time
             * @description When it reached the recipient.
             */
            delivered_at: string | null;
            /**
             * Format: date-time
             * @description When it was read.
             */
            read_at: string | null;
            /**
             * Format: date-time
             * @description When it failed for good.
             */
            failed_at: string | null;
            /**
             * Format: date-time
             * @description When it was canceled.
             */
            canceled_at: string | null;
        };
        MessageValidation: {
            /** @constant */
            object: "message_validation";
            /** @description A request like this would be accepted now. */
            valid: boolean;
            /**
             * @description One of sms, whatsapp; may grow.
             * @example sms
             */
            channel: "sms" | "whatsapp" | (string & {}) | null;
            /** @description The text as it would be sent, of a template with its variables filled in. */
            body: string | null;
            /** @description How the text is split for SMS. Null on channels without parts. */
            segments: {
                /** @description Parts on the wire. */
                count: number;
                /**
                 * @description One of gsm7, ucs2; may grow.
                 * @example gsm7
                 */
                encoding: "gsm7" | "ucs2" | (string & {});
                /** @description Unicode code points. */
                characters: number;
            } | null;
            /** @description Every character that makes an SMS use UCS-2. Without them it has more than twice as much room. */
            ucs2_characters: {
                character: string;
                /** @description Counted in characters, from zero. */
                position: number;
                /** @description What the GSM alphabet has in its place. */
                alternative: string | null;
            }[];
            /** @description The same of each step of the fallback. */
            fallback: {
                /**
                 * @description One of sms, whatsapp; may grow.
                 * @example sms
                 */
                channel: "sms" | "whatsapp" | (string & {}) | null;
                /** @description The text as it would be sent, of a template with its variables filled in. */
                body: string | null;
                /** @description How the text is split for SMS. Null on channels without parts. */
                segments: {
                    /** @description Parts on the wire. */
                    count: number;
                    /**
                     * @description One of gsm7, ucs2; may grow.
                     * @example gsm7
                     */
                    encoding: "gsm7" | "ucs2" | (string & {});
                    /** @description Unicode code points. */
                    characters: number;
                } | null;
                /** @description Every character that makes an SMS use UCS-2. Without them it has more than twice as much room. */
                ucs2_characters: {
                    character: string;
                    /** @description Counted in characters, from zero. */
                    position: number;
                    /** @description What the GSM alphabet has in its place. */
                    alternative: string | null;
                }[];
            }[];
            route: {
                provider: string;
                link: string;
                /**
                 * @description Why it would take this link. One of simulator, only_link, file_order, creation_order, route, weights, sender, reply, failover; may grow.
                 * @example simulator
                 */
                link_reason: "simulator" | "only_link" | "file_order" | "creation_order" | "route" | "weights" | "sender" | "reply" | "failover" | (string & {});
                sender: string | null;
                /**
                 * @description Why it would have this sender. One of named, reply, sticky, preferred, pool, first_sender, only_sender, link_default; may grow.
                 * @example named
                 */
                sender_reason: "named" | "reply" | "sticky" | "preferred" | "pool" | "first_sender" | "only_sender" | "link_default" | (string & {}) | null;
            } | null;
            /** @description Everything that is wrong: faults of the request, and rules that would refuse it. */
            errors: {
                pointer: string;
                code: string;
                detail: string;
            }[];
        };
        MessagePage: {
            data: components["schemas"]["Message"][];
            has_more: boolean;
            /** @description Null on the last page. */
            next_cursor: string | null;
        };
        /** @description What is absent or null stays as it is. */
        EditMessage: {
            /**
             * Format: date-time
             * @description Up to 35 days ahead. A time that has just passed means now.
             */
            send_at?: string | null;
            /** @description The text: up to 1,600 characters on sms, 4,096 on whatsapp. */
            body?: string | null;
            template_variables?: {
                [key: string]: string;
            } | null;
            /** @description Up to 50 keys of up to 40 characters, values up to 500. */
            metadata?: {
                [key: string]: string;
            } | null;
            /** @description Not handed to a carrier after that. Default 172,800. */
            ttl_seconds?: number | null;
            /**
             * @description `high` for codes, `bulk` for campaigns. Default `normal`.
             * @enum {string|null}
             */
            priority?: "high" | "normal" | "bulk" | null;
        };
        TimelinePage: {
            data: components["schemas"]["TimelineEntry"][];
            has_more: boolean;
            /** @description Null on the last page. */
            next_cursor: string | null;
        };
        /** @description One entry of a message's timeline. */
        TimelineEntry: {
            /** @example evt_01k9zs3v8mf4tb2xg1qj6n0d5c */
            id: string;
            /** @constant */
            object: "timeline_entry";
            /**
             * @description The event's type; `attempt.unknown` and the like are no events.
             * @example message.sent
             */
            type: string;
            /** @description A signal that moved nothing; no webhook is told of it. */
            ignored: boolean;
            previous_status: string | null;
            /** @description The message's status after it. Null where nothing moved. */
            status: string | null;
            sequence: number | null;
            attempt: components["schemas"]["Attempt"];
            receipt: components["schemas"]["Receipt"];
            /** @description Who or what asked for it, where no carrier did. */
            reason: string | null;
            /** @description The message that is sent in place of this one. */
            fallback_message_id: string | null;
            /**
             * Format: date-time
             * @description When it was recorded.
             */
            created_at: string;
        };
        /** @description One try at a provider. */
        Attempt: {
            /** @description Counted from one. */
            number: number;
            link: string;
            /**
             * @description `written`: bytes may have left from here on. One of written, accepted, refused, throttled, unknown; may grow.
             * @example written
             */
            outcome: "written" | "accepted" | "refused" | "throttled" | "unknown" | (string & {});
            provider_message_id: string | null;
            provider_code: string | null;
            detail: string | null;
            /**
             * Format: date-time
             * @description When it is tried again, if it is.
             */
            retry_at: string | null;
        } | null;
        /** @description What a carrier said later. */
        Receipt: {
            link: string;
            /** @description What the carrier's words mean here. */
            status: string;
            /** @description The part it speaks of, of a message that went in several. */
            part: number | null;
            provider_message_id: string | null;
            error_code: string | null;
            provider_code: string | null;
            /** @description The carrier's own words. */
            raw: {
                [key: string]: string;
            };
        } | null;
        MessagePartPage: {
            data: components["schemas"]["MessagePart"][];
            has_more: boolean;
            /** @description Null on the last page. */
            next_cursor: string | null;
        };
        /** @description One part of a message, as its carrier knows it. */
        MessagePart: {
            /** @constant */
            object: "part";
            /** @description Its place in the message. */
            number: number;
            /** @description What the carrier calls it. Null where only a receipt says that the carrier has it, and gives no name. */
            provider_message_id: string | null;
            /**
             * @description One of scheduled, queued, sending, sent, delivered, read, undelivered, failed, expired, canceled, received; may grow.
             * @example scheduled
             */
            status: "scheduled" | "queued" | "sending" | "sent" | "delivered" | "read" | "undelivered" | "failed" | "expired" | "canceled" | "received" | (string & {});
            error: {
                /** @example invalid_destination */
                code: string;
                /** @description For people. */
                message: string;
                /** @description The same message would fail again. */
                permanent: boolean;
                /** @description The carrier's own code. */
                provider_code: string | null;
            } | null;
            /**
             * Format: date-time
             * @description When it last changed.
             */
            updated_at: string;
        };
        NewBatch: {
            defaults?: components["schemas"]["BatchItem"];
            /** @description Each is a message: the defaults, with the item's own fields in their place; null takes a default away. */
            items: components["schemas"]["BatchItem"][];
        };
        /** @description The fields of a message. */
        BatchItem: {
            /**
             * @description An E.164 number. On whatsapp also a business-scoped user id, such as US.13491208655302741918.
             * @example +14155550123
             */
            recipient?: string;
            /** @enum {string} */
            channel?: "sms" | "whatsapp";
            /** @description The text: up to 1,600 characters on sms, 4,096 on whatsapp. */
            body?: string | null;
            /** @description A template's id or name. */
            template_id?: string | null;
            template_variables?: {
                [key: string]: string;
            } | null;
            sender?: string | null;
            /**
             * Format: date-time
             * @description Up to 35 days ahead. A time that has just passed means now.
             */
            send_at?: string | null;
            /** @description Not handed to a carrier after that. Default 172,800. */
            ttl_seconds?: number | null;
            /**
             * @description `high` for codes, `bulk` for campaigns. Default `normal`.
             * @enum {string|null}
             */
            priority?: "high" | "normal" | "bulk" | null;
            /** @description Your own name for it: filterable, not unique. */
            client_reference?: string | null;
            /** @description Up to 50 keys of up to 40 characters, values up to 500. */
            metadata?: {
                [key: string]: string;
            } | null;
            /** @description What to send, in order, when the message does not get delivered: each as a message of its own, with `fallback_of`. */
            fallback?: components["schemas"]["FallbackStep"][] | null;
            /** @description Refuse rather than send more parts. */
            max_segments?: number | null;
            /** @description Members that only one kind of carrier understands, such as `dlt_template_id` on an SMPP link: docs/links.md has the members of each. They are checked for the link that the message takes. */
            carrier_options?: {
                [key: string]: unknown;
            } | null;
        } | null;
        /** @description What became of each item. */
        AcceptedBatch: {
            /** @example batch_01k9zs3v8mf4tb2xg1qj6n0d5c */
            id: string;
            /** @constant */
            object: "batch";
            /**
             * @description One of test, live; may grow.
             * @example test
             */
            environment: "test" | "live" | (string & {});
            /**
             * @description Completed when every accepted message has come to its end. One of processing, completed; may grow.
             * @example processing
             */
            status: "processing" | "completed" | (string & {});
            total: number;
            /** @description Items that became messages. */
            accepted: number;
            /** @description Items that did not. */
            refused: number;
            /**
             * Format: date-time
             * @description When it was accepted.
             */
            created_at: string;
            /**
             * Format: date-time
             * @description When it was found that its last message had come to its end.
             */
            completed_at: string | null;
            results: {
                /** @description The item's place in the request, from zero. */
                index: number;
                /**
                 * @description One of accepted, refused; may grow.
                 * @example accepted
                 */
                status: "accepted" | "refused" | (string & {});
                message_id: string | null;
                error: {
                    code: string;
                    detail: string;
                    /** @description What is wrong with it: the first twenty. */
                    errors: {
                        pointer: string;
                        code: string;
                        detail: string;
                    }[];
                } | null;
            }[];
        };
        /** @description A batch. `GET /v1/messages?batch_id=` lists its messages. */
        Batch: {
            /** @example batch_01k9zs3v8mf4tb2xg1qj6n0d5c */
            id: string;
            /** @constant */
            object: "batch";
            /**
             * @description One of test, live; may grow.
             * @example test
             */
            environment: "test" | "live" | (string & {});
            /**
             * @description Completed when every accepted message has come to its end. One of processing, completed; may grow.
             * @example processing
             */
            status: "processing" | "completed" | (string & {});
            total: number;
            /** @description Items that became messages. */
            accepted: number;
            /** @description Items that did not. */
            refused: number;
            /**
             * Format: date-time
             * @description When it was accepted.
             */
            created_at: string;
            /**
             * Format: date-time
             * @description When it was found that its last message had come to its end.
             */
            completed_at: string | null;
            /**
             * @description How many of its messages are in which status.
             * @example {
             *       "delivered": 998,
             *       "failed": 2
             *     }
             */
            statuses: {
                [key: string]: number;
            };
        };
        EventPage: {
            data: components["schemas"]["Event"][];
            has_more: boolean;
            /** @description Null on the last page. */
            next_cursor: string | null;
        };
        /** @description Something that happened. The same in the API, in the stream and in webhooks. */
        Event: {
            /** @example evt_01k9zs3v8mf4tb2xg1qj6n0d5c */
            id: string;
            /**
             * @description One of message.scheduled, message.queued, message.sending, message.sent, message.delivered, message.read, message.undelivered, message.failed, message.expired, message.canceled, message.received, message.unrouted, message.fallback_started, recipient.opted_out, recipient.opted_in, template.approved, template.rejected, template.paused, batch.completed, endpoint.disabled, webhook.test, audit.created; may grow.
             * @example message.scheduled
             */
            type: "message.scheduled" | "message.queued" | "message.sending" | "message.sent" | "message.delivered" | "message.read" | "message.undelivered" | "message.failed" | "message.expired" | "message.canceled" | "message.received" | "message.unrouted" | "message.fallback_started" | "recipient.opted_out" | "recipient.opted_in" | "template.approved" | "template.rejected" | "template.paused" | "batch.completed" | "endpoint.disabled" | "webhook.test" | "audit.created" | (string & {});
            /**
             * Format: date-time
             * @description When it happened.
             */
            timestamp: string;
            /**
             * @description One of test, live; may grow.
             * @example test
             */
            environment: "test" | "live" | (string & {});
            /** @description What it happened to. Of a message: `message`, its whole record after the change, `previous_status` and `sequence`; with `message.fallback_started` also `fallback_message_id`. Of a recipient: `suppression`. Of a template: `template`. Of a batch: `batch`. Of an endpoint: `webhook_endpoint`. Of the audit log: `audit_event`. */
            data: {
                message?: components["schemas"]["Message"];
                previous_status?: string | null;
                sequence?: number;
                fallback_message_id?: string;
                suppression?: components["schemas"]["Suppression"];
                template?: components["schemas"]["Template"];
                batch?: components["schemas"]["Batch"];
                webhook_endpoint?: components["schemas"]["WebhookEndpoint"];
                audit_event?: components["schemas"]["AuditEvent"];
            } & {
                [key: string]: unknown;
            };
        };
        /** @description A URL that is told of events, with the secret that its deliveries are signed by. */
        WebhookEndpointWithSecret: {
            /** @example whe_01k9zs3v8mf4tb2xg1qj6n0d5c */
            id: string;
            /** @constant */
            object: "webhook_endpoint";
            /**
             * @description One of test, live; may grow.
             * @example test
             */
            environment: "test" | "live" | (string & {});
            /** @example https://example.com/hooks/godwit */
            url: string;
            description: string | null;
            /** @description What it is told of: types, `message.*` for all of a kind, `*` for all. Types today: message.scheduled, message.queued, message.sending, message.sent, message.delivered, message.read, message.undelivered, message.failed, message.expired, message.canceled, message.received, message.unrouted, message.fallback_started, recipient.opted_out, recipient.opted_in, template.approved, template.rejected, template.paused, batch.completed, endpoint.disabled, webhook.test, audit.created. */
            event_types: string[];
            /**
             * @description One of enabled, disabled; may grow.
             * @example enabled
             */
            status: "enabled" | "disabled" | (string & {});
            /**
             * @description `requested` by you, `gone`: it answered 410, `failing`: nothing but failures for five days. One of requested, gone, failing; may grow.
             * @example requested
             */
            disabled_reason: "requested" | "gone" | "failing" | (string & {}) | null;
            /**
             * Format: date-time
             * @description Since when there has been nothing but failures. Null when the last delivery succeeded.
             */
            failing_since: string | null;
            /**
             * Format: date-time
             * @description Until when deliveries are also signed by the secret before the last rotation.
             */
            previous_secret_until: string | null;
            recovery: components["schemas"]["Recovery"];
            /**
             * Format: date-time
             * @description When it was made.
             */
            created_at: string;
            /**
             * Format: date-time
             * @description When it was last changed.
             */
            updated_at: string;
            /**
             * @description The key that created it, `cli:` with a system user, `carrier:` with a link, or `system`. Null for records of version 0.1.
             * @example key_01k9zs3v8mf4tb2xg1qj6n0d5c
             */
            created_by: string | null;
            /**
             * @description Shown once.
             * @example whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw
             */
            secret: string;
        };
        /** @description A recovery that is under way. */
        Recovery: {
            /**
             * Format: date-time
             * @description Events up to here have been looked through.
             */
            reached: string;
            /**
             * Format: date-time
             * @description Events up to here will be.
             */
            until: string;
        } | null;
        WebhookEndpointPage: {
            data: components["schemas"]["WebhookEndpoint"][];
            has_more: boolean;
            /** @description Null on the last page. */
            next_cursor: string | null;
        };
        /** @description A URL that is told of events. */
        WebhookEndpoint: {
            /** @example whe_01k9zs3v8mf4tb2xg1qj6n0d5c */
            id: string;
            /** @constant */
            object: "webhook_endpoint";
            /**
             * @description One of test, live; may grow.
             * @example test
             */
            environment: "test" | "live" | (string & {});
            /** @example https://example.com/hooks/godwit */
            url: string;
            description: string | null;
            /** @description What it is told of: types, `message.*` for all of a kind, `*` for all. Types today: message.scheduled, message.queued, message.sending, message.sent, message.delivered, message.read, message.undelivered, message.failed, message.expired, message.canceled, message.received, message.unrouted, message.fallback_started, recipient.opted_out, recipient.opted_in, template.approved, template.rejected, template.paused, batch.completed, endpoint.disabled, webhook.test, audit.created. */
            event_types: string[];
            /**
             * @description One of enabled, disabled; may grow.
             * @example enabled
             */
            status: "enabled" | "disabled" | (string & {});
            /**
             * @description `requested` by you, `gone`: it answered 410, `failing`: nothing but failures for five days. One of requested, gone, failing; may grow.
             * @example requested
             */
            disabled_reason: "requested" | "gone" | "failing" | (string & {}) | null;
            /**
             * Format: date-time
             * @description Since when there has been nothing but failures. Null when the last delivery succeeded.
             */
            failing_since: string | null;
            /**
             * Format: date-time
             * @description Until when deliveries are also signed by the secret before the last rotation.
             */
            previous_secret_until: string | null;
            recovery: components["schemas"]["Recovery"];
            /**
             * Format: date-time
             * @description When it was made.
             */
            created_at: string;
            /**
             * Format: date-time
             * @description When it was last changed.
             */
            updated_at: string;
            /**
             * @description The key that created it, `cli:` with a system user, `carrier:` with a link, or `system`. Null for records of version 0.1.
             * @example key_01k9zs3v8mf4tb2xg1qj6n0d5c
             */
            created_by: string | null;
        };
        DeletedWebhookEndpoint: {
            id: string;
            /** @constant */
            object: "webhook_endpoint";
            /** @constant */
            deleted: true;
        };
        TestEvent: {
            /** @description The event that is on its way. */
            event_id: string;
        };
        NewKey: {
            /** @description What the key may do: at most what the credential that makes it may do. */
            scopes: ("messages:send" | "messages:read" | "templates:read" | "templates:write" | "webhooks:read" | "webhooks:write" | "events:read" | "keys:read" | "keys:write" | "suppressions:read" | "suppressions:write" | "usage:read" | "links:read" | "links:write" | "audit:read" | "recipients:read" | "recipients:erase" | "verifications:read" | "verifications:write")[];
            /** @description For people. */
            name?: string | null;
            /**
             * Format: date-time
             * @description When it stops working: not after the credential that creates it, and not after the longest life of the account's keys. Without it, as late as possible.
             */
            expires_at?: string | null;
            /**
             * @description The addresses from which it can be used, as CIDR blocks: within those of the key that creates it. Without it, the same as those.
             * @example [
             *       "192.0.2.0/24",
             *       "2001:db8::/32"
             *     ]
             */
            allowed_ips?: string[] | null;
        };
        KeyWithSecret: {
            /** @description The key itself: keep it, it is not shown again. */
            key: string;
            /** @example key_01k9zs3v8mf4tb2xg1qj6n0d5c */
            id: string;
            /** @constant */
            object: "key";
            account_id: string;
            /**
             * @description One of test, live; may grow.
             * @example test
             */
            environment: "test" | "live" | (string & {});
            /** @description For people. */
            name: string | null;
            /**
             * @description How the key begins, by which people tell keys apart.
             * @example gw_test_Ab3x…
             */
            hint: string;
            scopes: ("messages:send" | "messages:read" | "templates:read" | "templates:write" | "webhooks:read" | "webhooks:write" | "events:read" | "keys:read" | "keys:write" | "suppressions:read" | "suppressions:write" | "usage:read" | "links:read" | "links:write" | "audit:read" | "recipients:read" | "recipients:erase" | "verifications:read" | "verifications:write" | (string & {}))[];
            /**
             * Format: date-time
             * @description When it was made.
             */
            created_at: string;
            /**
             * Format: date-time
             * @description When it stops working; null when it lives until it is revoked.
             */
            expires_at: string | null;
            /**
             * Format: date-time
             * @description When it was revoked.
             */
            revoked_at: string | null;
            /**
             * Format: date-time
             * @description When it was last used, to the minute.
             */
            last_used_at: string | null;
            /** @description The addresses from which it can be used. Null: any address. */
            allowed_ips: string[] | null;
            /**
             * @description The key that created it, `cli:` with a system user, `carrier:` with a link, or `system`. Null for records of version 0.1.
             * @example key_01k9zs3v8mf4tb2xg1qj6n0d5c
             */
            created_by: string | null;
        };
        KeyPage: {
            data: components["schemas"]["Key"][];
            has_more: boolean;
            /** @description Null on the last page. */
            next_cursor: string | null;
        };
        /** @description An API key. */
        Key: {
            /** @example key_01k9zs3v8mf4tb2xg1qj6n0d5c */
            id: string;
            /** @constant */
            object: "key";
            account_id: string;
            /**
             * @description One of test, live; may grow.
             * @example test
             */
            environment: "test" | "live" | (string & {});
            /** @description For people. */
            name: string | null;
            /**
             * @description How the key begins, by which people tell keys apart.
             * @example gw_test_Ab3x…
             */
            hint: string;
            scopes: ("messages:send" | "messages:read" | "templates:read" | "templates:write" | "webhooks:read" | "webhooks:write" | "events:read" | "keys:read" | "keys:write" | "suppressions:read" | "suppressions:write" | "usage:read" | "links:read" | "links:write" | "audit:read" | "recipients:read" | "recipients:erase" | "verifications:read" | "verifications:write" | (string & {}))[];
            /**
             * Format: date-time
             * @description When it was made.
             */
            created_at: string;
            /**
             * Format: date-time
             * @description When it stops working; null when it lives until it is revoked.
             */
            expires_at: string | null;
            /**
             * Format: date-time
             * @description When it was revoked.
             */
            revoked_at: string | null;
            /**
             * Format: date-time
             * @description When it was last used, to the minute.
             */
            last_used_at: string | null;
            /** @description The addresses from which it can be used. Null: any address. */
            allowed_ips: string[] | null;
            /**
             * @description The key that created it, `cli:` with a system user, `carrier:` with a link, or `system`. Null for records of version 0.1.
             * @example key_01k9zs3v8mf4tb2xg1qj6n0d5c
             */
            created_by: string | null;
        };
        RotateKey: {
            /** @description How long the old key goes on working. Default 86400: a day. */
            overlap_seconds?: number | null;
        };
        /** @description What the credential of a request is. */
        Credential: {
            /** @constant */
            object: "credential";
            /**
             * @description One of api_key, access_token; may grow.
             * @example api_key
             */
            type: "api_key" | "access_token" | (string & {});
            /**
             * @description The key, or the one that bought the token.
             * @example key_01k9zs3v8mf4tb2xg1qj6n0d5c
             */
            key_id: string;
            account_id: string;
            /**
             * @description One of test, live; may grow.
             * @example test
             */
            environment: "test" | "live" | (string & {});
            /** @description The key's name, for people. */
            name: string | null;
            /** @description What this credential may do: a token may do less than its key. */
            scopes: ("messages:send" | "messages:read" | "templates:read" | "templates:write" | "webhooks:read" | "webhooks:write" | "events:read" | "keys:read" | "keys:write" | "suppressions:read" | "suppressions:write" | "usage:read" | "links:read" | "links:write" | "audit:read" | "recipients:read" | "recipients:erase" | "verifications:read" | "verifications:write" | (string & {}))[];
            /** @description How often the environment may ask, all its credentials together. */
            tier: {
                /** @example sandbox */
                name: string;
                /** @description Null on a tier without limit. */
                requests_per_second: number | null;
                /** @description Null on a tier without limit. */
                burst: number | null;
            };
            /**
             * Format: date-time
             * @description When it stops working: a token at its own end, or at that of its key if that is sooner. Null for a key that lives until it is revoked.
             */
            expires_at: string | null;
        };
        WebhookDeliveryPage: {
            data: components["schemas"]["WebhookDelivery"][];
            has_more: boolean;
            /** @description Null on the last page. */
            next_cursor: string | null;
        };
        /** @description One event for one endpoint. */
        WebhookDelivery: {
            /** @example dlv_01k9zs3v8mf4tb2xg1qj6n0d5c */
            id: string;
            /** @constant */
            object: "webhook_delivery";
            endpoint_id: string;
            event_id: string;
            /** @example message.sent */
            event_type: string;
            /**
             * @description `pending`: will be tried again. `failed`: given up. One of pending, succeeded, failed; may grow.
             * @example pending
             */
            status: "pending" | "succeeded" | "failed" | (string & {});
            /** @description The tries, oldest first; the last fifty. */
            attempts: components["schemas"]["DeliveryAttempt"][];
            /**
             * Format: date-time
             * @description When it is tried again.
             */
            next_attempt_at: string | null;
            /**
             * Format: date-time
             * @description When the event happened.
             */
            created_at: string;
            /**
             * Format: date-time
             * @description When it was last changed.
             */
            updated_at: string;
        };
        /** @description One try at an endpoint. */
        DeliveryAttempt: {
            /**
             * Format: date-time
             * @description When it began.
             */
            attempted_at: string;
            duration_ms: number;
            /** @description The HTTP status; null when there was no answer. */
            response_status: number | null;
            /** @description The first bytes of the answer. */
            response_body: string | null;
            /**
             * @description Why there was no answer. One of timeout, connection_failed, tls_failed, address_not_allowed, invalid_response; may grow.
             * @example timeout
             */
            error: "timeout" | "connection_failed" | "tls_failed" | "address_not_allowed" | "invalid_response" | (string & {}) | null;
        };
        /** @description A suppression, and the messages that it came too late for. */
        OptOut: {
            /** @example sup_01k9zs3v8mf4tb2xg1qj6n0d5c */
            id: string;
            /** @constant */
            object: "suppression";
            /**
             * @description One of test, live; may grow.
             * @example test
             */
            environment: "test" | "live" | (string & {});
            /** @example +14155550123 */
            recipient: string;
            /** @description Null: whoever sends. */
            sender: string | null;
            /**
             * @description One of active, lifted; may grow.
             * @example active
             */
            status: "active" | "lifted" | (string & {});
            /**
             * @description A word the recipient wrote, a request, an import, a report of the carrier. One of keyword, api, import, carrier; may grow.
             * @example keyword
             */
            source: "keyword" | "api" | "import" | "carrier" | (string & {});
            /**
             * @description The word, in capitals and without accents, punctuation and white space.
             * @example STOP
             */
            keyword: string | null;
            /** @description The inbound message with the word. */
            message_id: string | null;
            note: string | null;
            /**
             * Format: date-time
             * @description When the recipient was first suppressed for this sender.
             */
            created_at: string;
            /**
             * Format: date-time
             * @description When it last became active or was lifted.
             */
            updated_at: string;
            /**
             * @description The key that created it, `cli:` with a system user, `carrier:` with a link, or `system`. Null for records of version 0.1.
             * @example key_01k9zs3v8mf4tb2xg1qj6n0d5c
             */
            created_by: string | null;
            /**
             * @description How many messages to the recipient were `sending` when the opt-out took effect: they cannot be stopped.
             * @example 0
             */
            in_flight: number;
        };
        SuppressionPage: {
            data: components["schemas"]["Suppression"][];
            has_more: boolean;
            /** @description Null on the last page. */
            next_cursor: string | null;
        };
        /** @description A recipient who is not to be written to, on any channel. `source`, `keyword`, `message_id` and `note` are of its last change; its history has those before. */
        Suppression: {
            /** @example sup_01k9zs3v8mf4tb2xg1qj6n0d5c */
            id: string;
            /** @constant */
            object: "suppression";
            /**
             * @description One of test, live; may grow.
             * @example test
             */
            environment: "test" | "live" | (string & {});
            /** @example +14155550123 */
            recipient: string;
            /** @description Null: whoever sends. */
            sender: string | null;
            /**
             * @description One of active, lifted; may grow.
             * @example active
             */
            status: "active" | "lifted" | (string & {});
            /**
             * @description A word the recipient wrote, a request, an import, a report of the carrier. One of keyword, api, import, carrier; may grow.
             * @example keyword
             */
            source: "keyword" | "api" | "import" | "carrier" | (string & {});
            /**
             * @description The word, in capitals and without accents, punctuation and white space.
             * @example STOP
             */
            keyword: string | null;
            /** @description The inbound message with the word. */
            message_id: string | null;
            note: string | null;
            /**
             * Format: date-time
             * @description When the recipient was first suppressed for this sender.
             */
            created_at: string;
            /**
             * Format: date-time
             * @description When it last became active or was lifted.
             */
            updated_at: string;
            /**
             * @description The key that created it, `cli:` with a system user, `carrier:` with a link, or `system`. Null for records of version 0.1.
             * @example key_01k9zs3v8mf4tb2xg1qj6n0d5c
             */
            created_by: string | null;
        };
        /** @description What an import did. */
        SuppressionImport: {
            /** @constant */
            object: "suppression_import";
            /** @description How many became active, each with an event. */
            added: number;
            /** @description How many were active, and stay as they were. */
            already_active: number;
            /**
             * @description How many messages to these recipients were `sending` when the import took effect: they cannot be stopped.
             * @example 0
             */
            in_flight: number;
            /** @description The suppression of each entry, in the order of the entries. */
            suppression_ids: string[];
        };
        SuppressionChangePage: {
            data: components["schemas"]["SuppressionChange"][];
            has_more: boolean;
            /** @description Null on the last page. */
            next_cursor: string | null;
        };
        /** @description A suppression became active, or was lifted. */
        SuppressionChange: {
            /**
             * @description The event that told of it has the same id.
             * @example evt_01k9zs3v8mf4tb2xg1qj6n0d5c
             */
            id: string;
            /**
             * @description One of active, lifted; may grow.
             * @example active
             */
            status: "active" | "lifted" | (string & {});
            /**
             * @description A word the recipient wrote, a request, an import, a report of the carrier. One of keyword, api, import, carrier; may grow.
             * @example keyword
             */
            source: "keyword" | "api" | "import" | "carrier" | (string & {});
            /**
             * @description The word, in capitals and without accents, punctuation and white space.
             * @example STOP
             */
            keyword: string | null;
            /** @description The inbound message with the word. */
            message_id: string | null;
            note: string | null;
            /**
             * Format: date-time
             * @description When it was so changed.
             */
            at: string;
        };
        /** @description The words by which people opt out of messages of this environment, and automatic replies to them. */
        ConsentSettings: {
            /** @constant */
            object: "consent_settings";
            /** @example test */
            environment: string;
            /** @description The languages whose built-in words count, besides English, which always does. */
            languages: ("ar" | "de" | "es" | "fr" | "hi" | "id" | "it" | "ja" | "ko" | "nl" | "pl" | "pt" | "ru" | "sv" | "tr" | "uk" | "zh")[];
            /** @description Further words that opt out. */
            opt_out_words: string[];
            /** @description Further words that opt in again. */
            opt_in_words: string[];
            /** @description Further words that ask for help. */
            help_words: string[];
            replies: {
                /** @description The text for a person who has just opted out: the one message that is sent after an opt-out. Null: none. */
                opt_out: string | null;
                /** @description The text for a person who has just opted in again. Null: none. */
                opt_in: string | null;
                /** @description The text for a person who asks for help, at most once in 24 hours. Null: none. */
                help: string | null;
            };
            /**
             * Format: date-time
             * @description When the account last changed them. Null: never.
             */
            updated_at: string | null;
        };
        ConsentSettingsChange: {
            /** @description The languages whose built-in words count, besides English, which always does. */
            languages?: ("ar" | "de" | "es" | "fr" | "hi" | "id" | "it" | "ja" | "ko" | "nl" | "pl" | "pt" | "ru" | "sv" | "tr" | "uk" | "zh")[] | null;
            /** @description Further words that opt out. */
            opt_out_words?: string[] | null;
            /** @description Further words that opt in again. */
            opt_in_words?: string[] | null;
            /** @description Further words that ask for help. */
            help_words?: string[] | null;
            replies?: {
                /** @description The text for a person who has just opted out: the one message that is sent after an opt-out. Null: none. */
                opt_out?: string | null;
                /** @description The text for a person who has just opted in again. Null: none. */
                opt_in?: string | null;
                /** @description The text for a person who asks for help, at most once in 24 hours. Null: none. */
                help?: string | null;
            } | null;
        };
        NewTemplate: {
            /**
             * @description Unique in the environment. A message names its template by this or by the id.
             * @example order_shipped
             */
            name: string;
            /**
             * @description A BCP 47 language tag in its canonical form.
             * @example en-US
             */
            language: string;
            /** @enum {string} */
            category: "authentication" | "utility" | "marketing";
            /** @description Where it may be sent, each once. */
            channels: ("sms" | "whatsapp")[];
            /**
             * @description The text, with `{{1}}` or `{{name}}` for what is filled in. Up to 1,600 characters, 1,024 when whatsapp is among the channels. Up to 100 variables.
             * @example Hello {{name}}, your order {{order}} is on its way.
             */
            body: string;
            /** @description For whatsapp, with one variable at most. Empty: none. */
            header?: string | null;
            /** @description For whatsapp, without variables. Empty: none. */
            footer?: string | null;
            /** @description For whatsapp, without variables; up to 10, of which 2 open a URL and 1 calls. Empty: none. */
            buttons?: components["schemas"]["NewButton"][] | null;
            /**
             * @description A value for each variable, by its name: for previews, and for those who review the template.
             * @example {
             *       "name": "Ada",
             *       "order": "1815"
             *     }
             */
            examples?: {
                [key: string]: string;
            } | null;
            /**
             * @description A draft is not submitted yet. Default: submitted.
             * @enum {string|null}
             */
            status?: "draft" | null;
        };
        NewButton: {
            /** @enum {string} */
            type: "quick_reply" | "url" | "phone_number";
            text: string;
            /** @description What a button of type `url` opens. */
            url?: string | null;
            /**
             * @description Whom a button of type `phone_number` calls.
             * @example +14155550123
             */
            phone_number?: string | null;
        };
        /** @description A text with places to fill in. */
        Template: {
            /** @example tmpl_01k9zs3v8mf4tb2xg1qj6n0d5c */
            id: string;
            /** @constant */
            object: "template";
            /**
             * @description One of test, live; may grow.
             * @example test
             */
            environment: "test" | "live" | (string & {});
            /** @example order_shipped */
            name: string;
            /** @example en-US */
            language: string;
            /**
             * @description One of authentication, utility, marketing; may grow.
             * @example authentication
             */
            category: "authentication" | "utility" | "marketing" | (string & {});
            channels: ("sms" | "whatsapp" | (string & {}))[];
            /** @example Hello {{name}}, your order {{order}} is on its way. */
            body: string;
            /** @description For whatsapp alone, as are footer and buttons. */
            header: string | null;
            footer: string | null;
            buttons: {
                /**
                 * @description One of quick_reply, url, phone_number; may grow.
                 * @example quick_reply
                 */
                type: "quick_reply" | "url" | "phone_number" | (string & {});
                text: string;
                url: string | null;
                phone_number: string | null;
            }[] | null;
            /** @description What a message has to fill in: the header's variables, then the body's, in the order in which they first appear. */
            variables: {
                name: string;
                example: string | null;
            }[];
            /**
             * @description Only an approved template can be sent. One of draft, pending, approved, rejected, paused, archived; may grow.
             * @example draft
             */
            status: "draft" | "pending" | "approved" | "rejected" | "paused" | "archived" | (string & {});
            /** @description Why it was rejected or paused. */
            status_reason: string | null;
            /** @description Counts the changes of what it says. A message keeps the version it used. */
            version: number;
            /**
             * Format: date-time
             * @description When it was made.
             */
            created_at: string;
            /**
             * Format: date-time
             * @description When it was last changed.
             */
            updated_at: string;
            /**
             * @description The key that created it, `cli:` with a system user, `carrier:` with a link, or `system`. Null for records of version 0.1.
             * @example key_01k9zs3v8mf4tb2xg1qj6n0d5c
             */
            created_by: string | null;
        };
        TemplatePage: {
            data: components["schemas"]["Template"][];
            has_more: boolean;
            /** @description Null on the last page. */
            next_cursor: string | null;
        };
        /** @description What is absent or null stays as it is. An empty text takes away header or footer, an empty list the buttons. */
        EditTemplate: {
            /**
             * @description A BCP 47 language tag in its canonical form.
             * @example en-US
             */
            language?: string | null;
            /** @enum {string|null} */
            category?: "authentication" | "utility" | "marketing" | null;
            /** @description Where it may be sent, each once. */
            channels?: ("sms" | "whatsapp")[] | null;
            /**
             * @description The text, with `{{1}}` or `{{name}}` for what is filled in. Up to 1,600 characters, 1,024 when whatsapp is among the channels. Up to 100 variables.
             * @example Hello {{name}}, your order {{order}} is on its way.
             */
            body?: string | null;
            /** @description For whatsapp, with one variable at most. Empty: none. */
            header?: string | null;
            /** @description For whatsapp, without variables. Empty: none. */
            footer?: string | null;
            /** @description For whatsapp, without variables; up to 10, of which 2 open a URL and 1 calls. Empty: none. */
            buttons?: components["schemas"]["NewButton"][] | null;
            /**
             * @description A value for each variable, by its name: for previews, and for those who review the template.
             * @example {
             *       "name": "Ada",
             *       "order": "1815"
             *     }
             */
            examples?: {
                [key: string]: string;
            } | null;
            /**
             * @description Submits a draft, or a rejected template once more.
             * @enum {string|null}
             */
            status?: "pending" | null;
        };
        PreviewTemplate: {
            template_variables?: {
                [key: string]: string;
            } | null;
            /**
             * @description Default: the first of the template's.
             * @enum {string|null}
             */
            channel?: "sms" | "whatsapp" | null;
        };
        /** @description A template filled in. */
        TemplatePreview: {
            /** @constant */
            object: "template_preview";
            template_id: string;
            version: number;
            /**
             * @description One of sms, whatsapp; may grow.
             * @example sms
             */
            channel: "sms" | "whatsapp" | (string & {});
            body: string;
            /** @description Null on channels without one. */
            header: string | null;
            /** @description Null on channels without one. */
            footer: string | null;
            /** @description How the text is split for SMS. Null on channels without parts. */
            segments: {
                /** @description Parts on the wire. */
                count: number;
                /**
                 * @description One of gsm7, ucs2; may grow.
                 * @example gsm7
                 */
                encoding: "gsm7" | "ucs2" | (string & {});
                /** @description Unicode code points. */
                characters: number;
            } | null;
        };
        /** @description Exactly one of `channel` and `channels`. */
        NewVerification: {
            /** @example +14155550123 */
            recipient: string;
            /**
             * @description One of `channel` and `channels`.
             * @enum {string|null}
             */
            channel?: "sms" | "whatsapp" | null;
            /** @description In the order in which they are tried: the next when the one before does not get the code delivered. */
            channels?: ("sms" | "whatsapp")[] | null;
            /** @description How long a channel has before the next is tried. Default 30. */
            after_seconds?: number | null;
            /** @description A template whose only variable is `code`. Default `verification_code`. */
            template_id?: string | null;
            sender?: string | null;
            /** @description Digits. Default 6. */
            code_length?: number | null;
            /** @description Seconds for which the code is taken. Default 600. */
            ttl?: number | null;
        };
        Verification: {
            /** @example ver_01k9zs3v8mf4tb2xg1qj6n0d5c */
            id: string;
            /** @constant */
            object: "verification";
            /**
             * @description One of test, live; may grow.
             * @example test
             */
            environment: "test" | "live" | (string & {});
            recipient: string;
            /** @description In the order in which they are tried. */
            channels: ("sms" | "whatsapp" | (string & {}))[];
            code_length: number;
            /**
             * @description `failed`: too many wrong codes. One of pending, approved, expired, failed, canceled; may grow.
             * @example pending
             */
            status: "pending" | "approved" | "expired" | "failed" | "canceled" | (string & {});
            /** @description Wrong codes so far. */
            attempts: number;
            attempts_left: number;
            /** @description The message that carries the code; one that is sent in its place has it as `fallback_of`. */
            message_id: string;
            /**
             * Format: date-time
             * @description When it was started.
             */
            created_at: string;
            /**
             * Format: date-time
             * @description The code is not taken after this.
             */
            expires_at: string;
            /**
             * Format: date-time
             * @description When the right code came back.
             */
            verified_at: string | null;
            /**
             * Format: date-time
             * @description When it last changed.
             */
            updated_at: string;
        };
        VerificationCheck: {
            code: string;
        };
        CheckedVerification: {
            /** @example ver_01k9zs3v8mf4tb2xg1qj6n0d5c */
            id: string;
            /** @constant */
            object: "verification";
            /**
             * @description One of test, live; may grow.
             * @example test
             */
            environment: "test" | "live" | (string & {});
            recipient: string;
            /** @description In the order in which they are tried. */
            channels: ("sms" | "whatsapp" | (string & {}))[];
            code_length: number;
            /**
             * @description `failed`: too many wrong codes. One of pending, approved, expired, failed, canceled; may grow.
             * @example pending
             */
            status: "pending" | "approved" | "expired" | "failed" | "canceled" | (string & {});
            /** @description Wrong codes so far. */
            attempts: number;
            attempts_left: number;
            /** @description The message that carries the code; one that is sent in its place has it as `fallback_of`. */
            message_id: string;
            /**
             * Format: date-time
             * @description When it was started.
             */
            created_at: string;
            /**
             * Format: date-time
             * @description The code is not taken after this.
             */
            expires_at: string;
            /**
             * Format: date-time
             * @description When the right code came back.
             */
            verified_at: string | null;
            /**
             * Format: date-time
             * @description When it last changed.
             */
            updated_at: string;
            /** @description The code is the right one. */
            valid: boolean;
        };
        LinkList: {
            data: components["schemas"]["Link"][];
        };
        /** @description A configured connection to a carrier. */
        Link: {
            /**
             * @description The name, of a link of the configuration file. Messages name their link by it.
             * @example lnk_01k9zs3v8mf4tb2xg1qj6n0d5c
             */
            id: string;
            /** @constant */
            object: "link";
            /** @example Acme */
            name: string;
            /**
             * @description `file`: the operator configured it, and it cannot be changed here. `api`: the account created it. One of file, api; may grow.
             * @example file
             */
            source: "file" | "api" | (string & {});
            /** @example smpp */
            provider: string;
            /**
             * @description The carrier of the provider `http`.
             * @example telnyx
             */
            carrier: string | null;
            channels: ("sms" | "whatsapp" | (string & {}))[];
            /**
             * @description `down`: no node has it open. One of connected, connecting, throttled, paused, down; may grow.
             * @example connected
             */
            state: "connected" | "connecting" | "throttled" | "paused" | "down" | (string & {});
            /**
             * @description Why it is not simply connected. The operator sees more with `godwit links`. One of carrier_unreachable, carrier_throttles, needs_account, needs_operator, no_node, paused_by_request, paused_by_operator; may grow.
             * @example carrier_unreachable
             */
            reason: "carrier_unreachable" | "carrier_throttles" | "needs_account" | "needs_operator" | "no_node" | "paused_by_request" | "paused_by_operator" | (string & {}) | null;
            /** @description The same in the words of the connection, of a link of the account. */
            reason_detail: string | null;
            /** @description It sends nothing until it is resumed. It receives as before. */
            paused: boolean;
            sender: string | null;
            /**
             * @description Whose national numbers the carrier may write.
             * @example DE
             */
            country: string | null;
            /** @description Parts, or messages, a second. */
            rate: number | null;
            /** @description How many may be without an answer at one time. */
            window: number | null;
            /** @description Messages of this environment that are `sending` on it. */
            in_flight: number;
            /**
             * @description How receipts write an id against responses, of an SMPP link: set, or learnt; `learn`: not learnt yet. One of learn, same, decimal, hex; may grow.
             * @example learn
             */
            receipt_ids: "learn" | "same" | "decimal" | "hex" | (string & {}) | null;
            /** @description Without secrets. Null for a link of the configuration file. */
            settings: {
                [key: string]: unknown;
            } | null;
            /** @description The names of the secrets that are set. */
            secrets: string[];
            /**
             * @description Where the carrier sends receipts and inbound messages, on the public URL of this service. Null where it does not call.
             * @example /providers/twilio/lnk_01k9zs3v8mf4tb2xg1qj6n0d5c
             */
            callback_path: string | null;
            /** @description Of a link of the account; null for those of the operator. */
            last_error: string | null;
            /**
             * Format: date-time
             * @description Of a link of the account; null for those of the operator.
             */
            last_error_at: string | null;
            /** @description For the operator only; empty here. */
            nodes: string[];
            /**
             * Format: date-time
             * @description Null for a link of the configuration file.
             */
            created_at: string | null;
            /**
             * Format: date-time
             * @description Null for a link of the configuration file.
             */
            updated_at: string | null;
            /**
             * @description The key that created it, `cli:` with a system user, `carrier:` with a link, or `system`. Null for records of version 0.1.
             * @example key_01k9zs3v8mf4tb2xg1qj6n0d5c
             */
            created_by: string | null;
        };
        NewLink: {
            /**
             * @description For people. Unique among the links of the account.
             * @example Acme
             */
            name: string;
            /** @enum {string} */
            provider: "smpp" | "twilio" | "whatsapp" | "http";
            /**
             * @description The carrier of the provider `http`: a definition that this service has.
             * @enum {string|null}
             */
            carrier?: "aws" | "sinch" | "telnyx" | "vonage" | null;
            sender?: string | null;
            country?: string | null;
            /** @description Parts, or messages, a second. */
            rate?: number | null;
            /** @description How many may wait for a response at a time. */
            window?: number | null;
            hold_seconds?: number | null;
            /** @enum {string|null} */
            on_unknown?: "fail" | "resend" | null;
            /**
             * @description The settings of the provider, with the names of the configuration file (docs: Links, SMPP, Carriers). Secrets are given literally, such as `password` in place of `password_env`, and are never returned.
             * @example {
             *       "host": "smpp.acme.example",
             *       "port": 2776,
             *       "tls": true,
             *       "system_id": "godwit",
             *       "password": "…"
             *     }
             */
            settings: {
                [key: string]: unknown;
            };
        };
        EditLink: {
            /**
             * @description For people. Unique among the links of the account.
             * @example Acme
             */
            name?: string | null;
            sender?: string | null;
            country?: string | null;
            /** @description Parts, or messages, a second. */
            rate?: number | null;
            /** @description How many may wait for a response at a time. */
            window?: number | null;
            hold_seconds?: number | null;
            /** @enum {string|null} */
            on_unknown?: "fail" | "resend" | null;
            /**
             * @description The settings of the provider, with the names of the configuration file (docs: Links, SMPP, Carriers). Secrets are given literally, such as `password` in place of `password_env`, and are never returned.
             * @example {
             *       "host": "smpp.acme.example",
             *       "port": 2776,
             *       "tls": true,
             *       "system_id": "godwit",
             *       "password": "…"
             *     }
             */
            settings?: {
                [key: string]: unknown;
            } | null;
            /** @description A paused link sends nothing, and receives as before. */
            paused?: boolean | null;
        };
        DeletedLink: {
            id: string;
            /** @constant */
            object: "link";
            /** @constant */
            deleted: true;
        };
        /** @description The test of a connection to a carrier. */
        LinkTest: {
            /** @constant */
            object: "link_test";
            link_id: string;
            ok: boolean;
            /**
             * @description The step that failed. Null where none did. One of address, connection, tls, credentials, response; may grow.
             * @example address
             */
            step: "address" | "connection" | "tls" | "credentials" | "response" | (string & {}) | null;
            /**
             * @description What was found, for people.
             * @example The carrier accepted the bind.
             */
            detail: string;
            /**
             * Format: date-time
             * @description When it was tested.
             */
            tested_at: string;
        };
        SenderList: {
            data: components["schemas"]["Sender"][];
        };
        /** @description A number or name that messages are sent from, on one link. */
        Sender: {
            /** @example snd_01k9zs3v8mf4tb2xg1qj6n0d5c */
            id: string;
            /** @constant */
            object: "sender";
            /**
             * @description `file`: the operator configured it, and it cannot be changed here. One of file, api; may grow.
             * @example file
             */
            source: "file" | "api" | (string & {});
            /** @example +14155550100 */
            number: string;
            /** @example lnk_01k9zs3v8mf4tb2xg1qj6n0d5c */
            link_id: string;
            countries: string[] | null;
            pool: string | null;
            preference: number | null;
            rate: number | null;
            /**
             * Format: date-time
             * @description Null for a sender of the configuration file.
             */
            created_at: string | null;
            /**
             * Format: date-time
             * @description Null for a sender of the configuration file.
             */
            updated_at: string | null;
            /**
             * @description The key that created it, `cli:` with a system user, `carrier:` with a link, or `system`. Null for records of version 0.1.
             * @example key_01k9zs3v8mf4tb2xg1qj6n0d5c
             */
            created_by: string | null;
        };
        NewSender: {
            /**
             * @description An E.164 number, a short code, or a name.
             * @example +14155550100
             */
            number: string;
            /**
             * @description A link of the account.
             * @example lnk_01k9zs3v8mf4tb2xg1qj6n0d5c
             */
            link_id: string;
            /** @description It writes only to these. Absent: to all that allow such a sender. */
            countries?: string[] | null;
            /** @description Senders of one pool take turns, and a recipient keeps the one that it knows. */
            pool?: string | null;
            /** @description Higher first. */
            preference?: number | null;
            /** @description Messages a second. */
            rate?: number | null;
        };
        EditSender: {
            /** @description It writes only to these. Absent: to all that allow such a sender. */
            countries?: string[] | null;
            /** @description Senders of one pool take turns, and a recipient keeps the one that it knows. */
            pool?: string | null;
            /** @description Higher first. */
            preference?: number | null;
            /** @description Messages a second. */
            rate?: number | null;
        };
        DeletedSender: {
            id: string;
            /** @constant */
            object: "sender";
            /** @constant */
            deleted: true;
        };
        RouteList: {
            data: components["schemas"]["Route"][];
        };
        /** @description Which links take the messages of a channel, by country or prefix of the recipient. */
        Route: {
            /** @example rte_01k9zs3v8mf4tb2xg1qj6n0d5c */
            id: string;
            /** @constant */
            object: "route";
            /**
             * @description `file`: the operator configured it, and it cannot be changed here. One of file, api; may grow.
             * @example file
             */
            source: "file" | "api" | (string & {});
            /**
             * @description One of sms, whatsapp; may grow.
             * @example sms
             */
            channel: "sms" | "whatsapp" | (string & {});
            links: string[];
            countries: string[] | null;
            prefixes: string[] | null;
            priority: number;
            weights: number[] | null;
            /**
             * Format: date-time
             * @description Null for a route of the configuration file.
             */
            created_at: string | null;
            /**
             * Format: date-time
             * @description Null for a route of the configuration file.
             */
            updated_at: string | null;
            /**
             * @description The key that created it, `cli:` with a system user, `carrier:` with a link, or `system`. Null for records of version 0.1.
             * @example key_01k9zs3v8mf4tb2xg1qj6n0d5c
             */
            created_by: string | null;
        };
        NewRoute: {
            /** @enum {string} */
            channel: "sms" | "whatsapp";
            /**
             * @description Links of the account, in the order in which they are tried.
             * @example [
             *       "lnk_01k9zs3v8mf4tb2xg1qj6n0d5c"
             *     ]
             */
            links: string[];
            /** @description Only for recipients in these. */
            countries?: string[] | null;
            /** @description Only for numbers that begin so. */
            prefixes?: string[] | null;
            /** @description Higher first. Among equals the longest prefix decides. */
            priority?: number | null;
            /** @description One for each link: the first link of a message is drawn by them. */
            weights?: number[] | null;
        };
        EditRoute: {
            /**
             * @description Links of the account, in the order in which they are tried.
             * @example [
             *       "lnk_01k9zs3v8mf4tb2xg1qj6n0d5c"
             *     ]
             */
            links?: string[] | null;
            /** @description Only for recipients in these. */
            countries?: string[] | null;
            /** @description Only for numbers that begin so. */
            prefixes?: string[] | null;
            /** @description Higher first. Among equals the longest prefix decides. */
            priority?: number | null;
            /** @description One for each link: the first link of a message is drawn by them. */
            weights?: number[] | null;
        };
        DeletedRoute: {
            id: string;
            /** @constant */
            object: "route";
            /** @constant */
            deleted: true;
        };
        /** @description Messages by the minute, hour or day in which they were created, and by what they are now. */
        Usage: {
            /** @constant */
            object: "usage";
            /**
             * @description One of test, live; may grow.
             * @example test
             */
            environment: "test" | "live" | (string & {});
            /**
             * @description One of minute, hour, day; may grow.
             * @example minute
             */
            interval: "minute" | "hour" | "day" | (string & {});
            /**
             * Format: date-time
             * @description The first hour that is counted; the first minute where `interval` is `minute`.
             */
            from: string;
            /**
             * Format: date-time
             * @description The hour, or minute, before which counting ends.
             */
            to: string;
            /** @description Newest first, then by channel, status and error code. */
            data: components["schemas"]["UsageCount"][];
            /** @description The sums of each interval, newest first; those without messages are left out. */
            intervals: components["schemas"]["UsageInterval"][];
            totals: {
                messages: number;
                segments: number;
                /** @description Messages by status; a status that no message has is left out. */
                by_status: {
                    [key: string]: number;
                };
                /** @description Messages by error code; those without one are left out. */
                by_error_code: {
                    [key: string]: number;
                };
                /** @description Delivered or read, as a share of those whose end is known: delivered, read, undelivered, failed, expired. Null when there is none. */
                delivery_rate: number | null;
                /** @description Milliseconds within which half, and 95 of 100, were delivered; to within a fifth or so. Null when none was. */
                time_to_delivered_ms: {
                    p50: number;
                    p95: number;
                } | null;
            };
        };
        UsageCount: {
            /**
             * Format: date-time
             * @description When the minute, hour or day begins, UTC.
             */
            start: string;
            /**
             * @description One of sms, whatsapp; may grow.
             * @example sms
             */
            channel: "sms" | "whatsapp" | (string & {});
            /**
             * @description What the messages are now. One of scheduled, queued, sending, sent, delivered, read, undelivered, failed, expired, canceled, received; may grow.
             * @example scheduled
             */
            status: "scheduled" | "queued" | "sending" | "sent" | "delivered" | "read" | "undelivered" | "failed" | "expired" | "canceled" | "received" | (string & {});
            /** @description The error they have; null for none. */
            error_code: string | null;
            messages: number;
            /** @description Parts on the wire. Channels without parts add none. */
            segments: number;
            /** @description Milliseconds within which half, and 95 of 100, were delivered; to within a fifth or so. Null when none was. */
            time_to_delivered_ms: {
                p50: number;
                p95: number;
            } | null;
        };
        /** @description What one minute, hour or day comes to. */
        UsageInterval: {
            /**
             * Format: date-time
             * @description When the minute, hour or day begins, UTC.
             */
            start: string;
            messages: number;
            segments: number;
            /** @description Messages by status; a status that no message has is left out. */
            by_status: {
                [key: string]: number;
            };
            /** @description Messages by error code; those without one are left out. */
            by_error_code: {
                [key: string]: number;
            };
            /** @description Delivered or read, as a share of those whose end is known: delivered, read, undelivered, failed, expired. Null when there is none. */
            delivery_rate: number | null;
            /** @description Milliseconds within which half, and 95 of 100, were delivered; to within a fifth or so. Null when none was. */
            time_to_delivered_ms: {
                p50: number;
                p95: number;
            } | null;
        };
        /** @description What is under way. */
        Queue: {
            /** @constant */
            object: "queue";
            /**
             * @description One of test, live; may grow.
             * @example test
             */
            environment: "test" | "live" | (string & {});
            /** @description Messages that wait for their `send_at`. */
            scheduled: number;
            /** @description Messages that wait to be handed to a carrier. */
            queued: number;
            /** @description Messages that are being handed to a carrier. */
            sending: number;
            /**
             * Format: date-time
             * @description Since when the longest waiting queued message could have been sent. Null when none waits.
             */
            oldest_due_at: string | null;
            /** @description The same in seconds until now; 0 when none waits. */
            oldest_due_seconds: number;
        };
        /** @description What an erasure has removed. */
        Erasure: {
            /** @constant */
            object: "erasure";
            /**
             * @description One of test, live; may grow.
             * @example test
             */
            environment: "test" | "live" | (string & {});
            /** @description What this request has erased. Records stay, with `erased` in place of the number. */
            erased: {
                /**
                 * @description Messages to the person and from the person.
                 * @example 0
                 */
                messages: number;
                /**
                 * @description Events of these messages and of suppressions, and other entries of timelines.
                 * @example 0
                 */
                events: number;
                /**
                 * @description Fallbacks that were not started yet.
                 * @example 0
                 */
                fallbacks: number;
                /**
                 * @description Deliveries whose responses were removed.
                 * @example 0
                 */
                webhook_deliveries: number;
                /**
                 * @description Verifications; pending ones are canceled.
                 * @example 0
                 */
                verifications: number;
                /**
                 * @description Suppressions, active or lifted. Active opt-outs stay in effect, as keyed hashes.
                 * @example 0
                 */
                suppressions: number;
                /**
                 * @description Responses that were stored for idempotency keys, other than records of messages.
                 * @example 0
                 */
                stored_responses: number;
            };
            /**
             * @description Scheduled and queued messages that were canceled first. They are counted as erased too.
             * @example 0
             */
            canceled: number;
            /**
             * @description Messages that are with a carrier and were left. Repeat the request when they have ended.
             * @example 0
             */
            unfinished: number;
            /** @description The limit of one request was reached. Repeat it with a new idempotency key. */
            has_more: boolean;
        };
        AuditEventPage: {
            data: components["schemas"]["AuditEvent"][];
            has_more: boolean;
            /** @description Null on the last page. */
            next_cursor: string | null;
        };
        /** @description A change, and who made it. */
        AuditEvent: {
            /** @example aud_01k9zs3v8mf4tb2xg1qj6n0d5c */
            id: string;
            /** @constant */
            object: "audit_event";
            /**
             * @description Null for a change of the whole account. One of test, live; may grow.
             * @example test
             */
            environment: "test" | "live" | (string & {}) | null;
            /** @description Who made the change. */
            actor: {
                /**
                 * @description An access token is named by its key. One of key, token, cli, carrier, system; may grow.
                 * @example key
                 */
                type: "key" | "token" | "cli" | "carrier" | "system" | (string & {});
                /** @example key_01k9zs3v8mf4tb2xg1qj6n0d5c */
                id: string | null;
                /** @description The name of the key, of the operator's system user, or of the link. */
                name: string | null;
            };
            /**
             * @description One of account.created, account.changed, consent_settings.changed, environment.tier_changed, endpoint.created, endpoint.changed, endpoint.deleted, endpoint.disabled, endpoint.recovered, endpoint.secret_rotated, key.created, key.rotated, key.revoked, link.created, link.changed, link.deleted, link.paused, link.resumed, link.tested, message.assigned, message.canceled, message.edited, message.redacted, recipient.erased, recipient.exported, route.created, route.changed, route.deleted, sender.created, sender.changed, sender.deleted, signing_key.rotated, suppression.created, suppression.imported, suppression.lifted, template.archived, template.created, template.changed, tier.changed; may grow.
             * @example account.created
             */
            action: "account.created" | "account.changed" | "consent_settings.changed" | "environment.tier_changed" | "endpoint.created" | "endpoint.changed" | "endpoint.deleted" | "endpoint.disabled" | "endpoint.recovered" | "endpoint.secret_rotated" | "key.created" | "key.rotated" | "key.revoked" | "link.created" | "link.changed" | "link.deleted" | "link.paused" | "link.resumed" | "link.tested" | "message.assigned" | "message.canceled" | "message.edited" | "message.redacted" | "recipient.erased" | "recipient.exported" | "route.created" | "route.changed" | "route.deleted" | "sender.created" | "sender.changed" | "sender.deleted" | "signing_key.rotated" | "suppression.created" | "suppression.imported" | "suppression.lifted" | "template.archived" | "template.created" | "template.changed" | "tier.changed" | (string & {});
            /** @description What was changed. */
            target: {
                /**
                 * @description One of account, consent_settings, environment, webhook_endpoint, key, link, message, recipient, route, sender, signing_key, suppression, template, tier; may grow.
                 * @example account
                 */
                type: "account" | "consent_settings" | "environment" | "webhook_endpoint" | "key" | "link" | "message" | "recipient" | "route" | "sender" | "signing_key" | "suppression" | "template" | "tier" | (string & {});
                /** @description A recipient has a keyed hash in place of its number. */
                id: string | null;
            };
            /** @description The new values. Never contains secrets, texts of messages or phone numbers. */
            changes: {
                [key: string]: unknown;
            };
            /**
             * @description The address that the request came from.
             * @example 192.0.2.7
             */
            peer: string | null;
            request_id: string | null;
            /**
             * Format: date-time
             * @description When the change was made.
             */
            created_at: string;
            /** @description The link of the account's hash chain, in hexadecimal digits. Null for a moment, until the entry is sealed. */
            hash: string | null;
        };
        /** @description What an API key bought. It dies with its key. */
        AccessToken: {
            /** @description An RFC 9068 JWT. Send it as `Authorization: Bearer …`. */
            access_token: string;
            /** @constant */
            token_type: "Bearer";
            /** @description Seconds: an hour, or until the key expires. */
            expires_in: number;
            /** @description What the token may do, separated by blanks. */
            scope: string;
        };
        /** @description RFC 6749 §4.4.2. Other parameters are ignored. */
        TokenRequest: {
            /** @constant */
            grant_type: "client_credentials";
            /** @description What the token shall be able to do, separated by blanks: at most what the key can, which is the default. */
            scope?: string;
            /** @description The key's id, where it is not sent by HTTP Basic. */
            client_id?: string;
            /** @description The key, where it is not sent by HTTP Basic. */
            client_secret?: string;
        };
        /** @description RFC 6749 §5.2, with the members of a problem beside its own. */
        OAuthError: {
            /**
             * @description The word of RFC 6749: `invalid_request`, `invalid_client`, `invalid_scope`, `unsupported_grant_type`, `temporarily_unavailable` or `server_error`.
             * @example invalid_client
             */
            error: string;
            error_description: string;
            /** @description A page about this code. */
            type: string;
            title: string;
            status: number;
            /** @description What clients switch on; may grow. */
            code: string;
            detail: string;
            request_id: string;
            errors?: {
                pointer: string;
                code: string;
                detail: string;
            }[];
        };
        /** @description RFC 7517. */
        JwkSet: {
            keys: {
                /** @constant */
                kty: "OKP";
                /** @constant */
                crv: "Ed25519";
                /** @description The public key. */
                x: string;
                /** @description Its RFC 7638 thumbprint, as tokens name it. */
                kid: string;
                /** @constant */
                alg: "EdDSA";
                /** @constant */
                use: "sig";
            }[];
        };
        /** @description RFC 9457. */
        Problem: {
            /** @description A page about this code. */
            type: string;
            title: string;
            status: number;
            /**
             * @description What clients switch on; may grow.
             * @example invalid_request_payload
             */
            code: "invalid_request_payload" | "invalid_idempotency_key" | "unauthorized_missing_token" | "unauthorized_invalid_token" | "forbidden_insufficient_scope" | "forbidden_address" | "key_outlives_credential" | "not_found" | "method_not_allowed" | "request_timeout" | "idempotency_conflict" | "payload_too_large" | "unsupported_media_type" | "idempotency_key_reused" | "no_route" | "destination_not_permitted" | "sender_not_allowed" | "message_not_cancelable" | "message_not_editable" | "message_not_redactable" | "template_not_found" | "template_not_approved" | "template_channel_mismatch" | "template_variables_mismatch" | "template_text_too_long" | "template_name_taken" | "template_not_editable" | "too_many_templates" | "recipient_opted_out" | "service_window_closed" | "verification_too_soon" | "verification_limit_reached" | "verification_not_pending" | "max_segments_exceeded" | "endpoint_url_refused" | "endpoint_disabled" | "too_many_keys" | "key_not_active" | "link_address_refused" | "link_in_use" | "paused_by_operator" | "already_exists" | "limit_reached" | "live_only" | "defined_in_file" | "too_many_endpoints" | "rate_limit_exceeded" | "request_header_fields_too_large" | "internal_server_error" | "service_unavailable" | (string & {});
            detail: string;
            request_id: string;
            required_scopes?: string[];
            /** @description Every fault, each with one of `pointer` (body), `parameter` (query or path) and `header`. */
            errors?: {
                pointer?: string;
                parameter?: string;
                header?: string;
                code: string;
                detail: string;
            }[];
        };
    };
    responses: never;
    parameters: never;
    requestBodies: never;
    headers: {
        /** @description Names this request; quote it in reports. */
        "X-Request-ID": string;
        /** @description The quota, such as `"sandbox";q=50;w=2`: q requests in w seconds. Absent on a tier without limit. */
        "RateLimit-Policy": string;
        /** @description What is left, such as `"sandbox";r=49;t=1`: r requests, full again in t seconds. */
        RateLimit: string;
        /** @description Where the record can be read. */
        Location: string;
        /** @description `true` when this is the stored answer of an earlier request. */
        "Idempotent-Replayed": string;
        /** @description Seconds to wait. */
        "Retry-After": number;
        /** @description How to authenticate: RFC 6750, and RFC 7617 where tokens are bought. */
        "WWW-Authenticate": string;
    };
    pathItems: never;
}
export type NewMessage = components['schemas']['NewMessage'];
export type FallbackStep = components['schemas']['FallbackStep'];
export type Message = components['schemas']['Message'];
export type MessageValidation = components['schemas']['MessageValidation'];
export type MessagePage = components['schemas']['MessagePage'];
export type EditMessage = components['schemas']['EditMessage'];
export type TimelinePage = components['schemas']['TimelinePage'];
export type TimelineEntry = components['schemas']['TimelineEntry'];
export type Attempt = components['schemas']['Attempt'];
export type Receipt = components['schemas']['Receipt'];
export type MessagePartPage = components['schemas']['MessagePartPage'];
export type MessagePart = components['schemas']['MessagePart'];
export type NewBatch = components['schemas']['NewBatch'];
export type BatchItem = components['schemas']['BatchItem'];
export type AcceptedBatch = components['schemas']['AcceptedBatch'];
export type Batch = components['schemas']['Batch'];
export type EventPage = components['schemas']['EventPage'];
export type Event = components['schemas']['Event'];
export type WebhookEndpointWithSecret = components['schemas']['WebhookEndpointWithSecret'];
export type Recovery = components['schemas']['Recovery'];
export type WebhookEndpointPage = components['schemas']['WebhookEndpointPage'];
export type WebhookEndpoint = components['schemas']['WebhookEndpoint'];
export type DeletedWebhookEndpoint = components['schemas']['DeletedWebhookEndpoint'];
export type TestEvent = components['schemas']['TestEvent'];
export type NewKey = components['schemas']['NewKey'];
export type KeyWithSecret = components['schemas']['KeyWithSecret'];
export type KeyPage = components['schemas']['KeyPage'];
export type Key = components['schemas']['Key'];
export type RotateKey = components['schemas']['RotateKey'];
export type Credential = components['schemas']['Credential'];
export type WebhookDeliveryPage = components['schemas']['WebhookDeliveryPage'];
export type WebhookDelivery = components['schemas']['WebhookDelivery'];
export type DeliveryAttempt = components['schemas']['DeliveryAttempt'];
export type OptOut = components['schemas']['OptOut'];
export type SuppressionPage = components['schemas']['SuppressionPage'];
export type Suppression = components['schemas']['Suppression'];
export type SuppressionImport = components['schemas']['SuppressionImport'];
export type SuppressionChangePage = components['schemas']['SuppressionChangePage'];
export type SuppressionChange = components['schemas']['SuppressionChange'];
export type ConsentSettings = components['schemas']['ConsentSettings'];
export type ConsentSettingsChange = components['schemas']['ConsentSettingsChange'];
export type NewTemplate = components['schemas']['NewTemplate'];
export type NewButton = components['schemas']['NewButton'];
export type Template = components['schemas']['Template'];
export type TemplatePage = components['schemas']['TemplatePage'];
export type EditTemplate = components['schemas']['EditTemplate'];
export type PreviewTemplate = components['schemas']['PreviewTemplate'];
export type TemplatePreview = components['schemas']['TemplatePreview'];
export type NewVerification = components['schemas']['NewVerification'];
export type Verification = components['schemas']['Verification'];
export type VerificationCheck = components['schemas']['VerificationCheck'];
export type CheckedVerification = components['schemas']['CheckedVerification'];
export type LinkList = components['schemas']['LinkList'];
export type Link = components['schemas']['Link'];
export type NewLink = components['schemas']['NewLink'];
export type EditLink = components['schemas']['EditLink'];
export type DeletedLink = components['schemas']['DeletedLink'];
export type LinkTest = components['schemas']['LinkTest'];
export type SenderList = components['schemas']['SenderList'];
export type Sender = components['schemas']['Sender'];
export type NewSender = components['schemas']['NewSender'];
export type EditSender = components['schemas']['EditSender'];
export type DeletedSender = components['schemas']['DeletedSender'];
export type RouteList = components['schemas']['RouteList'];
export type Route = components['schemas']['Route'];
export type NewRoute = components['schemas']['NewRoute'];
export type EditRoute = components['schemas']['EditRoute'];
export type DeletedRoute = components['schemas']['DeletedRoute'];
export type Usage = components['schemas']['Usage'];
export type UsageCount = components['schemas']['UsageCount'];
export type UsageInterval = components['schemas']['UsageInterval'];
export type Queue = components['schemas']['Queue'];
export type Erasure = components['schemas']['Erasure'];
export type AuditEventPage = components['schemas']['AuditEventPage'];
export type AuditEvent = components['schemas']['AuditEvent'];
export type AccessToken = components['schemas']['AccessToken'];
export type TokenRequest = components['schemas']['TokenRequest'];
export type OAuthError = components['schemas']['OAuthError'];
export type JwkSet = components['schemas']['JwkSet'];
export type Problem = components['schemas']['Problem'];
export type HeaderXRequestId = components['headers']['X-Request-ID'];
export type HeaderRateLimitPolicy = components['headers']['RateLimit-Policy'];
export type HeaderRateLimit = components['headers']['RateLimit'];
export type HeaderLocation = components['headers']['Location'];
export type HeaderIdempotentReplayed = components['headers']['Idempotent-Replayed'];
export type HeaderRetryAfter = components['headers']['Retry-After'];
export type HeaderWwwAuthenticate = components['headers']['WWW-Authenticate'];
export type $defs = Record<string, never>;
export interface operations {
    get_messages: {
        parameters: {
            query?: {
                /** @description How many, 1 to 100. Default 25. */
                limit?: number;
                /** @description `next_cursor` of the page before. */
                cursor?: string;
                status?: "scheduled" | "queued" | "sending" | "sent" | "delivered" | "read" | "undelivered" | "failed" | "expired" | "canceled" | "received";
                channel?: "sms" | "whatsapp";
                direction?: "outbound" | "inbound";
                /** @description A number, or a business-scoped user id of WhatsApp. */
                recipient?: string;
                client_reference?: string;
                batch_id?: string;
                error_code?: string;
                /** @description Only messages created later than this. */
                created_after?: string;
                /** @description Only messages created earlier than this. */
                created_before?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of records. */
            200: {
                headers: {
                    "X-Request-ID": components["headers"]["X-Request-ID"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MessagePage"];
                };
            };
        };
    };
    post_messages: {
        parameters: {
            query?: never;
            header?: {
                /** @description A version-4 UUID of your own for this request. Repeating the request with it is safe for 24 hours. */
                "Idempotency-Key"?: string;
                /** @description The trace that the request belongs to, as W3C Trace Context says it. It is kept with the messages, and webhooks that tell of them carry it on. One that is malformed is ignored. */
                traceparent?: string;
                /** @description What tracing systems add to it: up to 512 characters, passed on as they are. */
                tracestate?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewMessage"];
            };
        };
        responses: {
            /** @description Accepted. The record as it was stored. */
            202: {
                headers: {
                    "X-Request-ID": components["headers"]["X-Request-ID"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    Location: components["headers"]["Location"];
                    "Idempotent-Replayed": components["headers"]["Idempotent-Replayed"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Message"];
                };
            };
        };
    };
    post_messages_validate: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewMessage"];
            };
        };
        responses: {
            /** @description What it would become. */
            200: {
                headers: {
                    "X-Request-ID": components["headers"]["X-Request-ID"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MessageValidation"];
                };
            };
        };
    };
    get_messages_id: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The message's id. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The record. */
            200: {
                headers: {
                    "X-Request-ID": components["headers"]["X-Request-ID"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Message"];
                };
            };
        };
    };
    patch_messages_id: {
        parameters: {
            query?: never;
            header?: {
                /** @description A version-4 UUID of your own for this request. Repeating the request with it is safe for 24 hours. */
                "Idempotency-Key"?: string;
            };
            path: {
                /** @description The message's id. */
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["EditMessage"];
            };
        };
        responses: {
            /** @description The record after the change. */
            200: {
                headers: {
                    "X-Request-ID": components["headers"]["X-Request-ID"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    "Idempotent-Replayed": components["headers"]["Idempotent-Replayed"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Message"];
                };
            };
        };
    };
    post_messages_id_cancel: {
        parameters: {
            query?: never;
            header?: {
                /** @description A version-4 UUID of your own for this request. Repeating the request with it is safe for 24 hours. */
                "Idempotency-Key"?: string;
            };
            path: {
                /** @description The message's id. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The record after the change. */
            200: {
                headers: {
                    "X-Request-ID": components["headers"]["X-Request-ID"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    "Idempotent-Replayed": components["headers"]["Idempotent-Replayed"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Message"];
                };
            };
        };
    };
    post_messages_id_redact: {
        parameters: {
            query?: never;
            header?: {
                /** @description A version-4 UUID of your own for this request. Repeating the request with it is safe for 24 hours. */
                "Idempotency-Key"?: string;
            };
            path: {
                /** @description The message's id. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The record after the change. */
            200: {
                headers: {
                    "X-Request-ID": components["headers"]["X-Request-ID"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    "Idempotent-Replayed": components["headers"]["Idempotent-Replayed"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Message"];
                };
            };
        };
    };
    get_messages_id_events: {
        parameters: {
            query?: {
                /** @description How many, 1 to 100. Default 25. */
                limit?: number;
                /** @description `next_cursor` of the page before. */
                cursor?: string;
            };
            header?: never;
            path: {
                /** @description The message's id. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of entries. */
            200: {
                headers: {
                    "X-Request-ID": components["headers"]["X-Request-ID"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TimelinePage"];
                };
            };
        };
    };
    get_messages_id_parts: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The message's id. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The parts. */
            200: {
                headers: {
                    "X-Request-ID": components["headers"]["X-Request-ID"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MessagePartPage"];
                };
            };
        };
    };
    post_batches: {
        parameters: {
            query?: never;
            header?: {
                /** @description A version-4 UUID of your own for this request. Repeating the request with it is safe for 24 hours. */
                "Idempotency-Key"?: string;
                /** @description The trace that the request belongs to, as W3C Trace Context says it. It is kept with the messages, and webhooks that tell of them carry it on. One that is malformed is ignored. */
                traceparent?: string;
                /** @description What tracing systems add to it: up to 512 characters, passed on as they are. */
                tracestate?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewBatch"];
            };
        };
        responses: {
            /** @description What became of each item. */
            202: {
                headers: {
                    "X-Request-ID": components["headers"]["X-Request-ID"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    Location: components["headers"]["Location"];
                    "Idempotent-Replayed": components["headers"]["Idempotent-Replayed"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AcceptedBatch"];
                };
            };
        };
    };
    get_batches_id: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The batch's id. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The batch. */
            200: {
                headers: {
                    "X-Request-ID": components["headers"]["X-Request-ID"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Batch"];
                };
            };
        };
    };
    get_events: {
        parameters: {
            query?: {
                /** @description How many, 1 to 100. Default 25. */
                limit?: number;
                /** @description `next_cursor` of the page before. */
                cursor?: string;
                /** @description Only events of this type; `message.*` for all of a kind. */
                type?: string;
                /** @description Only events of this message. */
                message_id?: string;
                /** @description Only events later than this. */
                created_after?: string;
                /** @description Only events earlier than this. */
                created_before?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of events. */
            200: {
                headers: {
                    "X-Request-ID": components["headers"]["X-Request-ID"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EventPage"];
                };
            };
        };
    };
    get_events_stream: {
        parameters: {
            query?: {
                /** @description Only events of this type; `message.*` for all of a kind. */
                type?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Events, without an end. */
            200: {
                headers: {
                    "X-Request-ID": components["headers"]["X-Request-ID"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    [name: string]: unknown;
                };
                content: {
                    "text/event-stream": string;
                };
            };
        };
    };
    get_events_id: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The event's id. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The event. */
            200: {
                headers: {
                    "X-Request-ID": components["headers"]["X-Request-ID"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Event"];
                };
            };
        };
    };
    get_webhook_endpoints: {
        parameters: {
            query?: {
                /** @description How many, 1 to 100. Default 25. */
                limit?: number;
                /** @description `next_cursor` of the page before. */
                cursor?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of endpoints. */
            200: {
                headers: {
                    "X-Request-ID": components["headers"]["X-Request-ID"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhookEndpointPage"];
                };
            };
        };
    };
    post_webhook_endpoints: {
        parameters: {
            query?: never;
            header?: {
                /** @description A version-4 UUID of your own for this request. Repeating the request with it is safe for 24 hours. */
                "Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /**
                     * @description https, on the public internet. http and private addresses only where the operator of this service allows them.
                     * @example https://example.com/hooks/godwit
                     */
                    url: string;
                    /** @description For people. */
                    description?: string | null;
                    /**
                     * @description What to be told of: types, `message.*` for all of a kind, `*` for all. Default: all.
                     * @example [
                     *       "message.*"
                     *     ]
                     */
                    event_types?: string[] | null;
                };
            };
        };
        responses: {
            /** @description Created. */
            201: {
                headers: {
                    "X-Request-ID": components["headers"]["X-Request-ID"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    Location: components["headers"]["Location"];
                    "Idempotent-Replayed": components["headers"]["Idempotent-Replayed"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhookEndpointWithSecret"];
                };
            };
        };
    };
    get_webhook_endpoints_id: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The endpoint's id. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The endpoint. */
            200: {
                headers: {
                    "X-Request-ID": components["headers"]["X-Request-ID"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhookEndpoint"];
                };
            };
        };
    };
    delete_webhook_endpoints_id: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The endpoint's id. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Deleted. */
            200: {
                headers: {
                    "X-Request-ID": components["headers"]["X-Request-ID"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DeletedWebhookEndpoint"];
                };
            };
        };
    };
    patch_webhook_endpoints_id: {
        parameters: {
            query?: never;
            header?: {
                /** @description A version-4 UUID of your own for this request. Repeating the request with it is safe for 24 hours. */
                "Idempotency-Key"?: string;
            };
            path: {
                /** @description The endpoint's id. */
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /**
                     * @description https, on the public internet. http and private addresses only where the operator of this service allows them.
                     * @example https://example.com/hooks/godwit
                     */
                    url?: string | null;
                    /** @description For people. */
                    description?: string | null;
                    /**
                     * @description What to be told of: types, `message.*` for all of a kind, `*` for all. Default: all.
                     * @example [
                     *       "message.*"
                     *     ]
                     */
                    event_types?: string[] | null;
                    /**
                     * @description A disabled endpoint is told nothing. Enabling it forgets its failures.
                     * @enum {string|null}
                     */
                    status?: "enabled" | "disabled" | null;
                };
            };
        };
        responses: {
            /** @description The endpoint after the change. */
            200: {
                headers: {
                    "X-Request-ID": components["headers"]["X-Request-ID"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    "Idempotent-Replayed": components["headers"]["Idempotent-Replayed"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhookEndpoint"];
                };
            };
        };
    };
    post_webhook_endpoints_id_rotate_secret: {
        parameters: {
            query?: never;
            header?: {
                /** @description A version-4 UUID of your own for this request. Repeating the request with it is safe for 24 hours. */
                "Idempotency-Key"?: string;
            };
            path: {
                /** @description The endpoint's id. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The endpoint with its new secret. */
            200: {
                headers: {
                    "X-Request-ID": components["headers"]["X-Request-ID"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    "Idempotent-Replayed": components["headers"]["Idempotent-Replayed"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhookEndpointWithSecret"];
                };
            };
        };
    };
    post_webhook_endpoints_id_test: {
        parameters: {
            query?: never;
            header?: {
                /** @description A version-4 UUID of your own for this request. Repeating the request with it is safe for 24 hours. */
                "Idempotency-Key"?: string;
            };
            path: {
                /** @description The endpoint's id. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description On its way. */
            202: {
                headers: {
                    "X-Request-ID": components["headers"]["X-Request-ID"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    "Idempotent-Replayed": components["headers"]["Idempotent-Replayed"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TestEvent"];
                };
            };
        };
    };
    get_keys: {
        parameters: {
            query?: {
                /** @description How many, 1 to 100. Default 25. */
                limit?: number;
                /** @description `next_cursor` of the page before. */
                cursor?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of keys. */
            200: {
                headers: {
                    "X-Request-ID": components["headers"]["X-Request-ID"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["KeyPage"];
                };
            };
        };
    };
    post_keys: {
        parameters: {
            query?: never;
            header?: {
                /** @description A version-4 UUID of your own for this request. Repeating the request with it is safe for 24 hours. */
                "Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewKey"];
            };
        };
        responses: {
            /** @description Created. */
            201: {
                headers: {
                    "X-Request-ID": components["headers"]["X-Request-ID"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    Location: components["headers"]["Location"];
                    "Idempotent-Replayed": components["headers"]["Idempotent-Replayed"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["KeyWithSecret"];
                };
            };
        };
    };
    get_keys_id: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The key's id. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The key. */
            200: {
                headers: {
                    "X-Request-ID": components["headers"]["X-Request-ID"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Key"];
                };
            };
        };
    };
    delete_keys_id: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The key's id. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The key, revoked. */
            200: {
                headers: {
                    "X-Request-ID": components["headers"]["X-Request-ID"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Key"];
                };
            };
        };
    };
    post_keys_id_rotate: {
        parameters: {
            query?: never;
            header?: {
                /** @description A version-4 UUID of your own for this request. Repeating the request with it is safe for 24 hours. */
                "Idempotency-Key"?: string;
            };
            path: {
                /** @description The key's id. */
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["RotateKey"];
            };
        };
        responses: {
            /** @description The new key. */
            201: {
                headers: {
                    "X-Request-ID": components["headers"]["X-Request-ID"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    Location: components["headers"]["Location"];
                    "Idempotent-Replayed": components["headers"]["Idempotent-Replayed"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["KeyWithSecret"];
                };
            };
        };
    };
    get_credential: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The credential. */
            200: {
                headers: {
                    "X-Request-ID": components["headers"]["X-Request-ID"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Credential"];
                };
            };
        };
    };
    get_webhook_endpoints_id_deliveries: {
        parameters: {
            query?: {
                /** @description How many, 1 to 100. Default 25. */
                limit?: number;
                /** @description `next_cursor` of the page before. */
                cursor?: string;
                status?: "pending" | "succeeded" | "failed";
            };
            header?: never;
            path: {
                /** @description The endpoint's id. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of deliveries. */
            200: {
                headers: {
                    "X-Request-ID": components["headers"]["X-Request-ID"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhookDeliveryPage"];
                };
            };
        };
    };
    get_webhook_endpoints_id_deliveries_delivery_id: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The endpoint's id. */
                id: string;
                /** @description The delivery's id. */
                delivery_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The delivery. */
            200: {
                headers: {
                    "X-Request-ID": components["headers"]["X-Request-ID"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhookDelivery"];
                };
            };
        };
    };
    post_webhook_endpoints_id_deliveries_delivery_id_retry: {
        parameters: {
            query?: never;
            header?: {
                /** @description A version-4 UUID of your own for this request. Repeating the request with it is safe for 24 hours. */
                "Idempotency-Key"?: string;
            };
            path: {
                /** @description The endpoint's id. */
                id: string;
                /** @description The delivery's id. */
                delivery_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description On its way. */
            202: {
                headers: {
                    "X-Request-ID": components["headers"]["X-Request-ID"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    "Idempotent-Replayed": components["headers"]["Idempotent-Replayed"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhookDelivery"];
                };
            };
        };
    };
    post_webhook_endpoints_id_recover: {
        parameters: {
            query?: never;
            header?: {
                /** @description A version-4 UUID of your own for this request. Repeating the request with it is safe for 24 hours. */
                "Idempotency-Key"?: string;
            };
            path: {
                /** @description The endpoint's id. */
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /**
                     * Format: date-time
                     * @description Events from this moment on that the endpoint has not acknowledged are delivered again.
                     */
                    since: string;
                };
            };
        };
        responses: {
            /** @description Under way. */
            202: {
                headers: {
                    "X-Request-ID": components["headers"]["X-Request-ID"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    "Idempotent-Replayed": components["headers"]["Idempotent-Replayed"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhookEndpoint"];
                };
            };
        };
    };
    get_events_id_deliveries: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The event's id. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The deliveries. */
            200: {
                headers: {
                    "X-Request-ID": components["headers"]["X-Request-ID"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhookDeliveryPage"];
                };
            };
        };
    };
    get_suppressions: {
        parameters: {
            query?: {
                /** @description How many, 1 to 100. Default 25. */
                limit?: number;
                /** @description `next_cursor` of the page before. */
                cursor?: string;
                /** @description A number, or a business-scoped user id of WhatsApp. */
                recipient?: string;
                /** @description Only those of this very sender, not those for all. */
                sender?: string;
                /** @description Default: active. */
                status?: "active" | "lifted";
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of suppressions. */
            200: {
                headers: {
                    "X-Request-ID": components["headers"]["X-Request-ID"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SuppressionPage"];
                };
            };
        };
    };
    post_suppressions: {
        parameters: {
            query?: never;
            header?: {
                /** @description A version-4 UUID of your own for this request. Repeating the request with it is safe for 24 hours. */
                "Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /**
                     * @description An E.164 number. On whatsapp also a business-scoped user id, such as US.13491208655302741918.
                     * @example +14155550123
                     */
                    recipient: string;
                    /** @description Whose messages are not to be sent. Default: anybody's. */
                    sender?: string | null;
                    /** @description For people. */
                    note?: string | null;
                };
            };
        };
        responses: {
            /** @description It was active already: the record as it is. */
            200: {
                headers: {
                    "X-Request-ID": components["headers"]["X-Request-ID"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    "Idempotent-Replayed": components["headers"]["Idempotent-Replayed"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OptOut"];
                };
            };
            /** @description Active from now on. */
            201: {
                headers: {
                    "X-Request-ID": components["headers"]["X-Request-ID"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    Location: components["headers"]["Location"];
                    "Idempotent-Replayed": components["headers"]["Idempotent-Replayed"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OptOut"];
                };
            };
        };
    };
    post_suppressions_import: {
        parameters: {
            query?: never;
            header?: {
                /** @description A version-4 UUID of your own for this request. Repeating the request with it is safe for 24 hours. */
                "Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    entries: {
                        /**
                         * @description An E.164 number. On whatsapp also a business-scoped user id, such as US.13491208655302741918.
                         * @example +14155550123
                         */
                        recipient: string;
                        /** @description Whose messages are not to be sent. Default: anybody's. */
                        sender?: string | null;
                        /** @description For people. */
                        note?: string | null;
                    }[];
                };
            };
        };
        responses: {
            /** @description What was done. */
            200: {
                headers: {
                    "X-Request-ID": components["headers"]["X-Request-ID"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    "Idempotent-Replayed": components["headers"]["Idempotent-Replayed"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SuppressionImport"];
                };
            };
        };
    };
    get_suppressions_id: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The suppression's id. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The suppression. */
            200: {
                headers: {
                    "X-Request-ID": components["headers"]["X-Request-ID"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Suppression"];
                };
            };
        };
    };
    delete_suppressions_id: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The suppression's id. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The suppression, lifted. */
            200: {
                headers: {
                    "X-Request-ID": components["headers"]["X-Request-ID"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Suppression"];
                };
            };
        };
    };
    get_suppressions_id_history: {
        parameters: {
            query?: {
                /** @description How many, 1 to 100. Default 25. */
                limit?: number;
                /** @description `next_cursor` of the page before. */
                cursor?: string;
            };
            header?: never;
            path: {
                /** @description The suppression's id. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of changes. */
            200: {
                headers: {
                    "X-Request-ID": components["headers"]["X-Request-ID"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SuppressionChangePage"];
                };
            };
        };
    };
    get_consent_settings: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The settings. */
            200: {
                headers: {
                    "X-Request-ID": components["headers"]["X-Request-ID"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ConsentSettings"];
                };
            };
        };
    };
    patch_consent_settings: {
        parameters: {
            query?: never;
            header?: {
                /** @description A version-4 UUID of your own for this request. Repeating the request with it is safe for 24 hours. */
                "Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ConsentSettingsChange"];
            };
        };
        responses: {
            /** @description The settings. */
            200: {
                headers: {
                    "X-Request-ID": components["headers"]["X-Request-ID"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    "Idempotent-Replayed": components["headers"]["Idempotent-Replayed"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ConsentSettings"];
                };
            };
        };
    };
    get_templates: {
        parameters: {
            query?: {
                /** @description How many, 1 to 100. Default 25. */
                limit?: number;
                /** @description `next_cursor` of the page before. */
                cursor?: string;
                /** @description Archived templates are listed only when asked for here. */
                status?: "draft" | "pending" | "approved" | "rejected" | "paused" | "archived";
                channel?: "sms" | "whatsapp";
                name?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of templates. */
            200: {
                headers: {
                    "X-Request-ID": components["headers"]["X-Request-ID"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TemplatePage"];
                };
            };
        };
    };
    post_templates: {
        parameters: {
            query?: never;
            header?: {
                /** @description A version-4 UUID of your own for this request. Repeating the request with it is safe for 24 hours. */
                "Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewTemplate"];
            };
        };
        responses: {
            /** @description Created. */
            201: {
                headers: {
                    "X-Request-ID": components["headers"]["X-Request-ID"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    Location: components["headers"]["Location"];
                    "Idempotent-Replayed": components["headers"]["Idempotent-Replayed"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Template"];
                };
            };
        };
    };
    get_templates_id: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The template's id, or its name; an archived template has only its id. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The template. */
            200: {
                headers: {
                    "X-Request-ID": components["headers"]["X-Request-ID"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Template"];
                };
            };
        };
    };
    delete_templates_id: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The template's id, or its name; an archived template has only its id. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The archived template. */
            200: {
                headers: {
                    "X-Request-ID": components["headers"]["X-Request-ID"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Template"];
                };
            };
        };
    };
    patch_templates_id: {
        parameters: {
            query?: never;
            header?: {
                /** @description A version-4 UUID of your own for this request. Repeating the request with it is safe for 24 hours. */
                "Idempotency-Key"?: string;
            };
            path: {
                /** @description The template's id, or its name; an archived template has only its id. */
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["EditTemplate"];
            };
        };
        responses: {
            /** @description The template after the change. */
            200: {
                headers: {
                    "X-Request-ID": components["headers"]["X-Request-ID"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    "Idempotent-Replayed": components["headers"]["Idempotent-Replayed"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Template"];
                };
            };
        };
    };
    post_templates_id_preview: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The template's id, or its name; an archived template has only its id. */
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["PreviewTemplate"];
            };
        };
        responses: {
            /** @description The template filled in. */
            200: {
                headers: {
                    "X-Request-ID": components["headers"]["X-Request-ID"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TemplatePreview"];
                };
            };
        };
    };
    post_verifications: {
        parameters: {
            query?: never;
            header?: {
                /** @description A version-4 UUID of your own for this request. Repeating the request with it is safe for 24 hours. */
                "Idempotency-Key"?: string;
                /** @description The trace that the request belongs to, as W3C Trace Context says it. It is kept with the messages, and webhooks that tell of them carry it on. One that is malformed is ignored. */
                traceparent?: string;
                /** @description What tracing systems add to it: up to 512 characters, passed on as they are. */
                tracestate?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewVerification"];
            };
        };
        responses: {
            /** @description The code is on its way. */
            201: {
                headers: {
                    "X-Request-ID": components["headers"]["X-Request-ID"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    Location: components["headers"]["Location"];
                    "Idempotent-Replayed": components["headers"]["Idempotent-Replayed"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Verification"];
                };
            };
        };
    };
    post_verifications_id_check: {
        parameters: {
            query?: never;
            header?: {
                /** @description A version-4 UUID of your own for this request. Repeating the request with it is safe for 24 hours. */
                "Idempotency-Key"?: string;
            };
            path: {
                /** @description The verification's id. */
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["VerificationCheck"];
            };
        };
        responses: {
            /** @description The verification after the check. */
            200: {
                headers: {
                    "X-Request-ID": components["headers"]["X-Request-ID"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    "Idempotent-Replayed": components["headers"]["Idempotent-Replayed"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CheckedVerification"];
                };
            };
        };
    };
    post_verifications_id_cancel: {
        parameters: {
            query?: never;
            header?: {
                /** @description A version-4 UUID of your own for this request. Repeating the request with it is safe for 24 hours. */
                "Idempotency-Key"?: string;
            };
            path: {
                /** @description The verification's id. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The verification after the change. */
            200: {
                headers: {
                    "X-Request-ID": components["headers"]["X-Request-ID"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    "Idempotent-Replayed": components["headers"]["Idempotent-Replayed"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Verification"];
                };
            };
        };
    };
    get_verifications_id: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The verification's id. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The verification. */
            200: {
                headers: {
                    "X-Request-ID": components["headers"]["X-Request-ID"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Verification"];
                };
            };
        };
    };
    get_links: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The links of this environment. */
            200: {
                headers: {
                    "X-Request-ID": components["headers"]["X-Request-ID"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LinkList"];
                };
            };
        };
    };
    post_links: {
        parameters: {
            query?: never;
            header?: {
                /** @description A version-4 UUID of your own for this request. Repeating the request with it is safe for 24 hours. */
                "Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewLink"];
            };
        };
        responses: {
            /** @description Created. */
            201: {
                headers: {
                    "X-Request-ID": components["headers"]["X-Request-ID"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    Location: components["headers"]["Location"];
                    "Idempotent-Replayed": components["headers"]["Idempotent-Replayed"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Link"];
                };
            };
        };
    };
    get_links_id: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The link's id. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The link. */
            200: {
                headers: {
                    "X-Request-ID": components["headers"]["X-Request-ID"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Link"];
                };
            };
        };
    };
    delete_links_id: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The link's id. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Deleted. */
            200: {
                headers: {
                    "X-Request-ID": components["headers"]["X-Request-ID"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DeletedLink"];
                };
            };
        };
    };
    patch_links_id: {
        parameters: {
            query?: never;
            header?: {
                /** @description A version-4 UUID of your own for this request. Repeating the request with it is safe for 24 hours. */
                "Idempotency-Key"?: string;
            };
            path: {
                /** @description The link's id. */
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["EditLink"];
            };
        };
        responses: {
            /** @description The link after the change. */
            200: {
                headers: {
                    "X-Request-ID": components["headers"]["X-Request-ID"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    "Idempotent-Replayed": components["headers"]["Idempotent-Replayed"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Link"];
                };
            };
        };
    };
    post_links_id_test: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The link's id. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description What was found. */
            200: {
                headers: {
                    "X-Request-ID": components["headers"]["X-Request-ID"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LinkTest"];
                };
            };
        };
    };
    get_senders: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The senders. */
            200: {
                headers: {
                    "X-Request-ID": components["headers"]["X-Request-ID"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SenderList"];
                };
            };
        };
    };
    post_senders: {
        parameters: {
            query?: never;
            header?: {
                /** @description A version-4 UUID of your own for this request. Repeating the request with it is safe for 24 hours. */
                "Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewSender"];
            };
        };
        responses: {
            /** @description Created. */
            201: {
                headers: {
                    "X-Request-ID": components["headers"]["X-Request-ID"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    Location: components["headers"]["Location"];
                    "Idempotent-Replayed": components["headers"]["Idempotent-Replayed"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Sender"];
                };
            };
        };
    };
    get_senders_id: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The sender's id. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The sender. */
            200: {
                headers: {
                    "X-Request-ID": components["headers"]["X-Request-ID"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Sender"];
                };
            };
        };
    };
    delete_senders_id: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The sender's id. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Deleted. */
            200: {
                headers: {
                    "X-Request-ID": components["headers"]["X-Request-ID"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DeletedSender"];
                };
            };
        };
    };
    patch_senders_id: {
        parameters: {
            query?: never;
            header?: {
                /** @description A version-4 UUID of your own for this request. Repeating the request with it is safe for 24 hours. */
                "Idempotency-Key"?: string;
            };
            path: {
                /** @description The sender's id. */
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["EditSender"];
            };
        };
        responses: {
            /** @description The sender after the change. */
            200: {
                headers: {
                    "X-Request-ID": components["headers"]["X-Request-ID"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    "Idempotent-Replayed": components["headers"]["Idempotent-Replayed"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Sender"];
                };
            };
        };
    };
    get_routes: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The routes. */
            200: {
                headers: {
                    "X-Request-ID": components["headers"]["X-Request-ID"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RouteList"];
                };
            };
        };
    };
    post_routes: {
        parameters: {
            query?: never;
            header?: {
                /** @description A version-4 UUID of your own for this request. Repeating the request with it is safe for 24 hours. */
                "Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewRoute"];
            };
        };
        responses: {
            /** @description Created. */
            201: {
                headers: {
                    "X-Request-ID": components["headers"]["X-Request-ID"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    Location: components["headers"]["Location"];
                    "Idempotent-Replayed": components["headers"]["Idempotent-Replayed"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Route"];
                };
            };
        };
    };
    get_routes_id: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The route's id. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The route. */
            200: {
                headers: {
                    "X-Request-ID": components["headers"]["X-Request-ID"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Route"];
                };
            };
        };
    };
    delete_routes_id: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The route's id. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Deleted. */
            200: {
                headers: {
                    "X-Request-ID": components["headers"]["X-Request-ID"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DeletedRoute"];
                };
            };
        };
    };
    patch_routes_id: {
        parameters: {
            query?: never;
            header?: {
                /** @description A version-4 UUID of your own for this request. Repeating the request with it is safe for 24 hours. */
                "Idempotency-Key"?: string;
            };
            path: {
                /** @description The route's id. */
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["EditRoute"];
            };
        };
        responses: {
            /** @description The route after the change. */
            200: {
                headers: {
                    "X-Request-ID": components["headers"]["X-Request-ID"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    "Idempotent-Replayed": components["headers"]["Idempotent-Replayed"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Route"];
                };
            };
        };
    };
    get_usage: {
        parameters: {
            query?: {
                /** @description From the hour of this moment on, or from its minute. Default: the day 30 days before the end; by minute, an hour before it. */
                created_after?: string;
                /** @description Up to the end of the hour of this moment, or of its minute; a full hour, or minute, ends before itself. Default: now. */
                created_before?: string;
                /** @description What a row stands for. Default: day, in UTC. */
                interval?: "minute" | "hour" | "day";
                channel?: "sms" | "whatsapp";
                status?: "scheduled" | "queued" | "sending" | "sent" | "delivered" | "read" | "undelivered" | "failed" | "expired" | "canceled" | "received";
                error_code?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The counts. */
            200: {
                headers: {
                    "X-Request-ID": components["headers"]["X-Request-ID"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Usage"];
                };
            };
        };
    };
    get_queue: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The depth. */
            200: {
                headers: {
                    "X-Request-ID": components["headers"]["X-Request-ID"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Queue"];
                };
            };
        };
    };
    post_recipients_erase: {
        parameters: {
            query?: never;
            header?: {
                /** @description A version-4 UUID of your own for this request. Repeating the request with it is safe for 24 hours. */
                "Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @example +14155550123 */
                    recipient: string;
                };
            };
        };
        responses: {
            /** @description The erased records. */
            200: {
                headers: {
                    "X-Request-ID": components["headers"]["X-Request-ID"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    "Idempotent-Replayed": components["headers"]["Idempotent-Replayed"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Erasure"];
                };
            };
        };
    };
    post_recipients_export: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @example +14155550123 */
                    recipient: string;
                };
            };
        };
        responses: {
            /** @description The records, one in each line. */
            200: {
                headers: {
                    "X-Request-ID": components["headers"]["X-Request-ID"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    [name: string]: unknown;
                };
                content: {
                    "application/x-ndjson": string;
                };
            };
        };
    };
    get_audit_events: {
        parameters: {
            query?: {
                /** @description How many, 1 to 100. Default 25. */
                limit?: number;
                /** @description `next_cursor` of the page before. */
                cursor?: string;
                /** @description Only changes by this actor: the id of a key, or a type of actor. */
                actor?: string;
                /** @description Only this action, or `key.*` for all of a kind. */
                action?: string;
                /** @description Only changes of this target: its id, or a type of target. */
                target?: string;
                /** @description Only changes after this time. */
                created_after?: string;
                /** @description Only changes before this time. */
                created_before?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of audit events. */
            200: {
                headers: {
                    "X-Request-ID": components["headers"]["X-Request-ID"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AuditEventPage"];
                };
            };
        };
    };
    webhook_event: {
        parameters: {
            query?: never;
            header: {
                /** @description The event's id, the same on every try. */
                "webhook-id": string;
                /** @description When this try was made, in seconds since 1970. */
                "webhook-timestamp": string;
                /** @description `v1,` and base64 of HMAC-SHA256 over `id.timestamp.body`; two of them, separated by a space, while a secret is rotated. */
                "webhook-signature": string;
                /** @description The trace of the request that sent the message, with a span of this call's own. Only where that request named one, or the service records traces. */
                traceparent?: string;
                /** @description As that request had it. */
                tracestate?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Event"];
            };
        };
        responses: {
            /** @description Tell this endpoint nothing more: it is disabled. */
            410: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Acknowledged, within 15 seconds. */
            "2XX": {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Not acknowledged: tried again for days. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
}
