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
        help: "Processes that respond to Prometheus, by version.",
        unit: "short",
        kind: "stat",
        queries: [[`count by (version) (godwit_info{${SELECTED}})`, "{{version}}"]],
      },
      {
        title: "Accepted",
        help: "Messages that got a 202, per second.",
        unit: "ops",
        kind: "stat",
        queries: [[total("godwit_accept_batch_size_sum"), "messages"]],
      },
      {
        title: "Delivered",
        help: "Messages that carriers reported as delivered, per second.",
        unit: "ops",
        kind: "stat",
        queries: [[total("godwit_transitions_total", 'status="delivered"'), "messages"]],
      },
      {
        title: "Oldest due message",
        help: "Waiting time of the message that has been due for longest.",
        unit: "s",
        kind: "stat",
        queries: [[shared("godwit_queue_oldest_due_seconds"), "waits"]],
      },
      {
        title: "Oldest due webhook",
        help: "Waiting time of the webhook delivery that has been due for longest.",
        unit: "s",
        kind: "stat",
        queries: [[shared("godwit_webhook_queue_oldest_due_seconds"), "waits"]],
      },
      {
        title: "Disconnected links",
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
    title: "Accept",
    panels: [
      {
        title: "Messages accepted",
        help: "Messages that were committed, per second, by node.",
        unit: "ops",
        isStacked: true,
        queries: [[perSecond("godwit_accept_batch_size_sum", "instance"), "{{instance}}"]],
      },
      { title: "Duration of a commit", help: "Duration of the group commit.", unit: "s", queries: spread("godwit_accept_commit_seconds") },
      {
        title: "Messages per commit",
        help: "Under load, more messages share one commit.",
        unit: "short",
        queries: [[`${total("godwit_accept_batch_size_sum")} / ${total("godwit_accept_batch_size_count")}`, "mean"]],
      },
      {
        title: "Waiting for a commit",
        help: "Above 4,000, a node responds with 503.",
        unit: "short",
        queries: [[each("godwit_accept_waiting"), "{{instance}}"]],
      },
      {
        title: "Rate limiting and replays",
        help: "Requests refused with 429, requests that got a stored response, and requests that the request log leaves out.",
        unit: "reqps",
        queries: [
          [total("godwit_quota_refusals_total"), "refused with 429"],
          [total("godwit_idempotent_replays_total"), "replayed"],
          [total("godwit_request_log_omitted_total"), "not in the request log"],
        ],
      },
      {
        title: "Compatible APIs",
        help: "Messages that were accepted through a compatible API, per second, by that API.",
        unit: "ops",
        queries: [[perSecond("godwit_compatible_messages_total", "source"), "{{source}}"]],
      },
      {
        title: "Files",
        help: "Files that were stored, by their source, and files behind URLs that could not be fetched.",
        unit: "ops",
        queries: [
          [perSecond("godwit_media_stored_total", "source"), "{{source}}"],
          [total("godwit_media_fetches_total", 'outcome="failed"'), "not fetched"],
        ],
      },
      {
        title: "Bytes of files",
        help: "Bytes of the stored files of all accounts, and the growth of their number per second.",
        unit: "bytes",
        queries: [
          [shared("godwit_media_bytes"), "stored"],
          [total("godwit_media_stored_bytes_total"), "per second"],
        ],
      },
      {
        title: "Rejected by a budget",
        help: "Connections and requests that exceeded a budget for connections or bodies, per second, by budget.",
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
        help: "499: the client disconnected before the response.",
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
        help: "Requests without a valid credential, by error code. The log of the service has their addresses.",
        unit: "reqps",
        queries: [[perSecond("godwit_authentication_failures_total", "code"), "{{code}}"]],
      },
      {
        title: "Share of server errors",
        help: "Responses with a status of 500 or above, as a share of all responses.",
        unit: "percentunit",
        queries: [[`${total("godwit_http_requests_total", 'status=~"5.."')} / ${total("godwit_http_requests_total")}`, "5xx"]],
      },
      {
        title: "Duration of POST /v1/messages",
        help: "From the first byte of the request to the last byte of the response.",
        unit: "s",
        queries: [0.5, 0.95, 0.99].map((share): Query => [
          quantile(share, "godwit_http_request_seconds", "le", 'route="/v1/messages",method="POST"'),
          `${share * 100} %`,
        ]),
      },
      {
        title: "Slowest routes",
        help: "The five routes with the highest 99th percentile.",
        unit: "s",
        queries: [[`topk(5, ${quantile(0.99, "godwit_http_request_seconds", "le, route, method")})`, "{{method}} {{route}}"]],
      },
    ],
  },
  {
    title: "Delivery",
    panels: [
      {
        title: "Status changes",
        help: "Changes of messages to each status, per second.",
        unit: "ops",
        queries: [[perSecond("godwit_transitions_total", "status"), "{{status}}"]],
      },
      {
        title: "Attempts at carriers",
        help: "By link and outcome. Unknown: the carrier may or may not have the message.",
        unit: "ops",
        queries: [[perSecond("godwit_attempts_total", "link, outcome"), "{{link}} {{outcome}}"]],
      },
      {
        title: "Time to submission",
        help: "From the time at which a message is due to its first submission to a carrier.",
        unit: "s",
        queries: [0.5, 0.99].map((share): Query => [quantile(share, "godwit_handover_seconds", "le, link"), `{{link}} ${share * 100} %`]),
      },
      {
        title: "Time to delivered",
        help: "From the time at which a message is due to its delivery receipt.",
        unit: "s",
        queries: [0.5, 0.95].map((share): Query => [quantile(share, "godwit_delivered_seconds", "le, link"), `{{link}} ${share * 100} %`]),
      },
      {
        title: "Queue",
        help: "Messages in the queue, by lane, including scheduled ones.",
        unit: "short",
        queries: [[shared("godwit_queue_depth", "lane"), "{{lane}}"]],
      },
      {
        title: "Oldest due",
        help: "Waiting time of the oldest due message, by lane.",
        unit: "s",
        queries: [[shared("godwit_queue_oldest_due_seconds", "lane"), "{{lane}}"]],
      },
      {
        title: "Claimed and held messages",
        help: "In hand: claimed by a node, without an outcome yet. Held: with an unknown outcome, not sent again automatically.",
        unit: "short",
        queries: [
          [`sum by (link) (godwit_messages_in_hand{${SELECTED}})`, "{{link}} in hand"],
          [shared("godwit_queue_held", "lane"), "{{lane}} held"],
        ],
      },
      {
        title: "Accept waits for delivery",
        help: "Held back: requests that waited because messages of their account wait for this service. On hold: after a backup was restored.",
        unit: "short",
        queries: [
          [`sum(rate(godwit_accept_held_back_total{${SELECTED}}[$__rate_interval]))`, "held back a second"],
          [`max(godwit_delivery_on_hold{${SELECTED}})`, "on hold"],
        ],
      },
      {
        title: "Receipts",
        help: "Delivery receipts of carriers. Parked: it arrived before the carrier id of its message was known.",
        unit: "ops",
        queries: [
          [perSecond("godwit_receipts_total", "link, status"), "{{link}} {{status}}"],
          [perSecond("godwit_receipts_parked_total", "link"), "{{link}} parked"],
        ],
      },
      {
        title: "Inbound",
        help: "Inbound messages. Kept: the message belongs to no account, and waits for the operator (godwit inbound).",
        unit: "ops",
        queries: [
          [perSecond("godwit_inbound_total", "link, outcome"), "{{link}} {{outcome}}"],
          [perSecond("godwit_reports_refused_total", "link, what"), "{{link}} refused {{what}}"],
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
        help: "Down: no node has the link open.",
        unit: "short",
        kind: "state-timeline",
        queries: [[`${shared("godwit_link_state", "link, state")} == 1`, "{{link}} {{state}}"]],
      },
      {
        title: "Throttled nodes",
        help: "Nodes that a carrier throttles, by link.",
        unit: "short",
        queries: [[`sum by (link) (godwit_link_throttled{${SELECTED}})`, "{{link}}"]],
      },
      {
        title: "Delivery rate",
        help: "The share of messages with a result that were delivered, in the last quarter of an hour, by link.",
        unit: "percentunit",
        queries: [[`min by (link) (godwit_link_delivery_rate{${SELECTED}})`, "{{link}}"]],
      },
      {
        title: "Time to receipt",
        help: "The mean time from the submission to the receipt of a delivery, in the last quarter of an hour, by link.",
        unit: "s",
        queries: [[`max by (link) (godwit_link_seconds_to_receipt{${SELECTED}})`, "{{link}}"]],
      },
      {
        title: "Synchronization of templates",
        help: "Blocked: a person must act. The log has the reason.",
        unit: "ops",
        queries: [[perSecond("godwit_template_syncs_total", "link, outcome"), "{{link}} {{outcome}}"]],
      },
    ],
  },
  {
    title: "Webhooks and streams",
    panels: [
      {
        title: "Attempts at endpoints",
        help: "Refused: a response other than 2xx. The other outcomes are reasons for no response.",
        unit: "ops",
        queries: [[perSecond("godwit_webhook_attempts_total", "outcome"), "{{outcome}}"]],
      },
      {
        title: "Response time of endpoints",
        help: "Time until the response or the time limit.",
        unit: "s",
        queries: spread("godwit_webhook_seconds"),
      },
      {
        title: "Waiting deliveries",
        help: "New ones and retries, counted up to 100,000.",
        unit: "short",
        queries: [[shared("godwit_webhook_queue_depth", "kind"), "{{kind}}"]],
      },
      {
        title: "Oldest due delivery",
        help: "It grows if the nodes are too slow. A failing endpoint does not increase it.",
        unit: "s",
        queries: [[shared("godwit_webhook_queue_oldest_due_seconds"), "waits"]],
      },
      {
        title: "Endpoints disabled",
        help: "In the last hour, by reason.",
        unit: "short",
        queries: [[`sum by (reason) (increase(godwit_webhook_endpoints_disabled_total{${SELECTED}}[1h]))`, "{{reason}}"]],
      },
      {
        title: "Open calls and event streams",
        help: "Calls to endpoints and open event streams, by node.",
        unit: "short",
        queries: [
          [each("godwit_webhook_calls"), "{{instance}} calls"],
          [each("godwit_event_streams"), "{{instance}} streams"],
        ],
      },
      {
        title: "Spans of traces",
        help: "Exported to the collector, or dropped because the collector was unreachable, slow or refused them. Empty without a collector.",
        unit: "ops",
        queries: [[perSecond("godwit_spans_total", "outcome"), "{{outcome}}"]],
      },
    ],
  },
  {
    title: "Database",
    panels: [
      {
        title: "Database available",
        help: "1 while the database responds, by node.",
        unit: "short",
        queries: [[each("godwit_database_up"), "{{instance}}"]],
      },
      {
        title: "Delay of event streams",
        help: "Time for which an open transaction that has written events has delayed the event streams, by node.",
        unit: "s",
        queries: [[each("godwit_event_stream_stalled_seconds"), "{{instance}}"]],
      },
      {
        title: "Unconfirmed step of the database's clock",
        help: "0 while the clocks of the database and the node agree. A step that the node's clock does not confirm is ignored.",
        unit: "s",
        queries: [
          [each("godwit_database_clock_step_seconds"), "step, {{instance}}"],
          [each("godwit_database_clock_difference_seconds"), "difference, {{instance}}"],
        ],
      },
      {
        title: "Connections",
        help: "Connections of each node's pool of 16.",
        unit: "short",
        queries: [[`sum by (instance, state) (godwit_database_connections{${SELECTED}})`, "{{instance}} {{state}}"]],
      },
      {
        title: "Waiting for a connection",
        help: "Above 500, a node responds with 503.",
        unit: "short",
        queries: [[each("godwit_database_waiting"), "{{instance}}"]],
      },
      {
        title: "Lag of the standby",
        help: "Only with GODWIT_READ_URL: time for which the standby may have been without a commit of the primary.",
        unit: "s",
        queries: [[each("godwit_standby_lag_seconds"), "{{instance}}"]],
      },
      {
        title: "Reads that a standby may serve",
        help: "Only with GODWIT_READ_URL, by the server that has served them; repeated: by the primary, after the standby failed. Used: 1 while reads use the standby.",
        unit: "ops",
        queries: [
          [perSecond("godwit_standby_reads_total", "server"), "{{server}}"],
          [each("godwit_standby_up"), "used, {{instance}}"],
        ],
      },
      {
        title: "Dead rows",
        help: "Rows that autovacuum has not removed yet.",
        unit: "short",
        queries: [[`topk(5, ${shared("godwit_dead_tuples", "table")})`, "{{table}}"]],
      },
      {
        title: "Oldest transaction",
        help: "Age, in transactions, of the oldest one that prevents the removal of dead rows.",
        unit: "short",
        queries: [[shared("godwit_oldest_xmin_age"), "transactions"]],
      },
      {
        title: "Embedded database: disk",
        help: "Free space, if the database is embedded.",
        unit: "bytes",
        queries: [
          [each("godwit_data_disk_free_bytes"), "{{instance}} free"],
          [each("godwit_data_disk_size_bytes"), "{{instance}} size"],
        ],
      },
      {
        title: "Embedded database: restarts",
        help: "Unexpected ends in the last hour.",
        unit: "short",
        queries: [[`increase(godwit_embedded_postgres_restarts_total{${SELECTED}}[1h])`, "{{instance}}"]],
      },
      {
        title: "Archive: age",
        help: "Time since the last archived WAL file, and age of the newest base backup, if there is an archive.",
        unit: "s",
        queries: [
          [each("godwit_archive_wal_age_seconds"), "{{instance}} WAL"],
          [each("godwit_archive_base_age_seconds"), "{{instance}} base backup"],
        ],
      },
      {
        title: "Archive: failures",
        help: "Failed attempts in the last hour.",
        unit: "short",
        queries: [[`increase(godwit_archive_failures_total{${SELECTED}}[1h])`, "{{instance}} {{part}}"]],
      },
    ],
  },
  {
    title: "Process",
    panels: [
      {
        title: "Workers",
        help: "Workers that listen, workers that ended unexpectedly in the last hour, and those of them that did not respond, by node. Empty for a node with one process.",
        unit: "short",
        queries: [
          [each("godwit_workers"), "{{instance}} listening"],
          [`increase(godwit_worker_restarts_total{${SELECTED}}[1h])`, "{{instance}} ended"],
          [`increase(godwit_worker_stalls_total{${SELECTED}}[1h])`, "{{instance}} stalled"],
        ],
      },
      {
        title: "Memory",
        help: "Resident memory, and the JavaScript heap in it.",
        unit: "bytes",
        queries: [
          [each("process_resident_memory_bytes"), "{{instance}} resident"],
          [each("nodejs_heap_size_used_bytes"), "{{instance}} heap"],
        ],
      },
      {
        title: "CPU",
        help: "Processors in use, by node.",
        unit: "short",
        queries: [[perSecond("process_cpu_seconds_total", "instance"), "{{instance}}"]],
      },
      {
        title: "Event loop lag",
        help: "Delay of the event loop, 99th percentile.",
        unit: "s",
        queries: [[each("nodejs_eventloop_lag_p99_seconds"), "{{instance}}"]],
      },
      {
        title: "Certificate",
        help: "Time until the first certificate of the chain expires, if the service terminates TLS.",
        unit: "s",
        kind: "stat",
        queries: [[`min(godwit_tls_certificate_end_seconds{${SELECTED}}) - time()`, "left"]],
      },
    ],
  },
];
