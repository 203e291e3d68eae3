/** The routes that an account has created among its links: requests, records and changes. */
import { Problem, type Fault } from "../http/problem.ts";
import { createdByField, HINT, nullable, oneOf, openEnum, optional, timestamp, Type, type Static } from "../http/schema.ts";
import type { AuditedCall, Executed, Replay } from "../idempotency/once.ts";
import { decodeId, encodeId, newId } from "../model/id.ts";
import { actorText } from "../model/origin.ts";
import { isoTime } from "../lib/time.ts";
import { uuidTimeMs } from "../lib/uuid.ts";
import { countryField } from "./address.ts";
import { CHANNELS } from "./channel.ts";
import type { Queryable, Tx } from "../database/database.ts";
import type { Owner } from "../model/owner.ts";
import type { LinkDefinition } from "./link-definition.ts";
import { deleteRoute, lockSetup, readLinks, readRoutes, writeRoute, type RouteRecordRow } from "./setup-queries.ts";
import { unknownLink } from "./sender-setup.ts";
import { FILE_PREFIX, limitReached, requireCountries, requireLive, type Setup } from "./setup.ts";
import { sendingChannels } from "./stored-link.ts";

const MAX_ROUTES = 100;

const links = Type.Array(Type.String({ maxLength: 64 }), {
  minItems: 1,
  maxItems: 20,
  description: "The ids of links of the account, in the order in which they are used.",
  examples: [["lnk_01k9zs3v8mf4tb2xg1qj6n0d5c"]],
});
const rules = {
  countries: optional(
    Type.Array(countryField, { minItems: 1, maxItems: 250, description: "The route applies only to recipients in these countries." }),
  ),
  prefixes: optional(
    Type.Array(Type.String({ pattern: "^\\+\\d{1,14}$", [HINT]: "must be the beginning of a number such as +1415" }), {
      minItems: 1,
      maxItems: 100,
      description: "The route applies only to numbers with one of these beginnings.",
    }),
  ),
  priority: optional(
    Type.Integer({
      minimum: -1_000,
      maximum: 1_000,
      description: "Routes with a higher priority are used first. Among equal priorities, the longest prefix decides.",
    }),
  ),
  weights: optional(
    Type.Array(Type.Integer({ minimum: 0, maximum: 1_000 }), {
      minItems: 1,
      maxItems: 20,
      description: "One weight for each link. The first link of a message is chosen at random in proportion to the weights.",
    }),
  ),
};

export const NewRouteBody = Type.Object(
  { channel: oneOf(CHANNELS, { description: "The channel of the messages." }), links, ...rules },
  { additionalProperties: false, title: "NewRoute", description: "A route to create." },
);
type NewRoute = Static<typeof NewRouteBody>;
export const EditRouteBody = Type.Object(
  { links: optional(links), ...rules },
  { additionalProperties: false, title: "EditRoute", description: "The fields to change." },
);
type EditRoute = Static<typeof EditRouteBody>;

export type RouteDefinition = {
  channel: (typeof CHANNELS)[number];
  links: string[];
  countries?: string[];
  prefixes?: string[];
  priority?: number;
  weights?: number[];
};

export const RouteRecord = Type.Object(
  {
    id: Type.String({ examples: ["rte_01k9zs3v8mf4tb2xg1qj6n0d5c"], description: "The id of the route." }),
    object: Type.Literal("route"),
    source: openEnum(
      ["file", "api"],
      "The origin. `file`: the configuration file of the operator; it cannot be changed here. `api`: created by the account.",
    ),
    channel: openEnum(CHANNELS, "The channel of the messages."),
    links: Type.Array(Type.String(), { description: "The links, in the order in which they are used." }),
    countries: nullable(Type.Array(Type.String(), { description: "The countries of recipients. Null: all." })),
    prefixes: nullable(Type.Array(Type.String(), { description: "The beginnings of numbers. Null: all." })),
    priority: Type.Integer({ description: "Routes with a higher priority are used first." }),
    weights: nullable(Type.Array(Type.Integer(), { description: "The weight of each link. Null: the links are used in their order." })),
    created_at: nullable(timestamp("The time of creation. Null for a route of the configuration file.")),
    updated_at: nullable(timestamp("The time of the last change. Null for a route of the configuration file.")),
    created_by: createdByField,
  },
  { title: "Route", description: "The rule that selects the links for the messages of a channel, by country or prefix of the recipient." },
);
type RouteRecord = Static<typeof RouteRecord>;

const toRules = ({ channel, links: names, countries, prefixes, priority, weights }: RouteDefinition) => ({
  channel,
  links: [...names],
  countries: countries ?? null,
  prefixes: prefixes ?? null,
  priority: priority ?? 0,
  weights: weights ?? null,
});

const routeRecord = ({ id, definition, updated_at: updatedAt, created_by: createdBy }: RouteRecordRow): RouteRecord => ({
  id: encodeId("rte", id),
  object: "route",
  source: "api",
  ...toRules(definition as RouteDefinition),
  created_at: isoTime(uuidTimeMs(id)),
  updated_at: updatedAt.toISOString(),
  created_by: createdBy,
});

const present = (fields: object): RouteDefinition =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null && value !== undefined)) as RouteDefinition;

export class RouteChanger {
  readonly #setup: Setup;

  constructor(setup: Setup) {
    this.#setup = setup;
  }

  /** The routes of an account: those of the configuration file that concern it first. */
  async list(db: Queryable, owner: Owner): Promise<RouteRecord[]> {
    if (owner.environment !== "live") return [];
    const ofFile = this.#setup.linkChooser.fileRoutes(owner).map(({ row, position }): RouteRecord => ({
      id: `${FILE_PREFIX}${position}`,
      object: "route",
      source: "file",
      ...toRules(row),
      created_at: null,
      updated_at: null,
      created_by: null,
    }));
    return [...ofFile, ...(await readRoutes(db, owner.accountId)).map(routeRecord)];
  }

  async read(db: Queryable, owner: Owner, id: string): Promise<RouteRecord> {
    const found = (await this.list(db, owner)).find((each) => each.id === id);
    if (found === undefined) throw this.#setup.unknown("route");
    return found;
  }

  async create(call: AuditedCall, request: NewRoute): Promise<Executed | Replay> {
    const { credential, origin } = call;
    requireLive(credential);
    return this.#setup.write(call, async (tx) => {
      const definition = present(request);
      await this.#check(tx, credential, definition);
      if ((await readRoutes(tx, credential.accountId)).length >= MAX_ROUTES)
        return limitReached(`an account can have at most ${MAX_ROUTES} routes`);
      const nowMs = this.#setup.now();
      const row: RouteRecordRow = {
        account_id: credential.accountId,
        id: newId("rte", nowMs),
        definition,
        updated_at: new Date(nowMs),
        created_by: actorText(origin().actor),
      };
      await writeRoute(tx, row);
      const id = encodeId("rte", row.id);
      const changes = { channel: definition.channel, links: definition.links };
      await this.#setup.record(tx, call, { action: "route.created", target: { type: "route", id }, changes });
      return { status: 201, location: `/v1/routes/${id}`, body: JSON.stringify(routeRecord(row)), eventId: null };
    });
  }

  edit(call: AuditedCall, text: string, { links: names, ...request }: EditRoute): Promise<Executed | Replay> {
    return this.#setup.write(call, async (tx) => {
      const row = await this.#find(tx, call.credential, text);
      const definition = present({ ...(row.definition as RouteDefinition), ...request, ...(names ? { links: names } : {}) });
      await this.#check(tx, call.credential, definition);
      const edited: RouteRecordRow = { ...row, definition, updated_at: new Date(this.#setup.now()) };
      await writeRoute(tx, edited);
      const changes = { fields: [...(names ? ["links"] : []), ...Object.keys(request)] };
      await this.#setup.record(tx, call, { action: "route.changed", target: { type: "route", id: text }, changes });
      return { status: 200, location: null, body: JSON.stringify(routeRecord(edited)), eventId: null };
    });
  }

  delete(call: AuditedCall, text: string): Promise<void> {
    return this.#setup.change(async (tx) => {
      await lockSetup(tx, call.credential.accountId);
      const { id } = await this.#find(tx, call.credential, text);
      await deleteRoute(tx, call.credential.accountId, id);
      await this.#setup.record(tx, call, { action: "route.deleted", target: { type: "route", id: text } });
    });
  }

  async #find(tx: Tx, owner: Owner, text: string): Promise<RouteRecordRow> {
    const id = owner.environment === "live" ? decodeId("rte", text) : undefined;
    const rows = id === undefined ? [] : await readRoutes(tx, owner.accountId);
    const row = rows.find((each) => id !== undefined && each.id.equals(id));
    if (row === undefined) throw this.#setup.missing(owner, text, "route");
    return row;
  }

  /** A route names links of the account that carry its channel. */
  async #check(tx: Tx, { accountId }: Owner, { links: names, channel, countries, weights }: RouteDefinition): Promise<void> {
    requireCountries(countries);
    const rows = await readLinks(tx, accountId);
    const faults = names.flatMap((name, index): Fault[] => {
      const pointer = `/links/${index}`;
      const id = decodeId("lnk", name);
      const row = rows.find((each) => id !== undefined && each.id.equals(id));
      if (row === undefined) throw unknownLink(pointer);
      if (!sendingChannels(row.definition as LinkDefinition).includes(channel))
        return [{ pointer, code: "not_allowed", detail: `the link does not carry ${channel}` }];
      return names.indexOf(name) < index ? [{ pointer, code: "duplicate", detail: "is listed twice" }] : [];
    });
    if (weights !== undefined && weights.length !== names.length)
      faults.push({ pointer: "/weights", code: "wrong_length", detail: "must have one weight for each link" });
    if (weights?.every((weight) => weight === 0) === true)
      faults.push({ pointer: "/weights", code: "not_allowed", detail: "must not all be 0" });
    if (faults.length > 0) throw new Problem("invalid_request_payload", { errors: faults });
  }
}
