/** The senders and routes that accounts have created, as they are stored. A row that this version cannot read has no effect. */
import type { Queryable } from "../database/database.ts";
import type { Fault } from "../http/problem.ts";
import { nullable, oneOf, Type } from "../http/schema.ts";
import { compile } from "../http/validate.ts";
import type { AccountId } from "../model/id.ts";
import { nameField } from "./address.ts";
import { CHANNELS } from "./channel.ts";
import { STRATEGIES } from "./strategy.ts";
import { countryList, prefixList, rankField, senderRate, weightList } from "./plan.ts";
import { readRoutes, readSenders, type RouteRecordRow, type SenderRow } from "./setup-queries.ts";

const checkSender = compile(
  Type.Object({
    countries: Type.Optional(countryList),
    pool: Type.Optional(nameField),
    preference: Type.Optional(rankField),
    rate: Type.Optional(senderRate),
  }),
  "body",
);
const checkRoute = compile(
  Type.Object({
    channel: oneOf(CHANNELS),
    links: Type.Array(Type.String({ maxLength: 64 }), { maxItems: 20 }),
    countries: Type.Optional(countryList),
    prefixes: Type.Optional(prefixList),
    priority: Type.Optional(rankField),
    weights: Type.Optional(weightList),
    strategy: Type.Optional(oneOf(STRATEGIES)),
  }),
  "body",
);

/** `fault`: why its definition cannot be read. A placeholder replaces it, with which the row is listed and can be changed or deleted. */
export type Readable<Row> = Row & { fault?: string | undefined };

const faultIn = (found: readonly Fault[]): string | undefined =>
  found[0] && `the stored definition cannot be read: ${"pointer" in found[0] ? `${found[0].pointer} ` : ""}${found[0].detail}`;

/** Why a record is not used, in its last field. */
export const faultField = (noun: string) =>
  nullable(Type.String({ description: `Why the ${noun} is not used: its stored definition cannot be read. Null if it is used.` }));

const UNREADABLE_ROUTE: RouteRecordRow["definition"] = { channel: "sms", links: [] };

export const readStoredSenders = async (db: Queryable, accountId: AccountId | null): Promise<Readable<SenderRow>[]> =>
  (await readSenders(db, accountId)).map((row) => {
    const fault = faultIn(checkSender(row.definition));
    return fault === undefined ? row : { ...row, definition: {}, fault };
  });

export const readStoredRoutes = async (db: Queryable, accountId: AccountId | null): Promise<Readable<RouteRecordRow>[]> =>
  (await readRoutes(db, accountId)).map((row) => {
    const fault = faultIn(checkRoute(row.definition));
    return fault === undefined ? row : { ...row, definition: UNREADABLE_ROUTE, fault };
  });
