/** What a message says: a text of its own, or a template's with its variables filled in. */
import { Problem } from "../http/problem.ts";
import { encodeId } from "../lib/id.ts";
import type { Channel } from "../links/channel.ts";
import { fillTemplate, usableFor } from "../templates/fill-template.ts";
import { variablesByPart } from "../templates/placeholders.ts";
import type { Category, Template } from "../templates/template.ts";

/** The template a message was made of, as it was then. */
export type TemplateUse = {
  /** Its public id. */
  id: string;
  name: string;
  language: string;
  version: number;
  /** Null once the message was redacted. */
  variables: Readonly<Record<string, string>> | null;
  /** Neither this nor the next is known of messages from before carriers were told. */
  category?: Category;
  /** Which variables each part of it has, in the order in which a carrier takes them. */
  parts?: Readonly<Record<"header" | "body", readonly string[]>>;
};

export type Content = { body: string; template: TemplateUse | null };

/** The part of a request that says it; a step of a fallback has the same. */
export type ContentFields = {
  channel: Channel;
  body?: string | null;
  template_id?: string | null;
  template_variables?: Record<string, string> | null;
};

/** `pointer` is where in the request it was fields. */
export function contentOf(fields: ContentFields, template: Template | undefined, pointer = ""): Content | Problem {
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
