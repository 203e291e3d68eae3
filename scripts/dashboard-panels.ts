/** The panels of the Grafana dashboard, one row each, with the metrics that they read. dashboard.ts generates the JSON. */
import { each, perSecond, quantile, SELECTED, shared, spread, total, type Query } from "./dashboard-queries.ts";

export type Panel = {
  title: string;
  /** The description that Grafana shows at the corner of the panel. */
  help: string;
  unit: string;
  queries: readonly Query[];
  kind?: "timeseries" | "stat" | "state-timeline";
  isStacked?: true;
};
type Section = { title: string; panels: readonly Panel[] };

export const SECTIONS: readonly Section[] = [
  {
    title: "At a glance",
    panels: [
      {
        title: "Nodes",
        help: "Processes that answer Prometheus, by version.",
        unit: "short",
        kind: "stat",
        queries: [[`count by (version) (godwit_info{${SELECTED}})`, "{{version}}"]],
      },
      {
        title: "Accepted",
        help: "Messages answered with 202, a second.",
        unit: "ops",
        kind: "stat",
        queries: [[total("godwit_accept_batch_size_sum"), "messages"]],
      },
      {
        title: "Delivered",
        help: "Messages whose carrier said that they arrived, a second.",
        unit: "ops",
        kind: "stat",
        queries: [[total("godwit_transitions_total", 'status="delivered"'), "messages"]],
      },
      {
        title: "Oldest due message",
        help: "For how long the message has waited that should have left first.",
        unit: "s",
        kind: "stat",
        queries: [[shared("godwit_queue_oldest_due_seconds"), "waits"]],
      },
      {
        title: "Oldest due webhook",
        help: "For how long the delivery has waited that should have been made first.",
        unit: "s",
        kind: "stat",
        queries: [[shared("godwit_webhook_queue_oldest_due_seconds"), "waits"]],
      },
      {
        title: "Links that take nothing",
        help: "Links that no node has connected.",
        unit: "short",
        kind: "stat",
        queries: [
          [`count(max by (link) (godwit_link_state{${SELECTED},source="file",state=~"connected|throttled"}) == 0) or vector(0)`, "links"],
        ],
      },
    ],
  },
  {
    title: "Accepting",
    panels: [
      {
        title: "Messages accepted",
        help: "Messages that were committed, a second, by node.",
        unit: "ops",
        isStacked: true,
        queries: [[perSecond("godwit_accept_batch_size_sum", "instance"), "{{instance}}"]],
      },
      { title: "Time of a commit", help: "How long the group commit took.", unit: "s", queries: spread("godwit_accept_commit_seconds") },
      {
        title: "Messages in a commit",
        help: "More messages share a commit as the load grows.",
        unit: "short",
        queries: [[`${total("godwit_accept_batch_size_sum")} / ${total("godwit_accept_batch_size_count")}`, "mean"]],
      },
      {
        title: "Waiting for a commit",
        help: "Past 4,000 a node answers 503.",
        unit: "short",
        queries: [[each("godwit_accept_waiting"), "{{instance}}"]],
      },
      {
        title: "Rate limiting and replays",
        help: "Requests refused with 429, and requests answered from a stored answer.",
        unit: "reqps",
        queries: [
          [total("godwit_quota_refusals_total"), "refused with 429"],
          [total("godwit_idempotent_replays_total"), "replayed"],
        ],
      },
      {
        title: "Rejected by a budget",
        help: "Connections and requests that exceeded a budget for connections or bodies, a second, by its name.",
        unit: "ops",
        isStacked: true,
        queries: [[perSecond("godwit_http_rejected_total", "reason"), "{{reason}}"]],
      },
    ],
  },
  {
    title: "HTTP",
    panels: [
      {
        title: "Requests by status",
        help: "499 is a client that left before its answer.",
        unit: "reqps",
        isStacked: true,
        queries: [[perSecond("godwit_http_requests_total", "status"), "{{status}}"]],
      },
      {
        title: "Audit log",
        help: "Changes of keys, endpoints, templates, suppressions and accounts, by action.",
        unit: "short",
        queries: [[perSecond("godwit_audit_events_total", "action"), "{{action}}"]],
      },
      {
        title: "Failed authentications",
        help: "Requests without a valid credential, by error code. The request log has their peers.",
        unit: "reqps",
        queries: [[perSecond("godwit_authentication_failures_total", "code"), "{{code}}"]],
      },
      {
        title: "Share of server errors",
        help: "Answers of 500 and more, of all answers.",
        unit: "percentunit",
        queries: [[`${total("godwit_http_requests_total", 'status=~"5.."')} / ${total("godwit_http_requests_total")}`, "5xx"]],
      },
      {
        title: "Time of POST /v1/messages",
        help: "From the first byte of the request to the last of the answer.",
        unit: "s",
        queries: [0.5, 0.95, 0.99].map((share): Query => [
          quantile(share, "godwit_http_request_seconds", "le", 'route="/v1/messages",method="POST"'),
          `${share * 100} %`,
        ]),
      },
      {
        title: "Slowest routes",
        help: "The five routes whose 99th percentile is the longest.",
        unit: "s",
        queries: [[`topk(5, ${quantile(0.99, "godwit_http_request_seconds", "le, route, method")})`, "{{method}} {{route}}"]],
      },
    ],
  },
  {
    title: "Delivery",
    panels: [
      {
        title: "Changes by status",
        help: "What messages became, a second.",
        unit: "ops",
        queries: [[perSecond("godwit_transitions_total", "status"), "{{status}}"]],
      },
      {
        title: "Tries at carriers",
        help: "By link and by what became of them. Unknown: nobody can say whether it left.",
        unit: "ops",
        queries: [[perSecond("godwit_attempts_total", "link, outcome"), "{{link}} {{outcome}}"]],
      },
      {
        title: "Time to hand-over",
        help: "From the moment a message was to be sent to its first hand-over to a carrier.",
        unit: "s",
        queries: [0.5, 0.99].map((share): Query => [quantile(share, "godwit_handover_seconds", "le, link"), `{{link}} ${share * 100} %`]),
      },
      {
        title: "Time to delivered",
        help: "From the moment a message was to be sent to its carrier's word that it was delivered.",
        unit: "s",
        queries: [0.5, 0.95].map((share): Query => [quantile(share, "godwit_delivered_seconds", "le, link"), `{{link}} ${share * 100} %`]),
      },
      {
        title: "Queue",
        help: "Messages in the queue, by lane; scheduled ones as well.",
        unit: "short",
        queries: [[shared("godwit_queue_depth", "lane"), "{{lane}}"]],
      },
      {
        title: "Oldest due",
        help: "For how long the oldest due message of a lane has waited.",
        unit: "s",
        queries: [[shared("godwit_queue_oldest_due_seconds", "lane"), "{{lane}}"]],
      },
      {
        title: "In hand, and held",
        help: "In hand: claimed by a node and not settled. Held: of unknown outcome, never sent again blindly.",
        unit: "short",
        queries: [
          [`sum by (link) (godwit_messages_in_hand{${SELECTED}})`, "{{link}} in hand"],
          [shared("godwit_queue_held", "lane"), "{{lane}} held"],
        ],
      },
      {
        title: "Accept waits for delivery",
        help: "Backlog: messages that a node accepted and could hand over, but has not claimed yet. Held back: requests that waited for it. On hold: after the restoration of a backup.",
        unit: "short",
        queries: [
          [`sum(godwit_delivery_backlog{${SELECTED}})`, "backlog"],
          [`sum(rate(godwit_accept_held_back_total{${SELECTED}}[$__rate_interval]))`, "held back a second"],
          [`max(godwit_delivery_on_hold{${SELECTED}})`, "on hold"],
        ],
      },
      {
        title: "Receipts",
        help: "What carriers said later. Parked: it came before its message's name was known.",
        unit: "ops",
        queries: [
          [perSecond("godwit_receipts_total", "link, status"), "{{link}} {{status}}"],
          [perSecond("godwit_receipts_parked_total", "link"), "{{link}} parked"],
        ],
      },
      {
        title: "Inbound",
        help: "What people wrote. Kept: it belongs to no account, and waits for the operator (godwit inbound).",
        unit: "ops",
        queries: [
          [perSecond("godwit_inbound_total", "link, outcome"), "{{link}} {{outcome}}"],
          [shared("godwit_inbound_kept", "kind"), "{{kind}} kept, in all"],
        ],
      },
    ],
  },
  {
    title: "Links",
    panels: [
      {
        title: "State of each link",
        help: "Down: no node has it open.",
        unit: "short",
        kind: "state-timeline",
        queries: [[`${shared("godwit_link_state", "link, state")} == 1`, "{{link}} {{state}}"]],
      },
      {
        title: "Throttled nodes",
        help: "Nodes that a carrier wants to slow down.",
        unit: "short",
        queries: [[`sum by (link) (godwit_link_throttled{${SELECTED}})`, "{{link}}"]],
      },
      {
        title: "Visits to template reviews",
        help: "Blocked: a person must act, and the log says why.",
        unit: "ops",
        queries: [[perSecond("godwit_template_syncs_total", "link, outcome"), "{{link}} {{outcome}}"]],
      },
    ],
  },
  {
    title: "Webhooks and streams",
    panels: [
      {
        title: "Tries at endpoints",
        help: "Refused: an answer that is not 2xx. The others say why there was none.",
        unit: "ops",
        queries: [[perSecond("godwit_webhook_attempts_total", "outcome"), "{{outcome}}"]],
      },
      {
        title: "Time of endpoints",
        help: "How long they took to answer, or not to.",
        unit: "s",
        queries: spread("godwit_webhook_seconds"),
      },
      {
        title: "Deliveries that wait",
        help: "New ones and retries; counted up to 100,000.",
        unit: "short",
        queries: [[shared("godwit_webhook_queue_depth", "kind"), "{{kind}}"]],
      },
      {
        title: "Oldest due delivery",
        help: "Grows while workers do not keep up; an endpoint that fails does not make it grow.",
        unit: "s",
        queries: [[shared("godwit_webhook_queue_oldest_due_seconds"), "waits"]],
      },
      {
        title: "Endpoints disabled",
        help: "In the last hour, by why.",
        unit: "short",
        queries: [[`sum by (reason) (increase(godwit_webhook_endpoints_disabled_total{${SELECTED}}[1h]))`, "{{reason}}"]],
      },
      {
        title: "Calls under way, and readers",
        help: "Calls to endpoints, and readers of event streams, by node.",
        unit: "short",
        queries: [
          [each("godwit_webhook_calls"), "{{instance}} calls"],
          [each("godwit_event_streams"), "{{instance}} streams"],
        ],
      },
      {
        title: "Spans of traces",
        help: "Exported to the collector, and dropped because it was away, slow or unwilling. Nothing where none is configured.",
        unit: "ops",
        queries: [[perSecond("godwit_spans_total", "outcome"), "{{outcome}}"]],
      },
    ],
  },
  {
    title: "Database",
    panels: [
      {
        title: "Database answers",
        help: "1 while it does, by node.",
        unit: "short",
        queries: [[each("godwit_database_up"), "{{instance}}"]],
      },
      {
        title: "Event streams held up",
        help: "For how long a transaction that has written events and does not end has kept the streams from going on, by node.",
        unit: "s",
        queries: [[each("godwit_event_stream_stalled_seconds"), "{{instance}}"]],
      },
      {
        title: "Unconfirmed step of the database's clock",
        help: "0 while the clocks of the database and of the node agree. A step that the node does not confirm is not followed.",
        unit: "s",
        queries: [[each("godwit_database_clock_step_seconds"), "{{instance}}"]],
      },
      {
        title: "Connections",
        help: "Of each node's pool of 16.",
        unit: "short",
        queries: [[`sum by (instance, state) (godwit_database_connections{${SELECTED}})`, "{{instance}} {{state}}"]],
      },
      {
        title: "Waiting for a connection",
        help: "Past 500 a node answers 503.",
        unit: "short",
        queries: [[each("godwit_database_waiting"), "{{instance}}"]],
      },
      {
        title: "Dead rows",
        help: "Rows that wait for the database's cleaner.",
        unit: "short",
        queries: [[`topk(5, ${shared("godwit_dead_tuples", "table")})`, "{{table}}"]],
      },
      {
        title: "Oldest transaction",
        help: "How many transactions ago the oldest began that keeps dead rows from being cleaned away.",
        unit: "short",
        queries: [[shared("godwit_oldest_xmin_age"), "transactions"]],
      },
      {
        title: "Embedded database: disk",
        help: "What is free, where the database is embedded.",
        unit: "bytes",
        queries: [
          [each("godwit_data_disk_free_bytes"), "{{instance}} free"],
          [each("godwit_data_disk_size_bytes"), "{{instance}} size"],
        ],
      },
      {
        title: "Embedded database: restarts",
        help: "How often it ended unexpectedly, in the last hour.",
        unit: "short",
        queries: [[`increase(godwit_embedded_postgres_restarts_total{${SELECTED}}[1h])`, "{{instance}}"]],
      },
    ],
  },
  {
    title: "Process",
    panels: [
      {
        title: "Workers",
        help: "Workers that listen, and workers that ended unexpectedly in the last hour, by node. Nothing where a node has one process.",
        unit: "short",
        queries: [
          [each("godwit_workers"), "{{instance}} listening"],
          [`increase(godwit_worker_restarts_total{${SELECTED}}[1h])`, "{{instance}} ended"],
        ],
      },
      {
        title: "Memory",
        help: "Resident, and what the program itself holds of it.",
        unit: "bytes",
        queries: [
          [each("process_resident_memory_bytes"), "{{instance}} resident"],
          [each("nodejs_heap_size_used_bytes"), "{{instance}} heap"],
        ],
      },
      {
        title: "CPU",
        help: "Cores in use, by node.",
        unit: "short",
        queries: [[perSecond("process_cpu_seconds_total", "instance"), "{{instance}}"]],
      },
      {
        title: "Event loop lag",
        help: "How late the process is for its own appointments, 99th percentile.",
        unit: "s",
        queries: [[each("nodejs_eventloop_lag_p99_seconds"), "{{instance}}"]],
      },
      {
        title: "Certificate",
        help: "Time until the first certificate of the chain ends, where TLS is ours.",
        unit: "s",
        kind: "stat",
        queries: [[`min(godwit_tls_certificate_end_seconds{${SELECTED}}) - time()`, "left"]],
      },
    ],
  },
];
