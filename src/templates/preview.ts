/** A template as its recipient would see it, without sending it. */
import { Problem } from "../http/problem.ts";
import { nullable, oneOf, openEnum, optional, Type, type Static } from "../http/schema.ts";
import { assert } from "../lib/assert.ts";
import { encodeId } from "../model/id.ts";
import { segmentsOf } from "../model/segments.ts";
import { CHANNELS, SegmentsRecord } from "../links/channel.ts";
import { channelMismatch, fillTemplate } from "./fill-template.ts";
import { fill, MAX_VARIABLES } from "./placeholders.ts";
import type { Template } from "./template.ts";

export const PreviewBody = Type.Object(
  {
    template_variables: optional(
      Type.Record(Type.String({ maxLength: 1_024 }), {
        maxProperties: MAX_VARIABLES,
        description: "The values of the variables, by name. Absent: the examples of the template.",
      }),
    ),
    channel: optional(oneOf(CHANNELS, { description: "The channel of the preview. Default: the first channel of the template." })),
  },
  { title: "PreviewTemplate", additionalProperties: false, description: "The variables and the channel of a preview." },
);

export const TemplatePreview = Type.Object(
  {
    object: Type.Literal("template_preview"),
    template_id: Type.String({ description: "The id of the template." }),
    version: Type.Integer({ description: "The version of the template." }),
    channel: openEnum(CHANNELS, "The channel of the preview."),
    body: Type.String({ description: "The text with its variables filled in." }),
    header: nullable(Type.String({ description: "The header with its variables filled in. Null on channels without one." })),
    footer: nullable(Type.String({ description: "The footer. Null on channels without one." })),
    segments: nullable(SegmentsRecord),
  },
  { title: "TemplatePreview", description: "A template with its variables filled in." },
);

/** Fills in a template. Throws the problem when it cannot be filled in. */
export function previewOf(template: Template, request: Static<typeof PreviewBody>): Static<typeof TemplatePreview> {
  const channel = request.channel ?? template.channels[0];
  assert(channel !== undefined, "a template has a channel");
  const mismatch = channelMismatch(template, channel, "/channel");
  if (mismatch !== undefined) throw mismatch;
  const variables = request.template_variables ?? template.examples;
  const filled = fillTemplate(template, variables, channel);
  if (filled instanceof Problem) throw filled;
  const { header, footer } = channel === "whatsapp" ? template : { header: null, footer: null };
  return {
    object: "template_preview",
    template_id: encodeId("tmpl", template.id),
    version: template.version,
    channel,
    body: filled.text,
    header: header === null ? null : fill(header, variables),
    footer,
    segments: channel === "sms" ? segmentsOf(filled.text) : null,
  };
}
