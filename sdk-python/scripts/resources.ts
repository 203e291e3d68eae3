/** The resources of the Python SDK: the name of each method, and the operation that it calls. The names are those of the TypeScript SDK,
 *  in snake_case. */

export type Resource = {
  name: string;
  methods: readonly (readonly [method: string, operationId: string])[];
  /** Conventional names of methods, each with the method that it stands for. */
  aliases?: Readonly<Record<string, string>>;
};

export const RESOURCES: readonly Resource[] = [
  {
    name: "messages",
    methods: [
      ["send", "post_messages"],
      ["get", "get_messages_id"],
      ["list", "get_messages"],
      ["events", "get_messages_id_events"],
      ["parts", "get_messages_id_parts"],
      ["edit", "patch_messages_id"],
      ["cancel", "post_messages_id_cancel"],
      ["redact", "post_messages_id_redact"],
      ["validate", "post_messages_validate"],
    ],
    aliases: { create: "send", update: "edit" },
  },
  {
    name: "batches",
    methods: [
      ["send", "post_batches"],
      ["list", "get_batches"],
      ["get", "get_batches_id"],
    ],
    aliases: { create: "send" },
  },
  {
    name: "templates",
    methods: [
      ["create", "post_templates"],
      ["get", "get_templates_id"],
      ["list", "get_templates"],
      ["edit", "patch_templates_id"],
      ["archive", "delete_templates_id"],
      ["preview", "post_templates_id_preview"],
    ],
    aliases: { update: "edit", delete: "archive" },
  },
  {
    name: "webhook_endpoints",
    methods: [
      ["create", "post_webhook_endpoints"],
      ["get", "get_webhook_endpoints_id"],
      ["list", "get_webhook_endpoints"],
      ["edit", "patch_webhook_endpoints_id"],
      ["delete", "delete_webhook_endpoints_id"],
      ["rotate_secret", "post_webhook_endpoints_id_rotate_secret"],
      ["test", "post_webhook_endpoints_id_test"],
      ["deliveries", "get_webhook_endpoints_id_deliveries"],
      ["delivery", "get_webhook_endpoints_id_deliveries_delivery_id"],
      ["retry", "post_webhook_endpoints_id_deliveries_delivery_id_retry"],
      ["recover", "post_webhook_endpoints_id_recover"],
    ],
    aliases: { update: "edit" },
  },
  {
    name: "events",
    methods: [
      ["get", "get_events_id"],
      ["list", "get_events"],
      ["deliveries", "get_events_id_deliveries"],
      ["stream", "get_events_stream"],
    ],
  },
  {
    name: "suppressions",
    methods: [
      ["create", "post_suppressions"],
      ["get", "get_suppressions_id"],
      ["list", "get_suppressions"],
      ["lift", "delete_suppressions_id"],
      ["history", "get_suppressions_id_history"],
      // `import` is a keyword of Python.
      ["import_", "post_suppressions_import"],
    ],
    aliases: { delete: "lift" },
  },
  {
    name: "consent_settings",
    methods: [
      ["get", "get_consent_settings"],
      ["edit", "patch_consent_settings"],
    ],
    aliases: { update: "edit" },
  },
  {
    name: "verifications",
    methods: [
      ["create", "post_verifications"],
      ["list", "get_verifications"],
      ["get", "get_verifications_id"],
      ["check", "post_verifications_id_check"],
      ["cancel", "post_verifications_id_cancel"],
    ],
  },
  { name: "usage", methods: [["get", "get_usage"]] },
  { name: "queue", methods: [["get", "get_queue"]] },
  {
    name: "links",
    methods: [
      ["create", "post_links"],
      ["get", "get_links_id"],
      ["list", "get_links"],
      ["edit", "patch_links_id"],
      ["delete", "delete_links_id"],
      ["test", "post_links_id_test"],
    ],
    aliases: { update: "edit" },
  },
  {
    name: "senders",
    methods: [
      ["create", "post_senders"],
      ["get", "get_senders_id"],
      ["list", "get_senders"],
      ["edit", "patch_senders_id"],
      ["delete", "delete_senders_id"],
    ],
    aliases: { update: "edit" },
  },
  {
    name: "routes",
    methods: [
      ["create", "post_routes"],
      ["get", "get_routes_id"],
      ["list", "get_routes"],
      ["edit", "patch_routes_id"],
      ["delete", "delete_routes_id"],
    ],
    aliases: { update: "edit" },
  },
  {
    name: "recipients",
    methods: [
      ["erase", "post_recipients_erase"],
      ["export", "post_recipients_export"],
    ],
  },
  {
    name: "keys",
    methods: [
      ["create", "post_keys"],
      ["get", "get_keys_id"],
      ["list", "get_keys"],
      ["rotate", "post_keys_id_rotate"],
      ["revoke", "delete_keys_id"],
    ],
    aliases: { delete: "revoke" },
  },
  { name: "audit_events", methods: [["list", "get_audit_events"]] },
  { name: "credential", methods: [["get", "get_credential"]] },
];
