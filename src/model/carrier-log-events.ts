/** The log events about links and connections to carriers, a part of the table in log-events.ts. */

export type LogEventRow = { level: "warn" | "error"; meaning: string; action: string };

// Most errors are a database that does not respond.
export const CHECK_DATABASE = "Check the database.";

export const CARRIER_LOG_EVENTS = {
  "links.close_failed": {
    level: "error",
    meaning: "A link could not be closed in the way its protocol prescribes. The connection is dropped.",
    action: "None, unless the carrier counts the old connection: then ask the carrier to close it.",
  },
  "links.created_refused": {
    level: "warn",
    meaning:
      "A link that an account created is not opened: this version cannot read it, or its address is no longer allowed. `fault` has the cause.",
    action: "Allow its network (GODWIT_WEBHOOK_ALLOW), or ask the account to change the link.",
  },
  "links.created_unread": {
    level: "error",
    meaning: "The links, senders and routes that accounts created could not be read or opened. The ones before stay in use.",
    action: CHECK_DATABASE,
  },
  "links.interrupted": {
    level: "warn",
    meaning: "An HTTP link sends nothing for now: the carrier is unreachable or asked for a lower rate. `reason` tells which.",
    action: "Check the network and the carrier's status if it does not end; messages wait or take another link.",
  },
  "links.lease_failed": {
    level: "error",
    meaning:
      "The lease of a link could not be taken or renewed. Logged once until it succeeds; this node does not open the link meanwhile.",
    action: CHECK_DATABASE,
  },
  "links.lease_lost": {
    level: "warn",
    meaning: "The lease of a link expired before it was renewed. This node closes the link, and another node may open it.",
    action: "Check the database, and whether this process was stopped or starved of CPU.",
  },
  "links.open_failed": {
    level: "error",
    meaning: "A link could not be opened. The next attempt follows in seconds.",
    action: "Check the settings of the link; `error` has the cause.",
  },
  "links.paused": {
    level: "error",
    meaning: "The carrier refuses everything on a link: credentials, account or configuration. Messages wait or take another link.",
    action: "Act on `reason` and `code`, at the carrier or in the configuration; the link continues by itself.",
  },
  "links.state_report_failed": {
    level: "error",
    meaning: "The state of this node's links could not be written. `GET /v1/links` and failover see them as down after some seconds.",
    action: CHECK_DATABASE,
  },
  "providers.receive_failed": {
    level: "warn",
    meaning: "Delivery receipts or inbound messages of a carrier could not be fetched or stored. The carrier sends them again.",
    action: CHECK_DATABASE,
  },
  "providers.receive_timed_out": {
    level: "warn",
    meaning: "Delivery receipts or inbound messages of a carrier were not stored in time. The carrier sends them again.",
    action: "Check the load of the database if it repeats.",
  },
  "providers.signature_invalid": {
    level: "warn",
    meaning: "A request to a carrier's webhook had a wrong signature, and was refused.",
    action: "Compare the secret of the link with the carrier's, and the public URL with the one that the carrier calls.",
  },
  "simulator.reports_dropped": {
    level: "warn",
    meaning: "The simulator closed with delivery receipts or replies that could not be stored. It concerns test messages only.",
    action: "None.",
  },
  "smpp.bind_refused": {
    level: "error",
    meaning: "The carrier refuses the bind with `status`. The next attempt follows in about five minutes.",
    action: "Check `system_id` and password, and with the carrier whether the account is open.",
  },
  "smpp.malformed_pdu": {
    level: "warn",
    meaning: "The carrier sent a PDU that could not be read. After a wrong length the session ends and binds again.",
    action: "Show `reason` to the carrier if it repeats.",
  },
  "smpp.not_bound": {
    level: "warn",
    meaning: "The link is not bound: no connection, or the session ended. It binds again after a growing pause.",
    action: "Check the network and the carrier's status if `failures` grows.",
  },
  "smpp.receipt_without_id": {
    level: "warn",
    meaning: "A delivery receipt names no message, and was dropped.",
    action: "Ask the carrier for receipts with a message id.",
  },
  "smpp.unexpected_response": {
    level: "warn",
    meaning: "The carrier sent a response to no request, or later than its time limit.",
    action: "Ask the carrier about its response times if it repeats.",
  },
} as const satisfies Readonly<Record<string, LogEventRow>>;
