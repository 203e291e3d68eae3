/** The request for a batch: the defaults of all items, and the items. A fault of the defaults refuses the batch; a fault of an item
 *  refuses only that item. */
import type { Fault } from "../http/problem.ts";
import { optional, Type, type Schema } from "../http/schema.ts";
import { compileSized } from "../http/validate.ts";
import { checkEachField, checkTogether, NewMessageBody, type NewMessage } from "../messages/new-message.ts";
import { MAX_ITEMS } from "./batch.ts";

type Fields = Readonly<Record<string, unknown>>;

const BatchItem = Type.Object(
  Object.fromEntries(Object.entries(NewMessageBody.properties).map(([name, schema]) => [name, Type.Optional(schema as Schema)])),
  { title: "BatchItem", additionalProperties: false, description: "The fields of a message. Each may also be in `defaults`." },
);

const batchOf = <S extends Schema>(item: S) =>
  Type.Object(
    {
      defaults: optional(BatchItem),
      items: Type.Array(item, {
        minItems: 1,
        maxItems: MAX_ITEMS,
        description: "The messages. The fields of an item replace those of `defaults`; null removes a default.",
      }),
    },
    { title: "NewBatch", additionalProperties: false, description: "Messages to send, and the fields that they share." },
  );

/** The schema that is validated. Each item is checked by itself later. */
export const NewBatchBody = batchOf(Type.Unsafe<Fields>({ type: "object" }));
export type NewBatch = { defaults?: Fields | null; items: readonly Fields[] };

export const DocumentedBatch = batchOf(BatchItem);

/** Checks the rules of the defaults that hold for every item. The rules between fields are checked for each item, since an item may
 *  replace any field. */
export const checkNewBatch = ({ defaults }: Fields): Fault[] =>
  typeof defaults === "object" && defaults !== null && !Array.isArray(defaults)
    ? within("/defaults", checkEachField(defaults as Fields))
    : [];

const checkItem = compileSized(BatchItem, "body");

export type Item = { request: NewMessage; faults: readonly Fault[] };

/** The message that an item requests and its faults, with pointers into the batch. Only the item's own fields are checked one by one:
 *  the defaults were checked once, for all items. */
export function toItem({ defaults, items }: NewBatch, index: number): Item {
  const own = items[index];
  const { faults: found, sized } = checkItem(own);
  const merged = { ...defaults, ...own };
  const known = new Set(found.map(pointerOf));
  const rules = [...checkEachField(sized as Fields), ...checkTogether({ ...defaults, ...(sized as Fields) })];
  const faults = [...found, ...missingFields(merged), ...rules.filter((fault) => !known.has(pointerOf(fault)))];
  return { request: merged as unknown as NewMessage, faults: within(`/items/${index}`, faults) };
}

const REQUIRED = (NewMessageBody as unknown as { required: readonly string[] }).required;

const missingFields = (merged: Fields): Fault[] =>
  REQUIRED.filter((name) => !Object.hasOwn(merged, name)).map((name) => ({ pointer: `/${name}`, code: "required", detail: "is required" }));

const pointerOf = (fault: Fault): string => ("pointer" in fault ? fault.pointer : "");

const within = (pointer: string, faults: readonly Fault[]): Fault[] =>
  faults.map((fault) => ({ ...fault, pointer: `${pointer}${pointerOf(fault)}` }));
