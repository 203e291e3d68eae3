/** The content of a message: its own text, or the text of a template with its variables filled in. */
import { Problem } from "../http/problem.ts";
import { encodeId } from "../model/id.ts";
import type { Channel } from "../links/channel.ts";
import { fillTemplate, usableFor } from "../templates/fill-template.ts";
import { variablesByPart } from "../templates/placeholders.ts";
import type { Category, Template } from "../templates/template.ts";

/** The template of a message, in the version that the message was made of. */
export type TemplateUse = {
  /** The public id of the template. */
  id: string;
  name: string;
  language: string;
  version: number;
  /** Null after a redaction. */
  variables: Readonly<Record<string, string>> | null;
  /** The category and the parts are absent from messages that were stored before templates had them. */
  category?: Category;
  /** The variables of each part of the template, in the order in which a carrier expects them. */
  parts?: Readonly<Record<"header" | "body", readonly string[]>>;
};

export type Content = { body: string; template: TemplateUse | null };

/** The fields of a request, or of a step of its fallback, that define the content. */
export type ContentFields = {
  channel: Channel;
  body?: string | null;
  template_id?: string | null;
  template_variables?: Record<string, string> | null;
};

/** Returns the content that the fields define. `pointer` is the position of the fields in the request. */
export function makeContent(fields: ContentFields, template: Template | undefined, pointer = ""): Content | Problem {
  if (typeof fields.body === "string") return { body: fields.body, template: null };
  const fault = (code: string, detail: string) => ({ errors: [{ pointer: `${pointer}/template_id`, code, detail }] });
  if (template === undefined)
    return new Problem("template_not_found", fault("template_not_found", "no template of this environment has this id or name"));
  const unusable = usableFor(template, fields.channel);
  if (unusable !== undefined) return new Problem(unusable.code, fault(unusable.code, unusable.detail));
  const variables = fields.template_variables ?? {};
  const filled = fillTemplate(template, variables, fields.channel, pointer);
  if (filled instanceof Problem) return filled;
  const { id, name, language, version, category } = template;
  const use = { id: encodeId("tmpl", id), name, language, version, variables, category, parts: variablesByPart(template) };
  return { body: filled.text, template: use };
}
