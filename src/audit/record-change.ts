/** Writes a change to the audit log, in the transaction of the change. */
import { newId, toId, type AccountId } from "../model/id.ts";
import type { ChangeOrigin } from "../model/origin.ts";
import { NIL_UUID } from "../lib/uuid.ts";
import type { Tx } from "../database/database.ts";
import type { Environment } from "../model/owner.ts";
import type { AuditedChange } from "./audit-event.ts";
import { insertAuditEvent } from "./queries.ts";

/** Whose log the change belongs to. Without an environment it concerns the whole account. */
export type AuditOwner = { accountId: AccountId; environment: Environment | null };

/** Writes a change that concerns all accounts. */
export const recordInstallationChange = (tx: Tx, nowMs: number, origin: ChangeOrigin, change: AuditedChange): Promise<void> =>
  recordChange(tx, nowMs, { accountId: toId("acct", NIL_UUID), environment: null, origin }, change);

export async function recordChange(
  tx: Tx,
  nowMs: number,
  { accountId, environment, origin: { actor, peer, requestId } }: AuditOwner & { origin: ChangeOrigin },
  { action, target, changes = {} }: AuditedChange,
): Promise<void> {
  await insertAuditEvent(tx, {
    account_id: accountId,
    id: newId("aud", nowMs),
    environment,
    actor_type: actor.type,
    actor_id: actor.id,
    actor_name: actor.name,
    action,
    target_type: target.type,
    target_id: target.id,
    changes,
    peer,
    request_id: requestId,
  });
}
