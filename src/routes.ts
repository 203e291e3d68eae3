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
import type { LinkChanger } from "./setup/link-setup.ts";
import type { LinkTester } from "./setup/link-test.ts";
import type { RouteChanger } from "./setup/route-setup.ts";
import { setupRoutes } from "./setup/routes.ts";
import type { SenderChanger } from "./setup/sender-setup.ts";
import type { Setup } from "./setup/setup.ts";
import type { Database } from "./storage/database.ts";
import type { Clock } from "./storage/database-clock.ts";
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
  paths: tokenPaths,
  schemas: tokenSchemas,
  securitySchemes: oauthSchemes,
  tags: {
    Messages: "Send, follow, change and cancel messages.",
    Batches: "Up to a thousand messages in one request.",
    Events: "What happened, as a list and as a stream.",
    Webhooks: "Endpoints that are told what happened, and what became of telling them.",
    Keys: "API keys, and the access tokens that they buy.",
    Suppressions: "Who must not be written to.",
    Templates: "Texts with variables, and what carriers make of them.",
    Verifications: "Codes that prove a number: sent, checked, limited.",
    Links: "Connections to carriers, the senders on them, and the routes among them.",
    Recipients: "The data of one person: erase it, export it.",
    Audit: "Who changed what.",
    Usage: "Counts of messages, and what waits.",
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
    ...eventRoutes(db, streams),
    ...endpointRoutes(db, endpoints),
    ...keyRoutes(db, keys),
    ...webhookRoutes(db, endpoints),
    ...suppressionRoutes(db, suppressions),
    ...consentSettingsRoutes(consentSettings),
    ...templateRoutes(db, templates),
    ...verificationRoutes(db, verifier),
    ...setupRoutes({ setup, links, tester, senders, routes }),
    ...usageRoutes(db, clock, { channels: CHANNELS, statuses: STATUSES }),
    ...queueRoutes(db, clock),
    ...recipientRoutes(eraser, exporter),
    ...auditRoutes(db),
  ];
};
