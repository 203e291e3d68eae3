/** The HTTP routes of links, senders and routes. */
import { route, toResponse, type Route } from "../api/route.ts";
import type { ErrorCode } from "../http/codes.ts";
import type { Fault } from "../http/problem.ts";
import { Type, type Schema, type Static } from "../http/schema.ts";
import type { Uuid } from "../lib/uuid.ts";
import { EditLinkBody, NewLinkBody, settingFaults } from "./link-definition.ts";
import { LinkRecord } from "./link-record.ts";
import { LINKS } from "./link-setup.ts";
import { LinkTestResult, type LinkTester } from "./link-test.ts";
import { EditRouteBody, NewRouteBody, RouteRecord, ROUTES } from "./route-setup.ts";
import { EditSenderBody, NewSenderBody, SenderRecord, SENDERS } from "./sender-setup.ts";
import type { Stamps } from "./setup-queries.ts";
import type { Resource, SetupContext } from "./setup.ts";

const READ = { tag: "Links, senders and routes", scope: "links:read", isIdempotent: false, problems: [] } as const;
const WRITE = { tag: "Links, senders and routes", scope: "links:write", isIdempotent: true } as const;
const CREATE_PROBLEMS = ["live_only", "limit_reached", "already_exists"] as const;
const CHANGE_PROBLEMS = ["not_found", "defined_in_file"] as const;

const REPEATED = "Send an `Idempotency-Key`, so that you can repeat the request safely.";

const paramsOf = (noun: string) => Type.Object({ id: Type.String({ description: `The id of the ${noun}.` }) });

type Described<N extends Schema, E extends Schema> = {
  record: Schema;
  newBody: N;
  editBody: E;
  check?: (body: Readonly<Record<string, unknown>>) => Fault[];
  /** The description of the list. */
  listed: string;
  /** The sentences of each description before the link to the docs. */
  texts: Readonly<Record<"list" | "create" | "retrieve" | "update" | "delete", string>>;
  /** Further problems of writes. */
  problems?: { create: readonly ErrorCode[]; update: readonly ErrorCode[]; delete: readonly ErrorCode[] };
};

/** The five rows of a resource. */
function rowsOf<N extends Schema, E extends Schema, Row extends Stamps & { id: Uuid }, Shown extends { id: string }>(
  context: SetupContext,
  resource: Resource<Row, Shown, Static<N>, Static<E>>,
  { record, newBody, editBody, check, listed, texts, problems }: Described<N, E>,
): Route[] {
  const { noun } = resource;
  const title = `${noun.charAt(0).toUpperCase()}${noun.slice(1)}`;
  const path = `/v1/${noun}s`;
  const one = { path: `${path}/{id}`, params: paramsOf(noun) };
  const list = Type.Object(
    { data: Type.Array(record, { description: "All records, without pages." }) },
    { title: `${title}List`, description: "A list that is not paged." },
  );
  const deleted = Type.Object(
    { id: Type.String({ description: `The id of the deleted ${noun}.` }), object: Type.Literal(noun), deleted: Type.Literal(true) },
    { title: `Deleted${title}`, description: `The confirmation that a ${noun} was deleted.` },
  );
  return [
    route({
      ...READ,
      method: "GET",
      path,
      operationId: `list${title}s`,
      summary: `List ${noun}s`,
      description: texts.list,
      reply: { status: 200, description: listed, schema: list },
      handle: async ({ credential }) => ({ status: 200, body: JSON.stringify({ data: await resource.list(context, credential) }) }),
    }),
    route({
      ...WRITE,
      method: "POST",
      path,
      operationId: `create${title}`,
      summary: `Create a ${noun}`,
      description: texts.create,
      body: newBody,
      ...(check && { check }),
      reply: { status: 201, description: `The ${noun} was created.`, schema: record, hasLocation: true },
      problems: [...CREATE_PROBLEMS, ...(problems?.create ?? [])],
      handle: async (call) => toResponse(await resource.create(context, call, call.body)),
    }),
    route({
      ...READ,
      ...one,
      method: "GET",
      operationId: `get${title}`,
      summary: `Retrieve a ${noun}`,
      description: texts.retrieve,
      reply: { status: 200, description: `The ${noun}.`, schema: record },
      problems: ["not_found"],
      handle: async ({ params: { id }, credential }) => ({
        status: 200,
        body: JSON.stringify(await resource.find(context, credential, id)),
      }),
    }),
    route({
      ...WRITE,
      ...one,
      method: "PATCH",
      operationId: `update${title}`,
      summary: `Update a ${noun}`,
      description: texts.update,
      body: editBody,
      reply: { status: 200, description: `The ${noun} after the change.`, schema: record },
      problems: [...CHANGE_PROBLEMS, ...(problems?.update ?? [])],
      handle: async (call) => toResponse(await resource.edit(context, call, call.params.id, call.body)),
    }),
    route({
      ...WRITE,
      ...one,
      isIdempotent: false,
      method: "DELETE",
      operationId: `delete${title}`,
      summary: `Delete a ${noun}`,
      description: texts.delete,
      reply: { status: 200, description: `The ${noun} was deleted.`, schema: deleted },
      problems: [...CHANGE_PROBLEMS, ...(problems?.delete ?? [])],
      handle: async (call) => {
        const { id } = call.params;
        await resource.delete(context, call, id);
        return { status: 200, body: JSON.stringify({ id, object: noun, deleted: true }) };
      },
    }),
  ];
}

export const setupRoutes = (context: SetupContext, tester: LinkTester): Route[] => [
  ...rowsOf(context, LINKS, {
    record: LinkRecord,
    newBody: NewLinkBody,
    editBody: EditLinkBody,
    check: settingFaults,
    listed: "The links of this environment.",
    texts: {
      list: "Returns the links of the account and those of the operator, each with its state within the last seconds. The list is not paged. `test` has only the simulator. See [Connect carriers](/docs/links).",
      create: `Connects the account to a carrier, in \`live\`. All nodes open the connection within seconds; check it with \`POST /v1/links/{id}/test\`. A host must use TLS and be on the public internet, unless the operator allows its network. Secrets are stored encrypted and never returned. ${REPEATED} See [Links of an account](/docs/links#links-of-an-account).`,
      retrieve:
        "Returns a link with its current state and its settings, without its secrets. See [States of a link](/docs/links#states-of-a-link).",
      update: `Changes the given fields. In \`settings\`, each given member replaces its previous value, and null removes it. Secrets that are not given stay, unless the address changes: then they are required again. The connection of this link is opened again. ${REPEATED} See [Links of an account](/docs/links#links-of-an-account).`,
      delete:
        "Closes the connection and deletes the link together with its senders. Messages that wait for the link use another link, or expire. A link that a route uses is refused with `link_in_use`. See [Links of an account](/docs/links#links-of-an-account).",
    },
    problems: {
      create: ["link_address_refused"],
      update: ["link_address_refused", "already_exists", "link_in_use", "paused_by_operator"],
      delete: ["link_in_use"],
    },
  }),
  route({
    ...WRITE,
    isIdempotent: false,
    method: "POST",
    path: "/v1/links/{id}/test",
    operationId: "testLink",
    summary: "Test a link",
    description:
      "Connects to the carrier and signs in, without sending a message, and reports the step that failed. A link that is connected is not connected a second time. An account can test its links a few times per minute. See [Links of an account](/docs/links#links-of-an-account).",
    params: paramsOf("link"),
    reply: { status: 200, description: "The result of the test.", schema: LinkTestResult },
    problems: [...CHANGE_PROBLEMS, "rate_limit_exceeded"],
    handle: async (call) => ({ status: 200, body: JSON.stringify(await tester.test(call, call.params.id)) }),
  }),
  ...rowsOf(context, SENDERS, {
    record: SenderRecord,
    newBody: NewSenderBody,
    editBody: EditSenderBody,
    listed: "The senders.",
    texts: {
      list: "Returns the numbers, short codes and names from which the account sends, in `live`. The list is not paged. See [Senders](/docs/routing#senders).",
      create: `Adds a number, a short code or a name to a link of the account. A message without a \`sender\` uses one of these. ${REPEATED} See [Senders](/docs/routing#senders).`,
      retrieve: "Returns one sender with its link and its rules. See [Senders](/docs/routing#senders).",
      update: `Changes the given fields; null removes a value. Messages that were already accepted keep their sender. ${REPEATED} See [Senders](/docs/routing#senders).`,
      delete:
        "Deletes a sender: new messages are not sent from it. Messages that were already accepted keep it. See [Senders](/docs/routing#senders).",
    },
  }),
  ...rowsOf(context, ROUTES, {
    record: RouteRecord,
    newBody: NewRouteBody,
    editBody: EditRouteBody,
    listed: "The routes.",
    texts: {
      list: "Returns the routes of the account, and those of the operator that apply to it, in `live`. The list is not paged. See [Routes](/docs/routing#routes).",
      create: `Selects the links for the messages of a channel, by the country or the prefix of the recipient. Without routes, the links of the account are used in the order of their creation. ${REPEATED} See [Routes](/docs/routing#routes).`,
      retrieve: "Returns one route with its links and its rules. See [Routes](/docs/routing#routes).",
      update: `Changes the given fields; null removes a value. Messages that were already accepted keep their link. ${REPEATED} See [Routes](/docs/routing#routes).`,
      delete:
        "Deletes a route: new messages do not use it. Messages that were already accepted keep their link. See [Routes](/docs/routing#routes).",
    },
  }),
];
