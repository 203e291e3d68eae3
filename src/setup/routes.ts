/** The HTTP routes of links, senders and routes. */
import { route, toResponse, type Route } from "../api/route.ts";
import { Type, type Schema } from "../http/schema.ts";
import { LinkRecord } from "../links/link-record.ts";
import { listLinkRecords } from "./account-links.ts";
import { EditLinkBody, NewLinkBody, settingFaults } from "./link-definition.ts";
import type { LinkChanger } from "./link-setup.ts";
import { LinkTestResult, type LinkTester } from "./link-test.ts";
import { EditRouteBody, NewRouteBody, RouteRecord, type RouteChanger } from "./route-setup.ts";
import { EditSenderBody, NewSenderBody, SenderRecord, type SenderChanger } from "./sender-setup.ts";
import type { Setup } from "./setup.ts";

const params = (noun: string) => Type.Object({ id: Type.String({ description: `The ${noun}'s id.` }) });
const list = <S extends Schema>(title: string, record: S) => Type.Object({ data: Type.Array(record) }, { title });
const deleted = <const N extends "link" | "sender" | "route">(title: string, noun: N) =>
  Type.Object({ id: Type.String(), object: Type.Literal(noun), deleted: Type.Literal(true) }, { title });

const READ = { tag: "Links", scope: "links:read", isIdempotent: false, problems: [] } as const;
const WRITE = { tag: "Links", scope: "links:write", isIdempotent: true } as const;
const CREATE_PROBLEMS = ["live_only", "limit_reached", "already_exists"] as const;
const CHANGE_PROBLEMS = ["not_found", "defined_in_file"] as const;

export type SetupRoutesParts = { setup: Setup; links: LinkChanger; tester: LinkTester; senders: SenderChanger; routes: RouteChanger };

export const setupRoutes = (parts: SetupRoutesParts): Route[] => [...linkRoutes(parts), ...senderRoutes(parts), ...routeRoutes(parts)];

const linkRoutes = ({ setup, links, tester }: SetupRoutesParts): Route[] => [
  route({
    ...READ,
    method: "GET",
    path: "/v1/links",
    summary: "List links",
    description:
      "The links of the account and those of the operator, each with its state as the nodes reported it within the last seconds. `test` has the simulator only.",
    reply: { status: 200, description: "The links of this environment.", schema: list("LinkList", LinkRecord) },
    handle: async ({ credential }) => ({ status: 200, body: JSON.stringify({ data: await listLinkRecords(setup, setup.db, credential) }) }),
  }),
  route({
    ...WRITE,
    method: "POST",
    path: "/v1/links",
    summary: "Create a link",
    description:
      "Connects the account to a carrier, in `live`. All nodes open the connection within seconds. Hosts must be on the public internet and be reached with TLS, unless the operator allows their network.",
    body: NewLinkBody,
    check: settingFaults,
    reply: { status: 201, description: "Created.", schema: LinkRecord, hasLocation: true },
    problems: [...CREATE_PROBLEMS, "link_address_refused"],
    handle: async (call) => toResponse(await links.create(call, call.body)),
  }),
  route({
    ...READ,
    method: "GET",
    path: "/v1/links/{id}",
    summary: "Read a link",
    description: "A link with its state, without its secrets.",
    params: params("link"),
    reply: { status: 200, description: "The link.", schema: LinkRecord },
    problems: ["not_found"],
    handle: async ({ params: { id }, credential }) => {
      const found = (await listLinkRecords(setup, setup.db, credential)).find((each) => each.id === id);
      if (found === undefined) throw setup.unknown("link");
      return { status: 200, body: JSON.stringify(found) };
    },
  }),
  route({
    ...WRITE,
    method: "PATCH",
    path: "/v1/links/{id}",
    summary: "Change a link",
    description:
      "Changes what is named. Members of `settings` that are named replace those before, and null removes one. A secret that is not named stays, unless the address changes: then it is required again. The connection is opened again; other links keep theirs.",
    params: params("link"),
    body: EditLinkBody,
    reply: { status: 200, description: "The link after the change.", schema: LinkRecord },
    problems: [...CHANGE_PROBLEMS, "link_address_refused", "already_exists", "link_in_use", "paused_by_operator"],
    handle: async (call) => toResponse(await links.edit(call, call.params.id, call.body)),
  }),
  route({
    ...WRITE,
    isIdempotent: false,
    method: "DELETE",
    path: "/v1/links/{id}",
    summary: "Delete a link",
    description: "Closes the connection, and deletes the link with its senders. Messages that wait for it take another link, or expire.",
    params: params("link"),
    reply: { status: 200, description: "Deleted.", schema: deleted("DeletedLink", "link") },
    problems: [...CHANGE_PROBLEMS, "link_in_use"],
    handle: async (call) => {
      await links.delete(call, call.params.id);
      return { status: 200, body: JSON.stringify({ id: call.params.id, object: "link", deleted: true }) };
    },
  }),
  route({
    ...WRITE,
    isIdempotent: false,
    method: "POST",
    path: "/v1/links/{id}/test",
    summary: "Test a link",
    description:
      "Connects to the carrier and signs in, without sending a message, and reports what failed. A link that is connected is not tested again. An account may test a few times a minute.",
    params: params("link"),
    reply: { status: 200, description: "What was found.", schema: LinkTestResult },
    problems: [...CHANGE_PROBLEMS, "rate_limit_exceeded"],
    handle: async (call) => ({ status: 200, body: JSON.stringify(await tester.test(call, call.params.id)) }),
  }),
];

const senderRoutes = ({ setup, senders }: SetupRoutesParts): Route[] => [
  route({
    ...READ,
    method: "GET",
    path: "/v1/senders",
    summary: "List senders",
    description: "The numbers and names that the account sends from, in `live`.",
    reply: { status: 200, description: "The senders.", schema: list("SenderList", SenderRecord) },
    handle: async ({ credential }) => ({ status: 200, body: JSON.stringify({ data: await senders.list(setup.db, credential) }) }),
  }),
  route({
    ...WRITE,
    method: "POST",
    path: "/v1/senders",
    summary: "Create a sender",
    description: "Adds a number or name to a link of the account. Messages that name no sender get one of these.",
    body: NewSenderBody,
    reply: { status: 201, description: "Created.", schema: SenderRecord, hasLocation: true },
    problems: CREATE_PROBLEMS,
    handle: async (call) => toResponse(await senders.create(call, call.body)),
  }),
  route({
    ...READ,
    method: "GET",
    path: "/v1/senders/{id}",
    summary: "Read a sender",
    description: "One sender.",
    params: params("sender"),
    reply: { status: 200, description: "The sender.", schema: SenderRecord },
    problems: ["not_found"],
    handle: async ({ params: { id }, credential }) => ({
      status: 200,
      body: JSON.stringify(await senders.read(setup.db, credential, id)),
    }),
  }),
  route({
    ...WRITE,
    method: "PATCH",
    path: "/v1/senders/{id}",
    summary: "Change a sender",
    description: "Changes what is named; null removes it.",
    params: params("sender"),
    body: EditSenderBody,
    reply: { status: 200, description: "The sender after the change.", schema: SenderRecord },
    problems: CHANGE_PROBLEMS,
    handle: async (call) => toResponse(await senders.edit(call, call.params.id, call.body)),
  }),
  route({
    ...WRITE,
    isIdempotent: false,
    method: "DELETE",
    path: "/v1/senders/{id}",
    summary: "Delete a sender",
    description: "New messages are not sent from it. Messages that have it keep it.",
    params: params("sender"),
    reply: { status: 200, description: "Deleted.", schema: deleted("DeletedSender", "sender") },
    problems: CHANGE_PROBLEMS,
    handle: async (call) => {
      await senders.delete(call, call.params.id);
      return { status: 200, body: JSON.stringify({ id: call.params.id, object: "sender", deleted: true }) };
    },
  }),
];

const routeRoutes = ({ setup, routes }: SetupRoutesParts): Route[] => [
  route({
    ...READ,
    method: "GET",
    path: "/v1/routes",
    summary: "List routes",
    description: "The routes of the account, and those of the operator that concern it, in `live`.",
    reply: { status: 200, description: "The routes.", schema: list("RouteList", RouteRecord) },
    handle: async ({ credential }) => ({ status: 200, body: JSON.stringify({ data: await routes.list(setup.db, credential) }) }),
  }),
  route({
    ...WRITE,
    method: "POST",
    path: "/v1/routes",
    summary: "Create a route",
    description:
      "Says which links of the account take the messages of a channel, by the country or the prefix of the recipient. Without routes, all links of the account take them, in the order of their creation.",
    body: NewRouteBody,
    reply: { status: 201, description: "Created.", schema: RouteRecord, hasLocation: true },
    problems: CREATE_PROBLEMS,
    handle: async (call) => toResponse(await routes.create(call, call.body)),
  }),
  route({
    ...READ,
    method: "GET",
    path: "/v1/routes/{id}",
    summary: "Read a route",
    description: "One route.",
    params: params("route"),
    reply: { status: 200, description: "The route.", schema: RouteRecord },
    problems: ["not_found"],
    handle: async ({ params: { id }, credential }) => ({ status: 200, body: JSON.stringify(await routes.read(setup.db, credential, id)) }),
  }),
  route({
    ...WRITE,
    method: "PATCH",
    path: "/v1/routes/{id}",
    summary: "Change a route",
    description: "Changes what is named; null removes it.",
    params: params("route"),
    body: EditRouteBody,
    reply: { status: 200, description: "The route after the change.", schema: RouteRecord },
    problems: CHANGE_PROBLEMS,
    handle: async (call) => toResponse(await routes.edit(call, call.params.id, call.body)),
  }),
  route({
    ...WRITE,
    isIdempotent: false,
    method: "DELETE",
    path: "/v1/routes/{id}",
    summary: "Delete a route",
    description: "New messages do not follow it. Messages that have a link keep it.",
    params: params("route"),
    reply: { status: 200, description: "Deleted.", schema: deleted("DeletedRoute", "route") },
    problems: CHANGE_PROBLEMS,
    handle: async (call) => {
      await routes.delete(call, call.params.id);
      return { status: 200, body: JSON.stringify({ id: call.params.id, object: "route", deleted: true }) };
    },
  }),
];
