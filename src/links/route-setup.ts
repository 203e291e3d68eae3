/** The routes that an account has created among its links: requests, records and changes. */
import { Problem, type Fault } from "../http/problem.ts";
import { nullable, oneOf, openEnum, optional, Type, type Static } from "../http/schema.ts";
import { decodeId, encodeId } from "../model/id.ts";
import { CHANNELS } from "./channel.ts";
import { countryList, prefixList, rankField, weightList } from "./plan.ts";
import { STRATEGIES } from "./strategy.ts";
import { deleteRoute, writeRoute, type RouteDefinition, type RouteRecordRow } from "./setup-queries.ts";
import { presentFields, requireCountries, shownStamps, sourceField, stampFields, unknownLink, Resource, type SetupWrite } from "./setup.ts";
import { readListedLinks, sendingChannels } from "./stored-link.ts";
import { faultField, readStoredRoutes, type Readable } from "./stored-rules.ts";

const links = Type.Array(Type.String({ maxLength: 64 }), {
  minItems: 1,
  maxItems: 20,
  description: "The ids of links of the account, in the order in which they are used.",
  examples: [["lnk_01k9zs3v8mf4tb2xg1qj6n0d5c"]],
});
const rules = {
  countries: optional({ ...countryList, description: "The route applies only to recipients in these countries." }),
  prefixes: optional({ ...prefixList, maxItems: 100, description: "The route applies only to numbers with one of these beginnings." }),
  priority: optional({
    ...rankField,
    description: "Routes with a higher priority are used first. Among equal priorities, the longest prefix decides.",
  }),
  weights: optional({
    ...weightList,
    description: "One weight for each link. The first link of a message is chosen at random in proportion to the weights.",
  }),
  strategy: optional(
    oneOf(STRATEGIES, {
      description:
        "`quality`: prefer the links that deliver best. `price`: prefer the cheapest of those that deliver about as well. Not together with `weights`. See [Choose by quality or price](/docs/routing#choose-by-quality-or-price).",
    }),
  ),
};

export const NewRouteBody = Type.Object(
  { channel: oneOf(CHANNELS, { description: "The channel of the messages." }), links, ...rules },
  { additionalProperties: false, title: "NewRoute", description: "A route to create." },
);
export const EditRouteBody = Type.Object(
  { links: optional(links), ...rules },
  { additionalProperties: false, title: "EditRoute", description: "The fields to change." },
);

export const RouteRecord = Type.Object(
  {
    id: Type.String({ examples: ["rte_01k9zs3v8mf4tb2xg1qj6n0d5c"], description: "The id of the route." }),
    object: Type.Literal("route"),
    source: sourceField,
    channel: openEnum(CHANNELS, "The channel of the messages."),
    links: Type.Array(Type.String(), { description: "The links, in the order in which they are used." }),
    countries: nullable(Type.Array(Type.String(), { description: "The countries of recipients. Null: all." })),
    prefixes: nullable(Type.Array(Type.String(), { description: "The beginnings of numbers. Null: all." })),
    priority: Type.Integer({ description: "Routes with a higher priority are used first." }),
    weights: nullable(Type.Array(Type.Integer(), { description: "The weight of each link. Null: the links are used in their order." })),
    strategy: nullable(openEnum(STRATEGIES, "The figures by which the links are ordered. Null: the order or the weights decide.")),
    reason_detail: faultField("route"),
    ...stampFields("route"),
  },
  { title: "Route", description: "The rule that selects the links for the messages of a channel, by country or prefix of the recipient." },
);
type RouteRecord = Static<typeof RouteRecord>;

/** `row`: of a route that the account has created. */
const routeRecord = (
  { id, source }: Pick<RouteRecord, "id" | "source">,
  route: RouteDefinition,
  row?: Readable<RouteRecordRow>,
): RouteRecord => ({
  id,
  object: "route",
  source,
  channel: route.channel,
  links: [...route.links],
  countries: route.countries ?? null,
  prefixes: route.prefixes ?? null,
  priority: route.priority ?? 0,
  weights: route.weights ?? null,
  strategy: route.strategy ?? null,
  reason_detail: row?.fault ?? null,
  ...shownStamps(row),
});

export const ROUTES = new Resource<Readable<RouteRecordRow>, RouteRecord, Static<typeof NewRouteBody>, Static<typeof EditRouteBody>>({
  noun: "route",
  prefix: "rte",
  max: 100,

  listFile({ linkDirectory }, owner) {
    // `test` has the simulator and no routes.
    if (owner.environment !== "live") return [];
    const own = linkDirectory.current.fileRoutes.filter(({ accountId }) => accountId?.equals(owner.accountId) ?? true);
    return own.map((route) => routeRecord({ id: route.id, source: "file" }, route));
  },

  readRows: readStoredRoutes,
  records: (rows) => rows.map((row) => routeRecord({ id: encodeId("rte", row.id), source: "api" }, row.definition, row)),

  async create(write, request) {
    const definition = presentFields<RouteDefinition>(request);
    await checkRoute(write, definition);
    const { channel, links: names } = definition;
    return { row: { ...write.stamps, definition }, changes: { channel, links: names } };
  },

  async edit(write, { links: names, ...request }, { row }) {
    const definition = presentFields<RouteDefinition>({ ...row.definition, ...request, ...(names ? { links: names } : {}) });
    await checkRoute(write, definition);
    const fields = [...(names ? ["links"] : []), ...Object.keys(request)];
    return { row: { ...row, definition, fault: undefined }, fields };
  },

  write: writeRoute,
  delete: deleteRoute,
});

/** A route names links of the account that carry its channel. */
async function checkRoute(
  { tx, call }: SetupWrite,
  { links: names, channel, countries, weights, strategy }: RouteDefinition,
): Promise<void> {
  requireCountries(countries);
  const rows = await readListedLinks(tx, call.credential.accountId);
  const faults = names.flatMap((name, index): Fault[] => {
    const pointer = `/links/${index}`;
    const id = decodeId("lnk", name);
    const row = rows.find((each) => id !== undefined && each.id.equals(id));
    if (row === undefined) throw unknownLink(pointer);
    if (!sendingChannels(row.definition).includes(channel))
      return [{ pointer, code: "not_allowed", detail: `the link does not carry ${channel}` }];
    return names.indexOf(name) < index ? [{ pointer, code: "duplicate", detail: "is listed twice" }] : [];
  });
  if (weights !== undefined && strategy !== undefined)
    faults.push({ pointer: "/strategy", code: "not_allowed", detail: "cannot be combined with weights" });
  if (weights !== undefined && weights.length !== names.length)
    faults.push({ pointer: "/weights", code: "wrong_length", detail: "must have one weight for each link" });
  if (weights?.every((weight) => weight === 0) === true)
    faults.push({ pointer: "/weights", code: "not_allowed", detail: "must not all be 0" });
  if (faults.length > 0) throw new Problem("invalid_request_payload", { errors: faults });
}
