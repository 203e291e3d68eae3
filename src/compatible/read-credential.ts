/** Reads credentials for the calls of their clients, with the secrets that sign them. */
import type { Scope } from "../access/scope.ts";
import type { Queryable } from "../database/database.ts";
import type { SecretBox } from "../lib/secret-box.ts";
import type { KeyId } from "../model/id.ts";
import type { Owner } from "../model/owner.ts";
import type { MessageSource } from "../messages/message.ts";
import { credentialContext } from "./authenticate.ts";
import type { Settings } from "./compatible-api.ts";
import { findByUser, findCompatible, type CompatibleRow } from "./queries.ts";

/** A credential with its secret in the clear. */
export type OpenedCredential = Owner & { id: KeyId; scopes: readonly Scope[]; settings: Settings; secret: string };

const opened = (box: SecretBox, row: CompatibleRow): OpenedCredential => ({
  accountId: row.account_id,
  environment: row.environment,
  id: row.id,
  scopes: row.scopes,
  settings: row.settings,
  secret: box.open(row.secret, credentialContext(row)),
});

/** The credential with an id, whether it was revoked or not. */
export async function openCredential(db: Queryable, box: SecretBox, owner: Owner, id: KeyId): Promise<OpenedCredential | undefined> {
  const row = await findCompatible(db, owner, id);
  return row && opened(box, row);
}

/** The active credential with a user name. */
export async function openCredentialOf(
  db: Queryable,
  box: SecretBox,
  source: MessageSource,
  user: string,
): Promise<OpenedCredential | undefined> {
  const row = await findByUser(db, source, user);
  return row && opened(box, row);
}

/** The client of a credential, also of a revoked one. */
export async function readClient(db: Queryable, owner: Owner, id: KeyId): Promise<{ userName: string; settings: Settings }> {
  const found = await findCompatible(db, owner, id);
  return { userName: found?.user_name ?? "", settings: found?.settings ?? {} };
}
