/** An API that is compatible with that of another product: what its folder provides for its credentials. */
import type { Fault } from "../http/problem.ts";
import type { Environment } from "../model/owner.ts";
import type { AccountId, KeyId } from "../model/id.ts";
import type { MessageSource } from "../messages/message.ts";
import type { Scope } from "../access/scope.ts";

/** The settings of a client, by the names that their API gives them. */
export type Settings = Readonly<Record<string, string>>;

/** The choices of a client for a new credential. Null: the API chooses. */
export type ChosenCredential = { userName: string | null; secret: string | null; settings: Settings; scopes: readonly Scope[] };

/** A keyed hash, which reveals nothing of the text. */
export type Mac = (text: string) => string;

type PreparedCredential = {
  userName: string;
  secret: string;
  settings: Settings;
  /** The endpoint of the outbox through which the callbacks of this client go. Its URL is empty if each message names its own. */
  callbacks: { url: string; eventTypes: readonly string[] };
};

type CredentialIds = { id: KeyId; accountId: AccountId; environment: Environment };

export type CompatibleApi = {
  source: MessageSource;
  /** The name of the product. */
  title: string;
  /** The scopes of a credential for which none are named. */
  defaultScopes: (settings: Settings) => readonly Scope[];
  /** The faults of a new credential, with pointers to `/user_name`, `/secret`, `/scopes` and `/settings/…`. */
  check: (chosen: ChosenCredential) => Fault[];
  /** Completes a new credential without faults. */
  prepare: (chosen: ChosenCredential, ids: CredentialIds, mac: Mac) => PreparedCredential;
  /** The user name of a credential whose client signs in with only a password. It changes with the secret key of the service. */
  nameOfSecret?: (secret: string, settings: Settings, mac: Mac) => string | undefined;
  /** The URLs among the settings that the service would call. */
  urls: (settings: Settings) => readonly string[];
};
