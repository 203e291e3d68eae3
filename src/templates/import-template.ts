/** A template that somebody wrote elsewhere, taken as a request would be: it has to keep the same rules. */
import { compile } from "../http/validate.ts";
import { checkNewTemplate, NewTemplateBody, type NewTemplate } from "./new-template.ts";

const validate = compile(NewTemplateBody, "body");

/** Undefined where it breaks one. */
export function readImport(template: unknown): NewTemplate | undefined {
  if (validate(template).length > 0 || checkNewTemplate(template as Record<string, unknown>).length > 0) return undefined;
  return template as NewTemplate;
}
