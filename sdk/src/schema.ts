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
         * @description Returns outbound and inbound messages, newest first. Filters can be combined. A filter that would have to read very many messages may return a short page with `has_more: true`: continue with `next_cursor`. See [List and search messages](/docs/sending#list-and-search-messages).
         *
         *     Required scope: `messages:read`.
         */
        get: operations["listMessages"];
        put?: never;
        /**
         * Send a message
         * @description Accepts a message for delivery and responds with 202 as soon as it is stored durably. The message is then sent in the background: follow its `status` with [webhooks](/docs/webhooks), the event stream or `GET /v1/messages/{id}`. Send an `Idempotency-Key`: a repeated request with the same key and body returns the first response for 24 hours, and the message is sent once. See [Send a message](/docs/sending).
         *
         *     Required scope: `messages:send`.
         */
        post: operations["sendMessage"];
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
         * @description Checks a message without sending it. The response contains the final text, its segments and encoding, every character that forces UCS-2, the link and sender that would be used, and all faults. Use it while a person writes a text, or to find out why a message is refused. A message with faults is still a 200 response, with `valid: false`. See [Validate a message](/docs/sending#validate-a-message-without-sending).
         *
         *     Required scope: `messages:send`.
         */
        post: operations["validateMessage"];
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
         * Retrieve a message
         * @description Returns a message with its current status. To be informed about changes without polling, use [webhooks](/docs/webhooks) or the event stream. See [Message statuses](/docs/states).
         *
         *     Required scope: `messages:read`.
         */
        get: operations["getMessage"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        /**
         * Edit a scheduled message
         * @description Changes the given fields of a message that is `scheduled`; fields that are absent or null stay unchanged. `ttl_seconds` counts from `send_at`. A message that is already queued or sent is refused with `message_not_editable`. Send an `Idempotency-Key`, so that you can repeat the request safely. See [Edit a scheduled message](/docs/sending#edit-a-scheduled-message).
         *
         *     Required scope: `messages:send`.
         */
        patch: operations["editMessage"];
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
         * @description Cancels a message that is `scheduled` or `queued`. A message that is `sending` may already have left, and is refused with `message_not_cancelable`. Send an `Idempotency-Key`, so that you can repeat the request safely. See [Cancel a message](/docs/sending#cancel-a-message).
         *
         *     Required scope: `messages:send`.
         */
        post: operations["cancelMessage"];
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
         * @description Removes the text, the template variables and the metadata of a message with a final status, also from its events and from the responses that are stored for idempotency keys. Data that was already sent to webhook endpoints is not affected. Send an `Idempotency-Key`, so that you can repeat the request safely. To remove all data of a person, use `POST /v1/recipients/erase`. See [Redact a message](/docs/sending#redact-a-message).
         *
         *     Required scope: `messages:send`.
         */
        post: operations["redactMessage"];
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
         * List the timeline of a message
         * @description Returns the history of one message, newest first: its events with their causes, the attempts to submit it, and the signals of carriers that changed nothing (`ignored`). Use it to find out why a message has its status. See [Message statuses](/docs/states).
         *
         *     Required scope: `messages:read`.
         */
        get: operations["listMessageEvents"];
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
         * List the parts of a message
         * @description Returns the transmitted parts of an SMS in order, each with its carrier id and its status. There is one part for a message that was transmitted whole, or that the carrier splits itself. The list is empty before a carrier has accepted the message, for inbound messages, and on channels without parts. See [Parts](/docs/states#parts).
         *
         *     Required scope: `messages:read`.
         */
        get: operations["listMessageParts"];
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
        /**
         * List batches
         * @description Returns the batches of the environment, newest first, each with the number of its messages in each status. Filters can be combined. See [Follow a batch](/docs/batches#follow-a-batch).
         *
         *     Required scope: `messages:read`.
         */
        get: operations["listBatches"];
        put?: never;
        /**
         * Send a batch of messages
         * @description Accepts up to 1,000 messages in one request, all in one transaction. `defaults` contains the fields that the messages share, and each item the fields of its own. An invalid item is refused without the others: `results` has one entry for each item. A fault in `defaults` refuses the whole request. One idempotency key covers the whole batch, and every 50 items cost one request of the quota. See [Batches](/docs/batches).
         *
         *     Required scope: `messages:send`.
         */
        post: operations["sendBatch"];
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
         * Retrieve a batch
         * @description Returns a batch with the number of its messages in each status. The event `batch.completed` reports when all its messages have a final status. `GET /v1/messages?batch_id=…` lists the messages. See [Follow a batch](/docs/batches#follow-a-batch).
         *
         *     Required scope: `messages:read`.
         */
        get: operations["getBatch"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/media": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List media
         * @description Returns the files of the environment, uploaded, fetched and received, newest first. Filters can be combined. See [Media](/docs/media).
         *
         *     Required scope: `media:read`.
         */
        get: operations["listMedia"];
        put?: never;
        /**
         * Upload a file
         * @description Stores a file, to send it with messages. The body is the file itself, and its type is found by its content: `Content-Type` is only a hint. A JSON body names a URL instead, from which the service fetches the file. Send an `Idempotency-Key`, so that you can repeat the request safely. See [Media](/docs/media).
         *
         *     Required scope: `media:write`.
         */
        post: operations["createMedia"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/media/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Retrieve media
         * @description Returns what is known of a file: its type, its size and its source. See [Media](/docs/media).
         *
         *     Required scope: `media:read`.
         */
        get: operations["getMedia"];
        put?: never;
        post?: never;
        /**
         * Delete media
         * @description Deletes a file. Messages that were sent with it keep its id, and messages that are still to be sent with it fail. See [Media](/docs/media).
         *
         *     Required scope: `media:write`.
         */
        delete: operations["deleteMedia"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/media/{id}/content": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Download a file
         * @description Returns the bytes of a file. A picture, recording or video has its type; documents come as a download. Texts of any kind, such as HTML and SVG, come as plain text. See [Media](/docs/media).
         *
         *     Required scope: `media:read`.
         */
        get: operations["getMediaContent"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
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
         * @description Returns the templates of the environment, newest first. Archived templates are listed only with `status=archived`. Filters can be combined. A filter that would have to read very many archived templates may return a short page with `has_more: true`: continue with `next_cursor`. See [Templates](/docs/templates).
         *
         *     Required scope: `templates:read`.
         */
        get: operations["listTemplates"];
        put?: never;
        /**
         * Create a template
         * @description Creates a text with variables and submits it for review, unless `status` is `draft`. A template for sms only is approved at once. A template for whatsapp is reviewed by the carrier; in `test` the simulator reviews it at once, and a name that begins with `simulate_rejected`, `simulate_paused` or `simulate_pending` gets that status. Send an `Idempotency-Key`, so that you can repeat the request safely. See [Templates](/docs/templates).
         *
         *     Required scope: `templates:write`.
         */
        post: operations["createTemplate"];
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
         * Retrieve a template
         * @description Returns a template by its id or its name, with its current status and version. An archived template can be retrieved only by its id. See [Templates](/docs/templates).
         *
         *     Required scope: `templates:read`.
         */
        get: operations["getTemplate"];
        put?: never;
        post?: never;
        /**
         * Archive a template
         * @description Archives a template: it can no longer be sent or changed, and its name becomes free. Its record can still be retrieved by id, and messages that were already sent keep their text. Archiving it again changes nothing. See [Templates](/docs/templates).
         *
         *     Required scope: `templates:write`.
         */
        delete: operations["archiveTemplate"];
        options?: never;
        head?: never;
        /**
         * Update a template
         * @description Changes the given fields; fields that are absent or null stay unchanged. A change of body, header, footer, buttons or examples creates a new version, which is reviewed again. A draft stays a draft until it is submitted with `status: pending`. Messages keep the version that they used. Send an `Idempotency-Key`, so that you can repeat the request safely. See [Status and versions](/docs/templates#status-and-versions).
         *
         *     Required scope: `templates:write`.
         */
        patch: operations["updateTemplate"];
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
         * @description Returns the text that would be sent, whatever the status of the template. Without `template_variables` the examples of the template are used. Nothing is sent or stored. See [Templates](/docs/templates).
         *
         *     Required scope: `templates:read`.
         */
        post: operations["previewTemplate"];
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
        /**
         * List verifications
         * @description Returns the verifications of the environment, newest first. Filters can be combined. A filter that would have to read very many verifications may return a short page with `has_more: true`: continue with `next_cursor`. See [Verifications](/docs/verifications).
         *
         *     Required scope: `verifications:read`.
         */
        get: operations["listVerifications"];
        put?: never;
        /**
         * Send a verification code
         * @description Creates a one-time code and sends it to a recipient, on the first channel and, if it is not delivered in time, on the next one. The code is never shown: the record of its message masks it, and only a keyed hash is stored. A new verification replaces the pending one of the same recipient. In `test` the code is always the first digits of 1234567890. Send an `Idempotency-Key`, so that a repeated request sends no second code. See [Verifications](/docs/verifications).
         *
         *     Required scope: `verifications:write`.
         */
        post: operations["sendVerification"];
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
         * Check a verification code
         * @description Compares the code that a person entered with the one that was sent. `valid` is the result. The right code approves the verification, which can happen once; the fifth wrong code ends it with `failed`. A verification that is not pending is refused with `verification_not_pending`. Send an `Idempotency-Key`, so that a repeated request is not counted as another attempt. See [Check a code](/docs/verifications#check-a-code).
         *
         *     Required scope: `verifications:write`.
         */
        post: operations["checkVerification"];
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
         * @description Ends a pending verification: its code is no longer valid, and no further channel is used. A message that was already submitted may still arrive. Send an `Idempotency-Key`, so that you can repeat the request safely. See [Verifications](/docs/verifications).
         *
         *     Required scope: `verifications:write`.
         */
        post: operations["cancelVerification"];
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
         * Retrieve a verification
         * @description Returns a verification with its current status. Use it to show how many attempts are left; a code is checked with `POST /v1/verifications/{id}/check`. See [Verifications](/docs/verifications).
         *
         *     Required scope: `verifications:read`.
         */
        get: operations["getVerification"];
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
         * @description Returns the events of the environment, newest first. Filters can be combined. Use the list to look up past events, and [webhooks](/docs/webhooks) or the event stream to receive new ones. A filter that would have to read very many events may return a short page with `has_more: true`: continue with `next_cursor`.
         *
         *     Required scope: `events:read`.
         */
        get: operations["listEvents"];
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
         * Stream events
         * @description Returns events as they happen, as Server-Sent Events: `id` is the id of the event, `event` its type, and `data` the event. Use it if you cannot expose a URL for webhooks. To continue after a lost connection, send the last id that you received as `Last-Event-ID`: the stream then continues without a gap, in the order of the commits. The first frame has an id but no event; lines that begin with a colon keep the connection open. See [Webhooks](/docs/webhooks).
         *
         *     Required scope: `events:read`.
         */
        get: operations["streamEvents"];
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
         * Retrieve an event
         * @description Returns an event as it was delivered. Data that was redacted or erased since then is missing. See [Events](/docs/webhooks#events).
         *
         *     Required scope: `events:read`.
         */
        get: operations["getEvent"];
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
         * List webhook endpoints
         * @description Returns the webhook endpoints of the environment, newest first, without their secrets. `failing_since` shows which of them fail. See [Webhooks](/docs/webhooks).
         *
         *     Required scope: `webhooks:read`.
         */
        get: operations["listWebhookEndpoints"];
        put?: never;
        /**
         * Create a webhook endpoint
         * @description Registers a URL that receives events from now on, signed according to Standard Webhooks 1.0. The response contains the secret for verifying signatures, and only this response does: store it. Send an `Idempotency-Key`: a repeated request with the same key returns the same response, with the secret, for 24 hours. To receive events on your own machine, use [`godwit listen`](/docs/webhooks#develop-on-your-machine). See [Webhooks](/docs/webhooks).
         *
         *     Required scope: `webhooks:write`.
         */
        post: operations["createWebhookEndpoint"];
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
         * Retrieve a webhook endpoint
         * @description Returns a webhook endpoint with its current status, without its secret. See [Webhooks](/docs/webhooks).
         *
         *     Required scope: `webhooks:read`.
         */
        get: operations["getWebhookEndpoint"];
        put?: never;
        post?: never;
        /**
         * Delete a webhook endpoint
         * @description Deletes a webhook endpoint together with the records of its deliveries. It receives no further events. To stop deliveries for a while, update it with `status: disabled` instead. See [Webhooks](/docs/webhooks).
         *
         *     Required scope: `webhooks:write`.
         */
        delete: operations["deleteWebhookEndpoint"];
        options?: never;
        head?: never;
        /**
         * Update a webhook endpoint
         * @description Changes the given fields; fields that are absent or null stay unchanged. A disabled endpoint receives nothing, and its waiting deliveries are dropped. After you enable it again, `POST /v1/webhook_endpoints/{id}/recover` delivers the events that it missed. Send an `Idempotency-Key`, so that you can repeat the request safely. See [Webhooks](/docs/webhooks).
         *
         *     Required scope: `webhooks:write`.
         */
        patch: operations["updateWebhookEndpoint"];
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
         * Rotate the secret of a webhook endpoint
         * @description Creates a new secret. Only this response contains it. For 24 hours, deliveries are signed with both secrets, so that you can change your endpoint without losing an event. Send an `Idempotency-Key`, so that a repeated request returns the same secret. See [Rotate a secret](/docs/webhooks#rotate-a-secret).
         *
         *     Required scope: `webhooks:write`.
         */
        post: operations["rotateWebhookEndpointSecret"];
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
         * @description Sends an event of the type `webhook.test` to this endpoint, whatever types it subscribes to. Use it to check the URL and the verification of signatures. The deliveries of the endpoint show the outcome. Send an `Idempotency-Key`, so that a repeated request sends no second event. See [Webhooks](/docs/webhooks).
         *
         *     Required scope: `webhooks:write`.
         */
        post: operations["testWebhookEndpoint"];
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
         * List the deliveries of a webhook endpoint
         * @description Returns the deliveries of an endpoint with all their attempts, newest event first. A delivery appears after its first attempt. A filter that would have to read very many deliveries may return a short page with `has_more: true`: continue with `next_cursor`. See [Webhooks](/docs/webhooks).
         *
         *     Required scope: `webhooks:read`.
         */
        get: operations["listWebhookDeliveries"];
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
         * Retrieve a delivery
         * @description Returns the delivery of one event to this endpoint, with all its attempts and responses. Use it to find out why an event did not arrive. See [Webhooks](/docs/webhooks).
         *
         *     Required scope: `webhooks:read`.
         */
        get: operations["getWebhookDelivery"];
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
         * @description Starts another attempt of a delivery now, whatever its status. Use it after you have corrected your endpoint; for many deliveries, use `POST /v1/webhook_endpoints/{id}/recover`. Send an `Idempotency-Key`, so that a repeated request starts no second attempt. See [Webhooks](/docs/webhooks).
         *
         *     Required scope: `webhooks:write`.
         */
        post: operations["retryWebhookDelivery"];
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
         * Recover missed events
         * @description Delivers again every event since the given time that the endpoint subscribes to and has not acknowledged: failed deliveries, and events from a time when it was disabled or did not exist. `recovery` of the endpoint shows the progress. Send an `Idempotency-Key`, so that you can repeat the request safely. See [Webhooks](/docs/webhooks).
         *
         *     Required scope: `webhooks:write`.
         */
        post: operations["recoverWebhookEndpoint"];
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
         * List the deliveries of an event
         * @description Returns the webhook deliveries of one event, one for each endpoint with at least one attempt, all on one page. Use it to find out whether your endpoints received an event. See [Webhooks](/docs/webhooks).
         *
         *     Required scope: `webhooks:read`.
         */
        get: operations["listEventDeliveries"];
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
         * @description Returns the suppressions of the environment, newest first by the time of the first opt-out. Without `status`, only active ones are listed. Filters can be combined. A filter that would have to read very many suppressions may return a short page with `has_more: true`: continue with `next_cursor`. See [Manage suppressions](/docs/consent#manage-suppressions).
         *
         *     Required scope: `suppressions:read`.
         */
        get: operations["listSuppressions"];
        put?: never;
        /**
         * Suppress a recipient
         * @description Records an opt-out: from now on, no message is sent to the recipient from this sender, or from any sender, on any channel. The response is 201 if the suppression is new or active again, and 200 with the unchanged record if it was already active. `in_flight` is the number of messages that were `sending` and cannot be stopped. Send an `Idempotency-Key`, so that you can repeat the request safely. See [Consent](/docs/consent).
         *
         *     Required scope: `suppressions:write`.
         */
        post: operations["createSuppression"];
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
         * @description Records up to 1,000 opt-outs in one transaction: all of them, or none if an entry has a fault. Use it to bring opt-outs from another service. The faults of all entries are reported together, up to 100 of a kind. Of several entries for the same recipient and sender the first one counts. Every 50 entries cost one request of the quota. Send an `Idempotency-Key`, so that you can repeat the request safely. See [Manage suppressions](/docs/consent#manage-suppressions).
         *
         *     Required scope: `suppressions:write`.
         */
        post: operations["importSuppressions"];
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
         * Retrieve a suppression
         * @description Returns a suppression with its current status and the reason of its last change. See [Manage suppressions](/docs/consent#manage-suppressions).
         *
         *     Required scope: `suppressions:read`.
         */
        get: operations["getSuppression"];
        put?: never;
        post?: never;
        /**
         * Lift a suppression
         * @description Permits messages to the recipient again, unless another suppression applies. The record and its history are kept, and the same record becomes active again after another opt-out. Lifting it again changes nothing. Lift a suppression only if the person has agreed. See [Opt in again](/docs/consent#opt-in-again).
         *
         *     Required scope: `suppressions:write`.
         */
        delete: operations["liftSuppression"];
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
         * List the history of a suppression
         * @description Returns every change of a suppression with its reason, newest first: when it became active, and when it was lifted. Use it as evidence of consent. See [Manage suppressions](/docs/consent#manage-suppressions).
         *
         *     Required scope: `suppressions:read`.
         */
        get: operations["listSuppressionHistory"];
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
         * Retrieve the consent settings
         * @description Returns the opt-out words and the automatic replies of this environment. A setting that you have not changed comes from the configuration file of the operator, or is built in. See [Consent](/docs/consent).
         *
         *     Required scope: `suppressions:read`.
         */
        get: operations["getConsentSettings"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        /**
         * Update the consent settings
         * @description Replaces the given settings; settings that are absent or null stay unchanged. The English opt-out words cannot be removed, and a word can be in one list only. The new settings apply to inbound messages that arrive after the response. Send an `Idempotency-Key`, so that you can repeat the request safely. See [Automatic replies](/docs/inbound#automatic-replies).
         *
         *     Required scope: `suppressions:write`.
         */
        patch: operations["updateConsentSettings"];
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
         * Erase the data of a person
         * @description Removes the number, texts, metadata, references and template variables of a person from all records of this environment. The records themselves and the counts of usage stay. Scheduled and queued messages are canceled; messages that are with a carrier are counted as `unfinished`. Opt-outs stay in effect. One request erases up to 2,000 messages: repeat it with a new idempotency key while `has_more` is true. See [Erasure](/docs/recipients#erasure).
         *
         *     Required scope: `recipients:erase`.
         */
        post: operations["eraseRecipient"];
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
         * Export the data of a person
         * @description Returns every record of this environment that contains the person, one JSON object on each line (`application/x-ndjson`): messages with their timelines, suppressions with their history, service windows and verifications. The last line has the object `export_end` and the counts of all others; an export without it is incomplete. The response is not stored for an idempotency key. See [Export](/docs/recipients#export).
         *
         *     Required scope: `recipients:read`.
         */
        post: operations["exportRecipient"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
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
         * Retrieve usage
         * @description Returns the number of messages and segments by minute, hour or day of their creation, and by their current status. Use it for reports and billing. `media` has the bytes of the stored files. The range is in whole hours, and covers at most 400 days by day and 31 days by hour. By minute it is in whole minutes of the last 24 hours. A response has at most 10,000 rows; a range that needs more is refused with 400. See [Usage](/docs/usage).
         *
         *     Required scope: `usage:read`.
         */
        get: operations["getUsage"];
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
         * Retrieve the depth of the queue
         * @description Returns how many messages of this environment are waiting or being sent, and how long the oldest one has been due. Use it to see whether messages are delayed. See [Usage](/docs/usage#get-v1queue).
         *
         *     Required scope: `usage:read`.
         */
        get: operations["getQueue"];
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
         * @description Returns the links of the account and those of the operator, each with its state within the last seconds. The list is not paged. `test` has only the simulator. See [Connect carriers](/docs/links).
         *
         *     Required scope: `links:read`.
         */
        get: operations["listLinks"];
        put?: never;
        /**
         * Create a link
         * @description Connects the account to a carrier, in `live`. All nodes open the connection within seconds; check it with `POST /v1/links/{id}/test`. A host must use TLS and be on the public internet, unless the operator allows its network. Secrets are stored encrypted and never returned. Send an `Idempotency-Key`, so that you can repeat the request safely. See [Links of an account](/docs/links#links-of-an-account).
         *
         *     Required scope: `links:write`.
         */
        post: operations["createLink"];
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
         * Retrieve a link
         * @description Returns a link with its current state and its settings, without its secrets. See [States of a link](/docs/links#states-of-a-link).
         *
         *     Required scope: `links:read`.
         */
        get: operations["getLink"];
        put?: never;
        post?: never;
        /**
         * Delete a link
         * @description Closes the connection and deletes the link together with its senders. Messages that wait for the link use another link, or expire. A link that a route uses is refused with `link_in_use`. See [Links of an account](/docs/links#links-of-an-account).
         *
         *     Required scope: `links:write`.
         */
        delete: operations["deleteLink"];
        options?: never;
        head?: never;
        /**
         * Update a link
         * @description Changes the given fields. In `settings`, each given member replaces its previous value, and null removes it. Secrets that are not given stay, unless the address changes: then they are required again. The connection of this link is opened again. Send an `Idempotency-Key`, so that you can repeat the request safely. See [Links of an account](/docs/links#links-of-an-account).
         *
         *     Required scope: `links:write`.
         */
        patch: operations["updateLink"];
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
         * @description Connects to the carrier and signs in, without sending a message, and reports the step that failed. A link that is connected is not connected a second time. An account can test its links a few times per minute. See [Links of an account](/docs/links#links-of-an-account).
         *
         *     Required scope: `links:write`.
         */
        post: operations["testLink"];
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
         * @description Returns the numbers, short codes and names from which the account sends, in `live`. The list is not paged. See [Senders](/docs/routing#senders).
         *
         *     Required scope: `links:read`.
         */
        get: operations["listSenders"];
        put?: never;
        /**
         * Create a sender
         * @description Adds a number, a short code or a name to a link of the account. A message without a `sender` uses one of these. Send an `Idempotency-Key`, so that you can repeat the request safely. See [Senders](/docs/routing#senders).
         *
         *     Required scope: `links:write`.
         */
        post: operations["createSender"];
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
         * Retrieve a sender
         * @description Returns one sender with its link and its rules. See [Senders](/docs/routing#senders).
         *
         *     Required scope: `links:read`.
         */
        get: operations["getSender"];
        put?: never;
        post?: never;
        /**
         * Delete a sender
         * @description Deletes a sender: new messages are not sent from it. Messages that were already accepted keep it. See [Senders](/docs/routing#senders).
         *
         *     Required scope: `links:write`.
         */
        delete: operations["deleteSender"];
        options?: never;
        head?: never;
        /**
         * Update a sender
         * @description Changes the given fields; null removes a value. Messages that were already accepted keep their sender. Send an `Idempotency-Key`, so that you can repeat the request safely. See [Senders](/docs/routing#senders).
         *
         *     Required scope: `links:write`.
         */
        patch: operations["updateSender"];
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
         * @description Returns the routes of the account, and those of the operator that apply to it, in `live`. The list is not paged. See [Routes](/docs/routing#routes).
         *
         *     Required scope: `links:read`.
         */
        get: operations["listRoutes"];
        put?: never;
        /**
         * Create a route
         * @description Selects the links for the messages of a channel, by the country or the prefix of the recipient. Without routes, the links of the account are used in the order of their creation. Send an `Idempotency-Key`, so that you can repeat the request safely. See [Routes](/docs/routing#routes).
         *
         *     Required scope: `links:write`.
         */
        post: operations["createRoute"];
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
         * Retrieve a route
         * @description Returns one route with its links and its rules. See [Routes](/docs/routing#routes).
         *
         *     Required scope: `links:read`.
         */
        get: operations["getRoute"];
        put?: never;
        post?: never;
        /**
         * Delete a route
         * @description Deletes a route: new messages do not use it. Messages that were already accepted keep their link. See [Routes](/docs/routing#routes).
         *
         *     Required scope: `links:write`.
         */
        delete: operations["deleteRoute"];
        options?: never;
        head?: never;
        /**
         * Update a route
         * @description Changes the given fields; null removes a value. Messages that were already accepted keep their link. Send an `Idempotency-Key`, so that you can repeat the request safely. See [Routes](/docs/routing#routes).
         *
         *     Required scope: `links:write`.
         */
        patch: operations["updateRoute"];
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
         * List API keys
         * @description Returns the keys of this environment, newest first, including revoked and expired ones. The keys themselves are not shown. See [Authentication and API keys](/docs/access).
         *
         *     Required scope: `keys:read`.
         */
        get: operations["listKeys"];
        put?: never;
        /**
         * Create an API key
         * @description Creates an API key for this environment. A credential can grant only scopes that it has itself. The response contains the key, and only this response does: store it. Send an `Idempotency-Key`: a repeated request with the same key returns the same response for 24 hours. See [Create a key](/docs/access#create-a-key).
         *
         *     Required scope: `keys:write`.
         */
        post: operations["createKey"];
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
         * Retrieve an API key
         * @description Returns the record of a key: its scopes, its expiry and its last use. The key itself is not shown. See [Authentication and API keys](/docs/access).
         *
         *     Required scope: `keys:read`.
         */
        get: operations["getKey"];
        put?: never;
        post?: never;
        /**
         * Revoke an API key
         * @description Revokes a key: within a second it stops working, together with every access token that was created with it. Its record stays in the list. Revoking it again changes nothing. See [Revoke a key](/docs/access#revoke-a-key).
         *
         *     Required scope: `keys:write`.
         */
        delete: operations["revokeKey"];
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
         * Rotate an API key
         * @description Creates a new key with the scopes, the name and the expiry of the old one, which stays valid for the overlap. Only this response contains the new key. Send an `Idempotency-Key`, so that a repeated request returns the same key. See [Rotate a key without downtime](/docs/access#rotate-a-key-without-downtime).
         *
         *     Required scope: `keys:write`.
         */
        post: operations["rotateKey"];
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
         * Retrieve the current credential
         * @description Returns the API key or access token of this request: its account, environment, scopes, tier and expiry. Use it to check a credential or to show which environment it belongs to. See [Authentication and API keys](/docs/access).
         *
         *     No scope is required: any valid credential may call this operation.
         */
        get: operations["getCredential"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/compatible_credentials": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List credentials of compatible APIs
         * @description Returns the credentials of compatible APIs in this environment, newest first, including revoked ones. Their passwords are not shown. See [Move from Kannel](/docs/migrate-from-kannel).
         *
         *     Required scope: `keys:read`.
         */
        get: operations["listCompatibleCredentials"];
        put?: never;
        /**
         * Create a credential of a compatible API
         * @description Creates a user name and a password with which a client of another product can send through this environment. The response contains the password, and only this response does: store it. Send an `Idempotency-Key`: a repeated request with the same key returns the same response for 24 hours. See [Move from Kannel](/docs/migrate-from-kannel).
         *
         *     Required scope: `keys:write`.
         */
        post: operations["createCompatibleCredential"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/compatible_credentials/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Retrieve a credential of a compatible API
         * @description Returns a credential: its user name, its settings and its last use. The password is not shown. See [Move from Kannel](/docs/migrate-from-kannel).
         *
         *     Required scope: `keys:read`.
         */
        get: operations["getCompatibleCredential"];
        put?: never;
        post?: never;
        /**
         * Revoke a credential of a compatible API
         * @description Revokes a credential: within a second it stops working, and its client gets no more inbound messages. The outcomes of messages that it has sent are still reported. Revoking it again changes nothing. See [Move from Kannel](/docs/migrate-from-kannel).
         *
         *     Required scope: `keys:write`.
         */
        delete: operations["revokeCompatibleCredential"];
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
         * @description Returns the changes in this environment and in the account as a whole, newest first, each with the actor, the action and the target. An entry is written in the transaction of its change and cannot be altered. Filters can be combined. See [Audit log](/docs/audit).
         *
         *     Required scope: `audit:read`.
         */
        get: operations["listAuditEvents"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/requests": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List requests
         * @description Returns the API requests of the last seven days in this environment, newest first. Filters can be combined. A request appears about a second after its response, and a busy environment has a sample of its requests in the log. Recipients, texts and other values are masked. See [Request log](/docs/http#request-log).
         *
         *     Required scope: `audit:read`.
         */
        get: operations["listRequests"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/requests/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Retrieve a request
         * @description Returns a request of the last seven days by its id, which every response has in the header `X-Request-Id`. See [Request log](/docs/http#request-log).
         *
         *     Required scope: `audit:read`.
         */
        get: operations["getRequest"];
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
         * Receive an event
         * @description Godwit sends each event to every enabled endpoint that subscribes to its type. The request is signed according to Standard Webhooks 1.0: verify the signature before you use the body. Deliveries arrive at least once and in no particular order, so ignore a `webhook-id` that you have already processed. See [Webhooks](/docs/webhooks).
         */
        post: operations["receiveEvent"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
}
export interface components {
    schemas: {
        /** @description A message to send. Exactly one of `body`, `template_id` and `content` is required. */
        NewMessage: {
            /**
             * @description The phone number of the recipient in E.164 format. On whatsapp also a business-scoped user id, such as `US.13491208655302741918`.
             * @example +14155550123
             */
            recipient: string;
            /**
             * @description The channel on which the message is sent.
             * @enum {string}
             */
            channel: "sms" | "whatsapp";
            /** @description The text. Up to 1,600 characters on sms, and 4,096 on whatsapp. */
            body?: string | null;
            /** @description The id or the name of a template, in place of `body`. */
            template_id?: string | null;
            /** @description The values of the variables of the template, by name. All variables are required. */
            template_variables?: {
                [key: string]: string;
            } | null;
            /** @description The content, in place of `body` and `template_id`. See [Content](/docs/content). */
            content?: components["schemas"]["NewContent"] | null;
            /** @description The id of an earlier message of the same conversation, which this one quotes. On whatsapp only. */
            reply_to?: string | null;
            /** @description The sender: an E.164 number, a short code, or a name of up to 11 characters. Absent: the route chooses one. */
            sender?: string | null;
            /**
             * Format: date-time
             * @description The time at which to send the message, up to 35 days ahead. Absent, or a time within the last 24 hours: at once.
             */
            send_at?: string | Date | null;
            /** @description The time to live: the message is not submitted after that many seconds. Default: 172,800 (48 hours). */
            ttl_seconds?: number | null;
            /** @description `high` for codes, `bulk` for campaigns. Default: `normal`. */
            priority?: ("high" | "normal" | "bulk") | null;
            /** @description Your own reference, such as an order number. Lists can be filtered by it. It need not be unique. */
            client_reference?: string | null;
            /** @description Your own keys and values, which are returned with the message: up to 50 keys of up to 40 characters, with values of up to 500. */
            metadata?: {
                [key: string]: string;
            } | null;
            /** @description Messages that are sent one after the other if this one is not delivered. Each is a message of its own, with `fallback_of`. See [Fallback](/docs/fallback). */
            fallback?: components["schemas"]["FallbackStep"][] | null;
            /** @description The maximum number of segments. A longer text is refused. */
            max_segments?: number | null;
            /** @description Options of one provider, such as `dlt_template_id` on an SMPP link. They are checked for the link that the message uses. See [Options of a message](/docs/links#options-of-a-message). */
            carrier_options?: {
                [key: string]: unknown;
            } | null;
        };
        /** @description The content, in place of `body` and `template_id`. See [Content](/docs/content). */
        NewContent: components["schemas"]["NewTextContent"] | components["schemas"]["NewMediaContent"] | components["schemas"]["NewButtonsContent"] | components["schemas"]["NewListContent"] | components["schemas"]["NewLocationContent"] | components["schemas"]["NewContactsContent"] | components["schemas"]["NewReactionContent"] | components["schemas"]["NewTemplateContent"];
        /** @description A text. The same as `body`. */
        NewTextContent: {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            type: "text";
            /** @description The text. */
            text: string;
        };
        /** @description A picture, recording, video, document or sticker. Exactly one of `media_id` and `url` is required. */
        NewMediaContent: {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            type: "media";
            /**
             * @description How the file is shown: a picture can be sent as an `image` or as a `document`.
             * @enum {string}
             */
            kind: "image" | "audio" | "video" | "document" | "sticker";
            /** @description The id of a file: see `POST /v1/media`. */
            media_id?: string | null;
            /** @description The public URL of a file, in place of `media_id`. The service fetches and stores it before it accepts the message. */
            url?: string | null;
            /** @description The name that the recipient sees, for a document. */
            file_name?: string | null;
            /** @description The text below the file. */
            caption?: string | null;
        };
        /** @description A text with up to three quick replies, or with one button that opens a page. */
        NewButtonsContent: {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            type: "buttons";
            /** @description The text. */
            text: string;
            /** @description A text or a file above the text. */
            header?: components["schemas"]["NewContentHeader"] | null;
            /** @description The small text below. */
            footer?: string | null;
            /** @description The buttons. */
            buttons: components["schemas"]["NewContentButton"][];
        };
        /** @description A text or a file above the text. */
        NewContentHeader: components["schemas"]["NewTextHeader"] | components["schemas"]["NewMediaHeader"];
        /** @description A text. */
        NewTextHeader: {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            type: "text";
            /** @description The text. */
            text: string;
        };
        /** @description A picture, video or document. */
        NewMediaHeader: {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            type: "media";
            /**
             * @description How the file is shown: a picture can be sent as an `image` or as a `document`.
             * @enum {string}
             */
            kind: "image" | "audio" | "video" | "document" | "sticker";
            /** @description The id of a file: see `POST /v1/media`. */
            media_id?: string | null;
            /** @description The public URL of a file, in place of `media_id`. The service fetches and stores it before it accepts the message. */
            url?: string | null;
            /** @description The name that the recipient sees, for a document. */
            file_name?: string | null;
        };
        /** @description A button. */
        NewContentButton: components["schemas"]["NewReplyButton"] | components["schemas"]["NewUrlButton"] | components["schemas"]["NewPhoneButton"];
        /** @description A quick reply. */
        NewReplyButton: {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            type: "reply";
            /** @description The id, which the reply of the person names. */
            id: string;
            /** @description The label. */
            title: string;
        };
        /** @description Opens a page. */
        NewUrlButton: {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            type: "url";
            /** @description The label. */
            title: string;
            /** @description The page. */
            url: string;
        };
        /** @description Calls a number. */
        NewPhoneButton: {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            type: "phone";
            /** @description The label. */
            title: string;
            /** @description The number. */
            phone_number: string;
        };
        /** @description A text with a list of up to ten rows to choose from. */
        NewListContent: {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            type: "list";
            /** @description The text. */
            text: string;
            /** @description The text above. */
            header?: string | null;
            /** @description The small text below. */
            footer?: string | null;
            /** @description The label of the button that opens the list. */
            button: string;
            /** @description The sections. */
            sections: {
                /** @description The title of the section. Required if there are several. */
                title?: string | null;
                /** @description The rows. */
                rows: {
                    /** @description The id, which the reply of the person names. */
                    id: string;
                    /** @description The title. */
                    title: string;
                    /** @description The second line. */
                    description?: string | null;
                }[];
            }[];
        };
        /** @description A place. */
        NewLocationContent: {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            type: "location";
            /** @description The latitude in degrees. */
            latitude: number;
            /** @description The longitude in degrees. */
            longitude: number;
            /** @description The name of the place. */
            name?: string | null;
            /** @description The address of the place. */
            address?: string | null;
        };
        /** @description People, as an address book has them. */
        NewContactsContent: {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            type: "contacts";
            /** @description The people. */
            contacts: components["schemas"]["NewContact"][];
        };
        /** @description A person as an address book has them. */
        NewContact: {
            /** @description The name. */
            name: {
                /** @description The whole name. */
                formatted_name: string;
                /** @description The first name. */
                first_name?: string | null;
                /** @description The last name. */
                last_name?: string | null;
                /** @description The middle name. */
                middle_name?: string | null;
                /** @description The title before the name. */
                prefix?: string | null;
                /** @description The part after the name. */
                suffix?: string | null;
            };
            /** @description The phone numbers. */
            phones?: {
                /** @description The number. */
                phone: string;
                /** @description Such as `WORK`. */
                type?: string | null;
                /** @description The WhatsApp id of the number. */
                wa_id?: string | null;
            }[] | null;
            /** @description The email addresses. */
            emails?: {
                /** @description The address. */
                email: string;
                /** @description Such as `WORK`. */
                type?: string | null;
            }[] | null;
            /** @description The pages on the web. */
            urls?: {
                /** @description The address of the page. */
                url: string;
                /** @description Such as `WORK`. */
                type?: string | null;
            }[] | null;
            /** @description The postal addresses. */
            addresses?: {
                /** @description The street. */
                street?: string | null;
                /** @description The city. */
                city?: string | null;
                /** @description The state. */
                state?: string | null;
                /** @description The postal code. */
                zip?: string | null;
                /** @description The country. */
                country?: string | null;
                /** @description The country as two letters. */
                country_code?: string | null;
                /** @description Such as `WORK`. */
                type?: string | null;
            }[] | null;
            /** @description The organization. */
            org?: {
                /** @description The company. */
                company?: string | null;
                /** @description The department. */
                department?: string | null;
                /** @description The position. */
                title?: string | null;
            } | null;
            /** @description The day of birth. */
            birthday?: string | null;
        };
        /** @description An emoji on an earlier message of the same conversation. */
        NewReactionContent: {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            type: "reaction";
            /** @description The id of the message. */
            message_id: string;
            /** @description The emoji. Null or absent removes the reaction. */
            emoji?: string | null;
        };
        /** @description A template. In place of `template_id`, with a file and with the parts of buttons that this message sets. */
        NewTemplateContent: {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            type: "template";
            /** @description The id or the name of the template. */
            template_id: string;
            /** @description The values of the variables of the template, by name. */
            template_variables?: {
                [key: string]: string;
            } | null;
            /** @description The file of a template with a media header. */
            header?: components["schemas"]["NewTemplateFile"] | null;
            /** @description The parts of buttons that this message sets. */
            buttons?: {
                /** @description The position of the button in the template, from zero. */
                index: number;
                /** @description The end of the URL of a `url` button. */
                url_suffix?: string | null;
                /** @description What the reply to a `quick_reply` button returns. */
                payload?: string | null;
            }[] | null;
        };
        /** @description The file of a template with a media header. */
        NewTemplateFile: {
            /**
             * @description How the file is shown: a picture can be sent as an `image` or as a `document`.
             * @enum {string}
             */
            kind: "image" | "audio" | "video" | "document" | "sticker";
            /** @description The id of a file: see `POST /v1/media`. */
            media_id?: string | null;
            /** @description The public URL of a file, in place of `media_id`. The service fetches and stores it before it accepts the message. */
            url?: string | null;
            /** @description The name that the recipient sees, for a document. */
            file_name?: string | null;
        };
        /** @description A message that is sent if the previous one is not delivered. */
        FallbackStep: {
            /**
             * @description The channel of this step.
             * @enum {string}
             */
            channel: "sms" | "whatsapp";
            /** @description The text. Up to 1,600 characters on sms, and 4,096 on whatsapp. */
            body?: string | null;
            /** @description The id or the name of a template, in place of `body`. */
            template_id?: string | null;
            /** @description The values of the variables of the template, by name. All variables are required. */
            template_variables?: {
                [key: string]: string;
            } | null;
            /** @description The content, in place of `body` and `template_id`. See [Content](/docs/content). */
            content?: components["schemas"]["NewContent"] | null;
            /** @description The time that the previous message has to be delivered. If it fails earlier, this step starts at once. */
            after_seconds: number;
        };
        /** @description A message to one recipient, or from one person. */
        Message: {
            /**
             * @description The id of the message.
             * @example msg_01k9zs3v8mf4tb2xg1qj6n0d5c
             */
            id: string;
            /** @constant */
            object: "message";
            /**
             * @description The environment of the record. One of `test`, `live`; new values may be added.
             * @example test
             */
            environment: "test" | "live" | (string & {});
            /**
             * @description Whether the message was sent to a person or received from one. One of `outbound`, `inbound`; new values may be added.
             * @example outbound
             */
            direction: "outbound" | "inbound" | (string & {});
            /**
             * @description The channel of the message. One of `sms`, `whatsapp`; new values may be added.
             * @example sms
             */
            channel: "sms" | "whatsapp" | (string & {});
            /**
             * @description The phone number that the message is sent to. On an inbound message your number, or an empty text if the carrier does not report it.
             * @example +14155550123
             */
            recipient: string;
            /** @description The number, short code or name that the message comes from. Null if the carrier chooses the sender, or does not report the sender of an inbound message. */
            sender: string | null;
            /**
             * @description Why this sender was chosen. Null on inbound messages. One of `named`, `reply`, `sticky`, `preferred`, `pool`, `first_sender`, `only_sender`, `link_default`; new values may be added.
             * @example named
             */
            sender_reason: "named" | "reply" | "sticky" | "preferred" | "pool" | "first_sender" | "only_sender" | "link_default" | (string & {}) | null;
            /**
             * @description Why this link was chosen. Null on inbound messages. One of `simulator`, `only_link`, `file_order`, `creation_order`, `route`, `weights`, `quality`, `price`, `measuring`, `sender`, `reply`, `failover`; new values may be added.
             * @example simulator
             */
            link_reason: "simulator" | "only_link" | "file_order" | "creation_order" | "route" | "weights" | "quality" | "price" | "measuring" | "sender" | "reply" | "failover" | (string & {}) | null;
            /** @description The text. For a template, with its variables filled in. Null after redaction, and for a content without a text. */
            body: string | null;
            /** @description The content, if it is more than a text. Null for a text, which is in `body`. */
            content: components["schemas"]["Content"] | null;
            /** @description The id of the template, if one was used. */
            template_id: string | null;
            /** @description The version of the template that was used. */
            template_version: number | null;
            /** @description The values of the variables of the template. */
            template_variables: {
                [key: string]: string;
            } | null;
            /**
             * @description The current [status](/docs/states). One of `scheduled`, `queued`, `sending`, `sent`, `delivered`, `read`, `undelivered`, `failed`, `expired`, `canceled`, `received`; new values may be added.
             * @example scheduled
             */
            status: "scheduled" | "queued" | "sending" | "sent" | "delivered" | "read" | "undelivered" | "failed" | "expired" | "canceled" | "received" | (string & {});
            /** @description The number of transitions of the message so far, without gaps. Use it to order events. */
            sequence: number;
            /** @description Why the message was not delivered. Null if there was no error. */
            error: {
                /**
                 * @description The stable code of the error: see [Error codes](/docs/states#error-codes-of-messages).
                 * @example invalid_destination
                 */
                code: string;
                /** @description An explanation for people. */
                message: string;
                /** @description Whether the same message would fail again. */
                permanent: boolean;
                /** @description The code of the carrier, if it sent one. */
                provider_code: string | null;
            } | null;
            /** @description The segments of an SMS. Null on other channels. */
            segments: {
                /** @description The number of segments. */
                count: number;
                /**
                 * @description The encoding of the text. One of `gsm7`, `ucs2`; new values may be added.
                 * @example gsm7
                 */
                encoding: "gsm7" | "ucs2" | (string & {});
                /** @description The number of characters, as Unicode code points. */
                characters: number;
            } | null;
            /**
             * @description The priority in the queue. One of `high`, `normal`, `bulk`; new values may be added.
             * @example high
             */
            priority: "high" | "normal" | "bulk" | (string & {});
            /** @description Your own reference. */
            client_reference: string | null;
            /** @description Your own keys and values. */
            metadata: {
                [key: string]: string;
            };
            /**
             * Format: date-time
             * @description The time at which the message is sent. Null if it is sent at once.
             */
            send_at: string | null;
            /**
             * Format: date-time
             * @description The end of the time to live: the message is not submitted after this time.
             */
            expires_at: string | null;
            /** @description The last submission to a carrier. Null before the first one. */
            provider: {
                /** @description The provider, such as `smpp`. */
                name: string;
                /** @description The id of the link; its name for a link of the configuration file. */
                link: string;
                /** @description The carrier id: the id that the carrier gave to the message. */
                message_id: string | null;
                /** @description The number of attempts to submit the message. */
                attempts: number;
            } | null;
            /** @description The id of the message that was not delivered, if this message is its fallback. */
            fallback_of: string | null;
            /** @description The id of the message that this one replies to. Set on automatic replies, and on inbound messages if the carrier reports it. */
            in_reply_to: string | null;
            /** @description The id of the batch, if the message is part of one. */
            batch_id: string | null;
            /**
             * @description The API that the message came through, if it was not this one. One of `twilio`, `kannel`; new values may be added.
             * @example twilio
             */
            source: "twilio" | "kannel" | (string & {}) | null;
            /**
             * Format: date-time
             * @description The time at which the message was accepted.
             */
            created_at: string;
            /**
             * Format: date-time
             * @description The time of the last change.
             */
            updated_at: string;
            /**
             * Format: date-time
             * @description The time at which a carrier accepted the message.
             */
            sent_at: string | null;
            /**
             * Format: date-time
             * @description The time at which the message reached the recipient.
             */
            delivered_at: string | null;
            /**
             * Format: date-time
             * @description The time at which the recipient read the message.
             */
            read_at: string | null;
            /**
             * Format: date-time
             * @description The time at which the message failed, expired or was not delivered.
             */
            failed_at: string | null;
            /**
             * Format: date-time
             * @description The time at which the message was canceled.
             */
            canceled_at: string | null;
        };
        /** @description The content of a message that is more than a text. See [Content](/docs/content). */
        Content: components["schemas"]["MediaContent"] | components["schemas"]["ButtonsContent"] | components["schemas"]["ListContent"] | components["schemas"]["LocationContent"] | components["schemas"]["ContactsContent"] | components["schemas"]["ReactionContent"] | components["schemas"]["TemplateContent"] | components["schemas"]["ReplyContent"] | components["schemas"]["FormContent"] | components["schemas"]["OrderContent"] | components["schemas"]["SystemContent"] | components["schemas"]["UnsupportedContent"];
        /** @description A picture, recording, video, document or sticker. */
        MediaContent: {
            /** @constant */
            type: "media";
            /**
             * @description The kind of the file. One of `image`, `audio`, `video`, `document`, `sticker`; new values may be added.
             * @example image
             */
            kind: "image" | "audio" | "video" | "document" | "sticker" | (string & {});
            /** @description The id of the file: see `GET /v1/media/{id}`. */
            media_id: string;
            /** @description The name of the file, if it has one. */
            file_name: string | null;
            /** @description The caption. */
            caption: string | null;
            /** @description Whether it is a voice note. */
            is_voice: boolean;
            /** @description The further files of an MMS with several. */
            further_media?: {
                /**
                 * @description The kind of the file. One of `image`, `audio`, `video`, `document`, `sticker`; new values may be added.
                 * @example image
                 */
                kind: "image" | "audio" | "video" | "document" | "sticker" | (string & {});
                /** @description The id of the file: see `GET /v1/media/{id}`. */
                media_id: string;
                /** @description The name of the file, if it has one. */
                file_name: string | null;
            }[];
        };
        /** @description A text with buttons. */
        ButtonsContent: {
            /** @constant */
            type: "buttons";
            /** @description The text. */
            text: string;
            /** @description A text or a file above the text. */
            header: components["schemas"]["TextHeader"] | components["schemas"]["MediaHeader"] | null;
            /** @description The small text below. */
            footer: string | null;
            /** @description The buttons. */
            buttons: components["schemas"]["ContentButton"][];
        };
        /** @description A text above the text. */
        TextHeader: {
            /** @constant */
            type: "text";
            /** @description The text. */
            text: string;
        };
        /** @description A file above the text. */
        MediaHeader: {
            /** @constant */
            type: "media";
            /**
             * @description The kind of the file. One of `image`, `audio`, `video`, `document`, `sticker`; new values may be added.
             * @example image
             */
            kind: "image" | "audio" | "video" | "document" | "sticker" | (string & {});
            /** @description The id of the file: see `GET /v1/media/{id}`. */
            media_id: string;
            /** @description The name of the file, if it has one. */
            file_name: string | null;
        };
        /** @description A button below the text. */
        ContentButton: {
            /**
             * @description The type of the button. One of `reply`, `url`, `phone`; new values may be added.
             * @example reply
             */
            type: "reply" | "url" | "phone" | (string & {});
            /** @description The label. */
            title: string;
            /** @description Of a button of type `reply`: the id that the reply names. */
            id?: string;
            /** @description Of a button of type `url`: the page. */
            url?: string;
            /** @description Of a button of type `phone`: the number. */
            phone_number?: string;
        };
        /** @description A text with a list to choose from. */
        ListContent: {
            /** @constant */
            type: "list";
            /** @description The text. */
            text: string;
            /** @description The text above. */
            header: string | null;
            /** @description The small text below. */
            footer: string | null;
            /** @description The label of the button that opens the list. */
            button: string;
            /** @description The sections of the list. */
            sections: {
                /** @description The title of the section. */
                title: string | null;
                /** @description The rows. */
                rows: {
                    /** @description The id. */
                    id: string;
                    /** @description The title. */
                    title: string;
                    /** @description The second line. */
                    description: string | null;
                }[];
            }[];
        };
        /** @description A place. */
        LocationContent: {
            /** @constant */
            type: "location";
            /** @description The latitude in degrees. */
            latitude: number;
            /** @description The longitude in degrees. */
            longitude: number;
            /** @description The name of the place. */
            name: string | null;
            /** @description The address of the place. */
            address: string | null;
        };
        /** @description People as an address book has them. */
        ContactsContent: {
            /** @constant */
            type: "contacts";
            /** @description The people. */
            contacts: components["schemas"]["Contact"][];
        };
        /** @description A person as an address book has them. */
        Contact: {
            /** @description The name. */
            name: {
                /** @description The whole name. */
                formatted_name: string;
                /** @description The first name. */
                first_name: string | null;
                /** @description The last name. */
                last_name: string | null;
                /** @description The middle name. */
                middle_name: string | null;
                /** @description The title before the name. */
                prefix: string | null;
                /** @description The part after the name. */
                suffix: string | null;
            };
            /** @description The phone numbers. */
            phones: {
                /** @description The number. */
                phone: string;
                /** @description Such as `WORK`. */
                type: string | null;
                /** @description The WhatsApp id of the number. */
                wa_id: string | null;
            }[];
            /** @description The email addresses. */
            emails: {
                /** @description The address. */
                email: string;
                /** @description Such as `WORK`. */
                type: string | null;
            }[];
            /** @description The pages on the web. */
            urls: {
                /** @description The address of the page. */
                url: string;
                /** @description Such as `WORK`. */
                type: string | null;
            }[];
            /** @description The postal addresses. */
            addresses: {
                /** @description The street. */
                street: string | null;
                /** @description The city. */
                city: string | null;
                /** @description The state. */
                state: string | null;
                /** @description The postal code. */
                zip: string | null;
                /** @description The country. */
                country: string | null;
                /** @description The country as two letters. */
                country_code: string | null;
                /** @description Such as `WORK`. */
                type: string | null;
            }[];
            /** @description The organization. */
            org: {
                /** @description The company. */
                company: string | null;
                /** @description The department. */
                department: string | null;
                /** @description The position. */
                title: string | null;
            } | null;
            /** @description The day of birth, as YYYY-MM-DD. */
            birthday: string | null;
        };
        /** @description An emoji on an earlier message. */
        ReactionContent: {
            /** @constant */
            type: "reaction";
            /** @description The message. */
            message_id: string | null;
            /** @description The emoji. Null removes the reaction. */
            emoji: string | null;
        };
        /** @description The file and the buttons of a template. */
        TemplateContent: {
            /** @constant */
            type: "template";
            /** @description The file above the text. */
            header: {
                /** @constant */
                type: "media";
                /**
                 * @description The kind of the file. One of `image`, `audio`, `video`, `document`, `sticker`; new values may be added.
                 * @example image
                 */
                kind: "image" | "audio" | "video" | "document" | "sticker" | (string & {});
                /** @description The id of the file: see `GET /v1/media/{id}`. */
                media_id: string;
                /** @description The name of the file, if it has one. */
                file_name: string | null;
            } | null;
            /** @description The buttons to which the message gives something. */
            buttons: {
                /** @description The position of the button in the template, from zero. */
                index: number;
                /** @description The end of the URL of a `url` button. */
                url_suffix?: string;
                /** @description What the reply to a `quick_reply` button returns. */
                payload?: string;
            }[];
        };
        /** @description The choice of a person: a button, or a row of a list. */
        ReplyContent: {
            /** @constant */
            type: "reply";
            /**
             * @description What the person chose from. One of `button`, `list`, `template_button`; new values may be added.
             * @example button
             */
            kind: "button" | "list" | "template_button" | (string & {});
            /** @description The id of the button or row; of a template's button its payload. */
            id: string | null;
            /** @description The label. */
            title: string | null;
            /** @description The second line of a row. */
            description: string | null;
        };
        /** @description The answers of a person in a form of WhatsApp (a flow). */
        FormContent: {
            /** @constant */
            type: "form";
            /** @description The name of the form. */
            name: string | null;
            /** @description The answers as JSON text. */
            response: string | null;
        };
        /** @description An order of products of a catalog. */
        OrderContent: {
            /** @constant */
            type: "order";
            /** @description The id of the catalog. */
            catalog_id: string | null;
            /** @description The text of the person. */
            text: string | null;
            /** @description The products. */
            items: {
                /** @description The id of the product. */
                product_id: string | null;
                /** @description How many. */
                quantity: number | null;
                /** @description The price of one. */
                price: string | null;
                /** @description The currency. */
                currency: string | null;
            }[];
        };
        /** @description A notice of the channel that no person wrote. */
        SystemContent: {
            /** @constant */
            type: "system";
            /** @description The notice. */
            text: string | null;
        };
        /** @description A content that this version does not know. */
        UnsupportedContent: {
            /** @constant */
            type: "unsupported";
            /** @description Its type at the carrier. */
            kind: string;
            /** @description The content as the carrier sent it, as JSON text. Null if it is too large. */
            original: string | null;
        };
        /** @description The result of a validation. */
        MessageValidation: {
            /** @constant */
            object: "message_validation";
            /** @description Whether this message would be accepted now. */
            valid: boolean;
            /**
             * @description The channel. Null if it is not valid. One of `sms`, `whatsapp`; new values may be added.
             * @example sms
             */
            channel: "sms" | "whatsapp" | (string & {}) | null;
            /** @description The text that would be sent. For a template, with its variables filled in. */
            body: string | null;
            /** @description The segments of an SMS. Null on other channels. */
            segments: {
                /** @description The number of segments. */
                count: number;
                /**
                 * @description The encoding of the text. One of `gsm7`, `ucs2`; new values may be added.
                 * @example gsm7
                 */
                encoding: "gsm7" | "ucs2" | (string & {});
                /** @description The number of characters, as Unicode code points. */
                characters: number;
            } | null;
            /** @description Every character that forces the SMS to use UCS-2. Without them, a segment holds more than twice as many characters. */
            ucs2_characters: {
                /** @description The character. */
                character: string;
                /** @description The position in the text, in characters from zero. */
                position: number;
                /** @description A similar character of the GSM alphabet, if there is one. */
                alternative: string | null;
            }[];
            /** @description The same for each step of the fallback. */
            fallback: {
                /**
                 * @description The channel. Null if it is not valid. One of `sms`, `whatsapp`; new values may be added.
                 * @example sms
                 */
                channel: "sms" | "whatsapp" | (string & {}) | null;
                /** @description The text that would be sent. For a template, with its variables filled in. */
                body: string | null;
                /** @description The segments of an SMS. Null on other channels. */
                segments: {
                    /** @description The number of segments. */
                    count: number;
                    /**
                     * @description The encoding of the text. One of `gsm7`, `ucs2`; new values may be added.
                     * @example gsm7
                     */
                    encoding: "gsm7" | "ucs2" | (string & {});
                    /** @description The number of characters, as Unicode code points. */
                    characters: number;
                } | null;
                /** @description Every character that forces the SMS to use UCS-2. Without them, a segment holds more than twice as many characters. */
                ucs2_characters: {
                    /** @description The character. */
                    character: string;
                    /** @description The position in the text, in characters from zero. */
                    position: number;
                    /** @description A similar character of the GSM alphabet, if there is one. */
                    alternative: string | null;
                }[];
            }[];
            /** @description The route of the message. Null if there is none. */
            route: {
                /** @description The provider of the link. */
                provider: string;
                /** @description The link that would be used. */
                link: string;
                /**
                 * @description Why this link would be used. One of `simulator`, `only_link`, `file_order`, `creation_order`, `route`, `weights`, `quality`, `price`, `measuring`, `sender`, `reply`, `failover`; new values may be added.
                 * @example simulator
                 */
                link_reason: "simulator" | "only_link" | "file_order" | "creation_order" | "route" | "weights" | "quality" | "price" | "measuring" | "sender" | "reply" | "failover" | (string & {});
                /** @description The links of the route in the order of delivery, with their numbers, if it [chooses by quality or price](/docs/routing#choose-by-quality-or-price). */
                links: components["schemas"]["LinkWeight"][] | null;
                /** @description The sender that would be used. Null if the carrier chooses. */
                sender: string | null;
                /**
                 * @description Why this sender would be used. One of `named`, `reply`, `sticky`, `preferred`, `pool`, `first_sender`, `only_sender`, `link_default`; new values may be added.
                 * @example named
                 */
                sender_reason: "named" | "reply" | "sticky" | "preferred" | "pool" | "first_sender" | "only_sender" | "link_default" | (string & {}) | null;
            } | null;
            /** @description All faults of the request, and all rules that would refuse it. */
            errors: {
                /** @description The invalid value, as a JSON pointer. */
                pointer: string;
                /** @description The stable code of the fault. */
                code: string;
                /** @description An explanation for people. */
                detail: string;
            }[];
        };
        /** @description The numbers by which a route with a strategy placed a link. */
        LinkWeight: {
            /** @description The id of the link; its name for a link of the configuration file. */
            link: string;
            /** @description The share of its latest messages that were delivered, from 0 to 1. Nine delivered messages of ten are assumed in addition. */
            delivery_rate: number;
            /** @description The number of messages with a result; older ones count less. Null for a link of the operator. */
            results: number | null;
            /** @description The price of the message. Null without one, and for a link of the operator. */
            price: number | null;
        };
        /** @description A page of a list. */
        MessagePage: {
            /** @description The records of this page, newest first unless stated otherwise. */
            data: components["schemas"]["Message"][];
            /** @description Whether there are further pages. */
            has_more: boolean;
            /** @description The `cursor` of the next page. Null on the last page. */
            next_cursor: string | null;
        };
        /** @description The fields to change. Fields that are absent or null stay unchanged. */
        EditMessage: {
            /**
             * Format: date-time
             * @description The time at which to send the message, up to 35 days ahead. Absent, or a time within the last 24 hours: at once.
             */
            send_at?: string | Date | null;
            /** @description The text. Up to 1,600 characters on sms, and 4,096 on whatsapp. */
            body?: string | null;
            /** @description The values of the variables of the template, by name. All variables are required. */
            template_variables?: {
                [key: string]: string;
            } | null;
            /** @description Your own keys and values, which are returned with the message: up to 50 keys of up to 40 characters, with values of up to 500. */
            metadata?: {
                [key: string]: string;
            } | null;
            /** @description The time to live: the message is not submitted after that many seconds. Default: 172,800 (48 hours). */
            ttl_seconds?: number | null;
            /** @description `high` for codes, `bulk` for campaigns. Default: `normal`. */
            priority?: ("high" | "normal" | "bulk") | null;
        };
        /** @description A page of a list. */
        TimelinePage: {
            /** @description The records of this page, newest first unless stated otherwise. */
            data: components["schemas"]["TimelineEntry"][];
            /** @description Whether there are further pages. */
            has_more: boolean;
            /** @description The `cursor` of the next page. Null on the last page. */
            next_cursor: string | null;
        };
        /** @description One entry of the timeline of a message. */
        TimelineEntry: {
            /**
             * @description The id of the entry; that of the event if it is one.
             * @example evt_01k9zs3v8mf4tb2xg1qj6n0d5c
             */
            id: string;
            /** @constant */
            object: "timeline_entry";
            /**
             * @description The type of the event. Types such as `attempt.unknown` are entries of the timeline only, and no events.
             * @example message.sent
             */
            type: string;
            /** @description Whether the signal changed nothing. Such an entry is not sent to webhooks. */
            ignored: boolean;
            /** @description The status of the message before. */
            previous_status: string | null;
            /** @description The status of the message after. Null if it did not change. */
            status: string | null;
            /** @description The `sequence` of the message after. Null if it did not change. */
            sequence: number | null;
            /** @description One attempt to submit the message to a carrier. */
            attempt: components["schemas"]["Attempt"] | null;
            /** @description A delivery receipt of a carrier. */
            receipt: components["schemas"]["Receipt"] | null;
            /** @description The cause of the change, if it was no carrier. */
            reason: string | null;
            /** @description The id of the fallback message that was started. */
            fallback_message_id: string | null;
            /** @description The links of the route in the order in which it chose them, with their numbers, if it [chooses by quality or price](/docs/routing#choose-by-quality-or-price) and the message was accepted with this entry. */
            links: components["schemas"]["LinkWeight"][] | null;
            /**
             * Format: date-time
             * @description The time of the entry.
             */
            created_at: string;
        };
        /** @description One attempt to submit the message to a carrier. */
        Attempt: {
            /** @description The number of the attempt, from one. */
            number: number;
            /** @description The link that was used. */
            link: string;
            /**
             * @description The outcome. `written`: the message may have left from now on. `unknown`: there was no response. One of `written`, `accepted`, `refused`, `throttled`, `unknown`; new values may be added.
             * @example written
             */
            outcome: "written" | "accepted" | "refused" | "throttled" | "unknown" | (string & {});
            /** @description The carrier id of the message. */
            provider_message_id: string | null;
            /** @description The code of the carrier. */
            provider_code: string | null;
            /** @description The text of the carrier, or an explanation. */
            detail: string | null;
            /**
             * Format: date-time
             * @description The time of the next attempt, if there is one.
             */
            retry_at: string | null;
        };
        /** @description A delivery receipt of a carrier. */
        Receipt: {
            /** @description The link that received the receipt. */
            link: string;
            /** @description The status that the receipt means. */
            status: string;
            /** @description The part that the receipt reports, for a message of several parts. */
            part: number | null;
            /** @description The carrier id in the receipt. */
            provider_message_id: string | null;
            /** @description The error code that the receipt means. */
            error_code: string | null;
            /** @description The code of the carrier. */
            provider_code: string | null;
            /** @description The fields of the receipt as the carrier sent them. */
            raw: {
                [key: string]: string;
            };
        };
        /** @description A page of a list. */
        MessagePartPage: {
            /** @description The records of this page, newest first unless stated otherwise. */
            data: components["schemas"]["MessagePart"][];
            /** @description Whether there are further pages. */
            has_more: boolean;
            /** @description The `cursor` of the next page. Null on the last page. */
            next_cursor: string | null;
        };
        /** @description One transmitted part of an SMS. */
        MessagePart: {
            /** @constant */
            object: "part";
            /** @description The position in the message, from one. */
            number: number;
            /** @description The carrier id of the part. Null if only a receipt shows that the carrier accepted it, without an id. */
            provider_message_id: string | null;
            /**
             * @description The status of the part. One of `scheduled`, `queued`, `sending`, `sent`, `delivered`, `read`, `undelivered`, `failed`, `expired`, `canceled`, `received`; new values may be added.
             * @example scheduled
             */
            status: "scheduled" | "queued" | "sending" | "sent" | "delivered" | "read" | "undelivered" | "failed" | "expired" | "canceled" | "received" | (string & {});
            /** @description Why the message was not delivered. Null if there was no error. */
            error: {
                /**
                 * @description The stable code of the error: see [Error codes](/docs/states#error-codes-of-messages).
                 * @example invalid_destination
                 */
                code: string;
                /** @description An explanation for people. */
                message: string;
                /** @description Whether the same message would fail again. */
                permanent: boolean;
                /** @description The code of the carrier, if it sent one. */
                provider_code: string | null;
            } | null;
            /**
             * Format: date-time
             * @description The time of the last change.
             */
            updated_at: string;
        };
        /** @description Messages to send, and the fields that they share. */
        NewBatch: {
            /** @description The fields of a message. Each may also be in `defaults`. */
            defaults?: components["schemas"]["BatchItem"] | null;
            /** @description The messages. The fields of an item replace those of `defaults`; null removes a default. */
            items: components["schemas"]["BatchItem"][];
        };
        /** @description The fields of a message. Each may also be in `defaults`. */
        BatchItem: {
            /**
             * @description The phone number of the recipient in E.164 format. On whatsapp also a business-scoped user id, such as `US.13491208655302741918`.
             * @example +14155550123
             */
            recipient?: string;
            /**
             * @description The channel on which the message is sent.
             * @enum {string}
             */
            channel?: "sms" | "whatsapp";
            /** @description The text. Up to 1,600 characters on sms, and 4,096 on whatsapp. */
            body?: string | null;
            /** @description The id or the name of a template, in place of `body`. */
            template_id?: string | null;
            /** @description The values of the variables of the template, by name. All variables are required. */
            template_variables?: {
                [key: string]: string;
            } | null;
            /** @description The content, in place of `body` and `template_id`. See [Content](/docs/content). */
            content?: components["schemas"]["NewContent"] | null;
            /** @description The id of an earlier message of the same conversation, which this one quotes. On whatsapp only. */
            reply_to?: string | null;
            /** @description The sender: an E.164 number, a short code, or a name of up to 11 characters. Absent: the route chooses one. */
            sender?: string | null;
            /**
             * Format: date-time
             * @description The time at which to send the message, up to 35 days ahead. Absent, or a time within the last 24 hours: at once.
             */
            send_at?: string | Date | null;
            /** @description The time to live: the message is not submitted after that many seconds. Default: 172,800 (48 hours). */
            ttl_seconds?: number | null;
            /** @description `high` for codes, `bulk` for campaigns. Default: `normal`. */
            priority?: ("high" | "normal" | "bulk") | null;
            /** @description Your own reference, such as an order number. Lists can be filtered by it. It need not be unique. */
            client_reference?: string | null;
            /** @description Your own keys and values, which are returned with the message: up to 50 keys of up to 40 characters, with values of up to 500. */
            metadata?: {
                [key: string]: string;
            } | null;
            /** @description Messages that are sent one after the other if this one is not delivered. Each is a message of its own, with `fallback_of`. See [Fallback](/docs/fallback). */
            fallback?: components["schemas"]["FallbackStep"][] | null;
            /** @description The maximum number of segments. A longer text is refused. */
            max_segments?: number | null;
            /** @description Options of one provider, such as `dlt_template_id` on an SMPP link. They are checked for the link that the message uses. See [Options of a message](/docs/links#options-of-a-message). */
            carrier_options?: {
                [key: string]: unknown;
            } | null;
        };
        /** @description A batch with the outcome of each item. */
        AcceptedBatch: {
            /**
             * @description The id of the batch.
             * @example batch_01k9zs3v8mf4tb2xg1qj6n0d5c
             */
            id: string;
            /** @constant */
            object: "batch";
            /**
             * @description The environment of the record. One of `test`, `live`; new values may be added.
             * @example test
             */
            environment: "test" | "live" | (string & {});
            /**
             * @description `completed` when every accepted message has a final status. One of `processing`, `completed`; new values may be added.
             * @example processing
             */
            status: "processing" | "completed" | (string & {});
            /** @description The number of items. */
            total: number;
            /** @description The number of items that became messages. */
            accepted: number;
            /** @description The number of items that were refused. */
            refused: number;
            /**
             * Format: date-time
             * @description The time at which the batch was accepted.
             */
            created_at: string;
            /**
             * Format: date-time
             * @description The time at which all messages had a final status.
             */
            completed_at: string | null;
            /** @description The outcome of each item, in the order of the request. */
            results: {
                /** @description The position of the item in the request, from zero. */
                index: number;
                /**
                 * @description Whether the item became a message. One of `accepted`, `refused`; new values may be added.
                 * @example accepted
                 */
                status: "accepted" | "refused" | (string & {});
                /** @description The id of the message. Null if the item was refused. */
                message_id: string | null;
                /** @description Why the item was refused. Null if it was accepted. */
                error: {
                    /** @description The code of the error, as in a problem. */
                    code: string;
                    /** @description An explanation for people. */
                    detail: string;
                    /** @description The first twenty faults of the item. */
                    errors: {
                        /** @description The invalid value in the request, as a JSON pointer. */
                        pointer: string;
                        /** @description The stable code of the fault. */
                        code: string;
                        /** @description An explanation for people. */
                        detail: string;
                    }[];
                } | null;
            }[];
        };
        /** @description A page of a list. */
        BatchPage: {
            /** @description The records of this page, newest first unless stated otherwise. */
            data: components["schemas"]["Batch"][];
            /** @description Whether there are further pages. */
            has_more: boolean;
            /** @description The `cursor` of the next page. Null on the last page. */
            next_cursor: string | null;
        };
        /** @description A batch of messages. `GET /v1/messages?batch_id=…` lists them. */
        Batch: {
            /**
             * @description The id of the batch.
             * @example batch_01k9zs3v8mf4tb2xg1qj6n0d5c
             */
            id: string;
            /** @constant */
            object: "batch";
            /**
             * @description The environment of the record. One of `test`, `live`; new values may be added.
             * @example test
             */
            environment: "test" | "live" | (string & {});
            /**
             * @description `completed` when every accepted message has a final status. One of `processing`, `completed`; new values may be added.
             * @example processing
             */
            status: "processing" | "completed" | (string & {});
            /** @description The number of items. */
            total: number;
            /** @description The number of items that became messages. */
            accepted: number;
            /** @description The number of items that were refused. */
            refused: number;
            /**
             * Format: date-time
             * @description The time at which the batch was accepted.
             */
            created_at: string;
            /**
             * Format: date-time
             * @description The time at which all messages had a final status.
             */
            completed_at: string | null;
            /**
             * @description The number of messages in each status.
             * @example {
             *       "delivered": 998,
             *       "failed": 2
             *     }
             */
            statuses: {
                [key: string]: number;
            };
        };
        /** @description A file that the service fetches. */
        FetchedMedia: {
            /**
             * @description The URL of the file, which the service fetches.
             * @example https://www.example.com/offer.pdf
             */
            url: string;
            /** @description The kind as which the file is sent. Without it, the usual kind of its type. A file of any type can be a `document`. */
            kind?: ("image" | "audio" | "video" | "document" | "sticker") | null;
            /**
             * @description The name of the file, which the recipient of a document sees.
             * @example offer.pdf
             */
            file_name?: string | null;
        };
        /** @description A picture, recording, video, document or sticker, to send or received. */
        Media: {
            /**
             * @description The id of the media.
             * @example media_01k9zs3v8mf4tb2xg1qj6n0d5c
             */
            id: string;
            /** @constant */
            object: "media";
            /**
             * @description The environment of the record. One of `test`, `live`; new values may be added.
             * @example test
             */
            environment: "test" | "live" | (string & {});
            /**
             * @description `ready`: the file can be read and sent. An inbound file is `pending` until it is downloaded from the carrier. One of `pending`, `ready`, `failed`; new values may be added.
             * @example pending
             */
            status: "pending" | "ready" | "failed" | (string & {});
            /**
             * @description What the file is, by its content. One of `image`, `audio`, `video`, `document`, `sticker`; new values may be added.
             * @example image
             */
            kind: "image" | "audio" | "video" | "document" | "sticker" | (string & {});
            /**
             * @description The media type, by the content of the file.
             * @example image/jpeg
             */
            content_type: string | null;
            /** @description The size in bytes. */
            bytes: number | null;
            /** @description The SHA-256 of the file in hexadecimal digits. */
            sha256: string | null;
            /** @description The name of the file, if it has one. */
            file_name: string | null;
            /**
             * @description Where the file comes from. One of `upload`, `url`, `inbound`; new values may be added.
             * @example upload
             */
            source: "upload" | "url" | "inbound" | (string & {});
            /** @description The message that brought an inbound file. */
            message_id: string | null;
            /** @description Why an inbound file could not be downloaded. */
            error: string | null;
            /**
             * Format: date-time
             * @description The time at which the media were created.
             */
            created_at: string;
            /**
             * Format: date-time
             * @description The time at which the file is deleted. Each use of the media moves it.
             */
            expires_at: string;
            /**
             * @description The actor that created the record: the id of an API key, `cli:` with a system user, `carrier:` with a link, or `system`. Null for records of version 0.1.
             * @example key_01k9zs3v8mf4tb2xg1qj6n0d5c
             */
            created_by: string | null;
        };
        /** @description A page of a list. */
        MediaPage: {
            /** @description The records of this page, newest first unless stated otherwise. */
            data: components["schemas"]["Media"][];
            /** @description Whether there are further pages. */
            has_more: boolean;
            /** @description The `cursor` of the next page. Null on the last page. */
            next_cursor: string | null;
        };
        /** @description The media were deleted. */
        DeletedMedia: {
            /** @description The id of the deleted media. */
            id: string;
            /** @constant */
            object: "media";
            /** @constant */
            deleted: true;
        };
        /** @description A template to create. */
        NewTemplate: {
            /**
             * @description The name, unique in the environment. Messages use the name or the id as `template_id`.
             * @example order_shipped
             */
            name: string;
            /**
             * @description The language of the text, as a BCP 47 tag in its canonical form.
             * @example en-US
             */
            language: string;
            /**
             * @description The purpose of the messages. Carriers review and bill by it.
             * @enum {string}
             */
            category: "authentication" | "utility" | "marketing";
            /** @description The channels on which the template can be sent, each once. */
            channels: ("sms" | "whatsapp")[];
            /**
             * @description The text, with variables as `{{1}}` or `{{name}}`. Up to 1,600 characters, or 1,024 if whatsapp is one of the channels. Up to 100 variables.
             * @example Hello {{name}}, your order {{order}} is on its way.
             */
            body: string;
            /** @description The text above the body, only for whatsapp, with at most one variable. Empty: none. */
            header?: string | null;
            /** @description The kind of a file above the body, in place of `header`, only for whatsapp. Each message gives its file: see [Content](/docs/content). Empty: none. */
            header_media?: ("" | "image" | "video" | "document") | null;
            /** @description The text below the body, only for whatsapp, without variables. Empty: none. */
            footer?: string | null;
            /** @description The buttons, only for whatsapp: up to 10, of which up to 2 open a URL and 1 calls a number. Empty: none. */
            buttons?: components["schemas"]["NewButton"][] | null;
            /**
             * @description An example value for each variable, by name, for previews and for the review.
             * @example {
             *       "name": "Ada",
             *       "order": "1815"
             *     }
             */
            examples?: {
                [key: string]: string;
            } | null;
            /** @description `draft`: the template is not submitted for review yet. Absent: it is submitted. */
            status?: "draft" | null;
        };
        /** @description A button of a WhatsApp template. */
        NewButton: {
            /**
             * @description The type of the button.
             * @enum {string}
             */
            type: "quick_reply" | "url" | "phone_number";
            /** @description The label. */
            text: string;
            /** @description The page that a button of type `url` opens. It may end with `{{1}}`, for which each message gives a text. */
            url?: string | null;
            /**
             * @description The number that a button of type `phone_number` calls.
             * @example +14155550123
             */
            phone_number?: string | null;
        };
        /** @description A text with variables, which is reviewed before it can be sent. */
        Template: {
            /**
             * @description The id of the template.
             * @example tmpl_01k9zs3v8mf4tb2xg1qj6n0d5c
             */
            id: string;
            /** @constant */
            object: "template";
            /**
             * @description The environment of the record. One of `test`, `live`; new values may be added.
             * @example test
             */
            environment: "test" | "live" | (string & {});
            /**
             * @description The name, unique in the environment.
             * @example order_shipped
             */
            name: string;
            /**
             * @description The language of the text, as a BCP 47 tag.
             * @example en-US
             */
            language: string;
            /**
             * @description The purpose of the messages. One of `authentication`, `utility`, `marketing`; new values may be added.
             * @example authentication
             */
            category: "authentication" | "utility" | "marketing" | (string & {});
            /** @description The channels on which it can be sent. */
            channels: ("sms" | "whatsapp" | (string & {}))[];
            /**
             * @description The text with its variables.
             * @example Hello {{name}}, your order {{order}} is on its way.
             */
            body: string;
            /** @description The text above the body. Only for whatsapp. */
            header: string | null;
            /**
             * @description The kind of the file above the body, which each message gives. Only for whatsapp. One of `image`, `video`, `document`; new values may be added.
             * @example image
             */
            header_media: "image" | "video" | "document" | (string & {}) | null;
            /** @description The text below the body. Only for whatsapp. */
            footer: string | null;
            /** @description The buttons. Only for whatsapp. */
            buttons: {
                /**
                 * @description The type of the button. One of `quick_reply`, `url`, `phone_number`; new values may be added.
                 * @example quick_reply
                 */
                type: "quick_reply" | "url" | "phone_number" | (string & {});
                /** @description The label. */
                text: string;
                /** @description The page that a button of type `url` opens. If it ends with `{{1}}`, each message gives the end. */
                url: string | null;
                /** @description The number that a button of type `phone_number` calls. */
                phone_number: string | null;
            }[] | null;
            /** @description The variables that a message must provide: those of the header, then those of the body, in order of appearance. */
            variables: {
                /** @description The name of the variable. */
                name: string;
                /** @description An example value. */
                example: string | null;
            }[];
            /**
             * @description The status. Only an approved template can be sent. One of `draft`, `pending`, `approved`, `rejected`, `paused`, `archived`; new values may be added.
             * @example draft
             */
            status: "draft" | "pending" | "approved" | "rejected" | "paused" | "archived" | (string & {});
            /** @description Why the template was rejected or paused. */
            status_reason: string | null;
            /** @description The version of the content. A message keeps the version that it used. */
            version: number;
            /**
             * Format: date-time
             * @description The time of creation.
             */
            created_at: string;
            /**
             * Format: date-time
             * @description The time of the last change.
             */
            updated_at: string;
            /**
             * @description The actor that created the record: the id of an API key, `cli:` with a system user, `carrier:` with a link, or `system`. Null for records of version 0.1.
             * @example key_01k9zs3v8mf4tb2xg1qj6n0d5c
             */
            created_by: string | null;
        };
        /** @description A page of a list. */
        TemplatePage: {
            /** @description The records of this page, newest first unless stated otherwise. */
            data: components["schemas"]["Template"][];
            /** @description Whether there are further pages. */
            has_more: boolean;
            /** @description The `cursor` of the next page. Null on the last page. */
            next_cursor: string | null;
        };
        /** @description The fields to change. Fields that are absent or null stay unchanged. An empty text removes header, file or footer, and an empty list the buttons. */
        EditTemplate: {
            /**
             * @description The language of the text, as a BCP 47 tag in its canonical form.
             * @example en-US
             */
            language?: string | null;
            /** @description The purpose of the messages. Carriers review and bill by it. */
            category?: ("authentication" | "utility" | "marketing") | null;
            /** @description The channels on which the template can be sent, each once. */
            channels?: ("sms" | "whatsapp")[] | null;
            /**
             * @description The text, with variables as `{{1}}` or `{{name}}`. Up to 1,600 characters, or 1,024 if whatsapp is one of the channels. Up to 100 variables.
             * @example Hello {{name}}, your order {{order}} is on its way.
             */
            body?: string | null;
            /** @description The text above the body, only for whatsapp, with at most one variable. Empty: none. */
            header?: string | null;
            /** @description The kind of a file above the body, in place of `header`, only for whatsapp. Each message gives its file: see [Content](/docs/content). Empty: none. */
            header_media?: ("" | "image" | "video" | "document") | null;
            /** @description The text below the body, only for whatsapp, without variables. Empty: none. */
            footer?: string | null;
            /** @description The buttons, only for whatsapp: up to 10, of which up to 2 open a URL and 1 calls a number. Empty: none. */
            buttons?: components["schemas"]["NewButton"][] | null;
            /**
             * @description An example value for each variable, by name, for previews and for the review.
             * @example {
             *       "name": "Ada",
             *       "order": "1815"
             *     }
             */
            examples?: {
                [key: string]: string;
            } | null;
            /** @description `pending`: submits a draft for review, or a rejected template again. */
            status?: "pending" | null;
        };
        /** @description The variables and the channel of a preview. */
        PreviewTemplate: {
            /** @description The values of the variables, by name. Absent: the examples of the template. */
            template_variables?: {
                [key: string]: string;
            } | null;
            /** @description The channel of the preview. Default: the first channel of the template. */
            channel?: ("sms" | "whatsapp") | null;
        };
        /** @description A template with its variables filled in. */
        TemplatePreview: {
            /** @constant */
            object: "template_preview";
            /** @description The id of the template. */
            template_id: string;
            /** @description The version of the template. */
            version: number;
            /**
             * @description The channel of the preview. One of `sms`, `whatsapp`; new values may be added.
             * @example sms
             */
            channel: "sms" | "whatsapp" | (string & {});
            /** @description The text with its variables filled in. */
            body: string;
            /** @description The header with its variables filled in. Null on channels without one. */
            header: string | null;
            /** @description The footer. Null on channels without one. */
            footer: string | null;
            /** @description The segments of an SMS. Null on other channels. */
            segments: {
                /** @description The number of segments. */
                count: number;
                /**
                 * @description The encoding of the text. One of `gsm7`, `ucs2`; new values may be added.
                 * @example gsm7
                 */
                encoding: "gsm7" | "ucs2" | (string & {});
                /** @description The number of characters, as Unicode code points. */
                characters: number;
            } | null;
        };
        /** @description A verification to start. Exactly one of `channel` and `channels` is required. */
        NewVerification: {
            /**
             * @description A phone number in E.164 format.
             * @example +14155550123
             */
            recipient: string;
            /** @description The channel, if there is only one. Exactly one of `channel` and `channels` is required. */
            channel?: ("sms" | "whatsapp") | null;
            /** @description The channels, in the order in which they are used: the next one if the code is not delivered on the previous one. */
            channels?: ("sms" | "whatsapp")[] | null;
            /** @description The seconds that a channel has before the next one is used. Default: 30. */
            after_seconds?: number | null;
            /** @description The id or name of a template whose only variable is `code`. Default: `verification_code`. */
            template_id?: string | null;
            /** @description The sender: an E.164 number, a short code, or a name of up to 11 characters. Absent: the route chooses one. */
            sender?: string | null;
            /** @description The number of digits. Default: 6. */
            code_length?: number | null;
            /** @description The seconds for which the code is valid. Default: 600. */
            ttl?: number | null;
        };
        /** @description A code that is sent to a recipient and checked once. */
        Verification: {
            /**
             * @description The id of the verification.
             * @example ver_01k9zs3v8mf4tb2xg1qj6n0d5c
             */
            id: string;
            /** @constant */
            object: "verification";
            /**
             * @description The environment of the record. One of `test`, `live`; new values may be added.
             * @example test
             */
            environment: "test" | "live" | (string & {});
            /** @description The phone number that the code is sent to. */
            recipient: string;
            /** @description The channels, in the order in which they are used. */
            channels: ("sms" | "whatsapp" | (string & {}))[];
            /** @description The number of digits of the code. */
            code_length: number;
            /**
             * @description The status. `failed`: there were too many wrong codes. One of `pending`, `approved`, `expired`, `failed`, `canceled`; new values may be added.
             * @example pending
             */
            status: "pending" | "approved" | "expired" | "failed" | "canceled" | (string & {});
            /** @description The number of wrong codes so far. */
            attempts: number;
            /** @description The number of codes that can still be checked. */
            attempts_left: number;
            /** @description The id of the message with the code. A message on a further channel has this id as `fallback_of`. */
            message_id: string;
            /**
             * Format: date-time
             * @description The time at which the verification was created.
             */
            created_at: string;
            /**
             * Format: date-time
             * @description The time after which the code is not valid any more.
             */
            expires_at: string;
            /**
             * Format: date-time
             * @description The time at which the right code was checked.
             */
            verified_at: string | null;
            /**
             * Format: date-time
             * @description The time of the last change.
             */
            updated_at: string;
        };
        /** @description The check of a code. */
        VerificationCheck: {
            /** @description The code that the person entered. */
            code: string;
        };
        /** @description A verification after a check of a code. */
        CheckedVerification: {
            /**
             * @description The id of the verification.
             * @example ver_01k9zs3v8mf4tb2xg1qj6n0d5c
             */
            id: string;
            /** @constant */
            object: "verification";
            /**
             * @description The environment of the record. One of `test`, `live`; new values may be added.
             * @example test
             */
            environment: "test" | "live" | (string & {});
            /** @description The phone number that the code is sent to. */
            recipient: string;
            /** @description The channels, in the order in which they are used. */
            channels: ("sms" | "whatsapp" | (string & {}))[];
            /** @description The number of digits of the code. */
            code_length: number;
            /**
             * @description The status. `failed`: there were too many wrong codes. One of `pending`, `approved`, `expired`, `failed`, `canceled`; new values may be added.
             * @example pending
             */
            status: "pending" | "approved" | "expired" | "failed" | "canceled" | (string & {});
            /** @description The number of wrong codes so far. */
            attempts: number;
            /** @description The number of codes that can still be checked. */
            attempts_left: number;
            /** @description The id of the message with the code. A message on a further channel has this id as `fallback_of`. */
            message_id: string;
            /**
             * Format: date-time
             * @description The time at which the verification was created.
             */
            created_at: string;
            /**
             * Format: date-time
             * @description The time after which the code is not valid any more.
             */
            expires_at: string;
            /**
             * Format: date-time
             * @description The time at which the right code was checked.
             */
            verified_at: string | null;
            /**
             * Format: date-time
             * @description The time of the last change.
             */
            updated_at: string;
            /** @description Whether the code is the right one. */
            valid: boolean;
        };
        /** @description A page of a list. */
        VerificationPage: {
            /** @description The records of this page, newest first unless stated otherwise. */
            data: components["schemas"]["Verification"][];
            /** @description Whether there are further pages. */
            has_more: boolean;
            /** @description The `cursor` of the next page. Null on the last page. */
            next_cursor: string | null;
        };
        /** @description A page of a list. */
        EventPage: {
            /** @description The records of this page, newest first unless stated otherwise. */
            data: components["schemas"]["Event"][];
            /** @description Whether there are further pages. */
            has_more: boolean;
            /** @description The `cursor` of the next page. Null on the last page. */
            next_cursor: string | null;
        };
        /** @description The report of one change, with the record after it. It is the same in the API, in the event stream and in webhooks. */
        Event: components["schemas"]["MessageEvent"] | components["schemas"]["FallbackEvent"] | components["schemas"]["RecipientEvent"] | components["schemas"]["TemplateEvent"] | components["schemas"]["BatchEvent"] | components["schemas"]["MediaEvent"] | components["schemas"]["WebhookEndpointEvent"] | components["schemas"]["AuditLogEvent"];
        /** @description The status of a message changed. `data` has the whole message after the change. */
        MessageEvent: {
            /**
             * @description The id of the event. Use it to ignore repeated deliveries.
             * @example evt_01k9zs3v8mf4tb2xg1qj6n0d5c
             */
            id: string;
            /**
             * @description The type of the event.
             * @enum {string}
             */
            type: "message.scheduled" | "message.queued" | "message.sending" | "message.sent" | "message.delivered" | "message.read" | "message.undelivered" | "message.failed" | "message.expired" | "message.canceled" | "message.received" | "message.unrouted";
            /**
             * Format: date-time
             * @description The time of the change.
             */
            timestamp: string;
            /**
             * @description The environment of the record. One of `test`, `live`; new values may be added.
             * @example test
             */
            environment: "test" | "live" | (string & {});
            /** @description The changed record. */
            data: {
                message: components["schemas"]["Message"];
                /** @description The status of the message before the change. Null for a new message. */
                previous_status: string | null;
                /** @description The `sequence` of the message after the change. */
                sequence: number;
                fallback_message_id?: undefined;
                suppression?: undefined;
                template?: undefined;
                batch?: undefined;
                media?: undefined;
                webhook_endpoint?: undefined;
                audit_event?: undefined;
            };
        };
        /** @description A message was not delivered in time, and its fallback was started. */
        FallbackEvent: {
            /**
             * @description The id of the event. Use it to ignore repeated deliveries.
             * @example evt_01k9zs3v8mf4tb2xg1qj6n0d5c
             */
            id: string;
            /**
             * @description The type of the event.
             * @enum {string}
             */
            type: "message.fallback_started";
            /**
             * Format: date-time
             * @description The time of the change.
             */
            timestamp: string;
            /**
             * @description The environment of the record. One of `test`, `live`; new values may be added.
             * @example test
             */
            environment: "test" | "live" | (string & {});
            /** @description The changed record. */
            data: {
                message: components["schemas"]["Message"];
                /** @description The status of the message before the change. Null for a new message. */
                previous_status: string | null;
                /** @description The `sequence` of the message after the change. */
                sequence: number;
                /** @description The id of the fallback message that was started. */
                fallback_message_id: string;
                suppression?: undefined;
                template?: undefined;
                batch?: undefined;
                media?: undefined;
                webhook_endpoint?: undefined;
                audit_event?: undefined;
            };
        };
        /** @description A recipient opted out, or in again. */
        RecipientEvent: {
            /**
             * @description The id of the event. Use it to ignore repeated deliveries.
             * @example evt_01k9zs3v8mf4tb2xg1qj6n0d5c
             */
            id: string;
            /**
             * @description The type of the event.
             * @enum {string}
             */
            type: "recipient.opted_out" | "recipient.opted_in";
            /**
             * Format: date-time
             * @description The time of the change.
             */
            timestamp: string;
            /**
             * @description The environment of the record. One of `test`, `live`; new values may be added.
             * @example test
             */
            environment: "test" | "live" | (string & {});
            /** @description The changed record. */
            data: {
                message?: undefined;
                previous_status?: undefined;
                sequence?: undefined;
                fallback_message_id?: undefined;
                suppression: components["schemas"]["Suppression"];
                template?: undefined;
                batch?: undefined;
                media?: undefined;
                webhook_endpoint?: undefined;
                audit_event?: undefined;
            };
        };
        /** @description A carrier reviewed a template. */
        TemplateEvent: {
            /**
             * @description The id of the event. Use it to ignore repeated deliveries.
             * @example evt_01k9zs3v8mf4tb2xg1qj6n0d5c
             */
            id: string;
            /**
             * @description The type of the event.
             * @enum {string}
             */
            type: "template.approved" | "template.rejected" | "template.paused";
            /**
             * Format: date-time
             * @description The time of the change.
             */
            timestamp: string;
            /**
             * @description The environment of the record. One of `test`, `live`; new values may be added.
             * @example test
             */
            environment: "test" | "live" | (string & {});
            /** @description The changed record. */
            data: {
                message?: undefined;
                previous_status?: undefined;
                sequence?: undefined;
                fallback_message_id?: undefined;
                suppression?: undefined;
                template: components["schemas"]["Template"];
                batch?: undefined;
                media?: undefined;
                webhook_endpoint?: undefined;
                audit_event?: undefined;
            };
        };
        /** @description All messages of a batch have a final status. */
        BatchEvent: {
            /**
             * @description The id of the event. Use it to ignore repeated deliveries.
             * @example evt_01k9zs3v8mf4tb2xg1qj6n0d5c
             */
            id: string;
            /**
             * @description The type of the event.
             * @enum {string}
             */
            type: "batch.completed";
            /**
             * Format: date-time
             * @description The time of the change.
             */
            timestamp: string;
            /**
             * @description The environment of the record. One of `test`, `live`; new values may be added.
             * @example test
             */
            environment: "test" | "live" | (string & {});
            /** @description The changed record. */
            data: {
                message?: undefined;
                previous_status?: undefined;
                sequence?: undefined;
                fallback_message_id?: undefined;
                suppression?: undefined;
                template?: undefined;
                batch: components["schemas"]["Batch"];
                media?: undefined;
                webhook_endpoint?: undefined;
                audit_event?: undefined;
            };
        };
        /** @description A file of an inbound message was downloaded, or cannot be. */
        MediaEvent: {
            /**
             * @description The id of the event. Use it to ignore repeated deliveries.
             * @example evt_01k9zs3v8mf4tb2xg1qj6n0d5c
             */
            id: string;
            /**
             * @description The type of the event.
             * @enum {string}
             */
            type: "media.ready" | "media.failed";
            /**
             * Format: date-time
             * @description The time of the change.
             */
            timestamp: string;
            /**
             * @description The environment of the record. One of `test`, `live`; new values may be added.
             * @example test
             */
            environment: "test" | "live" | (string & {});
            /** @description The changed record. */
            data: {
                message?: undefined;
                previous_status?: undefined;
                sequence?: undefined;
                fallback_message_id?: undefined;
                suppression?: undefined;
                template?: undefined;
                batch?: undefined;
                media: components["schemas"]["Media"];
                webhook_endpoint?: undefined;
                audit_event?: undefined;
            };
        };
        /** @description An endpoint was disabled, or is tested. */
        WebhookEndpointEvent: {
            /**
             * @description The id of the event. Use it to ignore repeated deliveries.
             * @example evt_01k9zs3v8mf4tb2xg1qj6n0d5c
             */
            id: string;
            /**
             * @description The type of the event.
             * @enum {string}
             */
            type: "endpoint.disabled" | "webhook.test";
            /**
             * Format: date-time
             * @description The time of the change.
             */
            timestamp: string;
            /**
             * @description The environment of the record. One of `test`, `live`; new values may be added.
             * @example test
             */
            environment: "test" | "live" | (string & {});
            /** @description The changed record. */
            data: {
                message?: undefined;
                previous_status?: undefined;
                sequence?: undefined;
                fallback_message_id?: undefined;
                suppression?: undefined;
                template?: undefined;
                batch?: undefined;
                media?: undefined;
                webhook_endpoint: components["schemas"]["WebhookEndpoint"];
                audit_event?: undefined;
            };
        };
        /** @description The audit log has a new entry. */
        AuditLogEvent: {
            /**
             * @description The id of the event. Use it to ignore repeated deliveries.
             * @example evt_01k9zs3v8mf4tb2xg1qj6n0d5c
             */
            id: string;
            /**
             * @description The type of the event.
             * @enum {string}
             */
            type: "audit.created";
            /**
             * Format: date-time
             * @description The time of the change.
             */
            timestamp: string;
            /**
             * @description The environment of the record. One of `test`, `live`; new values may be added.
             * @example test
             */
            environment: "test" | "live" | (string & {});
            /** @description The changed record. */
            data: {
                message?: undefined;
                previous_status?: undefined;
                sequence?: undefined;
                fallback_message_id?: undefined;
                suppression?: undefined;
                template?: undefined;
                batch?: undefined;
                media?: undefined;
                webhook_endpoint?: undefined;
                audit_event: components["schemas"]["AuditEvent"];
            };
        };
        /** @description A webhook endpoint to create. */
        NewWebhookEndpoint: {
            /**
             * @description The URL that receives the events: https, on the public internet. The operator of this service can also allow http and private addresses.
             * @example https://example.com/hooks/godwit
             */
            url: string;
            /** @description Your own description. */
            description?: string | null;
            /**
             * @description The types of events to receive: single types, `message.*` for all of a kind, or `*` for all. Default: all.
             * @example [
             *       "message.*"
             *     ]
             */
            event_types?: string[] | null;
        };
        /** @description A URL that receives events, with the secret that signs its deliveries. */
        WebhookEndpointWithSecret: {
            /**
             * @description The id of the endpoint.
             * @example whe_01k9zs3v8mf4tb2xg1qj6n0d5c
             */
            id: string;
            /** @constant */
            object: "webhook_endpoint";
            /**
             * @description The environment of the record. One of `test`, `live`; new values may be added.
             * @example test
             */
            environment: "test" | "live" | (string & {});
            /**
             * @description The compatible API in whose form the endpoint is called. Null: our own form. Such an endpoint belongs to a credential of that API. One of `twilio`, `kannel`; new values may be added.
             * @example twilio
             */
            source: "twilio" | "kannel" | (string & {}) | null;
            /**
             * @description The URL that receives the events. Empty if the messages of a compatible API name their own.
             * @example https://example.com/hooks/godwit
             */
            url: string;
            /** @description Your own description. */
            description: string | null;
            /** @description The types of events that it receives: single types, `message.*` for all of a kind, or `*` for all. The types are message.scheduled, message.queued, message.sending, message.sent, message.delivered, message.read, message.undelivered, message.failed, message.expired, message.canceled, message.received, message.unrouted, message.fallback_started, recipient.opted_out, recipient.opted_in, template.approved, template.rejected, template.paused, batch.completed, media.ready, media.failed, endpoint.disabled, webhook.test, audit.created. */
            event_types: string[];
            /**
             * @description Whether it receives events. One of `enabled`, `disabled`; new values may be added.
             * @example enabled
             */
            status: "enabled" | "disabled" | (string & {});
            /**
             * @description Why it is disabled. `requested`: by a request. `gone`: it responded with 410. `failing`: all attempts failed for five days. One of `requested`, `gone`, `failing`; new values may be added.
             * @example requested
             */
            disabled_reason: "requested" | "gone" | "failing" | (string & {}) | null;
            /**
             * Format: date-time
             * @description The time since which all attempts have failed. Null if the last attempt succeeded.
             */
            failing_since: string | null;
            /**
             * Format: date-time
             * @description The time until which deliveries are also signed with the previous secret.
             */
            previous_secret_until: string | null;
            /** @description The progress of a recovery. Null if none is under way. */
            recovery: components["schemas"]["Recovery"] | null;
            /**
             * Format: date-time
             * @description The time of creation.
             */
            created_at: string;
            /**
             * Format: date-time
             * @description The time of the last change.
             */
            updated_at: string;
            /**
             * @description The actor that created the record: the id of an API key, `cli:` with a system user, `carrier:` with a link, or `system`. Null for records of version 0.1.
             * @example key_01k9zs3v8mf4tb2xg1qj6n0d5c
             */
            created_by: string | null;
            /**
             * @description The secret for verifying signatures. It is shown only in this response.
             * @example whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw
             */
            secret: string;
        };
        /** @description The progress of a recovery. Null if none is under way. */
        Recovery: {
            /**
             * Format: date-time
             * @description Events up to this time have been processed.
             */
            reached: string;
            /**
             * Format: date-time
             * @description Events up to this time will be processed.
             */
            until: string;
        };
        /** @description A page of a list. */
        WebhookEndpointPage: {
            /** @description The records of this page, newest first unless stated otherwise. */
            data: components["schemas"]["WebhookEndpoint"][];
            /** @description Whether there are further pages. */
            has_more: boolean;
            /** @description The `cursor` of the next page. Null on the last page. */
            next_cursor: string | null;
        };
        /** @description A URL that receives events. */
        WebhookEndpoint: {
            /**
             * @description The id of the endpoint.
             * @example whe_01k9zs3v8mf4tb2xg1qj6n0d5c
             */
            id: string;
            /** @constant */
            object: "webhook_endpoint";
            /**
             * @description The environment of the record. One of `test`, `live`; new values may be added.
             * @example test
             */
            environment: "test" | "live" | (string & {});
            /**
             * @description The compatible API in whose form the endpoint is called. Null: our own form. Such an endpoint belongs to a credential of that API. One of `twilio`, `kannel`; new values may be added.
             * @example twilio
             */
            source: "twilio" | "kannel" | (string & {}) | null;
            /**
             * @description The URL that receives the events. Empty if the messages of a compatible API name their own.
             * @example https://example.com/hooks/godwit
             */
            url: string;
            /** @description Your own description. */
            description: string | null;
            /** @description The types of events that it receives: single types, `message.*` for all of a kind, or `*` for all. The types are message.scheduled, message.queued, message.sending, message.sent, message.delivered, message.read, message.undelivered, message.failed, message.expired, message.canceled, message.received, message.unrouted, message.fallback_started, recipient.opted_out, recipient.opted_in, template.approved, template.rejected, template.paused, batch.completed, media.ready, media.failed, endpoint.disabled, webhook.test, audit.created. */
            event_types: string[];
            /**
             * @description Whether it receives events. One of `enabled`, `disabled`; new values may be added.
             * @example enabled
             */
            status: "enabled" | "disabled" | (string & {});
            /**
             * @description Why it is disabled. `requested`: by a request. `gone`: it responded with 410. `failing`: all attempts failed for five days. One of `requested`, `gone`, `failing`; new values may be added.
             * @example requested
             */
            disabled_reason: "requested" | "gone" | "failing" | (string & {}) | null;
            /**
             * Format: date-time
             * @description The time since which all attempts have failed. Null if the last attempt succeeded.
             */
            failing_since: string | null;
            /**
             * Format: date-time
             * @description The time until which deliveries are also signed with the previous secret.
             */
            previous_secret_until: string | null;
            /** @description The progress of a recovery. Null if none is under way. */
            recovery: components["schemas"]["Recovery"] | null;
            /**
             * Format: date-time
             * @description The time of creation.
             */
            created_at: string;
            /**
             * Format: date-time
             * @description The time of the last change.
             */
            updated_at: string;
            /**
             * @description The actor that created the record: the id of an API key, `cli:` with a system user, `carrier:` with a link, or `system`. Null for records of version 0.1.
             * @example key_01k9zs3v8mf4tb2xg1qj6n0d5c
             */
            created_by: string | null;
        };
        /** @description The fields to change. */
        EditWebhookEndpoint: {
            /**
             * @description The URL that receives the events: https, on the public internet. The operator of this service can also allow http and private addresses.
             * @example https://example.com/hooks/godwit
             */
            url?: string | null;
            /** @description Your own description. */
            description?: string | null;
            /**
             * @description The types of events to receive: single types, `message.*` for all of a kind, or `*` for all. Default: all.
             * @example [
             *       "message.*"
             *     ]
             */
            event_types?: string[] | null;
            /** @description A disabled endpoint receives nothing. Enabling it resets `failing_since`. */
            status?: ("enabled" | "disabled") | null;
        };
        /** @description The confirmation that an endpoint was deleted. */
        DeletedWebhookEndpoint: {
            /** @description The id of the deleted endpoint. */
            id: string;
            /** @constant */
            object: "webhook_endpoint";
            /** @constant */
            deleted: true;
        };
        /** @description A test event. */
        TestEvent: {
            /** @description The id of the test event. */
            event_id: string;
        };
        /** @description A page of a list. */
        WebhookDeliveryPage: {
            /** @description The records of this page, newest first unless stated otherwise. */
            data: components["schemas"]["WebhookDelivery"][];
            /** @description Whether there are further pages. */
            has_more: boolean;
            /** @description The `cursor` of the next page. Null on the last page. */
            next_cursor: string | null;
        };
        /** @description One event for one endpoint, with all its attempts. */
        WebhookDelivery: {
            /**
             * @description The id of the delivery.
             * @example dlv_01k9zs3v8mf4tb2xg1qj6n0d5c
             */
            id: string;
            /** @constant */
            object: "webhook_delivery";
            /** @description The id of the endpoint. */
            endpoint_id: string;
            /** @description The id of the event. */
            event_id: string;
            /**
             * @description The type of the event.
             * @example message.sent
             */
            event_type: string;
            /**
             * @description The status. `pending`: another attempt follows. `failed`: there are no further attempts. One of `pending`, `succeeded`, `failed`; new values may be added.
             * @example pending
             */
            status: "pending" | "succeeded" | "failed" | (string & {});
            /** @description The last fifty attempts, oldest first. */
            attempts: components["schemas"]["DeliveryAttempt"][];
            /**
             * Format: date-time
             * @description The time of the next attempt. Null if there is none.
             */
            next_attempt_at: string | null;
            /**
             * Format: date-time
             * @description The time of the event.
             */
            created_at: string;
            /**
             * Format: date-time
             * @description The time of the last change.
             */
            updated_at: string;
        };
        /** @description One call of an endpoint. */
        DeliveryAttempt: {
            /**
             * Format: date-time
             * @description The start of the attempt.
             */
            attempted_at: string;
            /** @description The duration in milliseconds. */
            duration_ms: number;
            /** @description The HTTP status of the response. Null if there was no response. */
            response_status: number | null;
            /** @description The beginning of the response body. */
            response_body: string | null;
            /**
             * @description Why there was no response, or `invalid_response` for one whose instructions could not be carried out. One of `timeout`, `connection_failed`, `tls_failed`, `address_not_allowed`, `invalid_response`; new values may be added.
             * @example timeout
             */
            error: "timeout" | "connection_failed" | "tls_failed" | "address_not_allowed" | "invalid_response" | (string & {}) | null;
        };
        /** @description The recovery of a webhook endpoint. */
        RecoverWebhookEndpoint: {
            /**
             * Format: date-time
             * @description The start of the recovery: events from this time on that the endpoint has not acknowledged are delivered again.
             */
            since: string | Date;
        };
        /** @description An opt-out to record. */
        NewSuppression: {
            /**
             * @description The phone number of the recipient in E.164 format. On whatsapp also a business-scoped user id, such as `US.13491208655302741918`.
             * @example +14155550123
             */
            recipient: string;
            /** @description The sender whose messages are refused. Absent: all senders. */
            sender?: string | null;
            /** @description Your own note. */
            note?: string | null;
        };
        /** @description A suppression, with the number of messages that could not be stopped. */
        OptOut: {
            /**
             * @description The id of the suppression.
             * @example sup_01k9zs3v8mf4tb2xg1qj6n0d5c
             */
            id: string;
            /** @constant */
            object: "suppression";
            /**
             * @description The environment of the record. One of `test`, `live`; new values may be added.
             * @example test
             */
            environment: "test" | "live" | (string & {});
            /**
             * @description The recipient to whom no messages are sent.
             * @example +14155550123
             */
            recipient: string;
            /** @description The sender whose messages are refused. Null: all senders. */
            sender: string | null;
            /**
             * @description Whether messages to the recipient are refused. One of `active`, `lifted`; new values may be added.
             * @example active
             */
            status: "active" | "lifted" | (string & {});
            /**
             * @description The cause: an opt-out word of the recipient, a request, an import, or a report of the carrier. One of `keyword`, `api`, `import`, `carrier`; new values may be added.
             * @example keyword
             */
            source: "keyword" | "api" | "import" | "carrier" | (string & {});
            /**
             * @description The opt-out word, in capitals and without accents, punctuation and white space.
             * @example STOP
             */
            keyword: string | null;
            /** @description The id of the inbound message with the word. */
            message_id: string | null;
            /** @description Your own note. */
            note: string | null;
            /**
             * Format: date-time
             * @description The time of the first opt-out from this sender.
             */
            created_at: string;
            /**
             * Format: date-time
             * @description The time at which it last became active or was lifted.
             */
            updated_at: string;
            /**
             * @description The actor that created the record: the id of an API key, `cli:` with a system user, `carrier:` with a link, or `system`. Null for records of version 0.1.
             * @example key_01k9zs3v8mf4tb2xg1qj6n0d5c
             */
            created_by: string | null;
            /**
             * @description The number of messages to the recipient that were `sending` when the opt-out took effect and cannot be stopped.
             * @example 0
             */
            in_flight: number;
        };
        /** @description A page of a list. */
        SuppressionPage: {
            /** @description The records of this page, newest first unless stated otherwise. */
            data: components["schemas"]["Suppression"][];
            /** @description Whether there are further pages. */
            has_more: boolean;
            /** @description The `cursor` of the next page. Null on the last page. */
            next_cursor: string | null;
        };
        /** @description The rule that refuses messages to a recipient, on all channels. `source`, `keyword`, `message_id` and `note` describe the last change; the history contains the earlier ones. */
        Suppression: {
            /**
             * @description The id of the suppression.
             * @example sup_01k9zs3v8mf4tb2xg1qj6n0d5c
             */
            id: string;
            /** @constant */
            object: "suppression";
            /**
             * @description The environment of the record. One of `test`, `live`; new values may be added.
             * @example test
             */
            environment: "test" | "live" | (string & {});
            /**
             * @description The recipient to whom no messages are sent.
             * @example +14155550123
             */
            recipient: string;
            /** @description The sender whose messages are refused. Null: all senders. */
            sender: string | null;
            /**
             * @description Whether messages to the recipient are refused. One of `active`, `lifted`; new values may be added.
             * @example active
             */
            status: "active" | "lifted" | (string & {});
            /**
             * @description The cause: an opt-out word of the recipient, a request, an import, or a report of the carrier. One of `keyword`, `api`, `import`, `carrier`; new values may be added.
             * @example keyword
             */
            source: "keyword" | "api" | "import" | "carrier" | (string & {});
            /**
             * @description The opt-out word, in capitals and without accents, punctuation and white space.
             * @example STOP
             */
            keyword: string | null;
            /** @description The id of the inbound message with the word. */
            message_id: string | null;
            /** @description Your own note. */
            note: string | null;
            /**
             * Format: date-time
             * @description The time of the first opt-out from this sender.
             */
            created_at: string;
            /**
             * Format: date-time
             * @description The time at which it last became active or was lifted.
             */
            updated_at: string;
            /**
             * @description The actor that created the record: the id of an API key, `cli:` with a system user, `carrier:` with a link, or `system`. Null for records of version 0.1.
             * @example key_01k9zs3v8mf4tb2xg1qj6n0d5c
             */
            created_by: string | null;
        };
        /** @description Opt-outs to record together. */
        ImportSuppressions: {
            /** @description The recipients that have opted out. */
            entries: components["schemas"]["NewSuppression"][];
        };
        /** @description The result of an import. */
        SuppressionImport: {
            /** @constant */
            object: "suppression_import";
            /** @description The number of suppressions that became active, each with an event. */
            added: number;
            /** @description The number of suppressions that were already active and are unchanged. */
            already_active: number;
            /**
             * @description The number of messages to these recipients that were `sending` when the import took effect and cannot be stopped.
             * @example 0
             */
            in_flight: number;
            /** @description The id of the suppression of each entry, in the order of the entries. */
            suppression_ids: string[];
        };
        /** @description A page of a list. */
        SuppressionChangePage: {
            /** @description The records of this page, newest first unless stated otherwise. */
            data: components["schemas"]["SuppressionChange"][];
            /** @description Whether there are further pages. */
            has_more: boolean;
            /** @description The `cursor` of the next page. Null on the last page. */
            next_cursor: string | null;
        };
        /** @description One change of a suppression: it became active or was lifted. */
        SuppressionChange: {
            /**
             * @description The id of the change. Its event has the same id.
             * @example evt_01k9zs3v8mf4tb2xg1qj6n0d5c
             */
            id: string;
            /**
             * @description Whether messages to the recipient are refused. One of `active`, `lifted`; new values may be added.
             * @example active
             */
            status: "active" | "lifted" | (string & {});
            /**
             * @description The cause: an opt-out word of the recipient, a request, an import, or a report of the carrier. One of `keyword`, `api`, `import`, `carrier`; new values may be added.
             * @example keyword
             */
            source: "keyword" | "api" | "import" | "carrier" | (string & {});
            /**
             * @description The opt-out word, in capitals and without accents, punctuation and white space.
             * @example STOP
             */
            keyword: string | null;
            /** @description The id of the inbound message with the word. */
            message_id: string | null;
            /** @description Your own note. */
            note: string | null;
            /**
             * Format: date-time
             * @description The time of the change.
             */
            at: string;
        };
        /** @description The words with which people opt out of messages of this environment, and the automatic replies to them. */
        ConsentSettings: {
            /** @constant */
            object: "consent_settings";
            /**
             * @description The environment of the settings.
             * @example test
             */
            environment: string;
            /** @description The languages whose built-in words are recognized, in addition to English. */
            languages: ("ar" | "de" | "es" | "fr" | "hi" | "id" | "it" | "ja" | "ko" | "nl" | "pl" | "pt" | "ru" | "sv" | "tr" | "uk" | "zh")[];
            /** @description Further words that opt out. */
            opt_out_words: string[];
            /** @description Further words that opt in again. */
            opt_in_words: string[];
            /** @description Further words that request help. */
            help_words: string[];
            /** @description The texts of automatic replies. */
            replies: {
                /** @description The text for a person who has just opted out. It is the only message that is sent after an opt-out. Null: none. */
                opt_out: string | null;
                /** @description The text for a person who has just opted in again. Null: none. */
                opt_in: string | null;
                /** @description The text for a person who requests help, sent at most once in 24 hours. Null: none. */
                help: string | null;
            };
            /**
             * Format: date-time
             * @description The time of the last change by the account. Null: never.
             */
            updated_at: string | null;
        };
        /** @description The settings to change. Settings that are absent or null stay unchanged. */
        ConsentSettingsChange: {
            /** @description The languages whose built-in words are recognized, in addition to English. */
            languages?: ("ar" | "de" | "es" | "fr" | "hi" | "id" | "it" | "ja" | "ko" | "nl" | "pl" | "pt" | "ru" | "sv" | "tr" | "uk" | "zh")[] | null;
            /** @description Further words that opt out. */
            opt_out_words?: string[] | null;
            /** @description Further words that opt in again. */
            opt_in_words?: string[] | null;
            /** @description Further words that request help. */
            help_words?: string[] | null;
            /** @description The texts of automatic replies. A reply that is absent stays unchanged, and null removes it. */
            replies?: {
                /** @description The text for a person who has just opted out. It is the only message that is sent after an opt-out. Null: none. */
                opt_out?: string | null;
                /** @description The text for a person who has just opted in again. Null: none. */
                opt_in?: string | null;
                /** @description The text for a person who requests help, sent at most once in 24 hours. Null: none. */
                help?: string | null;
            } | null;
        };
        /** @description The recipient whose data is erased or exported. */
        RecipientRequest: {
            /**
             * @description The number or address of the person, as it is in the records.
             * @example +14155550123
             */
            recipient: string;
        };
        /** @description The result of an erasure. */
        Erasure: {
            /** @constant */
            object: "erasure";
            /**
             * @description The environment of the record. One of `test`, `live`; new values may be added.
             * @example test
             */
            environment: "test" | "live" | (string & {});
            /** @description The number of records that this request has erased. The records stay, with `erased` in place of the number. */
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
                 * @description Fallbacks that had not started yet.
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
                 * @description Files that were sent to the person or came from the person, and nobody else.
                 * @example 0
                 */
                media: number;
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
             * @description Messages that are with a carrier and were not erased. Repeat the request when they have a final status.
             * @example 0
             */
            unfinished: number;
            /** @description Whether the limit of one request was reached. Repeat the request with a new idempotency key. */
            has_more: boolean;
        };
        /** @description The number of messages by minute, hour or day of their creation, and by their current status. */
        Usage: {
            /** @constant */
            object: "usage";
            /**
             * @description The environment of the record. One of `test`, `live`; new values may be added.
             * @example test
             */
            environment: "test" | "live" | (string & {});
            /**
             * @description The interval of each row. One of `minute`, `hour`, `day`; new values may be added.
             * @example minute
             */
            interval: "minute" | "hour" | "day" | (string & {});
            /**
             * Format: date-time
             * @description The start of the range, on a full hour, or on a full minute if `interval` is `minute`.
             */
            from: string;
            /**
             * Format: date-time
             * @description The end of the range, which is not included.
             */
            to: string;
            /** @description The counts, newest first, then by channel, status and error code. */
            data: components["schemas"]["UsageCount"][];
            /** @description The totals of each interval with messages, newest first. */
            intervals: components["schemas"]["UsageInterval"][];
            /** @description The totals of all rows. */
            totals: {
                /** @description The number of messages. */
                messages: number;
                /** @description The number of segments. */
                segments: number;
                /** @description The number of messages by status. Statuses without messages are absent. */
                by_status: {
                    [key: string]: number;
                };
                /** @description The number of messages by error code. Messages without an error are not counted. */
                by_error_code: {
                    [key: string]: number;
                };
                /** @description The share of delivered and read messages among those that are delivered, read, undelivered, failed or expired, from 0 to 1. Null if there are none. */
                delivery_rate: number | null;
                /** @description The time from creation to delivery in milliseconds, with an accuracy of about 20%. Null if no message was delivered. */
                time_to_delivered_ms: {
                    /** @description Half of the messages were delivered within this time. */
                    p50: number;
                    /** @description 95% of the messages were delivered within this time. */
                    p95: number;
                } | null;
            };
            media: components["schemas"]["MediaUsage"];
        };
        /** @description The messages of one interval, channel, status and error code. */
        UsageCount: {
            /**
             * Format: date-time
             * @description The start of the minute, hour or day, in UTC.
             */
            start: string;
            /**
             * @description The channel of the messages. One of `sms`, `whatsapp`; new values may be added.
             * @example sms
             */
            channel: "sms" | "whatsapp" | (string & {});
            /**
             * @description The current status of the messages. One of `scheduled`, `queued`, `sending`, `sent`, `delivered`, `read`, `undelivered`, `failed`, `expired`, `canceled`, `received`; new values may be added.
             * @example scheduled
             */
            status: "scheduled" | "queued" | "sending" | "sent" | "delivered" | "read" | "undelivered" | "failed" | "expired" | "canceled" | "received" | (string & {});
            /** @description The error code of the messages. Null for messages without an error. */
            error_code: string | null;
            /** @description The number of messages. */
            messages: number;
            /** @description The number of segments. Only SMS has segments. */
            segments: number;
            /** @description The time from creation to delivery in milliseconds, with an accuracy of about 20%. Null if no message was delivered. */
            time_to_delivered_ms: {
                /** @description Half of the messages were delivered within this time. */
                p50: number;
                /** @description 95% of the messages were delivered within this time. */
                p95: number;
            } | null;
        };
        /** @description The totals of one minute, hour or day. */
        UsageInterval: {
            /**
             * Format: date-time
             * @description The start of the minute, hour or day, in UTC.
             */
            start: string;
            /** @description The number of messages. */
            messages: number;
            /** @description The number of segments. */
            segments: number;
            /** @description The number of messages by status. Statuses without messages are absent. */
            by_status: {
                [key: string]: number;
            };
            /** @description The number of messages by error code. Messages without an error are not counted. */
            by_error_code: {
                [key: string]: number;
            };
            /** @description The share of delivered and read messages among those that are delivered, read, undelivered, failed or expired, from 0 to 1. Null if there are none. */
            delivery_rate: number | null;
            /** @description The time from creation to delivery in milliseconds, with an accuracy of about 20%. Null if no message was delivered. */
            time_to_delivered_ms: {
                /** @description Half of the messages were delivered within this time. */
                p50: number;
                /** @description 95% of the messages were delivered within this time. */
                p95: number;
            } | null;
        };
        /** @description The stored files of the environment, whatever the range is. */
        MediaUsage: {
            /** @description The bytes of the stored files, now. Files with the same bytes count once. */
            bytes: number;
            /** @description The bytes that the files may have together. */
            quota_bytes: number;
        };
        /** @description The messages that wait or are being sent. */
        Queue: {
            /** @constant */
            object: "queue";
            /**
             * @description The environment of the record. One of `test`, `live`; new values may be added.
             * @example test
             */
            environment: "test" | "live" | (string & {});
            /** @description Messages that wait for their `send_at`. */
            scheduled: number;
            /** @description Messages that wait to be submitted to a carrier. */
            queued: number;
            /** @description Messages that are being submitted to a carrier. */
            sending: number;
            /**
             * Format: date-time
             * @description The time at which the oldest queued message became due. Null when none is due.
             */
            oldest_due_at: string | null;
            /** @description The seconds since `oldest_due_at`; 0 when no message is due. */
            oldest_due_seconds: number;
        };
        /** @description A list that is not paged. */
        LinkList: {
            /** @description All records, without pages. */
            data: components["schemas"]["Link"][];
        };
        /** @description A configured connection to a carrier. */
        Link: {
            /**
             * @description The id of the link; its name for a link of the configuration file.
             * @example lnk_01k9zs3v8mf4tb2xg1qj6n0d5c
             */
            id: string;
            /** @constant */
            object: "link";
            /**
             * @description The name of the link.
             * @example Acme
             */
            name: string;
            /**
             * @description The origin. `file`: the configuration file of the operator; it cannot be changed here. `api`: created by the account. One of `file`, `api`; new values may be added.
             * @example file
             */
            source: "file" | "api" | (string & {});
            /**
             * @description The kind of connection.
             * @example smpp
             */
            provider: string;
            /**
             * @description The carrier, with the provider `http`.
             * @example telnyx
             */
            carrier: string | null;
            /** @description The channels on which it sends. */
            channels: ("sms" | "whatsapp" | (string & {}))[];
            /**
             * @description The state of the connection. `down`: no node has it open. One of `connected`, `connecting`, `throttled`, `paused`, `down`; new values may be added.
             * @example connected
             */
            state: "connected" | "connecting" | "throttled" | "paused" | "down" | (string & {});
            /**
             * @description Why the state is not `connected`. The operator sees more with `godwit links`. One of `carrier_unreachable`, `carrier_throttles`, `needs_account`, `needs_operator`, `no_node`, `paused_by_request`, `paused_by_operator`; new values may be added.
             * @example carrier_unreachable
             */
            reason: "carrier_unreachable" | "carrier_throttles" | "needs_account" | "needs_operator" | "no_node" | "paused_by_request" | "paused_by_operator" | (string & {}) | null;
            /** @description The message of the connection, for a link of the account. */
            reason_detail: string | null;
            /** @description Whether the link is paused: it sends nothing, and still receives. */
            paused: boolean;
            /** @description The default sender. */
            sender: string | null;
            /**
             * @description The country whose national numbers the carrier may send.
             * @example DE
             */
            country: string | null;
            /** @description The maximum number of parts per second, or of messages on channels without parts. */
            rate: number | null;
            /** @description The prices of a segment, by country or the beginning of a number. Null for links of the operator. */
            prices: {
                [key: string]: number;
            } | null;
            /** @description The maximum number of submissions that wait for a response at the same time. */
            window: number | null;
            /** @description The number of messages of this environment that are `sending` on the link. */
            in_flight: number;
            /** @description How the messages on the link ended lately. Null if there were none, or too few on a link of the operator. */
            quality: components["schemas"]["LinkQuality"] | null;
            /**
             * @description How receipts of an SMPP link write the ids of its responses. `auto`: in any of the other forms. One of `auto`, `same`, `decimal`, `hex`; new values may be added.
             * @example auto
             */
            receipt_ids: "auto" | "same" | "decimal" | "hex" | (string & {}) | null;
            /** @description The settings, without secrets. Null for a link of the configuration file. */
            settings: {
                [key: string]: unknown;
            } | null;
            /** @description The names of the secrets that are set. */
            secrets: string[];
            /**
             * @description The path to which the carrier sends receipts and inbound messages, on the public URL of this service. Null if the carrier does not call.
             * @example /providers/twilio/lnk_01k9zs3v8mf4tb2xg1qj6n0d5c
             */
            callback_path: string | null;
            /** @description The last error. Null for links of the operator. */
            last_error: string | null;
            /**
             * Format: date-time
             * @description The time of the last error. Null for links of the operator.
             */
            last_error_at: string | null;
            /** @description Only for the operator; empty here. */
            nodes: string[];
            /**
             * Format: date-time
             * @description The time of creation. Null for a link of the configuration file.
             */
            created_at: string | null;
            /**
             * Format: date-time
             * @description The time of the last change. Null for a link of the configuration file.
             */
            updated_at: string | null;
            /**
             * @description The actor that created the record: the id of an API key, `cli:` with a system user, `carrier:` with a link, or `system`. Null for records of version 0.1.
             * @example key_01k9zs3v8mf4tb2xg1qj6n0d5c
             */
            created_by: string | null;
        };
        /** @description How the messages on the link ended lately. Null if there were none, or too few on a link of the operator. */
        LinkQuality: {
            /** @description The figures are about messages that were sent within this time. */
            window_seconds: number;
            /** @description The number of messages that the carrier accepted. Null for a link of the operator, which other accounts use as well. */
            sent: number | null;
            /** @description The number of messages that were delivered. Null for a link of the operator, which other accounts use as well. */
            delivered: number | null;
            /** @description The number of messages that the carrier refused or did not deliver. Null for a link of the operator, which other accounts use as well. */
            failed: number | null;
            /** @description The number of messages without a report of the carrier. Null for a link of the operator, which other accounts use as well. */
            pending: number | null;
            /** @description The share of messages with a result that were delivered, from 0 to 1. Null without one. */
            delivery_rate: number | null;
            /** @description The mean time until the carrier reported a delivery. Null without one. */
            seconds_to_receipt: number | null;
            /** @description The 10 most frequent errors. Empty for a link of the operator. */
            errors: {
                /** @description The [error code](/docs/states#error-codes-of-messages). */
                code: string;
                /** @description The number of messages with it. */
                count: number;
            }[];
            /** @description The 20 countries with most messages. Empty for a link of the operator. */
            countries: {
                /** @description The country of the recipients. Empty if it is not known. */
                country: string;
                /** @description The number of messages that the carrier accepted. */
                sent: number;
                /** @description The number of messages that were delivered. */
                delivered: number;
                /** @description The number of messages that the carrier refused or did not deliver. */
                failed: number;
                /** @description The share of messages with a result that were delivered, from 0 to 1. Null without one. */
                delivery_rate: number | null;
            }[];
        };
        /** @description A link to create. */
        NewLink: {
            /**
             * @description A name, unique among the links of the account.
             * @example Acme
             */
            name: string;
            /**
             * @description The kind of connection.
             * @enum {string}
             */
            provider: "smpp" | "twilio" | "whatsapp" | "http";
            /** @description The carrier, with the provider `http`. */
            carrier?: ("aws" | "bandwidth" | "budgetsms" | "elks" | "infobip" | "jasmin" | "kannel" | "plivo" | "routee" | "signalwire" | "sinch" | "telnyx" | "vonage") | null;
            /** @description The default sender of the link. */
            sender?: string | null;
            /** @description Permits messages to name senders that the link does not have. By default only a link without senders takes any. */
            any_sender?: boolean | null;
            /**
             * @description The country whose national numbers the carrier may send.
             * @example US
             */
            country?: string | null;
            /** @description The maximum number of parts per second, or of messages on channels without parts. */
            rate?: number | null;
            /** @description The maximum number of submissions that wait for a response at the same time. */
            window?: number | null;
            /**
             * @description Prices of a segment, for routes with the strategy `price`: of all countries (`*`), of a country (`DE`), and of the beginning of a number (`+4917`).
             * @example {
             *       "*": 0.05,
             *       "DE": 0.07
             *     }
             */
            prices?: {
                [key: string]: number;
            } | null;
            /** @description The seconds to wait for a late response after an unknown outcome. */
            hold_seconds?: number | null;
            /** @description What happens to a message with an unknown outcome after the wait. */
            on_unknown?: ("fail" | "resend") | null;
            /**
             * @description The settings of the provider, with the names of the configuration file: see [Connect carriers](/docs/links), [SMPP](/docs/smpp) and [Carriers](/docs/carriers). Secrets are given literally, such as `password` in place of `password_env`, and are never returned.
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
        /** @description The fields to change. */
        EditLink: {
            /**
             * @description A name, unique among the links of the account.
             * @example Acme
             */
            name?: string | null;
            /** @description The default sender of the link. */
            sender?: string | null;
            /** @description Permits messages to name senders that the link does not have. By default only a link without senders takes any. */
            any_sender?: boolean | null;
            /**
             * @description The country whose national numbers the carrier may send.
             * @example US
             */
            country?: string | null;
            /** @description The maximum number of parts per second, or of messages on channels without parts. */
            rate?: number | null;
            /** @description The maximum number of submissions that wait for a response at the same time. */
            window?: number | null;
            /**
             * @description Prices of a segment, for routes with the strategy `price`: of all countries (`*`), of a country (`DE`), and of the beginning of a number (`+4917`).
             * @example {
             *       "*": 0.05,
             *       "DE": 0.07
             *     }
             */
            prices?: {
                [key: string]: number;
            } | null;
            /** @description The seconds to wait for a late response after an unknown outcome. */
            hold_seconds?: number | null;
            /** @description What happens to a message with an unknown outcome after the wait. */
            on_unknown?: ("fail" | "resend") | null;
            /**
             * @description The settings of the provider, with the names of the configuration file: see [Connect carriers](/docs/links), [SMPP](/docs/smpp) and [Carriers](/docs/carriers). Secrets are given literally, such as `password` in place of `password_env`, and are never returned.
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
            /** @description A paused link sends nothing. It still receives receipts and inbound messages. */
            paused?: boolean | null;
        };
        /** @description The confirmation that a link was deleted. */
        DeletedLink: {
            /** @description The id of the deleted link. */
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
            /** @description The id of the link. */
            link_id: string;
            /** @description Whether the connection works. */
            ok: boolean;
            /**
             * @description The step that failed. Null if none failed. One of `address`, `connection`, `tls`, `credentials`, `response`; new values may be added.
             * @example address
             */
            step: "address" | "connection" | "tls" | "credentials" | "response" | (string & {}) | null;
            /**
             * @description The result, for people.
             * @example The carrier accepted the bind.
             */
            detail: string;
            /**
             * Format: date-time
             * @description The time of the test.
             */
            tested_at: string;
        };
        /** @description A list that is not paged. */
        SenderList: {
            /** @description All records, without pages. */
            data: components["schemas"]["Sender"][];
        };
        /** @description A number, short code or name from which messages are sent, on one link. */
        Sender: {
            /**
             * @description The id of the sender.
             * @example snd_01k9zs3v8mf4tb2xg1qj6n0d5c
             */
            id: string;
            /** @constant */
            object: "sender";
            /**
             * @description The origin. `file`: the configuration file of the operator; it cannot be changed here. `api`: created by the account. One of `file`, `api`; new values may be added.
             * @example file
             */
            source: "file" | "api" | (string & {});
            /**
             * @description The number, short code or name.
             * @example +14155550100
             */
            number: string;
            /**
             * @description The id of its link.
             * @example lnk_01k9zs3v8mf4tb2xg1qj6n0d5c
             */
            link_id: string;
            /** @description The countries to which it sends. Null: all. */
            countries: string[] | null;
            /** @description The pool of senders. */
            pool: string | null;
            /** @description Senders with a higher preference are used first. */
            preference: number | null;
            /** @description The maximum number of messages per second. */
            rate: number | null;
            /** @description Why the sender is not used: its stored definition cannot be read. Null if it is used. */
            reason_detail: string | null;
            /**
             * Format: date-time
             * @description The time of creation. Null for a sender of the configuration file.
             */
            created_at: string | null;
            /**
             * Format: date-time
             * @description The time of the last change. Null for a sender of the configuration file.
             */
            updated_at: string | null;
            /**
             * @description The actor that created the record: the id of an API key, `cli:` with a system user, `carrier:` with a link, or `system`. Null for records of version 0.1.
             * @example key_01k9zs3v8mf4tb2xg1qj6n0d5c
             */
            created_by: string | null;
        };
        /** @description A sender to create. */
        NewSender: {
            /**
             * @description The sender: an E.164 number, a short code, or a name.
             * @example +14155550100
             */
            number: string;
            /**
             * @description The id of a link of the account.
             * @example lnk_01k9zs3v8mf4tb2xg1qj6n0d5c
             */
            link_id: string;
            /** @description The countries to which it sends. Absent: all countries that allow such a sender. */
            countries?: string[] | null;
            /** @description The pool of senders. Senders of one pool share its messages, and a recipient keeps its sender. */
            pool?: string | null;
            /** @description Senders with a higher preference are used first. */
            preference?: number | null;
            /** @description The maximum number of messages per second. */
            rate?: number | null;
        };
        /** @description The fields to change. */
        EditSender: {
            /** @description The countries to which it sends. Absent: all countries that allow such a sender. */
            countries?: string[] | null;
            /** @description The pool of senders. Senders of one pool share its messages, and a recipient keeps its sender. */
            pool?: string | null;
            /** @description Senders with a higher preference are used first. */
            preference?: number | null;
            /** @description The maximum number of messages per second. */
            rate?: number | null;
        };
        /** @description The confirmation that a sender was deleted. */
        DeletedSender: {
            /** @description The id of the deleted sender. */
            id: string;
            /** @constant */
            object: "sender";
            /** @constant */
            deleted: true;
        };
        /** @description A list that is not paged. */
        RouteList: {
            /** @description All records, without pages. */
            data: components["schemas"]["Route"][];
        };
        /** @description The rule that selects the links for the messages of a channel, by country or prefix of the recipient. */
        Route: {
            /**
             * @description The id of the route.
             * @example rte_01k9zs3v8mf4tb2xg1qj6n0d5c
             */
            id: string;
            /** @constant */
            object: "route";
            /**
             * @description The origin. `file`: the configuration file of the operator; it cannot be changed here. `api`: created by the account. One of `file`, `api`; new values may be added.
             * @example file
             */
            source: "file" | "api" | (string & {});
            /**
             * @description The channel of the messages. One of `sms`, `whatsapp`; new values may be added.
             * @example sms
             */
            channel: "sms" | "whatsapp" | (string & {});
            /** @description The links, in the order in which they are used. */
            links: string[];
            /** @description The countries of recipients. Null: all. */
            countries: string[] | null;
            /** @description The beginnings of numbers. Null: all. */
            prefixes: string[] | null;
            /** @description Routes with a higher priority are used first. */
            priority: number;
            /** @description The weight of each link. Null: the links are used in their order. */
            weights: number[] | null;
            /**
             * @description The figures by which the links are ordered. Null: the order or the weights decide. One of `quality`, `price`; new values may be added.
             * @example quality
             */
            strategy: "quality" | "price" | (string & {}) | null;
            /** @description Why the route is not used: its stored definition cannot be read. Null if it is used. */
            reason_detail: string | null;
            /**
             * Format: date-time
             * @description The time of creation. Null for a route of the configuration file.
             */
            created_at: string | null;
            /**
             * Format: date-time
             * @description The time of the last change. Null for a route of the configuration file.
             */
            updated_at: string | null;
            /**
             * @description The actor that created the record: the id of an API key, `cli:` with a system user, `carrier:` with a link, or `system`. Null for records of version 0.1.
             * @example key_01k9zs3v8mf4tb2xg1qj6n0d5c
             */
            created_by: string | null;
        };
        /** @description A route to create. */
        NewRoute: {
            /**
             * @description The channel of the messages.
             * @enum {string}
             */
            channel: "sms" | "whatsapp";
            /**
             * @description The ids of links of the account, in the order in which they are used.
             * @example [
             *       "lnk_01k9zs3v8mf4tb2xg1qj6n0d5c"
             *     ]
             */
            links: string[];
            /** @description The route applies only to recipients in these countries. */
            countries?: string[] | null;
            /** @description The route applies only to numbers with one of these beginnings. */
            prefixes?: string[] | null;
            /** @description Routes with a higher priority are used first. Among equal priorities, the longest prefix decides. */
            priority?: number | null;
            /** @description One weight for each link. The first link of a message is chosen at random in proportion to the weights. */
            weights?: number[] | null;
            /** @description `quality`: prefer the links that deliver best. `price`: prefer the cheapest of those that deliver about as well. Not together with `weights`. See [Choose by quality or price](/docs/routing#choose-by-quality-or-price). */
            strategy?: ("quality" | "price") | null;
        };
        /** @description The fields to change. */
        EditRoute: {
            /**
             * @description The ids of links of the account, in the order in which they are used.
             * @example [
             *       "lnk_01k9zs3v8mf4tb2xg1qj6n0d5c"
             *     ]
             */
            links?: string[] | null;
            /** @description The route applies only to recipients in these countries. */
            countries?: string[] | null;
            /** @description The route applies only to numbers with one of these beginnings. */
            prefixes?: string[] | null;
            /** @description Routes with a higher priority are used first. Among equal priorities, the longest prefix decides. */
            priority?: number | null;
            /** @description One weight for each link. The first link of a message is chosen at random in proportion to the weights. */
            weights?: number[] | null;
            /** @description `quality`: prefer the links that deliver best. `price`: prefer the cheapest of those that deliver about as well. Not together with `weights`. See [Choose by quality or price](/docs/routing#choose-by-quality-or-price). */
            strategy?: ("quality" | "price") | null;
        };
        /** @description The confirmation that a route was deleted. */
        DeletedRoute: {
            /** @description The id of the deleted route. */
            id: string;
            /** @constant */
            object: "route";
            /** @constant */
            deleted: true;
        };
        /** @description A key to create. */
        NewKey: {
            /** @description The permissions of the key. A credential can grant only scopes that it has itself. */
            scopes: ("messages:send" | "messages:read" | "templates:read" | "templates:write" | "webhooks:read" | "webhooks:write" | "events:read" | "keys:read" | "keys:write" | "suppressions:read" | "suppressions:write" | "usage:read" | "links:read" | "links:write" | "audit:read" | "recipients:read" | "recipients:erase" | "verifications:read" | "verifications:write" | "media:read" | "media:write")[];
            /** @description A name, such as the service that uses the key. */
            name?: string | null;
            /**
             * Format: date-time
             * @description The time at which the key stops working. It cannot be later than the expiry of the credential that creates it, or than the maximum lifetime of keys in the account. Absent: as late as possible.
             */
            expires_at?: string | Date | null;
            /**
             * @description The addresses from which the key can be used, as CIDR blocks, within those of the key that creates it. Absent: the same as those.
             * @example [
             *       "192.0.2.0/24",
             *       "2001:db8::/32"
             *     ]
             */
            allowed_ips?: string[] | null;
        };
        /** @description The record of an API key, with the key itself. */
        KeyWithSecret: {
            /** @description The API key. Store it: it is shown only in this response. */
            key: string;
            /**
             * @description The id of the key.
             * @example key_01k9zs3v8mf4tb2xg1qj6n0d5c
             */
            id: string;
            /** @constant */
            object: "key";
            /** @description The id of the account. */
            account_id: string;
            /**
             * @description The environment of the record. One of `test`, `live`; new values may be added.
             * @example test
             */
            environment: "test" | "live" | (string & {});
            /** @description The name of the key. */
            name: string | null;
            /**
             * @description The beginning of the key, to tell keys apart.
             * @example gw_test_Ab3x…
             */
            hint: string;
            /** @description The permissions of the key. */
            scopes: ("messages:send" | "messages:read" | "templates:read" | "templates:write" | "webhooks:read" | "webhooks:write" | "events:read" | "keys:read" | "keys:write" | "suppressions:read" | "suppressions:write" | "usage:read" | "links:read" | "links:write" | "audit:read" | "recipients:read" | "recipients:erase" | "verifications:read" | "verifications:write" | "media:read" | "media:write" | (string & {}))[];
            /**
             * Format: date-time
             * @description The time of creation.
             */
            created_at: string;
            /**
             * Format: date-time
             * @description The time at which the key stops working. Null if it is valid until it is revoked.
             */
            expires_at: string | null;
            /**
             * Format: date-time
             * @description The time at which the key was revoked.
             */
            revoked_at: string | null;
            /**
             * Format: date-time
             * @description The time of the last use, to the minute.
             */
            last_used_at: string | null;
            /** @description The addresses from which the key can be used, as CIDR blocks. Null: any address. */
            allowed_ips: string[] | null;
            /**
             * @description The actor that created the record: the id of an API key, `cli:` with a system user, `carrier:` with a link, or `system`. Null for records of version 0.1.
             * @example key_01k9zs3v8mf4tb2xg1qj6n0d5c
             */
            created_by: string | null;
        };
        /** @description A page of a list. */
        KeyPage: {
            /** @description The records of this page, newest first unless stated otherwise. */
            data: components["schemas"]["Key"][];
            /** @description Whether there are further pages. */
            has_more: boolean;
            /** @description The `cursor` of the next page. Null on the last page. */
            next_cursor: string | null;
        };
        /** @description The record of an API key, without the key itself. */
        Key: {
            /**
             * @description The id of the key.
             * @example key_01k9zs3v8mf4tb2xg1qj6n0d5c
             */
            id: string;
            /** @constant */
            object: "key";
            /** @description The id of the account. */
            account_id: string;
            /**
             * @description The environment of the record. One of `test`, `live`; new values may be added.
             * @example test
             */
            environment: "test" | "live" | (string & {});
            /** @description The name of the key. */
            name: string | null;
            /**
             * @description The beginning of the key, to tell keys apart.
             * @example gw_test_Ab3x…
             */
            hint: string;
            /** @description The permissions of the key. */
            scopes: ("messages:send" | "messages:read" | "templates:read" | "templates:write" | "webhooks:read" | "webhooks:write" | "events:read" | "keys:read" | "keys:write" | "suppressions:read" | "suppressions:write" | "usage:read" | "links:read" | "links:write" | "audit:read" | "recipients:read" | "recipients:erase" | "verifications:read" | "verifications:write" | "media:read" | "media:write" | (string & {}))[];
            /**
             * Format: date-time
             * @description The time of creation.
             */
            created_at: string;
            /**
             * Format: date-time
             * @description The time at which the key stops working. Null if it is valid until it is revoked.
             */
            expires_at: string | null;
            /**
             * Format: date-time
             * @description The time at which the key was revoked.
             */
            revoked_at: string | null;
            /**
             * Format: date-time
             * @description The time of the last use, to the minute.
             */
            last_used_at: string | null;
            /** @description The addresses from which the key can be used, as CIDR blocks. Null: any address. */
            allowed_ips: string[] | null;
            /**
             * @description The actor that created the record: the id of an API key, `cli:` with a system user, `carrier:` with a link, or `system`. Null for records of version 0.1.
             * @example key_01k9zs3v8mf4tb2xg1qj6n0d5c
             */
            created_by: string | null;
        };
        /** @description The rotation of a key. */
        RotateKey: {
            /** @description The seconds for which the old key stays valid. Default: 86400 (a day). */
            overlap_seconds?: number | null;
        };
        /** @description The credential of a request. */
        Credential: {
            /** @constant */
            object: "credential";
            /**
             * @description The kind of credential. One of `api_key`, `access_token`; new values may be added.
             * @example api_key
             */
            type: "api_key" | "access_token" | (string & {});
            /**
             * @description The id of the key. For an access token, of the key that created it.
             * @example key_01k9zs3v8mf4tb2xg1qj6n0d5c
             */
            key_id: string;
            /** @description The id of the account. */
            account_id: string;
            /**
             * @description The environment of the record. One of `test`, `live`; new values may be added.
             * @example test
             */
            environment: "test" | "live" | (string & {});
            /** @description The name of the key. */
            name: string | null;
            /** @description The permissions of this credential. A token can have fewer than its key. */
            scopes: ("messages:send" | "messages:read" | "templates:read" | "templates:write" | "webhooks:read" | "webhooks:write" | "events:read" | "keys:read" | "keys:write" | "suppressions:read" | "suppressions:write" | "usage:read" | "links:read" | "links:write" | "audit:read" | "recipients:read" | "recipients:erase" | "verifications:read" | "verifications:write" | "media:read" | "media:write" | (string & {}))[];
            /** @description The quota of the environment, shared by all its credentials. */
            tier: {
                /**
                 * @description The name of the tier.
                 * @example sandbox
                 */
                name: string;
                /** @description The requests per second. Null on a tier without a limit. */
                requests_per_second: number | null;
                /** @description The number of requests that may arrive at once. Null on a tier without a limit. */
                burst: number | null;
            };
            /**
             * Format: date-time
             * @description The time at which the credential stops working. For a token, its own expiry or that of its key, whichever is earlier. Null for a key that is valid until it is revoked.
             */
            expires_at: string | null;
        };
        /** @description A credential of a compatible API to create. */
        NewCompatibleCredential: {
            /**
             * @description The API that the credential is for.
             * @enum {string}
             */
            source: "twilio" | "kannel";
            /** @description The user name, which no other credential of the service may have. Absent: the API chooses it, if it can. */
            user_name?: string | null;
            /** @description The password. Absent: a random one. */
            secret?: string | null;
            /** @description The permissions. A credential can grant only scopes that it has itself. Absent: those that the API needs. */
            scopes?: ("messages:send" | "messages:read" | "templates:read" | "templates:write" | "webhooks:read" | "webhooks:write" | "events:read" | "keys:read" | "keys:write" | "suppressions:read" | "suppressions:write" | "usage:read" | "links:read" | "links:write" | "audit:read" | "recipients:read" | "recipients:erase" | "verifications:read" | "verifications:write" | "media:read" | "media:write")[] | null;
            /** @description The settings of the API for this client. Each API has its own. */
            settings?: {
                [key: string]: string;
            } | null;
        };
        /** @description A credential of a compatible API, with its password. */
        CompatibleCredentialWithSecret: {
            /** @description The password. Store it: it is shown only in this response. */
            secret: string;
            /**
             * @description The id of the credential.
             * @example key_01k9zs3v8mf4tb2xg1qj6n0d5c
             */
            id: string;
            /** @constant */
            object: "compatible_credential";
            /** @description The id of the account. */
            account_id: string;
            /**
             * @description The environment of the record. One of `test`, `live`; new values may be added.
             * @example test
             */
            environment: "test" | "live" | (string & {});
            /**
             * @description The API that the credential is for. One of `twilio`, `kannel`; new values may be added.
             * @example twilio
             */
            source: "twilio" | "kannel" | (string & {});
            /** @description The user name with which the client signs in. */
            user_name: string;
            /** @description The permissions of the credential. */
            scopes: ("messages:send" | "messages:read" | "templates:read" | "templates:write" | "webhooks:read" | "webhooks:write" | "events:read" | "keys:read" | "keys:write" | "suppressions:read" | "suppressions:write" | "usage:read" | "links:read" | "links:write" | "audit:read" | "recipients:read" | "recipients:erase" | "verifications:read" | "verifications:write" | "media:read" | "media:write" | (string & {}))[];
            /** @description The settings of the API for this client. */
            settings: {
                [key: string]: string;
            };
            /** @description The id of the webhook endpoint that records the callbacks to this client. */
            endpoint_id: string;
            /**
             * Format: date-time
             * @description The time of creation.
             */
            created_at: string;
            /**
             * Format: date-time
             * @description The time at which the credential was revoked.
             */
            revoked_at: string | null;
            /**
             * Format: date-time
             * @description The time of the last use, to the minute.
             */
            last_used_at: string | null;
            /**
             * @description The actor that created the record: the id of an API key, `cli:` with a system user, `carrier:` with a link, or `system`. Null for records of version 0.1.
             * @example key_01k9zs3v8mf4tb2xg1qj6n0d5c
             */
            created_by: string | null;
        };
        /** @description A page of a list. */
        CompatibleCredentialPage: {
            /** @description The records of this page, newest first unless stated otherwise. */
            data: components["schemas"]["CompatibleCredential"][];
            /** @description Whether there are further pages. */
            has_more: boolean;
            /** @description The `cursor` of the next page. Null on the last page. */
            next_cursor: string | null;
        };
        /** @description A user name and a password for an API that is compatible with that of another product. */
        CompatibleCredential: {
            /**
             * @description The id of the credential.
             * @example key_01k9zs3v8mf4tb2xg1qj6n0d5c
             */
            id: string;
            /** @constant */
            object: "compatible_credential";
            /** @description The id of the account. */
            account_id: string;
            /**
             * @description The environment of the record. One of `test`, `live`; new values may be added.
             * @example test
             */
            environment: "test" | "live" | (string & {});
            /**
             * @description The API that the credential is for. One of `twilio`, `kannel`; new values may be added.
             * @example twilio
             */
            source: "twilio" | "kannel" | (string & {});
            /** @description The user name with which the client signs in. */
            user_name: string;
            /** @description The permissions of the credential. */
            scopes: ("messages:send" | "messages:read" | "templates:read" | "templates:write" | "webhooks:read" | "webhooks:write" | "events:read" | "keys:read" | "keys:write" | "suppressions:read" | "suppressions:write" | "usage:read" | "links:read" | "links:write" | "audit:read" | "recipients:read" | "recipients:erase" | "verifications:read" | "verifications:write" | "media:read" | "media:write" | (string & {}))[];
            /** @description The settings of the API for this client. */
            settings: {
                [key: string]: string;
            };
            /** @description The id of the webhook endpoint that records the callbacks to this client. */
            endpoint_id: string;
            /**
             * Format: date-time
             * @description The time of creation.
             */
            created_at: string;
            /**
             * Format: date-time
             * @description The time at which the credential was revoked.
             */
            revoked_at: string | null;
            /**
             * Format: date-time
             * @description The time of the last use, to the minute.
             */
            last_used_at: string | null;
            /**
             * @description The actor that created the record: the id of an API key, `cli:` with a system user, `carrier:` with a link, or `system`. Null for records of version 0.1.
             * @example key_01k9zs3v8mf4tb2xg1qj6n0d5c
             */
            created_by: string | null;
        };
        /** @description A page of a list. */
        AuditEventPage: {
            /** @description The records of this page, newest first unless stated otherwise. */
            data: components["schemas"]["AuditEvent"][];
            /** @description Whether there are further pages. */
            has_more: boolean;
            /** @description The `cursor` of the next page. Null on the last page. */
            next_cursor: string | null;
        };
        /** @description One change and its actor. */
        AuditEvent: {
            /**
             * @description The id of the entry.
             * @example aud_01k9zs3v8mf4tb2xg1qj6n0d5c
             */
            id: string;
            /** @constant */
            object: "audit_event";
            /**
             * @description The environment. Null for a change of the whole account. One of `test`, `live`; new values may be added.
             * @example test
             */
            environment: "test" | "live" | (string & {}) | null;
            /** @description The actor that made the change. */
            actor: {
                /**
                 * @description The type of the actor. An access token is recorded with its key. One of `key`, `token`, `cli`, `carrier`, `system`; new values may be added.
                 * @example key
                 */
                type: "key" | "token" | "cli" | "carrier" | "system" | (string & {});
                /**
                 * @description The id of the key or link.
                 * @example key_01k9zs3v8mf4tb2xg1qj6n0d5c
                 */
                id: string | null;
                /** @description The name of the key, of the operator's system user, or of the link. */
                name: string | null;
            };
            /**
             * @description The kind of change. One of `account.created`, `account.changed`, `compatible_credential.created`, `compatible_credential.revoked`, `consent_settings.changed`, `environment.tier_changed`, `endpoint.created`, `endpoint.changed`, `endpoint.deleted`, `endpoint.disabled`, `endpoint.recovered`, `endpoint.secret_rotated`, `key.created`, `key.rotated`, `key.revoked`, `link.created`, `link.changed`, `link.deleted`, `link.paused`, `link.resumed`, `link.tested`, `media.deleted`, `message.assigned`, `message.canceled`, `message.edited`, `message.redacted`, `message.searched`, `recipient.erased`, `recipient.exported`, `route.created`, `route.changed`, `route.deleted`, `sender.created`, `sender.changed`, `sender.deleted`, `signing_key.rotated`, `suppression.created`, `suppression.imported`, `suppression.lifted`, `template.archived`, `template.created`, `template.changed`, `tier.changed`; new values may be added.
             * @example account.created
             */
            action: "account.created" | "account.changed" | "compatible_credential.created" | "compatible_credential.revoked" | "consent_settings.changed" | "environment.tier_changed" | "endpoint.created" | "endpoint.changed" | "endpoint.deleted" | "endpoint.disabled" | "endpoint.recovered" | "endpoint.secret_rotated" | "key.created" | "key.rotated" | "key.revoked" | "link.created" | "link.changed" | "link.deleted" | "link.paused" | "link.resumed" | "link.tested" | "media.deleted" | "message.assigned" | "message.canceled" | "message.edited" | "message.redacted" | "message.searched" | "recipient.erased" | "recipient.exported" | "route.created" | "route.changed" | "route.deleted" | "sender.created" | "sender.changed" | "sender.deleted" | "signing_key.rotated" | "suppression.created" | "suppression.imported" | "suppression.lifted" | "template.archived" | "template.created" | "template.changed" | "tier.changed" | (string & {});
            /** @description The record that was changed. */
            target: {
                /**
                 * @description The type of the record. One of `account`, `compatible_credential`, `consent_settings`, `environment`, `webhook_endpoint`, `key`, `link`, `media`, `message`, `recipient`, `route`, `sender`, `signing_key`, `suppression`, `template`, `tier`; new values may be added.
                 * @example account
                 */
                type: "account" | "compatible_credential" | "consent_settings" | "environment" | "webhook_endpoint" | "key" | "link" | "media" | "message" | "recipient" | "route" | "sender" | "signing_key" | "suppression" | "template" | "tier" | (string & {});
                /** @description The id of the record. For a recipient, a keyed hash of its number. */
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
            /** @description The id of the request. */
            request_id: string | null;
            /**
             * Format: date-time
             * @description The time of the change.
             */
            created_at: string;
            /** @description The hash that links the entry to the previous ones of the account, in hexadecimal digits. Null until the entry is sealed, moments after the change. */
            hash: string | null;
        };
        /** @description A page of a list. */
        RequestPage: {
            /** @description The records of this page, newest first unless stated otherwise. */
            data: components["schemas"]["LoggedRequest"][];
            /** @description Whether there are further pages. */
            has_more: boolean;
            /** @description The `cursor` of the next page. Null on the last page. */
            next_cursor: string | null;
        };
        /** @description A request of the API, and its response. */
        LoggedRequest: {
            /**
             * @description The id of the request, as in the header `X-Request-Id`.
             * @example req_01k9zs3v8mf4tb2xg1qj6n0d5c
             */
            id: string;
            /** @constant */
            object: "request";
            /**
             * Format: date-time
             * @description The time at which the request began.
             */
            created_at: string;
            /** @description The credential of the request. */
            key: {
                /**
                 * @description The id of the key.
                 * @example key_01k9zs3v8mf4tb2xg1qj6n0d5c
                 */
                id: string;
                /** @description The name of the key at that time. */
                name: string | null;
                /**
                 * @description Whether the request had the key itself, or an access token of the key. One of `key`, `token`; new values may be added.
                 * @example key
                 */
                type: "key" | "token" | (string & {});
            };
            /**
             * @description The operation, as the OpenAPI document names it.
             * @example sendMessage
             */
            operation: string;
            /**
             * @description The method.
             * @example POST
             */
            method: string;
            /**
             * @description The path and the query. Values that may concern a person are masked.
             * @example /v1/messages
             */
            path: string;
            /**
             * @description The status of the response. 499: the client disconnected before the end of the response.
             * @example 400
             */
            status: number;
            /**
             * @description The error code. Null without an error.
             * @example invalid_request_payload
             */
            code: string | null;
            /** @description Whether the response was the stored one of the first request with the same key. */
            idempotent_replayed: boolean;
            /** @description The time from the first byte of the request to the last byte of the response. */
            duration_ms: number;
            /** @description The size of the body of the request. */
            request_bytes: number;
            /** @description The size of the body of the response. */
            response_bytes: number;
            /**
             * @description The address that the request came from.
             * @example 192.0.2.7
             */
            peer: string;
            /** @description The program that sent the request, as it named itself. */
            user_agent: string | null;
            /** @description The message that the request created or named. */
            message_id: string | null;
            /** @description The refusal, with masked numbers. Null without an error. */
            problem: {
                /** @description What was wrong. */
                detail: string;
                /** @description The first faults. */
                errors: {
                    /** @description The place in the body. */
                    pointer?: string;
                    /** @description The name of the parameter. */
                    parameter?: string;
                    /** @description The name of the header. */
                    header?: string;
                    /** @description The kind of fault. */
                    code?: string;
                    /** @description What was wrong there. */
                    detail?: string;
                }[];
            } | null;
            /**
             * @description The body of a refused request, with masked values and shortened. Null if the request was not refused, or had no JSON or more than 16 kB.
             * @example {"recipient":"[12 characters]","channel":"sms","body":"[20 characters]"}
             */
            body: string | null;
        };
        /** @description An access token. It stops working when its API key is revoked or expires. */
        AccessToken: {
            /** @description The token, an RFC 9068 JWT. Send it as `Authorization: Bearer …`. */
            access_token: string;
            /** @constant */
            token_type: "Bearer";
            /** @description The lifetime in seconds: an hour, or less if the key expires earlier. */
            expires_in: number;
            /** @description The scopes of the token, separated by spaces. */
            scope: string;
        };
        /** @description RFC 6749 §4.4.2. Other parameters are ignored. */
        TokenRequest: {
            /** @constant */
            grant_type: "client_credentials";
            /** @description The scopes of the token, separated by spaces. Default: all scopes of the key. */
            scope?: string;
            /** @description The id of the API key, if it is not sent with HTTP Basic authentication. */
            client_id?: string;
            /** @description The API key, if it is not sent with HTTP Basic authentication. */
            client_secret?: string;
        };
        /** @description The public keys of access tokens, as an RFC 7517 key set. */
        JwkSet: {
            /** @description The keys. */
            keys: {
                /** @constant */
                kty: "OKP";
                /** @constant */
                crv: "Ed25519";
                /** @description The public key, in base64url. */
                x: string;
                /** @description The RFC 7638 thumbprint of the key, which tokens have in their header. */
                kid: string;
                /** @constant */
                alg: "EdDSA";
                /** @constant */
                use: "sig";
            }[];
        };
        /** @description An error of RFC 6749 §5.2, with the members of a problem in addition. */
        OAuthError: {
            /**
             * @description The error code of RFC 6749: `invalid_request`, `invalid_client`, `invalid_scope`, `unsupported_grant_type`, `temporarily_unavailable` or `server_error`.
             * @example invalid_client
             */
            error: string;
            /** @description An explanation for people. */
            error_description: string;
            /** @description The URL of a page that explains this code. */
            type: string;
            /** @description A short summary of the code, the same for every error with this code. */
            title: string;
            /** @description The HTTP status. */
            status: number;
            /** @description An explanation of this occurrence, for people. */
            detail: string;
            /** @description The id of the request, as in the `X-Request-ID` header. */
            request_id: string;
            /** @description The stable code of the error, for decisions in programs. New codes may be added. */
            code: string;
            /** @description Every fault of the form. */
            errors?: {
                /** @description The invalid value in the body, as a JSON pointer (RFC 6901). */
                pointer: string;
                /** @description The stable code of the fault, such as `required`. */
                code: string;
                /** @description An explanation of the fault, for people. */
                detail: string;
            }[];
        };
        /** @description An error in the form of RFC 9457. See [Errors](/docs/errors). */
        Problem: {
            /** @description The URL of a page that explains this code. */
            type: string;
            /** @description A short summary of the code, the same for every error with this code. */
            title: string;
            /** @description The HTTP status. */
            status: number;
            /**
             * @description The stable code of the error, for decisions in programs. New codes may be added.
             * @example invalid_request_payload
             */
            code: "invalid_request_payload" | "invalid_idempotency_key" | "unauthorized_missing_token" | "unauthorized_invalid_token" | "forbidden_insufficient_scope" | "forbidden_address" | "key_outlives_credential" | "not_found" | "method_not_allowed" | "request_timeout" | "idempotency_conflict" | "payload_too_large" | "unsupported_media_type" | "idempotency_key_reused" | "no_route" | "destination_not_permitted" | "sender_not_allowed" | "message_not_cancelable" | "message_not_editable" | "message_not_redactable" | "template_not_found" | "template_not_approved" | "template_channel_mismatch" | "template_variables_mismatch" | "template_text_too_long" | "template_name_taken" | "template_not_editable" | "too_many_templates" | "recipient_opted_out" | "service_window_closed" | "verification_too_soon" | "verification_limit_reached" | "verification_not_pending" | "max_segments_exceeded" | "endpoint_url_refused" | "endpoint_disabled" | "too_many_keys" | "key_not_active" | "link_address_refused" | "link_in_use" | "paused_by_operator" | "already_exists" | "limit_reached" | "live_only" | "defined_in_file" | "media_kind_mismatch" | "media_fetch_failed" | "media_quota_exceeded" | "media_not_ready" | "too_many_endpoints" | "rate_limit_exceeded" | "request_header_fields_too_large" | "internal_server_error" | "service_unavailable" | (string & {});
            /** @description An explanation of this occurrence, for people. */
            detail: string;
            /** @description The id of the request, as in the `X-Request-ID` header. */
            request_id: string;
            /** @description The scopes that the credential lacks, with `forbidden_insufficient_scope`. */
            required_scopes?: string[];
            /** @description Every fault of the request. Each has one of `pointer`, `parameter` and `header`. */
            errors?: {
                /** @description The invalid value in the body, as a JSON pointer (RFC 6901). */
                pointer?: string;
                /** @description The invalid parameter of the query or the path. */
                parameter?: string;
                /** @description The invalid header. */
                header?: string;
                /** @description The stable code of the fault, such as `required`. */
                code: string;
                /** @description An explanation of the fault, for people. */
                detail: string;
            }[];
        };
    };
    responses: never;
    parameters: never;
    requestBodies: never;
    headers: {
        /**
         * @description The id of this request. Quote it when you report a problem.
         * @example req_01m7mdf0hreef9w557a2vkhnsc
         */
        "X-Request-ID": string;
        /**
         * @description The quota of the environment, such as `"sandbox";q=50;w=2`: up to q requests in w seconds. Absent on a tier without a limit. See [Rate limits](/docs/limits#rate-limits).
         * @example "sandbox";q=50;w=2
         */
        "RateLimit-Policy": string;
        /**
         * @description The remaining quota, such as `"sandbox";r=49;t=1`: r more requests now, and the full quota again in t seconds.
         * @example "sandbox";r=49;t=1
         */
        RateLimit: string;
        /**
         * @description The next page of a list, with `rel="next"`. Absent on the last page.
         * @example </v1/messages?limit=20&cursor=AQGZ…>; rel="next"
         */
        Link: string;
        /** @description The path of the created record. */
        Location: string;
        /**
         * @description `true` if this is the stored response of an earlier request with the same idempotency key.
         * @example true
         */
        "Idempotent-Replayed": string;
        /**
         * @description The number of seconds to wait before the next attempt.
         * @example 1
         */
        "Retry-After": number;
        /**
         * @description The authentication that is required: RFC 6750, and RFC 7617 where access tokens are created.
         * @example Bearer realm="godwit"
         */
        "WWW-Authenticate": string;
    };
    pathItems: never;
}
export type NewMessage = components['schemas']['NewMessage'];
export type NewContent = components['schemas']['NewContent'];
export type NewTextContent = components['schemas']['NewTextContent'];
export type NewMediaContent = components['schemas']['NewMediaContent'];
export type NewButtonsContent = components['schemas']['NewButtonsContent'];
export type NewContentHeader = components['schemas']['NewContentHeader'];
export type NewTextHeader = components['schemas']['NewTextHeader'];
export type NewMediaHeader = components['schemas']['NewMediaHeader'];
export type NewContentButton = components['schemas']['NewContentButton'];
export type NewReplyButton = components['schemas']['NewReplyButton'];
export type NewUrlButton = components['schemas']['NewUrlButton'];
export type NewPhoneButton = components['schemas']['NewPhoneButton'];
export type NewListContent = components['schemas']['NewListContent'];
export type NewLocationContent = components['schemas']['NewLocationContent'];
export type NewContactsContent = components['schemas']['NewContactsContent'];
export type NewContact = components['schemas']['NewContact'];
export type NewReactionContent = components['schemas']['NewReactionContent'];
export type NewTemplateContent = components['schemas']['NewTemplateContent'];
export type NewTemplateFile = components['schemas']['NewTemplateFile'];
export type FallbackStep = components['schemas']['FallbackStep'];
export type Message = components['schemas']['Message'];
export type Content = components['schemas']['Content'];
export type MediaContent = components['schemas']['MediaContent'];
export type ButtonsContent = components['schemas']['ButtonsContent'];
export type TextHeader = components['schemas']['TextHeader'];
export type MediaHeader = components['schemas']['MediaHeader'];
export type ContentButton = components['schemas']['ContentButton'];
export type ListContent = components['schemas']['ListContent'];
export type LocationContent = components['schemas']['LocationContent'];
export type ContactsContent = components['schemas']['ContactsContent'];
export type Contact = components['schemas']['Contact'];
export type ReactionContent = components['schemas']['ReactionContent'];
export type TemplateContent = components['schemas']['TemplateContent'];
export type ReplyContent = components['schemas']['ReplyContent'];
export type FormContent = components['schemas']['FormContent'];
export type OrderContent = components['schemas']['OrderContent'];
export type SystemContent = components['schemas']['SystemContent'];
export type UnsupportedContent = components['schemas']['UnsupportedContent'];
export type MessageValidation = components['schemas']['MessageValidation'];
export type LinkWeight = components['schemas']['LinkWeight'];
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
export type BatchPage = components['schemas']['BatchPage'];
export type Batch = components['schemas']['Batch'];
export type FetchedMedia = components['schemas']['FetchedMedia'];
export type Media = components['schemas']['Media'];
export type MediaPage = components['schemas']['MediaPage'];
export type DeletedMedia = components['schemas']['DeletedMedia'];
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
export type VerificationPage = components['schemas']['VerificationPage'];
export type EventPage = components['schemas']['EventPage'];
export type Event = components['schemas']['Event'];
export type MessageEvent = components['schemas']['MessageEvent'];
export type FallbackEvent = components['schemas']['FallbackEvent'];
export type RecipientEvent = components['schemas']['RecipientEvent'];
export type TemplateEvent = components['schemas']['TemplateEvent'];
export type BatchEvent = components['schemas']['BatchEvent'];
export type MediaEvent = components['schemas']['MediaEvent'];
export type WebhookEndpointEvent = components['schemas']['WebhookEndpointEvent'];
export type AuditLogEvent = components['schemas']['AuditLogEvent'];
export type NewWebhookEndpoint = components['schemas']['NewWebhookEndpoint'];
export type WebhookEndpointWithSecret = components['schemas']['WebhookEndpointWithSecret'];
export type Recovery = components['schemas']['Recovery'];
export type WebhookEndpointPage = components['schemas']['WebhookEndpointPage'];
export type WebhookEndpoint = components['schemas']['WebhookEndpoint'];
export type EditWebhookEndpoint = components['schemas']['EditWebhookEndpoint'];
export type DeletedWebhookEndpoint = components['schemas']['DeletedWebhookEndpoint'];
export type TestEvent = components['schemas']['TestEvent'];
export type WebhookDeliveryPage = components['schemas']['WebhookDeliveryPage'];
export type WebhookDelivery = components['schemas']['WebhookDelivery'];
export type DeliveryAttempt = components['schemas']['DeliveryAttempt'];
export type RecoverWebhookEndpoint = components['schemas']['RecoverWebhookEndpoint'];
export type NewSuppression = components['schemas']['NewSuppression'];
export type OptOut = components['schemas']['OptOut'];
export type SuppressionPage = components['schemas']['SuppressionPage'];
export type Suppression = components['schemas']['Suppression'];
export type ImportSuppressions = components['schemas']['ImportSuppressions'];
export type SuppressionImport = components['schemas']['SuppressionImport'];
export type SuppressionChangePage = components['schemas']['SuppressionChangePage'];
export type SuppressionChange = components['schemas']['SuppressionChange'];
export type ConsentSettings = components['schemas']['ConsentSettings'];
export type ConsentSettingsChange = components['schemas']['ConsentSettingsChange'];
export type RecipientRequest = components['schemas']['RecipientRequest'];
export type Erasure = components['schemas']['Erasure'];
export type Usage = components['schemas']['Usage'];
export type UsageCount = components['schemas']['UsageCount'];
export type UsageInterval = components['schemas']['UsageInterval'];
export type MediaUsage = components['schemas']['MediaUsage'];
export type Queue = components['schemas']['Queue'];
export type LinkList = components['schemas']['LinkList'];
export type Link = components['schemas']['Link'];
export type LinkQuality = components['schemas']['LinkQuality'];
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
export type NewKey = components['schemas']['NewKey'];
export type KeyWithSecret = components['schemas']['KeyWithSecret'];
export type KeyPage = components['schemas']['KeyPage'];
export type Key = components['schemas']['Key'];
export type RotateKey = components['schemas']['RotateKey'];
export type Credential = components['schemas']['Credential'];
export type NewCompatibleCredential = components['schemas']['NewCompatibleCredential'];
export type CompatibleCredentialWithSecret = components['schemas']['CompatibleCredentialWithSecret'];
export type CompatibleCredentialPage = components['schemas']['CompatibleCredentialPage'];
export type CompatibleCredential = components['schemas']['CompatibleCredential'];
export type AuditEventPage = components['schemas']['AuditEventPage'];
export type AuditEvent = components['schemas']['AuditEvent'];
export type RequestPage = components['schemas']['RequestPage'];
export type LoggedRequest = components['schemas']['LoggedRequest'];
export type AccessToken = components['schemas']['AccessToken'];
export type TokenRequest = components['schemas']['TokenRequest'];
export type JwkSet = components['schemas']['JwkSet'];
export type OAuthError = components['schemas']['OAuthError'];
export type Problem = components['schemas']['Problem'];
export type HeaderXRequestId = components['headers']['X-Request-ID'];
export type HeaderRateLimitPolicy = components['headers']['RateLimit-Policy'];
export type HeaderRateLimit = components['headers']['RateLimit'];
export type HeaderLink = components['headers']['Link'];
export type HeaderLocation = components['headers']['Location'];
export type HeaderIdempotentReplayed = components['headers']['Idempotent-Replayed'];
export type HeaderRetryAfter = components['headers']['Retry-After'];
export type HeaderWwwAuthenticate = components['headers']['WWW-Authenticate'];
export type $defs = Record<string, never>;
export interface operations {
    listMessages: {
        parameters: {
            query?: {
                /** @description The maximum number of records on the page, 1 to 100. Default: 25. */
                limit?: number;
                /** @description The `next_cursor` of the previous page. Omit it for the first page. */
                cursor?: string;
                /** @description Only messages with this status. */
                status?: "scheduled" | "queued" | "sending" | "sent" | "delivered" | "read" | "undelivered" | "failed" | "expired" | "canceled" | "received";
                /** @description Only messages of this channel. */
                channel?: "sms" | "whatsapp";
                /** @description Only messages that were sent (`outbound`) or received (`inbound`). */
                direction?: "outbound" | "inbound";
                /** @description Only records of this recipient: a phone number, or a business-scoped user id of WhatsApp. Encode the `+` of a number as `%2B`. */
                recipient?: string;
                /** @description Only messages from this sender: a number or name of yours, or the person who wrote an inbound message. Encode the `+` of a number as `%2B`. With `direction=inbound` the search uses an index. */
                sender?: string;
                /** @description Only messages with this reference of yours. */
                client_reference?: string;
                /** @description Only messages of this batch. */
                batch_id?: string;
                /** @description Only messages with this error code, such as `invalid_destination`. */
                error_code?: string;
                /** @description Only messages created after this time. */
                created_after?: string | Date;
                /** @description Only messages created before this time. */
                created_before?: string | Date;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of messages. */
            200: {
                headers: {
                    "X-Request-ID": components["headers"]["X-Request-ID"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    Link: components["headers"]["Link"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MessagePage"];
                };
            };
        };
    };
    sendMessage: {
        parameters: {
            query?: never;
            header?: {
                /** @description A version-4 UUID that you create for this request. For 24 hours, a repeated request with the same key returns the first response and has no second effect. See [Idempotency](/docs/idempotency). */
                "Idempotency-Key"?: string;
                /** @description The W3C trace that the request belongs to. It is stored with the messages, and webhook calls about them continue it. A malformed value is ignored. See [Tracing](/docs/operation#pass-your-own-trace). */
                traceparent?: string;
                /** @description Vendor-specific data of the trace, up to 512 characters, which is passed on unchanged. */
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
            /** @description The message was accepted. The body is its record. */
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
    validateMessage: {
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
            /** @description The result of the validation. */
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
    getMessage: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the message. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The message. */
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
    editMessage: {
        parameters: {
            query?: never;
            header?: {
                /** @description A version-4 UUID that you create for this request. For 24 hours, a repeated request with the same key returns the first response and has no second effect. See [Idempotency](/docs/idempotency). */
                "Idempotency-Key"?: string;
            };
            path: {
                /** @description The id of the message. */
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
            /** @description The message after the change. */
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
    cancelMessage: {
        parameters: {
            query?: never;
            header?: {
                /** @description A version-4 UUID that you create for this request. For 24 hours, a repeated request with the same key returns the first response and has no second effect. See [Idempotency](/docs/idempotency). */
                "Idempotency-Key"?: string;
            };
            path: {
                /** @description The id of the message. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The canceled message. */
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
    redactMessage: {
        parameters: {
            query?: never;
            header?: {
                /** @description A version-4 UUID that you create for this request. For 24 hours, a repeated request with the same key returns the first response and has no second effect. See [Idempotency](/docs/idempotency). */
                "Idempotency-Key"?: string;
            };
            path: {
                /** @description The id of the message. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The redacted message. */
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
    listMessageEvents: {
        parameters: {
            query?: {
                /** @description The maximum number of records on the page, 1 to 100. Default: 25. */
                limit?: number;
                /** @description The `next_cursor` of the previous page. Omit it for the first page. */
                cursor?: string;
            };
            header?: never;
            path: {
                /** @description The id of the message. */
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
                    Link: components["headers"]["Link"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TimelinePage"];
                };
            };
        };
    };
    listMessageParts: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the message. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The parts, all on one page. */
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
    listBatches: {
        parameters: {
            query?: {
                /** @description The maximum number of records on the page, 1 to 100. Default: 25. */
                limit?: number;
                /** @description The `next_cursor` of the previous page. Omit it for the first page. */
                cursor?: string;
                /** @description Only batches with this status. */
                status?: "processing" | "completed";
                /** @description Only batches that were accepted after this time. */
                created_after?: string | Date;
                /** @description Only batches that were accepted before this time. */
                created_before?: string | Date;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of batches. */
            200: {
                headers: {
                    "X-Request-ID": components["headers"]["X-Request-ID"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    Link: components["headers"]["Link"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["BatchPage"];
                };
            };
        };
    };
    sendBatch: {
        parameters: {
            query?: never;
            header?: {
                /** @description A version-4 UUID that you create for this request. For 24 hours, a repeated request with the same key returns the first response and has no second effect. See [Idempotency](/docs/idempotency). */
                "Idempotency-Key"?: string;
                /** @description The W3C trace that the request belongs to. It is stored with the messages, and webhook calls about them continue it. A malformed value is ignored. See [Tracing](/docs/operation#pass-your-own-trace). */
                traceparent?: string;
                /** @description Vendor-specific data of the trace, up to 512 characters, which is passed on unchanged. */
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
            /** @description The batch was accepted. `results` has the outcome of each item. */
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
    getBatch: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the batch. */
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
    listMedia: {
        parameters: {
            query?: {
                /** @description The maximum number of records on the page, 1 to 100. Default: 25. */
                limit?: number;
                /** @description The `next_cursor` of the previous page. Omit it for the first page. */
                cursor?: string;
                /** @description Only media of this kind. */
                kind?: "image" | "audio" | "video" | "document" | "sticker";
                /** @description Only media from this source. */
                source?: "upload" | "url" | "inbound";
                /** @description Only media with this status. */
                status?: "pending" | "ready" | "failed";
                /** @description Only media that were created after this time. */
                created_after?: string | Date;
                /** @description Only media that were created before this time. */
                created_before?: string | Date;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of media. */
            200: {
                headers: {
                    "X-Request-ID": components["headers"]["X-Request-ID"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    Link: components["headers"]["Link"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MediaPage"];
                };
            };
        };
    };
    createMedia: {
        parameters: {
            query?: {
                /** @description The kind as which the file is sent. Without it, the usual kind of its type. A file of any type can be a `document`. */
                kind?: "image" | "audio" | "video" | "document" | "sticker";
                /** @description The name of the file, which the recipient of a document sees. */
                file_name?: string;
            };
            header?: {
                /** @description A version-4 UUID that you create for this request. For 24 hours, a repeated request with the same key returns the first response and has no second effect. See [Idempotency](/docs/idempotency). */
                "Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["FetchedMedia"];
                "application/octet-stream": string;
            };
        };
        responses: {
            /** @description The file was stored. */
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
                    "application/json": components["schemas"]["Media"];
                };
            };
        };
    };
    getMedia: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the media. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The media. */
            200: {
                headers: {
                    "X-Request-ID": components["headers"]["X-Request-ID"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Media"];
                };
            };
        };
    };
    deleteMedia: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the media. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The media were deleted. */
            200: {
                headers: {
                    "X-Request-ID": components["headers"]["X-Request-ID"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DeletedMedia"];
                };
            };
        };
    };
    getMediaContent: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the media. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The bytes of the file. */
            200: {
                headers: {
                    "X-Request-ID": components["headers"]["X-Request-ID"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    [name: string]: unknown;
                };
                content: {
                    "*/*": string;
                };
            };
        };
    };
    listTemplates: {
        parameters: {
            query?: {
                /** @description The maximum number of records on the page, 1 to 100. Default: 25. */
                limit?: number;
                /** @description The `next_cursor` of the previous page. Omit it for the first page. */
                cursor?: string;
                /** @description Only templates with this status. Without it, all except archived ones. */
                status?: "draft" | "pending" | "approved" | "rejected" | "paused" | "archived";
                /** @description Only templates for this channel. */
                channel?: "sms" | "whatsapp";
                /** @description Only the template with this name. */
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
                    Link: components["headers"]["Link"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TemplatePage"];
                };
            };
        };
    };
    createTemplate: {
        parameters: {
            query?: never;
            header?: {
                /** @description A version-4 UUID that you create for this request. For 24 hours, a repeated request with the same key returns the first response and has no second effect. See [Idempotency](/docs/idempotency). */
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
            /** @description The template was created. */
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
    getTemplate: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id or the name of the template. An archived template is found only by its id. */
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
    archiveTemplate: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id or the name of the template. An archived template is found only by its id. */
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
    updateTemplate: {
        parameters: {
            query?: never;
            header?: {
                /** @description A version-4 UUID that you create for this request. For 24 hours, a repeated request with the same key returns the first response and has no second effect. See [Idempotency](/docs/idempotency). */
                "Idempotency-Key"?: string;
            };
            path: {
                /** @description The id or the name of the template. An archived template is found only by its id. */
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
    previewTemplate: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id or the name of the template. An archived template is found only by its id. */
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
            /** @description The template with its variables filled in. */
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
    listVerifications: {
        parameters: {
            query?: {
                /** @description The maximum number of records on the page, 1 to 100. Default: 25. */
                limit?: number;
                /** @description The `next_cursor` of the previous page. Omit it for the first page. */
                cursor?: string;
                /** @description Only verifications with this status. */
                status?: "pending" | "approved" | "expired" | "failed" | "canceled";
                /** @description Only records of this recipient: a phone number, or a business-scoped user id of WhatsApp. Encode the `+` of a number as `%2B`. */
                recipient?: string;
                /** @description Only verifications that were created after this time. */
                created_after?: string | Date;
                /** @description Only verifications that were created before this time. */
                created_before?: string | Date;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of verifications. */
            200: {
                headers: {
                    "X-Request-ID": components["headers"]["X-Request-ID"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    Link: components["headers"]["Link"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["VerificationPage"];
                };
            };
        };
    };
    sendVerification: {
        parameters: {
            query?: never;
            header?: {
                /** @description A version-4 UUID that you create for this request. For 24 hours, a repeated request with the same key returns the first response and has no second effect. See [Idempotency](/docs/idempotency). */
                "Idempotency-Key"?: string;
                /** @description The W3C trace that the request belongs to. It is stored with the messages, and webhook calls about them continue it. A malformed value is ignored. See [Tracing](/docs/operation#pass-your-own-trace). */
                traceparent?: string;
                /** @description Vendor-specific data of the trace, up to 512 characters, which is passed on unchanged. */
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
            /** @description The verification was created, and its code is being sent. */
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
    checkVerification: {
        parameters: {
            query?: never;
            header?: {
                /** @description A version-4 UUID that you create for this request. For 24 hours, a repeated request with the same key returns the first response and has no second effect. See [Idempotency](/docs/idempotency). */
                "Idempotency-Key"?: string;
            };
            path: {
                /** @description The id of the verification. */
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
    cancelVerification: {
        parameters: {
            query?: never;
            header?: {
                /** @description A version-4 UUID that you create for this request. For 24 hours, a repeated request with the same key returns the first response and has no second effect. See [Idempotency](/docs/idempotency). */
                "Idempotency-Key"?: string;
            };
            path: {
                /** @description The id of the verification. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The canceled verification. */
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
    getVerification: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the verification. */
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
    listEvents: {
        parameters: {
            query?: {
                /** @description The maximum number of records on the page, 1 to 100. Default: 25. */
                limit?: number;
                /** @description The `next_cursor` of the previous page. Omit it for the first page. */
                cursor?: string;
                /** @description Only events of this type, such as `message.delivered`, or all of a kind with `message.*`. */
                type?: "*" | "message.*" | "recipient.*" | "template.*" | "batch.*" | "media.*" | "endpoint.*" | "webhook.*" | "audit.*" | "message.scheduled" | "message.queued" | "message.sending" | "message.sent" | "message.delivered" | "message.read" | "message.undelivered" | "message.failed" | "message.expired" | "message.canceled" | "message.received" | "message.unrouted" | "message.fallback_started" | "recipient.opted_out" | "recipient.opted_in" | "template.approved" | "template.rejected" | "template.paused" | "batch.completed" | "media.ready" | "media.failed" | "endpoint.disabled" | "webhook.test" | "audit.created";
                /** @description Only events of this message. */
                message_id?: string;
                /** @description Only events after this time. */
                created_after?: string | Date;
                /** @description Only events before this time. */
                created_before?: string | Date;
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
                    Link: components["headers"]["Link"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EventPage"];
                };
            };
        };
    };
    streamEvents: {
        parameters: {
            query?: {
                /** @description Only events of this type, such as `message.delivered`, or all of a kind with `message.*`. */
                type?: "*" | "message.*" | "recipient.*" | "template.*" | "batch.*" | "media.*" | "endpoint.*" | "webhook.*" | "audit.*" | "message.scheduled" | "message.queued" | "message.sending" | "message.sent" | "message.delivered" | "message.read" | "message.undelivered" | "message.failed" | "message.expired" | "message.canceled" | "message.received" | "message.unrouted" | "message.fallback_started" | "recipient.opted_out" | "recipient.opted_in" | "template.approved" | "template.rejected" | "template.paused" | "batch.completed" | "media.ready" | "media.failed" | "endpoint.disabled" | "webhook.test" | "audit.created";
            };
            header?: {
                /** @description The id of the last event that you received. The stream continues after it. */
                "Last-Event-ID"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A stream of events, which does not end. */
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
    getEvent: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the event. */
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
    listWebhookEndpoints: {
        parameters: {
            query?: {
                /** @description The maximum number of records on the page, 1 to 100. Default: 25. */
                limit?: number;
                /** @description The `next_cursor` of the previous page. Omit it for the first page. */
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
                    Link: components["headers"]["Link"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhookEndpointPage"];
                };
            };
        };
    };
    createWebhookEndpoint: {
        parameters: {
            query?: never;
            header?: {
                /** @description A version-4 UUID that you create for this request. For 24 hours, a repeated request with the same key returns the first response and has no second effect. See [Idempotency](/docs/idempotency). */
                "Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewWebhookEndpoint"];
            };
        };
        responses: {
            /** @description The endpoint was created. */
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
    getWebhookEndpoint: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the endpoint. */
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
    deleteWebhookEndpoint: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the endpoint. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The endpoint was deleted. */
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
    updateWebhookEndpoint: {
        parameters: {
            query?: never;
            header?: {
                /** @description A version-4 UUID that you create for this request. For 24 hours, a repeated request with the same key returns the first response and has no second effect. See [Idempotency](/docs/idempotency). */
                "Idempotency-Key"?: string;
            };
            path: {
                /** @description The id of the endpoint. */
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["EditWebhookEndpoint"];
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
    rotateWebhookEndpointSecret: {
        parameters: {
            query?: never;
            header?: {
                /** @description A version-4 UUID that you create for this request. For 24 hours, a repeated request with the same key returns the first response and has no second effect. See [Idempotency](/docs/idempotency). */
                "Idempotency-Key"?: string;
            };
            path: {
                /** @description The id of the endpoint. */
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
    testWebhookEndpoint: {
        parameters: {
            query?: never;
            header?: {
                /** @description A version-4 UUID that you create for this request. For 24 hours, a repeated request with the same key returns the first response and has no second effect. See [Idempotency](/docs/idempotency). */
                "Idempotency-Key"?: string;
            };
            path: {
                /** @description The id of the endpoint. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The test event is being delivered. */
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
    listWebhookDeliveries: {
        parameters: {
            query?: {
                /** @description The maximum number of records on the page, 1 to 100. Default: 25. */
                limit?: number;
                /** @description The `next_cursor` of the previous page. Omit it for the first page. */
                cursor?: string;
                /** @description Only deliveries with this status. */
                status?: "pending" | "succeeded" | "failed";
            };
            header?: never;
            path: {
                /** @description The id of the endpoint. */
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
                    Link: components["headers"]["Link"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhookDeliveryPage"];
                };
            };
        };
    };
    getWebhookDelivery: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the endpoint. */
                id: string;
                /** @description The id of the delivery. */
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
    retryWebhookDelivery: {
        parameters: {
            query?: never;
            header?: {
                /** @description A version-4 UUID that you create for this request. For 24 hours, a repeated request with the same key returns the first response and has no second effect. See [Idempotency](/docs/idempotency). */
                "Idempotency-Key"?: string;
            };
            path: {
                /** @description The id of the endpoint. */
                id: string;
                /** @description The id of the delivery. */
                delivery_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The delivery, with its next attempt now. */
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
    recoverWebhookEndpoint: {
        parameters: {
            query?: never;
            header?: {
                /** @description A version-4 UUID that you create for this request. For 24 hours, a repeated request with the same key returns the first response and has no second effect. See [Idempotency](/docs/idempotency). */
                "Idempotency-Key"?: string;
            };
            path: {
                /** @description The id of the endpoint. */
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["RecoverWebhookEndpoint"];
            };
        };
        responses: {
            /** @description The endpoint, with its recovery under way. */
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
    listEventDeliveries: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the event. */
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
    listSuppressions: {
        parameters: {
            query?: {
                /** @description The maximum number of records on the page, 1 to 100. Default: 25. */
                limit?: number;
                /** @description The `next_cursor` of the previous page. Omit it for the first page. */
                cursor?: string;
                /** @description Only records of this recipient: a phone number, or a business-scoped user id of WhatsApp. Encode the `+` of a number as `%2B`. */
                recipient?: string;
                /** @description Only suppressions of exactly this sender, without those for all senders. */
                sender?: string;
                /** @description Only suppressions with this status. Default: `active`. */
                status?: "active" | "lifted";
                /** @description Only suppressions whose first opt-out was after this time. */
                created_after?: string | Date;
                /** @description Only suppressions whose first opt-out was before this time. */
                created_before?: string | Date;
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
                    Link: components["headers"]["Link"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SuppressionPage"];
                };
            };
        };
    };
    createSuppression: {
        parameters: {
            query?: never;
            header?: {
                /** @description A version-4 UUID that you create for this request. For 24 hours, a repeated request with the same key returns the first response and has no second effect. See [Idempotency](/docs/idempotency). */
                "Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewSuppression"];
            };
        };
        responses: {
            /** @description The suppression was already active and is unchanged. */
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
            /** @description The suppression is active from now on. */
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
    importSuppressions: {
        parameters: {
            query?: never;
            header?: {
                /** @description A version-4 UUID that you create for this request. For 24 hours, a repeated request with the same key returns the first response and has no second effect. See [Idempotency](/docs/idempotency). */
                "Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ImportSuppressions"];
            };
        };
        responses: {
            /** @description The result of the import. */
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
    getSuppression: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the suppression. */
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
    liftSuppression: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the suppression. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The lifted suppression. */
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
    listSuppressionHistory: {
        parameters: {
            query?: {
                /** @description The maximum number of records on the page, 1 to 100. Default: 25. */
                limit?: number;
                /** @description The `next_cursor` of the previous page. Omit it for the first page. */
                cursor?: string;
            };
            header?: never;
            path: {
                /** @description The id of the suppression. */
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
                    Link: components["headers"]["Link"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SuppressionChangePage"];
                };
            };
        };
    };
    getConsentSettings: {
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
    updateConsentSettings: {
        parameters: {
            query?: never;
            header?: {
                /** @description A version-4 UUID that you create for this request. For 24 hours, a repeated request with the same key returns the first response and has no second effect. See [Idempotency](/docs/idempotency). */
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
            /** @description The settings after the change. */
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
    eraseRecipient: {
        parameters: {
            query?: never;
            header?: {
                /** @description A version-4 UUID that you create for this request. For 24 hours, a repeated request with the same key returns the first response and has no second effect. See [Idempotency](/docs/idempotency). */
                "Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["RecipientRequest"];
            };
        };
        responses: {
            /** @description The number of erased records. */
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
    exportRecipient: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["RecipientRequest"];
            };
        };
        responses: {
            /** @description The records, one on each line. */
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
    getUsage: {
        parameters: {
            query?: {
                /** @description The start of the range: counts from the hour of this time on, or from its minute. Default: 30 days before the end, or an hour before it by minute. */
                created_after?: string | Date;
                /** @description The end of the range: counts up to the end of the hour of this time, or of its minute. A time on the full hour, or minute, is not included. Default: now. */
                created_before?: string | Date;
                /** @description The interval of each row. Default: `day`, in UTC. */
                interval?: "minute" | "hour" | "day";
                /** @description Only messages of this channel. */
                channel?: "sms" | "whatsapp";
                /** @description Only messages that have this status now. */
                status?: "scheduled" | "queued" | "sending" | "sent" | "delivered" | "read" | "undelivered" | "failed" | "expired" | "canceled" | "received";
                /** @description Only messages with this error code. */
                error_code?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The usage. */
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
    getQueue: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The depth of the queue. */
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
    listLinks: {
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
    createLink: {
        parameters: {
            query?: never;
            header?: {
                /** @description A version-4 UUID that you create for this request. For 24 hours, a repeated request with the same key returns the first response and has no second effect. See [Idempotency](/docs/idempotency). */
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
            /** @description The link was created. */
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
    getLink: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the link. */
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
    deleteLink: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the link. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The link was deleted. */
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
    updateLink: {
        parameters: {
            query?: never;
            header?: {
                /** @description A version-4 UUID that you create for this request. For 24 hours, a repeated request with the same key returns the first response and has no second effect. See [Idempotency](/docs/idempotency). */
                "Idempotency-Key"?: string;
            };
            path: {
                /** @description The id of the link. */
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
    testLink: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the link. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The result of the test. */
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
    listSenders: {
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
    createSender: {
        parameters: {
            query?: never;
            header?: {
                /** @description A version-4 UUID that you create for this request. For 24 hours, a repeated request with the same key returns the first response and has no second effect. See [Idempotency](/docs/idempotency). */
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
            /** @description The sender was created. */
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
    getSender: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the sender. */
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
    deleteSender: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the sender. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The sender was deleted. */
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
    updateSender: {
        parameters: {
            query?: never;
            header?: {
                /** @description A version-4 UUID that you create for this request. For 24 hours, a repeated request with the same key returns the first response and has no second effect. See [Idempotency](/docs/idempotency). */
                "Idempotency-Key"?: string;
            };
            path: {
                /** @description The id of the sender. */
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
    listRoutes: {
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
    createRoute: {
        parameters: {
            query?: never;
            header?: {
                /** @description A version-4 UUID that you create for this request. For 24 hours, a repeated request with the same key returns the first response and has no second effect. See [Idempotency](/docs/idempotency). */
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
            /** @description The route was created. */
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
    getRoute: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the route. */
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
    deleteRoute: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the route. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The route was deleted. */
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
    updateRoute: {
        parameters: {
            query?: never;
            header?: {
                /** @description A version-4 UUID that you create for this request. For 24 hours, a repeated request with the same key returns the first response and has no second effect. See [Idempotency](/docs/idempotency). */
                "Idempotency-Key"?: string;
            };
            path: {
                /** @description The id of the route. */
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
    listKeys: {
        parameters: {
            query?: {
                /** @description The maximum number of records on the page, 1 to 100. Default: 25. */
                limit?: number;
                /** @description The `next_cursor` of the previous page. Omit it for the first page. */
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
                    Link: components["headers"]["Link"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["KeyPage"];
                };
            };
        };
    };
    createKey: {
        parameters: {
            query?: never;
            header?: {
                /** @description A version-4 UUID that you create for this request. For 24 hours, a repeated request with the same key returns the first response and has no second effect. See [Idempotency](/docs/idempotency). */
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
            /** @description The key was created. */
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
    getKey: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the key. */
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
    revokeKey: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the key. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The revoked key. */
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
    rotateKey: {
        parameters: {
            query?: never;
            header?: {
                /** @description A version-4 UUID that you create for this request. For 24 hours, a repeated request with the same key returns the first response and has no second effect. See [Idempotency](/docs/idempotency). */
                "Idempotency-Key"?: string;
            };
            path: {
                /** @description The id of the key. */
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
    getCredential: {
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
    listCompatibleCredentials: {
        parameters: {
            query?: {
                /** @description The maximum number of records on the page, 1 to 100. Default: 25. */
                limit?: number;
                /** @description The `next_cursor` of the previous page. Omit it for the first page. */
                cursor?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of credentials. */
            200: {
                headers: {
                    "X-Request-ID": components["headers"]["X-Request-ID"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    Link: components["headers"]["Link"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CompatibleCredentialPage"];
                };
            };
        };
    };
    createCompatibleCredential: {
        parameters: {
            query?: never;
            header?: {
                /** @description A version-4 UUID that you create for this request. For 24 hours, a repeated request with the same key returns the first response and has no second effect. See [Idempotency](/docs/idempotency). */
                "Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewCompatibleCredential"];
            };
        };
        responses: {
            /** @description The credential was created. */
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
                    "application/json": components["schemas"]["CompatibleCredentialWithSecret"];
                };
            };
        };
    };
    getCompatibleCredential: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the credential. */
                id: string;
            };
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
                    "application/json": components["schemas"]["CompatibleCredential"];
                };
            };
        };
    };
    revokeCompatibleCredential: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the credential. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The revoked credential. */
            200: {
                headers: {
                    "X-Request-ID": components["headers"]["X-Request-ID"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CompatibleCredential"];
                };
            };
        };
    };
    listAuditEvents: {
        parameters: {
            query?: {
                /** @description The maximum number of records on the page, 1 to 100. Default: 25. */
                limit?: number;
                /** @description The `next_cursor` of the previous page. Omit it for the first page. */
                cursor?: string;
                /** @description Only changes by this actor: the id of a key, or a type such as `cli`. */
                actor?: string;
                /** @description Only this action, such as `key.created`, or all of a kind with `key.*`. */
                action?: string;
                /** @description Only changes of this target: its id, or a type such as `link`. */
                target?: string;
                /** @description Only changes after this time. */
                created_after?: string | Date;
                /** @description Only changes before this time. */
                created_before?: string | Date;
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
                    Link: components["headers"]["Link"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AuditEventPage"];
                };
            };
        };
    };
    listRequests: {
        parameters: {
            query?: {
                /** @description The maximum number of records on the page, 1 to 100. Default: 25. */
                limit?: number;
                /** @description The `next_cursor` of the previous page. Omit it for the first page. */
                cursor?: string;
                /** @description Only responses with this status, such as `404`, or of a kind, such as `4xx`. */
                status?: string;
                /** @description Only requests with this method. */
                method?: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
                /** @description Only requests for this operation, such as `sendMessage`. */
                operation?: string;
                /** @description Only requests that were refused with this error code. */
                code?: string;
                /** @description Only requests with this key, or with an access token of it. */
                key_id?: string;
                /** @description Only requests that created or named this message. */
                message_id?: string;
                /** @description Only requests after this time. */
                created_after?: string | Date;
                /** @description Only requests before this time. */
                created_before?: string | Date;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of requests. */
            200: {
                headers: {
                    "X-Request-ID": components["headers"]["X-Request-ID"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    Link: components["headers"]["Link"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RequestPage"];
                };
            };
        };
    };
    getRequest: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the request. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The request. */
            200: {
                headers: {
                    "X-Request-ID": components["headers"]["X-Request-ID"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LoggedRequest"];
                };
            };
        };
    };
    receiveEvent: {
        parameters: {
            query?: never;
            header: {
                /** @description The id of the event, the same for every attempt. */
                "webhook-id": string;
                /** @description The time of this attempt, in seconds since 1970. */
                "webhook-timestamp": string;
                /** @description `v1,` and the base64 HMAC-SHA256 of `id.timestamp.body`. While a secret is rotated there are two signatures, separated by a space. */
                "webhook-signature": string;
                /** @description The W3C trace of the request that sent the message, with a span for this call. Present if that request had a trace, or if the service records traces. */
                traceparent?: string;
                /** @description The `tracestate` of that request. */
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
            /** @description Your endpoint no longer exists. Godwit disables it. */
            410: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Your endpoint has received the event. Respond within 15 seconds. */
            "2XX": {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Any other response is a failed attempt. Godwit retries for several days. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
}
