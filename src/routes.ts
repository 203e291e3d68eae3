/** All routes of the API, in the order of the OpenAPI document. */
import type { KeyChanger } from "./access/change-key.ts";
import { oauthSchemes, tokenPaths, tokenSchemas } from "./access/describe-tokens.ts";
import { keyRoutes } from "./access/key-routes.ts";
import type { DocumentParts } from "./api/openapi.ts";
import type { Route } from "./api/route.ts";
import { auditRoutes } from "./audit/routes.ts";
import type { BatchAcceptor } from "./batches/accept-batch.ts";
import { batchRoutes } from "./batches/routes.ts";
import type { ConsentSettingsChanger } from "./consent/change-settings.ts";
import { suppressionRoutes } from "./consent/routes.ts";
import { consentSettingsRoutes } from "./consent/settings-routes.ts";
import type { SuppressionChanger } from "./consent/suppression-changer.ts";
import { queueRoutes } from "./delivery/routes.ts";
import { Event } from "./events/event.ts";
import { eventExample } from "./examples/events.ts";
import { EXAMPLES } from "./examples/examples.ts";
import { eventRoutes } from "./events/routes.ts";
import type { EventStreams } from "./events/stream.ts";
import { CHANNELS } from "./links/channel.ts";
import type { Acceptor } from "./messages/accept.ts";
import type { MessageChanger } from "./messages/change-message.ts";
import type { Composer } from "./messages/compose.ts";
import { messageRoutes } from "./messages/routes.ts";
import { STATUSES } from "./messages/states.ts";
import type { RecipientEraser } from "./recipients/erase-recipient.ts";
import type { RecipientExporter } from "./recipients/export-recipient.ts";
import { recipientRoutes } from "./recipients/routes.ts";
import type { LinkChanger } from "./links/link-setup.ts";
import type { LinkTester } from "./links/link-test.ts";
import type { RouteChanger } from "./links/route-setup.ts";
import { setupRoutes } from "./links/routes.ts";
import type { SenderChanger } from "./links/sender-setup.ts";
import type { Setup } from "./links/setup.ts";
import type { Database } from "./database/database.ts";
import type { Clock } from "./database/database-clock.ts";
import type { TemplateChanger } from "./templates/change-template.ts";
import { templateRoutes } from "./templates/routes.ts";
import { usageRoutes } from "./usage/routes.ts";
import { verificationRoutes } from "./verifications/routes.ts";
import type { Verifier } from "./verifications/verifier.ts";
import { VERSION } from "./version.ts";
import type { EndpointChanger } from "./webhooks/change-endpoint.ts";
import { endpointRoutes } from "./webhooks/endpoint-routes.ts";
import { webhookRoutes } from "./webhooks/routes.ts";

/** The parts of the OpenAPI document that are not routes. */
export const documentParts: DocumentParts = {
  version: VERSION,
  event: Event,
  eventExample,
  examples: EXAMPLES,
  paths: tokenPaths,
  schemas: tokenSchemas,
  securitySchemes: oauthSchemes,
  tags: {
    Messages: "Send messages, follow their status, and change, cancel or redact them. Start with [Send a message](/docs/sending).",
    Batches: "Send up to 1,000 messages in one request. See [Batches](/docs/batches).",
    Templates: "Create texts with variables, have them reviewed, and send them many times. See [Templates](/docs/templates).",
    Verifications: "Send one-time codes to phone numbers and check them. See [Verifications](/docs/verifications).",
    Events: "Read and stream the changes of messages and other records. See [Events](/docs/webhooks#events).",
    Webhooks: "Receive events at your own URLs, and inspect and retry their deliveries. See [Webhooks](/docs/webhooks).",
    "Suppressions and consent":
      "Record, import and lift opt-outs, and set opt-out words and automatic replies. See [Consent](/docs/consent).",
    Recipients: "Export or erase all data of one person. See [Export or erase a person's data](/docs/recipients).",
    Usage: "Count messages and segments, and see the depth of the queue. See [Usage](/docs/usage).",
    "Links, senders and routes":
      "Connect carriers, add the numbers from which you send, and select links by recipient. See [Connect carriers](/docs/links).",
    "Keys and tokens": "Create, rotate and revoke API keys, and create access tokens. See [Authentication and API keys](/docs/access).",
    "Audit log": "See who changed what. See [Audit log](/docs/audit).",
  },
  tagGroups: {
    Sending: ["Messages", "Batches", "Templates", "Verifications"],
    "Events and webhooks": ["Events", "Webhooks"],
    "Consent and privacy": ["Suppressions and consent", "Recipients"],
    Operation: ["Usage", "Links, senders and routes"],
    Access: ["Keys and tokens", "Audit log"],
  },
};

type RouteParts = {
  db: Database;
  clock: Clock;
  acceptor: Acceptor;
  composer: Composer;
  batches: BatchAcceptor;
  verifier: Verifier;
  messages: MessageChanger;
  endpoints: EndpointChanger;
  keys: KeyChanger;
  suppressions: SuppressionChanger;
  consentSettings: ConsentSettingsChanger;
  templates: TemplateChanger;
  streams: EventStreams;
  setup: Setup;
  links: LinkChanger;
  linkTester: LinkTester;
  senders: SenderChanger;
  routes: RouteChanger;
  eraser: RecipientEraser;
  exporter: RecipientExporter;
};

/** Builds the routes. A caller that only reads the rows, such as `scripts/openapi.ts`, may leave the parts empty. */
export const allRoutes = (parts: RouteParts): Route[] => {
  const { db, clock, acceptor, composer, batches, verifier, messages, endpoints, keys, suppressions, templates, streams } = parts;
  const { consentSettings, eraser, exporter, setup, links, linkTester: tester, senders, routes } = parts;
  return [
    ...messageRoutes({ db, acceptor, composer, changer: messages }),
    ...batchRoutes(db, batches),
    ...templateRoutes(db, templates),
    ...verificationRoutes(db, verifier),
    ...eventRoutes(db, streams),
    ...endpointRoutes(db, endpoints),
    ...webhookRoutes(db, endpoints),
    ...suppressionRoutes(db, suppressions),
    ...consentSettingsRoutes(consentSettings),
    ...recipientRoutes(eraser, exporter),
    ...usageRoutes(db, clock, { channels: CHANNELS, statuses: STATUSES }),
    ...queueRoutes(db, clock),
    ...setupRoutes({ setup, links, tester, senders, routes }),
    ...keyRoutes(db, keys),
    ...auditRoutes(db),
  ];
};
