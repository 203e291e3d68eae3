/** The HTTP routes of templates. */
import { DEFAULT_LIMIT, idRange, pageOf, pageQuery, toPage } from "../api/paging.ts";
import { route, toResponse, type Route } from "../api/route.ts";
import { oneOf, optional, Type } from "../http/schema.ts";
import { CHANNELS } from "../links/channel.ts";
import type { Database } from "../storage/database.ts";
import type { TemplateChanger } from "./change-template.ts";
import { findOwnTemplate, TemplateParams } from "./find-template.ts";
import { checkEditTemplate, checkNewTemplate, EditTemplateBody, NewTemplateBody } from "./new-template.ts";
import { previewOf, PreviewBody, TemplatePreview } from "./preview.ts";
import { listTemplates } from "./queries.ts";
import { TEMPLATE_STATUSES, TemplateRecord, templateRecord } from "./template.ts";

const ListQuery = Type.Object(
  {
    ...pageQuery,
    status: optional(oneOf(TEMPLATE_STATUSES, { description: "Archived templates are listed only when asked for here." })),
    channel: optional(oneOf(CHANNELS)),
    name: optional(Type.String({ minLength: 1, maxLength: 64 })),
  },
  { additionalProperties: false },
);

const READ = { tag: "Templates", scope: "templates:read", isIdempotent: false } as const;
const WRITE = { tag: "Templates", scope: "templates:write", isIdempotent: true } as const;

export const templateRoutes = (db: Database, changer: TemplateChanger): Route[] => [
  route({
    ...WRITE,
    method: "POST",
    path: "/v1/templates",
    summary: "Create a template",
    description:
      "Submits it for review, unless it is a draft. One for sms alone is approved at once. With whatsapp the carrier decides; in `test` the simulator does, at once, by the name: `simulate_rejected…`, `simulate_paused…` and `simulate_pending…` become that, all others are approved.",
    body: NewTemplateBody,
    check: checkNewTemplate,
    reply: { status: 201, description: "Created.", schema: TemplateRecord, hasLocation: true },
    problems: ["template_name_taken", "too_many_templates"],
    handle: async (call) => toResponse(await changer.create(call, call.body)),
  }),
  route({
    ...READ,
    method: "GET",
    path: "/v1/templates",
    weight: "heavy",
    summary: "List templates",
    description:
      "Newest first, without archived ones unless `status=archived`. Filters combine. A filter that would look at very many archived templates may return a short page with `has_more: true`: go on with `next_cursor`.",
    query: ListQuery,
    reply: { status: 200, description: "A page of templates.", schema: pageOf("TemplatePage", TemplateRecord) },
    problems: [],
    handle: async ({ query, credential }) => {
      const filter = {
        before: idRange(query).before,
        status: query.status ?? null,
        channel: query.channel ?? null,
        name: query.name ?? null,
      };
      const { items, next } = await listTemplates(db, credential, filter, query.limit ?? DEFAULT_LIMIT);
      return { status: 200, body: JSON.stringify(toPage(items.map(templateRecord), next)) };
    },
  }),
  route({
    ...READ,
    method: "GET",
    path: "/v1/templates/{id}",
    summary: "Read a template",
    description: "The template as it is now, by its id or its name.",
    params: TemplateParams,
    reply: { status: 200, description: "The template.", schema: TemplateRecord },
    problems: ["not_found"],
    handle: async ({ params, credential }) => ({
      status: 200,
      body: JSON.stringify(templateRecord(await findOwnTemplate(db, credential, params.id))),
    }),
  }),
  route({
    ...WRITE,
    method: "PATCH",
    path: "/v1/templates/{id}",
    summary: "Change a template",
    description:
      "Changes what is named. A change of body, header, footer, buttons or examples makes a new version, which is reviewed again; a draft stays a draft until it is submitted with `status: pending`. Examples of variables that are gone go with them. Messages keep the version they used.",
    params: TemplateParams,
    body: EditTemplateBody,
    check: checkEditTemplate,
    reply: { status: 200, description: "The template after the change.", schema: TemplateRecord },
    problems: ["not_found", "template_not_editable"],
    handle: async (call) => toResponse(await changer.edit(call, call.params.id, call.body)),
  }),
  route({
    ...WRITE,
    isIdempotent: false,
    method: "DELETE",
    path: "/v1/templates/{id}",
    summary: "Archive a template",
    description:
      "It can no longer be sent or changed, and its name is free. It can still be read by its id. Doing it again changes nothing.",
    params: TemplateParams,
    reply: { status: 200, description: "The archived template.", schema: TemplateRecord },
    problems: ["not_found"],
    handle: async (call) => toResponse(await changer.archive(call, call.params.id)),
  }),
  route({
    ...READ,
    method: "POST",
    path: "/v1/templates/{id}/preview",
    summary: "Preview a template",
    description: "What would be sent, whatever the template's status. Without variables its examples are used.",
    params: TemplateParams,
    body: PreviewBody,
    reply: { status: 200, description: "The template filled in.", schema: TemplatePreview },
    problems: ["not_found", "template_channel_mismatch", "template_variables_mismatch", "template_text_too_long"],
    handle: async ({ params, credential, body }) => ({
      status: 200,
      body: JSON.stringify(previewOf(await findOwnTemplate(db, credential, params.id), body)),
    }),
  }),
];
