/** The result file: one line for each row, in the order of the file. */
import { toCsvLine } from "../lib/csv.ts";
import type { RowGroup } from "./groups.ts";

/** The part of a response to a batch that the file needs. */
export type BatchOutcome = {
  id: string;
  results: readonly { message_id: string | null; error: { code: string; detail: string } | null }[];
};

export const RESULT_COLUMNS = ["row", "recipient", "status", "message_id", "batch_id", "error_code", "error_detail"] as const;
export const RESULT_HEAD = toCsvLine(RESULT_COLUMNS);

export type ResultCounts = { accepted: number; refused: number; invalid: number };

/** The lines of a group. `outcome` is null if no request was made, or if its outcome is not known. */
export function resultLines(
  { rows }: RowGroup,
  outcome: BatchOutcome | null,
  unsent?: { code: string; detail: string },
): { text: string; counts: ResultCounts } {
  const counts: ResultCounts = { accepted: 0, refused: 0, invalid: 0 };
  const results = (outcome?.results ?? []).values();
  const lines = rows.map(({ row, recipient, fault }) => {
    const local = fault ?? (outcome === null ? (unsent ?? null) : null);
    if (local !== null) {
      counts.invalid += 1;
      return toCsvLine([row, recipient, fault === null ? "unknown" : "invalid", null, null, local.code, local.detail]);
    }
    const { message_id: id, error } = results.next().value ?? { message_id: null, error: null };
    if (id === null) counts.refused += 1;
    else counts.accepted += 1;
    return toCsvLine([row, recipient, id === null ? "refused" : "accepted", id, outcome?.id, error?.code, error?.detail]);
  });
  return { text: lines.join(""), counts };
}
