/** Authenticates clients of compatible APIs by user name and password. Their results are cached as those of API keys are. User names and
 *  passwords can be made up, unlike API keys: only the names of users that exist reach the database. */
import { hash, timingSafeEqual } from "node:crypto";
import { invalidToken, type Credential } from "../access/authenticate.ts";
import type { Database } from "../database/database.ts";
import { BoundedMap } from "../lib/bounded-map.ts";
import type { SecretBox } from "../lib/secret-box.ts";
import { uuidToText } from "../lib/uuid.ts";
import type { MessageSource } from "../messages/message.ts";
import { idKey, type KeyId } from "../model/id.ts";
import type { Mac, Settings } from "./compatible-api.ts";
import { findByUser, listUsers, touchCredential, type ActiveCredential } from "./queries.ts";

/** The credential of a compatible API, with the settings of its client. */
export type CompatibleCredential = Credential & { source: MessageSource; userName: string; settings: Settings };

export type Login = { source: MessageSource; userName: string; secret: string };

// A revoked credential must be refused within about a second on every node.
const TRUST_MS = 1_000;
const MAX_CACHED = 10_000;
const TOUCH_EVERY_MS = 60_000;
// With more users than that, unknown names are looked up like known ones.
const MAX_USERS = 50_000;

export const MAX_USER_NAME = 64;
export const MAX_SECRET = 128;

type Cached = { credential: CompatibleCredential; until: number };
type Users = { names: ReadonlySet<string>; until: number };

type CompatibleAuthenticatorParts = {
  db: Database;
  /** The connections for credentials that this process has not seen before. */
  strangersDb: Database;
  box: SecretBox;
};

export class CompatibleAuthenticator {
  readonly #parts: CompatibleAuthenticatorParts;
  readonly #cached = new BoundedMap<string, Cached>(MAX_CACHED);
  readonly #refusedUntil = new BoundedMap<string, number>(MAX_CACHED);
  readonly #lookups = new Map<string, Promise<CompatibleCredential | undefined>>();
  readonly #touchedAt = new BoundedMap<string, number>(MAX_CACHED);
  #users: Users = { names: new Set(), until: 0 };
  #reading: Promise<Users> | undefined;

  constructor(parts: CompatibleAuthenticatorParts) {
    this.#parts = parts;
  }

  /** Returns the credential, or throws a 401 problem. Returns without a promise while the cached result is fresh. */
  authenticate(login: Login): CompatibleCredential | Promise<CompatibleCredential> {
    if (login.userName.length > MAX_USER_NAME || login.secret.length > MAX_SECRET) throw unknownUser();
    const key = loginKey(login);
    const cached = this.#cached.get(key);
    if (cached !== undefined && performance.now() < cached.until) return cached.credential;
    if (performance.now() < (this.#refusedUntil.get(key) ?? 0)) throw unknownUser();
    return this.#lookUp(key, login);
  }

  /** The environment of a credential when it was last looked up, however long ago. */
  lastEnvironmentOf(login: Login): string | undefined {
    return this.#cached.get(loginKey(login))?.credential.environmentKey;
  }

  /** Ends the trust in all results, after a credential was created or revoked on this node. */
  forget(): void {
    for (const cached of this.#cached.values()) cached.until = 0;
    this.#users = { names: this.#users.names, until: 0 };
  }

  async #lookUp(key: string, login: Login): Promise<CompatibleCredential> {
    // Concurrent requests share one lookup.
    let lookup = this.#lookups.get(key);
    if (lookup === undefined) {
      lookup = this.#find(key, login).finally(() => this.#lookups.delete(key));
      this.#lookups.set(key, lookup);
    }
    const found = await lookup;
    if (found === undefined) throw unknownUser();
    return found;
  }

  async #find(key: string, { source, userName, secret }: Login): Promise<CompatibleCredential | undefined> {
    const startedAt = performance.now();
    const isKnown = this.#cached.has(key);
    if (!isKnown && !(await this.#mayExist(source, userName))) return undefined;
    const { db, strangersDb, box } = this.#parts;
    const row = await findByUser(isKnown ? db : strangersDb, source, userName);
    const isRight = row !== undefined && equal(box.open(row.secret, credentialContext(row)), secret);
    this.#cached.delete(key);
    if (!isRight) {
      this.#refusedUntil.renew(key, startedAt + TRUST_MS);
      return undefined;
    }
    this.#touch(row);
    const credential = toCredential(row);
    this.#cached.set(key, { credential, until: startedAt + TRUST_MS });
    return credential;
  }

  /** Whether there may be a user with this name. Made-up names cost one read of all names in a second, whatever their number. */
  async #mayExist(source: MessageSource, userName: string): Promise<boolean> {
    const name = `${source} ${userName}`;
    if (this.#users.names.has(name)) return true;
    const users = performance.now() < this.#users.until ? this.#users : await this.#readUsers();
    return users.names.has(name) || users.names.size >= MAX_USERS;
  }

  #readUsers(): Promise<Users> {
    this.#reading ??= this.#read().finally(() => (this.#reading = undefined));
    return this.#reading;
  }

  async #read(): Promise<Users> {
    const until = performance.now() + TRUST_MS;
    const rows = await listUsers(this.#parts.strangersDb, MAX_USERS);
    this.#users = { names: new Set(rows.map(({ source, user_name: userName }) => `${source} ${userName}`)), until };
    return this.#users;
  }

  #touch({ account_id: accountId, environment, id }: ActiveCredential): void {
    const name = idKey(id);
    const now = performance.now();
    if (now - (this.#touchedAt.get(name) ?? -TOUCH_EVERY_MS) < TOUCH_EVERY_MS) return;
    this.#touchedAt.renew(name, now);
    void touchCredential(this.#parts.db, { accountId, environment }, id).catch(() => this.#touchedAt.delete(name));
  }
}

/** The purpose that the secret of a credential is sealed for. */
export const credentialContext = ({ id }: { id: KeyId }): string => `compatible_credential ${id.toString("hex")}`;

/** The keyed hashes for the user names of an API. */
export const macOf =
  (box: SecretBox, source: MessageSource): Mac =>
  (text) =>
    box.mac(text, `compatible user ${source}`).toString("hex");

/** No user name has a line break. */
const loginKey = ({ source, userName, secret }: Login): string => `${source} ${userName}\n${secret}`;

/** Compares in a time that depends only on the length of the given text. */
const equal = (stored: string, given: string): boolean =>
  timingSafeEqual(hash("sha256", stored, "buffer"), hash("sha256", given, "buffer"));

const unknownUser = () => invalidToken("the user name or the password is wrong, or the credential is revoked");

function toCredential(row: ActiveCredential): CompatibleCredential {
  const { requests_per_second: requestsPerSecond, burst } = row;
  return {
    accountId: row.account_id,
    keyId: row.id,
    keyName: row.user_name,
    environment: row.environment,
    environmentKey: `${uuidToText(row.account_id)}/${row.environment}`,
    scopes: new Set(row.scopes),
    tier: { name: row.tier, limit: requestsPerSecond === null || burst === null ? null : { requestsPerSecond, burst } },
    tokenExpiresAtMs: null,
    expiresAtMs: null,
    allowedIps: null,
    source: row.source,
    userName: row.user_name,
    settings: row.settings,
  };
}
