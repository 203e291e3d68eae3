/** Decides to which messages the parts of long inbound messages belong. Carriers repeat a part whose response they did not get, and phones use
 *  their references again. */
import { createHash } from "node:crypto";
import type { Uuid } from "../lib/uuid.ts";
import type { InboundPart } from "../providers/provider.ts";
import { idKey } from "../model/id.ts";
import type { PartKey, PartRow } from "./part-queries.ts";

type Arrived = { key: PartKey; part: InboundPart };
type Placing = { isAnswered: (row: PartRow) => boolean; newSetId: () => Uuid; nowMs: number };
/** `placed`: the row of each part. The others are the changes: rows to insert and to delete, and sets that have ended. */
type Placed = { placed: PartRow[]; added: PartRow[]; gone: PartRow[]; ended: Uuid[] };

export const keyName = ({ from_address: from, to_address: to, reference, total }: PartKey): string =>
  JSON.stringify([from, to, reference, total]);

/** Places parts of a link in their order, among the stored ones with the same keys. */
export function placeParts(arrived: readonly Arrived[], known: readonly PartRow[], placing: Placing): Placed {
  const byKey = Map.groupBy(known, keyName);
  const placed = arrived.map((each) => {
    const name = keyName(each.key);
    const rows = byKey.get(name) ?? [];
    byKey.set(name, rows);
    return placePart(each, rows, placing);
  });
  const stored = new Set(known);
  const added = [...new Set(placed)].filter((row) => !stored.has(row) && row.state !== "gone");
  const ended = [...known, ...added].filter(({ state }) => state === "ended");
  return {
    placed,
    added,
    gone: known.filter(({ state }) => state === "gone"),
    ended: [...new Map(ended.map(({ set_id: setId }) => [idKey(setId), setId])).values()],
  };
}

/** Returns the row of the part, which may be that of an earlier delivery. Adds a new row to the list, and ends the set that the part completes, or
 *  that it cannot belong to.
 *
 *  A part that equals a joined one without a written response is doubtful. If it is a repetition, no other part of its message follows. If it is
 *  a part of another message, parts with higher numbers follow. A message never becomes complete by a doubtful part, and one that has only
 *  doubtful parts is not stored. */
function placePart({ key, part }: Arrived, rows: PartRow[], { isAnswered, newSetId, nowMs }: Placing): PartRow {
  const equal = rows.filter((row) => row.number === part.number && !isAnswered(row) && hasContent(row, part));
  const repeated = equal.find(({ state }) => state === "open" || state === "ended");
  if (repeated !== undefined) return repeated;
  const joined = equal.find(({ state }) => state === "joined");
  // A part before a doubtful one begins a message: the doubtful one was a repetition.
  if (joined === undefined)
    for (const row of rows) if (row.state === "open" && row.is_doubtful && row.number >= part.number) row.state = "gone";
  const open = rows.filter(({ state }) => state === "open");
  const isOther = open.some(({ number }) => number === part.number);
  if (isOther && joined !== undefined) return joined;
  if (isOther) end(open);
  // The new row takes over its place.
  if (joined !== undefined) joined.state = "gone";
  const [first] = isOther ? [] : open;
  const row: PartRow = {
    ...key,
    set_id: first?.set_id ?? newSetId(),
    number: part.number,
    from_type: part.addresses.fromType ?? null,
    to_type: part.addresses.toType ?? null,
    data_coding: part.dataCoding,
    has_header: part.hasHeader,
    user_data: part.userData,
    state: "open",
    is_answered: false,
    is_doubtful: joined !== undefined,
    due_at: first?.due_at ?? new Date(nowMs + part.waitMs),
  };
  rows.push(row);
  if (!isOther && joined === undefined && open.length + 1 === part.total) end([...open, row]);
  return row;
}

const end = (rows: readonly PartRow[]): void => rows.forEach((row) => (row.state = "ended"));

const hasContent = (row: PartRow, { dataCoding, userData }: InboundPart): boolean =>
  row.data_coding === dataCoding &&
  row.user_data.equals(row.state === "joined" ? createHash("sha256").update(userData).digest() : userData);
