/** Authenticates clients of compatible APIs by user name and password. Their results are cached as those of API keys are. User names and
 *  passwords can be made up, unlike API keys: only the names of users that exist reach the database. */
import { hash, timingSafeEqual } from "node:crypto";
import { invalidToken, type Credential } from "../access/authenticate.ts";
import type { Database } from "../database/database.ts";
import { CredentialCache, TRUST_MS, type Lookup } from "../access/credential-cache.ts";
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

const TOUCH_EVERY_MS = 60_000;
const MAX_TOUCHED = 10_000;
// With more users than that, unknown names are looked up like known ones.
const MAX_USERS = 50_000;

export const MAX_USER_NAME = 64;
export const MAX_SECRET = 128;

type Users = { names: ReadonlySet<string>; until: number };

type CompatibleAuthenticatorParts = {
  db: Database;
  /** The connections for credentials that this process has not seen before. */
  strangersDb: Database;
  box: SecretBox;
};

export class CompatibleAuthenticator {
  readonly #parts: CompatibleAuthenticatorParts;
  readonly #cache = new CredentialCache<Login, CompatibleCredential>((key, login) => this.#lookUp(key, login));
  readonly #touchedAt = new BoundedMap<string, number>(MAX_TOUCHED);
  #users: Users = { names: new Set(), until: 0 };
  #reading: Promise<Users> | undefined;

  constructor(parts: CompatibleAuthenticatorParts) {
    this.#parts = parts;
  }

  /** Returns the credential, or throws a 401 problem. Returns without a promise while the cached result is fresh. */
  authenticate(login: Login): CompatibleCredential | Promise<CompatibleCredential> {
    if (login.userName.length > MAX_USER_NAME || login.secret.length > MAX_SECRET) throw unknownUser();
    const key = loginKey(login);
    const cached = this.#cache.fresh(key, login);
    if (cached !== undefined) return cached;
    if (this.#cache.isRefused(key)) throw unknownUser();
    return this.#find(key, login);
  }

  lastEnvironmentOf(login: Login): string | undefined {
    return this.#cache.lastEnvironmentOf(loginKey(login));
  }

  /** Ends the trust in all results, after a credential was created or revoked on this node. */
  forget(): void {
    this.#cache.forget();
    this.#users = { names: this.#users.names, until: 0 };
  }

  async #find(key: string, login: Login): Promise<CompatibleCredential> {
    const found = await this.#cache.find(key, login);
    if (found === undefined) throw unknownUser();
    return found;
  }

  async #lookUp(key: string, { source, userName, secret }: Login): Promise<Lookup<CompatibleCredential>> {
    const isKnown = this.#cache.has(key);
    if (!isKnown && !(await this.#mayExist(source, userName))) return { isUnissued: true };
    const { db, strangersDb, box } = this.#parts;
    const row = await findByUser(isKnown ? db : strangersDb, source, userName);
    const isRight = row !== undefined && equal(box.open(row.secret, credentialContext(row)), secret);
    if (!isRight) return {};
    this.#touch(row);
    return { credential: toCredential(row) };
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
