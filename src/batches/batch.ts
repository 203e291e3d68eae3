/** A batch: many messages of one request, and the counts of their statuses. */
import { nullable, openEnum, timestamp, Type, type Static } from "../http/schema.ts";
import { encodeId, type AccountId, type BatchId } from "../lib/id.ts";
import { isoTime } from "../lib/time.ts";
import { uuidTimeMs } from "../lib/uuid.ts";
import type { Environment } from "../storage/owner.ts";

/** More items would make one commit too long for other requests. A campaign is many batches. */
export const MAX_ITEMS = 1_000;

const BatchFields = {
  id: Type.String({ examples: ["batch_01k9zs3v8mf4tb2xg1qj6n0d5c"] }),
  object: Type.Literal("batch"),
  environment: openEnum(["test", "live"]),
  status: openEnum(["processing", "completed"], "Completed when every accepted message has come to its end."),
  total: Type.Integer(),
  accepted: Type.Integer({ description: "Items that became messages." }),
  refused: Type.Integer({ description: "Items that did not." }),
  created_at: timestamp("When it was accepted."),
  completed_at: nullable(timestamp("When it was found that its last message had come to its end.")),
};

export const BatchRecord = Type.Object(
  {
    ...BatchFields,
    statuses: Type.Record(Type.Integer(), {
      description: "How many of its messages are in which status.",
      examples: [{ delivered: 998, failed: 2 }],
    }),
  },
  { title: "Batch", description: "A batch. `GET /v1/messages?batch_id=` lists its messages." },
);
export type BatchRecord = Static<typeof BatchRecord>;

const ItemError = Type.Object({
  code: Type.String(),
  detail: Type.String(),
  errors: Type.Array(Type.Object({ pointer: Type.String(), code: Type.String(), detail: Type.String() }), {
    description: "What is wrong with it: the first twenty.",
  }),
});

export const AcceptedBatch = Type.Object(
  {
    ...BatchFields,
    results: Type.Array(
      Type.Object({
        index: Type.Integer({ description: "The item's place in the request, from zero." }),
        status: openEnum(["accepted", "refused"]),
        message_id: nullable(Type.String()),
        error: nullable(ItemError),
      }),
    ),
  },
  { title: "AcceptedBatch", description: "What became of each item." },
);
export type AcceptedBatch = Static<typeof AcceptedBatch>;

export type Batch = {
  accountId: AccountId;
  environment: Environment;
  id: BatchId;
  accepted: number;
  refused: number;
  completedAtMs: number | null;
};

export const toFields = ({ environment, id, accepted, refused, completedAtMs }: Batch) =>
  ({
    id: encodeId("batch", id),
    object: "batch",
    environment,
    status: completedAtMs === null ? "processing" : "completed",
    total: accepted + refused,
    accepted,
    refused,
    created_at: isoTime(uuidTimeMs(id)),
    completed_at: completedAtMs === null ? null : isoTime(completedAtMs),
  }) as const;

export const batchRecord = (batch: Batch, statuses: Record<string, number>): BatchRecord => ({ ...toFields(batch), statuses });
