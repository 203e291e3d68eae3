/** The OpenAPI document of this version of the service. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { tokenPages } from "../../src/access/token-pages.ts";
import { Event } from "../../src/events/event.ts";
import { allRoutes } from "../../src/routes.ts";
import { VERSION } from "../../src/version.ts";
import { openApiDocument, type DescribedPage, type DocumentParts, type Examples } from "./document.ts";

// The document needs only the rows of routes and pages, so their handlers get nothing to work with.
// The routes of compatible APIs are documented by the products that they are compatible with.
const routes = allRoutes({} as never).filter(({ compatible }) => compatible === undefined);
const pages = tokenPages({} as never).filter((page): page is DescribedPage => page.operation !== undefined);

const EXAMPLES = join(import.meta.dirname, "..", "..", "docs", "openapi-examples.json");
const examples = JSON.parse(readFileSync(EXAMPLES, "utf8")) as Examples;

/** The parts of the OpenAPI document that are not routes. */
const parts: DocumentParts = {
  version: VERSION,
  event: Event,
  examples,
  pages,
  tags: {
    Messages: "Send messages, follow their status, and change, cancel or redact them. Start with [Send a message](/docs/sending).",
    Batches: "Send up to 1,000 messages in one request. See [Batches](/docs/batches).",
    Templates: "Create texts with variables, have them reviewed, and send them many times. See [Templates](/docs/templates).",
    Media: "Upload and fetch files, to send them with messages, and read files that were received. See [Media](/docs/media).",
    Verifications: "Send one-time codes to phone numbers and check them. See [Verifications](/docs/verifications).",
    Events: "Read and stream the changes of messages and other records. See [Events](/docs/webhooks#events).",
    Webhooks: "Receive events at your own URLs, and inspect and retry their deliveries. See [Webhooks](/docs/webhooks).",
    "Suppressions and consent":
      "Record, import and lift opt-outs, and set opt-out words and automatic replies. See [Consent](/docs/consent).",
    Recipients: "Export or erase all data of one person. See [Export or erase a person's data](/docs/recipients).",
    Usage: "Count messages and segments, and see the depth of the queue. See [Usage](/docs/usage).",
    "Links, senders and routes":
      "Connect carriers, add the numbers from which you send, and select links by recipient. See [Connect carriers](/docs/links).",
    "Keys and tokens": "Create, rotate and revoke API keys, and create access tokens. See [Authentication and API keys](/docs/access).",
    "Compatible APIs":
      "Create users for clients of other products that send through this service. See [Move from Kannel](/docs/migrate-from-kannel).",
    "Audit log": "See who changed what. See [Audit log](/docs/audit).",
    "Request log": "See what was requested, and why it was refused. See [Request log](/docs/http#request-log).",
  },
  tagGroups: {
    Sending: ["Messages", "Batches", "Templates", "Media", "Verifications"],
    "Events and webhooks": ["Events", "Webhooks"],
    "Consent and privacy": ["Suppressions and consent", "Recipients"],
    Operation: ["Usage", "Links, senders and routes"],
    Access: ["Keys and tokens", "Compatible APIs", "Audit log", "Request log"],
  },
};

export const currentDocument = (): object => openApiDocument(routes, parts);
