/** The HTTP routes of templates. */
import { DEFAULT_LIMIT, idRange, pageOf, pageQuery, toPage } from "../api/paging.ts";
import { route, toResponse, type Route } from "../api/route.ts";
import { jsonResponse } from "../http/json-response.ts";
import { oneOf, optional, Type } from "../http/schema.ts";
import { CHANNELS } from "../links/channel.ts";
import type { Database } from "../database/database.ts";
import type { TemplateChanger } from "./change-template.ts";
import { findOwnTemplate, TemplateParams } from "./find-template.ts";
import { checkEditTemplate, checkNewTemplate, EditTemplateBody, NewTemplateBody } from "./new-template.ts";
import { previewOf, PreviewBody, TemplatePreview } from "./preview.ts";
import { listTemplates } from "./queries.ts";
import { TEMPLATE_STATUSES, TemplateRecord, templateRecord } from "./template.ts";

const ListQuery = Type.Object(
  {
    ...pageQuery,
    status: optional(oneOf(TEMPLATE_STATUSES, { description: "Only templates with this status. Without it, all except archived ones." })),
    channel: optional(oneOf(CHANNELS, { description: "Only templates for this channel." })),
    name: optional(Type.String({ minLength: 1, maxLength: 64, description: "Only the template with this name." })),
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
    operationId: "createTemplate",
    summary: "Create a template",
    description:
      "Creates a text with variables and submits it for review, unless `status` is `draft`. A template for sms only is approved at once. A template for whatsapp is reviewed by the carrier; in `test` the simulator reviews it at once, and a name that begins with `simulate_rejected`, `simulate_paused` or `simulate_pending` gets that status. Send an `Idempotency-Key`, so that you can repeat the request safely. See [Templates](/docs/templates).",
    body: NewTemplateBody,
    check: checkNewTemplate,
    reply: { status: 201, description: "The template was created.", schema: TemplateRecord, hasLocation: true },
    problems: ["template_name_taken", "too_many_templates"],
    handle: async (call) => toResponse(await changer.create(call, call.body)),
  }),
  route({
    ...READ,
    method: "GET",
    path: "/v1/templates",
    operationId: "listTemplates",
    weight: "heavy",
    isCompressible: true,
    summary: "List templates",
    description:
      "Returns the templates of the environment, newest first. Archived templates are listed only with `status=archived`. Filters can be combined. A filter that would have to read very many archived templates may return a short page with `has_more: true`: continue with `next_cursor`. See [Templates](/docs/templates).",
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
      return jsonResponse(toPage(items.map(templateRecord), next));
    },
  }),
  route({
    ...READ,
    method: "GET",
    path: "/v1/templates/{id}",
    operationId: "getTemplate",
    summary: "Retrieve a template",
    description:
      "Returns a template by its id or its name, with its current status and version. An archived template can be retrieved only by its id. See [Templates](/docs/templates).",
    params: TemplateParams,
    reply: { status: 200, description: "The template.", schema: TemplateRecord },
    problems: ["not_found"],
    handle: async ({ params, credential }) => jsonResponse(templateRecord(await findOwnTemplate(db, credential, params.id))),
  }),
  route({
    ...WRITE,
    method: "PATCH",
    path: "/v1/templates/{id}",
    operationId: "updateTemplate",
    summary: "Update a template",
    description:
      "Changes the given fields; fields that are absent or null stay unchanged. A change of body, header, footer, buttons or examples creates a new version, which is reviewed again. A draft stays a draft until it is submitted with `status: pending`. Messages keep the version that they used. Send an `Idempotency-Key`, so that you can repeat the request safely. See [Status and versions](/docs/templates#status-and-versions).",
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
    operationId: "archiveTemplate",
    summary: "Archive a template",
    description:
      "Archives a template: it can no longer be sent or changed, and its name becomes free. Its record can still be retrieved by id, and messages that were already sent keep their text. Archiving it again changes nothing. See [Templates](/docs/templates).",
    params: TemplateParams,
    reply: { status: 200, description: "The archived template.", schema: TemplateRecord },
    problems: ["not_found"],
    handle: async (call) => toResponse(await changer.archive(call, call.params.id)),
  }),
  route({
    ...READ,
    method: "POST",
    path: "/v1/templates/{id}/preview",
    operationId: "previewTemplate",
    summary: "Preview a template",
    description:
      "Returns the text that would be sent, whatever the status of the template. Without `template_variables` the examples of the template are used. Nothing is sent or stored. See [Templates](/docs/templates).",
    params: TemplateParams,
    body: PreviewBody,
    isReadOnly: true,
    reply: { status: 200, description: "The template with its variables filled in.", schema: TemplatePreview },
    problems: ["not_found", "template_channel_mismatch", "template_variables_mismatch", "template_text_too_long"],
    handle: async ({ params, credential, body }) => jsonResponse(previewOf(await findOwnTemplate(db, credential, params.id), body)),
  }),
];
