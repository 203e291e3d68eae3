/** A row of a file of recipients: the item of a batch that it stands for, or its faults. */
import { CsvFault, type CsvRecord } from "../lib/csv.ts";
import { MAX_BODY, type Channel } from "../links/channel.ts";
import { explainNumber, isPossibleNumber, isUserId } from "../model/phone-number.ts";
import { segmentsOf, type Segments } from "../model/segments.ts";
import { fill } from "../templates/placeholders.ts";
import { cleanNumber } from "./clean-number.ts";
import { IGNORED, type ColumnTarget } from "./columns.ts";
import { KnownRecipients } from "./known-recipients.ts";

/** The fields that all rows share, as the request for a batch has them. */
type Defaults = Readonly<Record<string, unknown>> & { channel: Channel; body?: string; template_id?: string };

/** Everything that decides what is sent. The same settings and the same file give the same requests. */
export type BulkSettings = {
  defaults: Defaults;
  /** The variables and metadata that are the same in all rows. */
  variables: Readonly<Record<string, string>>;
  metadata: Readonly<Record<string, string>>;
  targets: readonly ColumnTarget[];
  /** The text of the template. Null without a template, and if the key may not read it. */
  templateBody: string | null;
  allowsDuplicates: boolean;
  /** Distinguishes two sends of the same file. */
  sendId: string;
};

type Item = Record<string, unknown> & { recipient: string };
type RowFault = { code: string; detail: string };

export type BulkRow = { row: number; recipient: string } & (
  | { item: Item; text: string | null; segments: Segments | null; fault: null }
  | { item: null; fault: RowFault }
);
export type ValidRow = BulkRow & { fault: null };

// The table of recipients has 16 bytes for each. A larger file is split.
const MAX_ROWS = 5_000_000;

/** Reads the rows of one pass over a file. */
export class RowReader {
  readonly #settings: BulkSettings;
  readonly #recipients = new KnownRecipients();
  #count = 0;

  constructor(settings: BulkSettings) {
    this.#settings = settings;
  }

  read({ row, line, cells }: CsvRecord): BulkRow {
    this.#count += 1;
    if (this.#count > MAX_ROWS) throw new CsvFault(line, `the file has more than ${MAX_ROWS} rows: split it`);
    const { targets } = this.#settings;
    const recipient = cleanNumber(cells[targets.indexOf("recipient")] ?? "");
    const refuse = (code: string, detail: string): BulkRow => ({ row, recipient, item: null, fault: { code, detail } });
    if (cells.length !== targets.length) return refuse("cell_count", `has ${cells.length} cells, and the first row has ${targets.length}`);
    const unreachable = recipientFault(recipient, this.#settings.defaults.channel);
    if (unreachable !== undefined) return refuse(unreachable.code, unreachable.detail);
    const item = toItem(recipient, cells, this.#settings);
    const wrong = contentFault(item, this.#settings);
    if (wrong !== undefined) return refuse(wrong.code, wrong.detail);
    if (!this.#recipients.add(recipient) && !this.#settings.allowsDuplicates)
      return refuse("duplicate_recipient", "is the recipient of an earlier row");
    const text = textOf(item, this.#settings);
    const isSms = this.#settings.defaults.channel === "sms" && text !== null;
    return { row, recipient, item, text, segments: isSms ? segmentsOf(text) : null, fault: null };
  }
}

function recipientFault(recipient: string, channel: Channel): RowFault | undefined {
  if (recipient === "") return { code: "required", detail: "has no recipient" };
  if (isUserId(recipient))
    return channel === "sms" ? { code: "invalid_format", detail: "a user id is reached on whatsapp only" } : undefined;
  if (/^\+?\d(?:[.,]\d+)?E\+\d+$/i.test(recipient))
    return { code: "invalid_format", detail: "the spreadsheet has rounded the number: format the column as text, and export it again" };
  if (/^\+[1-9]\d{6,14}$/.test(recipient))
    return isPossibleNumber(recipient) ? undefined : { code: "impossible_number", detail: explainNumber(recipient) };
  return { code: "invalid_format", detail: explainNumber(recipient) };
}

function toItem(recipient: string, cells: readonly string[], { targets, variables, metadata, defaults }: BulkSettings): Item {
  const item: Item = { recipient };
  const filled = { ...variables };
  const marked = { ...metadata };
  for (const [at, target] of targets.entries()) {
    const cell = cells[at] ?? "";
    if (target === IGNORED || target === "recipient") continue;
    if (target.startsWith("var.")) filled[target.slice("var.".length)] = cell;
    // An empty cell leaves the field to the settings of all rows.
    else if (cell.trim() === "") continue;
    else if (target.startsWith("metadata.")) marked[target.slice("metadata.".length)] = cell;
    else item[target] = target === "body" ? cell : cell.trim();
  }
  if (defaults.template_id !== undefined) item["template_variables"] = filled;
  if (Object.keys(marked).length > 0) item["metadata"] = marked;
  return item;
}

// The limit of one value in the API.
const MAX_VARIABLE = 1_024;

function contentFault(item: Item, settings: BulkSettings): RowFault | undefined {
  for (const [name, value] of Object.entries((item["template_variables"] ?? {}) as Record<string, string>)) {
    if (value.trim() === "") return { code: "empty_variable", detail: `has no value for the variable ${name}` };
    if (value.length > MAX_VARIABLE) return { code: "too_long", detail: `the variable ${name} has more than ${MAX_VARIABLE} characters` };
  }
  const { channel, body, template_id: template } = settings.defaults;
  if (body === undefined && template === undefined && item["body"] === undefined) return { code: "required", detail: "has no text" };
  const text = textOf(item, settings);
  // Every character has one or two units, so a short text need not be counted.
  return text !== null && text.length > MAX_BODY[channel] && Array.from(text).length > MAX_BODY[channel]
    ? { code: "too_long", detail: `the text has more than ${MAX_BODY[channel]} characters` }
    : undefined;
}

/** The text of a row. Null if the key may not read the template. */
function textOf(item: Item, { defaults, templateBody }: BulkSettings): string | null {
  if (templateBody !== null) return fill(templateBody, item["template_variables"] as Record<string, string>);
  if (defaults.template_id !== undefined) return null;
  return (item["body"] as string | undefined) ?? defaults.body ?? null;
}
