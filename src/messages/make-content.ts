/** Makes the content of a message from the fields of a request, or of a step of its fallback, and the records that they name. */
import { Problem, type Fault } from "../http/problem.ts";
import type { Channel } from "../links/channel.ts";
import type { RouteQuery } from "../links/choose-links.ts";
import { providerFileFault } from "../links/content-support.ts";
import type { Link } from "../links/link.ts";
import { encodeId } from "../model/id.ts";
import { fillTemplate, usableFor } from "../templates/fill-template.ts";
import { partFaults } from "../templates/part-faults.ts";
import { variablesByPart } from "../templates/placeholders.ts";
import type { Template } from "../templates/template.ts";
import { needOf } from "./check-content.ts";
import type { Files, FoundFile, Quoted } from "./find-content.ts";
import type { Content } from "./message.ts";
import type { NewContent } from "./new-content.ts";
import type { NewMessage } from "./new-message.ts";
import { filesOf, textOf, toStored } from "./stored-content.ts";

/** Templates by the id or name in the request. For an unknown one, a text that says so. */
export type TemplatesByName = ReadonlyMap<string, Template | string>;

/** The records that a request names. */
export type Found = { templates: TemplatesByName; files: Files; quoted: Quoted | Fault | undefined };

export const hasContent = ({ content, reply_to: replyTo, fallback }: NewMessage): boolean =>
  !!content || !!replyTo || (fallback?.some((step) => step.content) ?? false);

/** Names the abilities that the link of a request must have. Undefined for a text. */
export const needOfRequest = ({ content, reply_to: replyTo }: Pick<NewMessage, "content" | "reply_to">): RouteQuery["need"] =>
  content || replyTo ? { ...(content ? needOf(content) : { type: "text" }), isQuote: !!replyTo } : undefined;

export const notCarried = (pointer: string, detail: string): Problem =>
  new Problem("invalid_request_payload", { errors: [{ pointer, code: "not_supported", detail }] });

/** The faults of files that the link of the message cannot send. */
export function fileFaults({ channel, content }: NewMessage, { provider }: Link, files: Files): Fault[] {
  return (content ? filesOf(content) : []).flatMap(({ file, pointer }) => {
    const found = files.get(file);
    const stored = found !== undefined && "reference" in found ? found.stored : undefined;
    const refused = stored && providerFileFault(provider, channel, file.kind, stored);
    return refused === undefined ? [] : [{ pointer: `/content${pointer}`, code: "not_supported", detail: `the file ${refused}` }];
  });
}

const templateName = ({ template_id: name, content }: ContentFields): string | null =>
  (content?.type === "template" ? content.template_id : name) ?? null;

export function namedTemplates(request: NewMessage): string[] {
  const own = templateName(request);
  const names = request.fallback ? [own, ...request.fallback.map(templateName)] : [own];
  return names.filter((name) => name !== null);
}

/** The fields of a request, or of a fallback step, that define the content. */
type ContentFields = {
  channel: Channel;
  body?: string | null;
  template_id?: string | null;
  template_variables?: Record<string, string> | null;
  content?: NewContent | null;
};

/** Returns the content that the fields define. `pointer` is the position of the fields in the request. */
export function makeContent(fields: ContentFields, { templates, files }: Found, pointer = ""): Content | Problem {
  if (typeof fields.body === "string") return { body: fields.body, template: null };
  const { content } = fields;
  const template = templates.get(templateName(fields) ?? "") ?? "";
  if (!content) return fromTemplate(fields, template, pointer);
  const found = filesOf(content).map(({ file }) => [file, files.get(file)] as const);
  const faults = found.flatMap(([, file]) => (file !== undefined && "code" in file ? [file] : []));
  if (faults.length > 0) return new Problem("invalid_request_payload", { errors: faults });
  const references = new Map(found.flatMap(([file, each]) => (isFound(each) ? [[file, each.reference] as const] : [])));
  const structured = toStored(content, references);
  if (content.type !== "template") return { body: textOf(content) ?? "", template: null, structured };
  const filled = fromTemplate({ ...content, channel: fields.channel, content }, template, `${pointer}/content`);
  return filled instanceof Problem ? filled : { ...filled, structured };
}

const isFound = (file: FoundFile | Fault | undefined): file is FoundFile => file !== undefined && "reference" in file;

function fromTemplate(fields: ContentFields, template: Template | string, pointer: string): Content | Problem {
  const fault = (code: string, detail: string) => ({ errors: [{ pointer: `${pointer}/template_id`, code, detail }] });
  if (typeof template === "string") return new Problem("template_not_found", fault("template_not_found", template));
  const unusable = usableFor(template, fields.channel);
  if (unusable !== undefined) return new Problem(unusable.code, fault(unusable.code, unusable.detail));
  const variables = fields.template_variables ?? {};
  const filled = fillTemplate(template, variables, fields.channel, pointer);
  if (filled instanceof Problem) return filled;
  const missing =
    fields.channel === "whatsapp"
      ? partFaults(template, fields.content?.type === "template" ? fields.content : null, fields.content ? pointer : `${pointer}/content`)
      : [];
  if (missing.length > 0) return new Problem("template_variables_mismatch", { errors: missing });
  const { id, name, language, version, category } = template;
  const use = { id: encodeId("tmpl", id), name, language, version, variables, category, parts: variablesByPart(template) };
  return { body: filled.text, template: use };
}
