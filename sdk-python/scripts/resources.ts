/** The resources of the Python SDK: the name of each method, and the operation that it calls. The names are those of the TypeScript SDK,
 *  in snake_case. */

export type Resource = {
  name: string;
  /** `upload`: the body is a file in place of JSON. */
  methods: readonly (readonly [method: string, operationId: string, body?: "upload"])[];
  /** Conventional names of methods, each with the method that it stands for. */
  aliases?: Readonly<Record<string, string>>;
};

export const RESOURCES: readonly Resource[] = [
  {
    name: "messages",
    methods: [
      ["send", "sendMessage"],
      ["get", "getMessage"],
      ["list", "listMessages"],
      ["events", "listMessageEvents"],
      ["parts", "listMessageParts"],
      ["edit", "editMessage"],
      ["cancel", "cancelMessage"],
      ["redact", "redactMessage"],
      ["validate", "validateMessage"],
    ],
    aliases: { create: "send", update: "edit" },
  },
  {
    name: "batches",
    methods: [
      ["send", "sendBatch"],
      ["list", "listBatches"],
      ["get", "getBatch"],
    ],
    aliases: { create: "send" },
  },
  {
    name: "media",
    methods: [
      ["upload", "createMedia", "upload"],
      ["upload_from_url", "createMedia"],
      ["get", "getMedia"],
      ["list", "listMedia"],
      ["download", "getMediaContent"],
      ["delete", "deleteMedia"],
    ],
  },
  {
    name: "templates",
    methods: [
      ["create", "createTemplate"],
      ["get", "getTemplate"],
      ["list", "listTemplates"],
      ["edit", "updateTemplate"],
      ["archive", "archiveTemplate"],
      ["preview", "previewTemplate"],
    ],
    aliases: { update: "edit", delete: "archive" },
  },
  {
    name: "webhook_endpoints",
    methods: [
      ["create", "createWebhookEndpoint"],
      ["get", "getWebhookEndpoint"],
      ["list", "listWebhookEndpoints"],
      ["edit", "updateWebhookEndpoint"],
      ["delete", "deleteWebhookEndpoint"],
      ["rotate_secret", "rotateWebhookEndpointSecret"],
      ["test", "testWebhookEndpoint"],
      ["deliveries", "listWebhookDeliveries"],
      ["delivery", "getWebhookDelivery"],
      ["retry", "retryWebhookDelivery"],
      ["recover", "recoverWebhookEndpoint"],
    ],
    aliases: { update: "edit" },
  },
  {
    name: "events",
    methods: [
      ["get", "getEvent"],
      ["list", "listEvents"],
      ["deliveries", "listEventDeliveries"],
      ["stream", "streamEvents"],
    ],
  },
  {
    name: "suppressions",
    methods: [
      ["create", "createSuppression"],
      ["get", "getSuppression"],
      ["list", "listSuppressions"],
      ["lift", "liftSuppression"],
      ["history", "listSuppressionHistory"],
      // `import` is a keyword of Python.
      ["import_", "importSuppressions"],
    ],
    aliases: { delete: "lift" },
  },
  {
    name: "consent_settings",
    methods: [
      ["get", "getConsentSettings"],
      ["edit", "updateConsentSettings"],
    ],
    aliases: { update: "edit" },
  },
  {
    name: "verifications",
    methods: [
      ["create", "sendVerification"],
      ["list", "listVerifications"],
      ["get", "getVerification"],
      ["check", "checkVerification"],
      ["cancel", "cancelVerification"],
    ],
  },
  { name: "usage", methods: [["get", "getUsage"]] },
  { name: "queue", methods: [["get", "getQueue"]] },
  {
    name: "links",
    methods: [
      ["create", "createLink"],
      ["get", "getLink"],
      ["list", "listLinks"],
      ["edit", "updateLink"],
      ["delete", "deleteLink"],
      ["test", "testLink"],
    ],
    aliases: { update: "edit" },
  },
  {
    name: "senders",
    methods: [
      ["create", "createSender"],
      ["get", "getSender"],
      ["list", "listSenders"],
      ["edit", "updateSender"],
      ["delete", "deleteSender"],
    ],
    aliases: { update: "edit" },
  },
  {
    name: "routes",
    methods: [
      ["create", "createRoute"],
      ["get", "getRoute"],
      ["list", "listRoutes"],
      ["edit", "updateRoute"],
      ["delete", "deleteRoute"],
    ],
    aliases: { update: "edit" },
  },
  {
    name: "recipients",
    methods: [
      ["erase", "eraseRecipient"],
      ["export", "exportRecipient"],
    ],
  },
  {
    name: "keys",
    methods: [
      ["create", "createKey"],
      ["get", "getKey"],
      ["list", "listKeys"],
      ["rotate", "rotateKey"],
      ["revoke", "revokeKey"],
    ],
    aliases: { delete: "revoke" },
  },
  {
    name: "compatible_credentials",
    methods: [
      ["create", "createCompatibleCredential"],
      ["get", "getCompatibleCredential"],
      ["list", "listCompatibleCredentials"],
      ["revoke", "revokeCompatibleCredential"],
    ],
    aliases: { delete: "revoke" },
  },
  { name: "audit_events", methods: [["list", "listAuditEvents"]] },
  {
    name: "requests",
    methods: [
      ["list", "listRequests"],
      ["get", "getRequest"],
    ],
  },
  { name: "credential", methods: [["get", "getCredential"]] },
];
