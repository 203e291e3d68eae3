/** The client: one object for each resource of the API. A new resource needs a file like messages.ts and two lines here. */
import { AuditEvents } from "./audit-events.ts";
import { Batches } from "./batches.ts";
import { CompatibleCredentials } from "./compatible-credentials.ts";
import { ConsentOfEnvironment } from "./consent-settings.ts";
import { Events } from "./events.ts";
import { Keys } from "./keys.ts";
import { Links } from "./links.ts";
import { Media } from "./media.ts";
import { Messages } from "./messages.ts";
import { OwnCredential } from "./own-credential.ts";
import { QueueDepth } from "./queue.ts";
import { Recipients } from "./recipients.ts";
import { RequestLog } from "./request-log.ts";
import { Routes } from "./routes.ts";
import { Senders } from "./senders.ts";
import { Suppressions } from "./suppressions.ts";
import { Templates } from "./templates.ts";
import { Transport, type TransportOptions } from "./transport.ts";
import { UsageCounts } from "./usage.ts";
import { Verifications } from "./verifications.ts";
import { WebhookEndpoints } from "./webhook-endpoints.ts";
import { Webhooks } from "./webhook.ts";

export type GodwitOptions = TransportOptions;

/** The client of a Godwit service. Create one for each credential and share it: it is safe for concurrent calls. */
export class Godwit {
  readonly messages: Messages;
  readonly batches: Batches;
  readonly media: Media;
  readonly templates: Templates;
  readonly webhookEndpoints: WebhookEndpoints;
  readonly events: Events;
  readonly suppressions: Suppressions;
  readonly consentSettings: ConsentOfEnvironment;
  readonly verifications: Verifications;
  readonly usage: UsageCounts;
  readonly queue: QueueDepth;
  readonly links: Links;
  readonly senders: Senders;
  readonly routes: Routes;
  readonly recipients: Recipients;
  readonly keys: Keys;
  readonly compatibleCredentials: CompatibleCredentials;
  readonly auditEvents: AuditEvents;
  readonly requests: RequestLog;
  readonly credential: OwnCredential;
  readonly webhooks = new Webhooks();

  /** Throws a `TypeError` that names the missing or invalid option. */
  constructor(options: GodwitOptions = {}) {
    const transport = new Transport(options);
    this.messages = new Messages(transport);
    this.batches = new Batches(transport);
    this.media = new Media(transport);
    this.templates = new Templates(transport);
    this.webhookEndpoints = new WebhookEndpoints(transport);
    this.events = new Events(transport);
    this.suppressions = new Suppressions(transport);
    this.consentSettings = new ConsentOfEnvironment(transport);
    this.verifications = new Verifications(transport);
    this.usage = new UsageCounts(transport);
    this.queue = new QueueDepth(transport);
    this.links = new Links(transport);
    this.senders = new Senders(transport);
    this.routes = new Routes(transport);
    this.recipients = new Recipients(transport);
    this.keys = new Keys(transport);
    this.compatibleCredentials = new CompatibleCredentials(transport);
    this.auditEvents = new AuditEvents(transport);
    this.requests = new RequestLog(transport);
    this.credential = new OwnCredential(transport);
  }
}
