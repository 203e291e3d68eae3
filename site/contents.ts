/** The pages of the documentation in the order of reading, by task. `test/tools/docs-pages.test.ts` compares the list with the files. */

/** `name`: the file docs/NAME.md, served at /docs/NAME. `about`: one line for the index, the search and llms.txt. */
export type Entry = { name: string; title: string; about: string };

const page = (name: string, title: string, about: string): Entry => ({ name, title, about });

export const CONTENTS: readonly { group: string; pages: readonly Entry[] }[] = [
  {
    group: "Get started",
    pages: [
      page("getting-started", "Quickstart", "From nothing to a delivered message in ten minutes"),
      page("packaging", "Install", "npm, systemd, containers, dashboards"),
      page("console", "Console", "See, send and understand messages in the browser"),
      page("cli", "Command line", "Every command of the godwit program"),
      page("sdk-typescript", "TypeScript SDK", "The client for Node, Deno, Bun and browsers"),
      page("sdk-python", "Python SDK", "The client for Python, synchronous and asynchronous"),
      page("test-numbers", "Test numbers", "Recipients that are delivered, fail or respond late without a carrier"),
    ],
  },
  {
    group: "Guides",
    pages: [
      page("guide-login-codes", "Log in with a code", "A server with Hono that verifies phone numbers"),
      page("guide-order-updates", "Order updates", "A server with Express that sends one text for each order, and shows its delivery"),
      page("guide-two-way-support", "Support inbox", "A server with Flask that receives messages and answers them"),
      page("guide-campaign", "Campaign with consent", "A program that sends batches and respects STOP"),
      page("migrate-from-twilio", "Move from Twilio", "Fields, statuses and webhooks side by side"),
    ],
  },
  {
    group: "Send",
    pages: [
      page("sending", "Send a message", "Request fields, scheduling, reading, canceling and editing"),
      page("states", "Message statuses", "The statuses of a message and the changes between them"),
      page("delivery", "How messages are delivered", "From the 202 to the carrier"),
      page("batches", "Batches", "Up to a thousand messages in one request"),
      page("fallback", "Fallback", "Another channel when the first one does not deliver"),
      page("templates", "Templates", "Texts with variables, checked once"),
      page("verifications", "Verification codes", "Send and check one-time codes"),
      page("idempotency", "Idempotency", "Repeat a request safely"),
      page("usage", "Usage", "Exact counts of messages and segments"),
    ],
  },
  {
    group: "Receive",
    pages: [
      page("inbound", "Receive messages", "Inbound messages, opt-outs and replies"),
      page("consent", "Consent", "Opt-outs, suppressions and service windows"),
      page("recipients", "Personal data", "Export or erase everything about one recipient"),
    ],
  },
  {
    group: "Webhooks",
    pages: [
      page("webhooks", "Webhooks", "Receive events, and verify them in six languages"),
      page("local-webhooks", "Develop webhooks locally", "Forward events to a program on your machine"),
    ],
  },
  {
    group: "Go live",
    pages: [
      page("go-live", "Go live", "From an empty machine to real messages"),
      page("links", "Connect carriers", "Links, senders and routes"),
      page("smpp", "SMPP", "Links to carriers over SMPP 3.4"),
      page("whatsapp", "WhatsApp", "From an app at Meta to the first message"),
      page("twilio", "Twilio", "Links to Twilio and to carriers with a compatible API"),
      page("carriers", "HTTP carriers", "13 included carriers, and how to define another one"),
    ],
  },
  {
    group: "Operate",
    pages: [
      page("settings", "Settings", "Every variable, flag and key of the configuration file"),
      page("production", "Production", "TLS, PostgreSQL, several nodes"),
      page("kubernetes", "Kubernetes", "The Helm chart: nodes, migrations, probes, policies and autoscaling"),
      page("operation", "Operate", "Roles, starting, stopping, metrics, logs and budgets"),
      page("alerts", "Runbooks", "What to do for each alert"),
      page("high-availability", "High availability", "Survive the loss of a database server"),
      page("scale", "Capacity", "The cost of a message, and the hardware for a rate"),
      page("backup", "Backup and restore", "Save the database, restore it, and decide about waiting messages"),
      page("upgrading", "Upgrade", "New versions beside running nodes, and a newer PostgreSQL"),
      page("retention", "Data retention", "Which data is deleted, and when"),
      page("tracing", "Tracing", "Spans for an OpenTelemetry collector"),
      page("troubleshooting", "Troubleshooting", "Symptoms, their causes, and what to do"),
      page("threat-model", "Threat model", "The trust in each peer, and its budget"),
    ],
  },
  {
    group: "Reference",
    pages: [
      page("access", "Authentication", "API keys, access tokens, scopes and tiers"),
      page("http", "Requests and responses", "Order of checks, errors, lists and paging"),
      page("errors", "Errors", "Every error code, its meaning and the remedy"),
      page("rate-limits", "Rate limits", "Quotas, and how to stay within them"),
      page("limits", "Limits", "The bounds of every request and response"),
      page("request-log", "Request log", "The API requests of the last days, and why they were refused"),
      page("audit", "Audit log", "Every change, its author, and how to verify the log"),
      page("glossary", "Glossary", "The terms of the API and the documentation"),
    ],
  },
];

export const PAGES: readonly Entry[] = CONTENTS.flatMap(({ pages }) => pages);
