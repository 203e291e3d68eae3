/** The table of all settings: their flags, variables, defaults and help. `config.ts` reads them. */
import { INTAKE_SETTINGS } from "./http/intake-settings.ts";
import { TRACING_SETTINGS } from "./tracing/settings.ts";

export const ROLES = ["api", "dispatch", "webhooks"] as const;
export type Role = (typeof ROLES)[number];

export type Setting = {
  flag: string;
  env: string;
  help: string;
  fallback?: string;
  isSecret?: true;
  /** The placeholder for the value in the help, such as `PORT`. */
  value?: string;
  /** The permitted values. A list setting takes several, separated by commas. */
  choices?: readonly string[];
  isList?: true;
};

/** One row for each setting. The key in the TOML file is the flag's name with underscores. The secret keys are read only from the
 *  environment, because flags are visible in process lists and files end up in backups. */
export const SETTINGS = {
  host: { flag: "host", value: "HOST", env: "GODWIT_HOST", fallback: "127.0.0.1", help: "address to listen on" },
  port: { flag: "port", value: "PORT", env: "GODWIT_PORT", fallback: "8080", help: "port to listen on; 0 picks a free one" },
  dataDir: { flag: "data-dir", value: "DIR", env: "GODWIT_DATA_DIR", fallback: "./data", help: "folder of the embedded PostgreSQL" },
  databaseUrl: {
    flag: "database-url",
    value: "URL",
    env: "DATABASE_URL",
    help: "a PostgreSQL server (15 or newer) in place of the embedded one",
  },
  databasePlaintext: {
    flag: "database-plaintext",
    value: "allow",
    env: "GODWIT_DATABASE_PLAINTEXT",
    help: "allow: a remote database may be used without TLS",
  },
  tlsCert: { flag: "tls-cert", value: "FILE", env: "GODWIT_TLS_CERT", help: "certificate chain, PEM; reloaded on SIGHUP" },
  tlsKey: { flag: "tls-key", value: "FILE", env: "GODWIT_TLS_KEY", help: "private key, PEM" },
  trustedProxies: {
    flag: "trusted-proxies",
    value: "CIDRS",
    env: "GODWIT_TRUSTED_PROXIES",
    help: "CIDRs of the proxies that terminate TLS in front of this service",
  },
  config: { flag: "config", value: "FILE", env: "GODWIT_CONFIG", help: "a TOML file with any of these settings" },
  log: {
    flag: "log",
    value: "STYLE",
    choices: ["json", "pretty", "silent"],
    env: "GODWIT_LOG",
    help: "form of the log: json, pretty or silent; by default pretty at a terminal and json elsewhere",
  },
  metricsAllow: {
    flag: "metrics-allow",
    value: "CIDRS",
    env: "GODWIT_METRICS_ALLOW",
    help: "CIDRs besides loopback that can read /metrics",
  },
  requestTimeout: {
    flag: "request-timeout",
    value: "SECONDS",
    env: "GODWIT_REQUEST_TIMEOUT",
    fallback: "30",
    help: "seconds in which a client must send its request",
  },
  ...INTAKE_SETTINGS,
  roles: {
    flag: "roles",
    value: "ROLES",
    choices: ROLES,
    isList: true,
    env: "GODWIT_ROLES",
    fallback: ROLES.join(","),
    help: `tasks of this process: some of ${ROLES.join(", ")}`,
  },
  workers: {
    flag: "workers",
    value: "COUNT",
    env: "GODWIT_WORKERS",
    fallback: "auto",
    help: "processes that share the port and the work; auto: one less than the processors, at least 1 and at most 4",
  },
  simulatorSpeed: {
    flag: "simulator-speed",
    value: "FACTOR",
    env: "GODWIT_SIMULATOR_SPEED",
    fallback: "1",
    help: "factor by which the simulated carrier is faster than usual",
  },
  receiptWait: {
    flag: "receipt-wait",
    value: "SECONDS",
    env: "GODWIT_RECEIPT_WAIT",
    fallback: "259200",
    help: "seconds after which a message without a receipt is expired",
  },
  retentionDays: {
    flag: "retention-days",
    value: "DAYS",
    env: "GODWIT_RETENTION_DAYS",
    fallback: "90",
    help: "days after which messages and events are deleted; at least 40",
  },
  auditRetentionDays: {
    flag: "audit-retention-days",
    value: "DAYS",
    env: "GODWIT_AUDIT_RETENTION_DAYS",
    fallback: "400",
    help: "days after which entries of the audit log are deleted; at least 40",
  },
  verifyCooldown: {
    flag: "verify-cooldown",
    value: "SECONDS",
    env: "GODWIT_VERIFY_COOLDOWN",
    fallback: "30",
    help: "seconds between two verification codes to one recipient",
  },
  verifyPerRecipient: {
    flag: "verify-per-recipient",
    value: "COUNT",
    env: "GODWIT_VERIFY_PER_RECIPIENT",
    fallback: "5",
    help: "verification codes an hour to one recipient",
  },
  verifyPerPrefix: {
    flag: "verify-per-prefix",
    value: "COUNT",
    env: "GODWIT_VERIFY_PER_PREFIX",
    fallback: "100",
    help: "verification codes an hour to numbers that differ only in their last four digits",
  },
  webhookAllow: {
    flag: "webhook-allow",
    value: "CIDRS",
    env: "GODWIT_WEBHOOK_ALLOW",
    help: "CIDRs that webhooks and links of accounts may connect to though they are not public, also without TLS; 127.0.0.0/8 permits this machine",
  },
  webhookDeny: {
    flag: "webhook-deny",
    value: "CIDRS",
    env: "GODWIT_WEBHOOK_DENY",
    help: "CIDRs that webhooks and links of accounts never connect to, such as this network's own NAT64 prefix; wins over webhook-allow",
  },
  ...TRACING_SETTINGS,
  previousSecretKey: {
    flag: "",
    env: "GODWIT_PREVIOUS_SECRET_KEY",
    isSecret: true,
    help: "the previous secret key, for the first start with a new one",
  },
  secretKey: {
    flag: "",
    env: "GODWIT_SECRET_KEY",
    isSecret: true,
    help: "32 bytes in base64 that encrypt secrets at rest; needed with DATABASE_URL",
  },
} as const satisfies Record<string, Setting>;
