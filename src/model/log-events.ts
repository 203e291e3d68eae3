/** Every event that a warning or an error in the log can have: its level, its meaning, and the operator's next step. The log accepts
 *  no other name, and docs/operation.md is generated from this table (`npm run log-events`). */

import { CARRIER_LOG_EVENTS, CHECK_DATABASE, type LogEventRow } from "./carrier-log-events.ts";

export const LOG_EVENTS = {
  ...CARRIER_LOG_EVENTS,
  "audit.seal_failed": {
    level: "error",
    meaning: "Entries of the audit log could not be added to their hash chain. The next run repeats it, and no entry is lost.",
    action: CHECK_DATABASE,
  },
  "batches.completion_failed": {
    level: "error",
    meaning: "Finished batches could not be marked as completed. The next run repeats it.",
    action: CHECK_DATABASE,
  },
  "delivery.attempt_failed": {
    level: "error",
    meaning: "An attempt ended with an error of this service. Another claim continues the message after its lease has expired.",
    action: "Check the database; report an `error` that is not of the database as a bug.",
  },
  "delivery.claim_failed": {
    level: "error",
    meaning: "A claim of due messages failed. The lane claims again within a second.",
    action: CHECK_DATABASE,
  },
  "delivery.inbound_full": {
    level: "error",
    meaning: "An inbound message that belongs to no account was refused, since 10,000 are kept already. The carrier sends it again.",
    action: "Assign the messages (`godwit inbound`), and configure a `[[sender]]` or the `inbound_account` of `link`.",
  },
  "delivery.inbound_unowned": {
    level: "warn",
    meaning: "An inbound message belongs to no account. It is kept for 30 days, and its opt-out word has taken effect.",
    action: "Assign it (`godwit inbound`), and configure a `[[sender]]` for the number or the `inbound_account` of `link`.",
  },
  "delivery.late_response_lost": {
    level: "error",
    meaning: "A carrier's response came after its time limit and could not be stored. The message keeps its unknown outcome.",
    action: "Check the database; compare the message with the carrier's own records.",
  },
  "delivery.lease_renewal_failed": {
    level: "error",
    meaning:
      "The leases of messages in hand could not be renewed. Another node may claim them; each message still leaves through one node only.",
    action: CHECK_DATABASE,
  },
  "delivery.link_throttled": {
    level: "warn",
    meaning: "The carrier asked for a lower rate. The link pauses for `ms`.",
    action: "Lower the rate of the link, or ask the carrier for a higher one, if it repeats.",
  },
  "delivery.notifications_kept": {
    level: "warn",
    meaning:
      "A carrier reported about a number of which no link is configured, and about messages that are not known. The newest 1,000 reports are kept.",
    action: "See `godwit inbound list`; configure a link for the number, or remove the number from the carrier's callback of `link`.",
  },
  "delivery.on_hold": {
    level: "warn",
    meaning:
      "The database was restored from a backup. Messages are accepted but not submitted, because waiting messages may have been sent after the backup was taken.",
    action: "Decide about the waiting messages with `godwit resume` (docs/backup.md).",
  },
  "delivery.preference_unowned": {
    level: "warn",
    meaning: "A person stopped or resumed messages in the carrier's app, and no account has the number or has sent to the person from it.",
    action: "Add a `[[sender]]` for the number on `link`.",
  },
  "delivery.receipt_forged": {
    level: "warn",
    meaning: "A text that looks like a receipt, without a mark of the carrier, is about a message to somebody else. It changed no message.",
    action: "Nothing, where a person tried it. Otherwise ask the carrier of `link` to mark its receipts (`esm_class` 4).",
  },
  "delivery.receipt_match_failed": {
    level: "error",
    meaning: "Parked delivery receipts could not be matched with their messages. The search is repeated.",
    action: CHECK_DATABASE,
  },
  "delivery.receipt_unmatched": {
    level: "warn",
    meaning: "A delivery receipt has matched no message for a minute, or more than one. It stays parked for three days.",
    action: "Compare `provider_message_id` with the ids of messages on `link`. If their form differs, set `receipt_ids` of the link.",
  },
  "delivery.release_failed": {
    level: "error",
    meaning: "Claimed messages could not be returned to the queue. They are due again when their leases have expired.",
    action: CHECK_DATABASE,
  },
  "delivery.task_failed": {
    level: "error",
    meaning: "A background task of delivery failed (scheduling, failover, fallback, expiry). It runs again within a second.",
    action: CHECK_DATABASE,
  },
  "http.connection_refused": {
    level: "warn",
    meaning: "A connection came from an address that is not a trusted proxy, and was closed.",
    action: "Add `peer` to `GODWIT_TRUSTED_PROXIES` if it is your proxy; else block it in the firewall.",
  },
  "http.request_failed": {
    level: "error",
    meaning: "A request got a response of the 500s because of an error. The client may send it again with the same idempotency key.",
    action: "Check the database for `service_unavailable`; report `internal_server_error` as a bug, with `error`.",
  },
  "http.stream_failed": {
    level: "error",
    meaning:
      "A streaming response ended with an error. A reader of events reconnects and continues after its last event; an export lacks its last line.",
    action: CHECK_DATABASE,
  },
  "http.tls_key_shared": {
    level: "warn",
    meaning: "The group of the file may read the private key of the certificate. A key that every user may read is refused.",
    action: "Set its mode to 0600, or make sure that the group has no other members.",
  },
  "log.lines_dropped": {
    level: "warn",
    meaning: "The reader of standard output was too slow, and `writes` blocks of log lines were dropped.",
    action: "Check the log collector.",
  },
  "retention.cleanup_failed": {
    level: "error",
    meaning:
      "Old rows of the table that `error` names could not be deleted. The next run, after a minute, repeats it; old rows have no effect.",
    action: CHECK_DATABASE,
  },
  "retention.drop_failed": {
    level: "error",
    meaning: "Old weeks could not be dropped. The next run follows in ten minutes.",
    action: CHECK_DATABASE,
  },
  "retention.stuck_finished": {
    level: "warn",
    meaning: "Messages that were still open 30 days after their retention had ended were finished, so that their week can be dropped.",
    action: "Report it as a bug, with the states of these messages from an earlier backup, unless rows were changed by hand.",
  },
  "retention.week_in_use": {
    level: "warn",
    meaning: "An old week was not dropped: other sessions use its tables. The next run follows in ten minutes.",
    action: "End transactions that stay open; a backup ends by itself.",
  },
  "retention.weeks_kept": {
    level: "warn",
    meaning: "Old weeks were kept, since they have unfinished messages.",
    action: "Cancel messages that are not needed any more; a week is dropped after its last message has ended.",
  },
  "service.reload_failed": {
    level: "warn",
    meaning:
      "A reload (`SIGHUP`) found a fault, which the message contains. The certificate, or the links, senders and routes, stay as they were.",
    action: "Correct the fault and reload again. `godwit config check` reports all faults of the configuration file.",
  },
  "service.reload_unreadable": {
    level: "warn",
    meaning:
      "The service was started as root and has dropped its privileges; its user cannot read `path`, which a reload (`SIGHUP`) reads.",
    action: "Make the file and its folders readable for `user`, or restart the service in place of a reload.",
  },
  "service.runs_as_root": {
    level: "warn",
    meaning: "The service was started as root and could not drop its privileges, for the given `reason`.",
    action: "Start it as an ordinary user, or put the program and the data directory where the user `godwit` can reach them.",
  },
  "service.worker_ended": {
    level: "error",
    meaning: "A worker, a process of this service, ended unexpectedly. It is started again; the others have its work until then.",
    action: "Look at the lines before it. Report it with them if the machine did not end it for lack of memory.",
  },
  "storage.clock_step": {
    level: "warn",
    meaning:
      "The clock of the database made a step of `step_ms` that the clock of this machine does not confirm. The service continues with the time as it was, until both clocks agree or the step is undone. At a start: the other nodes do not follow the step, or the clock of this machine is much nearer to the time that the service last stored.",
    action: "Compare both clocks with the right time, and correct the wrong one (NTP).",
  },
  "storage.disk_full": {
    level: "error",
    meaning: "The disk of the embedded database is full. Requests get 503 and nothing that was accepted is lost.",
    action: "Make room on the disk, or lower `GODWIT_RETENTION_DAYS`. The service recovers by itself.",
  },
  "storage.durability_off": {
    level: "warn",
    meaning: "The database may lose committed transactions in a crash: the settings in `off` are switched off.",
    action: "Switch the settings on.",
  },
  "storage.listen_failed": {
    level: "warn",
    meaning: "The database connection that listens for new work failed. Logged once until it succeeds; this node polls once a second.",
    action: "Check the database and the pooler: `LISTEN` needs a session of its own.",
  },
  "storage.notify_failed": {
    level: "warn",
    meaning: "Other nodes could not be notified of new work. Logged once until it succeeds; they poll once a second.",
    action: CHECK_DATABASE,
  },
  "storage.partitions_failed": {
    level: "error",
    meaning: "The partitions of the coming weeks could not be created. There is a month until the first is needed.",
    action: "Check the database, and that its role owns the tables. The next attempt follows in six hours.",
  },
  "storage.postgres_log": {
    level: "warn",
    meaning: "A line of the embedded PostgreSQL's own log, in `postgres`, of level WARNING or higher.",
    action: "Act on the line: a full disk, a crash, a damaged file.",
  },
  "storage.stray_rows_moved": {
    level: "warn",
    meaning:
      "Rows of a week were in the default partition, and were moved to the `partition` of their week. A wrong clock puts rows there.",
    action: "Check the clock of the database's machine.",
  },
  "storage.week_skipped": {
    level: "warn",
    meaning: "The `partition` of a week was not created, because the default partition has too many `rows` of that week to move them.",
    action: "Nothing is lost: rows of that week stay in the default partition. Move them by hand in a quiet hour.",
  },
  "templates.claim_not_renewed": {
    level: "warn",
    meaning: "The claim of a business account could not be renewed during a sync. Another node continues it if it expires.",
    action: CHECK_DATABASE,
  },
  "templates.list_truncated": {
    level: "warn",
    meaning: "A business account has more templates than one sync reads. The rest is not imported.",
    action: "Delete unused templates at the carrier.",
  },
  "templates.list_unreadable": {
    level: "warn",
    meaning: "Some entries in the carrier's list of templates could not be read, and were skipped.",
    action: "Report it as a bug, with the version of the carrier's API.",
  },
  "templates.removal_refused": {
    level: "warn",
    meaning: "The carrier refused to delete a template that is archived here.",
    action: "Delete it at the carrier.",
  },
  "templates.sync_failed": {
    level: "error",
    meaning: "A sync of templates ended with an error of this service. It is repeated.",
    action: CHECK_DATABASE,
  },
  "templates.sync_not_requested": {
    level: "warn",
    meaning: "An early sync of templates could not be requested. The next regular one follows within ten minutes.",
    action: CHECK_DATABASE,
  },
  "templates.sync_refused": {
    level: "warn",
    meaning: "The carrier did not allow a sync of templates: `unavailable`, `throttled` or `blocked`. Logged when `reason` changes.",
    action: "For `blocked`, act on `reason` at the carrier; the others pass.",
  },
  "tracing.export_failed": {
    level: "warn",
    meaning: "Spans could not be sent to the collector. Logged once until it succeeds.",
    action: "Check the collector and `OTEL_EXPORTER_OTLP_ENDPOINT`.",
  },
  "tracing.spans_dropped": {
    level: "warn",
    meaning: "Spans were dropped: the collector refused them, or too many waited. Logged once until an export succeeds.",
    action: "Check the collector; `godwit_spans_total` counts them.",
  },
  "usage.fold_failed": {
    level: "error",
    meaning: "Counts of usage could not be folded into hours and minutes. The next run follows in two seconds; no count is lost.",
    action: CHECK_DATABASE,
  },
  "webhooks.attempt_failed": {
    level: "error",
    meaning: "A webhook delivery ended with an error of this service. It is due again when its lease has expired.",
    action: "Check the database; report an `error` that is not of the database as a bug.",
  },
  "webhooks.claim_failed": {
    level: "error",
    meaning: "A claim of due webhook deliveries failed. The worker claims again within a second.",
    action: CHECK_DATABASE,
  },
  "webhooks.disable_failed": {
    level: "error",
    meaning: "An endpoint that fails for too long could not be disabled. The next failure repeats it.",
    action: CHECK_DATABASE,
  },
  "webhooks.endpoint_disabled": {
    level: "warn",
    meaning:
      "An endpoint was disabled: it failed for too long, or responded with 410. The other endpoints of its account get the event `endpoint.disabled`.",
    action: "None, unless the endpoint is yours.",
  },
  "webhooks.release_failed": {
    level: "error",
    meaning: "Claimed webhook deliveries could not be returned to the queue. They are due again when their leases have expired.",
    action: CHECK_DATABASE,
  },
  "webhooks.settle_failed": {
    level: "error",
    meaning: "The result of a webhook delivery could not be stored. The endpoint is called again for it.",
    action: CHECK_DATABASE,
  },
  "webhooks.worker_failed": {
    level: "error",
    meaning: "A background task of the webhook worker failed. It runs again within a second.",
    action: CHECK_DATABASE,
  },
} as const satisfies Readonly<Record<string, LogEventRow>>;

export type LogEvent = keyof typeof LOG_EVENTS;
/** The events of one level. */
export type EventOf<Level extends LogEventRow["level"]> = {
  [Event in LogEvent]: (typeof LOG_EVENTS)[Event]["level"] extends Level ? Event : never;
}[LogEvent];
