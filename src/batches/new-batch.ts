/** The request for a batch: the defaults of all items, and the items. Only the items with a fault are refused. */
import type { Fault } from "../http/problem.ts";
import { optional, Type, type Static, type Schema } from "../http/schema.ts";
import { compile } from "../http/validate.ts";
import { checkNewMessage, NewMessageBody, type NewMessage } from "../messages/new-message.ts";
import { MAX_ITEMS } from "./batch.ts";

const anObject = Type.Unsafe<Record<string, unknown>>({ type: "object" });

/** The schema that is validated. Each item is checked by itself later. */
export const NewBatchBody = Type.Object(
  { defaults: optional(anObject), items: Type.Array(anObject, { minItems: 1, maxItems: MAX_ITEMS }) },
  { title: "NewBatch", additionalProperties: false },
);
export type NewBatch = Static<typeof NewBatchBody>;

const BatchItem = Type.Object(
  Object.fromEntries(Object.entries(NewMessageBody.properties).map(([name, schema]) => [name, Type.Optional(schema as Schema)])),
  { title: "BatchItem", additionalProperties: false, description: "The fields of a message." },
);

/** The schema that is documented. */
export const DocumentedBatch = Type.Object(
  {
    defaults: optional(BatchItem),
    items: Type.Array(BatchItem, {
      minItems: 1,
      maxItems: MAX_ITEMS,
      description: "Each is a message: the defaults, with the item's own fields in their place; null takes a default away.",
    }),
  },
  { title: "NewBatch", additionalProperties: false },
);

const faultsOf = compile(NewMessageBody, "body");

export type Item = { request: NewMessage; faults: readonly Fault[] };

/** The message that an item requests and its faults, with pointers into the batch. */
export function toItem({ defaults, items }: NewBatch, index: number): Item {
  const merged = { ...defaults, ...items[index] };
  const found = faultsOf(merged);
  const more = checkNewMessage(merged).filter((fault) => !found.some((known) => pointerOf(known) === pointerOf(fault)));
  const faults = [...found, ...more].map((fault) => ({ ...fault, pointer: `/items/${index}${pointerOf(fault)}` }));
  return { request: merged as unknown as NewMessage, faults };
}

const pointerOf = (fault: Fault): string => ("pointer" in fault ? fault.pointer : "");
