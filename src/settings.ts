/** The table of all settings: their flags, variables, defaults and help. `config.ts` reads them. */
import { LOG_LEVELS } from "./model/log.ts";
import { TRACING_SETTINGS } from "./tracing/settings.ts";

export const ROLES = ["api", "dispatch", "webhooks"] as const;
export type Role = (typeof ROLES)[number];

export type Setting = {
  flag: string;
  env: string;
  /** The explanation, in Markdown without links. The help, the starter file and docs/settings.md show it. */
  help: string;
  fallback?: string;
  isSecret?: true;
  /** The placeholder for the value in the help, such as `PORT`. */
  value?: string;
  /** A value for the starter file, of a setting without a default. */
  example?: string;
  /** The permitted values. A list setting takes several, separated by commas. */
  choices?: readonly string[];
  isList?: true;
};

/** One row for each setting. The key in the TOML file is the flag's name with underscores. The secret keys are read only from the
 *  environment, because flags are visible in process lists and files end up in backups. */
export const SETTINGS = {
  host: {
    flag: "host",
    value: "HOST",
    env: "GODWIT_HOST",
    fallback: "127.0.0.1",
    help: "address to listen on. Any but loopback needs TLS or `GODWIT_TRUSTED_PROXIES`",
  },
  port: {
    flag: "port",
    value: "PORT",
    env: "GODWIT_PORT",
    fallback: "8080",
    help: "port to listen on. `0` picks a free port and prints it",
  },
  dataDir: {
    flag: "data-dir",
    value: "DIR",
    env: "GODWIT_DATA_DIR",
    fallback: "./data",
    help: "folder of the embedded PostgreSQL and its secret key",
  },
  archive: {
    flag: "archive",
    value: "DIR",
    example: "/backup/godwit",
    env: "GODWIT_ARCHIVE",
    help: "existing folder on another disk, of this service only, for a daily backup of the embedded database and its changes",
  },
  archiveDays: {
    flag: "archive-days",
    value: "DAYS",
    env: "GODWIT_ARCHIVE_DAYS",
    fallback: "7",
    help: "days for which the archive can restore any time, 1 to 365",
  },
  databaseUrl: {
    flag: "database-url",
    value: "URL",
    example: "postgres://godwit@db.example.com/godwit",
    env: "DATABASE_URL",
    help: "a PostgreSQL server, version 15 or newer, in place of the embedded one; several hosts for failover",
  },
  databasePlaintext: {
    flag: "database-plaintext",
    value: "allow",
    env: "GODWIT_DATABASE_PLAINTEXT",
    help: "`allow` permits a database on another machine without TLS",
  },
  readUrl: {
    flag: "read-url",
    value: "URL",
    example: "postgres://godwit@standby.example.com/godwit",
    env: "GODWIT_READ_URL",
    help: "a standby of `DATABASE_URL` for lists of messages, events, batches, verifications and audit events, usage and exports",
  },
  readMaxLag: {
    flag: "read-max-lag",
    value: "SECONDS",
    env: "GODWIT_READ_MAX_LAG",
    fallback: "10",
    help: "seconds by which reads from `GODWIT_READ_URL` may be behind, 2 to 300",
  },
  migrate: {
    flag: "migrate",
    value: "auto|off",
    env: "GODWIT_MIGRATE",
    fallback: "auto",
    choices: ["auto", "off"],
    help: "`auto` applies pending migrations at the start. `off` waits until `godwit migrate` has applied them",
  },
  tlsCert: {
    flag: "tls-cert",
    value: "FILE",
    example: "/etc/godwit/fullchain.pem",
    env: "GODWIT_TLS_CERT",
    help: "certificate chain, a PEM file. Reloaded on `SIGHUP`",
  },
  tlsKey: {
    flag: "tls-key",
    value: "FILE",
    example: "/etc/godwit/privkey.pem",
    env: "GODWIT_TLS_KEY",
    help: "private key, a PEM file. Reloaded on `SIGHUP`",
  },
  trustedProxies: {
    flag: "trusted-proxies",
    value: "CIDRS",
    example: "10.0.0.10/32",
    env: "GODWIT_TRUSTED_PROXIES",
    help: "CIDR blocks of the proxies that terminate TLS. Other addresses can only read `/livez`, `/readyz`, and `/metrics` with `GODWIT_METRICS_ALLOW`",
  },
  config: { flag: "config", value: "FILE", env: "GODWIT_CONFIG", help: "path of the configuration file" },
  log: {
    flag: "log",
    value: "STYLE",
    example: "json",
    choices: ["json", "pretty", "silent"],
    env: "GODWIT_LOG",
    help: "format of the log: `json`, `pretty` or `silent`. By default `pretty` in a terminal, otherwise `json`",
  },
  logLevel: {
    flag: "log-level",
    value: "LEVEL",
    env: "GODWIT_LOG_LEVEL",
    fallback: "info",
    choices: LOG_LEVELS,
    help: "least level of a line: `debug`, `info` (requests), `warn` or `error`",
  },
  logSample: {
    flag: "log-sample",
    value: "SHARE",
    env: "GODWIT_LOG_SAMPLE",
    fallback: "1",
    help: "share of the requests with a status below 400 that are logged, from 0 to 1",
  },
  metricsAllow: {
    flag: "metrics-allow",
    value: "CIDRS",
    example: "10.0.1.5/32",
    env: "GODWIT_METRICS_ALLOW",
    help: "CIDR blocks, besides this machine, that can read `/metrics`",
  },
  maxConnections: {
    flag: "max-connections",
    value: "COUNT",
    env: "GODWIT_MAX_CONNECTIONS",
    fallback: "10000",
    help: "open connections of all workers together, 1 to 1,000,000",
  },
  maxConnectionsPerPeer: {
    flag: "max-connections-per-peer",
    value: "COUNT",
    env: "GODWIT_MAX_CONNECTIONS_PER_PEER",
    fallback: "500",
    help: "connections and incomplete requests of one IPv4 address or IPv6 /64, in each worker, 1 to 1,000,000. Behind trusted proxies, only requests count",
  },
  roles: {
    flag: "roles",
    value: "ROLES",
    choices: ROLES,
    isList: true,
    env: "GODWIT_ROLES",
    fallback: ROLES.join(","),
    help: "tasks of this process: serve requests (`api`), deliver messages (`dispatch`), deliver webhooks (`webhooks`)",
  },
  workers: {
    flag: "workers",
    value: "COUNT",
    env: "GODWIT_WORKERS",
    fallback: "auto",
    help: "processes that share the port and the work, 1 to 32, or to 9 with the embedded database. `auto` is one less than the processors, 1 to 4. Only on Linux and FreeBSD; 1 elsewhere",
  },
  drain: {
    flag: "drain",
    value: "SECONDS",
    example: "5",
    env: "GODWIT_DRAIN",
    help: "seconds for which the service serves after `SIGTERM`, while `/readyz` is 503, 0 to 300. By default 5, or 0 on loopback without `GODWIT_TRUSTED_PROXIES`",
  },
  simulatorSpeed: {
    flag: "simulator-speed",
    value: "FACTOR",
    env: "GODWIT_SIMULATOR_SPEED",
    fallback: "1",
    help: "factor by which the simulator is faster than usual, 1 to 1,000,000",
  },
  receiptWait: {
    flag: "receipt-wait",
    value: "SECONDS",
    env: "GODWIT_RECEIPT_WAIT",
    fallback: "259200",
    help: "seconds after which a `sent` message without a delivery receipt becomes `expired`, 1 to 604,800",
  },
  retentionDays: {
    flag: "retention-days",
    value: "DAYS",
    env: "GODWIT_RETENTION_DAYS",
    fallback: "90",
    help: "days after which messages and events are deleted, 40 to 3,650",
  },
  auditRetentionDays: {
    flag: "audit-retention-days",
    value: "DAYS",
    env: "GODWIT_AUDIT_RETENTION_DAYS",
    fallback: "400",
    help: "days after which entries of the audit log are deleted, 40 to 3,650",
  },
  mediaRetentionDays: {
    flag: "media-retention-days",
    value: "DAYS",
    env: "GODWIT_MEDIA_RETENTION_DAYS",
    fallback: "30",
    help: "days after its last use after which a file is deleted, 1 to 3,650",
  },
  mediaQuota: {
    flag: "media-quota",
    value: "GIGABYTES",
    env: "GODWIT_MEDIA_QUOTA",
    fallback: "5",
    help: "gigabytes that the files of an environment may have together, 1 to 1,000,000",
  },
  mediaBucket: {
    flag: "media-bucket",
    value: "URL",
    example: "https://s3.eu-central-1.amazonaws.com/my-media",
    env: "GODWIT_MEDIA_BUCKET",
    help: "S3-compatible bucket for the bytes of new files, in place of the database: the endpoint with the name of the bucket as its path",
  },
  mediaBucketRegion: {
    flag: "media-bucket-region",
    value: "REGION",
    env: "GODWIT_MEDIA_BUCKET_REGION",
    fallback: "us-east-1",
    help: "region of the bucket",
  },
  mediaBucketKeyId: {
    flag: "media-bucket-key-id",
    value: "ID",
    example: "AKIAIOSFODNN7EXAMPLE",
    env: "GODWIT_MEDIA_BUCKET_KEY_ID",
    help: "id of the access key. Without it, the credentials of the machine or the container are used",
  },
  mediaBucketSecret: {
    flag: "",
    env: "GODWIT_MEDIA_BUCKET_SECRET",
    isSecret: true,
    help: "the secret of the access key",
  },
  verifyCooldown: {
    flag: "verify-cooldown",
    value: "SECONDS",
    env: "GODWIT_VERIFY_COOLDOWN",
    fallback: "30",
    help: "seconds between two verification codes to one recipient, 0 to 3,600",
  },
  verifyPerRecipient: {
    flag: "verify-per-recipient",
    value: "COUNT",
    env: "GODWIT_VERIFY_PER_RECIPIENT",
    fallback: "5",
    help: "verification codes per hour to one recipient, 1 to 1,000",
  },
  verifyPerPrefix: {
    flag: "verify-per-prefix",
    value: "COUNT",
    env: "GODWIT_VERIFY_PER_PREFIX",
    fallback: "100",
    help: "verification codes per hour to numbers with the same digits but the last four, 1 to 100,000",
  },
  webhookAllow: {
    flag: "webhook-allow",
    value: "CIDRS",
    example: "127.0.0.0/8",
    env: "GODWIT_WEBHOOK_ALLOW",
    help: "non-public CIDR blocks to which webhooks and links of accounts can connect, also without TLS. `127.0.0.0/8` permits this machine",
  },
  webhookDeny: {
    flag: "webhook-deny",
    value: "CIDRS",
    example: "64:ff9b::/96",
    env: "GODWIT_WEBHOOK_DENY",
    help: "CIDR blocks to which webhooks and links of accounts never connect, such as the NAT64 prefix of your network",
  },
  twilioHost: {
    flag: "twilio-host",
    value: "DOMAIN",
    example: "twilio.example.com",
    env: "GODWIT_TWILIO_HOST",
    help: "domain with the hosts `api`, `messaging`, `verify` and `lookups` below it, whose names clients of Twilio's API use in place of the path `/twilio`",
  },
  ...TRACING_SETTINGS,
  previousSecretKey: {
    flag: "",
    env: "GODWIT_PREVIOUS_SECRET_KEY",
    isSecret: true,
    help: "the previous secret key, for the first day with a new one",
  },
  secretKey: {
    flag: "",
    env: "GODWIT_SECRET_KEY",
    isSecret: true,
    help: "32 bytes in base64 that encrypt secrets at rest, the same on every node (`openssl rand -base64 32`). Required with `DATABASE_URL`, otherwise generated in the data directory",
  },
} as const satisfies Record<string, Setting>;

/** Variables of settings that earlier releases had, with what applies now. `serve` refuses them, so that no operator relies on them. A flag and
 *  a key of the file that no longer exist are refused as unknown. */
export const REMOVED_VARIABLES: Readonly<Record<string, string>> = {
  GODWIT_REQUEST_TIMEOUT: "a client always has 30 seconds to send its request",
  GODWIT_ANONYMOUS_BODIES: "bodies of requests without a credential always have 16 MiB",
  GODWIT_TENANT_BODIES: "bodies of requests with a credential always have 32 MiB",
};
