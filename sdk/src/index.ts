/** The public names of the package. */
export { Godwit, type GodwitOptions } from "./client.ts";
export type { ClientCredentials, TokenSource } from "./credential.ts";
export {
  ApiError,
  ConnectionError,
  type ErrorCode,
  type Fault,
  GodwitError,
  hasCode,
  StreamConsumedError,
  TimeoutError,
} from "./errors.ts";
export { EventStream, type StreamOptions, type StreamState } from "./event-stream.ts";
export type { Hooks, RequestEvent, ResponseEvent } from "./hooks.ts";
export type { UploadOptions } from "./media.ts";
export type { BodyOf, CallOptions, OperationId, QueryOf, ResponseOf, WriteOptions } from "./operation.ts";
export { type Page, Pages, type PageWithNext } from "./pages.ts";
export { type ExportedRecord, type ExportOptions, RecipientExport } from "./recipient-export.ts";
export { type ApiResponse, Call, type RateLimit } from "./response.ts";
export type {
  AcceptedBatch,
  AuditEvent,
  Batch,
  BatchItem,
  CheckedVerification,
  CompatibleCredential,
  CompatibleCredentialWithSecret,
  components,
  // Of a message that was sent or received. Those of a request begin with New.
  Content,
  ConsentSettings,
  ConsentSettingsChange,
  Credential,
  DeliveryAttempt,
  EditLink,
  EditMessage,
  EditTemplate,
  Erasure,
  // Renamed, because a forgotten import of Event would silently mean the Event of the browser.
  Event as GodwitEvent,
  FallbackStep,
  Key,
  KeyWithSecret,
  Link,
  LinkTest,
  LoggedRequest,
  Media,
  Message,
  MessagePart,
  MessageValidation,
  NewBatch,
  NewCompatibleCredential,
  NewContent,
  NewKey,
  NewLink,
  NewMessage,
  NewTemplate,
  NewVerification,
  operations,
  Queue,
  Route,
  Sender,
  Suppression,
  SuppressionChange,
  Template,
  TemplatePreview,
  TimelineEntry,
  Usage,
  UsageCount,
  UsageInterval,
  Verification,
  WebhookDelivery,
  WebhookEndpoint,
  WebhookEndpointWithSecret,
} from "./schema.ts";
/** Idempotency keys: a new one to store with your own data, or one that is derived from your own id. */
export { idempotencyKeyFrom, newUuid as newIdempotencyKey } from "./uuid.ts";
export type { ByteStream, UploadSource } from "./upload-body.ts";
export { verifyWebhook, WebhookError, type WebhookFault, type WebhookHeaders, type WebhookOptions } from "./webhook.ts";
