/** The preview of a send: the counts of all rows, the first faults, and the few messages that the service validates. */
import { callingCodeOf } from "../model/phone-number.ts";
import type { BulkRow, ValidRow } from "./rows.ts";

// Enough to see what is wrong with a file.
export const SHOWN_FAULTS = 20;
const FIRST_ROWS = 3;
// Each is one request. Most files have recipients of few countries.
const MAX_SAMPLES = 10;
// Far more than there are calling codes.
const MAX_REGIONS = 400;

/** The rows of one calling code. They usually have the same route and the same price. */
type Region = { code: string; rows: number; segments: number; first: ValidRow };

export class BulkPreview {
  rows = 0;
  valid = 0;
  duplicates = 0;
  /** The segments of all valid rows, as far as their texts are known. */
  segments = 0;
  ucs2 = 0;
  readonly faults: (BulkRow & { fault: object })[] = [];
  readonly #firstRows: ValidRow[] = [];
  #longest: ValidRow | undefined;
  readonly #regions = new Map<string, Region>();

  get invalid(): number {
    return this.rows - this.valid;
  }

  add(row: BulkRow): void {
    this.rows += 1;
    if (row.fault === null) return this.#addValid(row);
    if (row.fault.code === "duplicate_recipient") this.duplicates += 1;
    if (this.faults.length < SHOWN_FAULTS) this.faults.push(row);
  }

  #addValid(row: ValidRow): void {
    const { segments } = row;
    this.valid += 1;
    this.segments += segments?.count ?? 0;
    if (segments?.encoding === "ucs2") this.ucs2 += 1;
    if (this.#firstRows.length < FIRST_ROWS) this.#firstRows.push(row);
    if (this.#longest === undefined || lengthOf(row) > lengthOf(this.#longest)) this.#longest = row;
    const code = callingCodeOf(row.recipient) ?? "";
    const region = this.#regions.get(code);
    if (region === undefined) {
      if (this.#regions.size < MAX_REGIONS) this.#regions.set(code, { code, rows: 1, segments: segments?.count ?? 0, first: row });
      return;
    }
    region.rows += 1;
    region.segments += segments?.count ?? 0;
  }

  /** The rows to validate: the first ones, the first one of each frequent calling code, and the one with the longest text. */
  samples(): ValidRow[] {
    const rows = [...this.#firstRows, ...this.#frequent().map(({ first }) => first)];
    return [...new Set(this.#longest === undefined ? rows : [...rows, this.#longest])];
  }

  /** The cost by the price of a segment to the first recipient of each calling code. Undefined without any price. */
  estimate(priceOf: (sample: ValidRow) => number | null): { cost: number; unpricedRows: number } | undefined {
    const priced = this.#frequent().flatMap((region) => {
      const price = priceOf(region.first);
      return price === null ? [] : [{ ...region, cost: price * region.segments }];
    });
    if (priced.length === 0) return undefined;
    const sum = (pick: (region: (typeof priced)[number]) => number): number => priced.reduce((total, region) => total + pick(region), 0);
    return { cost: sum(({ cost }) => cost), unpricedRows: this.valid - sum(({ rows }) => rows) };
  }

  #frequent(): Region[] {
    return [...this.#regions.values()].toSorted((one, other) => other.rows - one.rows).slice(0, MAX_SAMPLES);
  }
}

const lengthOf = ({ text, segments, item }: ValidRow): number =>
  segments === null ? (text ?? JSON.stringify(item)).length : segments.count * 10_000 + segments.characters;
