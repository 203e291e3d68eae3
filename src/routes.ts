/** All routes of the API, in the order of the OpenAPI document. */
import type { KeyChanger } from "./access/change-key.ts";
import { keyRoutes } from "./access/key-routes.ts";
import type { Route } from "./api/route.ts";
import { auditRoutes } from "./audit/routes.ts";
import type { BatchAcceptor } from "./batches/accept-batch.ts";
import { batchRoutes } from "./batches/routes.ts";
import type { ConsentSettingsChanger } from "./consent/change-settings.ts";
import { suppressionRoutes, consentSettingsRoutes } from "./consent/routes.ts";
import type { SuppressionChanger } from "./consent/suppression-changer.ts";
import { queueRoutes } from "./delivery/routes.ts";
import { eventRoutes } from "./events/routes.ts";
import type { EventStreams } from "./events/stream.ts";
import { CHANNELS } from "./links/channel.ts";
import type { Acceptor } from "./messages/accept.ts";
import type { MessageChanger } from "./messages/change-message.ts";
import type { Composer } from "./messages/compose.ts";
import { mediaRoutes, type MediaRouteParts } from "./media/routes.ts";
import { messageRoutes } from "./messages/routes.ts";
import { STATUSES } from "./messages/states.ts";
import type { RecipientEraser } from "./recipients/erase-recipient.ts";
import type { RecipientExporter } from "./recipients/export-recipient.ts";
import { recipientRoutes } from "./recipients/routes.ts";
import type { LinkTester } from "./links/link-test.ts";
import { requestLogRoutes } from "./requests/routes.ts";
import { setupRoutes } from "./links/routes.ts";
import type { SetupContext } from "./links/setup.ts";
import type { CredentialChanger } from "./compatible/change-credential.ts";
import { compatibleCredentialRoutes } from "./compatible/credential-routes.ts";
import { compatibleRoutes, type CompatibleRouteParts } from "./compatible-apis.ts";
import type { Database } from "./database/database.ts";
import type { Clock } from "./database/database-clock.ts";
import type { TemplateChanger } from "./templates/change-template.ts";
import { templateRoutes } from "./templates/routes.ts";
import { usageRoutes } from "./usage/routes.ts";
import { verificationRoutes } from "./verifications/routes.ts";
import type { Verifier } from "./verifications/verifier.ts";
import type { EndpointChanger } from "./webhooks/change-endpoint.ts";
import { webhookRoutes } from "./webhooks/routes.ts";

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
  setup: SetupContext;
  linkTester: LinkTester;
  eraser: RecipientEraser;
  exporter: RecipientExporter;
  media: Omit<MediaRouteParts, "db">;
  compatibleCredentials: CredentialChanger;
  compatible: Pick<CompatibleRouteParts, "box" | "gate" | "users">;
};

/** Builds the routes. A caller that only reads the rows, such as `scripts/openapi/`, may leave the parts empty. */
export const allRoutes = (parts: RouteParts): Route[] => {
  const { db, clock, acceptor, composer, batches, verifier, messages, endpoints, keys, suppressions, templates, streams } = parts;
  const { consentSettings, eraser, exporter, setup, linkTester, media, compatibleCredentials, compatible } = parts;
  return [
    ...messageRoutes({ db, acceptor, composer, changer: messages }),
    ...batchRoutes(db, batches),
    ...mediaRoutes({ db, ...media }),
    ...templateRoutes(db, templates),
    ...verificationRoutes(db, verifier),
    ...eventRoutes(db, streams),
    ...webhookRoutes(db, endpoints),
    ...suppressionRoutes(db, suppressions),
    ...consentSettingsRoutes(consentSettings),
    ...recipientRoutes(eraser, exporter),
    ...usageRoutes({
      db,
      clock,
      words: { channels: CHANNELS, statuses: STATUSES },
      mediaUsage: (owner) => media.store.usage(owner),
    }),
    ...queueRoutes(db, clock),
    ...setupRoutes(setup, linkTester),
    ...keyRoutes(db, keys),
    ...compatibleCredentialRoutes(db, compatibleCredentials),
    ...auditRoutes(db),
    ...requestLogRoutes(db),
    ...compatibleRoutes({ db, clock, acceptor, setup, composer, messages, eraser, media, verifier, ...compatible }),
  ];
};
