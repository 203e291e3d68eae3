/** Groups of rows, each sent as one batch. A group depends only on the file and the settings, and so does its idempotency key: the same
 *  rows are sent once, however often they are sent again while the service keeps the key. */
import type { BulkSettings, BulkRow, ValidRow } from "./rows.ts";

/** Rows that are sent together, with those that have faults. Without a valid row there is no request. */
export type RowGroup = { rows: readonly BulkRow[]; valid: readonly ValidRow[]; last: number };

export type BatchRequest = { defaults: BulkSettings["defaults"]; items: readonly Readonly<Record<string, unknown>>[] };

/** The most items that the API permits in a batch. */
export const MAX_GROUP_ROWS = 1_000;
// The API permits 2 MB and 32,768 values. A character takes up to three bytes in JSON, and the defaults up to 16 kB.
const MAX_CHARACTERS = 650_000;
const MAX_VALUES = 30_000;

export class Grouper {
  readonly #maxRows: number;
  #rows: BulkRow[] = [];
  #characters = 0;
  #values = 0;

  constructor(maxRows = MAX_GROUP_ROWS) {
    this.#maxRows = maxRows;
  }

  /** Adds a row. Returns the group that is complete without it. */
  add(row: BulkRow): RowGroup | undefined {
    const [characters, values] = row.fault === null ? [JSON.stringify(row.item).length + 1, countValues(row.item)] : [0, 0];
    const isFull =
      this.#rows.length >= this.#maxRows || this.#characters + characters > MAX_CHARACTERS || this.#values + values > MAX_VALUES;
    const group = isFull ? this.end() : undefined;
    this.#rows.push(row);
    this.#characters += characters;
    this.#values += values;
    return group;
  }

  /** Returns the last group. Undefined if there is none. */
  end(): RowGroup | undefined {
    const rows = this.#rows;
    [this.#rows, this.#characters, this.#values] = [[], 0, 0];
    const last = rows.at(-1);
    return last === undefined ? undefined : { rows, valid: rows.filter((row) => row.fault === null), last: last.row };
  }
}

const countValues = (item: object): number =>
  1 +
  Object.values(item).reduce<number>(
    (sum, value) => sum + (typeof value === "object" && value !== null ? countValues(value as object) : 1),
    0,
  );

export const toBatchRequest = ({ valid }: RowGroup, { defaults }: BulkSettings): BatchRequest => ({
  defaults,
  items: valid.map(({ item }) => item),
});

/** The idempotency key of a group: a hash of the send, the position of the rows and the request, in the form of a version-4 UUID. */
export const keyOfGroup = ({ rows, last }: RowGroup, request: BatchRequest, sendId: string): Promise<string> =>
  keyFrom(["godwit bulk send", sendId, rows[0]?.row, last, request]);

/** An idempotency key that is the same for the same value. */
export const keyFrom = async (value: unknown): Promise<string> => uuidOf(await digest(sorted(value)));

/** The name of a send that was given none: the same file with the same settings is the same send. The text of a template is only for the preview:
 *  not every key may read it. */
export async function sendIdOf(fileHash: string, settings: Omit<BulkSettings, "sendId">): Promise<string> {
  const named = { ...settings, templateBody: undefined };
  return hex(await digest(sorted([fileHash, named]))).slice(0, 16);
}

/** JSON with the members of objects in the order of their names. */
const sorted = (value: unknown): string =>
  JSON.stringify(value, (_, member: unknown) =>
    typeof member === "object" && member !== null && !Array.isArray(member)
      ? Object.fromEntries(Object.entries(member).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : member,
  );

const digest = async (text: string): Promise<Uint8Array> =>
  new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text)));

const hex = (bytes: Uint8Array): string => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");

function uuidOf(bytes: Uint8Array): string {
  const half = bytes.slice(0, 16);
  half[6] = ((half[6] ?? 0) & 0x0f) | 0x40;
  half[8] = ((half[8] ?? 0) & 0x3f) | 0x80;
  return hex(half).replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}
