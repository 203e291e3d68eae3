/** The pages of the documentation in the order of reading, by task. `test/tools/docs-pages.test.ts` compares the list with the files. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { COMMANDS } from "../src/cli/commands.ts";

/** `name`: the file docs/NAME.md, served at /docs/NAME. `about`: one line for the index, the search and llms.txt. `children`: pages that the
 *  menu shows only on these pages and on this one. */
export type Entry = { name: string; title: string; about: string; children?: readonly Entry[] };

const page = (name: string, title: string, about: string): Entry => ({ name, title, about });

// Their forms fit into the list of commands.
const WITHOUT_PAGE: ReadonlySet<string> = new Set(["help", "version"]);

export const COMMAND_PAGES: readonly (Entry & { command: string })[] = Object.entries(COMMANDS)
  .filter(([command]) => !WITHOUT_PAGE.has(command))
  .map(([command, { summary }]) => ({ ...page(`cli-${command}`, `godwit ${command}`, capital(summary)), command }));

function capital(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}`;
}

export const CONTENTS: readonly { group: string; pages: readonly Entry[] }[] = [
  {
    group: "Get started",
    pages: [
      page("getting-started", "Quickstart", "From nothing to a delivered message in about two minutes"),
      page("packaging", "Install", "npm, systemd, containers, dashboards"),
      page("console", "Console", "See, send and understand messages in the browser"),
      page("test-numbers", "Test numbers", "Recipients that are delivered, fail or respond late without a carrier"),
      page("sdk", "SDKs", "The clients for TypeScript and Python"),
    ],
  },
  {
    group: "Guides",
    pages: [
      page("guide-login-codes", "Log in with a code", "A server with Hono that verifies phone numbers"),
      page("guide-order-updates", "Order updates", "A server with Express that sends one text for each order, and shows its delivery"),
      page("guide-two-way-support", "Support inbox", "A server with Flask that receives messages and answers them"),
      page("guide-campaign", "Campaign with consent", "A program that sends batches and respects STOP"),
      page("migrate-from-kannel", "Move from Kannel", "The sendsms API of Kannel by changing a URL: what is the same, and what differs"),
      page(
        "migrate-from-twilio",
        "Move from Twilio",
        "Twilio's API by changing a base URL, or our own: what is the same, and what differs",
      ),
    ],
  },
  {
    group: "Send",
    pages: [
      page("sending", "Send a message", "Request fields, scheduling, reading, canceling and editing"),
      page("content", "Contents", "Media, buttons, lists, places, contacts and reactions"),
      page("states", "Message statuses", "From the 202 to the receipt: statuses, attempts, order and error codes"),
      page("batches", "Send many messages", "Batches of a thousand messages, and CSV files"),
      page("fallback", "Fallback", "Another channel when the first one does not deliver"),
      page("templates", "Templates", "Texts with variables, checked once"),
      page("media", "Media", "Upload, fetch and download files"),
      page("verifications", "Verification codes", "Send and check one-time codes"),
      page("idempotency", "Idempotency", "Repeat a request safely"),
      page("usage", "Usage", "Exact counts of messages and segments"),
    ],
  },
  {
    group: "Receive",
    pages: [
      page("webhooks", "Webhooks", "Receive events, verify them in six languages, and develop on your machine"),
      page("inbound", "Receive messages", "Inbound messages, opt-outs and replies"),
      page("consent", "Consent", "Opt-outs, suppressions and service windows"),
      page("recipients", "Personal data", "Export or erase everything about one recipient"),
    ],
  },
  {
    group: "Go live",
    pages: [
      page("go-live", "Go live", "From an empty machine to real messages"),
      page("links", "Connect carriers", "Links in the console, the API and the configuration file"),
      page("routing", "Senders and routes", "The number and the carrier of a message, and the account of an inbound one"),
      page("smpp", "SMPP", "Links to carriers over SMPP 3.4"),
      page("whatsapp", "WhatsApp", "From an app at Meta to the first message"),
      page("carriers", "HTTP carriers", "Twilio, 13 included carriers, and how to define another one"),
    ],
  },
  {
    group: "Operate",
    pages: [
      page("production", "Production", "TLS, PostgreSQL, several nodes"),
      page("operation", "Run the service", "Roles, workers, start, stop, reload, health checks, tracing"),
      page("scale", "Capacity and overload", "The hardware for a rate, the cost of a message, and the budgets of a node"),
      page("security", "Security", "The trust in each peer, secrets at rest, and their change"),
      page("backup", "Backup and restore", "Save the database, restore it, and decide about waiting messages"),
      page("high-availability", "High availability", "Survive the loss of a database server"),
      page("kubernetes", "Kubernetes", "The Helm chart: nodes, migrations, probes, policies and autoscaling"),
      page("upgrading", "Upgrade", "New versions beside running nodes, and a newer PostgreSQL"),
      page("retention", "Data retention", "Which data is deleted, and when"),
      page("emergencies", "Emergencies", "Stop all sending or one account, a leaked or lost key, unknown outcomes"),
      page("alerts", "Runbooks", "What to do for each alert"),
      page("troubleshooting", "Troubleshooting", "Symptoms, their causes, and what to do"),
    ],
  },
  {
    group: "Reference",
    pages: [
      page("access", "Authentication", "API keys, access tokens, scopes and tiers"),
      page("http", "Requests and responses", "Formats, errors, lists and paging, and the log of requests"),
      page("errors", "Errors", "Every error code, its meaning and the remedy"),
      page("limits", "Limits", "Quotas, and the bounds of requests, responses and nodes"),
      { ...page("cli", "Command line", "Every command of the godwit program"), children: COMMAND_PAGES },
      page("settings", "Settings", "Every variable, flag and key of the configuration file"),
      page("metrics", "Metrics", "Every metric for Prometheus"),
      page("log-events", "Logs", "The lines of the log, and every event with its next step"),
      page("audit", "Audit log", "Every change, its author, and how to verify the log"),
      page("glossary", "Glossary", "The terms of the API and the documentation"),
    ],
  },
];

/** The pages of docs/*.md. */
export const PAGES: readonly Entry[] = CONTENTS.flatMap(({ pages }) => pages.flatMap((entry) => [entry, ...(entry.children ?? [])]));

const OPENAPI = join(import.meta.dirname, "..", "docs", "openapi.json");
const { tags } = JSON.parse(readFileSync(OPENAPI, "utf8")) as { tags: readonly { name: string; description: string }[] };

/** The name of the page of a tag, such as `reference-audit-log`. */
export const tagPage = (tag: string): string => `reference-${tag.toLowerCase().replaceAll(/[^a-z]+/g, "-")}`;

/** The pages of the API reference, which are made from the OpenAPI document: an overview, one for each tag, and one for the calls of webhooks. */
export const REFERENCE = {
  ...page("reference", "API reference", "Every operation of the API, with samples and a form that sends requests"),
  children: [
    ...tags.map(({ name, description }) => page(tagPage(name), name, description.replace(/(?<=\.) .*$/, ""))),
    page("reference-webhook-events", "Webhook events", "The requests that your webhook endpoints receive"),
  ],
} satisfies Entry;
