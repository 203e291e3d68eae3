/** The HTTP routes of the data of a person. */
import { route, toResponse, type Route } from "../api/route.ts";
import type { Fault } from "../http/problem.ts";
import { HINT, Type } from "../http/schema.ts";
import { suggest } from "../lib/nearest.ts";
import { withoutSeparators } from "../links/address.ts";
import { ERASED, type Recipient } from "../model/phone-number.ts";
import type { RecipientEraser } from "./erase-recipient.ts";
import { ErasureRecord } from "./erasure-record.ts";
import type { RecipientExporter } from "./export-recipient.ts";

// Carriers deliver messages of short codes, of names and of numbers that no country has. The records have them as the carrier wrote them.
const personField = Type.Unsafe<Recipient>(
  Type.String({
    minLength: 1,
    maxLength: 64,
    pattern: `^(?!${ERASED}$)[^\\x00-\\x1f\\x7f]+$`,
    [HINT]: "must be the number of the person, as the records have it",
    examples: ["+14155550123"],
    description: "The number or address of the person, as it is in the records.",
  }),
);
/** A number that no record has as it is written: its erasure would find nothing, and look complete. */
function checkPerson({ recipient }: Readonly<Record<string, unknown>>): Fault[] {
  const recorded = typeof recipient === "string" ? withoutSeparators(recipient) : recipient;
  if (recorded === recipient) return [];
  return [{ pointer: "/recipient", code: "invalid_format", detail: `is in the records without separators${suggest(String(recorded))}` }];
}

const RecipientBody = Type.Object(
  { recipient: personField },
  { additionalProperties: false, title: "RecipientRequest", description: "The recipient whose data is erased or exported." },
);

// An erasure may change thousands of rows.
const ERASE_COST = 10;

export const recipientRoutes = (eraser: RecipientEraser, exporter: RecipientExporter): Route[] => [
  route({
    method: "POST",
    path: "/v1/recipients/erase",
    operationId: "eraseRecipient",
    weight: "heavy",
    summary: "Erase the data of a person",
    description:
      "Removes the number, texts, metadata, references and template variables of a person from all records of this environment. The records themselves and the counts of usage stay. Scheduled and queued messages are canceled; messages that are with a carrier are counted as `unfinished`. Opt-outs stay in effect. One request erases up to 2,000 messages: repeat it with a new idempotency key while `has_more` is true. See [Erasure](/docs/recipients#erasure).",
    tag: "Recipients",
    scope: "recipients:erase",
    isIdempotent: true,
    body: RecipientBody,
    check: checkPerson,
    cost: () => ERASE_COST,
    reply: { status: 200, description: "The number of erased records.", schema: ErasureRecord },
    problems: [],
    handle: async (call) => toResponse(await eraser.erase(call, call.body.recipient)),
  }),
  route({
    method: "POST",
    path: "/v1/recipients/export",
    operationId: "exportRecipient",
    summary: "Export the data of a person",
    description:
      "Returns every record of this environment that contains the person, one JSON object on each line (`application/x-ndjson`): messages with their timelines, suppressions with their history, service windows and verifications. The last line has the object `export_end` and the counts of all others; an export without it is incomplete. The response is not stored for an idempotency key. See [Export](/docs/recipients#export).",
    tag: "Recipients",
    scope: "recipients:read",
    isIdempotent: false,
    body: RecipientBody,
    check: checkPerson,
    reply: { status: 200, description: "The records, one on each line.", schema: Type.String(), contentType: "application/x-ndjson" },
    problems: [],
    handle: async (call) => ({
      status: 200,
      contentType: "application/x-ndjson; charset=utf-8",
      frames: await exporter.open(call, call.body.recipient),
    }),
  }),
];
