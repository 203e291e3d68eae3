/** Whether a message to a recipient may be sent now: as SQL for the statements that accept and advance messages, and as a query; and the
 *  locks that keep opt-outs and sends apart. */
import { batchStatement, column } from "../database/batch.ts";
import type { Queryable, Tx } from "../database/database.ts";
import { CONSENT_LOCKS } from "../database/locks.ts";
import { prepare } from "../database/sql.ts";
import type { ConsentScope, Pair } from "./suppression.ts";

/** The reasons for which a message may not be sent, in the order of their numbers in `consentRefusal`. */
export const CONSENT_REFUSALS = ["recipient_opted_out", "service_window_closed"] as const;
export type ConsentRefusal = (typeof CONSENT_REFUSALS)[number];

const isActiveFor = (row: string, sender: string): string =>
  `coalesce((select s.is_active
                                 from suppressions s
                                where s.account_id = ${row}.account_id and s.environment = ${row}.environment
                                  and s.recipient = ${row}.recipient and s.sender = ${sender}), false)`;

/** Whether the recipient of a row with account_id, environment, recipient and sender has a suppression, for all senders or for the
 *  row's. Never null. Each look-up names the whole primary key, so that no plan turns it into a join or a hash of the table. An
 *  empty table is not queried for each row. The opt-outs of erased recipients are in a table of their own. */
export const isSuppressed = (row: string): string => `
                   (exists (select from suppressions)
                    and (${isActiveFor(row, "''")}
                      or ${isActiveFor(row, `${row}.sender`)})
                    or exists (select from erased_opt_outs)
                    and is_erased_opt_out(${row}.account_id, ${row}.environment, ${row}.recipient, ${row}.sender))`;

/** The function that finds the messages that may not be sent now, since their recipients have opted out or are about to, under locks that
 *  opt-outs take as well (`find_suppressed`). `parameters`: the lists of accounts, environments, recipients and senders. */
export const findSuppressed = (parameters: readonly string[]): string => `find_suppressed(${parameters.join(", ")})`;

/** Whether the recipient of such a row certainly has not written to its sender for 24 hours before the time `now`. Never null. A pair without
 *  a row, and a row without a sender, count as open: the carrier may know better. */
export const isWindowClosed = (row: string, now: string): string => `
                   (exists (select from service_windows)
                    and coalesce((select true
                                    from service_windows w
                                   where w.account_id = ${row}.account_id and w.environment = ${row}.environment
                                     and w.recipient = ${row}.recipient and w.sender = ${row}.sender
                                     and w.opened_at <= ${now} - interval '24 hours'), false))`;

/** The number of the reason for which a message to such a row, which also has channel, template and the time updated_at, may not be sent;
 *  null if there is none. */
export const consentRefusal = (row: string): string =>
  `case when ${isSuppressed(row)} then 0
              when ${row}.channel = 'whatsapp' and ${row}.template is null
               and ${isWindowClosed(row, `${row}.updated_at`)} then 1
         end`;

const look = prepare(`
select ${isSuppressed("message")} as is_suppressed,
       $5::boolean and ${isWindowClosed("message", "$6::timestamptz")} as is_closed
  from (select $1::uuid as account_id, $2::text as environment, $3::text as recipient, $4::text as sender) message`);

/** Why a message may not be sent at the time `nowMs`. Free text on WhatsApp needs a service window that is open, or unknown; an opt-out comes
 *  first. */
export async function findRefusal(
  db: Queryable,
  { accountId, environment, recipient, sender, isFreeWhatsApp }: Pair & { isFreeWhatsApp: boolean },
  nowMs: number,
): Promise<ConsentRefusal | undefined> {
  const [found] = await db.rows<{ is_suppressed: boolean; is_closed: boolean }>({
    ...look,
    values: [accountId, environment, recipient, sender, isFreeWhatsApp, new Date(nowMs)],
  });
  if (found?.is_suppressed === true) return "recipient_opted_out";
  return found?.is_closed === true ? "service_window_closed" : undefined;
}

const scopeColumns = [
  column<ConsentScope, "uuid">("account_id", "uuid", ({ accountId }) => accountId),
  column<ConsentScope, "text">("environment", "text", ({ environment }) => environment),
  column<ConsentScope, "text">("recipient", "text", ({ recipient }) => recipient),
];

const ENVIRONMENT_LOCK = `(${CONSENT_LOCKS.environment}, item.account_id::text || item.environment)`;
const RECIPIENT_LOCK = `(${CONSENT_LOCKS.recipient}, item.account_id::text || item.environment || item.recipient)`;

/** Takes each lock once. All transactions take them in one order, so that there is no deadlock. */
const takeLocks = (items: string, lock: string): string => `
select pg_advisory_xact_lock(purpose, number)
  from (select distinct lock.purpose, hashtext(lock.name) as number
          from ${items}
         cross join lateral (values ${lock}) as lock(purpose, name)
         order by lock.purpose, number) needed`;

const lockRecipients = batchStatement<ConsentScope>(scopeColumns, (items) => takeLocks(items, RECIPIENT_LOCK));
const lockEnvironments = batchStatement<ConsentScope>(scopeColumns, (items) => takeLocks(items, ENVIRONMENT_LOCK));

/** Waits for transactions that share the consent of these recipients, and keeps others out until this transaction has committed. */
export const lockConsent = async (tx: Tx, scopes: readonly ConsentScope[]): Promise<void> => {
  await tx.rows((scopes.length === 1 ? lockRecipients : lockEnvironments)(scopes));
};
