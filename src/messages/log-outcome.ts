/** The log lines of messages that were not delivered: one for each final failure, and one for each attempt of unknown outcome. */
import { encodeId } from "../model/id.ts";
import type { Log } from "../model/log.ts";
import type { EventOf } from "../model/log-events.ts";
import type { Change } from "./change.ts";
import { isUnsuccessful, OUTCOME_UNKNOWN } from "./states.ts";

const FAILED: EventOf<"info"> = "delivery.message_failed";

/** Call after the change is committed. Writes nothing for a message that was delivered or is still on its way. */
export function logOutcome(log: Log, change: Change): void {
  const { before, after, entry } = change;
  if (after.sequence === before.sequence) {
    if (entry.type === "attempt.unknown" && !entry.isIgnored)
      log.warn({ event: "delivery.outcome_unknown", ...fieldsOf(change) }, "the outcome of an attempt is unknown, and the message is held");
    return;
  }
  if (!isUnsuccessful(after)) return;
  if (after.error?.code === OUTCOME_UNKNOWN)
    log.warn({ event: "delivery.outcome_unknown", ...fieldsOf(change) }, "a message ended with an unknown outcome");
  else log.info({ event: FAILED, ...fieldsOf(change) }, "a message failed");
}

const fieldsOf = ({ after, reference }: Change) => ({
  message_id: encodeId("msg", after.id),
  account_id: encodeId("acct", after.accountId),
  environment: after.environment,
  link: after.provider?.link ?? reference?.link ?? null,
  status: after.status,
  code: after.error?.code ?? null,
});
