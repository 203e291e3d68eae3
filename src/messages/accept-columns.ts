/** What the accept statement is given of each item, column by column. */
import { eventColumns, writtenColumns } from "../events/queries.ts";
import { fallbackColumns } from "../fallback/queries.ts";
import { claimColumns } from "../idempotency/queries.ts";
import { PRIORITY_RANK } from "../queue/place.ts";
import { placeColumns } from "../queue/queries.ts";
import { column, type Column, type Extra } from "../storage/batch.ts";
import { newUsageColumns } from "../usage/queries.ts";
import type { Acceptance } from "./acceptance.ts";
import type { Message } from "./message.ts";
import { metadataText } from "./rows.ts";

/** As it is when the statement is done. */
const asStored = ({ message, written }: Acceptance): Message | null => written?.after ?? message;

export const acceptColumns: readonly Column<Acceptance>[] = [
  column("account_id", "uuid", ({ accountId }) => accountId),
  column("environment", "text", ({ environment }) => environment),
  ...claimColumns,
  ...eventColumns,
  column("message_id", "uuid", ({ message }) => message?.id ?? null),
  column("channel", "text", ({ message }) => message?.channel ?? null),
  column("recipient", "text", ({ message }) => message?.recipient ?? null),
  column("sender", "text", ({ message }) => message?.sender ?? null),
  column("body", "text", ({ message }) => message?.body ?? null),
  column("status", "text", (item) => asStored(item)?.status ?? null),
  column("sequence", "integer", (item) => asStored(item)?.sequence ?? null),
  column("attempts", "integer", (item) => asStored(item)?.attempts ?? null),
  column("segments_count", "smallint", ({ message }) => message?.segments?.count ?? null),
  column("segments_encoding", "text", ({ message }) => message?.segments?.encoding ?? null),
  column("segments_characters", "smallint", ({ message }) => message?.segments?.characters ?? null),
  column("priority", "text", ({ message }) => message?.priority ?? null),
  column("priority_rank", "smallint", ({ message }) => (message === null ? null : PRIORITY_RANK[message.priority])),
  column("client_reference", "text", ({ message }) => message?.clientReference ?? null),
  column("metadata", "text", ({ message }) => (message === null ? null : metadataText(message.metadata))),
  column("expires_at", "timestamptz", ({ message }) => message?.expiresAtMs ?? null),
  column("updated_at", "timestamptz", (item) => asStored(item)?.updatedAtMs ?? null),
  ...placeColumns,
  ...newUsageColumns,
];

/** What a short text to one recipient has nothing of, by what else a request may ask for. */
export const acceptExtras = {
  /** It goes to its carrier the moment it is stored. */
  written: {
    has: ({ written }) => written !== null,
    columns: [
      column("provider", "text", ({ written }) => written?.after.provider?.name ?? null),
      column("link", "text", ({ written }) => written?.after.provider?.link ?? null),
      ...writtenColumns,
    ],
  },
  further: {
    has: ({ message, fallback }) => fallback !== null || (message !== null && hasFurther(message)),
    columns: [
      column("max_segments", "smallint", ({ message }) => message?.maxSegments ?? null),
      column("send_at", "timestamptz", ({ message }) => message?.sendAtMs ?? null),
      column("template", "text", ({ message }) => (message?.template ? JSON.stringify(message.template) : null)),
      column("batch_id", "uuid", ({ message }) => message?.batchId ?? null),
      column("fallback_of", "uuid", ({ message }) => message?.fallbackOf ?? null),
      ...fallbackColumns,
    ],
  },
  traced: {
    has: ({ message }) => message !== null && message.trace !== null,
    columns: [column("trace", "text", ({ message }) => message?.trace ?? null)],
  },
} satisfies Record<string, Extra<Acceptance>>;

const hasFurther = ({ maxSegments, sendAtMs, template, batchId, fallbackOf }: Message): boolean =>
  sendAtMs !== null || template !== null || batchId !== null || maxSegments !== null || fallbackOf !== null;
