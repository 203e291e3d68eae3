/** The HTTP routes of links, senders and routes. */
import { route, toResponse, type Route } from "../api/route.ts";
import { Type, type Schema } from "../http/schema.ts";
import { LinkRecord } from "./link-record.ts";
import { listLinkRecords } from "./account-links.ts";
import { EditLinkBody, NewLinkBody, settingFaults } from "./link-definition.ts";
import type { LinkChanger } from "./link-setup.ts";
import { LinkTestResult, type LinkTester } from "./link-test.ts";
import { EditRouteBody, NewRouteBody, RouteRecord, type RouteChanger } from "./route-setup.ts";
import { EditSenderBody, NewSenderBody, SenderRecord, type SenderChanger } from "./sender-setup.ts";
import type { Setup } from "./setup.ts";

const params = (noun: string) => Type.Object({ id: Type.String({ description: `The id of the ${noun}.` }) });
const list = <S extends Schema>(title: string, record: S) =>
  Type.Object(
    { data: Type.Array(record, { description: "All records, without pages." }) },
    { title, description: "A list that is not paged." },
  );
const deleted = <const N extends "link" | "sender" | "route">(title: string, noun: N) =>
  Type.Object(
    { id: Type.String({ description: `The id of the deleted ${noun}.` }), object: Type.Literal(noun), deleted: Type.Literal(true) },
    { title, description: `The confirmation that a ${noun} was deleted.` },
  );

const READ = { tag: "Links, senders and routes", scope: "links:read", isIdempotent: false, problems: [] } as const;
const WRITE = { tag: "Links, senders and routes", scope: "links:write", isIdempotent: true } as const;
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
      "Returns the links of the account and those of the operator, each with its state within the last seconds. The list is not paged. `test` has only the simulator. See [Connect carriers](/docs/links).",
    reply: { status: 200, description: "The links of this environment.", schema: list("LinkList", LinkRecord) },
    handle: async ({ credential }) => ({ status: 200, body: JSON.stringify({ data: await listLinkRecords(setup, setup.db, credential) }) }),
  }),
  route({
    ...WRITE,
    method: "POST",
    path: "/v1/links",
    summary: "Create a link",
    description:
      "Connects the account to a carrier, in `live`. All nodes open the connection within seconds; check it with `POST /v1/links/{id}/test`. A host must use TLS and be on the public internet, unless the operator allows its network. Secrets are stored encrypted and never returned. Send an `Idempotency-Key`, so that you can repeat the request safely. See [Links of an account](/docs/links#links-of-an-account).",
    body: NewLinkBody,
    check: settingFaults,
    reply: { status: 201, description: "The link was created.", schema: LinkRecord, hasLocation: true },
    problems: [...CREATE_PROBLEMS, "link_address_refused"],
    handle: async (call) => toResponse(await links.create(call, call.body)),
  }),
  route({
    ...READ,
    method: "GET",
    path: "/v1/links/{id}",
    summary: "Retrieve a link",
    description:
      "Returns a link with its current state and its settings, without its secrets. See [States of a link](/docs/links#states-of-a-link).",
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
    summary: "Update a link",
    description:
      "Changes the given fields. In `settings`, each given member replaces its previous value, and null removes it. Secrets that are not given stay, unless the address changes: then they are required again. The connection of this link is opened again. Send an `Idempotency-Key`, so that you can repeat the request safely. See [Links of an account](/docs/links#links-of-an-account).",
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
    description:
      "Closes the connection and deletes the link together with its senders. Messages that wait for the link use another link, or expire. A link that a route uses is refused with `link_in_use`. See [Links of an account](/docs/links#links-of-an-account).",
    params: params("link"),
    reply: { status: 200, description: "The link was deleted.", schema: deleted("DeletedLink", "link") },
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
      "Connects to the carrier and signs in, without sending a message, and reports the step that failed. A link that is connected is not connected a second time. An account can test its links a few times per minute. See [Links of an account](/docs/links#links-of-an-account).",
    params: params("link"),
    reply: { status: 200, description: "The result of the test.", schema: LinkTestResult },
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
    description:
      "Returns the numbers, short codes and names from which the account sends, in `live`. The list is not paged. See [Senders](/docs/links#senders).",
    reply: { status: 200, description: "The senders.", schema: list("SenderList", SenderRecord) },
    handle: async ({ credential }) => ({ status: 200, body: JSON.stringify({ data: await senders.list(setup.db, credential) }) }),
  }),
  route({
    ...WRITE,
    method: "POST",
    path: "/v1/senders",
    summary: "Create a sender",
    description:
      "Adds a number, a short code or a name to a link of the account. A message without a `sender` uses one of these. Send an `Idempotency-Key`, so that you can repeat the request safely. See [Senders](/docs/links#senders).",
    body: NewSenderBody,
    reply: { status: 201, description: "The sender was created.", schema: SenderRecord, hasLocation: true },
    problems: CREATE_PROBLEMS,
    handle: async (call) => toResponse(await senders.create(call, call.body)),
  }),
  route({
    ...READ,
    method: "GET",
    path: "/v1/senders/{id}",
    summary: "Retrieve a sender",
    description: "Returns one sender with its link and its rules. See [Senders](/docs/links#senders).",
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
    summary: "Update a sender",
    description:
      "Changes the given fields; null removes a value. Messages that were already accepted keep their sender. Send an `Idempotency-Key`, so that you can repeat the request safely. See [Senders](/docs/links#senders).",
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
    description:
      "Deletes a sender: new messages are not sent from it. Messages that were already accepted keep it. See [Senders](/docs/links#senders).",
    params: params("sender"),
    reply: { status: 200, description: "The sender was deleted.", schema: deleted("DeletedSender", "sender") },
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
    description:
      "Returns the routes of the account, and those of the operator that apply to it, in `live`. The list is not paged. See [Routes](/docs/links#routes).",
    reply: { status: 200, description: "The routes.", schema: list("RouteList", RouteRecord) },
    handle: async ({ credential }) => ({ status: 200, body: JSON.stringify({ data: await routes.list(setup.db, credential) }) }),
  }),
  route({
    ...WRITE,
    method: "POST",
    path: "/v1/routes",
    summary: "Create a route",
    description:
      "Selects the links for the messages of a channel, by the country or the prefix of the recipient. Without routes, the links of the account are used in the order of their creation. Send an `Idempotency-Key`, so that you can repeat the request safely. See [Routes](/docs/links#routes).",
    body: NewRouteBody,
    reply: { status: 201, description: "The route was created.", schema: RouteRecord, hasLocation: true },
    problems: CREATE_PROBLEMS,
    handle: async (call) => toResponse(await routes.create(call, call.body)),
  }),
  route({
    ...READ,
    method: "GET",
    path: "/v1/routes/{id}",
    summary: "Retrieve a route",
    description: "Returns one route with its links and its rules. See [Routes](/docs/links#routes).",
    params: params("route"),
    reply: { status: 200, description: "The route.", schema: RouteRecord },
    problems: ["not_found"],
    handle: async ({ params: { id }, credential }) => ({ status: 200, body: JSON.stringify(await routes.read(setup.db, credential, id)) }),
  }),
  route({
    ...WRITE,
    method: "PATCH",
    path: "/v1/routes/{id}",
    summary: "Update a route",
    description:
      "Changes the given fields; null removes a value. Messages that were already accepted keep their link. Send an `Idempotency-Key`, so that you can repeat the request safely. See [Routes](/docs/links#routes).",
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
    description:
      "Deletes a route: new messages do not use it. Messages that were already accepted keep their link. See [Routes](/docs/links#routes).",
    params: params("route"),
    reply: { status: 200, description: "The route was deleted.", schema: deleted("DeletedRoute", "route") },
    problems: CHANGE_PROBLEMS,
    handle: async (call) => {
      await routes.delete(call, call.params.id);
      return { status: 200, body: JSON.stringify({ id: call.params.id, object: "route", deleted: true }) };
    },
  }),
];
