/** The APIs that are compatible with those of other products: everything that the service knows of them. */
import type { CompatibleAuthenticator } from "./compatible/authenticate.ts";
import type { CompatibleApi } from "./compatible/compatible-api.ts";
import type { Route } from "./api/route.ts";
import type { Clock } from "./database/database-clock.ts";
import type { Database } from "./database/database.ts";
import { kannelCallbacks } from "./kannel/callbacks.ts";
import { kannel } from "./kannel/kannel.ts";
import { kannelRoutes } from "./kannel/routes.ts";
import type { SetupContext } from "./links/setup.ts";
import type { SecretBox } from "./lib/secret-box.ts";
import type { Acceptor } from "./messages/accept.ts";
import type { FileServer } from "./media/serve-file.ts";
import type { MediaStore } from "./media/store.ts";
import type { MessageChanger } from "./messages/change-message.ts";
import type { Composer } from "./messages/compose.ts";
import type { AddressGate } from "./outbound/address-gate.ts";
import type { RecipientEraser } from "./recipients/erase-recipient.ts";
import { TWILIO_API } from "./twilio-api/api.ts";
import { twilioCallbacks } from "./twilio-api/callbacks.ts";
import type { Replying } from "./twilio-api/replies.ts";
import { twilioBasePaths, twilioRoutes } from "./twilio-api/routes.ts";
import type { Verifier } from "./verifications/verifier.ts";
import type { CallbackForm, CallbackForms } from "./webhooks/attempt.ts";

/** The parts that the routes of a compatible API may use. `users` authenticates their clients. */
export type CompatibleRouteParts = {
  db: Database;
  clock: Clock;
  box: SecretBox;
  gate: AddressGate;
  acceptor: Acceptor;
  setup: SetupContext;
  composer: Composer;
  messages: MessageChanger;
  eraser: RecipientEraser;
  verifier: Verifier;
  media: { store: MediaStore; files: FileServer };
  users: CompatibleAuthenticator;
};

/** The parts that callbacks may use. They run in processes with the role `webhooks`. */
type CallbackParts = {
  db: Database;
  clock: Clock;
  box: SecretBox;
  replying: Promise<Replying>;
  twilioHost: string | undefined;
};

export const COMPATIBLE_APIS: readonly CompatibleApi[] = [kannel, TWILIO_API];

/** The routes, which are not in the OpenAPI document. */
export const compatibleRoutes = (parts: CompatibleRouteParts): Route[] => [...kannelRoutes(parts), ...twilioRoutes(parts)];

/** The base paths of the host names that stand for them. */
export const basePathsOf = ({ twilioHost }: { twilioHost: string | undefined }): ReadonlyMap<string, string> => twilioBasePaths(twilioHost);

/** The forms in which the outbox calls the clients of each API. */
export const callbackForms = (parts: CallbackParts): CallbackForms =>
  new Map<string, CallbackForm>([
    ["kannel", kannelCallbacks(parts.db)],
    ["twilio", twilioCallbacks(parts)],
  ]);
