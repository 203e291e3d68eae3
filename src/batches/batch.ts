/** A batch: many messages of one request, and the counts of their statuses. */
import { environmentField, nullable, openEnum, timestamp, Type, type Static } from "../http/schema.ts";
import { encodeId, type AccountId, type BatchId } from "../model/id.ts";
import { isoTime } from "../lib/time.ts";
import { uuidTimeMs } from "../lib/uuid.ts";
import type { Environment } from "../model/owner.ts";

/** More items would make one commit too long for other requests. A campaign is many batches. */
export const MAX_ITEMS = 1_000;

export const BATCH_STATUSES = ["processing", "completed"] as const;
export type BatchStatus = (typeof BATCH_STATUSES)[number];

const BatchFields = {
  id: Type.String({ examples: ["batch_01k9zs3v8mf4tb2xg1qj6n0d5c"], description: "The id of the batch." }),
  object: Type.Literal("batch"),
  environment: environmentField,
  status: openEnum(BATCH_STATUSES, "`completed` when every accepted message has a final status."),
  total: Type.Integer({ description: "The number of items." }),
  accepted: Type.Integer({ description: "The number of items that became messages." }),
  refused: Type.Integer({ description: "The number of items that were refused." }),
  created_at: timestamp("The time at which the batch was accepted."),
  completed_at: nullable(timestamp("The time at which all messages had a final status.")),
};

export const BatchRecord = Type.Object(
  {
    ...BatchFields,
    statuses: Type.Record(Type.Integer(), {
      description: "The number of messages in each status.",
      examples: [{ delivered: 998, failed: 2 }],
    }),
  },
  { title: "Batch", description: "A batch of messages. `GET /v1/messages?batch_id=…` lists them." },
);
export type BatchRecord = Static<typeof BatchRecord>;

const ItemError = Type.Object(
  {
    code: Type.String({ description: "The code of the error, as in a problem." }),
    detail: Type.String({ description: "An explanation for people." }),
    errors: Type.Array(
      Type.Object({
        pointer: Type.String({ description: "The invalid value in the request, as a JSON pointer." }),
        code: Type.String({ description: "The stable code of the fault." }),
        detail: Type.String({ description: "An explanation for people." }),
      }),
      { description: "The first twenty faults of the item." },
    ),
  },
  { description: "Why the item was refused. Null if it was accepted." },
);

export const AcceptedBatch = Type.Object(
  {
    ...BatchFields,
    results: Type.Array(
      Type.Object({
        index: Type.Integer({ description: "The position of the item in the request, from zero." }),
        status: openEnum(["accepted", "refused"], "Whether the item became a message."),
        message_id: nullable(Type.String({ description: "The id of the message. Null if the item was refused." })),
        error: nullable(ItemError),
      }),
      { description: "The outcome of each item, in the order of the request." },
    ),
  },
  { title: "AcceptedBatch", description: "A batch with the outcome of each item." },
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
